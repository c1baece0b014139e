"""What a template asks of Auto Scaling that the rehearsal leaves out, and says that it does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from constructs_lib.rehearsal.cloud.alarms import Alarm
from constructs_lib.rehearsal.resolving import is_true

_RESERVATIONS = "capacity reservations are not played"
_TAKE_ACTIONS = (
    "AWS::ApplicationAutoScaling::ScalingPolicy",
    "AWS::AutoScaling::ScalingPolicy",
    "AWS::Lambda::",
    "AWS::SNS::Topic",
    "AWS::SSM",
    "AWS::Serverless::Function",
    "AWS::CloudFormation::CustomResource",
    "Custom::",
)
"""How the types begin of what an alarm can be told to act on."""
_PLAYED = {
    "AWS/EC2": {"CPUUtilization"},
    "AWS/SQS": {f"ApproximateNumberOfMessages{which}" for which in ("Visible", "NotVisible", "Delayed")},
}
"""The metrics that are played of those that a service publishes by itself."""
_BASIC_MONITORING = 300
"""Seconds from one point of EC2's metrics to the next one, unless detailed monitoring is paid for."""
_LOAD_BALANCING = ("LoadBalancerNames", "TargetGroupARNs", "TrafficSources")


def notes_on_group(group: str, properties: Mapping[str, Any]) -> Iterator[str]:
    """Say of a group, by its resolved properties, what of it is not played."""
    for is_asked, said in _LEFT_OUT:
        if is_asked(properties):
            yield f"{group}: {said}"


def notes_on_launch(group: str, launch: Mapping[str, Any]) -> Iterator[str]:
    """Say of what a group launches, by the resolved settings of its launch template, what of it is not played."""
    if launch.get("InstanceMarketOptions", {}).get("MarketType") == "capacity-block":
        yield f"{group}: neither begin nor end of the capacity block is played, and its price is not that of the list"
    elif "CapacityReservationSpecification" in launch:
        yield f"{group}: {_RESERVATIONS}"


def notes_on_actions(alarms: Iterable[Alarm], types: Mapping[str, str]) -> Iterator[str]:
    """Say which actions of alarms lead to a resource that takes none; ``types`` are those of all logical ids."""
    for alarm in alarms:
        for target in dict.fromkeys(target for targets in alarm.actions.values() for target in targets):
            kind = types.get(target.partition(".")[0])
            if kind is not None and not kind.startswith(_TAKE_ACTIONS):
                yield f"{alarm.name}: its action {target} does nothing: an {kind} takes none"


def notes_on_metrics(alarms: Iterable[Alarm]) -> Iterator[str]:
    """Say which alarms ask for a metric that AWS publishes, and the rehearsal does not."""
    for alarm in alarms:
        for namespace, metric, _ in alarm.metrics:
            if metric not in _PLAYED.get(namespace, {metric}):
                yield f"{alarm.name}: {namespace} {metric} is not played: the alarm sees no data of it"


def notes_on_monitoring(alarms: Iterable[Alarm], launch: Mapping[str, Any], *, detailed: bool) -> Iterator[str]:
    """Say which alarms look at EC2's metrics more often than they come.

    ``launch`` are the resolved settings of the launch template or configuration, and ``detailed`` is whether EC2
    measures each minute where they do not say it.
    """
    said = launch.get("InstanceMonitoring", launch.get("Monitoring", {}).get("Enabled", detailed))
    for alarm in alarms:
        if not is_true(said) and alarm.period < _BASIC_MONITORING and any(key[0] == "AWS/EC2" for key in alarm.metrics):
            yield f"{alarm.name}: EC2 measures every five minutes without detailed monitoring; here it does each minute"


def notes_on_mute_rules(rules: Iterable[str]) -> Iterator[str]:
    """Say of rules that mute alarms, by logical id, that they are not played."""
    return (f"{rule}: muting alarms is not played: their actions run all the time" for rule in rules)


def notes_on_events(
    resources: Callable[[str], Mapping[str, Mapping[str, Any]]], ours: Mapping[str, Any]
) -> Iterator[str]:
    """Say what invokes a function of the fleet and is not played; ``resources`` gives those of a type."""
    for name, each in resources("AWS::SNS::Subscription").items():
        function = _function(each.get("Endpoint"))
        if each.get("Protocol") == "lambda" and function in ours:
            yield f"{name}: what the topic tells the function {function} is not played"
    for name, each in resources("AWS::Lambda::EventSourceMapping").items():
        function = _function(each.get("FunctionName"))
        if function in ours:
            yield f"{name}: the events that it brings to the function {function} are not played"


def _function(reference: Any) -> str:
    return str(reference).removesuffix(".Arn")


def _is_load_balanced(properties: Mapping[str, Any]) -> bool:
    return any(properties.get(name) for name in _LOAD_BALANCING)


def _asks_others_for_health(properties: Mapping[str, Any]) -> bool:
    kinds = {each.strip() for each in str(properties.get("HealthCheckType", "EC2")).split(",")}
    return bool(kinds - {"EC2", ""})


def _is_balanced_only(properties: Mapping[str, Any]) -> bool:
    distribution = properties.get("AvailabilityZoneDistribution", {})
    return bool(distribution.get("CapacityDistributionStrategy") == "balanced-only")


def _shifts_zones(properties: Mapping[str, Any]) -> bool:
    return is_true(properties.get("AvailabilityZoneImpairmentPolicy", {}).get("ZonalShiftEnabled", False))


def _launches_before_it_ends(properties: Mapping[str, Any]) -> bool:
    return int(properties.get("InstanceMaintenancePolicy", {}).get("MinHealthyPercentage", -1)) >= 100


_LEFT_OUT: tuple[tuple[Callable[[Mapping[str, Any]], bool], str], ...] = (
    (_is_load_balanced, "load balancers are not played: no connection is drained, no request waits for a target"),
    (_asks_others_for_health, "only EC2's health checks are played"),
    (_is_balanced_only, "balanced-only zones are not played: capacity that is missing is missing in all zones alike"),
    (_shifts_zones, "zonal shifts are not played: no zone is impaired"),
    (_launches_before_it_ends, "MinHealthyPercentage counts at the end of a lifetime only: the unhealthy end at once"),
    (lambda properties: "CapacityReservationSpecification" in properties, _RESERVATIONS),
)
