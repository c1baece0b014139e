"""Clients with boto3's methods and response shapes, answered by the simulated group, metrics and queue.

A call that the function's role does not allow is denied, so a template with a missing permission shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

from botocore.exceptions import ClientError

from constructs_lib.rehearsal.cloud.calendar import EPOCH, moment, seconds
from constructs_lib.rehearsal.cloud.group import Group, Instance, Refused
from constructs_lib.rehearsal.cloud.metric_math import Series
from constructs_lib.rehearsal.cloud.metrics import Key, MetricStore, metric_key
from constructs_lib.rehearsal.cloud.shapes import (
    activity_entry,
    begun,
    filtered_property,
    has_tags,
    machine,
    member_entry,
    pool_configuration,
    suspended_by_user,
)
from constructs_lib.rehearsal.cloud.work_queue import WorkQueue
from constructs_lib.rehearsal.machine.load import Load

__all__ = ["EPOCH", "STACK_ID", "Account", "Answer", "Client", "moment", "seconds"]

Answer = dict[str, Any]

_MOST_PROTECTED_AT_ONCE = 50
_MOST_TERMINATED_AT_ONCE = 100
_VERSIONS_KEPT = 100
"""How many versions of a parameter Systems Manager keeps."""
_MINUTE = 60
_NEWEST = 5 * _MINUTE
"""These are always in an answer: the newest points say whether there is work still."""
_REMEMBERED_SECONDS = 3_600
"""How long EC2 tells of an instance that is terminated."""
_PROCESSES = (
    *("Launch", "Terminate", "AddToLoadBalancer", "AlarmNotification", "AZRebalance", "HealthCheck"),
    *("InstanceRefresh", "ReplaceUnhealthy", "ScheduledActions"),
)

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
    at_work: dict[Key, int] = field(default_factory=dict)
    """By series, a minute that is known to show work. What is older is left out of answers: no release goes by it, and
    most of what a pass reads are the minutes of instances at work."""

    def client(self, service: str, allows: Callable[[str], bool]) -> Client:
        """Return a client for one service, limited to what ``allows`` says of an IAM action."""
        return Client(self, service, allows)

    def autoscaling_describe_auto_scaling_groups(self, request: Answer) -> Answer:
        group = self.group
        wanted = request.get("AutoScalingGroupNames", [group.name])
        if group.name not in wanted or not has_tags(group.tags, request.get("Filters", ())):
            return {"AutoScalingGroups": []}
        members = [] if request.get("IncludeInstances") is False else group.members
        description = {
            "AutoScalingGroupName": group.name,
            "MinSize": group.minimum,
            "MaxSize": group.maximum,
            "DesiredCapacity": group.desired,
            "NewInstancesProtectedFromScaleIn": group.protects_new,
            "AvailabilityZones": group.zones,
            "Instances": [member_entry(instance) for instance in members],
            "SuspendedProcesses": [
                {"ProcessName": name, "SuspensionReason": group.suspension_reasons.get(name, "User suspended")}
                for name in sorted(group.suspended)
            ],
            "Tags": [{"Key": key, "Value": value, "ResourceId": group.name} for key, value in group.tags.items()],
            "CreatedTime": moment(0),
        }
        if group.pool is not None:
            description["WarmPoolConfiguration"] = pool_configuration(group.pool)
        return {"AutoScalingGroups": [description]}

    def autoscaling_describe_auto_scaling_instances(self, request: Answer) -> Answer:
        wanted = request.get("InstanceIds")
        found = [each for each in self.group.members if wanted is None or each.id in wanted]
        name = {"AutoScalingGroupName": self.group.name}
        return {"AutoScalingInstances": [{**member_entry(each), **name} for each in found]}

    def autoscaling_describe_warm_pool(self, request: Answer) -> Answer:
        pool = self.group.pool
        if pool is None:
            return {"Instances": []}
        return {
            "WarmPoolConfiguration": pool_configuration(pool),
            "Instances": [member_entry(instance) for instance in pool.instances],
        }

    def autoscaling_delete_warm_pool(self, request: Answer) -> Answer:
        if self.group.pool is not None and self.group.pool.instances and not request.get("ForceDelete", False):
            raise Refused("The warm pool has instances", "ResourceInUse")
        self.group.delete_pool()
        return {}

    def autoscaling_set_desired_capacity(self, request: Answer) -> Answer:
        if request.get("HonorCooldown", False) and self.now - self.group.last_activity < self.group.cooldown:
            raise Refused("A scaling activity is in its cooldown", "ScalingActivityInProgress")
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
        if len(request["InstanceIds"]) > _MOST_PROTECTED_AT_ONCE:
            raise Refused(f"Member must have length less than or equal to {_MOST_PROTECTED_AT_ONCE}")
        members = [self.group.member(instance_id) for instance_id in request["InstanceIds"]]
        if any(member.state != "InService" for member in members):
            raise Refused("protection can be changed only in service")
        for member in members:
            member.protected = request["ProtectedFromScaleIn"]
        return {}

    def autoscaling_suspend_processes(self, request: Answer) -> Answer:
        self.group.suspend(request.get("ScalingProcesses", _PROCESSES), suspended_by_user(self.now))
        return {}

    def autoscaling_resume_processes(self, request: Answer) -> Answer:
        self.group.suspended.difference_update(request.get("ScalingProcesses", _PROCESSES))
        return {}

    def autoscaling_complete_lifecycle_action(self, request: Answer) -> Answer:
        result = request["LifecycleActionResult"]
        self.group.complete(request["InstanceId"], request["LifecycleHookName"], result)
        return {}

    def autoscaling_record_lifecycle_action_heartbeat(self, request: Answer) -> Answer:
        self.group.record_heartbeat(request["InstanceId"], request["LifecycleHookName"])
        return {}

    def autoscaling_describe_lifecycle_hooks(self, request: Answer) -> Answer:
        hooks = [
            {
                "LifecycleHookName": hook.name,
                "LifecycleTransition": hook.transition,
                "HeartbeatTimeout": hook.heartbeat,
                "GlobalTimeout": hook.global_timeout,
                "DefaultResult": hook.default_result,
            }
            for hook in self.group.hooks.values()
        ]
        return {"LifecycleHooks": hooks}

    def autoscaling_delete_lifecycle_hook(self, request: Answer) -> Answer:
        self.group.delete_hook(request["LifecycleHookName"])
        return {}

    def autoscaling_cancel_instance_refresh(self, request: Answer) -> Answer:
        raise Refused("No in progress or pending Instance Refresh found", "ActiveInstanceRefreshNotFound")

    def autoscaling_describe_scaling_activities(self, request: Answer) -> Answer:
        past, most = len(self.group.activities), request.get("MaxRecords", 100)
        first = int(request.get("NextToken", 0))
        shown = [self.group.activities[past - 1 - index] for index in range(first, min(first + most, past))]
        page = {"Activities": [activity_entry(each, self.group.name) for each in shown]}
        return page if first + most >= past else {**page, "NextToken": str(first + most)}

    def autoscaling_terminate_instance_in_auto_scaling_group(self, request: Answer) -> Answer:
        decrement = request["ShouldDecrementDesiredCapacity"]
        if "InstanceIds" not in request:
            self.group.terminate(request["InstanceId"], decrement=decrement)
            return {"Activity": begun(request["InstanceId"])}
        if "InstanceId" in request or not 1 <= len(request["InstanceIds"]) <= _MOST_TERMINATED_AT_ONCE:
            raise Refused("Specify either InstanceId or InstanceIds, 1 to 100 of them")
        self.group.terminate(*request["InstanceIds"], decrement=decrement)
        return {"Activities": [begun(each) for each in request["InstanceIds"]]}

    def ec2_describe_instances(self, request: Answer) -> Answer:
        filters = [(f["Name"], f["Values"]) for f in request.get("Filters", ())]
        by_id = self._known()
        wanted = next((values for name, values in filters if name == "instance-id"), by_id)
        known = [by_id[each] for each in wanted if each in by_id]
        if "InstanceIds" in request:
            known = [self._machine(instance_id) for instance_id in request["InstanceIds"]]
        found = [each for each in known if all(filtered_property(each, name) in values for name, values in filters)]
        return {"Reservations": [{"Instances": [machine(each)]} for each in found]}

    def ec2_create_tags(self, request: Answer) -> Answer:
        for instance_id in request["Resources"]:
            self._machine(instance_id).tags.update({tag["Key"]: tag["Value"] for tag in request["Tags"]})
        return {}

    def ec2_delete_tags(self, request: Answer) -> Answer:
        for instance_id in request["Resources"]:
            for tag in request["Tags"]:
                self._machine(instance_id).tags.pop(tag["Key"], None)
        return {}

    def ec2_terminate_instances(self, request: Answer) -> Answer:
        machines = [self._machine(instance_id) for instance_id in request["InstanceIds"]]
        members = {each.id for each in self.group.members}
        for instance in machines:
            # To terminate what is gone already is no error.
            if instance.id in members:
                self.group.lose(instance.id, "terminated by EC2")
        return {"TerminatingInstances": [{"InstanceId": each.id} for each in machines]}

    def ec2_modify_instance_attribute(self, request: Answer) -> Answer:
        self._machine(request["InstanceId"])
        return {}

    def _known(self) -> dict[str, Instance]:
        """Return by its id what EC2 still tells of: what there is, and what has gone within the hour."""
        known = {instance.id: instance for instance in self.group.members}
        pooled = [] if self.group.pool is None else self.group.pool.instances
        known.update((instance.id, instance) for instance in pooled)
        for instance in reversed(self.group.gone):
            if instance.ended is not None and self.now - instance.ended > _REMEMBERED_SECONDS:
                break
            known.setdefault(instance.id, instance)
        return known

    def _machine(self, instance_id: str) -> Instance:
        known = self._known()
        if instance_id not in known:
            raise Refused(f"The instance ID '{instance_id}' does not exist", "InvalidInstanceID.NotFound")
        return known[instance_id]

    def cloudwatch_get_metric_data(self, request: Answer) -> Answer:
        queries = request["MetricDataQueries"]
        period = next(q["MetricStat"]["Period"] for q in queries if "MetricStat" in q)
        start, end = seconds(request["StartTime"]), seconds(request["EndTime"])
        grid = range(start - start % period, end, period)
        moments = {at: moment(at) for at in grid}
        answers = self._answers(queries, grid)
        newest_first = request.get("ScanBy", "TimestampDescending") == "TimestampDescending"
        results = []
        for query in (q for q in queries if q.get("ReturnData", True)):
            points = sorted(answers[query["Id"]].items(), reverse=newest_first)
            results.append(
                {
                    "Id": query["Id"],
                    "Label": query["Id"],
                    "Timestamps": [moments[at] for at, _ in points],
                    "Values": [value for _, value in points],
                    "StatusCode": "Complete",
                }
            )
        return {"MetricDataResults": results, "Messages": []}

    def _answers(self, queries: Sequence[Answer], grid: range) -> dict[str, Series]:
        """Answer the queries, those of a series that is known to have shown work from there on."""
        if not self.at_work or grid.step != _MINUTE or not all("MetricStat" in query for query in queries):
            return self.store.answer(queries, grid, self.now)
        answers = {}
        for query in queries:
            stat = query["MetricStat"]
            key = metric_key(stat["Metric"])
            known = self.at_work.get(key)
            since = grid.start if known is None else max(grid.start, min(known, grid.stop - _NEWEST))
            slots = range(since, grid.stop, _MINUTE)
            answers[query["Id"]] = self.store.series(key, stat["Stat"], _MINUTE, slots, self.now)
        return answers

    def cloudformation_describe_stacks(self, request: Answer) -> Answer:
        if request["StackName"] != STACK_ID:
            raise Refused(f"Stack with id {request['StackName']} does not exist")
        name = STACK_ID.split("/")[1]
        stack = {"StackName": name, "StackId": STACK_ID, "StackStatus": self.stack_status, "CreationTime": moment(0)}
        return {"Stacks": [stack]}

    def sqs_get_queue_attributes(self, request: Answer) -> Answer:
        if request["QueueUrl"] != self.queue.name:
            raise Refused("The specified queue does not exist.", "AWS.SimpleQueueService.NonExistentQueue")
        return {"Attributes": self.queue.attributes(self.now)}

    def ssm_get_parameter(self, request: Answer) -> Answer:
        name, _, version = request["Name"].partition(":")
        if name not in self.parameters:
            raise Refused(f"Parameter {name} not found.", "ParameterNotFound")
        values = self.parameters[name]
        number = int(version) if version else len(values)
        if not max(1, len(values) - _VERSIONS_KEPT + 1) <= number <= len(values):
            raise Refused(f"Systems Manager could not find version {number} of {name}.", "ParameterVersionNotFound")
        changed, value = values[number - 1]
        parameter = {"Name": name, "Value": value, "Version": number, "LastModifiedDate": moment(changed)}
        return {"Parameter": parameter}

    def ssm_put_parameter(self, request: Answer) -> Answer:
        values = self.parameters.setdefault(request["Name"], [])
        if values and not request.get("Overwrite", False):
            raise Refused("The parameter already exists.", "ParameterAlreadyExists")
        values.append((self.now, request["Value"]))
        if len(values) > _VERSIONS_KEPT:
            forgotten = len(values) - _VERSIONS_KEPT - 1
            values[forgotten] = (values[forgotten][0], "")
        return {"Version": len(values)}

    def sns_publish(self, request: Answer) -> Answer:
        self.told.append((self.now, request["Message"]))
        return {"MessageId": str(len(self.told))}

    def ssm_describe_sessions(self, request: Answer) -> Answer:
        targets = [f["value"] for f in request.get("Filters", ()) if f["key"] == "Target"]
        used = [i.id for i in self.group.in_service if self.load(i, self.now).session]
        sessions = [i for i in used if not targets or i in targets]
        return {"Sessions": [{"SessionId": f"person-{i}", "Target": i, "Status": "Connected"} for i in sessions]}


@cache
def _api_name(operation: str) -> str:
    """Return how the API calls what boto3 writes with underscores."""
    return "".join(word.capitalize() for word in operation.split("_"))


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
        name = _api_name(operation)
        if not self._allows(f"{self._service}:{name}"):
            error = {"Code": "AccessDenied", "Message": f"not authorized to perform {self._service}:{name}"}
            raise ClientError({"Error": error}, name)
        self._account.calls.append((self._account.now, name, request))
        try:
            return answer(request)
        except Refused as refusal:
            error = {"Code": refusal.code, "Message": str(refusal)}
            raise ClientError({"Error": error, "ResponseMetadata": {"HTTPStatusCode": 400}}, name) from refusal


@dataclass(frozen=True)
class Paginator:
    """A paginator with one page."""

    method: Callable[..., Answer]

    def paginate(self, **request: Any) -> Iterator[Answer]:
        """Yield the only page."""
        request.pop("PaginationConfig", None)
        yield self.method(**request)
