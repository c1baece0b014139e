"""One pass over a group in a fresh process; prints its figures as a line of JSON. Called by ``benchmarks.release``."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from time import process_time
from typing import Any

HANDLERS = Path(__file__).resolve().parents[1] / "lambda_handlers"
_WINDOW = timedelta(minutes=15)


class Context:
    """Lambda's context, with all the time there is."""

    def get_remaining_time_in_millis(self) -> int:
        return 300_000


def main() -> None:
    """Measure what the command line names: a way, what the instances do, how many there are."""
    way, doing, instances = sys.argv[1:]
    environment: Mapping[str, str] = json.load(sys.stdin)
    sys.path.insert(0, str(HANDLERS))
    from benchmarks.release_account import Account

    account = Account(instances=int(instances), busy=doing == "busy")
    run = {"ours": ours, "plain": plain}[way](account, environment)
    began, answering = process_time(), account.seconds
    run()
    computed = process_time() - began - (account.seconds - answering)
    print(
        json.dumps(
            {
                "calls": sum(account.calls.values()),
                "metrics": account.metrics,
                "computing_seconds": computed,
                "seconds": computed + account.clock.slept,
                "peak_mib": peak_mib(),
            }
        )
    )


def peak_mib() -> float:
    """Return the most memory that this process ever had. What getrusage says begins with the parent's."""
    (line,) = [each for each in Path("/proc/self/status").read_text().splitlines() if each.startswith("VmHWM")]
    return int(line.split()[1]) / 1024


def ours(account: Any, environment: Mapping[str, str]) -> Callable[[], object]:
    """Return a pass of the release function."""
    from dataclasses import fields

    from release_idle import index
    from release_idle.aws import Clients
    from release_idle.settings import read_settings
    from runtime.clients import make_client
    from runtime.structured_log import StructuredLog

    settings = read_settings(environment)
    clients = Clients(**{each.name: account.serve(make_client(each.name)) for each in fields(Clients)})
    # Lambda reads what is logged from a pipe; nothing of it stays in the process.
    log = StructuredLog(account.clock, lambda line: None)
    event = {"source": "aws.events", "detail-type": "Scheduled Event", "detail": {}}
    return lambda: index.handle(event, Context(), settings, clients, account.clock, log)


def plain(account: Any, environment: Mapping[str, str]) -> Callable[[], object]:
    """Return what is written by hand: for each instance, is it running, and were its GPU and CPU idle?"""
    from runtime.clients import make_client

    autoscaling, ec2, cloudwatch = (account.serve(make_client(name)) for name in ("autoscaling", "ec2", "cloudwatch"))

    def is_idle(instance_id: str, metric: str, below: float) -> bool:
        answer = cloudwatch.get_metric_statistics(
            Namespace=environment["METRIC_NAMESPACE"],
            MetricName=metric,
            Dimensions=[{"Name": "InstanceId", "Value": instance_id}],
            StartTime=account.clock.now() - _WINDOW,
            EndTime=account.clock.now(),
            Period=60,
            Statistics=["Maximum"],
        )
        return all(point["Maximum"] < below for point in answer["Datapoints"])

    def run() -> list[str]:
        (group,) = autoscaling.describe_auto_scaling_groups(
            AutoScalingGroupNames=[environment["AUTO_SCALING_GROUP_NAME"]]
        )["AutoScalingGroups"]
        idle = []
        for member in group["Instances"]:
            ec2.describe_instances(InstanceIds=[member["InstanceId"]])
            gpu = is_idle(member["InstanceId"], "nvidia_smi_utilization_gpu", 5)
            cpu = is_idle(member["InstanceId"], "cpu_usage_active", 10)
            if gpu and cpu and group["DesiredCapacity"] > group["MinSize"]:
                idle.append(member["InstanceId"])
        return idle

    return run


if __name__ == "__main__":
    main()
