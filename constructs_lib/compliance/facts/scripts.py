"""What a script of a machine does: its commands, without what it only says.

Source: "Comments", Bash Reference Manual, which those of cloud-init's YAML, of Python and of PowerShell begin like.
"""

from __future__ import annotations

import base64
import re

from constructs_lib.template.markers import Made, Marker, PartText, Unknown, is_marker

_QUOTED_OR_COMMENT = re.compile(
    r"""\\. | "(?:\\.|[^"\\\n])*" | '[^'\n]*' | (?:^|(?<=[\s;&|(]))\#.*""", re.MULTILINE | re.VERBOSE
)
_BLOCK = re.compile(r"<#.*?#>", re.DOTALL)
_END_OF_BLOCK = "#>"
_BEFORE_COMMAND = re.compile(
    r"(?:^|[;&|({`]|^\s*-\s|\b(?:sudo|sh|bash|source|eval|exec|then|do|else|nohup)\b(?:\s+-\w+)*)[\s\"']*$"
)
_LOOKED_AT = 200
"""Of the line before a part, so that a text of one line takes no time that grows with its square."""
_NO_TEXT_OF_BASE64 = re.compile(r"[\s$]")
_CUSTOM = ("Custom::", "AWS::CloudFormation::CustomResource")


def commands_in(text: str) -> str:
    """A script without its comments, the line among them that names its interpreter."""
    # Each block that begins before the last end has an end.
    end = text.rfind(_END_OF_BLOCK) + len(_END_OF_BLOCK)
    uncommented = _BLOCK.sub("", text[:end]) + text[end:]
    return _QUOTED_OR_COMMENT.sub(lambda found: "" if found[0].startswith("#") else found[0], uncommented)


def decoded(text: str) -> str:
    """What a text in base64 stands for; the text itself if it is none."""
    if not text or text.startswith(("#", "<", "Content-Type", "MIME")) or _NO_TEXT_OF_BASE64.search(text):
        return text
    try:
        return base64.b64decode(text, validate=True).decode("utf-8")
    except ValueError:  # also of binascii, and of a text that is not ASCII
        return text


def has_commands_of_a_deploy(raw: object) -> bool:
    """Whether a part of a script that only a deploy knows stands where a command begins; elsewhere it is a name."""
    line = ""
    for part in raw.parts if isinstance(raw, PartText) else ():
        if not is_marker(part):
            line = f"{line}{part}".rpartition("\n")[2]
            line = line if len(line) <= _LOOKED_AT else f"...{line[-_LOOKED_AT:]}"
        elif _may_be_text(part) and _BEFORE_COMMAND.search(line):
            return True
        else:
            line += "name"
    return False


def _may_be_text(part: Marker) -> bool:
    """Whether it can be more than a name: AWS makes the attributes of its resources, and its own parameters."""
    if isinstance(part, Made):
        return (part.home.kind(part.logical_id) or "").startswith(_CUSTOM)
    return not (isinstance(part, Unknown) and part.reason.startswith("AWS::"))
