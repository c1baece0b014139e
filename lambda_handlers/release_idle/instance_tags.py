"""Writing down on instances since when they have been unknown."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from release_idle.aws import InstanceClient, Tag
from release_idle.unknown_memory import UNKNOWN_TAG, UnknownMemory
from runtime.aws_errors import AWS_ERRORS
from runtime.patience import OutOfTime, Patience

_INSTANCES_PER_CALL = 500


def write_memories(
    client: InstanceClient, remember: Mapping[str, UnknownMemory], forget: Sequence[str], patience: Patience
) -> list[str]:
    """Tag those that are unknown, and take the tag from those that no longer are; return what could not be done.

    Instances that share a value are tagged by one call. One call that fails does not hold up the others.
    """
    by_value: dict[str, list[str]] = {}
    for instance_id, memory in remember.items():
        by_value.setdefault(memory.text, []).append(instance_id)
    calls: list[tuple[str, Callable[[], object]]] = []
    for batch in _batches(forget):
        calls.append(("DeleteTags", partial(client.delete_tags, Resources=batch, Tags=[{"Key": UNKNOWN_TAG}])))
    for value, ids in by_value.items():
        for batch in _batches(ids):
            tag: Tag = {"Key": UNKNOWN_TAG, "Value": value}
            calls.append(("CreateTags", partial(client.create_tags, Resources=batch, Tags=[tag])))
    failures: list[str] = []
    for operation, call in calls:
        try:
            patience.call(f"EC2 {operation}", call)
        except (*AWS_ERRORS, OutOfTime) as error:
            failures.append(f"EC2 {operation}: {error}")
    return failures


def _batches(instance_ids: Sequence[str]) -> Iterator[list[str]]:
    for start in range(0, len(instance_ids), _INSTANCES_PER_CALL):
        yield list(instance_ids[start : start + _INSTANCES_PER_CALL])
