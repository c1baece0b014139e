"""Alarms as rules see them: what they read, how they judge, what they act on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from constructs_lib.compliance.deployment import Deployment, Source
from constructs_lib.compliance.facts.alarms import ON_ALARM, ON_OK, Alarm, Expression, Series, alarms, alarms_acting_on
from constructs_lib.compliance.values import NotKnown
from tests.compliance.cases import group, template
from tests.compliance.telemetry import GPU, WAITING, alarm, math, read, steps, worked_out

_TOPIC = template(
    Topic={"Type": "SNS::Topic"},
    Subscribed={
        "Type": "SNS::Subscription",
        "Properties": {"TopicArn": {"Ref": "Topic"}, "Endpoint": {"Fn::GetAtt": ["Release", "Arn"]}},
    },
    Release={"Type": "Lambda::Function", "Properties": {"Role": "arn"}},
)["Resources"]


def _deployed(**resources: Mapping[str, Any]) -> Deployment:
    content = group(**template(In=steps(), **resources)["Resources"])
    return Deployment([Source(name="template", content=content)])


def _named(deployment: Deployment, id: str) -> Alarm:
    (found,) = (each for each in alarms(deployment) if each.resource.id == id)
    return found


def test_an_alarm_of_one_metric_judges_it() -> None:
    idle = _named(_deployed(Idle=alarm()), "Idle")
    judged = idle.judged
    assert isinstance(judged, Series)
    assert (judged.namespace, judged.name) == ("CWAgent", "nvidia_smi_utilization_gpu")
    assert [each.id for each in judged.resources()] == ["Group"]
    assert judged.seconds() == 300
    assert idle.datapoints_to_alarm == idle.evaluation_periods == 3
    assert idle.breaches_below is True


def test_a_dimension_may_name_a_group_by_its_name() -> None:
    content = group(
        properties={"AutoScalingGroupName": "workers"},
        **template(Idle=alarm({**GPU, "Dimensions": [{"Name": "AutoScalingGroupName", "Value": "workers"}]}))[
            "Resources"
        ],
    )
    (idle,) = alarms(Deployment([Source(name="template", content=content)]))
    assert [each.id for each in idle.series[0].resources()] == ["Group"]


def test_an_expression_is_judged_and_its_series_are_read() -> None:
    entries = [worked_out("a + b"), read("a", GPU), read("b", WAITING)]
    idle = _named(_deployed(Idle=math(entries)), "Idle")
    assert isinstance(idle.judged, Expression)
    assert [each.id for each in idle.series] == ["a", "b"]


def test_what_a_topic_passes_on_is_acted_on() -> None:
    deployment = _deployed(Idle=alarm(None, AlarmActions=[{"Ref": "Topic"}]), **_TOPIC)
    (release,) = deployment.resources("AWS::Lambda::Function")
    assert [each.resource.id for each in alarms_acting_on(release)] == ["Idle"]
    assert [each.id for each in _named(deployment, "Idle").actions()] == ["Topic"]


def test_a_rule_on_the_alarm_passes_it_on() -> None:
    rule = {
        "Type": "Events::Rule",
        "Properties": {
            "EventPattern": {"resources": [{"Fn::GetAtt": ["Idle", "Arn"]}]},
            "Targets": [{"Arn": {"Fn::GetAtt": ["Release", "Arn"]}}],
        },
    }
    deployment = _deployed(Idle=alarm(None, AlarmActions=None), Changed=rule, **_TOPIC)
    (release,) = deployment.resources("AWS::Lambda::Function")
    assert [each.resource.id for each in alarms_acting_on(release)] == ["Idle"]


def test_states_are_told_apart() -> None:
    deployment = _deployed(Idle=alarm(None, AlarmActions=[], OKActions=[{"Ref": "In"}]))
    (policy,) = deployment.resources("AWS::AutoScaling::ScalingPolicy")
    assert alarms_acting_on(policy, ON_ALARM) == ()
    assert [each.resource.id for each in alarms_acting_on(policy, ON_OK)] == ["Idle"]


@pytest.mark.parametrize("rule", [{"Fn::Sub": "ALARM(${Idle}) AND NOT ALARM(other)"}, 'ALARM("idle")', "ALARM(idle)"])
def test_a_composite_alarm_is_made_of_others(rule: object) -> None:
    both = {"Type": "CloudWatch::CompositeAlarm", "Properties": {"AlarmRule": rule, "AlarmActions": [{"Ref": "Topic"}]}}
    deployment = _deployed(Idle=alarm(None, AlarmName="idle"), Both=both, **_TOPIC)
    composite = _named(deployment, "Both")
    assert composite.is_composite
    assert [each.resource.id for each in composite.roots] == ["Idle"]
    (release,) = deployment.resources("AWS::Lambda::Function")
    assert [each.resource.id for each in alarms_acting_on(release)] == ["Both"]


def test_composite_alarms_in_a_circle_have_no_roots() -> None:
    def of(other: str) -> dict[str, Any]:
        return {"Type": "CloudWatch::CompositeAlarm", "Properties": {"AlarmRule": {"Fn::Sub": f"ALARM(${{{other}}})"}}}

    deployment = _deployed(One=of("Two"), Two=of("One"))
    assert _named(deployment, "One").roots == ()


def test_an_action_elsewhere_may_act() -> None:
    assert _named(_deployed(Idle=alarm(None, AlarmActions=["arn:aws:sns:eu-west-1:1:people"])), "Idle").acts_outside
    assert not _named(_deployed(Idle=alarm()), "Idle").acts_outside


def test_metrics_that_are_not_known_are_not_none() -> None:
    deployment = Deployment(
        [
            Source(
                name="template",
                content={"Parameters": {"Asked": {"Type": "String"}}}
                | template(Idle=math([], Metrics={"Ref": "Asked"})),
            )
        ]
    )
    with pytest.raises(NotKnown, match="no default"):
        _ = _named(deployment, "Idle").series
