"""What the rehearsal reads out of templates: plain CloudFormation, several fleets, and what it refuses by name."""

from __future__ import annotations

import re
from typing import Any

import pytest

from constructs_lib.errors import ArgumentError
from constructs_lib.rehearsal.cloud.calendar import Cron
from constructs_lib.rehearsal.cloud.purchasing import Purchasing
from constructs_lib.rehearsal.deployed import as_deployed
from constructs_lib.rehearsal.template import Template
from tests.rehearsal.cloud.plain import Body, plain_template, policy, resource, tracking


def _with(section: dict[str, Any], **group: Any) -> Template:
    return Template({**plain_template(**group), **section})


# The language


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        ({"Ref": "AWS::Region"}, "us-east-1"),
        ({"Ref": "Workers"}, "Workers"),
        ({"Fn::GetAtt": ["Workers", "Arn"]}, "Workers.Arn"),
        ({"Fn::GetAtt": "Workers.Arn"}, "Workers.Arn"),
        ({"Fn::Join": ["-", ["a", {"Ref": "Workers"}]]}, "a-Workers"),
        ({"Fn::Select": ["1", ["a", "b"]]}, "b"),
        ({"Fn::Select": [0, {"Fn::Split": ["/", "x/y"]}]}, "x"),
        ({"Fn::Sub": "${AWS::Region}-${Workers}-${!Literal}"}, "us-east-1-Workers-${Literal}"),
        ({"Fn::Sub": ["${X}-${Workers.Arn}", {"X": {"Ref": "Workers"}}]}, "Workers-Workers.Arn"),
        ({"Fn::FindInMap": ["Sizes", "large", "max"]}, "8"),
        ({"Fn::FindInMap": ["Sizes", {"Ref": "Size"}, "max"]}, "4"),
        ({"Fn::FindInMap": ["Sizes", "none", "max", {"DefaultValue": "1"}]}, "1"),
        ({"Fn::If": ["IsLarge", "yes", "no"]}, "no"),
        ({"Fn::If": ["IsSmallHere", "yes", "no"]}, "yes"),
        ({"Fn::If": ["Either", "yes", "no"]}, "yes"),
        ({"Ref": "Zones"}, ["a", "b"]),
        ({"Fn::GetAZs": ""}, ["us-east-1a", "us-east-1b", "us-east-1c"]),
        ({"Fn::Select": [1, {"Fn::GetAZs": {"Ref": "AWS::Region"}}]}, "us-east-1b"),
        ({"Fn::ImportValue": "Subnets"}, "import:Subnets"),
        ({"Fn::GetStackOutput": {"StackName": "Net", "OutputName": "Subnets"}}, "output:Net:Subnets"),
        ("{{resolve:ssm:/golden/ami}}", "/golden/ami"),
        ({"Ref": "AWS::StackId"}, "arn:aws:cloudformation:us-east-1:111122223333:stack/Fleet/1"),
        ({"Fn::Length": [1, 2, 3]}, 3),
        ({"Fn::ToJsonString": {"a": {"Ref": "Size"}}}, '{"a": "small"}'),
        ([1, {"Ref": "AWS::NoValue"}, 2], [1, 2]),
        ({"a": 1, "b": {"Fn::If": ["IsLarge", 2, {"Ref": "AWS::NoValue"}]}}, {"a": 1}),
    ],
)
def test_intrinsic_functions(raw: object, value: object) -> None:
    template = _with(
        {
            "Parameters": {
                "Size": {"Type": "String", "Default": "small"},
                "Zones": {"Type": "CommaDelimitedList", "Default": "a, b"},
            },
            "Mappings": {"Sizes": {"large": {"max": "8"}, "small": {"max": "4"}}},
            "Conditions": {
                "IsLarge": {"Fn::Equals": [{"Ref": "Size"}, "large"]},
                "IsSmallHere": {
                    "Fn::And": [
                        {"Fn::Not": [{"Condition": "IsLarge"}]},
                        {"Fn::Equals": [{"Ref": "AWS::Region"}, "us-east-1"]},
                    ]
                },
                "Either": {"Fn::Or": [{"Condition": "IsLarge"}, {"Condition": "IsSmallHere"}]},
            },
        }
    )
    assert template.resolve(raw) == value


def test_parameter_can_be_given_a_value() -> None:
    body = {**plain_template(MaxSize={"Ref": "Most"}), "Parameters": {"Most": {"Type": "Number", "Default": 3}}}
    assert Template(body).group()[1]["MaxSize"] == 3
    assert Template(as_deployed(body, {"Most": "5"})).group()[1]["MaxSize"] == "5"
    assert Template(as_deployed(body, {})).group()[1]["MaxSize"] == 3


@pytest.mark.parametrize(
    ("values", "named"),
    [
        (
            {"Mots": "5"},
            "rehearse: parameters must be declared by a template, got 'Mots'; did you mean 'Most'? see Parameters of "
            "the template",
        ),
        (
            {"Size": "huge"},
            "rehearse: parameters['Size'] must be one of small, 2, got 'huge'; give a value that the template allows",
        ),
    ],
)
def test_parameter_that_a_deploy_would_not_take(values: dict[str, str], named: str) -> None:
    declared = {"Most": {"Type": "Number"}, "Size": {"Type": "String", "AllowedValues": ["small", 2]}}
    with pytest.raises(ArgumentError, match=f"^{re.escape(named)}$"):
        as_deployed({**plain_template(), "Parameters": declared}, values)
    as_deployed({**plain_template(), "Parameters": declared}, {"Size": "2"})


def test_value_that_cannot_be_known_is_an_error_only_when_it_is_asked_for() -> None:
    template = _with({"Parameters": {"Most": {"Type": "Number"}}}, MaxSize={"Ref": "Most"}, Cooldown="60")
    _, properties = template.group()
    assert properties["Cooldown"] == "60"
    with pytest.raises(
        ArgumentError,
        match=r"^Workers: MaxSize must be known, and parameter Most has no default, .*; "
        "pass --parameter Most=VALUE",
    ):
        properties["MaxSize"]


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        ({"Fn::Cidr": ["10.0.0.0/16", 2, 8]}, "Fn::Cidr"),
        ({"Fn::Transform": {"Name": "X"}}, "Fn::Transform"),
        ({"Fn::FindInMap": ["Nowhere", "a", "b"]}, "mapping Nowhere"),
        ({"Ref": "Nobody"}, "Nobody"),
        ({"Fn::GetAtt": ["Nobody", "Arn"]}, "Nobody"),
        ({"Fn::Select": [9, {"Fn::GetAZs": ""}]}, "zones"),
        ({"Fn::If": ["Nowhere", "a", "b"]}, "Nowhere"),
        ({"Fn::Select": [5, ["a"]]}, "Fn::Select"),
    ],
)
def test_error_names_resource_property_and_what_is_wrong(raw: object, told: str) -> None:
    _, properties = Template(plain_template(Cooldown=raw)).group()
    with pytest.raises(ArgumentError, match=rf"^Workers: Cooldown must .*{told}"):
        properties["Cooldown"]


def test_resource_whose_condition_does_not_hold_is_not_there() -> None:
    body = plain_template({"Track": {**tracking(10), "Condition": "Off"}})
    body["Conditions"] = {"Off": {"Fn::Equals": ["a", "b"]}}
    assert Template(body).policies() == {}
    assert Template(body).alarms() == {}


def test_property_without_value_is_not_there() -> None:
    _, properties = Template(plain_template(DesiredCapacity={"Ref": "AWS::NoValue"})).group()
    assert "DesiredCapacity" not in properties
    assert properties.get("DesiredCapacity") is None
    assert "DesiredCapacity" not in dict(properties)


def _looping(collection: object) -> Body:
    body = plain_template()
    group = body["Resources"].pop("Workers")
    body["Resources"]["Fn::ForEach::Groups"] = ["Name", collection, {"Workers${Name}": group}]
    return {**body, "Transform": "AWS::LanguageExtensions", "Parameters": {"Names": {"Type": "CommaDelimitedList"}}}


def test_a_loop_is_unrolled_as_a_deploy_does() -> None:
    assert Template(as_deployed(_looping(["A", "B"]), {}), fleet="WorkersB").group()[0] == "WorkersB"
    assert Template(as_deployed(_looping({"Ref": "Names"}), {"Names": "C"})).group()[0] == "WorkersC"


def test_a_loop_over_what_nobody_tells_is_refused() -> None:
    with pytest.raises(ArgumentError, match=r"^Fn::ForEach::Groups: value must go over values that the template, or a"):
        Template(as_deployed(_looping({"Ref": "Names"}), {}))


# Which fleet


def _two_fleets() -> Body:
    body = plain_template(
        {
            "Track": tracking(10),
            "Other": tracking(10, group="Bakers"),
            "OthersHook": resource(
                "AutoScaling::LifecycleHook",
                AutoScalingGroupName={"Ref": "Bakers"},
                LifecycleHookName="H",
                LifecycleTransition="autoscaling:EC2_INSTANCE_TERMINATING",
            ),
            "OthersFunction": _function({"Ref": "Bakers"}),
            "OwnFunction": _function({"Ref": "Workers"}),
            "OthersAlarm": _alarm({"Ref": "Bakers"}),
            "OwnAlarm": _alarm({"Ref": "Workers"}),
        }
    )
    body["Resources"]["Bakers"] = resource("AutoScaling::AutoScalingGroup", MinSize="1", MaxSize="1")
    return body


def _function(group: object) -> Body:
    environment = {"Variables": {"AUTO_SCALING_GROUP_NAME": group}}
    return resource("Lambda::Function", Handler="release_idle.index.handler", Role="arn", Environment=environment)


def _alarm(group: object) -> Body:
    return resource(
        "CloudWatch::Alarm",
        Namespace="AWS/AutoScaling",
        MetricName="GroupDesiredCapacity",
        Dimensions=[{"Name": "AutoScalingGroupName", "Value": group}],
        Statistic="Maximum",
        Period=60,
        EvaluationPeriods=1,
        Threshold=1,
        ComparisonOperator="LessThanThreshold",
    )


@pytest.mark.parametrize("fleet", ["Workers", "Work", "W"])
def test_fleet_is_chosen_by_its_logical_id_or_how_that_begins(fleet: str) -> None:
    template = Template(_two_fleets())
    name, properties = template.group(fleet)
    assert (name, properties["MaxSize"]) == ("Workers", "10")
    assert properties["LifecycleHookSpecificationList"] == []
    assert list(template.policies()) == ["Track"]
    assert list(template.functions()) == ["OwnFunction"]
    assert sorted(template.alarms()) == ["OwnAlarm", "TargetTracking-Track-AlarmHigh", "TargetTracking-Track-AlarmLow"]
    assert [note for note in template.notes if "Bakers" in note] != []


def test_fleet_is_chosen_when_the_template_is_read() -> None:
    template = Template(_two_fleets(), fleet="Bakers")
    assert template.group()[0] == "Bakers"
    assert list(template.policies()) == ["Other"]


@pytest.mark.parametrize("fleet", [None, "Smiths"])
def test_choice_that_is_not_clear_lists_the_groups(fleet: str | None) -> None:
    with pytest.raises(ArgumentError, match="Workers, Bakers"):
        Template(_two_fleets()).group(fleet)


def test_exact_id_wins_over_a_longer_one() -> None:
    body = plain_template()
    body["Resources"]["Workers2"] = resource("AutoScaling::AutoScalingGroup", MinSize="1", MaxSize="1")
    assert Template(body).group("Workers")[0] == "Workers"


def test_template_without_a_group_says_so() -> None:
    with pytest.raises(ArgumentError, match="it has none"):
        Template({"Resources": {}}).group()


def test_nested_stacks_and_macros_are_named_as_not_read() -> None:
    body = plain_template({"Part": resource("CloudFormation::Stack", TemplateURL="x")})
    notes = Template({**body, "Transform": ["AWS::Serverless-2016-10-31"]}).notes
    assert [name for name in ("Part", "AWS::Serverless") if any(name in note for note in notes)] == [
        "Part",
        "AWS::Serverless",
    ]


# What instances are


def test_group_that_is_not_ours_has_an_agent_that_collects_nothing() -> None:
    template = Template(plain_template())
    assert template.boot_script() is None
    assert template.agent_configuration() == '{"metrics": {"metrics_collected": {}}}'
    assert template.instance_tags() == {}
    assert template.functions() == {}


@pytest.mark.parametrize(
    ("group", "zones"),
    [
        ({"VPCZoneIdentifier": ["subnet-a"]}, 1),
        ({"VPCZoneIdentifier": ["subnet-a", "subnet-b", "subnet-c"]}, 3),
        ({"AvailabilityZones": {"Fn::GetAZs": ""}}, 3),
        ({}, 2),
    ],
)
def test_group_is_in_as_many_zones_as_it_has_subnets(group: dict[str, Any], zones: int) -> None:
    assert Template(plain_template(**group)).zones() == zones


def test_hooks_and_warm_pool_come_with_the_group() -> None:
    own = {"AutoScalingGroupName": {"Ref": "Workers"}}
    hook = resource("AutoScaling::LifecycleHook", LifecycleHookName="H", LifecycleTransition="T", **own)
    pool = resource("AutoScaling::WarmPool", MinSize=2, **own)
    inline = {"LifecycleHookName": "I", "LifecycleTransition": "T"}
    _, properties = Template(
        plain_template({"Hook": hook, "Pool": pool}, LifecycleHookSpecificationList=[inline])
    ).group()
    assert [each["LifecycleHookName"] for each in properties["LifecycleHookSpecificationList"]] == ["I", "H"]
    assert properties["WarmPool"]["MinSize"] == 2


def _mixed(overrides: list[dict[str, Any]], **distribution: Any) -> dict[str, Any]:
    launch = {"LaunchTemplateSpecification": {"LaunchTemplateId": {"Ref": "Launch"}, "Version": "1"}}
    return {
        "LaunchTemplate": {"Ref": "AWS::NoValue"},
        "MixedInstancesPolicy": {
            "LaunchTemplate": {**launch, "Overrides": overrides},
            "InstancesDistribution": distribution,
        },
    }


@pytest.mark.parametrize(
    ("group", "bought"),
    [
        ({}, Purchasing(types=("g6.xlarge",))),
        (_mixed([]), Purchasing(types=("g6.xlarge",))),
        (
            _mixed([{"InstanceType": "g5.xlarge"}, {"InstanceType": "g4dn.xlarge"}], OnDemandBaseCapacity=1),
            Purchasing(types=("g5.xlarge", "g4dn.xlarge"), on_demand_base=1),
        ),
        (
            _mixed(
                [
                    {
                        "InstanceRequirements": {
                            "AllowedInstanceTypes": ["g6.xlarge", "g5.xlarge"],
                            "VCpuCount": {"Min": 1},
                        }
                    }
                ],
                OnDemandPercentageAboveBaseCapacity=0,
            ),
            Purchasing(types=("g6.xlarge", "g5.xlarge"), on_demand_percentage=0),
        ),
    ],
)
def test_types_and_market_are_those_of_the_launch_template_or_the_policy(
    group: dict[str, Any], bought: Purchasing
) -> None:
    assert Template(plain_template(**group)).purchasing() == bought


def test_launch_template_may_ask_for_spot() -> None:
    body = plain_template()
    body["Resources"]["Launch"]["Properties"]["LaunchTemplateData"]["InstanceMarketOptions"] = {"MarketType": "spot"}
    assert Template(body).purchasing().uses_spot


def test_launch_configuration_and_template_by_name_are_read_too() -> None:
    body = plain_template(LaunchTemplate={"Ref": "AWS::NoValue"}, LaunchConfigurationName={"Ref": "Old"})
    body["Resources"]["Old"] = resource("AutoScaling::LaunchConfiguration", InstanceType="p3.2xlarge", SpotPrice="1")
    assert Template(body).purchasing() == Purchasing(types=("p3.2xlarge",), on_demand_percentage=0)

    body = plain_template(LaunchTemplate={"LaunchTemplateName": "mine", "Version": "1"})
    body["Resources"]["Launch"]["Properties"]["LaunchTemplateName"] = "mine"
    assert Template(body).purchasing().types == ("g6.xlarge",)


def test_wildcard_among_allowed_types_stands_for_those_of_the_catalogue() -> None:
    requirements = {"InstanceRequirements": {"AllowedInstanceTypes": ["g6.*large"]}}
    types = Template(plain_template(**_mixed([requirements]))).purchasing().types
    assert "g6.xlarge" in types
    assert all(each.startswith("g6.") for each in types)


@pytest.mark.parametrize(
    "group",
    [
        _mixed([{"InstanceRequirements": {"VCpuCount": {"Min": 1}, "MemoryMiB": {"Min": 1}}}]),
        _mixed([{"InstanceType": "g5.xlarge", "WeightedCapacity": "2"}]),
        {"DesiredCapacityType": "vcpu"},
    ],
)
def test_types_that_only_aws_would_know_and_weights_are_refused(group: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError, match=r"^Workers: "):
        Template(plain_template(**group)).purchasing()


# What invokes functions


def _invoked(**resources: Body) -> Template:
    role = resource(
        "IAM::Role", Policies=[{"PolicyDocument": {"Statement": {"Effect": "Allow", "Action": "lambda:Invoke*"}}}]
    )
    return Template(plain_template({"Role": role, "Handler": _function({"Ref": "Workers"}), **resources}))


def test_schedules_are_rates_cron_expressions_and_those_of_the_scheduler() -> None:
    arn = {"Fn::GetAtt": ["Handler", "Arn"]}
    template = _invoked(
        Often=resource("Events::Rule", ScheduleExpression="rate(5 minutes)", Targets=[{"Id": "T", "Arn": arn}]),
        Daily=resource("Events::Rule", ScheduleExpression="cron(0 8 * * ? *)", Targets=[{"Id": "T", "Arn": arn}]),
        Off=resource("Events::Rule", ScheduleExpression="rate(1 day)", State="DISABLED", Targets=[]),
        Local=resource(
            "Scheduler::Schedule",
            ScheduleExpression="cron(0 8 * * ? *)",
            ScheduleExpressionTimezone="Europe/Berlin",
            Target={"Arn": arn, "RoleArn": {"Fn::GetAtt": ["Role", "Arn"]}},
        ),
    )
    schedules = template.schedules()
    assert {name: each.seconds for name, each in schedules.items()} == {"Often": 300, "Daily": None, "Local": None}
    assert isinstance(schedules["Local"].timing, Cron)
    assert (schedules["Daily"].is_due(8 * 3600), schedules["Local"].is_due(7 * 3600)) == (True, True)
    assert all(each.functions == ("Handler",) for each in schedules.values())
    assert template.functions()["Handler"].invokers == {"Local"}, "its role may; the rules have no permission"


def test_scheduler_that_acts_on_the_group_itself_is_refused_by_name() -> None:
    target = {"Arn": "arn:aws:scheduler:::aws-sdk:autoscaling:setDesiredCapacity", "RoleArn": "arn"}
    template = _invoked(Nightly=resource("Scheduler::Schedule", ScheduleExpression="rate(1 day)", Target=target))
    with pytest.raises(ArgumentError, match=r"^Nightly"):
        template.schedules()


def test_targets_that_are_no_functions_change_nothing_and_are_noted() -> None:
    template = _invoked(
        Rule=resource(
            "Events::Rule", ScheduleExpression="rate(1 day)", Targets=[{"Id": "T", "Arn": "arn:aws:sns:x:y:elsewhere"}]
        )
    )
    assert template.schedules() == {}
    assert any("elsewhere" in note for note in template.notes)


def test_scheduled_actions_of_the_group() -> None:
    own = {"AutoScalingGroupName": {"Ref": "Workers"}}
    template = Template(
        plain_template({"Up": resource("AutoScaling::ScheduledAction", Recurrence="0 8 * * *", MinSize=1, **own)})
    )
    assert template.scheduled_actions()["Up"].minimum == 1


def test_questions_that_are_asked_again_are_not_worked_out_again() -> None:
    template = Template(_two_fleets(), fleet="Workers")
    assert template.alarms()["OwnAlarm"] is template.alarms()["OwnAlarm"]
    assert template.functions()["OwnFunction"] is template.functions()["OwnFunction"]
    template.functions().clear()
    assert template.functions() != {}


def test_policy_of_no_group_in_the_template_is_left_out() -> None:
    stray = policy("StepScaling")
    stray["Properties"]["AutoScalingGroupName"] = "elsewhere"
    assert Template(plain_template({"P": stray})).policies() == {}


# What is left out

_RESERVED = {"CapacityReservationSpecification": {"CapacityReservationPreference": "open"}}


@pytest.mark.parametrize(
    ("group", "said"),
    [
        ({"TargetGroupARNs": ["arn:aws:elasticloadbalancing:x:y:targetgroup/z"]}, "load balancers are not played"),
        ({"LoadBalancerNames": ["Front"]}, "load balancers are not played"),
        ({"HealthCheckType": "EC2,ELB"}, "only EC2's health checks"),
        ({"AvailabilityZoneDistribution": {"CapacityDistributionStrategy": "balanced-only"}}, "balanced-only"),
        ({"AvailabilityZoneImpairmentPolicy": {"ZonalShiftEnabled": "true"}}, "zonal shifts"),
        ({"InstanceMaintenancePolicy": {"MinHealthyPercentage": 100}}, "MinHealthyPercentage"),
        ({"CapacityReservationSpecification": {}}, "capacity reservations"),
    ],
)
def test_what_a_group_asks_for_and_is_not_played_is_noted(group: dict[str, Any], said: str) -> None:
    template = _with({}, **group)
    template.group()
    (note,) = template.notes
    assert note.startswith("Workers: ")
    assert said in note


@pytest.mark.parametrize(
    ("launch", "said"),
    [
        ({}, []),
        ({"InstanceMarketOptions": {"MarketType": "spot"}}, []),
        ({"InstanceMarketOptions": {"MarketType": "capacity-block"}, **_RESERVED}, ["capacity block"]),
        (_RESERVED, ["capacity reservations"]),
    ],
)
def test_reserved_capacity_is_noted(launch: dict[str, Any], said: list[str]) -> None:
    body = plain_template()
    body["Resources"]["Launch"]["Properties"]["LaunchTemplateData"].update(launch)
    template = Template(body)
    template.purchasing()
    assert len(template.notes) == len(said)
    assert all(word in note for word, note in zip(said, template.notes, strict=True))


def test_group_that_asks_for_nothing_of_this_kind_has_no_notes() -> None:
    usual = {
        "TargetGroupARNs": [],
        "HealthCheckType": "EC2",
        "AvailabilityZoneDistribution": {"CapacityDistributionStrategy": "balanced-best-effort"},
        "AvailabilityZoneImpairmentPolicy": {"ZonalShiftEnabled": False},
        "InstanceMaintenancePolicy": {"MinHealthyPercentage": 0, "MaxHealthyPercentage": 100},
    }
    template = _with({}, **usual)
    template.group()
    assert template.notes == []


def test_an_action_that_leads_nowhere_is_noted() -> None:
    """As the reference to another alarm in place of its policy, which CloudWatch refuses at the deploy."""
    metric = {"Namespace": "N", "MetricName": "m", "Statistic": "Maximum", "Period": 60}
    judged = {"EvaluationPeriods": 1, "Threshold": 1, "ComparisonOperator": "GreaterThanThreshold"}

    def alarm(**actions: Any) -> dict[str, Any]:
        return resource("CloudWatch::Alarm", **metric, **judged, **actions)

    template = Template(
        plain_template(
            {
                "Up": alarm(AlarmActions=[{"Ref": "Down"}, {"Ref": "Out"}], OKActions=[{"Ref": "Down"}]),
                "Down": alarm(AlarmActions=[{"Ref": "Told"}, "arn:aws:automate:us-east-1:ec2:stop"]),
                "Told": resource("SNS::Topic"),
                "Out": resource("AutoScaling::ScalingPolicy", AutoScalingGroupName={"Ref": "Workers"}),
            }
        )
    )
    template.alarms()
    assert template.notes == ["Up: its action Down does nothing: an AWS::CloudWatch::Alarm takes none"]


def test_rules_that_mute_alarms_are_noted() -> None:
    template = Template(plain_template({"Quiet": resource("CloudWatch::AlarmMuteRule", Rule={})}))
    template.alarms()
    assert template.notes == ["Quiet: muting alarms is not played: their actions run all the time"]


def test_events_that_reach_a_function_another_way_are_noted() -> None:
    template = _invoked(
        Told=resource("SNS::Subscription", Protocol="lambda", Endpoint={"Fn::GetAtt": ["Handler", "Arn"]}),
        Brought=resource("Lambda::EventSourceMapping", FunctionName={"Ref": "Handler"}, EventSourceArn="x"),
        Mailed=resource("SNS::Subscription", Protocol="email", Endpoint="ops@example.com"),
    )
    template.functions()
    assert [note.partition(":")[0] for note in template.notes] == ["Told", "Brought"]
