"""Clients with boto3's methods and response shapes, answered by the simulated group, metrics and queue.

A call that the function's role does not allow is denied, so a template with a missing permission shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timezone
from functools import partial
from typing import Any

from botocore.exceptions import ClientError

from constructs_lib.rehearsal.cloud.group import Activity, Group, Instance, Refused
from constructs_lib.rehearsal.cloud.metrics import MetricStore
from constructs_lib.rehearsal.cloud.work_queue import WorkQueue
from constructs_lib.rehearsal.machine.load import Load

Answer = dict[str, Any]

STACK_ID = "arn:aws:cloudformation:us-east-1:111122223333:stack/Fleet/1"


@dataclass
class Account:
    """Everything that a call can see or change, and the calls made so far."""

    group: Group
    store: MetricStore
    queue: WorkQueue
    load: Callable[[Instance, int], Load]
    parameters: dict[str, list[tuple[int, str]]] = field(default_factory=dict)
    """By name, when each version was written and what it holds; the first is version 1."""
    now: int = 0
    stack_status: str = "CREATE_COMPLETE"
    calls: list[tuple[int, str, Answer]] = field(default_factory=list)
    told: list[tuple[int, str]] = field(default_factory=list)
    """What functions published to a topic, and when."""

    def client(self, service: str, allows: Callable[[str], bool]) -> Client:
        """Return a client for one service, limited to what ``allows`` says of an IAM action."""
        return Client(self, service, allows)

    def autoscaling_describe_auto_scaling_groups(self, request: Answer) -> Answer:
        group = self.group
        if request.get("AutoScalingGroupNames", [group.name]) != [group.name]:
            return {"AutoScalingGroups": []}
        members = [] if request.get("IncludeInstances") is False else group.members
        description = {
            "AutoScalingGroupName": group.name,
            "MinSize": group.minimum,
            "MaxSize": group.maximum,
            "DesiredCapacity": group.desired,
            "NewInstancesProtectedFromScaleIn": group.protects_new,
            "AvailabilityZones": group.zones,
            "Instances": [_member(instance) for instance in members],
            "SuspendedProcesses": [{"ProcessName": name} for name in sorted(group.suspended)],
            "CreatedTime": moment(0),
        }
        return {"AutoScalingGroups": [description]}

    def autoscaling_set_desired_capacity(self, request: Answer) -> Answer:
        self.group.set_desired(request["DesiredCapacity"])
        return {}

    def autoscaling_update_auto_scaling_group(self, request: Answer) -> Answer:
        self.group.resize(
            minimum=request.get("MinSize"), maximum=request.get("MaxSize"), desired=request.get("DesiredCapacity")
        )
        protects = request.get("NewInstancesProtectedFromScaleIn", self.group.protects_new)
        self.group.protects_new = protects
        return {}

    def autoscaling_set_instance_protection(self, request: Answer) -> Answer:
        members = [self.group.member(instance_id) for instance_id in request["InstanceIds"]]
        if any(member.state != "InService" for member in members):
            raise Refused("protection can be changed only in service")
        for member in members:
            member.protected = request["ProtectedFromScaleIn"]
        return {}

    def autoscaling_suspend_processes(self, request: Answer) -> Answer:
        self.group.suspended.update(request["ScalingProcesses"])
        return {}

    def autoscaling_resume_processes(self, request: Answer) -> Answer:
        self.group.suspended.difference_update(request["ScalingProcesses"])
        return {}

    def autoscaling_complete_lifecycle_action(self, request: Answer) -> Answer:
        self.group.complete(request["InstanceId"], request["LifecycleHookName"])
        return {}

    def autoscaling_describe_lifecycle_hooks(self, request: Answer) -> Answer:
        named = self.group.hooks.items()
        kind = "autoscaling:EC2_INSTANCE_TERMINATING"
        hooks = [
            {"LifecycleHookName": name, "LifecycleTransition": kind, "HeartbeatTimeout": each} for name, each in named
        ]
        return {"LifecycleHooks": hooks}

    def autoscaling_delete_lifecycle_hook(self, request: Answer) -> Answer:
        self.group.delete_hook(request["LifecycleHookName"])
        return {}

    def autoscaling_cancel_instance_refresh(self, request: Answer) -> Answer:
        name = "CancelInstanceRefresh"
        error = {"Code": "ActiveInstanceRefreshNotFound", "Message": "No in progress or pending Instance Refresh found"}
        raise ClientError({"Error": error, "ResponseMetadata": {"HTTPStatusCode": 400}}, name)

    def autoscaling_describe_scaling_activities(self, request: Answer) -> Answer:
        newest_first = self.group.activities[::-1][: request.get("MaxRecords", 100)]
        return {"Activities": [_activity(each, self.group.name) for each in newest_first]}

    def autoscaling_terminate_instance_in_auto_scaling_group(self, request: Answer) -> Answer:
        self.group.terminate(request["InstanceId"], decrement=request["ShouldDecrementDesiredCapacity"])
        return {"Activity": {"ActivityId": request["InstanceId"], "StatusCode": "InProgress", "Progress": 0}}

    def ec2_describe_instances(self, request: Answer) -> Answer:
        filters = [(f["Name"], f["Values"]) for f in request.get("Filters", ())]
        wanted = request.get("InstanceIds")
        found = [
            _machine(instance)
            for instance in self.group.everyone
            if (wanted is None or instance.id in wanted)
            and all(_property(instance, name) in values for name, values in filters)
        ]
        return {"Reservations": [{"Instances": [machine]} for machine in found]}

    def ec2_create_tags(self, request: Answer) -> Answer:
        for instance in self.group.everyone:
            if instance.id in request["Resources"]:
                instance.tags.update({tag["Key"]: tag["Value"] for tag in request["Tags"]})
        return {}

    def ec2_delete_tags(self, request: Answer) -> Answer:
        for instance in self.group.everyone:
            if instance.id in request["Resources"]:
                for tag in request["Tags"]:
                    instance.tags.pop(tag["Key"], None)
        return {}

    def ec2_terminate_instances(self, request: Answer) -> Answer:
        for instance_id in request["InstanceIds"]:
            self.group.lose(instance_id, "terminated by EC2")
        return {}

    def cloudwatch_get_metric_data(self, request: Answer) -> Answer:
        queries = request["MetricDataQueries"]
        period = next(q["MetricStat"]["Period"] for q in queries if "MetricStat" in q)
        start, end = seconds(request["StartTime"]), seconds(request["EndTime"])
        grid = range(start - start % period, end, period)
        answers = self.store.answer(queries, grid, self.now)
        newest_first = request.get("ScanBy", "TimestampDescending") == "TimestampDescending"
        results = []
        for query in (q for q in queries if q.get("ReturnData", True)):
            points = sorted(answers[query["Id"]].items(), reverse=newest_first)
            results.append(
                {
                    "Id": query["Id"],
                    "Label": query["Id"],
                    "Timestamps": [moment(at) for at, _ in points],
                    "Values": [value for _, value in points],
                    "StatusCode": "Complete",
                }
            )
        return {"MetricDataResults": results, "Messages": []}

    def cloudformation_describe_stacks(self, request: Answer) -> Answer:
        if request["StackName"] != STACK_ID:
            raise Refused(f"Stack with id {request['StackName']} does not exist")
        name = STACK_ID.split("/")[1]
        stack = {"StackName": name, "StackId": STACK_ID, "StackStatus": self.stack_status, "CreationTime": moment(0)}
        return {"Stacks": [stack]}

    def sqs_get_queue_attributes(self, request: Answer) -> Answer:
        if request["QueueUrl"] != self.queue.name:
            raise Refused(f"no queue {request['QueueUrl']}")
        return {"Attributes": self.queue.attributes(self.now)}

    def ssm_get_parameter(self, request: Answer) -> Answer:
        name, _, version = request["Name"].partition(":")
        values = self.parameters[name]
        number = int(version) if version else len(values)
        changed, value = values[number - 1]
        parameter = {"Name": name, "Value": value, "Version": number, "LastModifiedDate": moment(changed)}
        return {"Parameter": parameter}

    def ssm_put_parameter(self, request: Answer) -> Answer:
        values = self.parameters[request["Name"]]
        values.append((self.now, request["Value"]))
        return {"Version": len(values)}

    def sns_publish(self, request: Answer) -> Answer:
        self.told.append((self.now, request["Message"]))
        return {"MessageId": str(len(self.told))}

    def ssm_describe_sessions(self, request: Answer) -> Answer:
        targets = [f["value"] for f in request.get("Filters", ()) if f["key"] == "Target"]
        used = [i.id for i in self.group.in_service if self.load(i, self.now).session]
        sessions = [i for i in used if not targets or i in targets]
        return {"Sessions": [{"SessionId": f"person-{i}", "Target": i, "Status": "Connected"} for i in sessions]}


class Client:
    """One service's client; methods and paginators carry boto3's names."""

    def __init__(self, account: Account, service: str, allows: Callable[[str], bool]) -> None:
        self._account = account
        self._service = service
        self._allows = allows

    def __getattr__(self, operation: str) -> Callable[..., Answer]:
        answer = getattr(self._account, f"{self._service}_{operation}", None)
        if answer is None:
            raise AttributeError(f"{self._service}.{operation} is not simulated")
        return partial(self._call, operation, answer)

    def get_paginator(self, operation: str) -> Paginator:
        """Return a paginator that hands out everything on one page."""
        return Paginator(getattr(self, operation))

    def _call(self, operation: str, answer: Callable[[Answer], Answer], **request: Any) -> Answer:
        name = "".join(word.capitalize() for word in operation.split("_"))
        if not self._allows(f"{self._service}:{name}"):
            error = {"Code": "AccessDenied", "Message": f"not authorized to perform {self._service}:{name}"}
            raise ClientError({"Error": error}, name)
        self._account.calls.append((self._account.now, name, request))
        try:
            return answer(request)
        except Refused as refusal:
            error = {"Code": "ValidationError", "Message": str(refusal)}
            raise ClientError({"Error": error}, name) from refusal


@dataclass(frozen=True)
class Paginator:
    """A paginator with one page."""

    method: Callable[..., Answer]

    def paginate(self, **request: Any) -> Iterator[Answer]:
        """Yield the only page."""
        request.pop("PaginationConfig", None)
        yield self.method(**request)


def moment(at: int) -> datetime:
    """Return simulated seconds as the API's date."""
    return datetime.fromtimestamp(EPOCH + at, tz=timezone.utc)


def seconds(value: datetime | float) -> int:
    """Return the API's date as simulated seconds."""
    stamp = value.timestamp() if isinstance(value, datetime) else float(value)
    return int(stamp) - EPOCH


_STATES = {"Terminating": "shutting-down", "Terminated": "terminated"}
EPOCH = 1_767_225_600  # 2026-01-01T00:00:00Z, a multiple of every period


def _member(instance: Instance) -> Answer:
    return {
        "InstanceId": instance.id,
        "InstanceType": "g6.xlarge",
        "AvailabilityZone": instance.zone,
        "LifecycleState": instance.state,
        "HealthStatus": "Healthy" if instance.healthy else "Unhealthy",
        "ProtectedFromScaleIn": instance.protected,
    }


def _activity(activity: Activity, group_name: str) -> Answer:
    return {
        "ActivityId": str(activity.id),
        "AutoScalingGroupName": group_name,
        "Description": activity.description,
        "Cause": f"At {moment(activity.started).isoformat()} {activity.cause}.",
        "StartTime": moment(activity.started),
        "StatusCode": activity.status,
        "Progress": 100,
        **({} if activity.ended is None else {"EndTime": moment(activity.ended)}),
        **({"StatusMessage": activity.message} if activity.message else {}),
    }


def _machine_state(instance: Instance) -> str:
    return _STATES.get(instance.state, "running") if instance.runs else _STATES.get(instance.state, "terminated")


def _property(instance: Instance, name: str) -> str | None:
    if name.startswith("tag:"):
        return instance.tags.get(name.removeprefix("tag:"))
    known = {"instance-id": instance.id, "instance-state-name": _machine_state(instance)}
    if name not in known:
        raise Refused(f"filter {name} is not simulated")
    return known[name]


def _machine(instance: Instance) -> Answer:
    return {
        "InstanceId": instance.id,
        "LaunchTime": moment(instance.launched),
        "State": {"Name": _machine_state(instance)},
        "Tags": [{"Key": key, "Value": value} for key, value in instance.tags.items()],
    }
