"""What is watched is what is published: every alarm, graph and handler query against what the agent really sends."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest
from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk.assertions import Template

from constructs_lib import AcceleratedFleet, ArgumentError, FleetImage, FleetLogs, IdlePolicy, IdleSignal, Telemetry
from constructs_lib.catalog import lookup
from constructs_lib.telemetry import kind_of
from tests.constructs.reading import plain, properties, resources, text, user_data
from tests.constructs.scenarios import SCENARIOS, idle_release, template
from tests.support.agent_model import Series
from tests.support.node_model import instance_series, pass_series
from tests.support.stacks import ROOT, fleet, fleet_template, stack, vpc

USUAL_FALLBACK = ROOT / "constructs_lib" / "node" / "units" / "agent-fallback.json"

NAMESPACE = "AcceleratedFleet"
GROUP = "<FleetAutoScalingGroupASG>"
INTERVAL_SECONDS = 60
OWN_IMAGE = FleetImage.from_ssm_parameter("/golden/ami-id")
EVERYTHING = Telemetry(
    per_accelerator_series=False,
    application_metrics=["latency"],
    network=True,
    swap=True,
    processes=["python"],
    logs=FleetLogs(files=["/var/log/worker.log"]),
)
FLEETS: Mapping[str, Sequence[str]] = {
    "smallest": ["g5.12xlarge"],
    "with_queue": ["g5.12xlarge"],
    "fullest": ["g6.xlarge", "g5.xlarge", "g4dn.xlarge"],
    "trainium": ["trn1.32xlarge"],
    "fpga": ["f2.6xlarge"],
}
"""The types of each scenario that is a fleet."""


def agent_configuration(made: Mapping[str, Any], id: str = "FleetAgentConfiguration") -> dict[str, Any]:
    """What an SSM parameter tells the agent."""
    configuration: dict[str, Any] = json.loads(text(properties(made, id, "AWS::SSM::Parameter")["Value"]))
    return configuration


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


def published(made: Mapping[str, Any], types: Sequence[str], group: str = GROUP) -> set[Series]:
    """What instances of the group, one of each type, and a release pass over it publish."""
    config = agent_configuration(made)
    series = pass_series(group)
    for name in types:
        series |= instance_series(config, lookup(name), group=group, work=["latency"])
    return series


def with_dashboard(**arguments: Any) -> dict[str, Any]:
    test_stack = stack()
    made = fleet(test_stack, **arguments)
    cloudwatch.Dashboard(test_stack, "Dashboard").add_widgets(*made.dashboard_widgets())
    return dict(Template.from_stack(test_stack).to_json())


@pytest.mark.parametrize("telemetry", [Telemetry(), EVERYTHING], ids=["standard", "everything"])
@pytest.mark.parametrize(
    ("types", "image"),
    [
        (["g5.12xlarge"], None),
        (["g6.xlarge", "g5.xlarge", "g4dn.xlarge"], None),
        (["p5.48xlarge"], None),
        (["g6f.large"], None),
        (["inf2.xlarge"], None),
        (["trn1.2xlarge", "trn1.32xlarge"], None),
        (["dl1.24xlarge"], OWN_IMAGE),
        (["dl2q.24xlarge"], OWN_IMAGE),
        (["f2.6xlarge", "f2.48xlarge"], OWN_IMAGE),
        (["vt1.3xlarge"], OWN_IMAGE),
        (["g4ad.xlarge"], OWN_IMAGE),
    ],
    ids=lambda given: "+".join(given) if isinstance(given, list) else "",
)
def test_case_05_every_watched_series_is_published(
    types: list[str], image: FleetImage | None, telemetry: Telemetry
) -> None:
    made = with_dashboard(instance_types=types, image=image, telemetry=telemetry)
    sent = published(made, types)
    seen = [(series, period) for series, period in watched(made) if series[0] == NAMESPACE]
    assert len(seen) >= 10
    for series, period in seen:
        assert series in sent
        assert period >= INTERVAL_SECONDS


@pytest.mark.parametrize("scenario", FLEETS)
def test_case_05_every_watched_series_of_the_scenarios_is_published(scenario: str) -> None:
    made = template(scenario)
    sent = published(made, FLEETS[scenario])
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
    signals = json.loads(variables["SIGNALS"])
    assert signals[0]["name"] == "accelerator"
    assert "cpu" in [signal["name"] for signal in signals]
    for name in FLEETS[scenario]:
        sent = published(made, [name])
        # One with a namespace comes from the work itself.
        for signal in [each for each in signals if "namespace" not in each]:
            assert (NAMESPACE, signal["metric"], frozenset({("InstanceId", "i-1")})) in sent


def test_case_05_every_signal_that_can_be_chosen_is_published_for_each_instance() -> None:
    policy = IdlePolicy(signals=list(IdleSignal), threshold_memory_mib=900, threshold_power_watts=40)
    for name, image in (("g5.12xlarge", None), ("inf2.xlarge", None), ("dl1.24xlarge", OWN_IMAGE)):
        if kind_of([lookup(name)]).power is None:
            policy = IdlePolicy(
                signals=[each for each in IdleSignal if each is not IdleSignal.POWER], threshold_memory_mib=900
            )
        made = fleet_template(instance_types=name, image=image, idle=policy)
        variables = properties(made, "FleetReleaseHandler", "AWS::Lambda::Function")["Environment"]["Variables"]
        sent = instance_series(agent_configuration(made), lookup(name), group=GROUP, network=True)
        for signal in json.loads(variables["SIGNALS"]):
            assert (NAMESPACE, signal["metric"], frozenset({("InstanceId", "i-1")})) in sent, signal


def test_case_05_idle_release_hands_out_the_configuration_that_its_alarms_need() -> None:
    test_stack = stack()
    configuration = json.loads(idle_release(test_stack).agent_configuration)
    sent = instance_series(configuration, lookup("g6f.large"), group="training-workers")
    made = Template.from_stack(test_stack).to_json()
    seen = {series for series, _ in watched(made) if series[1].startswith("nvidia")}
    assert seen
    assert seen <= sent


def test_case_06_the_gap_alarm_counts_what_the_kind_publishes() -> None:
    for scenario, metric in (("smallest", "nvidia_smi_utilization_gpu"), ("trainium", "accelerator_utilization")):
        alarms = resources(template(scenario), "AWS::CloudWatch::Alarm")
        (gap,) = [each for id, each in alarms.items() if id.startswith("FleetTelemetryGapAlarm")]
        watched_names = {name for (_, name, _), _ in watched({"Resources": {"Gap": gap}})}
        assert watched_names == {"GroupInServiceInstances", metric}


# --- case 20: what is reported while the driver does not answer -----------------------------------


@pytest.mark.parametrize("scenario", FLEETS)
def test_case_20_fallback_reports_the_host_and_what_is_missing_without_any_gpu_plugin(scenario: str) -> None:
    lines = [line for line in user_data(template(scenario)).splitlines() if line.startswith('{"agent":')]
    # The usual one comes with the node program.
    (written,) = lines or [USUAL_FALLBACK.read_text(encoding="utf-8")]
    fallback = json.loads(written)
    assert fallback["metrics"]["metrics_collected"].keys() == {"cpu", "mem", "disk", "statsd"}
    sent = instance_series(fallback, lookup(FLEETS[scenario][0]), group="g")
    instance = frozenset({("InstanceId", "i-1")})
    for name in ("cpu_usage_active", "mem_used_percent", "disk_used_percent", "accelerators_missing", "busy_marks"):
        assert (NAMESPACE, name, instance) in sent
    assert not [name for _, name, _ in sent if name.startswith("nvidia")]


def test_the_essential_configuration_lies_beside_the_full_one() -> None:
    made = template("trainium")
    full, essential = (agent_configuration(made, id) for id in ("FleetAgentConf", "FleetEssentialAgentConf"))
    sections = [each["metrics"]["metrics_collected"].keys() for each in (full, essential)]
    assert sections[0] - sections[1] == {"efa", "ethtool"}


# --- case 21: what the agent may do ---------------------------------------------------------------


def _without_program(statements: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """All statements but the one that lets an instance read the node program, exactly one object of the assets."""
    (program,) = [each for each in statements if each["Action"] == "s3:GetObject"]
    assert re.fullmatch(r"arn:<AWS::Partition>:s3:::cdk-hnb659fds-assets-.*/[0-9a-f]{64}\.zip", program["Resource"])
    return [each for each in statements if each is not program]


def test_case_21_own_role_lets_the_agent_publish_and_learn_its_group() -> None:
    role = properties(template("smallest"), "FleetRole", "AWS::IAM::Role")
    (policy,) = role["Policies"]
    assert _without_program(plain(policy["PolicyDocument"]["Statement"])) == [
        *TELEMETRY,
        READ_PARAMETER,
        COMPLETE_HOOK,
    ]
    assert "ManagedPolicyArns" not in role


def test_case_21_a_given_role_gets_the_same_permissions() -> None:
    role = properties(template("fullest"), "RoleDefaultPolicy", "AWS::IAM::Policy")
    own = properties(template("fullest"), "FleetRolePolicy", "AWS::IAM::Policy")
    assert plain(role["Roles"]) == plain(own["Roles"]) == ["<Role>"]
    assert plain(role["PolicyDocument"]["Statement"]) == TELEMETRY
    assert _without_program(plain(own["PolicyDocument"]["Statement"])) == [
        READ_PARAMETER,
        READ_ESSENTIAL,
        WRITE_LOGS,
        COMPLETE_HOOK,
    ]


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
]
READ_PARAMETER = {"Effect": "Allow", "Action": "ssm:GetParameter", "Resource": PARAMETER}
READ_ESSENTIAL: dict[str, Any] = {
    **READ_PARAMETER,
    "Resource": PARAMETER.replace("<FleetAgent", "<FleetEssentialAgent"),
}
COMPLETE_HOOK = {
    "Effect": "Allow",
    "Action": "autoscaling:CompleteLifecycleAction",
    "Resource": "*",
    "Condition": {"StringEquals": {"autoscaling:ResourceTag/accelerated-fleet:id": "Test/TestFleet72ECBEB0"}},
}
WRITE_LOGS = {
    "Effect": "Allow",
    "Action": ["logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"],
    "Resource": "<FleetLogs.Arn>",
}


# --- metrics for users ----------------------------------------------------------------------------

FLEET_METRICS = [
    ("metric_busiest_accelerator", NAMESPACE, "nvidia_smi_utilization_gpu", "Maximum", 60),
    ("metric_accelerator_utilization", NAMESPACE, "nvidia_smi_utilization_gpu", "Average", 60),
    ("metric_accelerator_memory", NAMESPACE, "nvidia_smi_memory_used", "Average", 60),
    ("metric_accelerator_power", NAMESPACE, "nvidia_smi_power_draw", "Average", 60),
    ("metric_accelerator_energy", NAMESPACE, "accelerator_energy_joules", "Sum", 60),
    ("metric_idle_time", NAMESPACE, "accelerator_idle_seconds", "Minimum", 60),
    ("metric_cold_start", NAMESPACE, "cold_start_first_use_seconds", "Average", 3600),
    ("metric_accelerators_missing", NAMESPACE, "accelerators_missing", "Maximum", 60),
    ("metric_busy_marks", NAMESPACE, "busy_marks", "Maximum", 60),
    ("metric_interactive_sessions", NAMESPACE, "interactive_sessions", "Maximum", 60),
    ("metric_in_service_instances", "AWS/AutoScaling", "GroupInServiceInstances", "Maximum", 60),
    ("metric_desired_capacity", "AWS/AutoScaling", "GroupDesiredCapacity", "Maximum", 60),
    ("metric_instances_released", NAMESPACE, "InstancesReleased", "Sum", 300),
    ("metric_members_held", NAMESPACE, "MembersHeld", "Maximum", 300),
    ("metric_members_retained", NAMESPACE, "MembersRetained", "Maximum", 300),
    ("metric_launches_stopped", NAMESPACE, "LaunchesStopped", "Maximum", 300),
    ("metric_drains_done", NAMESPACE, "DrainsDone", "Sum", 300),
    ("metric_drains_timed_out", NAMESPACE, "DrainsTimedOut", "Sum", 300),
    ("metric_drains_abandoned", NAMESPACE, "DrainsAbandoned", "Sum", 300),
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


def test_every_method_is_among_them() -> None:
    # The first takes any name, the second one of the telemetry's; both have tests of their own.
    methods = {name for name in dir(AcceleratedFleet) if name.startswith("metric_")} - {"metric_application"}
    assert methods == {name for name, *_ in FLEET_METRICS}


@pytest.mark.parametrize("method", [row[0] for row in FLEET_METRICS if row[1] == NAMESPACE and row[4] != 300])
def test_what_instances_publish_can_be_asked_for_one_of_them(one_fleet: AcceleratedFleet, method: str) -> None:
    of_one = getattr(one_fleet, method)(instance_id="i-0123456789abcdef0")
    assert of_one.dimensions == {"InstanceId": "i-0123456789abcdef0"}
    assert of_one.unit is None  # the agent publishes without a unit: a metric that names one has no data


def test_metrics_of_the_work_on_the_instances() -> None:
    serving = fleet(stack(), telemetry=Telemetry(application_metrics=["inference_latency"]))
    made = serving.metric_application("inference_latency", statistic="p99")
    assert (made.namespace, made.metric_name, made.statistic) == (NAMESPACE, "inference_latency", "p99")
    with pytest.raises(ArgumentError, match=r"must .+, got 'latency'; .+"):
        serving.metric_application("latency")


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
