"""What happens on the instances: jobs are taken and finished, and the agent reports how busy each instance is."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

from constructs_lib.node.statsd import Metric
from demo import agent, node
from demo.deployment import Deployment

_MESSAGES_PER_CALL = 10
_METRIC_DATA_PER_CALL = 1000
_MINUTES_BEYOND_WINDOW = 5


def put_jobs(deployed: Deployment, count: int) -> None:
    """Put jobs on the queue."""
    client = deployed.emulator.client("sqs")
    for number in range(count):
        client.send_message(QueueUrl=deployed.queue_url, MessageBody=f"job {number}")


def finish_jobs(deployed: Deployment, in_flight: int) -> tuple[int, int]:
    """Take every job and finish all but ``in_flight``. Return what the queue says: waiting, in flight."""
    client = deployed.emulator.client("sqs")
    taken: list[str] = []
    while batch := client.receive_message(QueueUrl=deployed.queue_url, MaxNumberOfMessages=_MESSAGES_PER_CALL).get(
        "Messages"
    ):
        taken += [message["ReceiptHandle"] for message in batch]
    for receipt in taken[in_flight:]:
        client.delete_message(QueueUrl=deployed.queue_url, ReceiptHandle=receipt)
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    counted = client.get_queue_attributes(QueueUrl=deployed.queue_url, AttributeNames=names)["Attributes"]
    waiting, hidden = (int(counted[name]) for name in names)
    return waiting, hidden


def report_use(
    deployed: Deployment, members: Sequence[dict[str, Any]], busy: str
) -> tuple[int, dict[str, Sequence[Metric]]]:
    """Publish the whole idle window as the agents and Auto Scaling would.

    Return the number of the agents' points, and what each instance's node program sent in the newest minute.
    """
    now = datetime.now(timezone.utc).replace(second=0, microsecond=0)
    length = deployed.window_seconds // 60 + _MINUTES_BEYOND_WINDOW
    minutes = [now - timedelta(minutes=ago) for ago in reversed(range(length))]
    data = []
    newest: dict[str, Sequence[Metric]] = {}
    for member in members:
        identity = {
            "InstanceId": member["InstanceId"],
            "AutoScalingGroupName": deployed.group_name,
            "InstanceType": member["InstanceType"],
            "ImageId": member["ImageId"],
        }
        load = agent.BUSY if member["InstanceId"] == busy else agent.IDLE
        sent = node.sent(deployed.node_settings, member["InstanceType"], load, minutes)
        data += agent.published(deployed.agent_configuration, identity, load, minutes, sent)
        newest[member["InstanceId"]] = sent[-1]
    namespace = deployed.agent_configuration["metrics"]["namespace"]
    client = deployed.emulator.client("cloudwatch")
    for start in range(0, len(data), _METRIC_DATA_PER_CALL):
        client.put_metric_data(Namespace=namespace, MetricData=data[start : start + _METRIC_DATA_PER_CALL])
    stamps = [minute.timestamp() for minute in minutes]
    deployed.emulator.control("group-metrics", {"group": deployed.group_name, "timestamps": stamps})
    return len(data), newest


def watched(alarm: dict[str, Any], *, dimension_suffix: str = "") -> list[dict[str, Any]]:
    """The queries of an alarm, as DescribeAlarms returned them, less its expression.

    Args:
        alarm: on metric math.
        dimension_suffix: put behind each dimension's value, to watch another group. Default: the alarm's own.
    """
    queries = []
    for query in alarm["Metrics"]:
        if "MetricStat" in query:
            metric = query["MetricStat"]["Metric"]
            dimensions = [{"Name": d["Name"], "Value": d["Value"] + dimension_suffix} for d in metric["Dimensions"]]
            stat = {**query["MetricStat"], "Metric": {**metric, "Dimensions": dimensions}}
            queries.append({**query, "MetricStat": stat, "ReturnData": True})
    return queries


def values(deployed: Deployment, queries: Sequence[dict[str, Any]]) -> list[list[float]]:
    """What CloudWatch has for each query over the idle window."""
    now = datetime.now(timezone.utc)
    answer = deployed.emulator.client("cloudwatch").get_metric_data(
        MetricDataQueries=queries, StartTime=now - timedelta(seconds=deployed.window_seconds), EndTime=now
    )
    by_id = {result["Id"]: result["Values"] for result in answer["MetricDataResults"]}
    return [by_id[query["Id"]] for query in queries]
