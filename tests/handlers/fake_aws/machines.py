"""EC2 instances and the sessions on them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from fnmatch import fnmatchcase
from typing import Any

from tests.handlers.fake_aws.calls import Parameters, refusal

VALUES_PER_FILTER = 200
RESOURCES_PER_TAG_CALL = 1000
SESSIONS_PER_PAGE = 200


@dataclass
class FakeMachine:
    instance_id: str
    launched_at: datetime
    tags: dict[str, str] = field(default_factory=dict)
    state: str = "running"
    termination_protected: bool = False
    instance_type: str = "g6.xlarge"
    spot: bool = False
    zone: str = "eu-west-1a"

    def document(self) -> dict[str, Any]:
        # EC2 tells how an instance was bought only where that is not On-Demand.
        bought = {"InstanceLifecycle": "spot"} if self.spot else {}
        return {
            "InstanceId": self.instance_id,
            "InstanceType": self.instance_type,
            "LaunchTime": self.launched_at,
            "Placement": {"AvailabilityZone": self.zone},
            "State": {"Name": self.state, "Code": 16},
            "Tags": [{"Key": key, "Value": value} for key, value in self.tags.items()],
            **bought,
        }


class FakeEc2:
    """The EC2 service. A listing by tag leaves out `left_out`, and every listing leaves out `lost`."""

    def __init__(self) -> None:
        self.machines: dict[str, FakeMachine] = {}
        self.left_out: set[str] = set()
        self.lost: set[str] = set()
        self.page_size = 1000

    def describe_instances(self, parameters: Parameters) -> dict[str, Any]:
        if "InstanceIds" in parameters:
            return self._describe_by_id(parameters)
        if parameters["MaxResults"] > 1000:
            raise refusal("InvalidParameterValue", "MaxResults must not exceed 1000")
        for each in parameters["Filters"]:
            if len(each["Values"]) > VALUES_PER_FILTER:
                raise refusal("FilterLimitExceeded", "at most 200 values in a filter")
        found = [machine for machine in self.machines.values() if self._matches(machine, parameters["Filters"])]
        size = min(self.page_size, parameters["MaxResults"])
        start = int(parameters.get("NextToken", "0"))
        page = found[start : start + size]
        more = {"NextToken": str(start + size)} if start + size < len(found) else {}
        return {"Reservations": [{"Instances": [machine.document()]} for machine in page], **more}

    def _describe_by_id(self, parameters: Parameters) -> dict[str, Any]:
        if "MaxResults" in parameters:
            raise refusal("InvalidParameterCombination", "InstanceIds and MaxResults exclude each other")
        # One id that is not known fails the whole call.
        machines = [self._machine(each) for each in parameters["InstanceIds"]]
        return {"Reservations": [{"Instances": [machine.document()]} for machine in machines]}

    def terminate_instances(self, parameters: Parameters) -> dict[str, Any]:
        machines = [self._machine(instance_id) for instance_id in parameters["InstanceIds"]]
        for machine in machines:
            if machine.termination_protected:
                raise refusal("OperationNotPermitted", "disableApiTermination is set")
        for machine in machines:
            machine.state = "shutting-down"
        return {}

    def modify_instance_attribute(self, parameters: Parameters) -> None:
        machine = self._machine(parameters["InstanceId"])
        machine.termination_protected = parameters["DisableApiTermination"]["Value"]

    def create_tags(self, parameters: Parameters) -> None:
        for machine in self._tagged(parameters):
            machine.tags.update({each["Key"]: each["Value"] for each in parameters["Tags"]})

    def delete_tags(self, parameters: Parameters) -> None:
        """Delete the tags; one whose value is given only where it has that value."""
        for machine in self._tagged(parameters):
            for each in parameters["Tags"]:
                if each.get("Value") in (None, machine.tags.get(each["Key"])):
                    machine.tags.pop(each["Key"], None)

    def _tagged(self, parameters: Parameters) -> list[FakeMachine]:
        if len(parameters["Resources"]) > RESOURCES_PER_TAG_CALL:
            raise refusal("InvalidParameterValue", "at most 1000 resources in a call")
        if any(each["Key"].startswith("aws:") for each in parameters["Tags"]):
            raise refusal("InvalidParameterValue", "Tag keys starting with 'aws:' are reserved for internal use")
        return [self._machine(each) for each in parameters["Resources"]]

    def _machine(self, instance_id: str) -> FakeMachine:
        if instance_id not in self.machines:
            raise refusal("InvalidInstanceID.NotFound", f"The instance ID '{instance_id}' does not exist")
        return self.machines[instance_id]

    def _matches(self, machine: FakeMachine, filters: Iterable[Any]) -> bool:
        if machine.instance_id in self.lost:
            return False
        return all(self._matches_one(machine, each["Name"], each["Values"]) for each in filters)

    def _matches_one(self, machine: FakeMachine, name: str, patterns: Iterable[str]) -> bool:
        if name.startswith("tag:"):
            if machine.instance_id in self.left_out:
                return False
            value = machine.tags.get(name.removeprefix("tag:"))
        elif name == "instance-id":
            value = machine.instance_id
        elif name == "instance-state-name":
            value = machine.state
        else:
            raise NotImplementedError(f"filter {name}")
        return value is not None and any(fnmatchcase(value, pattern) for pattern in patterns)


class FakeSessions:
    """Systems Manager's Session Manager: `active` holds a target for each open session."""

    def __init__(self) -> None:
        self.active: list[str] = []
        self.ended: list[str] = []

    def describe_sessions(self, parameters: Parameters) -> dict[str, Any]:
        if parameters["MaxResults"] > SESSIONS_PER_PAGE:
            raise refusal("ValidationException", "MaxResults must not exceed 200")
        targets = self.active if parameters["State"] == "Active" else self.ended
        start = int(parameters.get("NextToken", "0"))
        size = parameters["MaxResults"]
        more = {"NextToken": str(start + size)} if start + size < len(targets) else {}
        page = targets[start : start + size]
        return {"Sessions": [{"SessionId": f"s-{n}", "Target": each} for n, each in enumerate(page)], **more}
