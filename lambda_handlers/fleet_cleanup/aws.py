"""What the clean-up asks of AWS and does there. Every call may be repeated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol, TypedDict

from botocore.exceptions import ClientError

from fleet_cleanup.decision import Hook
from fleet_cleanup.request import FleetIdentity
from fleet_cleanup.stack_status import StackReader
from runtime.aws_errors import error_code
from runtime.group import Group
from runtime.group_reader import GroupReader, GroupsPage, read_group
from runtime.patience import Patience

_IDS_PER_PROTECTION_CALL = 50
_INSTANCES_PER_PAGE = 1000
_BILLED_STATES = ["pending", "running", "stopping", "stopped"]
_LAUNCHING = "autoscaling:EC2_INSTANCE_LAUNCHING"
_DEFAULT_HEARTBEAT_SECONDS = 3600
# Each of the calls that a deletion can do without is tried for a few seconds, not for the whole run.
_ATTEMPTS = 5


class Tag(TypedDict):
    Key: str
    Value: str


class InstanceDocument(TypedDict, total=False):
    InstanceId: str
    Tags: list[Tag]


class Reservation(TypedDict):
    Instances: list[InstanceDocument]


class InstancesPage(TypedDict, total=False):
    Reservations: list[Reservation]
    NextToken: str


class Filter(TypedDict):
    Name: str
    Values: list[str]


class Flag(TypedDict):
    Value: bool


class HookDocument(TypedDict, total=False):
    LifecycleHookName: str
    LifecycleTransition: str
    HeartbeatTimeout: int


class HooksAnswer(TypedDict, total=False):
    LifecycleHooks: list[HookDocument]


class AutoScalingClient(GroupReader, Protocol):
    """The Auto Scaling calls of the clean-up."""

    def describe_auto_scaling_groups(
        self, *, AutoScalingGroupNames: Sequence[str] = ..., Filters: Sequence[Filter] = ..., NextToken: str = ...
    ) -> GroupsPage: ...

    def suspend_processes(self, *, AutoScalingGroupName: str, ScalingProcesses: Sequence[str]) -> object: ...

    def update_auto_scaling_group(
        self,
        *,
        AutoScalingGroupName: str,
        MinSize: int,
        MaxSize: int,
        DesiredCapacity: int,
        NewInstancesProtectedFromScaleIn: bool,
    ) -> object: ...

    def set_instance_protection(
        self, *, AutoScalingGroupName: str, InstanceIds: Sequence[str], ProtectedFromScaleIn: bool
    ) -> object: ...

    def terminate_instance_in_auto_scaling_group(
        self, *, InstanceId: str, ShouldDecrementDesiredCapacity: bool
    ) -> object: ...

    def cancel_instance_refresh(self, *, AutoScalingGroupName: str) -> object: ...

    def describe_lifecycle_hooks(self, *, AutoScalingGroupName: str) -> HooksAnswer: ...

    def delete_lifecycle_hook(self, *, LifecycleHookName: str, AutoScalingGroupName: str) -> object: ...

    def delete_warm_pool(self, *, AutoScalingGroupName: str, ForceDelete: bool) -> object: ...


class InstanceClient(Protocol):
    """The EC2 calls of the clean-up."""

    def describe_instances(
        self, *, Filters: Sequence[Filter], MaxResults: int, NextToken: str = ...
    ) -> InstancesPage: ...

    def terminate_instances(self, *, InstanceIds: Sequence[str]) -> object: ...

    def modify_instance_attribute(self, *, InstanceId: str, DisableApiTermination: Flag) -> object: ...


@dataclass(frozen=True, kw_only=True)
class Clients:
    """The AWS clients of the clean-up."""

    autoscaling: AutoScalingClient
    cloudformation: StackReader
    ec2: InstanceClient


@dataclass(frozen=True, kw_only=True)
class FleetAccess:
    """One fleet's group and instances. Conflicts and throttling are waited out within the patience."""

    clients: Clients
    fleet: FleetIdentity
    patience: Patience

    def group(self) -> Group | None:
        """Return the group, or None when it is gone."""
        return read_group(self.clients.autoscaling, self.fleet.group_name, self.patience)

    def suspend_zone_rebalancing(self) -> None:
        """Keep Auto Scaling from terminating working instances to even out the zones."""
        self.suspend(["AZRebalance"])

    def suspend(self, processes: Sequence[str]) -> None:
        """Suspend processes of the group, besides those that are suspended already."""
        self.patience.call(
            f"suspending {', '.join(processes)}",
            partial(
                self.clients.autoscaling.suspend_processes,
                AutoScalingGroupName=self.fleet.group_name,
                ScalingProcesses=list(processes),
            ),
        )

    def cancel_instance_refresh(self) -> bool:
        """Cancel the instance refresh; return whether there was one."""
        cancel = partial(self.clients.autoscaling.cancel_instance_refresh, AutoScalingGroupName=self.fleet.group_name)
        try:
            self._patience_for_extras().call("cancelling the instance refresh", cancel)
        except ClientError as error:
            if error_code(error).removesuffix("Fault") == "ActiveInstanceRefreshNotFound":
                return False
            raise
        return True

    def hooks(self) -> tuple[Hook, ...]:
        """Return the group's lifecycle hooks."""
        ask = partial(self.clients.autoscaling.describe_lifecycle_hooks, AutoScalingGroupName=self.fleet.group_name)
        answer = self._patience_for_extras().call("listing the lifecycle hooks", ask)
        return tuple(_hook(document) for document in answer.get("LifecycleHooks", []))

    def delete_hook(self, name: str) -> None:
        """Delete a hook. AWS completes what waits in it: a launch is abandoned, a termination goes on."""
        delete = partial(
            self.clients.autoscaling.delete_lifecycle_hook,
            LifecycleHookName=name,
            AutoScalingGroupName=self.fleet.group_name,
        )
        self._patience_for_extras().call(f"deleting the hook {name}", delete)

    def delete_warm_pool(self) -> None:
        """Delete the warm pool with its instances. A pool that is gone or going is no error."""
        delete = partial(
            self.clients.autoscaling.delete_warm_pool, AutoScalingGroupName=self.fleet.group_name, ForceDelete=True
        )
        try:
            self.patience.call("deleting the warm pool", delete)
        except ClientError as error:
            if error_code(error) != "ValidationError":
                raise

    def close_group(self) -> None:
        """Set all sizes to 0 and let no new instance be born protected."""
        self.patience.call(
            "setting the group's sizes to 0",
            partial(
                self.clients.autoscaling.update_auto_scaling_group,
                AutoScalingGroupName=self.fleet.group_name,
                MinSize=0,
                MaxSize=0,
                DesiredCapacity=0,
                NewInstancesProtectedFromScaleIn=False,
            ),
        )

    def unprotect(self, instance_ids: Sequence[str]) -> Mapping[str, str]:
        """Clear scale-in protection; return who was refused, with the reason.

        One member that has just left service makes AWS refuse its whole batch, so that batch is done one by
        one.
        """
        refused: dict[str, str] = {}
        for start in range(0, len(instance_ids), _IDS_PER_PROTECTION_CALL):
            batch = instance_ids[start : start + _IDS_PER_PROTECTION_CALL]
            try:
                self._unprotect_batch(batch)
            except ClientError as error:
                if error_code(error) != "ValidationError":
                    raise
                refused.update(self._unprotect_singly(batch))
        return refused

    def terminate(self, instance_id: str) -> None:
        """Terminate a member that the group does not take by itself."""
        try:
            # The desired capacity is 0 already: nothing to lower, and nothing that would be replaced.
            self.patience.call(
                f"terminating {instance_id}",
                partial(
                    self.clients.autoscaling.terminate_instance_in_auto_scaling_group,
                    InstanceId=instance_id,
                    ShouldDecrementDesiredCapacity=False,
                ),
            )
        except ClientError as error:
            if error_code(error) != "ValidationError":
                raise
            self.terminate_by_ec2(instance_id)

    def terminate_by_ec2(self, instance_id: str) -> None:
        """Terminate an instance past its group, whatever protects it."""
        terminate = partial(self.clients.ec2.terminate_instances, InstanceIds=[instance_id])
        try:
            self.patience.call(f"terminating {instance_id} by EC2", terminate)
        except ClientError as error:
            code = error_code(error)
            if code == "InvalidInstanceID.NotFound":
                return
            if code != "OperationNotPermitted":
                raise
            # Somebody switched on termination protection; an instance left behind would bill outside any
            # group.
            self.patience.call(
                f"switching off termination protection of {instance_id}",
                partial(
                    self.clients.ec2.modify_instance_attribute,
                    InstanceId=instance_id,
                    DisableApiTermination={"Value": False},
                ),
            )
            self.patience.call(f"terminating {instance_id} by EC2", terminate)

    def survivors(self, members: Sequence[str]) -> list[str]:
        """Return the fleet's instances (by its own tag) that still bill and are not among `members`."""
        filters: list[Filter] = [
            {"Name": f"tag:{self.fleet.tag_key}", "Values": [self.fleet.tag_value]},
            {"Name": "instance-state-name", "Values": _BILLED_STATES},
        ]
        ask = partial(self.clients.ec2.describe_instances, Filters=filters, MaxResults=_INSTANCES_PER_PAGE)
        found: set[str] = set()
        token: str | None = None
        while True:
            more = {} if token is None else {"NextToken": token}
            page = self.patience.call("listing the fleet's instances", partial(ask, **more))
            for reservation in page.get("Reservations", []):
                found.update(each["InstanceId"] for each in reservation["Instances"] if self._is_ours(each))
            token = page.get("NextToken")
            if not token:
                return sorted(found.difference(members))

    def _patience_for_extras(self) -> Patience:
        return replace(self.patience, attempts=_ATTEMPTS)

    def _is_ours(self, document: InstanceDocument) -> bool:
        # A filter value may hold wildcards (* and ?), and would then match another fleet's instances too.
        return {"Key": self.fleet.tag_key, "Value": self.fleet.tag_value} in document.get("Tags", [])

    def _unprotect_batch(self, instance_ids: Sequence[str]) -> None:
        self.patience.call(
            "clearing scale-in protection",
            partial(
                self.clients.autoscaling.set_instance_protection,
                AutoScalingGroupName=self.fleet.group_name,
                InstanceIds=list(instance_ids),
                ProtectedFromScaleIn=False,
            ),
        )

    def _unprotect_singly(self, instance_ids: Sequence[str]) -> Mapping[str, str]:
        refused: dict[str, str] = {}
        for instance_id in instance_ids:
            try:
                self._unprotect_batch([instance_id])
            except ClientError as error:
                if error_code(error) != "ValidationError":
                    raise
                refused[instance_id] = str(error)
        return refused


def _hook(document: HookDocument) -> Hook:
    return Hook(
        name=document["LifecycleHookName"],
        launching=document.get("LifecycleTransition") == _LAUNCHING,
        heartbeat_seconds=document.get("HeartbeatTimeout", _DEFAULT_HEARTBEAT_SECONDS),
    )
