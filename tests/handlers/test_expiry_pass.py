"""The expiry function, hour by hour, on an AWS where things go wrong."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError

from runtime.environment import SettingError
from runtime.patience import OutOfTime
from runtime.triggers import MANUAL_SOURCE, MalformedEvent
from stack_expiry import index
from stack_expiry.decision import Decision, Memory, Notice
from stack_expiry.memory_store import MemoryStore
from stack_expiry.settings import read_settings
from stack_expiry.stack import StackUnreadable
from stack_expiry.words import message
from tests.handlers.expiring import (
    DAY,
    ENVIRONMENT,
    HOUR,
    PARAMETER,
    POLICY,
    STACK,
    TAG,
    TICK,
    TOPIC,
    ExpiryFunction,
    FakeStack,
    stack,
)
from tests.handlers.fake_aws import Context, FakeAws, refusal
from tests.handlers.fake_aws.time import START

WARNING = "Stack expires soon: dev"
DELETING = "Stack expired and is being deleted: dev"
FAILED = "Expired stack could not be deleted: dev"


def test_a_stack_lives_is_warned_of_and_is_deleted() -> None:
    expiry = ExpiryFunction()
    expiry.live(2 * DAY - HOUR)
    assert (expiry.subjects, expiry.asked_to_delete) == ([], 0)
    expiry.live(DAY + HOUR)
    assert (expiry.subjects, expiry.asked_to_delete) == ([WARNING, WARNING], 0)
    assert expiry.run()["deleted"] is True
    assert expiry.age == 3 * DAY
    assert (expiry.subjects[2:], expiry.stack.deletions) == ([DELETING], [{"StackName": STACK}])
    expiry.live(DAY)
    assert (len(expiry.subjects), expiry.asked_to_delete) == (3, 1)


def test_a_stack_that_is_gone_asks_for_nothing() -> None:
    expiry = ExpiryFunction(stack=FakeStack(gone=True))
    assert expiry.run() == {"deleted": False, "told": None, "reason": "the stack is gone"}
    assert expiry.aws.operations() == ["DescribeStacks"]


def test_a_quiet_hour_reads_twice_and_writes_nothing() -> None:
    expiry = ExpiryFunction()
    assert expiry.run()["deleted"] is False
    assert expiry.aws.operations() == ["DescribeStacks", "GetParameter"]


def test_case_37_only_the_own_stack_is_asked_for_and_deleted_by_its_id() -> None:
    expiry = ExpiryFunction()
    expiry.live(5 * DAY)
    named = [each.parameters for each in expiry.aws.calls if each.service == "cloudformation"]
    assert named
    assert {each["StackName"] for each in named} == {STACK}


@pytest.mark.parametrize("stacks", [[], [{"StackId": STACK + "0"}], [{"StackId": STACK}, {"StackId": STACK}]])
def test_case_37_an_answer_that_is_not_about_the_stack_is_no_answer(
    stacks: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    expiry = ExpiryFunction()
    need = {"StackName": "x", "CreationTime": START, "StackStatus": "CREATE_COMPLETE"}
    monkeypatch.setattr(
        expiry.stack, "describe_stacks", lambda parameters: {"Stacks": [{**need, **each} for each in stacks]}
    )
    with pytest.raises(StackUnreadable):
        expiry.run()
    assert expiry.aws.operations() == ["DescribeStacks"]


# ---- extending


def test_a_tag_extends_the_stack_and_it_is_warned_of_again() -> None:
    expiry = ExpiryFunction()
    expiry.live(2 * DAY)
    assert expiry.subjects == [WARNING]
    expiry.stack.tags[TAG] = "2026-12-10"
    expiry.live(DAY * 6)
    assert (expiry.subjects, expiry.asked_to_delete) == ([WARNING], 0)
    expiry.live(DAY * 6)
    assert expiry.asked_to_delete == 1
    assert expiry.subjects == [WARNING, WARNING, WARNING, DELETING]
    deleted_at = next(
        json.loads(each)["timestamp"] for each in expiry.lines.lines if json.loads(each).get("delete") is True
    )
    assert deleted_at.startswith("2026-12-11T00:")


def test_a_malformed_tag_is_told_once_a_day_and_keeps_the_stack() -> None:
    expiry = ExpiryFunction(stack=FakeStack(tags={TAG: "next week"}))
    expiry.live(10 * DAY)
    assert expiry.asked_to_delete == 0
    assert expiry.subjects == ["Stack does not expire: malformed tag: dev"] * 10
    assert "'next week'" in expiry.text


def test_updates_put_the_end_off_if_it_is_counted_from_them() -> None:
    expiry = ExpiryFunction(environment={**ENVIRONMENT, "COUNTED_FROM": "last_update"})
    for _ in range(10):
        expiry.live(DAY)
        expiry.stack.updated_at = expiry.aws.clock.now()
    assert (expiry.subjects, expiry.asked_to_delete) == ([], 0)
    expiry.live(4 * DAY)
    assert expiry.asked_to_delete == 1


# ---- what is in the way


def test_case_50_an_update_in_progress_is_waited_for() -> None:
    expiry = ExpiryFunction()
    expiry.live(3 * DAY)
    expiry.stack.status = "UPDATE_IN_PROGRESS"
    expiry.live(5 * HOUR)
    assert expiry.asked_to_delete == 0
    expiry.stack.status = "UPDATE_COMPLETE"
    expiry.live(HOUR)
    assert expiry.asked_to_delete == 1


def test_termination_protection_is_told_and_never_forced() -> None:
    expiry = ExpiryFunction(stack=FakeStack(protected=True))
    expiry.live(6 * DAY)
    assert expiry.asked_to_delete == 0
    assert set(expiry.subjects) == {"Expiring stack is protected: dev"}
    assert len(expiry.subjects) == 5
    assert "--no-enable-termination-protection --stack-name dev" in expiry.text
    expiry.stack.protected = False
    expiry.live(DAY)
    assert (expiry.asked_to_delete, expiry.subjects[-1]) == (0, WARNING)
    expiry.live(HOUR)
    assert expiry.asked_to_delete == 1


def test_a_stack_without_a_service_role_is_refused_with_what_to_do() -> None:
    expiry = ExpiryFunction(stack=FakeStack(role=None))
    expiry.live(6 * DAY)
    assert expiry.asked_to_delete == 0
    assert set(expiry.subjects) == {"Stack cannot expire: no service role: dev"}
    assert "cdk deploy --role-arn" in expiry.text


def test_a_nested_stack_is_refused() -> None:
    expiry = ExpiryFunction(stack=FakeStack(parent=STACK.replace("dev", "parent")))
    expiry.live(6 * DAY)
    assert expiry.asked_to_delete == 0
    assert set(expiry.subjects) == {"Stack cannot expire: it is nested: dev"}


def test_case_41_a_failed_deletion_is_tried_every_hour_and_told_once_a_day() -> None:
    expiry = ExpiryFunction(stack=FakeStack(becomes="DELETE_FAILED", reason="The group could not be deleted"))
    expiry.live(3 * DAY)
    expiry.live(2 * DAY)
    assert expiry.asked_to_delete == 48
    assert expiry.subjects[2:] == [DELETING, FAILED, FAILED]
    assert "The group could not be deleted" in expiry.text


@pytest.mark.parametrize("code", ["AccessDenied", "ValidationError"])
def test_a_refused_deletion_fails_the_run_and_is_tried_again(code: str) -> None:
    expiry = ExpiryFunction()
    expiry.live(3 * DAY)
    expiry.aws.fail("DeleteStack", code, times=3)
    with pytest.raises(ClientError, match=code):
        expiry.run()
    expiry.aws.clock.advance(3600)
    expiry.live(2 * HOUR)
    assert expiry.stack.deletions == []
    expiry.run()
    assert len(expiry.stack.deletions) == 1
    assert expiry.subjects.count(DELETING) == 1


# ---- nothing is deleted that people were not warned of


@pytest.mark.parametrize("trouble", ["AuthorizationError", "NotFound", "KMSAccessDenied", "Throttling"])
def test_a_warning_that_is_not_published_is_no_warning(trouble: str) -> None:
    expiry = ExpiryFunction()
    expiry.aws.fail("Publish", trouble)
    expiry.live(6 * DAY)
    assert expiry.asked_to_delete == 0
    expiry.aws.faults.clear()
    expiry.live(DAY)
    assert (expiry.asked_to_delete, expiry.subjects) == (0, [WARNING])
    expiry.run()
    assert expiry.asked_to_delete == 1


def test_a_warning_that_is_not_remembered_is_told_again_and_deletes_nothing() -> None:
    expiry = ExpiryFunction()
    expiry.live(2 * DAY)
    expiry.aws.ssm.hold(PARAMETER, "{}")
    expiry.aws.fail("PutParameter", "AccessDeniedException")
    expiry.live(4 * DAY)
    assert expiry.asked_to_delete == 0
    assert len(expiry.subjects) > 24


def test_without_remembering_that_guard_could_not_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    """The guard removed: any memory counts as a warning."""
    careless = Memory(warned_of=START - 30 * DAY, warned_since=START - 30 * DAY)
    monkeypatch.setattr(MemoryStore, "read", lambda self: careless)
    expiry = ExpiryFunction(stack=FakeStack(created_at=START - 10 * DAY))
    expiry.run()
    assert (expiry.asked_to_delete, expiry.subjects) == (1, [DELETING])


@pytest.mark.parametrize("trouble", ["ParameterNotFound", "AccessDeniedException"])
def test_a_memory_that_cannot_be_read_deletes_nothing(trouble: str) -> None:
    expiry = ExpiryFunction(stack=FakeStack(created_at=START - 10 * DAY))
    expiry.aws.fail("GetParameter", trouble)
    expiry.live(3 * DAY)
    assert (expiry.asked_to_delete, expiry.subjects) == (0, [])


@pytest.mark.parametrize(
    "value",
    [
        "",
        "no JSON",
        "[]",
        "7",
        "null",
        '{"told": "something"}',
        '{"told": 7}',
        '{"warned_of": "soon"}',
        '{"warned_of": 7, "warned_since": 7}',
        '{"warned_of": "2026-11-01T00:00:00", "warned_since": "2026-11-01T00:00:00"}',
    ],
)
def test_a_memory_that_makes_no_sense_is_none(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expiry = ExpiryFunction(stack=FakeStack(created_at=START - 10 * DAY))
    expiry.aws.ssm.hold(PARAMETER, value)
    expiry.run()
    assert (expiry.asked_to_delete, expiry.subjects) == (0, [WARNING])
    written = json.loads(expiry.aws.ssm.parameters[PARAMETER].value)
    assert written["warned_since"] == START.isoformat()


@pytest.mark.parametrize("trouble", ["AuthorizationError", refusal("InternalFailure", status=500), "Throttling"])
def test_that_nobody_hears_of_the_deletion_itself_does_not_let_the_stack_bill_on(trouble: Exception | str) -> None:
    expiry = ExpiryFunction()
    expiry.live(3 * DAY)
    expiry.aws.fail("Publish", trouble)
    expiry.run()
    assert expiry.asked_to_delete == 1
    assert expiry.lines.documents("nobody could be told of the deletion")[0]["level"] == "ERROR"


@pytest.mark.parametrize("lost", [timedelta(hours=2), timedelta(hours=12), timedelta(days=30)])
def test_hours_that_were_missed_put_the_deletion_off(lost: timedelta) -> None:
    expiry = ExpiryFunction()
    expiry.live(2 * DAY - HOUR)
    expiry.aws.clock.advance(lost.total_seconds())
    warned_at = expiry.aws.clock.now()
    while not expiry.asked_to_delete:
        expiry.live(HOUR)
    assert expiry.aws.clock.now() - warned_at >= DAY
    assert WARNING in expiry.subjects


def test_two_passes_at_once_do_no_harm() -> None:
    expiry = ExpiryFunction()
    expiry.live(3 * DAY)
    expiry.run()
    expiry.run()
    assert expiry.asked_to_delete == 1


@pytest.mark.parametrize("operation", ["DescribeStacks", "GetParameter", "Publish", "PutParameter", "DeleteStack"])
def test_case_50_throttling_is_waited_out(operation: str) -> None:
    expiry = ExpiryFunction()
    expiry.live(3 * DAY)
    expiry.aws.fail(operation, "Throttling", times=2)
    expiry.run()
    assert expiry.asked_to_delete == (3 if operation == "DeleteStack" else 1)


def test_case_50_out_of_time_is_left_to_the_next_hour() -> None:
    expiry = ExpiryFunction()
    expiry.live(3 * DAY)
    expiry.aws.fail("DescribeStacks", "Throttling")
    with pytest.raises(OutOfTime):
        expiry.run()
    expiry.aws.faults.clear()
    expiry.run()
    assert expiry.asked_to_delete == 1


# ---- events and settings


def test_a_dry_run_tells_and_changes_nothing() -> None:
    expiry = ExpiryFunction()
    expiry.live(3 * DAY)
    told = expiry.run({"source": MANUAL_SOURCE, "dry_run": True})
    assert (told["deleted"], told["delete"], told["told"]) == (False, True, "deleting")
    assert expiry.asked_to_delete == 0
    assert DELETING not in expiry.subjects


@pytest.mark.parametrize("event", [None, [], {"source": "aws.ec2"}, {"source": MANUAL_SOURCE, "dry_run": "yes"}])
def test_an_unknown_event_makes_no_call(event: Any) -> None:
    expiry = ExpiryFunction()
    with pytest.raises(MalformedEvent):
        expiry.run({"x": 1} if event is None or event == [] else event)
    assert expiry.aws.calls == []


BAD_SETTINGS = [
    *((name, value) for name in ENVIRONMENT for value in (None, "", " ")),
    ("STACK_ID", "dev"),
    ("STACK_ID", "arn:aws:sns:eu-west-1:123456789012:dev"),
    ("EXPIRES_AFTER_SECONDS", "3599"),
    ("EXPIRES_AFTER_SECONDS", "99999999"),
    ("WARN_BEFORE_SECONDS", "0"),
    ("WARN_BEFORE_SECONDS", "a day"),
    ("COUNTED_FROM", "birth"),
]


@pytest.mark.parametrize(("name", "value"), BAD_SETTINGS)
def test_a_setting_that_is_missing_or_makes_no_sense_is_named(name: str, value: str | None) -> None:
    changed = {key: each for key, each in {**ENVIRONMENT, name: value}.items() if each is not None}
    with pytest.raises(SettingError, match=name):
        read_settings(changed)


@pytest.fixture(autouse=True)
def _cold_start() -> None:
    index.load_settings.cache_clear()
    index.make_clients.cache_clear()


def test_the_function_finds_its_settings_and_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    expiry = ExpiryFunction(aws=FakeAws(), stack=FakeStack(created_at=START - 10 * DAY))
    set_environment(monkeypatch, ENVIRONMENT)
    monkeypatch.setattr(index, "make_client", expiry.aws.client)
    monkeypatch.setattr(index, "SystemClock", lambda: expiry.aws.clock)
    assert index.handler(TICK, Context(expiry.aws.clock))["told"] == "warning"
    (published,) = expiry.aws.sns.published
    assert published["TopicArn"] == TOPIC


def set_environment(monkeypatch: pytest.MonkeyPatch, environment: Mapping[str, str]) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)


# ---- words


@pytest.mark.parametrize("notice", Notice)
@pytest.mark.parametrize("name", ["dev", "d" * 128])
def test_every_message_says_what_is_and_what_can_be_done(notice: Notice, name: str) -> None:
    decided = Decision(
        delete=False,
        tell=notice,
        reason="so it is",
        expires_at=START,
        delete_after=None,
        memory=Memory(),
    )
    said = message(notice, stack(name=name, status_reason="somebody imports from it"), decided, POLICY)
    assert len(said.subject) <= 100
    assert said.subject.isascii()
    assert "\n" not in said.subject
    assert f"Stack: {name} ({STACK})" in said.text
    assert "Status: CREATE_COMPLETE (somebody imports from it)" in said.text
    assert "Expires: 2026-11-30 12:00 UTC" in said.text
    assert "Why this message: so it is." in said.text
    assert said.text.rpartition("\n\n")[2]
