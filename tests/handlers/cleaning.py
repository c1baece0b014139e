"""Running the clean-up function on a fake AWS."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from fleet_cleanup.aws import Clients
from fleet_cleanup.index import handle
from runtime.structured_log import StructuredLog
from tests.handlers.driving import GROUP, Lines
from tests.handlers.fake_aws import Context, FakeAws

SECRET = "https://cloudformation-custom-resource-response.s3.amazonaws.com/x?X-Amz-Signature=c0ffee"
TAG = {"accelerated-fleet:id": "stack-fleet-1"}
PROPERTIES = {
    "ServiceToken": "arn:aws:lambda:eu-west-1:123456789012:function:cleanup",
    "AutoScalingGroupName": GROUP,
    "FleetTagKey": "accelerated-fleet:id",
    "FleetTagValue": "stack-fleet-1",
}


def event(request_type: str, physical_id: str | None = GROUP, **changes: Any) -> dict[str, Any]:
    document: dict[str, Any] = {
        "RequestType": request_type,
        "ResponseURL": SECRET,
        "StackId": "arn:aws:cloudformation:eu-west-1:123456789012:stack/s/1",
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
        clients = Clients(autoscaling=self.aws.client("autoscaling"), ec2=self.aws.client("ec2"))
        clock = self.aws.clock
        log = StructuredLog(clock, self.lines.lines.append)
        return dict(handle(request, Context(clock, self.seconds), clients, clock, self.send, log))

    @property
    def answer(self) -> dict[str, Any]:
        (only,) = self.answers
        return only
