"""Edits of a synthesized template that take one guard away, so that a test can show what the guard is for."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from typing import Any

from constructs_lib.rehearsal.template import Template

Body = dict[str, Any]
_POLICY = "ScaleInByCapacity"


def with_group(template: Mapping[str, Any], **properties: Any) -> Body:
    """Return the template with other properties of the group."""
    body = copy.deepcopy(dict(template))
    name, _ = Template(body).group()
    body["Resources"][name]["Properties"].update(properties)
    return body


def unprotected(template: Mapping[str, Any]) -> Body:
    """Return the template without scale-in protection of new instances."""
    return with_group(template, NewInstancesProtectedFromScaleIn=False)


def without_termination_hook(template: Mapping[str, Any]) -> Body:
    """Return the template without the hook in which instances drain."""
    body = copy.deepcopy(dict(template))
    name, _ = Template(body).group()
    del body["Resources"][name]["Properties"]["LifecycleHookSpecificationList"]
    return body


def with_rolling_update(template: Mapping[str, Any]) -> Body:
    """Return the template with an update policy that replaces instances."""
    body = copy.deepcopy(dict(template))
    name, _ = Template(body).group()
    body["Resources"][name]["UpdatePolicy"] = {"AutoScalingRollingUpdate": {"MaxBatchSize": 1}}
    return body


def with_setting(template: Mapping[str, Any], package: str, **variables: str) -> Body:
    """Return the template with other environment variables for one handler."""
    body = copy.deepcopy(dict(template))
    function = Template(body).function(package).id
    body["Resources"][function]["Properties"]["Environment"]["Variables"].update(variables)
    return body


def without_setting(template: Mapping[str, Any], package: str, *variables: str) -> Body:
    """Return the template with environment variables of one handler taken away."""
    body = copy.deepcopy(dict(template))
    function = Template(body).function(package).id
    for variable in variables:
        del body["Resources"][function]["Properties"]["Environment"]["Variables"][variable]
    return body


def with_signals(template: Mapping[str, Any], *names: str, **changes: Any) -> Body:
    """Return the template with only the named signals of the release handler, changed as given."""
    settings = Template(template).function("release_idle").environment
    signals = [{**s, **changes} for s in json.loads(settings["SIGNALS"]) if s["name"] in names]
    return with_setting(template, "release_idle", SIGNALS=json.dumps(signals))


def with_signal_changed(template: Mapping[str, Any], name: str, **changes: Any) -> Body:
    """Return the template with one signal of the release handler changed as given, and all others as they are."""
    settings = Template(template).function("release_idle").environment
    signals = [{**s, **(changes if s["name"] == name else {})} for s in json.loads(settings["SIGNALS"])]
    return with_setting(template, "release_idle", SIGNALS=json.dumps(signals))


def without_rollups(template: Mapping[str, Any]) -> Body:
    """Return the template with an agent that publishes series of their own alone."""
    body = copy.deepcopy(dict(template))
    for resource in body["Resources"].values():
        if resource["Type"] == "AWS::SSM::Parameter" and '"metrics_collected"' in resource["Properties"]["Value"]:
            configuration = json.loads(resource["Properties"]["Value"])
            del configuration["metrics"]["aggregation_dimensions"]
            resource["Properties"]["Value"] = json.dumps(configuration)
    return body


def without_schedule(template: Mapping[str, Any], package: str) -> Body:
    """Return the template without the steady schedule of one handler: only an alarm invokes it."""
    body = copy.deepcopy(dict(template))
    reader = Template(body)
    function = reader.function(package).id
    for schedule in reader.schedules().values():
        if function in schedule.functions:
            del body["Resources"][schedule.id]
            allowed = {"Fn::GetAtt": [schedule.id, "Arn"]}
            for id, permission in list(body["Resources"].items()):
                if permission.get("Properties", {}).get("SourceArn") == allowed:
                    del body["Resources"][id]
    return body


def scaled_in_by_capacity(
    template: Mapping[str, Any],
    *,
    missing: str | None = None,
    statistic: str = "Maximum",
    guarded: bool = True,
    adjustment: str = "ExactCapacity",
    change: int = 0,
) -> Body:
    """Return the fleet as most people build it: the idle alarm lowers capacity and the group picks the victim.

    ``missing`` sets TreatMissingData, ``statistic`` that of the utilisation; ``guarded`` False watches the raw
    utilisation instead of the expression.
    """
    body = unprotected(without_schedule(template, "release_idle"))
    reader = Template(body)
    alarm = reader.alarm_invoking(reader.function("release_idle"))
    properties = body["Resources"][alarm.name]["Properties"]
    for query in properties["Metrics"]:
        if "MetricStat" in query and "utilization" in query["MetricStat"]["Metric"]["MetricName"]:
            query["MetricStat"]["Stat"] = statistic
            raw = query
    if not guarded:
        properties["Metrics"] = [{**raw, "ReturnData": True}]
    if missing is not None:
        properties["TreatMissingData"] = missing
    properties["AlarmActions"] = [{"Ref": _POLICY}]
    group, _ = reader.group()
    step = {"MetricIntervalUpperBound": 0, "ScalingAdjustment": change}
    body["Resources"][_POLICY] = {
        "Type": "AWS::AutoScaling::ScalingPolicy",
        "Properties": {
            "AutoScalingGroupName": {"Ref": group},
            "PolicyType": "StepScaling",
            "AdjustmentType": adjustment,
            "EstimatedInstanceWarmup": 300,
            "StepAdjustments": [step],
        },
    }
    return body
