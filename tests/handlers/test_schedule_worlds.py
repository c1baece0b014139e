"""Whatever happens to a schedule, in whatever order: the fleet comes back with the right sizes."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

from botocore.exceptions import BotoCoreError, ClientError
from hypothesis import given, settings
from hypothesis import strategies as st

from fleet_schedule.decision import Plan, decide
from fleet_schedule.memory import Memory, Sizes, read_memory, write_memory
from fleet_schedule.timetable import Timetable, WakeUp
from runtime.group import Group
from runtime.hours import read_hours
from runtime.patience import OutOfTime
from tests.handlers.driving import SCHEDULED
from tests.handlers.fake_aws import Call, FakeAws
from tests.handlers.scheduling import (
    PARAMETER,
    PAUSE,
    RESUME,
    DeployRefused,
    Schedule,
    hours,
    wake_up,
    work,
)

OPERATIONS = [
    "DescribeAutoScalingGroups",
    "GetParameter",
    "PutParameter",
    "SetDesiredCapacity",
    "UpdateAutoScalingGroup",
]
TROUBLE = (ClientError, BotoCoreError, OutOfTime)


class RunEnds(BaseException):
    """Lambda ends the run here."""


@dataclass
class World:
    """A fleet with a schedule, and what everybody does to it."""

    schedule: Schedule

    @property
    def aws(self) -> FakeAws:
        return self.schedule.aws

    def run(self, event: object = SCHEDULED) -> None:
        with suppress(*TROUBLE):
            self.schedule.run(event)

    def pass_time(self, minutes: int) -> None:
        """Let time go by; the schedule ticks at its end only, as if the rule had failed meanwhile."""
        self.aws.clock.advance(60 * minutes)
        self.run()

    def end_run_after(self, calls: int, event: object) -> None:
        seen = [0]

        def end(call: Call) -> None:
            seen[0] += 1
            if seen[0] > calls:
                raise RunEnds

        self.aws.before.append(end)
        with suppress(RunEnds, *TROUBLE):
            self.schedule.run(event)
        self.aws.before.remove(end)

    def fail(self, operation: str, code: str, times: int) -> None:
        self.aws.fail(operation, code, times=times)

    def lose_answers(self, operation: str, times: int) -> None:
        self.aws.lose_answers(operation, times=times)

    def lag(self, reads: int) -> None:
        self.aws.ssm.stale_reads = reads

    def deploy(self, low: int, high: int, writes_all: bool) -> None:
        with suppress(DeployRefused):
            self.schedule.deploy(min(low, high), high, writes_all=writes_all)

    def reset_parameter(self) -> None:
        self.aws.add_parameter(PARAMETER, "{}")

    def demand(self, capacity: int) -> None:
        group = self.schedule.group
        group.desired = max(group.desired, min(capacity, group.max_size))


EVENTS = st.sampled_from([SCHEDULED, PAUSE, RESUME])
STEPS = st.one_of(
    st.builds(lambda minutes: lambda world: world.pass_time(minutes), st.integers(1, 24 * 60)),
    st.builds(lambda event: lambda world: world.run(event), EVENTS),
    st.builds(lambda calls, event: lambda world: world.end_run_after(calls, event), st.integers(0, 8), EVENTS),
    st.builds(
        lambda operation, code, times: lambda world: world.fail(operation, code, times),
        st.sampled_from(OPERATIONS),
        st.sampled_from(["Throttling", "AccessDenied", "InternalFailure", "ScalingActivityInProgress"]),
        st.integers(1, 3),
    ),
    st.builds(
        lambda operation, times: lambda world: world.lose_answers(operation, times),
        st.sampled_from(OPERATIONS),
        st.integers(1, 3),
    ),
    st.builds(lambda reads: lambda world: world.lag(reads), st.integers(1, 2)),
    st.builds(
        lambda low, high, all_: lambda world: world.deploy(low, high, all_),
        st.integers(0, 4),
        st.integers(1, 9),
        st.booleans(),
    ),
    st.builds(lambda capacity: lambda world: world.demand(capacity), st.integers(0, 9)),
    st.just(lambda world: world.reset_parameter()),
)


@settings(max_examples=200, deadline=None)
@given(
    steps=st.lists(STEPS, max_size=25),
    low=st.integers(0, 3),
    with_office=st.booleans(),
    wakes=st.booleans(),
)
def test_case_39_whatever_happens_the_right_sizes_come_back(
    steps: list[Callable[[World], None]], low: int, with_office: bool, wakes: bool
) -> None:
    aws = FakeAws()
    work(aws, "i-1", "i-2", "i-3", low=low)
    schedule = Schedule(
        aws,
        office=[hours()] if with_office else None,
        wake_ups=[wake_up("08:00", 2), wake_up("12:00", 5)] if wakes else [],
        template=(low, 8),
    )
    world = World(schedule)
    for step in steps:
        step(world)
        assert aws.terminated() == [], "nobody is ended by a schedule"
    # Peace: nothing fails any more, the function runs every minute, and no hours begin or end.
    aws.faults.clear()
    aws.ssm.stale_reads = 0
    schedule.move_to((aws.clock.now() + timedelta(days=1)).replace(hour=14, minute=0))
    for _ in range(3):
        schedule.tick()
    closed = schedule.memory.by_hand or not (
        schedule.settings.plan.timetable.is_open(aws.clock.now())
        or (schedule.memory.open_until is not None and aws.clock.now() < schedule.memory.open_until)
    )
    assert (schedule.sizes == (0, 0, 0)) == closed
    schedule.run(RESUME)
    schedule.tick()
    assert schedule.template is not None
    assert schedule.sizes[:2] == schedule.template
    assert schedule.template[0] <= schedule.sizes[2] <= schedule.template[1]
    assert aws.terminated() == []
    calls = len(aws.changes())
    schedule.tick()
    assert len(aws.changes()) == calls or wakes, "at rest nothing is changed"


# --- the decision alone -----------------------------------------------------------------------------------------------

MOMENTS = st.integers(0, 7 * 24 * 60).map(
    lambda minutes: datetime(2026, 11, 30, tzinfo=timezone.utc) + timedelta(minutes=minutes)
)
SIZES = st.builds(
    lambda low, more, desired: Sizes(min=low, max=low + more, desired=min(low + more, max(low, desired))),
    st.integers(0, 4),
    st.integers(0, 6),
    st.integers(0, 10),
)
TEMPLATES = st.one_of(st.none(), SIZES.map(lambda sizes: Sizes(min=sizes.min, max=sizes.max)))
MEMORIES = st.builds(
    Memory,
    paused=st.booleans(),
    sizes=st.one_of(st.none(), SIZES),
    template=TEMPLATES,
    opened_at=st.one_of(st.none(), MOMENTS),
    by_hand=st.booleans(),
    open_until=st.one_of(st.none(), MOMENTS),
    woken=st.lists(st.text(max_size=5), max_size=2).map(tuple),
)
GROUPS = st.builds(
    lambda sizes, protects: Group(
        name="train",
        min_size=sizes.min,
        max_size=sizes.max,
        desired_capacity=sizes.desired,
        protects_new_instances=protects,
        being_deleted=False,
        suspended_processes=(),
        zones=("a",),
        members=(),
    ),
    st.one_of(SIZES, st.just(Sizes(min=0, max=0))),
    st.booleans(),
)
TIMETABLE = Timetable(
    office_hours=(read_hours(hours()),),
    wake_ups=(WakeUp(at=read_hours(hours("09:00", "09:00")), instances=3, ahead=timedelta(hours=2)),),
)


@given(memory=MEMORIES)
def test_what_is_written_is_what_is_read(memory: Memory) -> None:
    assert read_memory(write_memory(memory)) == memory
    assert len(write_memory(memory)) < 4096


@given(memory=MEMORIES, group=GROUPS, template=TEMPLATES, now=MOMENTS)
def test_a_decision_is_the_same_on_what_it_remembers(
    memory: Memory, group: Group, template: Sizes | None, now: datetime
) -> None:
    plan = Plan(timetable=TIMETABLE, template=template)
    first = decide(memory, group, plan, now)
    again = decide(first.remember, group, plan, now)
    assert again.remember == first.remember
    assert (again.sizes, again.raise_to, again.opens, again.answered, again.obstacle) == (
        first.sizes,
        first.raise_to,
        first.opens,
        first.answered,
        first.obstacle,
    )


@given(memory=MEMORIES, group=GROUPS, template=TEMPLATES, now=MOMENTS)
def test_a_decision_never_lowers_an_open_fleet_and_never_loses_its_sizes(
    memory: Memory, group: Group, template: Sizes | None, now: datetime
) -> None:
    decision = decide(memory, group, Plan(timetable=TIMETABLE, template=template), now)
    if decision.sizes is not None and decision.sizes.max == 0 < group.max_size:
        saved = decision.remember.sizes
        assert decision.remember.paused
        assert saved is not None
        assert saved.max == group.max_size, "saved before it is closed"
    elif decision.sizes is not None:
        assert decision.sizes.min <= decision.sizes.desired <= decision.sizes.max or decision.sizes.max == 0
    if decision.raise_to is not None:
        assert group.desired_capacity < decision.raise_to <= group.max_size
    if memory.sizes is not None:
        assert decision.remember.sizes is not None
