"""What may be asked of a drain, and what the instance is told of it."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from typing import Any

import pytest
from aws_cdk import CfnParameter, Duration
from hypothesis import given
from hypothesis import strategies as st

from constructs_lib.catalog import lookup
from constructs_lib.errors import ArgumentError
from constructs_lib.fleet.drain import HOOK_NAME, Drain
from constructs_lib.node.settings import parse_settings
from tests.boot.test_node_program import settings
from tests.support.stacks import stack


def test_case_59_a_drain_has_an_end_and_the_hook_ends_a_minute_later() -> None:
    assert Drain().deadline_seconds == 1_800
    assert Drain().hook_heartbeat_seconds == 1_860
    assert Drain(deadline=Duration.minutes(115)).hook_heartbeat_seconds == 6_960
    assert HOOK_NAME == "Drain"


@given(st.integers(30, 115 * 60))
def test_case_59_the_hook_outlives_every_deadline_and_auto_scaling_takes_it(seconds: int) -> None:
    """A hook takes 30 to 7,200 seconds (HeartbeatTimeout, PutLifecycleHook)."""
    drain = Drain(deadline=Duration.seconds(seconds))
    assert seconds < drain.hook_heartbeat_seconds <= 7_200


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"deadline": 300}, "Drain: deadline must be of type Duration, got 300; "),
        ({"deadline": Duration.seconds(29)}, "Drain: deadline must be whole seconds from 30 seconds to 115 minutes"),
        ({"deadline": Duration.minutes(116)}, "Drain: deadline must be whole seconds from 30 seconds to 115 minutes"),
        ({"deadline": Duration.millis(30_500)}, "Drain: deadline must be whole seconds"),
        ({"signal": "TERM"}, "Drain: signal must be one of SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, got"),
        ({"signal": "SIGKILL"}, "Drain: signal must be one of "),
        ({"signal": 15}, "Drain: signal must be one of "),
        ({"command": ""}, "Drain: command must be a text that is not empty, got ''; "),
        ({"command": ["docker", "stop"]}, "Drain: command must be a text that is not empty"),
        ({"checkpoint_command": "  "}, "Drain: checkpoint_command must be a text that is not empty"),
        ({"checkpoint_command": "a\0b"}, "Drain: checkpoint_command must be a text without a zero byte"),
        ({"drain_on_rebalance": 1}, "Drain: drain_on_rebalance must be of type bool, got 1; "),
    ],
)
def test_a_wrong_value_is_an_error_that_names_it(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        Drain(**given)
    assert str(caught.value).startswith(message)
    assert "; " in str(caught.value)


def test_a_deadline_that_only_a_deploy_settles_cannot_be_counted_with() -> None:
    later = CfnParameter(stack(), "Later", type="Number").value_as_number
    with pytest.raises(ArgumentError, match=r"deadline must be known at synth, .* got 'a token'"):
        Drain(deadline=Duration.seconds(later))


def test_it_is_a_value() -> None:
    assert Drain() == Drain(deadline=Duration.minutes(30), signal="SIGTERM", drain_on_rebalance=False)
    assert Drain() != Drain(deadline=Duration.minutes(6))
    assert hash(Drain()) == hash(Drain(deadline=Duration.seconds(1_800)))
    with pytest.raises(FrozenInstanceError):
        Drain().signal = "SIGINT"  # type: ignore[misc]
    with pytest.raises(TypeError):
        Drain(Duration.minutes(5))  # type: ignore[call-arg]


def test_what_is_as_usual_takes_no_room_in_user_data() -> None:
    assert Drain().settings() == {"deadline_seconds": 1_800, "namespace": "AcceleratedFleet"}


FULL = Drain(
    deadline=Duration.minutes(10),
    signal="SIGUSR1",
    command="docker stop --time 500 worker",
    checkpoint_command='curl -sf "localhost:8080/checkpoint?why=$ACCELERATED_DRAIN_REASON"\nsync',
    drain_on_rebalance=True,
)


def test_the_instance_reads_what_was_asked_for() -> None:
    read = parse_settings(settings([lookup("g6.xlarge")], drain=FULL.settings()), "node.json").drain
    assert read is not None
    assert vars(read) == {
        "deadline_seconds": 600,
        "namespace": "AcceleratedFleet",
        "signal": "SIGUSR1",
        "command": "docker stop --time 500 worker",
        "checkpoint_command": 'curl -sf "localhost:8080/checkpoint?why=$ACCELERATED_DRAIN_REASON"\nsync',
        "drain_on_rebalance": True,
    }


def test_the_instance_knows_what_is_as_usual() -> None:
    read = parse_settings(settings([lookup("g6.xlarge")], drain=Drain().settings()), "node.json").drain
    assert read is not None
    assert (read.signal, read.command, read.checkpoint_command, read.drain_on_rebalance) == ("SIGTERM", "", "", False)


def test_a_command_may_name_what_a_deploy_settles() -> None:
    later = CfnParameter(stack(), "Later").value_as_string
    assert Drain(command=f"finish {later}").settings()["command"] == f"finish {later}"
