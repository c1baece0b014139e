"""Running the clean-up function on a fake AWS."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import pytest

from fleet_cleanup.aws import Clients
from fleet_cleanup.index import handle
from fleet_cleanup.settings import read_settings
from fleet_cleanup.stack_end import handle_stack_event
from runtime.structured_log import StructuredLog
from tests.handlers.driving import GROUP, Lines
from tests.handlers.fake_aws import Context, FakeAws
from tests.handlers.fake_aws.calls import Parameters

SECRET = "https://cloudformation-custom-resource-response.s3.amazonaws.com/x?X-Amz-Signature=c0ffee"
TAG = {"accelerated-fleet:id": "stack-fleet-1"}
PROPERTIES = {
    "ServiceToken": "arn:aws:lambda:eu-west-1:123456789012:function:cleanup",
    "AutoScalingGroupName": GROUP,
    "FleetTagKey": "accelerated-fleet:id",
    "FleetTagValue": "stack-fleet-1",
}

STACK = "arn:aws:cloudformation:eu-west-1:123456789012:stack/s/1"
CLEANUP_ENVIRONMENT = {
    "FLEET_TAG_KEY": "accelerated-fleet:id",
    "FLEET_TAG_VALUE": "stack-fleet-1",
    "STACK_ID": STACK,
    "GROUP_LOGICAL_ID": "FleetGroup",
}


def stack_event(
    status: object = "DELETE_IN_PROGRESS",
    stack_id: object = STACK,
    logical_id: object = "FleetGroup",
    physical_id: object = GROUP,
    resource_type: object = "AWS::AutoScaling::AutoScalingGroup",
) -> dict[str, Any]:
    """Return what EventBridge delivers when the status of a stack's resource changes."""
    return {
        "version": "0",
        "id": "6a7e8feb-b491-4cf7-a9f1-bf3703467718",
        "source": "aws.cloudformation",
        "detail-type": "CloudFormation Resource Status Change",
        "account": "123456789012",
        "time": "2026-11-30T12:00:00Z",
        "region": "eu-west-1",
        "resources": [stack_id],
        "detail": {
            "stack-id": stack_id,
            "logical-resource-id": logical_id,
            "physical-resource-id": physical_id,
            "resource-type": resource_type,
            "status-details": {"status": status, "status-reason": ""},
            "client-request-token": "",
        },
    }


def event(request_type: str, physical_id: str | None = GROUP, **changes: Any) -> dict[str, Any]:
    document: dict[str, Any] = {
        "RequestType": request_type,
        "ResponseURL": SECRET,
        "StackId": STACK,
        "RequestId": "request-1",
        "LogicalResourceId": "CleanUp",
        "ResourceType": "Custom::AcceleratedFleetCleanUp",
        "ResourceProperties": PROPERTIES,
    }
    if request_type != "Create":
        document["PhysicalResourceId"] = physical_id
    return {**document, **changes}


@dataclass
class CleanUpFunction:
    """The clean-up function over a fake AWS; `answers` is what CloudFormation received."""

    aws: FakeAws
    seconds: float = 900
    statuses: list[int | Exception] = field(default_factory=list)
    answers: list[dict[str, Any]] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    lines: Lines = field(default_factory=Lines)

    def send(self, url: str, body: bytes) -> int:
        assert url == SECRET
        outcome = self.statuses.pop(0) if self.statuses else 200
        if isinstance(outcome, Exception):
            raise outcome
        if outcome < 300:
            self.bodies.append(body)
            self.answers.append(json.loads(body))
        return outcome

    def run(self, request: object) -> dict[str, Any]:
        clock = self.aws.clock
        return dict(handle(request, Context(clock, self.seconds), self._clients(), clock, self.send, self._log()))

    def hear(self, happened: object) -> dict[str, Any]:
        """Run the function on an event that nobody waits for an answer to."""
        clock, settings = self.aws.clock, read_settings(CLEANUP_ENVIRONMENT)
        context = Context(clock, self.seconds)
        return dict(handle_stack_event(happened, context, settings, self._clients(), clock, self._log()))

    def _clients(self) -> Clients:
        services = ("autoscaling", "cloudformation", "ec2")
        return Clients(**{service: self.aws.client(service) for service in services})

    def _log(self) -> StructuredLog:
        return StructuredLog(self.aws.clock, self.lines.lines.append)

    @property
    def answer(self) -> dict[str, Any]:
        (only,) = self.answers
        return only


def tell_of_groups(aws: FakeAws, monkeypatch: pytest.MonkeyPatch, **fields: Any) -> dict[str, Any]:
    """Let every group be described with `fields` besides; the dictionary that is returned may be changed later."""
    describe = aws.autoscaling.describe_auto_scaling_groups

    def described(parameters: Parameters) -> dict[str, Any]:
        answer = describe(parameters)
        return {**answer, "AutoScalingGroups": [{**group, **fields} for group in answer["AutoScalingGroups"]]}

    monkeypatch.setattr(aws.autoscaling, "describe_auto_scaling_groups", described)
    return fields
