"""``IdleRelease``: the same release for a group that belongs to somebody else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from aws_cdk import CfnParameter, Duration, Stack
from aws_cdk import aws_autoscaling as autoscaling
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk.assertions import Template

from constructs_lib import Hours, IdlePolicy, IdleRelease, IdleSignal, KeepWarm, QueueDemand
from constructs_lib.errors import ArgumentError
from tests.constructs.reading import plain, properties, resources, role_statements
from tests.constructs.scenarios import queue, template
from tests.support.stacks import fleet, fleet_template, stack, vpc

FUNCTION = "AWS::Lambda::Function"


def group(scope: Any, **options: Any) -> autoscaling.AutoScalingGroup:
    return autoscaling.AutoScalingGroup(
        scope,
        "Group",
        vpc=vpc(scope),
        launch_template=ec2.LaunchTemplate(
            scope,
            "Template",
            instance_type=ec2.InstanceType("g6.xlarge"),
            machine_image=ec2.MachineImage.latest_amazon_linux2023(),
        ),
        **options,
    )


def settings_of(made: Any, id_begins: str) -> dict[str, Any]:
    return dict(plain(properties(made, id_begins, FUNCTION)["Environment"]["Variables"]))


def test_handler_settings_name_the_group_and_hold_its_protected_members() -> None:
    settings = settings_of(template("idle_release"), "ReleaseHandler")
    signals = json.loads(settings.pop("SIGNALS"))
    assert settings == {
        "AUTO_SCALING_GROUP_NAME": "training-workers",
        "METRIC_NAMESPACE": "AcceleratedFleet",
        "METRIC_PERIOD_SECONDS": "60",
        "WINDOW_SECONDS": "900",
        "WARM_UP_SECONDS": "600",
        "WATCH_SESSIONS": "true",
        "MAX_RELEASE_SHARE": "1.0",
        "HOLD_TAG_KEY": "accelerated-fleet:hold",
        "SCALE_IN_PROTECTION": "hold",
        "STATE_PARAMETER": "<ReleaseState>",
    }
    assert signals == [
        {
            "name": "accelerator",
            "metric": "nvidia_smi_utilization_gpu",
            "statistic": "Maximum",
            "idle_below": 5.0,
            "means": "work",
        },
        {
            "name": "cpu",
            "metric": "cpu_usage_active",
            "statistic": "Maximum",
            "idle_below": 10.0,
            "means": "work",
        },
        # A GPU in MIG mode has memory and no utilisation: the others say nothing about it (field case 24).
        {
            "name": "unknown_accelerators",
            "metric": "nvidia_smi_memory_total",
            "less": "nvidia_smi_utilization_gpu",
            "statistic": "SampleCount",
            "idle_below": 1.0,
            "means": "doubt",
        },
    ]


def test_a_fleet_ignores_the_protection_that_it_gives_to_every_member() -> None:
    assert settings_of(template("smallest"), "FleetReleaseHandler")["SCALE_IN_PROTECTION"] == "ignore"


def test_release_may_end_members_of_the_named_group_only() -> None:
    (ends,) = [
        each
        for each in role_statements(template("idle_release"), "ReleaseHandlerRole")
        if "autoscaling:TerminateInstanceInAutoScalingGroup" in each["Action"]
    ]
    # It may also keep the group from moving members between zones, which nothing protects here.
    assert ends["Action"] == ["autoscaling:TerminateInstanceInAutoScalingGroup", "autoscaling:SuspendProcesses"]
    assert ends["Resource"] == (
        "arn:<AWS::Partition>:autoscaling:<AWS::Region>:<AWS::AccountId>"
        ":autoScalingGroup:*:autoScalingGroupName/training-workers"
    )


def test_release_makes_and_changes_no_group() -> None:
    assert resources(template("idle_release"), "AWS::AutoScaling::AutoScalingGroup") == {}


def test_demand_keeps_what_work_needs() -> None:
    test_stack = stack()
    IdleRelease(
        test_stack,
        "Release",
        auto_scaling_group=group(test_stack, min_capacity=0, max_capacity=4),
        demand=QueueDemand(queue(test_stack), messages_per_instance=3),
    )
    settings = settings_of(Template.from_stack(test_stack).to_json(), "ReleaseHandler")
    assert (settings["QUEUE_URL"], settings["MESSAGES_PER_INSTANCE"]) == ("<Jobs>", "3")


def test_a_group_that_protects_every_new_instance_is_refused() -> None:
    test_stack = stack()
    protected = group(test_stack, new_instances_protected_from_scale_in=True)
    message = r"^Test/Release: auto_scaling_group must not protect new instances from scale-in, got .*; turn that off"
    with pytest.raises(ArgumentError, match=message):
        IdleRelease(test_stack, "Release", auto_scaling_group=protected)


def test_a_second_release_of_a_group_is_refused() -> None:
    test_stack = stack()
    workers = group(test_stack)
    IdleRelease(test_stack, "Release", auto_scaling_group=workers)
    message = (
        r"^Test/Again: auto_scaling_group must be a group whose instances nothing else releases \(Test/Release\), "
        r"got 'Test/Group'; remove one of the two"
    )
    with pytest.raises(ArgumentError, match=message):
        IdleRelease(test_stack, "Again", auto_scaling_group=workers)


def imported(scope: Any, id: str, name: str) -> autoscaling.IAutoScalingGroup:
    return autoscaling.AutoScalingGroup.from_auto_scaling_group_name(scope, id, name)


def test_a_group_that_is_imported_twice_is_one_group() -> None:
    test_stack = stack()
    IdleRelease(test_stack, "Release", auto_scaling_group=imported(test_stack, "Group", "workers"))
    IdleRelease(test_stack, "Other", auto_scaling_group=imported(test_stack, "Others", "others"))
    other_region = Stack(test_stack, "Elsewhere")
    IdleRelease(other_region, "Release", auto_scaling_group=imported(other_region, "Group", "workers"))
    with pytest.raises(ArgumentError, match=r"nothing else releases \(Test/Release\), got 'workers'; remove one"):
        IdleRelease(test_stack, "Again", auto_scaling_group=imported(test_stack, "Twin", "workers"))


def test_the_group_of_a_fleet_is_refused() -> None:
    test_stack = stack()
    made = fleet(test_stack)
    with pytest.raises(ArgumentError, match=r"nothing else releases \(Test/Fleet\), .* this fleet releases already"):
        IdleRelease(test_stack, "Release", auto_scaling_group=made.auto_scaling_group)


def warm(instances: int) -> IdlePolicy:
    hours = Hours(start="08:00", end="18:00", time_zone="Europe/Berlin")
    return IdlePolicy(keep_warm=[KeepWarm(instances=instances, hours=hours)])


def test_more_than_the_group_may_have_cannot_be_kept_warm() -> None:
    made = stack()
    IdleRelease(made, "Release", auto_scaling_group=group(made, max_capacity=4), idle=warm(4))
    test_stack = stack()
    workers = group(test_stack, max_capacity=4)
    message = r"^Test/Release: idle.keep_warm must not exceed max_capacity \(4\), got 5; raise max_capacity"
    with pytest.raises(ArgumentError, match=message):
        IdleRelease(test_stack, "Release", auto_scaling_group=workers, idle=warm(5))


def test_a_maximum_that_nobody_knows_yet_limits_nothing() -> None:
    test_stack = stack()
    most = CfnParameter(test_stack, "Most", type="Number").value_as_number
    IdleRelease(test_stack, "Release", auto_scaling_group=group(test_stack, max_capacity=most), idle=warm(5))
    elsewhere = imported(test_stack, "Elsewhere", "workers")
    IdleRelease(test_stack, "Other", auto_scaling_group=elsewhere, idle=warm(500))


def test_parts_are_exposed() -> None:
    assert vars(IdleRelease)["notifications"].__doc__
    test_stack = stack()
    release = IdleRelease(test_stack, "Release", auto_scaling_group=group(test_stack))
    assert release.release_function.node.path == "Test/Release/Release/Handler/Function"
    assert release.idle_alarm.node.path == "Test/Release/Release/IdleAlarm"
    assert release.notifications.node.path == "Test/Release/Notifications"


# --- case 68: a person or the CPU at work ---------------------------------------------------------


@pytest.mark.parametrize(
    ("signals", "sessions", "names"),
    [
        (None, "true", ["accelerator", "busy_mark", "cpu", "logins"]),
        ([IdleSignal.ACCELERATOR], "false", ["accelerator"]),
        ([IdleSignal.SESSIONS, IdleSignal.ACCELERATOR], "true", ["accelerator"]),
        ([IdleSignal.ACCELERATOR, IdleSignal.CPU], "false", ["accelerator", "cpu"]),
        ([IdleSignal.BUSY_MARK, IdleSignal.ACCELERATOR], "false", ["accelerator", "busy_mark"]),
        ([IdleSignal.LOGINS, IdleSignal.ACCELERATOR], "false", ["accelerator", "logins"]),
    ],
    ids=["default keeps for all", "accelerator only", "sessions", "cpu", "busy mark", "logins"],
)
def test_case_68_what_counts_as_use_can_be_chosen(
    signals: list[IdleSignal] | None, sessions: str, names: list[str]
) -> None:
    made = fleet_template(idle=IdlePolicy(signals=signals))
    settings = settings_of(made, "FleetReleaseHandler")
    assert settings["WATCH_SESSIONS"] == sessions
    # Whatever is looked at, accelerators of which the instance knows nothing leave it unknown.
    assert [signal["name"] for signal in json.loads(settings["SIGNALS"])] == [*names, "unknown_accelerators"]


def test_policy_reaches_the_handler_unchanged() -> None:
    policy = IdlePolicy(
        window=Duration.hours(2),
        threshold_percent=12.5,
        warm_up=Duration.minutes(45),
        cpu_threshold_percent=33,
        max_release_share=0.25,
    )
    settings = settings_of(fleet_template(idle=policy), "FleetReleaseHandler")
    assert (settings["WINDOW_SECONDS"], settings["WARM_UP_SECONDS"]) == ("7200", "2700")
    assert settings["MAX_RELEASE_SHARE"] == "0.25"
    assert [signal["idle_below"] for signal in json.loads(settings["SIGNALS"])] == [12.5, 1.0, 33.0, 1.0, 1.0]


def test_what_a_value_above_the_threshold_means() -> None:
    settings = settings_of(fleet_template(), "FleetReleaseHandler")
    assert {signal["name"]: signal["means"] for signal in json.loads(settings["SIGNALS"])} == {
        "accelerator": "work",
        "busy_mark": "work",
        "cpu": "work",
        "logins": "presence",
        "unknown_accelerators": "doubt",
    }


@pytest.mark.parametrize("signal", [IdleSignal.BUSY_MARK, IdleSignal.LOGINS])
def test_signals_that_nobody_would_publish_are_refused_for_a_group_of_somebody_else(signal: IdleSignal) -> None:
    made = stack()
    with pytest.raises(ArgumentError, match=rf"^Test/Release: idle.signals must .+, got '{signal.name}'; .+"):
        IdleRelease(
            made,
            "Release",
            auto_scaling_group=group(made),
            idle=IdlePolicy(signals=[IdleSignal.ACCELERATOR, signal]),
        )


def test_case_21_the_instances_of_an_existing_group_may_publish() -> None:
    made = stack()
    role = iam.Role(made, "Instances", assumed_by=iam.ServicePrincipal("ec2.amazonaws.com"))
    workers = autoscaling.AutoScalingGroup(
        made,
        "Workers",
        vpc=vpc(made),
        launch_template=ec2.LaunchTemplate(
            made,
            "Template",
            instance_type=ec2.InstanceType("g6.xlarge"),
            machine_image=ec2.MachineImage.latest_amazon_linux2023(),
            role=role,
        ),
    )
    release = IdleRelease(made, "Release", auto_scaling_group=workers)
    release.grant_telemetry(workers)
    policy = properties(Template.from_stack(made).to_json(), "InstancesDefaultPolicy", "AWS::IAM::Policy")
    assert plain(policy["PolicyDocument"]["Statement"]) == [
        {
            "Effect": "Allow",
            "Action": "cloudwatch:PutMetricData",
            "Resource": "*",
            "Condition": {"StringEquals": {"cloudwatch:namespace": "AcceleratedFleet"}},
        },
        {"Effect": "Allow", "Action": "ec2:DescribeTags", "Resource": "*"},
    ]


def test_a_principal_that_cannot_be_changed_is_refused_the_telemetry_grant() -> None:
    made = stack()
    release = IdleRelease(made, "Release", auto_scaling_group=group(made))
    with pytest.raises(ArgumentError, match="Test/Release: grantee must be something that permissions can be added to"):
        release.grant_telemetry(iam.ServicePrincipal("ec2.amazonaws.com"))


def test_where_use_cannot_be_read_memory_is_looked_at() -> None:
    made = stack()
    policy = IdlePolicy(signals=[IdleSignal.MEMORY, IdleSignal.SESSIONS], threshold_memory_mib=900)
    IdleRelease(made, "Release", auto_scaling_group=group(made), idle=policy)
    written = Template.from_stack(made).to_json()
    (signal,) = json.loads(settings_of(written, "ReleaseHandler")["SIGNALS"])
    # Nobody counts the accelerators that do not answer: the agent alone leaves out what it cannot read.
    assert (signal["name"], signal["metric"], signal["idle_below"]) == ("memory", "nvidia_smi_memory_used", 900.0)


def test_where_use_is_not_looked_at_silent_accelerators_of_a_fleet_are_doubt() -> None:
    policy = IdlePolicy(signals=[IdleSignal.MEMORY], threshold_memory_mib=900)
    settings = settings_of(fleet_template(idle=policy), "FleetReleaseHandler")
    signals = {signal["name"]: signal for signal in json.loads(settings["SIGNALS"])}
    # A GPU in MIG mode counts among the unknown ones for ever, and not among the missing.
    assert list(signals) == ["memory", "missing_accelerators"]
    assert (signals["missing_accelerators"]["metric"], signals["missing_accelerators"]["means"]) == (
        "accelerators_missing",
        "doubt",
    )
