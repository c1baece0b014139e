"""How hypothesis draws worlds. The simplest of everything comes first, so that a counterexample shrinks to it."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.worlds.faults import Fault, Kind
from tests.worlds.world import Course, Doing, Event, Happening, Policy, Truth, World

PASSES = 4
OPERATIONS = (
    *("", "DescribeAutoScalingGroups", "DescribeInstances", "GetMetricData") * 3,
    *("TerminateInstanceInAutoScalingGroup", "GetParameter", "PutParameter") * 2,
    *("SetDesiredCapacity", "GetQueueAttributes", "DescribeSessions", "DescribeScalingActivities"),
    *("SuspendProcesses", "CompleteLifecycleAction", "CreateTags", "DeleteTags", "Publish"),
)

_lengths = st.sampled_from([100, 1, 3, 6, 10, 16, 20, 40, 85, 90, 95])
_courses: st.SearchStrategy[Course] = st.one_of(
    st.just(((Doing.IDLE, 1),)),
    st.lists(st.tuples(st.sampled_from(Doing), _lengths), min_size=1, max_size=4).map(tuple),
)
_lifecycles = st.sampled_from(
    ["InService"] * 12
    + ["Pending", "Pending:Wait", "Standby", "Terminating", "Terminating:Wait", "Terminating:Retained"]
)


_truth = {
    "course": _courses,
    "second": _courses,
    "lifecycle": _lifecycles,
    "machine": st.sampled_from(["running"] * 9 + ["pending", "shutting-down"]),
    "age": st.sampled_from([1000, 5, 12, 20, 30, 100]),
    "protected": st.booleans(),
    "held": st.sampled_from([False] * 5 + [True]),
    "in_session": st.sampled_from([False] * 5 + [True]),
}
_members = st.lists(st.builds(Truth, **_truth), min_size=1, max_size=6).map(tuple)
_weighted_members = st.lists(st.builds(Truth, **_truth, weight=st.integers(1, 4)), min_size=1, max_size=6).map(tuple)

_policies = st.builds(
    Policy,
    window=st.sampled_from([15, 30]),
    warm_up=st.sampled_from([10, 0, 25]),
    signals=st.sampled_from([1, 2]),
    sessions=st.booleans(),
    share=st.sampled_from([1, 0.5, 0.1]),
    protection_holds=st.booleans(),
    queue=st.none() | st.tuples(st.integers(0, 5), st.sampled_from([1, 4])),
    min_life=st.sampled_from([None, None, 60]),
    max_releases=st.sampled_from([None, None, 1, 2]),
    max_life=st.sampled_from([None, None, 120]),
    max_unknown=st.sampled_from([None, None, 45]),
    at_minimum=st.sampled_from([None, "leave", "replace"]),
    retained_after=st.sampled_from([None, 10]),
    quiet=st.sampled_from([False] * 5 + [True]),
    warm=st.sampled_from([None, None, 1, 2]),
    maintenance=st.sampled_from([None, True, False]),
    prices=st.booleans(),
    max_failed_launches=st.sampled_from([None, 2]),
    drain=st.sampled_from([None, 10]),
)

_passes = st.sampled_from([0, 0, 0, 1, 1, 2, 3])
_faults = st.lists(
    st.builds(
        Fault,
        pass_number=_passes,
        operation=st.sampled_from(OPERATIONS),
        kind=st.sampled_from(Kind),
        skip=st.sampled_from([0, 0, 1, 2, 3]),
        times=st.sampled_from([1, 2, 100]),
        choice=st.integers(0, 60),
    ),
    max_size=6,
).map(tuple)
_happenings = st.lists(
    st.builds(
        Happening,
        pass_number=_passes,
        event=st.sampled_from(Event),
        member=st.integers(0, 5),
        between=st.booleans(),
    ),
    max_size=3,
).map(tuple)
_nothing: st.SearchStrategy[tuple[()]] = st.just(())


def worlds(*, faulty: bool = True, eventful: bool = True) -> st.SearchStrategy[World]:
    """Return the strategy of worlds, with or without faults of AWS and with or without others who act meanwhile."""
    rest = {
        "min_size": st.integers(0, 6),
        "desired_above": st.sampled_from([0, 0, -1, 1, 3]),
        "suspended": st.sampled_from([(), (), ("AZRebalance",), ("Launch",), ("Launch", "Terminate")]),
        "zones": st.sampled_from([1, 2]),
        "policy": _policies,
        "gaps": st.lists(st.sampled_from([5, 0, 1, 20]), min_size=1, max_size=PASSES).map(tuple),
        "faults": _faults if faulty else _nothing,
        "happenings": _happenings if eventful else _nothing,
    }
    return st.one_of(st.builds(World, members=_members, **rest), st.builds(World, members=_weighted_members, **rest))
