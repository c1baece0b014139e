"""Composite alarms: a rule over the states of other alarms, and actions that a suppressor may hold back."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from constructs_lib.errors import ArgumentError
from constructs_lib.rehearsal.cloud.alarm_rules import Rule, States
from constructs_lib.rehearsal.cloud.verdicts import State
from constructs_lib.rehearsal.resolving import is_true
from constructs_lib.validation import complaint

_EFFECTS: dict[State, str] = {
    "OK": "OKActions",
    "ALARM": "AlarmActions",
    "INSUFFICIENT_DATA": "InsufficientDataActions",
}
_REFUSED = (":autoscaling:", ":ec2:", "/AWS_EC2.")
"""What the names of Auto Scaling's and EC2's actions have in them."""


@dataclass(frozen=True)
class Suppressor:
    """An alarm that holds actions back: for how long its ALARM is awaited, and for how long after it."""

    alarm: str
    wait_seconds: int
    extension_seconds: int


@dataclass
class CompositeAlarm:
    """One composite alarm. It is told of the other alarms' states each minute, and tells whose actions to run."""

    name: str
    rule: Rule
    actions: Mapping[State, tuple[str, ...]]
    suppressor: Suppressor | None = None
    state: State = "INSUFFICIENT_DATA"
    _pending: bool = field(default=False, init=False)
    _due: float = field(default=0.0, init=False)
    _was_suppressed: bool = field(default=False, init=False)

    @property
    def alarms(self) -> set[str]:
        """Return the logical ids of the alarms whose states it needs."""
        return self.rule.alarms | ({self.suppressor.alarm} if self.suppressor else set())

    @property
    def is_waiting(self) -> bool:
        """Return whether actions are held back that may still run, though no state changes."""
        return self._pending

    def tick(self, now: float, states: States) -> tuple[bool, tuple[str, ...]]:
        """Return whether the state changes, and which actions to run now.

        It is in INSUFFICIENT_DATA only until it is evaluated for the first time.
        """
        state: State = "ALARM" if self.rule.holds(states) else "OK"
        changed = state != self.state
        self.state = state
        return changed, self.actions[state] if self._acts(now, changed, states) else ()

    def _acts(self, now: float, changed: bool, states: States) -> bool:
        """Return whether the actions of the present state run now.

        The periods of waiting are a reading of what the API says of them: a change while they last does not make them
        longer, and at their end the actions of the state then are run.
        """
        suppressor = self.suppressor
        if suppressor is None:
            return changed
        suppressed = states[suppressor.alarm] == "ALARM"
        if changed and not self._pending:
            self._pending, self._due = True, now + suppressor.wait_seconds
        if self._was_suppressed and not suppressed:
            self._due = now + suppressor.extension_seconds
        self._was_suppressed = suppressed
        if suppressed or not self._pending or now < self._due:
            return False
        self._pending = False
        return True


def composite_alarms(
    found: Mapping[str, Mapping[str, Any]], metric_alarms: Mapping[str, str | None], policies: Collection[str] = ()
) -> list[CompositeAlarm]:
    """Read resolved ``AWS::CloudWatch::CompositeAlarm`` properties by logical id, each after those that it names.

    ``metric_alarms`` has the ``AlarmName`` of each metric alarm by logical id, None where the template leaves it open;
    ``policies`` are the logical ids of scaling policies.

    Raises:
        ArgumentError: a rule that cannot be read, alarms that name each other in a circle, or an action that CloudWatch
            refuses for composite alarms.
    """
    named = {**metric_alarms, **{name: properties.get("AlarmName") for name, properties in found.items()}}
    known = {
        alias: logical_id for logical_id, alarm_name in named.items() for alias in _aliases(logical_id, alarm_name)
    }
    left = {name: _read(name, properties, known, policies) for name, properties in found.items()}
    sorted_: list[CompositeAlarm] = []
    while left:
        ready = [name for name, alarm in left.items() if left.keys().isdisjoint(alarm.alarms)]
        if not ready:
            name = min(left)
            rule = "not be among the alarms that its own rule depends on"
            raise ArgumentError(complaint(name, "AlarmRule", rule, sorted(left), "CloudWatch stops evaluating them"))
        sorted_ += [left.pop(name) for name in ready]
    return sorted_


def _aliases(logical_id: str, alarm_name: str | None) -> list[str]:
    """Return how a rule can name an alarm: what Ref and GetAtt give for it here, its name, or an ARN with that."""
    aliases = [logical_id, f"{logical_id}.Arn"]
    return (
        [*aliases, alarm_name, f"arn:aws:cloudwatch:us-east-1:111122223333:alarm:{alarm_name}"]
        if alarm_name
        else aliases
    )


def _read(
    name: str, properties: Mapping[str, Any], known: Mapping[str, str], policies: Collection[str]
) -> CompositeAlarm:
    actions: dict[State, tuple[str, ...]] = {}
    enabled = is_true(properties.get("ActionsEnabled", True))
    for state, key in _EFFECTS.items():
        targets = tuple(str(target) for target in properties.get(key, ()))
        for target in targets:
            if target.removesuffix(".Arn") in policies or any(part in target for part in _REFUSED):
                rule = "be functions, topics or Systems Manager's actions"
                cure = "CloudWatch refuses actions of Auto Scaling and EC2 for composite alarms"
                raise ArgumentError(complaint(name, key, rule, target, cure))
        actions[state] = targets if enabled else ()
    try:
        read = Rule(name, properties["AlarmRule"], known)
    except RecursionError as error:
        said = complaint(name, "AlarmRule", "be nested less deeply", properties["AlarmRule"], "write it flatter")
        raise ArgumentError(said) from error
    return CompositeAlarm(name, read, actions, _suppressor(name, properties, known))


def _suppressor(name: str, properties: Mapping[str, Any], known: Mapping[str, str]) -> Suppressor | None:
    alarm = properties.get("ActionsSuppressor")
    if alarm is None:
        return None
    if alarm not in known:
        cure = "only alarms of the template are simulated"
        raise ArgumentError(complaint(name, "ActionsSuppressor", "be an alarm of the template", alarm, cure))
    times = [properties.get(f"ActionsSuppressor{which}Period") for which in ("Wait", "Extension")]
    if None in times:
        rule = "come with ActionsSuppressorWaitPeriod and ActionsSuppressorExtensionPeriod"
        raise ArgumentError(complaint(name, "ActionsSuppressor", rule, alarm, "CloudWatch needs both"))
    wait, extension = (int(str(seconds)) for seconds in times)
    return Suppressor(known[alarm], wait, extension)
