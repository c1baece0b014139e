"""Which tags can tell who pays, and which only tell programs, or people at a console, what a resource is.

Source: "Best Practices for Tagging AWS Resources", AWS whitepaper, which keeps tags for cost allocation apart from
those for operations and automation; "Tag keys" of Instance Scheduler on AWS (Schedule) and of Patch Manager (Patch
Group), read 2026-12.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from constructs_lib.compliance.values import Value, any_of

_FOR_PROGRAMS = ("k8s.io/", "kubernetes.io/", "karpenter.sh/", "eks:", "aws:", "AmazonECSManaged")
"""How keys begin that programs read on the resource itself."""
STOPPING = r"schedul|auto.?(?:stop|off|shut|scal|power)|office.?hours|custodian|expir|up.?time|down.?time"
"""Of keys by which programs outside of the templates find what they stop or scale, without regard to case."""
_SWITCHES = re.compile(
    rf"{STOPPING}|auto.?start|(?<![a-z])ttl(?![a-z])|backup|snapshot|(?<![a-z])patch|monitor|maintenance",
    re.IGNORECASE,
)
"""What programs stop, start, back up, patch or watch by."""
_ORIGINS = re.compile(
    r"name|stack.?(?:name|id)?|version|managed.?by|provision(?:er|ed.?by)|terraform|git.?(?:hub|lab)?(?:.?(?:repo|commit|url).*)?",
    re.IGNORECASE,
)
"""What it is called, and which tool made it from what; the CDK sets Name on whatever has tags."""


def tells_who_pays(tags: Value) -> bool:
    """Whether one of these tags can tell who pays: a list of them, or an object that has them by their keys.

    Raises:
        NotKnown: of none it is known that it can, and of one it is not known.
    """
    if isinstance(tags.raw, Mapping):
        return any(map(_can_tell, tags.raw))
    return any_of(can_tell_who_pays, tags.each())


def can_tell_who_pays(tag: Value) -> bool:
    """Whether one tag of a list can tell who pays."""
    return _can_tell(tag.searchable("Key") or "")


def _can_tell(key: str) -> bool:
    is_technical = key.startswith(_FOR_PROGRAMS) or _SWITCHES.search(key) or _ORIGINS.fullmatch(key)
    return bool(key) and not is_technical
