"""An account with one group behind boto3's own clients: requests are made and answers read as on AWS, nothing is sent.

An answer has the size of a real one, because reading it is most of what a pass takes.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from time import process_time
from typing import Any
from urllib.parse import parse_qs

from botocore.awsrequest import AWSResponse

GROUP = "fleet"
LATENCY_SECONDS = 0.02
INSTANCES_PER_PAGE = 1000
START = datetime(2026, 11, 30, 12, 0, tzinfo=timezone.utc)

_FILLER = "".join(
    f"<attributeOfAnInstance{number}>value-{number}</attributeOfAnInstance{number}>" for number in range(60)
)


@dataclass
class Clock:
    """The account's time: every call takes the latency, computing takes none."""

    slept: float = 0.0

    def now(self) -> datetime:
        return START + timedelta(seconds=self.slept)

    def sleep(self, seconds: float) -> None:
        self.slept += seconds


@dataclass
class Account:
    """A group of `instances`, all of which use their accelerators (`busy`) or nothing at all.

    `calls` counts by operation, `metrics` the metrics that were asked for, and `seconds` is what answering took: none
    of a pass's own time.
    """

    instances: int
    busy: bool
    clock: Clock = field(default_factory=Clock)
    calls: Counter[str] = field(default_factory=Counter)
    metrics: int = 0
    seconds: float = 0.0

    def serve(self, client: Any) -> Any:
        """Answer what this client asks from now on."""
        client.meta.events.register("before-send", self._answer)
        return client

    def _answer(self, request: Any, **_: Any) -> AWSResponse:
        began = process_time()
        self.clock.sleep(LATENCY_SECONDS)
        target = request.headers.get("X-Amz-Target")
        if target is None:
            asked = {name: values[0] for name, values in parse_qs(_text(request.body)).items()}
            body = self._xml(asked)
        else:
            name = _text(target).rpartition(".")[2]
            body = json.dumps(self._json(name, json.loads(request.body))).encode()
        make: Any = AWSResponse
        answer: AWSResponse = make(
            request.url, 200, {"Content-Type": "application/json" if target else "text/xml"}, _Raw(body)
        )
        self.seconds += process_time() - began
        return answer

    def _ids(self) -> list[str]:
        return [f"i-{number:017x}" for number in range(self.instances)]

    def _xml(self, asked: Mapping[str, str]) -> bytes:
        operation = asked["Action"]
        self.calls[operation] += 1
        match operation:
            case "DescribeInstances":
                return f"<{operation}Response>{self._described(asked)}</{operation}Response>".encode()
            case "DescribeAutoScalingGroups":
                inner = self._groups()
            case "DescribeScalingActivities":
                inner = "<Activities/>"
            case _:
                raise NotImplementedError(operation)
        return f"<{operation}Response><{operation}Result>{inner}</{operation}Result></{operation}Response>".encode()

    def _groups(self) -> str:
        members = "".join(
            f"<member><InstanceId>{each}</InstanceId><InstanceType>g6.xlarge</InstanceType>"
            "<AvailabilityZone>us-east-1a</AvailabilityZone><LifecycleState>InService</LifecycleState>"
            "<HealthStatus>Healthy</HealthStatus><ProtectedFromScaleIn>true</ProtectedFromScaleIn>"
            "<LaunchTemplate><LaunchTemplateId>lt-0123456789abcdef0</LaunchTemplateId>"
            "<LaunchTemplateName>fleet</LaunchTemplateName><Version>1</Version></LaunchTemplate></member>"
            for each in self._ids()
        )
        # The minimum is what is there: nothing is to be released, idle or not.
        return (
            f"<AutoScalingGroups><member><AutoScalingGroupName>{GROUP}</AutoScalingGroupName>"
            f"<MinSize>{self.instances}</MinSize><MaxSize>{self.instances}</MaxSize>"
            f"<DesiredCapacity>{self.instances}</DesiredCapacity><DefaultCooldown>300</DefaultCooldown>"
            "<AvailabilityZones><member>us-east-1a</member></AvailabilityZones><HealthCheckType>EC2</HealthCheckType>"
            "<CreatedTime>2026-11-29T00:00:00Z</CreatedTime><SuspendedProcesses/>"
            f"<NewInstancesProtectedFromScaleIn>true</NewInstancesProtectedFromScaleIn><Instances>{members}</Instances>"
            "</member></AutoScalingGroups>"
        )

    def _described(self, asked: Mapping[str, str]) -> str:
        wanted = [asked["InstanceId.1"]] if "InstanceId.1" in asked else self._ids()
        start = int(asked.get("NextToken", "0"))
        page = wanted[start : start + INSTANCES_PER_PAGE]
        more = start + INSTANCES_PER_PAGE < len(wanted)
        token = f"<nextToken>{start + INSTANCES_PER_PAGE}</nextToken>" if more else ""
        items = "".join(
            f"<item><reservationId>r-1</reservationId><instancesSet><item><instanceId>{each}</instanceId>"
            "<instanceState><code>16</code><name>running</name></instanceState><instanceType>g6.xlarge</instanceType>"
            "<launchTime>2026-11-29T00:00:00.000Z</launchTime><tagSet><item><key>aws:autoscaling:groupName</key>"
            f"<value>{GROUP}</value></item></tagSet>{_FILLER}</item></instancesSet></item>"
            for each in page
        )
        return f"<reservationSet>{items}</reservationSet>{token}"

    def _json(self, operation: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        self.calls[operation] += 1
        match operation:
            case "GetMetricData":
                self.metrics += len(asked["MetricDataQueries"])
                return {"MetricDataResults": list(self._results(asked)), "Messages": []}
            case "GetMetricStatistics":
                self.metrics += 1
                points = self._points(asked, asked["Period"], self._value(asked["MetricName"]))
                return {"Label": "x", "Datapoints": [{"Timestamp": at, "Maximum": value} for at, value in points]}
            case "GetParameter":
                return {"Parameter": {"Name": asked["Name"], "Type": "String", "Value": "{}", "Version": 1}}
            case "PutParameter":
                return {"Version": 2, "Tier": "Standard"}
            case "DescribeSessions":
                return {"Sessions": []}
            case "GetQueueAttributes":
                return {"Attributes": dict.fromkeys(asked["AttributeNames"], "0")}
        raise NotImplementedError(operation)

    def _results(self, asked: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        for query in asked["MetricDataQueries"]:
            stat = query["MetricStat"]
            points = self._points(asked, stat["Period"], self._value(stat["Metric"]["MetricName"]))
            stamps, values = zip(*points, strict=True)
            yield {"Id": query["Id"], "Label": "x", "Timestamps": stamps, "Values": values, "StatusCode": "Complete"}

    def _value(self, metric: str) -> float:
        # Only the accelerators are at work: later signals of the policy are not even asked for.
        return 95.0 if self.busy and "utilization" in metric else 0.0

    def _points(self, asked: Mapping[str, Any], period: int, value: float) -> list[tuple[int, float]]:
        start, end = int(asked["StartTime"]), int(min(asked["EndTime"], self.clock.now().timestamp()))
        return [(at, value) for at in range(end - end % period - period, start - 1, -period)]


class _Raw:
    """The body of an answer, as the HTTP library hands it over."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    def stream(self, **_: Any) -> Iterator[bytes]:
        yield self._body


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
