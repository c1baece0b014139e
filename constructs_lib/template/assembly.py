"""Finds the templates that ``cdk synth`` wrote: in a cloud assembly folder, or in one file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from constructs_lib.errors import ArgumentError
from constructs_lib.template.documents import Document, parse
from constructs_lib.validation import complaint

_MANIFEST = "manifest.json"
_STACK = "aws:cloudformation:stack"
_NESTED = "cdk:cloud-assembly"
_ENVIRONMENT = re.compile(r"aws://([^/]+)/(.+)")
_WHERE = "templates"
_MOST_CHARACTERS = 100_000_000
"""A hundred times what CloudFormation takes; a device such as ``/dev/zero`` has no end."""


@dataclass(frozen=True, kw_only=True)
class StackTemplate:
    """A synthesized template and where it goes.

    Attributes:
        stack: name of the stack. None: a template file does not tell.
        template: as plain data.
        region: that the stack is bound to. None: to whatever Region it is deployed.
        account: number of the account that the stack is bound to. None: to whatever account.
        document: the file parsed, which tells lines. None: the template was given as data.
        file: where it lies. None: the template was given as data.
    """

    stack: str | None
    template: Mapping[str, Any]
    region: str | None = None
    account: str | None = None
    document: Document | None = field(default=None, repr=False, compare=False)
    file: Path | None = field(default=None, compare=False)


def templates_in(path: str | Path) -> tuple[StackTemplate, ...]:
    """Templates of a cloud assembly folder (``cdk.out``), nested ones included, or of one template file.

    Raises:
        ArgumentError: there is nothing to read, or it is not what it should be.
    """
    place = Path(path)
    if place.is_dir():
        found = _assembly(place)
        if not found:
            cure = "run cdk synth first, and give its output folder or a template"
            raise ArgumentError(complaint(_WHERE, "template", "be a folder with a stack in it", str(place), cure))
        return tuple(found)
    document = read_document(place)
    if "Resources" not in document.content:
        cure = "give a template, or the folder that cdk synth writes"
        raise ArgumentError(complaint(_WHERE, "template", "be a template with Resources", str(place), cure))
    return (StackTemplate(stack=None, template=document.content, document=document, file=place),)


def _assembly(folder: Path) -> list[StackTemplate]:
    artifacts = read_document(folder / _MANIFEST).content.get("artifacts")
    found = []
    for id, artifact in (artifacts if isinstance(artifacts, Mapping) else {}).items():
        kind = artifact.get("type") if isinstance(artifact, Mapping) else None
        properties = artifact.get("properties") if isinstance(artifact, Mapping) else None
        if kind == _STACK and isinstance(properties, Mapping) and isinstance(properties.get("templateFile"), str):
            account, region = _environment(artifact.get("environment"))
            file = folder / properties["templateFile"]
            document = read_document(file)
            found.append(
                StackTemplate(
                    stack=str(properties.get("stackName", id)),
                    template=document.content,
                    region=region,
                    account=account,
                    document=document,
                    file=file,
                )
            )
        if kind == _NESTED and isinstance(properties, Mapping) and isinstance(properties.get("directoryName"), str):
            found += _assembly(folder / properties["directoryName"])
    return found


def _environment(environment: object) -> tuple[str | None, str | None]:
    match = _ENVIRONMENT.fullmatch(environment) if isinstance(environment, str) else None
    if match is None:
        return None, None
    account, region = match[1], match[2]
    return None if account.startswith("unknown-") else account, None if region.startswith("unknown-") else region


def read_document(path: Path) -> Document:
    """Parse a file in JSON or YAML.

    Raises:
        ArgumentError: it cannot be read, or is neither.
    """
    try:
        with path.open(encoding="utf-8") as file:
            text = read_all(file, str(path))
    except ArgumentError:
        raise
    except UnicodeDecodeError as error:
        rule = "be text in UTF-8"
        raise ArgumentError(complaint(_WHERE, "template", rule, str(path), "give a template")) from error
    except (OSError, ValueError) as error:  # also of a name that no file can have
        cure = "give a template, or the folder that cdk synth writes"
        raise ArgumentError(complaint(_WHERE, "template", "be a file that can be read", str(path), cure)) from error
    return parse(text, str(path))


def read_all(file: TextIO, name: str) -> str:
    """The text of a file, which has an end.

    Raises:
        ArgumentError: it is longer than any template.
    """
    text = file.read(_MOST_CHARACTERS + 1)
    if len(text) > _MOST_CHARACTERS:
        rule = f"have at most {_MOST_CHARACTERS:,} characters"
        raise ArgumentError(complaint(_WHERE, "template", rule, name, "give a template"))
    return text
