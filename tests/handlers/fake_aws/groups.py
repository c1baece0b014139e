"""Auto Scaling groups with the semantics of protection, capacity, hooks and retention."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from tests.handlers.fake_aws.activities import FakeActivity, failed_launch, launching, terminating
from tests.handlers.fake_aws.hooks import LAUNCHING, TERMINATING, FakeHook
from tests.handlers.fake_aws.time import START, ManualClock


@dataclass
class FakeMember:
    instance_id: str
    lifecycle_state: str = "InService"
    protected: bool = False
    weight: int | None = None
    waits_for: list[str] = field(default_factory=list)
    """The lifecycle hooks that somebody has yet to complete."""
    waiting_since: datetime | None = None

    @property
    def active(self) -> bool:
        return self.lifecycle_state == "InService" or self.lifecycle_state.startswith("Pending")

    @property
    def capacity(self) -> int:
        return self.weight or 1

    def document(self) -> dict[str, Any]:
        weight = {} if self.weight is None else {"WeightedCapacity": str(self.weight)}
        return {
            "InstanceId": self.instance_id,
            "LifecycleState": self.lifecycle_state,
            "ProtectedFromScaleIn": self.protected,
            "AvailabilityZone": "eu-west-1a",
            "HealthStatus": "Healthy",
            **weight,
        }


@dataclass
class FakeGroup:
    name: str
    min_size: int
    max_size: int
    desired: int
    protects_new: bool = True
    suspended: list[str] = field(default_factory=list)
    status: str | None = None
    members: list[FakeMember] = field(default_factory=list)
    tags: dict[str, str] = field(default_factory=dict)
    zones: list[str] = field(default_factory=lambda: ["eu-west-1a"])
    replacements: int = 0
    """How many launches the group has started to get back to its desired capacity."""
    hooks: list[FakeHook] = field(default_factory=list)
    retains: bool = False
    """Whether an instance stays, retained, when its termination hook is abandoned."""
    warm_pool: list[FakeMember] = field(default_factory=list)
    has_warm_pool: bool = False
    """Whether the group says that it has a pool, which may have no instance at a time."""
    activities: list[FakeActivity] = field(default_factory=list)
    """What the group has done, oldest first."""
    launch_fails_with: str | None = None
    suspension_reasons: dict[str, str] = field(default_factory=dict)
    refresh_status: str | None = None
    """The status of the group's newest instance refresh, None if there never was one."""
    clock: ManualClock = field(default_factory=ManualClock)
    created_at: datetime = START - timedelta(days=1)

    @property
    def active(self) -> int:
        return sum(member.capacity for member in self.members if member.active)

    def member(self, instance_id: str) -> FakeMember | None:
        return next((each for each in self.members if each.instance_id == instance_id), None)

    def settle(self) -> None:
        """Do what the group does by itself: take unprotected surplus members, replace missing ones."""
        if "Terminate" not in self.suspended:
            for member in self.members:
                takeable = member.lifecycle_state == "InService" and not member.protected
                if takeable and self.active - member.capacity >= self.desired:
                    self.take(member, "a difference between desired and actual capacity, shrinking the capacity")
        while self.active < self.desired and "Launch" not in self.suspended:
            if self.launch_fails_with is not None:
                self.activities.append(failed_launch(self.launch_fails_with, self.clock.now()))
                return
            self.replacements += 1
            member = FakeMember(f"i-replacement{self.replacements}", "Pending", protected=False, weight=None)
            self.members.append(member)
            self.activities.append(launching(member.instance_id, self.clock.now()))
            self._wait(member, LAUNCHING, "Pending:Wait")

    def take(self, member: FakeMember, cause: str) -> None:
        """Begin to terminate a member; hooks hold it up, save for one that was retained after its hook."""
        self.activities.append(terminating(member.instance_id, self.clock.now(), cause))
        was_retained = member.lifecycle_state.endswith(":Retained")
        member.lifecycle_state = "Terminating"
        if not was_retained:
            self._wait(member, TERMINATING, "Terminating:Wait")

    def complete(self, member: FakeMember, hook_name: str, result: str) -> None:
        """End what one hook holds up: ABANDON ends the others too."""
        member.waits_for = [each for each in member.waits_for if each != hook_name] if result == "CONTINUE" else []
        if member.waits_for:
            return
        going = member.lifecycle_state.startswith("Terminating")
        if going and result == "ABANDON" and self.retains:
            member.lifecycle_state = "Terminating:Retained"
            self._end_activity(member, "Cancelled")
        elif going:
            member.lifecycle_state = "Terminating:Proceed"
        elif result == "CONTINUE":
            member.lifecycle_state = "InService"
        else:
            self.take(member, "a lifecycle action was abandoned")
            self.settle()

    def time_out(self) -> None:
        """Do for each hook that nobody completed in time what it says."""
        for member in list(self.members):
            for hook in self.hooks:
                since = member.waiting_since
                if since is None or hook.name not in member.waits_for:
                    continue
                if self.clock.now() - since >= timedelta(seconds=hook.heartbeat_seconds):
                    self.complete(member, hook.name, hook.default_result)

    def bury(self) -> list[str]:
        """Let those go that nothing holds up any more; return them."""
        gone = [m for m in self.members if m.lifecycle_state in ("Terminating", "Terminating:Proceed")]
        self.members = [m for m in self.members if m not in gone]
        for member in gone:
            self._end_activity(member, "Successful")
        return [member.instance_id for member in gone]

    def _wait(self, member: FakeMember, transition: str, state: str) -> None:
        member.waits_for = [hook.name for hook in self.hooks if hook.transition == transition]
        if member.waits_for:
            member.lifecycle_state = state
            member.waiting_since = self.clock.now()

    def _end_activity(self, member: FakeMember, status_code: str) -> None:
        for activity in self.activities:
            if activity.status_code == "InProgress" and activity.description.endswith(f" {member.instance_id}"):
                activity.status_code = status_code
                activity.ended_at = self.clock.now()

    def document(self) -> dict[str, Any]:
        status = {} if self.status is None else {"Status": self.status}
        pool = {"WarmPoolConfiguration": {"MinSize": 1, "PoolState": "Stopped"}} if self.has_warm_pool else {}
        return {
            "AutoScalingGroupName": self.name,
            "MinSize": self.min_size,
            "MaxSize": self.max_size,
            "DesiredCapacity": self.desired,
            "DefaultCooldown": 300,
            "AvailabilityZones": self.zones,
            "HealthCheckType": "EC2",
            "CreatedTime": self.created_at,
            "NewInstancesProtectedFromScaleIn": self.protects_new,
            "SuspendedProcesses": [self._suspension(name) for name in self.suspended],
            "Instances": [member.document() for member in self.members],
            "Tags": [self._tag(key, value) for key, value in self.tags.items()],
            **status,
            **pool,
        }

    def _suspension(self, process: str) -> dict[str, str]:
        reason = self.suspension_reasons.get(process, "User suspended at 2026-11-30T00:00:00Z")
        return {"ProcessName": process, "SuspensionReason": reason}

    def _tag(self, key: str, value: str) -> dict[str, Any]:
        of = {"ResourceId": self.name, "ResourceType": "auto-scaling-group"}
        return {**of, "Key": key, "Value": value, "PropagateAtLaunch": False}
