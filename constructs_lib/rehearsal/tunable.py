"""The settings of a fleet that can be tried on a copy of its template, each written as the construct would write it."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from constructs_lib.errors import ArgumentError
from constructs_lib.validation import complaint

_MINUTE = 60
_COARSE_PERIOD, _FINE_PERIOD = 300, 60
_DEFAULT_WARM_UP = 10 * _MINUTE
# Up to here the alarm on missing readings does not depend on the warm-up.
_FREE_WARM_UP = 10 * _MINUTE
_SHORTEST_WINDOW, _LONGEST_WINDOW = 5 * _MINUTE, 24 * 60 * _MINUTE
_LONGEST_ADAPTIVE_WINDOW = 120 * _MINUTE
LONGEST_COLD_START = 6 * _MINUTE
"""Of slower starts no adaptive policy is told."""
# A start is worth as much idle time: so many times its length, and a pass.
_TIMES_OF_A_START = 2
_SHORTEST_ADAPTIVE_WARM_UP = 5 * _MINUTE
_BETWEEN_PASSES = 5 * _MINUTE
_SHORTEST_DOUBT = 15 * _MINUTE
_SHORTEST_GRACE = 300
_LONGEST_PREPARATION = 30 * _MINUTE
_READY_HOOK = "Ready"
_FUNCTION = "AWS::Lambda::Function"
_WHERE = "rehearse"


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What a fleet can be given.

    Attributes:
        window_s: ``IdlePolicy(window=...)``.
        warm_up_s: ``IdlePolicy(warm_up=...)``.
        cold_start_s: ``IdlePolicy.adaptive(cold_start=...)``. None: the policy is not adaptive.
        messages_per_instance: ``QueueDemand(messages_per_instance=...)``. None: the fleet has no such demand.
        minimum: ``min_capacity``.
        pool: ``WarmPool(min_size=...)`` of stopped instances, 0 for none.
    """

    window_s: int
    warm_up_s: int
    messages_per_instance: int | None
    minimum: int
    pool: int
    cold_start_s: int | None = None

    def as_json(self) -> dict[str, Any]:
        """As the report has it."""
        return {
            "window_s": self.window_s,
            "warm_up_s": self.warm_up_s,
            "cold_start_s": self.cold_start_s,
            "messages_per_instance": self.messages_per_instance,
            "min_capacity": self.minimum,
            "warm_pool_min_size": self.pool,
        }

    def changes(self, before: Settings) -> list[str]:
        """What is to be written in the construct for what differs from ``before``, as its parameters."""
        written = []
        if self._policy() != before._policy():
            written.append(f"idle={self._policy()}")
        if self.messages_per_instance != before.messages_per_instance:
            written.append(f"demand=QueueDemand(..., messages_per_instance={self.messages_per_instance})")
        if self.minimum != before.minimum:
            written.append(f"min_capacity={self.minimum}")
        if self.pool != before.pool:
            written.append(f"warm_pool={f'WarmPool(min_size={self.pool})' if self.pool else 'None'}")
        return written

    def _policy(self) -> str:
        """The policy, as far as it is tried, as it is written."""
        parts = [f"window=Duration.minutes({self.window_s // _MINUTE})"]
        if self.warm_up_s != min(_usual_warm_up(self.cold_start_s), self.window_s):
            parts.append(f"warm_up=Duration.minutes({self.warm_up_s // _MINUTE})")
        if self.cold_start_s is None:
            return f"IdlePolicy({', '.join(parts)})"
        parts.insert(0, f"cold_start=Duration.minutes({self.cold_start_s // _MINUTE})")
        return f"IdlePolicy.adaptive({', '.join(parts)})"


class Tunable:
    """A template whose fleet's settings can be read and changed.

    Args:
        template: synthesized.
        group: logical id of the fleet's Auto Scaling group.

    Raises:
        ArgumentError: no release function of this library looks after the group.
    """

    def __init__(self, template: Mapping[str, Any], group: str) -> None:
        self._template = template
        self._group = group
        release = self._function("release_idle")
        if release is None:
            rule = "have a release function of this library for the fleet that is to be tuned"
            cure = "rehearse it without --tune, or release its instances with AcceleratedFleet or IdleRelease"
            raise ArgumentError(complaint(_WHERE, "template", rule, group, cure))
        self._release = release
        self._alarm = self._idle_alarm()
        self.now = self._settings()
        """The settings of the template as it is."""
        self.maximum = int(self._properties(group)["MaxSize"])

    def with_window(self, settings: Settings, seconds: int) -> Settings:
        """The same settings with another window; a warm-up that is longer becomes as long, as it does by default."""
        return self._with_warm_up(replace(settings, window_s=seconds))

    def with_cold_start(self, settings: Settings, seconds: int | None) -> Settings:
        """The same settings, adaptive to starts that take so long, or not; the warm-up becomes the default of these.

        One of more than ten minutes, which somebody has given, stays.
        """
        return self._with_warm_up(replace(settings, cold_start_s=seconds))

    def _with_warm_up(self, settings: Settings) -> Settings:
        stays = settings.cold_start_s == self.now.cold_start_s or self.now.warm_up_s > _FREE_WARM_UP
        seconds = self.now.warm_up_s if stays else _usual_warm_up(settings.cold_start_s)
        return replace(settings, warm_up_s=min(seconds, settings.window_s))

    def accepts(self, settings: Settings) -> bool:
        """Whether the construct takes these settings, as far as they differ from those of the template."""
        return all(
            (
                self._accepts_window(settings),
                _accepts_cold_start(settings),
                self._accepts_sizes(settings),
                self._accepts_pool(settings),
            )
        )

    def written(self, settings: Settings) -> dict[str, Any]:
        """A copy of the template with these settings."""
        changed: dict[str, Any] = copy.deepcopy(dict(self._template))
        resources: dict[str, Any] = changed["Resources"]
        if settings != self.now:
            self._write_window(resources, settings)
            self._write_demand(resources, settings)
            self._write_sizes(resources, settings)
            self._write_pool(resources, settings)
        return changed

    # --- what is there -----------------------------------------------------------------------------------------------

    def _settings(self) -> Settings:
        told = self._environment(self._release)
        messages, worth = told.get("MESSAGES_PER_INSTANCE"), told.get("START_WORTH_SECONDS")
        pool = self._pool()
        return Settings(
            window_s=int(told["WINDOW_SECONDS"]),
            warm_up_s=int(told["WARM_UP_SECONDS"]),
            messages_per_instance=None if messages is None else int(messages),
            minimum=int(self._properties(self._group)["MinSize"]),
            pool=0 if pool is None else int(self._properties(pool).get("MinSize", 0)),
            cold_start_s=None if worth is None else (int(worth) - _BETWEEN_PASSES) // _TIMES_OF_A_START,
        )

    def _resources(self, kind: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
        for name, resource in self._template["Resources"].items():
            if resource["Type"] == kind:
                yield name, resource.get("Properties", {})

    def _properties(self, logical_id: str) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self._template["Resources"][logical_id]["Properties"]
        return found

    def _environment(self, function: str) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self._properties(function).get("Environment", {}).get("Variables", {})
        return found

    def _function(self, package: str) -> str | None:
        return _function_of(self._template, self._group, package)

    def _idle_alarm(self) -> str | None:
        target = {"Fn::GetAtt": [self._release, "Arn"]}
        for name, properties in self._resources("AWS::CloudWatch::Alarm"):
            if target in properties.get("AlarmActions", ()):
                return name
        return None

    def _pool(self) -> str | None:
        for name, properties in self._resources("AWS::AutoScaling::WarmPool"):
            if properties.get("AutoScalingGroupName") == {"Ref": self._group}:
                return name
        return None

    # --- what the construct takes ------------------------------------------------------------------------------------

    def _accepts_window(self, settings: Settings) -> bool:
        if (settings.window_s, settings.warm_up_s) == (self.now.window_s, self.now.warm_up_s):
            return True
        told = self._environment(self._release)
        longest_life, doubt = told.get("MAX_LIFE_SECONDS"), told.get("MAX_UNKNOWN_SECONDS")
        return all(
            (
                _SHORTEST_WINDOW <= settings.window_s <= _LONGEST_WINDOW,
                settings.window_s % _MINUTE == 0,
                settings.warm_up_s <= settings.window_s,
                settings.warm_up_s == self.now.warm_up_s or self.now.warm_up_s <= _FREE_WARM_UP,
                longest_life is None or int(longest_life) > settings.window_s,
                doubt is None or int(doubt) >= settings.window_s + _SHORTEST_DOUBT,
            )
        )

    def _accepts_sizes(self, settings: Settings) -> bool:
        if settings.minimum == self.now.minimum:
            return True
        # A Capacity Block ends, and nothing may be kept after that.
        block = any(self._market(properties) == "capacity-block" for properties in self._launch_templates())
        return 0 <= settings.minimum <= self.maximum and not (block and settings.minimum)

    def _accepts_pool(self, settings: Settings) -> bool:
        if settings.pool == self.now.pool:
            return True
        pool = self._pool()
        if pool is not None:
            properties = self._properties(pool)
            as_usual = properties.get("PoolState", "Stopped") == "Stopped"
            one_size = properties.get("MaxGroupPreparedCapacity") == properties.get("MinSize")
            return as_usual and one_size and settings.pool <= self.maximum
        return settings.pool <= self.maximum and self._is_plain_on_demand()

    def _is_plain_on_demand(self) -> bool:
        """Whether instances are bought On-Demand, of types that are named and without a reservation."""
        group = self._properties(self._group)
        mixed = group.get("MixedInstancesPolicy", {})
        percent = mixed.get("InstancesDistribution", {}).get("OnDemandPercentageAboveBaseCapacity", 100)
        overrides = mixed.get("LaunchTemplate", {}).get("Overrides", ())
        return (
            percent == 100
            and not any("InstanceRequirements" in each for each in overrides)
            and "CapacityReservationSpecification" not in group
            and not any(
                self._market(each) is not None or "CapacityReservationSpecification" in each
                for each in self._launch_templates()
            )
        )

    def _launch_templates(self) -> Iterator[Mapping[str, Any]]:
        """Data of the launch templates that the group names."""
        named = json.dumps(self._properties(self._group))
        for name, properties in self._resources("AWS::EC2::LaunchTemplate"):
            if f'"{name}"' in named:
                yield properties.get("LaunchTemplateData", {})

    @staticmethod
    def _market(data: Mapping[str, Any]) -> str | None:
        found: str | None = data.get("InstanceMarketOptions", {}).get("MarketType")
        return found

    # --- how it is written -------------------------------------------------------------------------------------------

    def _write_window(self, resources: dict[str, Any], settings: Settings) -> None:
        told = resources[self._release]["Properties"]["Environment"]["Variables"]
        told["WINDOW_SECONDS"] = str(settings.window_s)
        told["WARM_UP_SECONDS"] = str(settings.warm_up_s)
        told.pop("START_WORTH_SECONDS", None)
        if settings.cold_start_s is not None:
            told["START_WORTH_SECONDS"] = str(_TIMES_OF_A_START * settings.cold_start_s + _BETWEEN_PASSES)
        signals = json.loads(told["SIGNALS"])
        for signal in signals:
            if signal["means"] == "idle_time":
                signal["idle_below"] = settings.window_s
        told["SIGNALS"] = json.dumps(signals, separators=(",", ":"))
        if self._alarm is not None:
            # With an adaptive policy it asks for a pass as soon as anything could go.
            watched_s = settings.window_s if settings.cold_start_s is None else _SHORTEST_WINDOW
            _watch(resources[self._alarm]["Properties"], watched_s)
        group = resources[self._group]["Properties"]
        if settings.warm_up_s != self.now.warm_up_s and "DefaultInstanceWarmup" in group:
            group["DefaultInstanceWarmup"] = settings.warm_up_s
            group["HealthCheckGracePeriod"] = max(settings.warm_up_s, _SHORTEST_GRACE)

    def _write_demand(self, resources: dict[str, Any], settings: Settings) -> None:
        for function in (self._release, self._function("wake_on_demand")):
            if function is not None and settings.messages_per_instance is not None:
                told = resources[function]["Properties"]["Environment"]["Variables"]
                told["MESSAGES_PER_INSTANCE"] = str(settings.messages_per_instance)

    def _write_sizes(self, resources: dict[str, Any], settings: Settings) -> None:
        resources[self._group]["Properties"]["MinSize"] = str(settings.minimum)
        schedule = self._function("fleet_schedule")
        if schedule is not None:
            told = resources[schedule]["Properties"]["Environment"]["Variables"]
            told["TEMPLATE_MIN_SIZE"] = str(settings.minimum)

    def _write_pool(self, resources: dict[str, Any], settings: Settings) -> None:
        if settings.pool == self.now.pool:
            return
        pool = self._pool()
        group = resources[self._group]["Properties"]
        others = [
            each for each in group.get("LifecycleHookSpecificationList", ()) if each["LifecycleHookName"] != _READY_HOOK
        ]
        if settings.pool == 0:
            assert pool is not None
            del resources[pool]
            group["LifecycleHookSpecificationList"] = others
            return
        if pool is not None:
            sizes = {"MinSize": settings.pool, "MaxGroupPreparedCapacity": settings.pool}
            resources[pool]["Properties"].update(sizes)
            return
        resources[f"{self._group}WarmPool"] = {
            "Type": "AWS::AutoScaling::WarmPool",
            "Properties": {
                "AutoScalingGroupName": {"Ref": self._group},
                "InstanceReusePolicy": {"ReuseOnScaleIn": False},
                "MaxGroupPreparedCapacity": settings.pool,
                "MinSize": settings.pool,
                "PoolState": "Stopped",
            },
        }
        group["LifecycleHookSpecificationList"] = [
            *others,
            {
                "DefaultResult": "ABANDON",
                "HeartbeatTimeout": _LONGEST_PREPARATION,
                "LifecycleHookName": _READY_HOOK,
                "LifecycleTransition": "autoscaling:EC2_INSTANCE_LAUNCHING",
            },
        ]


def adaptive_copy(template: Mapping[str, Any], group: str, start_s: float) -> dict[str, Any] | None:
    """A copy of a fleet's template whose policy is adaptive to starts that take so long.

    None where that is no other fleet: it has no policy of this library, or one that is adaptive, or starts too slowly.
    """
    if _function_of(template, group, "release_idle") is None:
        return None
    tunable = Tunable(template, group)
    adaptive = tunable.with_cold_start(tunable.now, max(round(start_s / _MINUTE), 1) * _MINUTE)
    is_another = tunable.now.cold_start_s is None and tunable.accepts(adaptive)
    return tunable.written(adaptive) if is_another else None


def _function_of(template: Mapping[str, Any], group: str, package: str) -> str | None:
    """The function of a package of handlers that looks after a group."""
    for name, resource in template["Resources"].items():
        properties = resource.get("Properties", {})
        told = properties.get("Environment", {}).get("Variables", {}) if resource["Type"] == _FUNCTION else {}
        mine = told.get("AUTO_SCALING_GROUP_NAME") == {"Ref": group}
        if mine and str(properties.get("Handler", "")).split(".")[0] == package:
            return str(name)
    return None


def _usual_warm_up(cold_start_s: int | None) -> int:
    """The warm-up by default, in seconds, unless the window is shorter."""
    return _DEFAULT_WARM_UP if cold_start_s is None else max(cold_start_s, _SHORTEST_ADAPTIVE_WARM_UP)


def _accepts_cold_start(settings: Settings) -> bool:
    seconds = settings.cold_start_s
    if seconds is None:
        return True
    in_range = _MINUTE <= seconds <= LONGEST_COLD_START and seconds % _MINUTE == 0
    return in_range and settings.window_s <= _LONGEST_ADAPTIVE_WINDOW


def _watch(alarm: dict[str, Any], window_s: int) -> None:
    """Let the idle alarm judge another window: in periods of five minutes if three or more make it up, else of one."""
    if alarm["ComparisonOperator"] == "GreaterThanOrEqualToThreshold":
        # The instances count their idle time themselves.
        alarm["Threshold"] = window_s
        return
    coarse = window_s % _COARSE_PERIOD == 0 and window_s >= 3 * _COARSE_PERIOD
    period = _COARSE_PERIOD if coarse else _FINE_PERIOD
    alarm["EvaluationPeriods"] = alarm["DatapointsToAlarm"] = window_s // period
    for metric in alarm["Metrics"]:
        if "MetricStat" in metric:
            metric["MetricStat"]["Period"] = period
