"""Running the expiry function on a fake AWS, hour after hour."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from runtime.structured_log import StructuredLog
from stack_expiry.decision import Policy, Start
from stack_expiry.index import Clients, handle
from stack_expiry.settings import read_settings
from stack_expiry.stack import Stack
from tests.handlers.driving import Lines
from tests.handlers.fake_aws import Context, FakeAws, refusal
from tests.handlers.fake_aws.calls import Parameters
from tests.handlers.fake_aws.time import START

STACK = "arn:aws:cloudformation:eu-west-1:123456789012:stack/dev/1"
TOPIC = "arn:aws:sns:eu-west-1:123456789012:alerts"
PARAMETER = "CFN-Memory-1"
TAG = "accelerated-fleet:expires"
TICK = {"source": "aws.events", "detail-type": "Scheduled Event"}
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
POLICY = Policy(after=3 * DAY, warn_before=DAY, start=Start.CREATION, tag_key=TAG)

ENVIRONMENT = {
    "STACK_ID": STACK,
    "EXPIRES_AFTER_SECONDS": str(3 * 86_400),
    "WARN_BEFORE_SECONDS": "86400",
    "COUNTED_FROM": "creation",
    "EXPIRES_TAG_KEY": TAG,
    "TOPIC_ARN": TOPIC,
    "STATE_PARAMETER": PARAMETER,
}


def stack(**changes: Any) -> Stack:
    """A stack that has been created now, and has whatever an expiry needs."""
    given: dict[str, Any] = {
        "id": STACK,
        "name": "dev",
        "status": "CREATE_COMPLETE",
        "status_reason": "",
        "created_at": START,
        "updated_at": None,
        "has_service_role": True,
        "is_protected": False,
        "is_nested": False,
        "tags": {},
    }
    return Stack(**{**given, **changes})


@dataclass
class FakeStack:
    """One stack, as CloudFormation knows it. `becomes` is its status after a deletion was asked for."""

    created_at: datetime = START
    updated_at: datetime | None = None
    status: str = "CREATE_COMPLETE"
    reason: str = ""
    role: str | None = "arn:aws:iam::123456789012:role/cdk-cfn-exec-role"
    protected: bool = False
    parent: str | None = None
    tags: dict[str, str] = field(default_factory=dict)
    becomes: str | None = "DELETE_IN_PROGRESS"
    deletions: list[Parameters] = field(default_factory=list)
    gone: bool = False

    def describe_stacks(self, parameters: Parameters) -> dict[str, Any]:
        if self.gone:
            raise refusal("ValidationError", f"Stack with id {parameters['StackName']} does not exist")
        optional = {
            "LastUpdatedTime": self.updated_at,
            "StackStatusReason": self.reason or None,
            "RoleARN": self.role,
            "ParentId": self.parent,
        }
        document = {
            "StackId": STACK,
            "StackName": "dev",
            "CreationTime": self.created_at,
            "StackStatus": self.status,
            "EnableTerminationProtection": self.protected,
            "Tags": [{"Key": key, "Value": value} for key, value in self.tags.items()],
            **{name: value for name, value in optional.items() if value is not None},
        }
        return {"Stacks": [document]}

    def delete_stack(self, parameters: Parameters) -> None:
        if self.protected:
            raise refusal("ValidationError", "Stack [dev] cannot be deleted while TerminationProtection is enabled")
        if self.status.endswith("_IN_PROGRESS") and self.status != "DELETE_IN_PROGRESS":
            raise refusal("ValidationError", f"Stack [dev] is in {self.status} state and can not be deleted")
        self.deletions.append(parameters)
        if self.becomes is not None:
            self.status = self.becomes


@dataclass
class ExpiryFunction:
    """The expiry function over a fake AWS."""

    aws: FakeAws = field(default_factory=FakeAws)
    stack: FakeStack = field(default_factory=FakeStack)
    environment: dict[str, str] = field(default_factory=lambda: dict(ENVIRONMENT))
    lines: Lines = field(default_factory=Lines)
    seconds: float = 120

    def __post_init__(self) -> None:
        self.aws.cloudformation = self.stack  # type: ignore[assignment]
        self.aws.add_parameter(PARAMETER)

    def run(self, event: Mapping[str, Any] | None = None) -> dict[str, Any]:
        clock = self.aws.clock
        clients = Clients(**{service: self.aws.client(service) for service in ("cloudformation", "sns", "ssm")})
        log = StructuredLog(clock, self.lines.lines.append)
        context = Context(clock, self.seconds)
        return dict(handle(event or TICK, context, read_settings(self.environment), clients, clock, log))

    def live(self, time: timedelta) -> None:
        """Run every hour for so long, whatever a run comes to."""
        end = self.aws.clock.now() + time
        while self.aws.clock.now() < end:
            begun = self.aws.clock.now()
            try:
                self.run()
            except Exception as error:
                self.lines.lines.append(f'{{"message": "run failed", "error": "{type(error).__name__}"}}')
            self.aws.clock.advance((begun + HOUR - self.aws.clock.now()).total_seconds())

    @property
    def age(self) -> timedelta:
        return self.aws.clock.now() - self.stack.created_at

    @property
    def subjects(self) -> list[str]:
        return [each["Subject"] for each in self.aws.sns.published]

    @property
    def text(self) -> str:
        return str(self.aws.sns.published[-1]["Message"])

    @property
    def asked_to_delete(self) -> int:
        return self.aws.operations().count("DeleteStack")
