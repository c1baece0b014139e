"""Instances that are booted ahead and wait beside the group, so that a start takes less time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from aws_cdk import Duration
from aws_cdk import aws_autoscaling as autoscaling

from constructs_lib.catalog import AcceleratedType
from constructs_lib.errors import ArgumentError
from constructs_lib.fleet.purchase import Purchase
from constructs_lib.fleet.storage import FleetStorage
from constructs_lib.statements import KEY, RUNNING
from constructs_lib.validation import complaint, instance_of, integer, number

READY_HOOK = "Ready"
"""Name of the group's launch hook, which an instance completes when it is prepared, and when it enters service."""

WARM_POOL_BILLS = "@cdk-accelerated-fleet/fleet:WarmPoolBills"

_WHERE = "WarmPool"
_MINUTE = 60
_DEFAULT_PREPARATION = 30 * _MINUTE
_LONGEST_PREPARATION = 120 * _MINUTE  # "HeartbeatTimeout", Auto Scaling API: a hook takes no longer
# "Hibernate your EC2 instance", EC2 User Guide: less than 150 GiB, all of which goes to the root volume.
_MOST_HIBERNATED_MIB = 150 * 1024
_MIB_PER_GIB = 1024
_DEFAULT_COVERED = 0.95
_LONGEST_COLD_START_HOURS = 2


class PoolState(Enum):
    """How prepared instances wait."""

    STOPPED = "Stopped"
    """Switched off. Their volumes are billed. To start one EC2 needs a free machine, as for any other start."""

    RUNNING = "Running"
    """Switched on, and billed as in service; what it measures is in the group's figures. Only with a demand, whose work
    keeps an instance that has waited, and so looks idle, when it enters service."""

    HIBERNATED = "Hibernated"
    """Switched off with their memory on the root volume. None of the catalogue's types can (``hibernation`` of
    ``AcceleratedType``): it is for one that you state the facts of."""


@dataclass(frozen=True, kw_only=True, repr=False)
class WarmPool:
    """Instances that have booted once and wait, so that waking one takes a start and not a launch.

    An instance boots in the pool as any other: driver, agent, node program, and the commands of
    ``fleet.add_user_data``, which are for preparing it. The fleet's ``user_data``, which starts the workload, runs when
    the instance enters service, once in each boot, and never in the pool: no job is taken there. The boot has to be
    over within ``prepare_within``, else the group ends the instance and tries another, until launching is stopped as in
    any fleet: see ``IdlePolicy(max_failed_launches=...)``.

    What is in the pool is no member of the fleet: it is not in its metrics of capacity, is never released, and goes
    with the stack. An instance that is released is ended and never put back, since nobody knows what its work has left
    on it. A deploy replaces none in the pool either: they keep the launch template they were started with. A stopped
    instance is no reserved capacity, and its instance store is empty when it starts. A pause of the schedule keeps the
    pool. A fleet that is to be bought another way gives up its pool in a deploy of its own before: CloudFormation
    removes what is gone last, and Auto Scaling refuses Spot while there is a pool.

    Two that say the same are equal.

    Attributes:
        min_size: so many wait at any time, beside those in service. Default: none.
        max_prepared: so many are there together, in service and in the pool: with more in service fewer wait. Default:
            ``min_size``, so that the pool has one size.
        state: how they wait. Default: stopped.
        prepare_within: for how long the boot in the pool, with all that ``add_user_data`` does, may take. Whole minutes
            up to 2 hours. Default: 30 minutes.

    Raises:
        ArgumentError: a value is of the wrong type or out of range, or the pool would be empty.
    """

    min_size: int | None = None
    max_prepared: int | None = None
    state: PoolState | None = None
    # The CDK's Durations have no equality, so the seconds stand for it.
    prepare_within: Duration | None = field(default=None, compare=False)
    prepare_seconds: int = field(init=False)

    def __post_init__(self) -> None:
        cure = "give a number of instances, or leave it out"
        least = 0 if self.min_size is None else integer(_WHERE, "min_size", self.min_size, minimum=0, cure=cure)
        most = least
        if self.max_prepared is not None:
            most = integer(_WHERE, "max_prepared", self.max_prepared, minimum=max(1, least), cure=cure)
        if not most:
            cure = "write for example WarmPool(min_size=1), or leave the pool out"
            raise ArgumentError(complaint(_WHERE, "min_size", "leave an instance to prepare", self.min_size, cure))
        state = PoolState.STOPPED if self.state is None else self.state
        instance_of(_WHERE, "state", state, PoolState, cure="write for example PoolState.STOPPED")
        seconds = _DEFAULT_PREPARATION if self.prepare_within is None else _seconds(self.prepare_within)
        settled = {"min_size": least, "max_prepared": most, "state": state, "prepare_seconds": seconds}
        for name, value in {**settled, "prepare_within": Duration.seconds(seconds)}.items():
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        """As it is written: what is as usual is left out."""
        assert self.state is not None
        stated = {
            "min_size": self.min_size or None,
            "max_prepared": None if self.max_prepared == self.min_size else self.max_prepared,
            "state": None if self.state is PoolState.STOPPED else f"PoolState.{self.state.name}",
            "prepare_within": f"Duration.minutes({self.prepare_seconds // _MINUTE})",
        }
        if self.prepare_seconds == _DEFAULT_PREPARATION:
            del stated["prepare_within"]
        return f"WarmPool({', '.join(f'{name}={value}' for name, value in stated.items() if value is not None)})"

    @staticmethod
    def size_for(*, starts_per_hour: float, cold_start: Duration, covered: float | None = None) -> int:
        """How many prepared instances are enough while each that is taken is replaced within a cold start.

        That is the quantile of a Poisson distribution: starts that have nothing to do with each other, at this rate on
        average. Where they come together, as at the beginning of a day, take the number that comes then.

        Args:
            starts_per_hour: how many instances are started in an hour, on average.
            cold_start: from the launch of an instance until it could work.
            covered: the share of cold starts' length of time in which the pool shall suffice, above 0 and below 1.
                Default: 0.95.

        Raises:
            ArgumentError: a value is of the wrong type or out of range.
        """
        where = "WarmPool.size_for"
        cure = "give the average of a busy hour"
        rate = number(where, "starts_per_hour", starts_per_hour, above=0, maximum=3_600, cure=cure)
        instance_of(where, "cold_start", cold_start, Duration, cure="write for example Duration.minutes(8)")
        if cold_start.is_unresolved():
            rule = "be known at synth, since a number is computed from it"
            raise ArgumentError(complaint(where, "cold_start", rule, "a token", "give a literal Duration"))
        hours = cold_start.to_milliseconds() / 3_600_000
        if not 0 < hours <= _LONGEST_COLD_START_HOURS:
            rule = f"be above 0 and at most {_LONGEST_COLD_START_HOURS} hours"
            cure = "give the minutes from the launch until the instance could work"
            raise ArgumentError(complaint(where, "cold_start", rule, cold_start.to_human_string(), cure))
        share = _DEFAULT_COVERED if covered is None else covered
        number(where, "covered", share, above=0, below=1, cure="write for example 0.95")
        return _poisson_quantile(rate * hours, share)

    def check(
        self,
        where: str,
        *,
        purchase: Purchase,
        types: Sequence[AcceleratedType],
        by_attributes: bool,
        max_capacity: int,
        storage: FleetStorage,
        has_demand: bool,
        woken_ahead: bool,
    ) -> None:
        """Refuse a pool that Auto Scaling refuses, that could never be used, or that would end running work.

        Raises:
            ArgumentError: it is one.
        """
        if not purchase.keeps_warm_pools:
            cure = "leave it out, or write Purchase.on_demand(); min_capacity keeps reserved instances in service"
            rule = "be left out where instances are not bought On-Demand"
            raise ArgumentError(complaint(where, "warm_pool", rule, self, cure))
        if by_attributes:
            cure = "name the types, which all boot alike, or leave the pool out"
            rule = "be left out for types that are chosen by their attributes"
            raise ArgumentError(complaint(where, "warm_pool", rule, self, cure))
        assert self.max_prepared is not None
        if self.max_prepared > max_capacity:
            cure = "lower it: what is above could never be in service"
            rule = f"not exceed max_capacity ({max_capacity})"
            raise ArgumentError(complaint(where, "warm_pool.max_prepared", rule, self.max_prepared, cure))
        if self.state is PoolState.RUNNING and not has_demand:
            cure = "give a demand, or let them wait stopped: what has waited in the pool looks idle when it is woken"
            rule = "not be RUNNING without a demand"
            raise ArgumentError(complaint(where, "warm_pool.state", rule, self.state.name, cure))
        if self.state is PoolState.RUNNING and woken_ahead:
            cure = (
                "let them wait stopped, or keep the woken ones with IdlePolicy(keep_warm=...): what has waited in the "
                "pool looks idle, and without work yet it would be released at once"
            )
            rule = "not be RUNNING where FleetSchedule(wake_ups=...) wakes instances ahead of their work"
            raise ArgumentError(complaint(where, "warm_pool.state", rule, self.state.name, cure))
        if self.state is PoolState.HIBERNATED:
            _check_hibernation(where, types, storage)

    def hook(self) -> autoscaling.CfnAutoScalingGroup.LifecycleHookSpecificationProperty:
        """Holds an instance until it is prepared: without it the pool stops one in the middle of its first boot."""
        return autoscaling.CfnAutoScalingGroup.LifecycleHookSpecificationProperty(
            lifecycle_hook_name=READY_HOOK,
            lifecycle_transition="autoscaling:EC2_INSTANCE_LAUNCHING",
            heartbeat_timeout=self.prepare_seconds,
            # User data runs once: one that was stopped half prepared would stay so.
            default_result="ABANDON",
        )

    def build(self, group: autoscaling.AutoScalingGroup) -> autoscaling.CfnWarmPool:
        """The pool of this group."""
        assert self.state is not None
        pool = autoscaling.CfnWarmPool(
            group,
            "WarmPool",
            auto_scaling_group_name=group.auto_scaling_group_name,
            min_size=self.min_size,
            max_group_prepared_capacity=self.max_prepared,
            pool_state=self.state.value,
            instance_reuse_policy=autoscaling.CfnWarmPool.InstanceReusePolicyProperty(reuse_on_scale_in=False),
        )
        if self.state is PoolState.RUNNING:
            pool.add_metadata(KEY, {RUNNING: "WarmPool(state=PoolState.RUNNING): every second counts"})
        return pool

    def launch_data(self) -> Mapping[str, object]:
        """What the launch template says besides, in CloudFormation's words."""
        return {"HibernationOptions": {"Configured": True}} if self.state is PoolState.HIBERNATED else {}

    def warnings(self) -> Mapping[str, str]:
        """What costs money, by the warning's id."""
        if self.state is not PoolState.RUNNING:
            return {}
        return {
            WARM_POOL_BILLS: f"up to {self.max_prepared} instances wait switched on, and are billed as in service, day "
            "and night: let them wait stopped, or acknowledge this warning when every second counts"
        }


def _check_hibernation(where: str, types: Sequence[AcceleratedType], storage: FleetStorage) -> None:
    parameter, wanted = "warm_pool.state", PoolState.HIBERNATED.name
    cure = "let them wait stopped, or name types that can hibernate"
    unable = [each.name for each in types if each.hibernation is not True or each.bare_metal is True]
    if unable:
        rule = f"not be {wanted} for {', '.join(unable)}, which are not known to hibernate"
        raise ArgumentError(complaint(where, parameter, rule, wanted, cure))
    large = [each.name for each in types if each.memory_mib is None or each.memory_mib >= _MOST_HIBERNATED_MIB]
    if large:
        rule = f"not be {wanted} for {', '.join(large)}, which are not known to have less than 150 GiB of memory"
        raise ArgumentError(complaint(where, parameter, rule, wanted, cure))
    needed = max(-(-(each.memory_mib or 0) // _MIB_PER_GIB) for each in types)
    size = storage.root_volume_size
    if size is not None and size.is_unresolved():
        return
    if size is None or size.to_gibibytes() <= needed:
        given = None if size is None else f"{size.to_gibibytes():g} GiB"
        rule = f"be above {needed} GiB, since the memory is written to it beside the system"
        cure = f"give FleetStorage(root_volume_size=Size.gibibytes({needed + 100})) or so"
        raise ArgumentError(complaint(where, "storage.root_volume_size", rule, given, cure))


def _seconds(value: object) -> int:
    duration = instance_of(_WHERE, "prepare_within", value, Duration, cure="write for example Duration.minutes(30)")
    rule = f"be whole minutes from 1 to {_LONGEST_PREPARATION // _MINUTE}"
    if duration.is_unresolved():
        raise ArgumentError(complaint(_WHERE, "prepare_within", rule, "a token", "give a literal Duration"))
    milliseconds = duration.to_milliseconds()
    if milliseconds % (1000 * _MINUTE) or not _MINUTE * 1000 <= milliseconds <= _LONGEST_PREPARATION * 1000:
        cure = "make an image that has what takes longer"
        raise ArgumentError(complaint(_WHERE, "prepare_within", rule, duration.to_human_string(), cure))
    return int(milliseconds // 1000)


def _poisson_quantile(mean: float, share: float) -> int:
    """The least n so that at most n events come with a probability of at least ``share``."""
    count, below = 0, 0.0
    while True:
        # By logarithms: the factors alone would overflow for a large mean.
        below += math.exp(count * math.log(mean) - mean - math.lgamma(count + 1))
        if below >= share or count > mean + 40 * math.sqrt(mean) + 40:
            return max(1, count)
        count += 1
