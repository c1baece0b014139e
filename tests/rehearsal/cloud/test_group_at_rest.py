"""A group that rests is not gone through each minute: what it tells is what one finds who does."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from constructs_lib.rehearsal.cloud.group import Group
from tests.rehearsal.cloud.groups import MINUTE, hook, make_group

_EVENTS = st.tuples(
    st.sampled_from(("minutes", "size", "terminate", "lose", "unhealthy", "complete", "delete hook", "suspend")),
    st.integers(0, 5),
)


def _happens(group: Group, what: str, number: int) -> None:
    members, serving, draining = group.members, group.in_service, group.draining
    if what == "size":
        group.set_desired(number)
    elif what == "terminate" and serving:
        group.terminate(serving[number % len(serving)].id, decrement=group.desired > number)
    elif what == "lose" and members:
        group.lose(members[number % len(members)].id, "reclaimed")
    elif what == "unhealthy" and serving:
        serving[number % len(serving)].healthy = False
    elif what == "complete" and draining:
        group.complete(draining[number % len(draining)].id, "Drain", "CONTINUE")
    elif what == "delete hook" and "Drain" in group.hooks and number == 0:
        group.delete_hook("Drain")
    elif what == "suspend":
        group.suspended ^= {"Launch"}


def _states(group: Group) -> list[tuple[str, str, bool, int | None]]:
    return [(each.id, each.state, each.runs, each.paid_until) for each in group.everyone]


@settings(max_examples=150)
@given(st.lists(_EVENTS, max_size=25))
def test_group_tells_who_serves_and_who_drains_whatever_has_just_happened(events: list[tuple[str, int]]) -> None:
    group = make_group(zones=2, LifecycleHookSpecificationList=[hook("Drain", heartbeat=240)])
    group.set_desired(2)
    known = {group.stirred: _states(group)}
    for what, number in [("minutes", 4), *events, ("minutes", 9)]:
        for _ in range(number if what == "minutes" else 1):
            if what == "minutes":
                group.tick(group.now + MINUTE)
            else:
                _happens(group, what, number)
            serving = [each for each in group.members if each.state == "InService"]
            draining = [each for each in group.members if each.state == "Terminating:Wait" and each.runs]
            assert (group.in_service, group.draining) == (serving, draining)
            assert group.at_work == serving + draining
            assert known.setdefault(group.stirred, _states(group)) == _states(group)
