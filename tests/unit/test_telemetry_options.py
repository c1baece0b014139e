"""What a user can choose about telemetry, and what is refused because it would be published nowhere."""

from __future__ import annotations

from typing import Any

import pytest
from aws_cdk import Duration, Token
from aws_cdk import aws_logs as logs

from constructs_lib.errors import ArgumentError
from constructs_lib.telemetry import FleetLogs, Telemetry, log_statement, telemetry_statements
from tests.support.stacks import stack


@pytest.mark.parametrize("parameter", ["per_accelerator_series", "network", "swap"])
@pytest.mark.parametrize("value", ["no", 0])
def test_switches_are_yes_or_no(parameter: str, value: Any) -> None:
    with pytest.raises(ArgumentError, match=f"Telemetry: {parameter} must be of type bool"):
        Telemetry(**{parameter: value})


def test_a_list_that_changes_later_does_not_change_the_telemetry() -> None:
    chosen = ["utilization_gpu"]
    telemetry = Telemetry(measurements=chosen, processes=chosen)
    chosen.append("power_draw")
    assert telemetry.measurements == telemetry.processes == ("utilization_gpu",)


def test_the_defaults_are_a_reading_a_minute_and_nothing_beside_the_accelerators() -> None:
    plain = Telemetry()
    assert plain.resolution_seconds == 60
    assert plain.per_accelerator_series is True
    assert (plain.network, plain.swap, plain.logs) == (False, False, None)
    assert plain.application_metrics == plain.processes == ()


@pytest.mark.parametrize(
    "resolution",
    [
        Duration.seconds(0),
        Duration.seconds(1),
        Duration.seconds(5),
        Duration.seconds(20),
        Duration.millis(500),
        Duration.minutes(2),
    ],
)
def test_a_resolution_without_a_cloudwatch_period_is_refused(resolution: Duration) -> None:
    with pytest.raises(ArgumentError, match=r"resolution must be one that the fleet reads in, got .*one of 10, 30, 60"):
        Telemetry(resolution=resolution)


def test_a_resolution_is_a_duration_known_at_synth() -> None:
    with pytest.raises(ArgumentError, match="resolution must be of type Duration"):
        Telemetry(resolution=10)  # type: ignore[arg-type]
    late = Token.as_number({"Ref": "Seconds"})
    with pytest.raises(ArgumentError, match=r"resolution .*got 'a token'"):
        Telemetry(resolution=Duration.seconds(late))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("latency", "must be a list of str"),
        ([], "must be a list of str"),
        (["latency.p99"], "letters, digits and underscores, 200 at most, got 'latency.p99'"),
        (["a" * 201], "200 at most"),
        ([""], "letters, digits"),
        (["latency", "latency"], "must name each one once, got 'latency'"),
        (["node_heartbeat"], "names that the fleet does not use itself, got 'node_heartbeat'"),
        (["MembersIdle"], "does not use itself"),
        (["accelerator_latency"], "does not use itself"),
        (["cpu_usage_active"], "does not use itself"),
        (["efa_latency"], "does not use itself"),
        (["InstancesReleased"], "does not use itself"),
        (["DrainsDone"], "does not use itself"),
        (["OrphansFound"], "does not use itself"),
        (["OrphanUsdPerMonth"], "does not use itself"),
    ],
)
def test_application_metrics_have_plain_names_of_their_own(given: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=f"Telemetry: application_metrics .*{message}"):
        Telemetry(application_metrics=given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("python", "must be a list of str"),
        ([" "], "patterns of 1 to 255 characters"),
        (["x" * 256], "patterns of 1 to 255 characters"),
        (["python", "python"], "must name each one once"),
    ],
)
def test_processes_are_patterns(given: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=f"Telemetry: processes .*{message}"):
        Telemetry(processes=given)


def test_logs_are_fleet_logs() -> None:
    with pytest.raises(ArgumentError, match="Telemetry: logs must be of type FleetLogs"):
        Telemetry(logs=["/var/log/messages"])  # type: ignore[arg-type]


# --- FleetLogs ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"files": "/var/log/a.log"}, "files must be a list of str"),
        ({"files": ["var/log/a.log"]}, "files must hold absolute paths of files, got 'var/log/a.log'"),
        ({"files": ["/var/log/"]}, "absolute paths of files"),
        ({"files": ["/var/a.log", "/var/a.log"]}, "files must name each file once, got '/var/a.log'"),
        ({"files": ["/var/a*.log", "/var/a_.log"]}, "two files would be mixed in one log stream"),
        ({"files": ["/var/log/accelerated-fleet/faults.log"]}, "files must name each file once"),
        ({"files": ["/faults"]}, "files must name each file once"),
        ({"faults": False}, "files must name at least one file when faults is False"),
        ({"faults": "yes"}, "faults must be of type bool"),
        ({"retention": 45}, "retention must be of type RetentionDays, got 45"),
    ],
)
def test_logs_that_cannot_be_copied_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=rf"FleetLogs: .*{message.replace('*', '.')}"):
        FleetLogs(**arguments)


def test_faults_are_copied_and_kept_for_a_month_by_default() -> None:
    plain = FleetLogs()
    assert plain.streams == {"faults": "/var/log/accelerated-fleet/faults.log"}
    assert plain.retention is logs.RetentionDays.ONE_MONTH


def test_faults_can_be_left_out() -> None:
    assert FleetLogs(files=["/var/log/a.log"], faults=False).streams == {"var/log/a.log": "/var/log/a.log"}


# --- permissions ----------------------------------------------------------------------------------


def test_case_21_the_agent_may_write_its_own_log_group_and_no_other() -> None:
    scope = stack()
    arn = "arn:aws:logs:us-east-1:111122223333:log-group:fleet:*"
    group = logs.LogGroup.from_log_group_arn(scope, "Logs", arn)
    assert scope.resolve(log_statement(group).to_statement_json()) == {
        "Effect": "Allow",
        "Action": ["logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"],
        "Resource": arn,
    }


def test_case_21_the_agent_may_publish_in_its_namespace_and_learn_its_group() -> None:
    assert [stack().resolve(each.to_statement_json()) for each in telemetry_statements()] == [
        {
            "Effect": "Allow",
            "Action": "cloudwatch:PutMetricData",
            "Resource": "*",
            "Condition": {"StringEquals": {"cloudwatch:namespace": "AcceleratedFleet"}},
        },
        {"Effect": "Allow", "Action": "ec2:DescribeTags", "Resource": "*"},
    ]
