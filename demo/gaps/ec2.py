"""EC2 answers that would be kinder than AWS: filters that are ignored, terminations that a group does not notice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ministack.services import ec2

from demo.gaps import capacity, volumes

Parameters = dict[str, Any]
Response = tuple[int, dict[str, str], bytes]

_INSTANCE_FILTERS = frozenset(
    {"instance-id", "instance-state-name", "instance-type", "image-id", "tag-key", "tag-value"}
)
_VOLUME_FILTERS = frozenset({"volume-id", "status", "attachment.instance-id", "tag-key", "tag-value"})

_matches_others = ec2._matches_filters


def apply() -> None:
    """Register the calls of this module with the emulator."""
    ec2._matches_filters = _matches
    calls = ec2._ACTION_MAP
    calls["DescribeInstances"] = _with_known_filters(calls["DescribeInstances"], _INSTANCE_FILTERS)
    calls["DescribeVolumes"] = _with_known_filters(calls["DescribeVolumes"], _VOLUME_FILTERS)
    # The emulator applies no filter at all here, not even one by tag.
    calls["DescribeNetworkInterfaces"] = _with_known_filters(calls["DescribeNetworkInterfaces"], None)
    calls["TerminateInstances"] = _terminate_instances


def _with_known_filters(
    describe: Callable[[Parameters], Response], known: frozenset[str] | None
) -> Callable[[Parameters], Response]:
    def answer(parameters: Parameters) -> Response:
        for name in ec2._parse_filters(parameters):
            if known is None or (name not in known and not name.startswith("tag:")):
                refusal: Response = ec2._error(
                    "InvalidParameterValue", f"The demo's emulator does not apply the filter '{name}'", 400
                )
                return refusal
        return describe(parameters)

    return answer


def _matches(instance: dict[str, Any], filters: dict[str, list[str]]) -> bool:
    """The emulator's own filters, and the one by id, which it lacks."""
    wanted = filters.get("instance-id")
    return bool(_matches_others(instance, filters)) and (wanted is None or instance["InstanceId"] in wanted)


def _terminate_instances(parameters: Parameters) -> Response:
    """Terminate from outside a group: the desired capacity stays, so the group replaces the member at once."""
    response: Response = ec2._terminate_instances(parameters)
    if response[0] >= 400:
        return response
    for instance_id in ec2._parse_member_list(parameters, "InstanceId"):
        volumes.release(instance_id)
        found = capacity.member_of(instance_id)
        if found:
            group, member = found
            capacity.lose(group, member)
            capacity.reconcile(group)
    return response
