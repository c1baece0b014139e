"""Members that the platform replaces on its own: unhealthy, in a thick zone, at risk, too old; and whom it takes."""

from __future__ import annotations

import random
from typing import Any

import pytest

from constructs_lib.rehearsal.cloud.group import Group, Instance
from constructs_lib.rehearsal.cloud.replacing import SPARED_BY_REBALANCING
from tests.rehearsal.cloud.groups import DAY, MINUTE, hook, make_group, run, started


def _uneven(*, protected: bool = False, maximum: int = 4, spares: bool = True, busy: bool = True) -> Group:
    """Four members, three of them in one of two zones."""
    group = make_group(maximum=maximum, zones=2, spares=spares, busy=lambda _each: float(busy))
    group.protects_new = protected
    group.suspended.add("AZRebalance")
    group.set_desired(4)
    run(group, 4)
    for index, member in enumerate(group.members):
        member.zone = group.zones[int(index == 3)]
    group.suspended.clear()
    return group


def test_busiest_unprotected_member_goes_first() -> None:
    group = started(4, busy=lambda each: int(each.id[-1]))
    group.members[3].protected = True
    group.set_desired(2)
    run(group, 1)
    assert [ending.id[-1] for ending in group.endings] == ["3", "2"]
    assert all(ending.busy for ending in group.endings)


def test_protection_begins_with_service() -> None:
    group = make_group(NewInstancesProtectedFromScaleIn=True)
    group.set_desired(2)
    run(group, 1)
    group.set_desired(0)
    run(group, 3)
    assert [each.cause for each in group.everyone] == ["scale-in", "scale-in"]


def test_scale_in_of_protected_members_waits_and_then_takes_them() -> None:
    group = started(2, NewInstancesProtectedFromScaleIn=True)
    group.set_desired(0)
    run(group, 30)
    assert len(group.in_service) == 2
    group.members[0].protected = False
    run(group, 1)
    assert [ending.cause for ending in group.endings] == ["scale-in"]


def test_unhealthy_member_is_replaced_protected_or_not_and_its_hook_runs() -> None:
    group = started(1, NewInstancesProtectedFromScaleIn=True, LifecycleHookSpecificationList=[hook("Drain")])
    (member,) = group.in_service
    member.healthy = False
    run(group, 1)
    assert (member.state, member.cause) == ("Terminating:Wait", "unhealthy")
    assert len(group.alive) == 1


@pytest.mark.parametrize("process", ["HealthCheck", "ReplaceUnhealthy"])
def test_suspended_health_check_replaces_nobody(process: str) -> None:
    group = started(1)
    group.suspended.add(process)
    group.members[0].healthy = False
    run(group, 10)
    assert group.endings == []


def test_unhealthy_member_waits_while_nothing_is_terminated_and_is_then_replaced_at_once() -> None:
    """Terminate is what ReplaceUnhealthy needs ("How suspended processes affect other processes")."""
    group = started(1)
    group.suspended.add("Terminate")
    group.members[0].healthy = False
    run(group, 10)
    assert group.endings == []

    group.suspended.clear()
    run(group, 1)
    assert [ending.cause for ending in group.endings] == ["unhealthy"]


def test_unhealthy_member_ends_and_is_not_replaced_while_nothing_is_launched() -> None:
    group = started(2)
    group.suspended.add("Launch")
    group.members[0].healthy = False
    run(group, 10)
    assert len(group.members) == 1

    group.suspended.clear()
    run(group, 4)
    assert len(group.in_service) == 2


def test_rebalancing_launches_and_ends_nobody_while_nothing_is_terminated() -> None:
    """The group stays beyond its maximum, by no more than it may, until it may terminate again."""
    group = _uneven()
    before = len(group.alive)
    group.suspended.add("Terminate")
    run(group, 30)
    assert [ending.cause for ending in group.endings if ending.cause == "rebalancing"] == []
    assert len(group.in_service) == before + 1

    group.suspended.clear()
    run(group, 2)
    assert len(group.alive) == before
    assert not group.is_uneven


def test_risk_of_a_reclaim_launches_and_ends_nobody_while_nothing_is_terminated() -> None:
    group = started(2, maximum=2, CapacityRebalance=True)
    group.suspended.add("Terminate")
    group.warn(group.in_service[0].id)
    run(group, 30)
    assert (group.endings, len(group.in_service)) == ([], 3)


@pytest.mark.parametrize("least", [0, 100])
def test_lifetime_that_is_over_waits_while_nothing_is_terminated(least: int) -> None:
    policy = {"MinHealthyPercentage": least, "MaxHealthyPercentage": 100 + least // 10}
    group = started(1, MaxInstanceLifetime=86_400, InstanceMaintenancePolicy=policy)
    group.suspended.add("Terminate")
    run(group, DAY + 30)
    assert (group.endings, len(group.everyone)) == ([], 1)

    group.suspended.clear()
    run(group, 10)
    assert [ending.cause for ending in group.endings] == ["maximum instance lifetime"]
    assert len(group.in_service) == 1


def test_rebalancing_launches_first_beyond_the_maximum_by_one() -> None:
    group = _uneven()
    run(group, 1)
    assert (len(group.alive), group.endings) == (5, []), "one more than the maximum of 4"

    run(group, 4)
    assert [(ending.cause, ending.busy) for ending in group.endings] == [("rebalancing", True)]
    assert sorted(group.zone_counts().values()) == [2, 2]
    run(group, 60)
    assert len(group.everyone) == 5


def test_rebalancing_spares_the_protected_and_says_that_this_is_not_certain() -> None:
    group = _uneven(protected=True)
    run(group, 60)
    assert group.endings == []
    assert group.doubts == {SPARED_BY_REBALANCING}


def test_rebalancing_takes_the_protected_too_under_the_other_reading() -> None:
    group = _uneven(protected=True, spares=False)
    run(group, 10)
    assert [(ending.cause, ending.busy) for ending in group.endings] == [("rebalancing", True)]


def test_even_zones_leave_no_doubt() -> None:
    group = started(4, zones=2, NewInstancesProtectedFromScaleIn=True)
    run(group, 60)
    assert (group.endings, group.doubts) == ([], set())


def test_rebalancing_waits_where_the_cloud_has_nothing() -> None:
    group = _uneven()
    group.capacity = 4
    run(group, 60)
    assert group.endings == []


def test_capacity_rebalancing_launches_before_it_ends() -> None:
    group = started(2, maximum=2, CapacityRebalance=True)
    at_risk = group.in_service[0]
    group.warn(at_risk.id)

    run(group, 1)
    assert (len(group.alive), at_risk.state) == (3, "InService")
    run(group, 4)
    assert at_risk.cause == "capacity rebalancing"
    assert len(group.in_service) == 2


def test_reclaimed_before_its_replacement_serves_it_is_replaced_once() -> None:
    group = started(2, maximum=2, CapacityRebalance=True)
    at_risk = group.in_service[0]
    group.warn(at_risk.id)
    group.warn(at_risk.id)
    run(group, 1)
    group.lose(at_risk.id, "reclaimed")
    run(group, 30)
    assert (len(group.everyone), len(group.in_service)) == (3, 2)


def test_without_capacity_rebalancing_a_warning_changes_nothing() -> None:
    group = started(1)
    group.warn(group.in_service[0].id)
    run(group, 10)
    assert len(group.everyone) == 1


def test_too_old_members_are_replaced_one_after_the_other_unless_protected() -> None:
    group = started(3, MaxInstanceLifetime=86_400)
    group.members[2].protected = True

    run(group, DAY - 10)
    assert group.endings == []
    run(group, 30)

    assert [(ending.id[-1], ending.cause) for ending in group.endings] == [
        ("1", "maximum instance lifetime"),
        ("2", "maximum instance lifetime"),
    ]
    first, second = group.endings
    assert second.at - first.at >= 2 * MINUTE, "the replacement serves first"
    assert len(group.in_service) == 3


def test_maintenance_policy_makes_a_lifetime_launch_first() -> None:
    policy = {"MinHealthyPercentage": 100, "MaxHealthyPercentage": 110}
    group = started(1, MaxInstanceLifetime=86_400, InstanceMaintenancePolicy=policy)
    run(group, DAY - 3)
    in_service = set()
    for _ in range(20):
        run(group, 1)
        in_service.add(len(group.in_service))
    assert min(in_service) == 1
    assert [ending.cause for ending in group.endings] == ["maximum instance lifetime"]


def test_terminate_takes_all_or_none() -> None:
    group = started(3, minimum=1)
    ids = [each.id for each in group.members]
    with pytest.raises(Exception, match="minSize"):
        group.terminate(*ids, decrement=True)
    assert (group.endings, group.desired) == ([], 3)
    with pytest.raises(Exception, match="Instance Id not found"):
        group.terminate(ids[0], "i-0", decrement=True)
    assert (group.endings, group.desired) == ([], 3)
    group.terminate(*ids[:2], decrement=True)
    assert (len(group.endings), group.desired) == (2, 1)


@pytest.mark.parametrize("seed", range(20))
def test_minutes_in_which_nothing_can_happen_change_nothing(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A group that looks at everything each minute comes to the same as one that rests."""
    lives = [_life(seed)]
    monkeypatch.setattr(Group, "_rest", lambda self: self._stir())
    lives.append(_life(seed))
    assert lives[0] == lives[1]


def _life(seed: int) -> list[tuple[object, ...]]:
    dice = random.Random(seed)
    busy: dict[str, float] = {}
    properties: dict[str, Any] = {
        "MaxInstanceLifetime": 86_400,
        "LifecycleHookSpecificationList": [hook("Drain", heartbeat=180)],
    }
    pool: dict[str, Any] = {"WarmPool": {"MinSize": 1, "MaxGroupPreparedCapacity": 4}} if seed % 2 else {}
    group = make_group(zones=2, maximum=6, busy=lambda each: busy.get(each.id, 0.0), **properties, **pool)
    for _ in range(400):
        _strike(group, dice, busy)
        run(group, dice.choice([1, 1, 5, 60]))
    return [_seen(each) for each in group.everyone] + list(group.desired_history)


def _strike(group: Group, dice: random.Random, busy: dict[str, float]) -> None:
    what = dice.randrange(8)
    members = group.members
    member = dice.choice(members) if members else None
    if what < 2:
        group.set_desired(dice.randint(0, 6))
    elif what == 2:
        group.capacity = dice.choice([None, 2, None])
    elif what == 3:
        group.suspended ^= {dice.choice(["AZRebalance", "Launch", "Terminate"])}
    elif member is not None and what == 4:
        group.lose(member.id, "reclaimed")
    elif member is not None and what == 5:
        member.healthy = False
    elif member is not None and what == 6:
        member.protected = not member.protected
    elif member is not None:
        busy[member.id] = dice.random()


def _seen(each: Instance) -> tuple[object, ...]:
    return (each.id, each.zone, each.launched, each.in_service_at, each.drain_from, each.ended, each.cause)
