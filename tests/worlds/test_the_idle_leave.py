"""When faults are over, every idle instance that nothing needs leaves within the window and two passes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from hypothesis import given

from tests.handlers.fake_aws import START
from tests.handlers.fake_aws.auto_scaling import FakeMember
from tests.worlds.history import History
from tests.worlds.laws import breaches
from tests.worlds.profile import examples
from tests.worlds.strategies import worlds
from tests.worlds.world import MINUTE, Doing, World

BETWEEN_PASSES = 5
UNTIL_SETTLED = 12
"""Passes after which a policy that releases a few at a time has released everybody."""


def settled(world: World) -> History:
    """Live through the world's faults, then through the window and two passes without any."""
    history = History(world)
    history.live()
    policy = world.policy
    passes = policy.window // BETWEEN_PASSES + 2
    if policy.share < 1 or policy.max_releases is not None:
        passes += UNTIL_SETTLED
    for _ in range(passes + 1):
        history.run()
        history.wait(BETWEEN_PASSES)
    return history


def left_behind(history: History) -> Iterator[str]:
    """Return the idle members that are there still although nothing speaks for them."""
    world, group = history.world, history.group
    if world.policy.quiet:
        return
    floor = max(group.min_size, world.policy.warm or 0)
    for member in group.members:
        if not _may_leave(history, member):
            continue
        # More is there than is wanted: then the desired capacity need not fall.
        surplus = group.active - member.capacity >= group.desired
        if group.active - member.capacity >= floor and (surplus or group.desired - member.capacity >= floor):
            yield f"{member.instance_id} of {group.active} ({group.desired} desired, {floor} needed)"


def _may_leave(history: History, member: FakeMember) -> bool:
    policy, truth = history.world.policy, history.world.truths.get(member.instance_id)
    machine = history.account.ec2.machines[member.instance_id]
    if truth is None or member.lifecycle_state != "InService" or machine.state != "running":
        return False
    if member.instance_id in history.guarded_since or (policy.protection_holds and member.protected):
        return False
    if policy.sessions and member.instance_id in history.account.ssm.active:
        return False
    now = history.account.clock.now()
    # Since faults ended, and so long after its start that nothing is said about its youth.
    span = policy.window + 3 * BETWEEN_PASSES
    age = int((now - START) / MINUTE) + truth.age
    if age < max(span + policy.warm_up, policy.min_life or 0):
        return False
    minute = now.replace(second=0, microsecond=0)
    return all(truth.doing(minute - back * MINUTE, signals=policy.signals) is Doing.IDLE for back in range(span + 1))


@examples(300)
@given(world=worlds())
def test_every_idle_instance_leaves_within_the_window_and_two_passes(world: World) -> None:
    # What waits on a queue is a reason to stay, and is tried elsewhere.
    queue = world.policy.queue and (0, world.policy.queue[1])
    history = settled(replace(world, policy=replace(world.policy, queue=queue)))
    assert list(left_behind(history)) == []
    assert breaches(history) == []
