"""CloudWatch alarms: which series they read, how they judge them, and what they act on.

Source: ``PutMetricAlarm`` and ``PutCompositeAlarm``, Amazon CloudWatch API Reference; "Using Amazon CloudWatch alarms",
CloudWatch User Guide, read 2026-11.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from constructs_lib.compliance.deployment import Deployment, Resource, once
from constructs_lib.compliance.values import NotKnown, Value
from constructs_lib.template.markers import Made, Unknown, is_marker, markers_in

ALARM = "AWS::CloudWatch::Alarm"
COMPOSITE_ALARM = "AWS::CloudWatch::CompositeAlarm"
FUNCTIONS = ("AWS::Lambda::Function", "AWS::Serverless::Function")
ON_ALARM = "AlarmActions"
ON_OK = "OKActions"
ON_INSUFFICIENT_DATA = "InsufficientDataActions"

_STATES = (ON_ALARM, ON_OK, ON_INSUFFICIENT_DATA)
_TOPIC = "AWS::SNS::Topic"
_SUBSCRIPTION = "AWS::SNS::Subscription"
_RULE = "AWS::Events::Rule"
_NAMED_IN_RULE = re.compile(r"(?:ALARM|OK|INSUFFICIENT_DATA)\s*\(\s*[\"']?([^\"')]+?)[\"']?\s*\)", re.IGNORECASE)
_DEFAULT_PERIOD = 60
_NAMING = {
    "AWS::AutoScaling::AutoScalingGroup": "AutoScalingGroupName",
    "AWS::Lambda::Function": "FunctionName",
    "AWS::SQS::Queue": "QueueName",
}


@dataclass(frozen=True, eq=False)
class Series:
    """One series of a metric that an alarm reads.

    Attributes:
        metric: has ``Namespace``, ``MetricName`` and ``Dimensions``: the alarm's properties, or a ``Metric`` in them.
        statistic: for example ``Average``.
        period: in seconds.
        unit: that its points must have. Absent: any.
        id: by which expressions name it. None: the alarm has no expression.
        is_elsewhere: whether it is a series of another account.
    """

    metric: Value
    statistic: Value
    period: Value
    unit: Value
    id: str | None
    is_elsewhere: bool

    @property
    def namespace(self) -> str | None:
        """Its namespace.

        Raises:
            NotKnown: it is not known.
        """
        return self.metric.text("Namespace")

    @property
    def name(self) -> str | None:
        """Name of the metric.

        Raises:
            NotKnown: it is not known.
        """
        return self.metric.text("MetricName")

    @property
    def dimensions(self) -> dict[str, Value]:
        """Its dimensions, the values by the names.

        Raises:
            NotKnown: they are not known, or the name of one is not.
        """
        return {each.text("Name") or "": each.at("Value") for each in self.metric.each("Dimensions")}

    def resources(self) -> list[Resource]:
        """The resources of the templates that its dimensions name, by reference or by the name that they are given."""
        try:
            values = list(self.dimensions.values())
        except NotKnown:
            return []
        named = _named_resources(self.metric.resource.deployment)
        found = (_referred(each) or (named.get(each.raw) if isinstance(each.raw, str) else None) for each in values)
        return [each for each in found if each is not None]

    def is_of(self, resource: Resource) -> bool:
        """Whether one of its dimensions names this resource."""
        return resource in self.resources()

    def seconds(self) -> int:
        """Its period.

        Raises:
            NotKnown: it is not known.
        """
        return self.period.whole() or _DEFAULT_PERIOD


@dataclass(frozen=True, eq=False)
class Expression:
    """An expression of metric math, or a query of Metrics Insights.

    Attributes:
        id: by which other expressions name it.
        value: the text.
        is_returned: whether it is what the alarm judges.
        period: in seconds, where it has one of its own.
    """

    id: str | None
    value: Value
    is_returned: bool
    period: Value


@dataclass(frozen=True, eq=False)
class Alarm:
    """An alarm, of one metric, of an expression, or of other alarms.

    Attributes:
        resource: that it is.
    """

    resource: Resource

    @property
    def properties(self) -> Value:
        """Its properties."""
        return self.resource.properties

    @property
    def is_composite(self) -> bool:
        """Whether it judges other alarms and no metric."""
        return self.resource.type == COMPOSITE_ALARM

    @cached_property
    def series(self) -> tuple[Series, ...]:
        """The series that it reads, those in its expressions too. A composite alarm has none of its own.

        Raises:
            NotKnown: its metrics are not known.
        """
        properties = self.properties
        if self.is_composite:
            return ()
        if properties.at("Metrics").is_absent:
            return (_series_of_alarm(properties),) if not properties.at("MetricName").is_absent else ()
        entries = properties.each("Metrics")
        return tuple(_series_of_entry(each) for each in entries if not each.at("MetricStat").is_absent)

    @cached_property
    def expressions(self) -> tuple[Expression, ...]:
        """Its expressions.

        Raises:
            NotKnown: its metrics are not known.
        """
        entries = [] if self.is_composite else self.properties.each("Metrics")
        return tuple(
            Expression(each.text("Id"), each.at("Expression"), each.flag("ReturnData", default=True), each.at("Period"))
            for each in entries
            if not each.at("Expression").is_absent
        )

    @cached_property
    def judged(self) -> Series | Expression | None:
        """What it compares with its threshold. None: nothing, or more than one thing.

        Raises:
            NotKnown: its metrics are not known.
        """
        if self.properties.at("Metrics").is_absent:
            return self.series[0] if self.series else None
        returned = [each for each in self.properties.each("Metrics") if each.flag("ReturnData", default=True)]
        if len(returned) != 1:
            return None
        wanted = returned[0].text("Id")
        readings: list[Series | Expression] = [*self.series, *self.expressions]
        return next((each for each in readings if each.id == wanted), None)

    @property
    def evaluation_periods(self) -> int | None:
        """How many periods it looks at. None: the template does not say.

        Raises:
            NotKnown: it is not known.
        """
        return self.properties.whole("EvaluationPeriods")

    @property
    def datapoints_to_alarm(self) -> int | None:
        """How many of these periods must breach: all of them, unless the template says otherwise.

        Raises:
            NotKnown: it is not known.
        """
        said = self.properties.whole("DatapointsToAlarm")
        return self.evaluation_periods if said is None else said

    @property
    def breaches_below(self) -> bool | None:
        """Whether a figure below the threshold breaches it, and not one above. None: neither, it is a band.

        Raises:
            NotKnown: it is not known.
        """
        operator = self.properties.text("ComparisonOperator") or ""
        if operator in ("LessThanThreshold", "LessThanOrEqualToThreshold"):
            return True
        return False if operator in ("GreaterThanThreshold", "GreaterThanOrEqualToThreshold") else None

    def named_actions(self, *states: str) -> list[Value]:
        """Its actions as the template has them; none where they are switched off.

        Args:
            states: ``ON_ALARM`` and so on. Default: all.

        Raises:
            NotKnown: the list of them is not known, or whether they are switched off.
        """
        if not self.properties.flag("ActionsEnabled", default=True):
            return []
        return [each for state in states or _STATES for each in self.properties.each(state)]

    def actions(self, *states: str) -> tuple[Resource, ...]:
        """The resources of the templates that it acts on itself: policies, functions, topics.

        Args:
            states: ``ON_ALARM`` and so on. Default: all.
        """
        values: list[Value] = []
        for state in states or _STATES:
            try:
                values += self.properties.each(state)
            except NotKnown:
                continue
        found = (_referred(each) for each in values)
        return tuple(dict.fromkeys(each for each in found if each is not None))

    def acts_on(self, *states: str) -> tuple[Resource, ...]:
        """Like :meth:`actions`, and all that these pass it on to: a function behind a topic, a target of a rule."""
        found = dict.fromkeys(self.actions(*states))
        if not states or ON_ALARM in states:
            found |= dict.fromkeys(self.resource.users(_RULE))
        pending = list(found)
        while pending:
            for each in _passed_on(pending.pop()):
                if each not in found and each is not self.resource:
                    found[each] = None
                    pending.append(each)
        return tuple(found)

    @cached_property
    def acts_outside(self) -> bool:
        """Whether something may act on it that nobody sees here: an action that is not in the templates, an export."""
        if self.resource.deployment.exported(self.resource):
            return True
        for state in _STATES:
            try:
                if any(_referred(each) is None for each in self.properties.each(state)):
                    return True
            except NotKnown:
                return True
        return False

    @cached_property
    def children(self) -> tuple[Alarm, ...]:
        """The alarms of the templates that a composite alarm is made of."""
        if not self.is_composite:
            return ()
        known = {each.resource: each for each in alarms(self.resource.deployment)}
        named = _alarms_named_in(self.properties.at("AlarmRule"))
        return tuple(known[each] for each in named if each is not self.resource and each in known)

    @cached_property
    def roots(self) -> tuple[Alarm, ...]:
        """The alarms of metrics that lead to what it does: itself, or those that a composite alarm is made of."""
        found: dict[Alarm, None] = {}
        pending, seen = [self], {self}
        while pending:
            alarm = pending.pop()
            if not alarm.is_composite:
                found[alarm] = None
            for child in alarm.children:
                if child not in seen:
                    seen.add(child)
                    pending.append(child)
        return tuple(found)


@once
def alarms(deployment: Deployment) -> Sequence[Alarm]:
    """Every alarm of a deployment."""
    return tuple(Alarm(each) for each in deployment.resources(ALARM, COMPOSITE_ALARM))


def alarms_acting_on(resource: Resource, *states: str) -> Sequence[Alarm]:
    """The alarms that act on a resource, by themselves or by a topic or rule that passes it on.

    A composite alarm is one of them; its :attr:`Alarm.roots` are the alarms of metrics behind it.

    Args:
        resource: a policy, function, topic or rule.
        states: ``ON_ALARM`` and so on: in which they do. Default: all.
    """
    return resource.deployment.once(_acting, states).get(resource, ())


def _acting(deployment: Deployment, states: tuple[str, ...]) -> Mapping[Resource, Sequence[Alarm]]:
    found: dict[Resource, list[Alarm]] = {}
    for alarm in alarms(deployment):
        for resource in alarm.acts_on(*states):
            found.setdefault(resource, []).append(alarm)
    return found


def _series_of_alarm(properties: Value) -> Series:
    named = properties.at("Statistic")
    statistic = named if not named.is_absent else properties.at("ExtendedStatistic")
    return Series(properties, statistic, properties.at("Period"), properties.at("Unit"), None, False)


def _series_of_entry(entry: Value) -> Series:
    stat = entry.at("MetricStat")
    return Series(
        stat.at("Metric"),
        stat.at("Stat"),
        stat.at("Period"),
        stat.at("Unit"),
        entry.text("Id"),
        is_elsewhere=not entry.at("AccountId").is_absent,
    )


def _referred(value: Value) -> Resource | None:
    """The resource that a value refers to, itself or somewhere in a text; None also where nobody can tell."""
    for marker in markers_in(value.raw):
        found = value.resource.deployment.resource_made(marker) if isinstance(marker, Made) else None
        if found is not None:
            return found
    return None


def _passed_on(resource: Resource) -> Iterator[Resource]:
    if resource.type == _TOPIC:
        for subscription in resource.users(_SUBSCRIPTION):
            yield from (each for each in subscription.uses() if each is not resource)
        yield from resource.uses(*FUNCTIONS, "AWS::SQS::Queue")
        yield from resource.users("AWS::Serverless::Function")
    elif resource.type == _RULE:
        yield from (each for each in resource.uses() if each.type not in (ALARM, COMPOSITE_ALARM))
    elif resource.type in ("AWS::Lambda::Alias", "AWS::Lambda::Version"):
        yield from resource.uses(*FUNCTIONS)


def _alarms_named_in(rule: Value) -> Iterator[Resource]:
    markers = [each for each in markers_in(rule.raw) if isinstance(each, Made)]
    yield from (each for marker in markers if (each := rule.resource.deployment.resource_made(marker)) is not None)
    if isinstance(rule.raw, Unknown) or is_marker(rule.raw) or not isinstance(rule.raw, str):
        return
    by_name = _by_name(rule.resource.deployment)
    for name in _NAMED_IN_RULE.findall(rule.raw):
        found = by_name.get(name.rpartition(":alarm:")[2] or name)
        if found is not None:
            yield found


@once
def _by_name(deployment: Deployment) -> Mapping[str, Resource]:
    """Alarms by the names that they are given."""
    named = ((each.properties.raw.get("AlarmName"), each) for each in deployment.resources(ALARM, COMPOSITE_ALARM))
    return {name: each for name, each in named if isinstance(name, str)}


@once
def _named_resources(deployment: Deployment) -> Mapping[str, Resource]:
    """What dimensions can name, by the names that the templates give."""
    named = ((each.properties.raw.get(_NAMING[each.type]), each) for each in deployment.resources(*_NAMING))
    return {name: each for name, each in named if isinstance(name, str)}
