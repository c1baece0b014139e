"""What is watched is what is published: every alarm, graph and handler query against what the agent really sends."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk.assertions import Template

from constructs_lib import AcceleratedFleet
from tests.constructs.reading import agent_configuration, plain, properties, resources, text, user_data
from tests.constructs.scenarios import SCENARIOS, idle_release, template
from tests.support.agent_model import FRACTION_MEASUREMENTS, NVIDIA_MEASUREMENTS, Series, published_series
from tests.support.stacks import fleet, fleet_template, stack, vpc

NAMESPACE = "AcceleratedFleet"
INTERVAL_SECONDS = 60
PASS_METRICS = (
    "MembersBusy",
    "MembersIdle",
    "MembersUnknown",
    "MembersHeld",
    "MembersIdleDespiteWork",
    "InstancesReleased",
)
FLEETS = [name for name in SCENARIOS if name != "idle_release"]


def watched(made: Mapping[str, Any]) -> Iterator[tuple[Series, int]]:
    """Every series that an alarm or a graph of the template reads, with the period it is read in."""
    for alarm in resources(made, "AWS::CloudWatch::Alarm").values():
        given = plain(alarm["Properties"])
        stats = [each["MetricStat"] for each in given.get("Metrics", []) if "MetricStat" in each]
        if "MetricName" in given:
            stats.append({"Metric": given, "Period": given["Period"]})
        for stat in stats:
            metric = stat["Metric"]
            dimensions = frozenset((each["Name"], each["Value"]) for each in metric["Dimensions"])
            yield (metric["Namespace"], metric["MetricName"], dimensions), stat["Period"]
    for dashboard in resources(made, "AWS::CloudWatch::Dashboard").values():
        for widget in json.loads(text(dashboard["Properties"]["DashboardBody"]))["widgets"]:
            for namespace, name, *pairs, options in widget["properties"]["metrics"]:
                dimensions = frozenset(zip(pairs[::2], pairs[1::2], strict=True))
                yield (namespace, name, dimensions), options.get("period", 300)


def published(made: Mapping[str, Any], group: str, *, fraction: bool = False) -> set[Series]:
    """What an instance of the group and a release pass over it publish."""
    by_agent = published_series(
        agent_configuration(made),
        instance_id="i-1",
        group=group,
        gpus=4,
        answers=FRACTION_MEASUREMENTS if fraction else NVIDIA_MEASUREMENTS,
    )
    by_pass = {(NAMESPACE, name, frozenset({("AutoScalingGroupName", group)})) for name in PASS_METRICS}
    return by_agent | by_pass


def with_dashboard(**arguments: Any) -> dict[str, Any]:
    test_stack = stack()
    made = fleet(test_stack, **arguments)
    cloudwatch.Dashboard(test_stack, "Dashboard").add_widgets(*made.dashboard_widgets())
    return dict(Template.from_stack(test_stack).to_json())


@pytest.mark.parametrize(
    "instance_types",
    ["g5.12xlarge", ["g6.xlarge", "g5.xlarge", "g4dn.xlarge"], "p5.48xlarge", "g6f.large"],
    ids=["one type", "mixed types", "no encoder", "fraction of a GPU"],
)
def test_case_05_every_watched_series_is_published(instance_types: Any) -> None:
    made = with_dashboard(instance_types=instance_types)
    sent = published(made, "<FleetAutoScalingGroupASG>", fraction=instance_types == "g6f.large")
    seen = [(series, period) for series, period in watched(made) if series[0] == NAMESPACE]
    assert len(seen) >= 3
    for series, period in seen:
        assert series in sent
        assert period >= INTERVAL_SECONDS


def test_case_05_every_watched_series_of_the_fullest_fleet_is_published() -> None:
    made = template("fullest")
    sent = published(made, "<FleetAutoScalingGroupASG>")
    seen = {series for series, _ in watched(made) if series[0] == NAMESPACE}
    assert seen
    assert seen <= sent


def test_case_05_each_of_two_fleets_watches_its_own_series() -> None:
    test_stack = stack()
    network = vpc(test_stack)
    for id in ("Train", "Serve"):
        fleet(test_stack, id, vpc=network)
    made = Template.from_stack(test_stack).to_json()
    groups: dict[str, set[str]] = {"Train": set(), "Serve": set()}
    for id, alarm in resources(made, "AWS::CloudWatch::Alarm").items():
        for (_, _, dimensions), _ in watched({"Resources": {id: alarm}}):
            groups[id[:5]].update(value for name, value in dimensions if name == "AutoScalingGroupName")
    assert groups == {"Train": {"<TrainAutoScalingGroupASG>"}, "Serve": {"<ServeAutoScalingGroupASG>"}}


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_case_05_other_series_come_from_the_fleets_own_group_and_functions(scenario: str) -> None:
    made = template(scenario)
    group = "training-workers" if scenario == "idle_release" else "<FleetAutoScalingGroupASG>"
    functions = {text({"Ref": id}) for id in resources(made, "AWS::Lambda::Function")}
    others = [series for series, _ in watched(made) if series[0] != NAMESPACE]
    assert others
    for namespace, name, dimensions in others:
        ((dimension, value),) = dimensions
        if namespace == "AWS/AutoScaling":
            assert name in ("GroupInServiceInstances", "GroupDesiredCapacity")
            assert (dimension, value) == ("AutoScalingGroupName", group)
        elif namespace == "AWS/SQS":
            assert (name, dimension) == ("ApproximateNumberOfMessagesVisible", "QueueName")
            assert value == "<Jobs.QueueName>"
        else:
            assert (namespace, dimension) == ("AWS/Lambda", "FunctionName")
            assert name in ("Errors", "Invocations")
            assert value in functions


@pytest.mark.parametrize("scenario", FLEETS)
def test_case_05_every_signal_that_the_handler_reads_is_published_for_each_instance(scenario: str) -> None:
    made = template(scenario)
    variables = properties(made, "FleetReleaseHandler", "AWS::Lambda::Function")["Environment"]["Variables"]
    assert (variables["METRIC_NAMESPACE"], variables["METRIC_PERIOD_SECONDS"]) == (NAMESPACE, "60")
    sent = published(made, "any")
    signals = json.loads(variables["SIGNALS"])
    assert [signal["name"] for signal in signals] == ["accelerator", "cpu"]
    for signal in signals:
        assert (NAMESPACE, signal["metric"], frozenset({("InstanceId", "i-1")})) in sent


def test_case_05_idle_release_hands_out_the_configuration_that_its_alarms_need() -> None:
    test_stack = stack()
    configuration = json.loads(idle_release(test_stack).agent_configuration)
    sent = published_series(
        configuration, instance_id="i-1", group="training-workers", gpus=1, answers=FRACTION_MEASUREMENTS
    )
    made = Template.from_stack(test_stack).to_json()
    seen = {series for series, _ in watched(made) if series[1].startswith("nvidia")}
    assert seen
    assert seen <= sent


# --- case 20: the agent after the driver, and what is reported if that never comes ----------------


def test_case_20_agent_is_started_after_the_driver_answers() -> None:
    lines = user_data(template("smallest")).splitlines()
    body = "\n".join(lines[lines.index("accelerated_fleet_start_agent() {") :])
    assert 0 < body.index("accelerated_fleet_wait_for_driver") < body.index("accelerated_fleet_load")
    assert len([line for line in lines if "fetch-config" in line]) == 1
    assert "DRIVER_TIMEOUT=300" in lines
    assert "AGENT_CONFIG=ssm:<FleetAgentConfiguration>" in lines


def test_case_20_fallback_reports_the_host_without_any_gpu_plugin() -> None:
    lines = user_data(template("smallest")).splitlines()
    begin = lines.index("cat >/etc/accelerated-fleet/agent-without-accelerator.json <<'ACCELERATED_FLEET_END_OF_FILE'")
    fallback = json.loads(lines[begin + 1])
    assert fallback["metrics"]["metrics_collected"].keys() == {"cpu", "mem", "disk"}
    sent = published_series(fallback, instance_id="i-1", group="g", gpus=0)
    instance = frozenset({("InstanceId", "i-1")})
    for name in ("cpu_usage_active", "mem_used_percent", "disk_used_percent", "accelerator_unreadable"):
        assert (NAMESPACE, name, instance) in sent
    assert not [name for _, name, _ in sent if name.startswith("nvidia")]


# --- case 21: what the agent may do ---------------------------------------------------------------


def test_case_21_own_role_lets_the_agent_publish_and_learn_its_group() -> None:
    role = properties(template("smallest"), "FleetRole", "AWS::IAM::Role")
    (policy,) = role["Policies"]
    assert plain(policy["PolicyDocument"]["Statement"]) == TELEMETRY
    assert "ManagedPolicyArns" not in role


def test_case_21_a_given_role_gets_the_same_permissions() -> None:
    role = properties(template("fullest"), "RoleDefaultPolicy", "AWS::IAM::Policy")
    own = properties(template("fullest"), "FleetRolePolicy", "AWS::IAM::Policy")
    assert plain(role["Roles"]) == plain(own["Roles"]) == ["<Role>"]
    statements = [*plain(role["PolicyDocument"]["Statement"]), *plain(own["PolicyDocument"]["Statement"])]
    assert sorted(statements, key=str) == sorted(TELEMETRY, key=str)


def test_case_21_namespace_of_the_permission_is_that_of_the_agent() -> None:
    made = template("smallest")
    condition = TELEMETRY[0]["Condition"]["StringEquals"]["cloudwatch:namespace"]
    assert agent_configuration(made)["metrics"]["namespace"] == condition


PARAMETER = "arn:<AWS::Partition>:ssm:<AWS::Region>:<AWS::AccountId>:parameter/<FleetAgentConfiguration>"
TELEMETRY: list[dict[str, Any]] = [
    {
        "Effect": "Allow",
        "Action": "cloudwatch:PutMetricData",
        "Resource": "*",
        "Condition": {"StringEquals": {"cloudwatch:namespace": "AcceleratedFleet"}},
    },
    {"Effect": "Allow", "Action": "ec2:DescribeTags", "Resource": "*"},
    {
        "Effect": "Allow",
        "Action": [
            "ssm:UpdateInstanceInformation",
            "ssmmessages:CreateControlChannel",
            "ssmmessages:CreateDataChannel",
            "ssmmessages:OpenControlChannel",
            "ssmmessages:OpenDataChannel",
        ],
        "Resource": "*",
    },
    {"Effect": "Allow", "Action": "ssm:GetParameter", "Resource": PARAMETER},
]


# --- metrics for users ----------------------------------------------------------------------------

FLEET_METRICS = [
    ("metric_busiest_accelerator", NAMESPACE, "nvidia_smi_utilization_gpu", "Maximum", 60),
    ("metric_accelerator_utilization", NAMESPACE, "nvidia_smi_utilization_gpu", "Average", 60),
    ("metric_in_service_instances", "AWS/AutoScaling", "GroupInServiceInstances", "Maximum", 60),
    ("metric_desired_capacity", "AWS/AutoScaling", "GroupDesiredCapacity", "Maximum", 60),
    ("metric_instances_released", NAMESPACE, "InstancesReleased", "Sum", 300),
]


@pytest.fixture(scope="module")
def one_fleet() -> AcceleratedFleet:
    return fleet(stack())


@pytest.mark.parametrize(("method", "namespace", "name", "statistic", "period"), FLEET_METRICS)
def test_metric_defaults_and_overrides(
    one_fleet: AcceleratedFleet, method: str, namespace: str, name: str, statistic: str, period: int
) -> None:
    made = getattr(one_fleet, method)()
    assert (made.namespace, made.metric_name, made.statistic) == (namespace, name, statistic)
    assert made.period.to_seconds() == period
    assert made.dimensions == {"AutoScalingGroupName": one_fleet.auto_scaling_group.auto_scaling_group_name}
    other = getattr(one_fleet, method)(period=Duration.hours(1), statistic="p90", label="mine")
    assert (other.period.to_seconds(), other.statistic, other.label) == (3600, "p90", "mine")


def test_any_metric_of_the_namespace(one_fleet: AcceleratedFleet) -> None:
    made = one_fleet.metric("nvidia_smi_power_draw", statistic="Sum")
    assert (made.namespace, made.metric_name, made.statistic) == (NAMESPACE, "nvidia_smi_power_draw", "Sum")


def test_asking_for_a_metric_or_a_graph_makes_no_resource() -> None:
    test_stack = stack()
    made = fleet(test_stack)
    for method, *_ in FLEET_METRICS:
        getattr(made, method)()
    made.dashboard_widgets()
    assert Template.from_stack(test_stack).to_json()["Resources"] == fleet_template()["Resources"]
