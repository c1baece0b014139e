"""Everything that can go wrong with one call, as a plan that hypothesis can draw and shrink."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from botocore.exceptions import ConnectTimeoutError, ReadTimeoutError

from tests.handlers.fake_aws import refusal
from tests.handlers.fake_aws.calls import service_model


class Kind(str, Enum):
    """What becomes of a call."""

    THROTTLED = "throttled"
    DENIED = "denied"
    CONFLICT = "conflict"
    BROKEN = "broken"
    """AWS answers with a fault of its own; nothing was done."""
    LOST = "lost"
    """No connection: nothing was done."""
    UNHEARD = "unheard"
    """The call took effect, its answer was lost."""
    SHORT_PAGE = "short page"
    EMPTY_PAGE = "empty page"
    STALE = "stale"
    """The answer is that of some minutes ago, or of the state before the last change."""
    FIELD_MISSING = "field missing"
    BAD_STATUS = "bad status"
    """Some results of a metric query are not whole."""


READ_ONLY = frozenset({Kind.SHORT_PAGE, Kind.EMPTY_PAGE, Kind.STALE, Kind.FIELD_MISSING, Kind.BAD_STATUS})

_ERRORS = {
    Kind.THROTTLED: refusal("Throttling", "Rate exceeded"),
    Kind.DENIED: refusal("AccessDenied", "not authorized", status=403),
    Kind.CONFLICT: refusal("ResourceContention", "a pending update is in the way"),
    Kind.BROKEN: refusal("InternalFailure", "internal failure", status=500),
    Kind.LOST: ConnectTimeoutError(endpoint_url="https://aws"),
    Kind.UNHEARD: ReadTimeoutError(endpoint_url="https://aws"),
}
_LISTS = {
    "DescribeAutoScalingGroups": "AutoScalingGroups",
    "DescribeInstances": "Reservations",
    "DescribeScalingActivities": "Activities",
    "DescribeSessions": "Sessions",
    "GetMetricData": "MetricDataResults",
}


@dataclass(frozen=True)
class Fault:
    """One fault: on the calls `skip` to `skip + times` of an operation ("" for any) in one pass.

    `choice` picks which field is missing, where a page is cut and how old a stale answer is.
    """

    pass_number: int
    operation: str
    kind: Kind
    skip: int = 0
    times: int = 1
    choice: int = 0

    def applies(self, operation: str, seen: int) -> bool:
        return self.operation in ("", operation) and self.skip <= seen < self.skip + self.times


@dataclass
class Faults:
    """The plan of one world. `pass_number` is set by whoever drives it; `used` are the faults that struck."""

    plan: Sequence[Fault] = ()
    pass_number: int = 0
    used: list[Fault] = field(default_factory=list)
    _seen: Counter[tuple[int, str]] = field(default_factory=Counter)

    def strike(self, operation: str, *, changing: bool) -> Fault | None:
        """Return the fault that strikes this call, or None."""
        seen, all_seen = self._count(operation), self._count("")
        for fault in self.plan:
            if fault.pass_number != self.pass_number or (changing and fault.kind in READ_ONLY):
                continue
            if fault.applies(operation, seen if fault.operation else all_seen):
                self.used.append(fault)
                return fault
        return None

    def _count(self, operation: str) -> int:
        key = (self.pass_number, operation)
        self._seen[key] += 1
        return self._seen[key] - 1


def error(kind: Kind) -> Exception | None:
    """Return what the caller sees raised, None for a fault that answers."""
    return _ERRORS.get(kind)


def list_of(operation: str) -> str | None:
    """Return the name of the list that an operation pages, None for one that does not page."""
    return _LISTS.get(operation)


def split(operation: str, answer: dict[str, Any], at: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return an answer as two pages, the first with `at` of its items. A metric's points are cut in two as well."""
    name = _LISTS[operation]
    items = list(answer[name])
    first, rest = items[:at], items[at:]
    if operation == "GetMetricData" and first and len(first[-1]["Timestamps"]) > 1:
        cut = first.pop()
        half = len(cut["Timestamps"]) // 2
        first.append({**cut, **_points(cut, slice(half)), "StatusCode": "PartialData"})
        rest.insert(0, {**cut, **_points(cut, slice(half, None))})
    return {**answer, name: first}, {**answer, name: rest}


def _points(result: dict[str, Any], cut: slice) -> dict[str, Any]:
    return {"Timestamps": result["Timestamps"][cut], "Values": result["Values"][cut]}


def without_a_field(service: str, operation: str, answer: dict[str, Any], choice: int) -> dict[str, Any]:
    """Return an answer that lacks one of the fields that its model does not require."""
    shape = service_model(service).operation_model(operation).output_shape
    places = [place for place in _optional(answer, shape) if place[-1] not in KEPT]
    if not places:
        return answer
    return dict(_removed(answer, places[choice % len(places)]))


KEPT = ("NextToken",)
"""Never left out: an answer without it is the last one, and nobody can tell."""


def _optional(value: Any, shape: Any) -> Iterator[tuple[Any, ...]]:
    if shape.type_name == "structure":
        for name, inner in value.items():
            if name not in shape.required_members:
                yield (name,)
            yield from ((name, *rest) for rest in _optional(inner, shape.members[name]))
    elif shape.type_name == "list" and shape.member.type_name == "structure":
        for number, inner in enumerate(value):
            yield from ((number, *rest) for rest in _optional(inner, shape.member))


def _removed(value: Any, place: tuple[Any, ...]) -> Any:
    first, *rest = place
    copy = list(value) if isinstance(value, list) else dict(value)
    if rest:
        copy[first] = _removed(value[first], tuple(rest))
    else:
        del copy[first]
    return copy


def with_bad_status(answer: dict[str, Any], choice: int) -> dict[str, Any]:
    """Return a metric answer of which one result, or every one, is not whole."""
    results = list(answer["MetricDataResults"])
    status = ("InternalError", "Forbidden", "PartialData")[choice % 3]
    for number in range(len(results)) if choice % 2 else [choice % len(results)] if results else []:
        cut = slice(len(results[number]["Timestamps"]) // 2)
        results[number] = {**results[number], **_points(results[number], cut), "StatusCode": status}
    return {**answer, "MetricDataResults": results}
