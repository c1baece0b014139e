"""When a stack's time is over is decided from plain facts."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any

import botocore.session
import pytest
from hypothesis import given
from hypothesis import strategies as some

from stack_expiry import decision as module
from stack_expiry.decision import Decision, Memory, Notice, Policy, Start, decide
from stack_expiry.expiry_tag import MalformedExpiry, read_expiry
from tests.handlers.expiring import DAY, HOUR, POLICY, STACK, TAG, stack
from tests.handlers.fake_aws.time import START

EXPIRES = START + 3 * DAY
WARNED = Memory(told=Notice.WARNING, told_at=EXPIRES - DAY, warned_of=EXPIRES, warned_since=EXPIRES - DAY)
RESTS = [
    "CREATE_COMPLETE",
    "CREATE_FAILED",
    "ROLLBACK_COMPLETE",
    "ROLLBACK_FAILED",
    "UPDATE_COMPLETE",
    "UPDATE_FAILED",
    "UPDATE_ROLLBACK_COMPLETE",
    "UPDATE_ROLLBACK_FAILED",
    "IMPORT_COMPLETE",
    "IMPORT_ROLLBACK_COMPLETE",
    "IMPORT_ROLLBACK_FAILED",
    "DELETE_FAILED",
]
BUSY = [
    "CREATE_IN_PROGRESS",
    "ROLLBACK_IN_PROGRESS",
    "UPDATE_IN_PROGRESS",
    "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS",
    "UPDATE_ROLLBACK_IN_PROGRESS",
    "UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS",
    "IMPORT_IN_PROGRESS",
    "IMPORT_ROLLBACK_IN_PROGRESS",
    "REVIEW_IN_PROGRESS",
]
GOING = ["DELETE_IN_PROGRESS", "DELETE_COMPLETE"]


def at(now: datetime, memory: Memory = WARNED, policy: Policy = POLICY, **changes: Any) -> Decision:
    return decide(now, stack(**changes), policy, memory)


def test_every_status_of_cloudformation_is_known() -> None:
    statuses = botocore.session.get_session().get_service_model("cloudformation").shape_for("StackStatus").enum
    assert sorted(statuses) == sorted([*RESTS, *BUSY, *GOING])


# ---- its time


def test_nothing_happens_before_the_time_of_warning() -> None:
    decided = at(EXPIRES - DAY - HOUR - timedelta(seconds=1), Memory())
    assert (decided.delete, decided.tell, decided.memory) == (False, None, Memory())
    assert decided.expires_at == EXPIRES


def test_the_first_pass_in_the_time_of_warning_warns() -> None:
    decided = at(EXPIRES - DAY - HOUR, Memory())
    assert (decided.delete, decided.tell, decided.delete_after) == (False, Notice.WARNING, EXPIRES)
    assert (decided.memory.warned_of, decided.memory.warned_since) == (EXPIRES, EXPIRES - DAY - HOUR)


def test_a_warned_stack_is_deleted_when_its_time_has_come_and_not_before() -> None:
    assert not at(EXPIRES - timedelta(seconds=1)).delete
    decided = at(EXPIRES)
    assert (decided.delete, decided.tell) == (True, Notice.DELETING)


@pytest.mark.parametrize("late", [timedelta(0), HOUR, 100 * DAY])
def test_a_stack_nobody_was_warned_of_is_warned_of_first(late: timedelta) -> None:
    """An expiry that is added to an old stack, a memory that got lost."""
    now = EXPIRES + late
    decided = at(now, Memory())
    assert (decided.delete, decided.tell, decided.delete_after) == (False, Notice.WARNING, now + DAY)
    assert not at(now + DAY - HOUR, decided.memory).delete
    assert at(now + DAY, decided.memory).delete


def test_without_that_guard_the_old_stack_would_be_deleted_at_once() -> None:
    trusting = Memory(warned_of=START, warned_since=START)
    assert at(EXPIRES, trusting).delete


@pytest.mark.parametrize(
    "memory",
    [
        replace(WARNED, warned_of=None),
        replace(WARNED, warned_since=None),
        replace(WARNED, warned_of=EXPIRES + HOUR),
    ],
)
def test_a_warning_of_a_later_moment_or_of_none_does_not_count(memory: Memory) -> None:
    decided = at(EXPIRES, memory)
    assert (decided.delete, decided.tell, decided.memory.warned_of) == (False, Notice.WARNING, EXPIRES)


def test_a_warning_of_an_earlier_moment_counts() -> None:
    """The moment was put off by some hours: who knew of the earlier one has had the time."""
    assert at(EXPIRES, replace(WARNED, warned_of=EXPIRES - HOUR)).delete


def test_a_warning_is_repeated_after_a_day_and_not_before() -> None:
    policy = replace(POLICY, warn_before=2 * DAY)
    memory = at(EXPIRES - 2 * DAY, Memory(), policy).memory
    assert at(EXPIRES - DAY - HOUR, memory, policy).tell is None
    again = at(EXPIRES - DAY, memory, policy)
    assert again.tell is Notice.WARNING
    assert (again.memory.warned_since, again.memory.told_at) == (EXPIRES - 2 * DAY, EXPIRES - DAY)


@pytest.mark.parametrize(
    ("start", "updated_at", "expected"),
    [
        (Start.CREATION, None, EXPIRES),
        (Start.CREATION, START + DAY, EXPIRES),
        (Start.LAST_UPDATE, None, EXPIRES),
        (Start.LAST_UPDATE, START + DAY, EXPIRES + DAY),
        (Start.LAST_UPDATE, START - DAY, EXPIRES),
    ],
)
def test_what_the_time_is_counted_from(start: Start, updated_at: datetime | None, expected: datetime) -> None:
    assert at(START, policy=replace(POLICY, start=start), updated_at=updated_at).expires_at == expected


# ---- the tag

TAGS = [
    ("2026-12-24", datetime(2026, 12, 25, tzinfo=timezone.utc)),
    (" 2026-12-24 ", datetime(2026, 12, 25, tzinfo=timezone.utc)),
    ("2026-12-24T18:00Z", datetime(2026, 12, 24, 18, tzinfo=timezone.utc)),
    ("2026-12-24T18:00", datetime(2026, 12, 24, 18, tzinfo=timezone.utc)),
    ("2026-12-24 18:00:30", datetime(2026, 12, 24, 18, 0, 30, tzinfo=timezone.utc)),
    ("2026-12-24T18:00+02:00", datetime(2026, 12, 24, 16, tzinfo=timezone.utc)),
    ("2026-12-24T18:00:00-05:00", datetime(2026, 12, 24, 23, tzinfo=timezone.utc)),
    ("2028-02-29", datetime(2028, 3, 1, tzinfo=timezone.utc)),
]
MALFORMED = [
    "",
    " ",
    "never",
    "tomorrow",
    "24.12.2026",
    "12/24/2026",
    "2026-12",
    "2026-13-01",
    "2026-02-29",
    "2026-12-24T25:00Z",
    "2026-12-24T18Z",
    "2026-12-24T18:00+0200",
    "2026-12-24T18:00 Europe/Berlin",
    "20261224",
    "2026-W52-4",
    "2026-12-24\n2026-12-25",
    "9999-12-31",
    "0001-01-01T00:00+14:00",
    "\u0662\u0660\u0662\u0666-12-24",
]


@pytest.mark.parametrize(("value", "expected"), TAGS)
def test_the_tag_names_the_moment(value: str, expected: datetime) -> None:
    assert at(START, tags={TAG: value}).expires_at == expected


@pytest.mark.parametrize("value", MALFORMED)
@pytest.mark.parametrize("memory", [Memory(), WARNED])
def test_a_malformed_tag_never_deletes_and_is_told(value: str, memory: Memory) -> None:
    with pytest.raises(MalformedExpiry):
        read_expiry(value)
    for now in (START, EXPIRES, EXPIRES + 1000 * DAY):
        decided = at(now, memory, tags={TAG: value})
        assert (decided.delete, decided.tell) == (False, Notice.MALFORMED_TAG)
        assert TAG in decided.reason


def test_without_that_guard_a_malformed_tag_would_be_no_tag(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_expires_at", lambda stack, policy: stack.created_at + policy.after)
    assert at(EXPIRES, tags={TAG: "never"}).delete


@pytest.mark.parametrize("value", ["0001-01-01", "9999-12-30"])
def test_a_tag_at_the_end_of_the_calendar_is_a_moment_like_any_other(value: str) -> None:
    decided = at(START, Memory(), tags={TAG: value})
    assert decided.tell is (Notice.WARNING if value < "2000" else None)


@given(some.text(max_size=256))
def test_whatever_the_tag_holds_it_is_a_moment_or_malformed(value: str) -> None:
    with suppress(MalformedExpiry):
        assert read_expiry(value).tzinfo is not None


def test_another_tag_is_none() -> None:
    assert at(START, tags={"accelerated-fleet:Expires": "2030-01-01", "expires": "2030-01-01"}).expires_at == EXPIRES


def test_a_tag_beyond_the_time_of_warning_forgets_the_warnings() -> None:
    decided = at(EXPIRES - HOUR, tags={TAG: "2027-06-01"})
    assert (decided.delete, decided.tell, decided.memory) == (False, None, Memory())


def test_a_tag_in_the_past_is_warned_of_like_any_other() -> None:
    decided = at(START + HOUR, Memory(), tags={TAG: "2020-01-01"})
    assert (decided.delete, decided.tell, decided.delete_after) == (False, Notice.WARNING, START + HOUR + DAY)


# ---- what keeps a stack


@pytest.mark.parametrize("status", RESTS)
def test_a_stack_at_rest_is_deleted(status: str) -> None:
    assert at(EXPIRES, status=status).delete


@pytest.mark.parametrize("status", [*BUSY, "SOME_DAY_IN_PROGRESS", "SOME_DAY_COMPLETE", ""])
def test_case_50_whatever_is_going_on_is_waited_for(status: str) -> None:
    decided = at(EXPIRES, status=status)
    assert (decided.delete, decided.tell, decided.memory) == (False, None, WARNED)
    assert status in decided.reason


@pytest.mark.parametrize("status", GOING)
def test_a_stack_that_goes_is_left_alone(status: str) -> None:
    several: list[dict[str, Any]] = [{}, {"is_nested": True}, {"is_protected": True}, {"tags": {TAG: "never"}}]
    for changes in several:
        decided = at(EXPIRES, status=status, **changes)
        assert (decided.delete, decided.tell, decided.memory) == (False, None, WARNED)


OBSTACLES: list[tuple[Notice, dict[str, Any]]] = [
    (Notice.NESTED, {"is_nested": True}),
    (Notice.NO_SERVICE_ROLE, {"has_service_role": False}),
    (Notice.PROTECTED, {"is_protected": True}),
    (Notice.MALFORMED_TAG, {"tags": {TAG: "soon"}}),
]


@pytest.mark.parametrize(("notice", "changes"), OBSTACLES)
@pytest.mark.parametrize("status", RESTS)
def test_an_obstacle_is_told_once_a_day_and_nothing_is_deleted(
    notice: Notice, changes: dict[str, Any], status: str
) -> None:
    memory, told = WARNED, 0
    for hour in range(72):
        decided = at(EXPIRES + hour * HOUR, memory, status=status, **changes)
        assert not decided.delete
        assert decided.tell in (None, notice)
        told += decided.tell is notice
        memory = decided.memory
    assert told == 3


@pytest.mark.parametrize(("notice", "changes"), OBSTACLES)
def test_when_an_obstacle_has_gone_people_are_warned_anew(notice: Notice, changes: dict[str, Any]) -> None:
    kept = at(EXPIRES, **changes)
    after = at(EXPIRES + HOUR, kept.memory)
    assert (after.delete, after.tell, after.delete_after) == (False, Notice.WARNING, EXPIRES + HOUR + DAY)


def test_what_was_told_at_nobody_knows_when_is_told_again() -> None:
    decided = at(EXPIRES, Memory(told=Notice.PROTECTED), is_protected=True)
    assert (decided.tell, decided.memory.told_at) == (Notice.PROTECTED, EXPIRES)


@pytest.mark.parametrize("notice", [Notice.NESTED, Notice.NO_SERVICE_ROLE, Notice.MALFORMED_TAG])
def test_what_can_never_work_is_told_from_the_beginning(notice: Notice) -> None:
    changes = dict(OBSTACLES)[notice]
    assert at(START, Memory(), **changes).tell is notice


def test_protection_is_told_only_when_it_matters() -> None:
    """A stack may be protected for as long as it is needed."""
    assert at(START, Memory(), is_protected=True).tell is None
    assert at(EXPIRES - DAY, Memory(), is_protected=True).tell is Notice.PROTECTED


def test_a_failed_deletion_is_tried_every_hour_and_told_once_a_day() -> None:
    memory, told, tried = at(EXPIRES).memory, 0, 0
    for hour in range(1, 50):
        decided = at(EXPIRES + hour * HOUR, memory, status="DELETE_FAILED", status_reason="The bucket is not empty")
        tried += decided.delete
        told += decided.tell is Notice.DELETE_FAILED
        assert "The bucket is not empty" in decided.reason
        memory = decided.memory
    assert (tried, told) == (49, 3)


def test_a_deletion_of_somebody_else_that_failed_early_is_not_tried_again() -> None:
    assert not at(EXPIRES - 2 * DAY, Memory(), status="DELETE_FAILED").delete


# ---- whatever the facts are

MOMENTS = some.integers(-200, 200).map(lambda hours: EXPIRES + hours * HOUR)
MEMORIES = some.builds(
    Memory,
    told=some.none() | some.sampled_from(Notice),
    told_at=some.none() | MOMENTS,
    warned_of=some.none() | MOMENTS,
    warned_since=some.none() | MOMENTS,
)
STACKS = some.builds(
    stack,
    status=some.sampled_from([*RESTS, *BUSY, *GOING]),
    has_service_role=some.booleans(),
    is_protected=some.booleans(),
    is_nested=some.booleans(),
    updated_at=some.none() | MOMENTS,
    tags=some.sampled_from([{}, {TAG: "2026-12-02"}, {TAG: "2026-12-04T10:00Z"}, {TAG: "x"}]),
)
POLICIES = some.builds(
    Policy,
    after=some.integers(1, 100).map(lambda hours: hours * HOUR),
    warn_before=some.integers(1, 48).map(lambda hours: hours * HOUR),
    start=some.sampled_from(Start),
    tag_key=some.just(TAG),
)


@given(now=MOMENTS, given_stack=STACKS, policy=POLICIES, memory=MEMORIES)
def test_nothing_is_deleted_without_its_reasons(
    now: datetime, given_stack: Any, policy: Policy, memory: Memory
) -> None:
    decided = decide(now, given_stack, policy, memory)
    assert decided.reason
    if decided.delete:
        assert given_stack.status in RESTS
        assert given_stack.has_service_role
        assert not given_stack.is_protected
        assert not given_stack.is_nested
        assert decided.expires_at is not None
        assert decided.expires_at <= now
        assert memory.warned_since is not None
        assert memory.warned_since + policy.warn_before <= now
        assert memory.warned_of is not None
        assert memory.warned_of <= decided.expires_at
    if decided.tell is not None:
        assert decided.memory.told is decided.tell
        assert decided.memory.told_at == now


def test_the_stack_is_known_by_its_id() -> None:
    assert stack().id == STACK
