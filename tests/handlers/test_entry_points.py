"""The handlers as Lambda calls them: environment, clients and address of CloudFormation are found by themselves."""

from __future__ import annotations

import io
import json
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from email.message import Message
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from fleet_cleanup import index as cleanup_index
from fleet_cleanup.response import put
from release_idle import index as release_index
from runtime import clients
from runtime.environment import SettingError
from tests.handlers.cleaning import CLEANUP_ENVIRONMENT, SECRET, TAG, event, stack_event
from tests.handlers.driving import GROUP, MANUAL, QUEUE_ENVIRONMENT, RELEASE_ENVIRONMENT, STATE_PARAMETER
from tests.handlers.fake_aws import Context, FakeAws
from wake_on_demand import index as wake_index


@pytest.fixture(autouse=True)
def _cold_start(aws: FakeAws, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Give the modules the fake AWS and its clock in place of boto3 and the machine's clock, and no memory."""
    indexes: list[Any] = [release_index, wake_index, cleanup_index]
    for index in indexes:
        monkeypatch.setattr(index, "make_client", aws.client)
        monkeypatch.setattr(index, "SystemClock", lambda: aws.clock)
        _forget(index)
    for name in RELEASE_ENVIRONMENT.keys() | QUEUE_ENVIRONMENT.keys() | CLEANUP_ENVIRONMENT.keys():
        monkeypatch.delenv(name, raising=False)
    yield
    for index in indexes:
        _forget(index)


def _forget(index: ModuleType) -> None:
    index.make_clients.cache_clear()
    if hasattr(index, "load_settings"):
        index.load_settings.cache_clear()


def set_environment(monkeypatch: pytest.MonkeyPatch, environment: Mapping[str, str]) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)


def test_the_release_function(
    aws: FakeAws, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    set_environment(monkeypatch, RELEASE_ENVIRONMENT)
    aws.add_parameter(STATE_PARAMETER)
    aws.add_group(GROUP, ["i-1"])
    aws.publish("i-1", 0)
    assert release_index.handler(MANUAL, Context(aws.clock))["released"] == ["i-1"]
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["message"] for line in lines if "message" in line] == ["verdict", "release pass"]


def test_the_wake_function(aws: FakeAws, monkeypatch: pytest.MonkeyPatch) -> None:
    set_environment(monkeypatch, {"AUTO_SCALING_GROUP_NAME": GROUP, **QUEUE_ENVIRONMENT})
    aws.add_group(GROUP)
    aws.sqs.hold(visible=3)
    assert wake_index.handler(MANUAL, Context(aws.clock))["set_desired_to"] == 3


def test_the_wake_function_of_a_stand_in(aws: FakeAws, monkeypatch: pytest.MonkeyPatch) -> None:
    environment = {"SHORTFALL_OF_GROUP": "spot", "SHORTFALL_AFTER_SECONDS": "900"}
    set_environment(monkeypatch, {"AUTO_SCALING_GROUP_NAME": GROUP, **environment})
    aws.add_group(GROUP)
    aws.add_group("spot", ["i-1"])
    assert wake_index.handler(MANUAL, Context(aws.clock))["needed"] == 0


class Web:
    """Where CloudFormation listens."""

    def __init__(self, status: int = 200) -> None:
        self.status = status
        self.requests: list[urllib.request.Request] = []

    def __call__(self, request: urllib.request.Request, timeout: float) -> Any:
        self.requests.append(request)
        assert timeout > 0
        if self.status >= 400:
            raise urllib.error.HTTPError(request.full_url, self.status, "", Message(), io.BytesIO())
        return _Answer(self.status)


class _Answer(SimpleNamespace):
    def __init__(self, status: int) -> None:
        super().__init__(status=status)

    def __enter__(self) -> _Answer:
        return self

    def __exit__(self, *exc: object) -> None:
        pass


def test_case_41_the_cleanup_function_puts_its_answer(aws: FakeAws, monkeypatch: pytest.MonkeyPatch) -> None:
    web = Web()
    monkeypatch.setattr(urllib.request, "urlopen", web)
    aws.add_group(GROUP)
    assert cleanup_index.handler(event("Create"), Context(aws.clock))["status"] == "SUCCESS"
    (request,) = web.requests
    assert (request.full_url, request.get_method()) == (SECRET, "PUT")
    # Anything else would not match what S3 signed.
    assert request.headers == {"Content-type": ""}
    assert isinstance(request.data, bytes)
    assert json.loads(request.data)["Status"] == "SUCCESS"


@pytest.mark.parametrize("status", [403, 503])
def test_a_refused_answer_is_told_by_its_status(monkeypatch: pytest.MonkeyPatch, status: int) -> None:
    monkeypatch.setattr(urllib.request, "urlopen", Web(status))
    assert put(SECRET, b"{}") == status


def test_clients_try_once_because_the_handlers_do_the_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[tuple[str, Any]] = []
    monkeypatch.setattr("boto3.client", lambda service, config: made.append((service, config)))
    clients.make_client("sqs")
    ((service, config),) = made
    assert service == "sqs"
    assert config.retries["total_max_attempts"] == 1
    assert config.connect_timeout + config.read_timeout < 30


def test_case_04_the_cleanup_function_hears_of_its_stack(aws: FakeAws, monkeypatch: pytest.MonkeyPatch) -> None:
    set_environment(monkeypatch, CLEANUP_ENVIRONMENT)
    aws.add_group(GROUP, ["i-1"], tags=TAG)
    assert cleanup_index.handler(stack_event(), Context(aws.clock))["acted"] is True
    assert aws.terminated() == ["i-1"]


def test_a_custom_resource_needs_no_settings(aws: FakeAws, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(urllib.request, "urlopen", Web())
    aws.add_group(GROUP, ["i-1"])
    assert cleanup_index.handler(event("Delete"), Context(aws.clock))["status"] == "SUCCESS"


def test_a_stack_event_without_settings_makes_no_call(aws: FakeAws) -> None:
    with pytest.raises(SettingError, match="STACK_ID"):
        cleanup_index.handler(stack_event(), Context(aws.clock))
    assert aws.calls == []
