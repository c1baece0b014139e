"""The emulator finds a metric by its exact dimensions, evaluates no expression and lets no alarm decide."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from botocore.exceptions import ClientError

from demo.emulator import Emulator

pytestmark = [pytest.mark.emulator, pytest.mark.allow_hosts(["127.0.0.1"])]

NOON = datetime.now(timezone.utc).replace(minute=0, second=0, microsecond=0)
RIGHT = {"InstanceId": "i-1", "index": "0"}


@pytest.fixture
def namespace(emulator: Emulator, request: pytest.FixtureRequest) -> str:
    """A namespace with one series: 10, 20 and 30 at three minutes."""
    name = f"Test/{request.node.name}"
    emulator.client("cloudwatch").put_metric_data(
        Namespace=name,
        MetricData=[
            {
                "MetricName": "use",
                "Dimensions": _dimensions(RIGHT),
                "Timestamp": NOON + timedelta(minutes=minute),
                "Value": value,
            }
            for minute, value in enumerate((10, 20, 30))
        ],
    )
    return name


def _dimensions(values: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"Name": name, "Value": value} for name, value in values.items()]


def _query(namespace: str, dimensions: Mapping[str, str], query_id: str = "m1") -> dict[str, Any]:
    metric = {"Namespace": namespace, "MetricName": "use", "Dimensions": _dimensions(dimensions)}
    return {"Id": query_id, "MetricStat": {"Metric": metric, "Period": 60, "Stat": "Maximum"}}


def _ask(emulator: Emulator, *queries: dict[str, Any], **options: Any) -> list[list[float]]:
    answer = emulator.client("cloudwatch").get_metric_data(
        MetricDataQueries=list(queries), StartTime=NOON, EndTime=NOON + timedelta(minutes=10), **options
    )
    return [result["Values"] for result in answer["MetricDataResults"]]


@pytest.mark.parametrize(
    "dimensions",
    [
        {"InstanceId": "i-2", "index": "0"},
        {"InstanceId": "i-1"},
        {"InstanceId": "i-1", "index": "0", "name": "NVIDIA L4"},
        {"instanceid": "i-1", "index": "0"},
        {},
    ],
    ids=["wrong value", "one too few", "one too many", "wrong name", "none"],
)
def test_case_82_other_dimensions_find_nothing(
    emulator: Emulator, namespace: str, dimensions: Mapping[str, str]
) -> None:
    assert _ask(emulator, _query(namespace, dimensions)) == [[]]


def test_case_82_the_exact_dimensions_find_every_point_newest_first(emulator: Emulator, namespace: str) -> None:
    assert _ask(emulator, _query(namespace, dict(reversed(RIGHT.items())))) == [[30, 20, 10]]
    assert _ask(emulator, _query(namespace, RIGHT), ScanBy="TimestampAscending") == [[10, 20, 30]]


def test_case_82_an_expression_is_refused(emulator: Emulator, namespace: str) -> None:
    with pytest.raises(ClientError, match="evaluates no expression"):
        _ask(emulator, _query(namespace, RIGHT), {"Id": "e1", "Expression": "m1 * 2"})


def test_case_82_at_most_500_queries_fit_into_a_call(emulator: Emulator, namespace: str) -> None:
    queries = [_query(namespace, RIGHT, f"m{number}") for number in range(501)]
    with pytest.raises(ClientError, match="at most 500, got 501"):
        _ask(emulator, *queries)
    assert len(_ask(emulator, *queries[:500])) == 500


def test_case_82_no_alarm_is_evaluated(emulator: Emulator, namespace: str) -> None:
    """Without this the emulator would judge the alarm on every series of that name, whatever its dimensions."""
    cloudwatch = emulator.client("cloudwatch")
    cloudwatch.put_metric_alarm(
        AlarmName=namespace,
        Namespace=namespace,
        MetricName="use",
        Dimensions=_dimensions({"InstanceId": "i-2", "index": "0"}),
        Statistic="Maximum",
        Period=60,
        EvaluationPeriods=1,
        Threshold=5,
        ComparisonOperator="GreaterThanThreshold",
    )
    cloudwatch.put_metric_data(
        Namespace=namespace, MetricData=[{"MetricName": "use", "Dimensions": _dimensions(RIGHT), "Value": 99}]
    )
    (alarm,) = cloudwatch.describe_alarms(AlarmNames=[namespace])["MetricAlarms"]
    assert alarm["StateValue"] == "INSUFFICIENT_DATA"


def test_case_82_only_public_image_parameters_that_exist_are_answered(emulator: Emulator) -> None:
    ssm = emulator.client("ssm")
    known = "/aws/service/deeplearning/ami/arm64/base-oss-nvidia-driver-gpu-ubuntu-22.04/latest/ami-id"
    assert ssm.get_parameter(Name=known)["Parameter"]["Value"].startswith("ami-")
    with pytest.raises(ClientError, match="ParameterNotFound"):
        ssm.get_parameter(Name=known.replace("22.04", "20.04"))
    assert ssm.describe_sessions(State="Active")["Sessions"] == []
