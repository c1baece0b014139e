"""Running a handler on a fake AWS, and reading what it logged."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from release_idle import index as release_index
from release_idle.aws import Clients as ReleaseClients
from release_idle.settings import Settings as ReleaseSettings
from release_idle.settings import read_settings as read_release_settings
from runtime.structured_log import StructuredLog
from tests.handlers.fake_aws import Context, FakeAws

GROUP = "train"
MANUAL = {"source": "accelerated-fleet.manual"}
SCHEDULED = {"source": "aws.events", "detail-type": "Scheduled Event", "detail": {}}
QUEUE_URL = "https://sqs.eu-west-1.amazonaws.com/123456789012/jobs"

STATE_PARAMETER = "train-state"

GPU_SIGNAL = {
    "name": "gpu",
    "metric": "nvidia_smi_utilization_gpu",
    "statistic": "Maximum",
    "idle_below": 5,
    "means": "work",
}
CPU_SIGNAL = {
    "name": "cpu",
    "metric": "cpu_usage_active",
    "statistic": "Maximum",
    "idle_below": 30,
    "means": "work",
}

RELEASE_ENVIRONMENT = {
    "AUTO_SCALING_GROUP_NAME": GROUP,
    "METRIC_NAMESPACE": "AcceleratedFleet",
    "METRIC_PERIOD_SECONDS": "60",
    "WINDOW_SECONDS": "1800",
    "WARM_UP_SECONDS": "600",
    "SIGNALS": json.dumps([GPU_SIGNAL]),
    "WATCH_SESSIONS": "false",
    "MAX_RELEASE_SHARE": "1",
    "HOLD_TAG_KEY": "accelerated-fleet:hold",
    "SCALE_IN_PROTECTION": "ignore",
    "STATE_PARAMETER": STATE_PARAMETER,
}
QUEUE_ENVIRONMENT = {"QUEUE_URL": QUEUE_URL, "MESSAGES_PER_INSTANCE": "1"}


def alarm_event(state: str = "ALARM") -> dict[str, Any]:
    """Return what CloudWatch sends to a Lambda function that is an alarm's action."""
    return {
        "source": "aws.cloudwatch",
        "alarmArn": "arn:aws:cloudwatch:eu-west-1:123456789012:alarm:idle",
        "accountId": "123456789012",
        "region": "eu-west-1",
        "time": "2026-11-30T12:00:00.000+0000",
        "alarmData": {
            "alarmName": "idle",
            "state": {"value": state, "reason": "threshold crossed"},
            "previousState": {"value": "OK"},
            "configuration": {},
        },
    }


@dataclass
class Lines:
    """What a handler logged."""

    lines: list[str] = field(default_factory=list)

    def documents(self, message: str | None = None) -> list[dict[str, Any]]:
        parsed = [json.loads(line) for line in self.lines]
        return [each for each in parsed if message is None or each.get("message") == message]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def metrics(self) -> list[dict[str, Any]]:
        return [each for each in self.documents() if "_aws" in each]


@dataclass
class Release:
    """The release function over a fake AWS; `environment` overrides settings."""

    aws: FakeAws
    environment: dict[str, str] = field(default_factory=dict)
    seconds: float = 300
    lines: Lines = field(default_factory=Lines)

    def __post_init__(self) -> None:
        if STATE_PARAMETER not in self.aws.ssm.parameters:
            self.aws.add_parameter(STATE_PARAMETER)

    @property
    def settings(self) -> ReleaseSettings:
        return read_release_settings({**RELEASE_ENVIRONMENT, **self.environment})

    def run(self, event: object = SCHEDULED) -> dict[str, Any]:
        clients = ReleaseClients(
            autoscaling=self.aws.client("autoscaling"),
            cloudwatch=self.aws.client("cloudwatch"),
            ec2=self.aws.client("ec2"),
            sns=self.aws.client("sns"),
            sqs=self.aws.client("sqs"),
            ssm=self.aws.client("ssm"),
        )
        log = StructuredLog(self.aws.clock, self.lines.lines.append)
        context = Context(self.aws.clock, self.seconds)
        return dict(release_index.handle(event, context, self.settings, clients, self.aws.clock, log))

    def verdicts(self) -> dict[str, str]:
        """Return the last verdict logged for each instance."""
        return {each["instance_id"]: each["verdict"] for each in self.lines.documents("verdict")}

    def reasons(self) -> dict[str, str]:
        return {each["instance_id"]: each["reason"] for each in self.lines.documents("verdict")}


def idle_fleet(aws: FakeAws, *ids: str, busy: tuple[str, ...] = (), **group: Any) -> None:
    """Create a group whose members are idle, save those that are busy."""
    aws.add_group(GROUP, ids, **group)
    for instance_id in ids:
        aws.publish(instance_id, 95 if instance_id in busy else 0)
