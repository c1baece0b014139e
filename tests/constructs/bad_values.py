"""Wrong values of the value objects, a row for each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from aws_cdk import Duration, Size, Token

from constructs_lib import FleetError, IdleSignal
from constructs_lib.errors import ArgumentError

TYPE, RANGE, TOGETHER = "wrong type", "out of range", "in combination"
TOKEN = Token.as_number({"Ref": "Number"})
TEXT_TOKEN = Token.as_string({"Ref": "Text"})
FLAGS = ("per_accelerator_series", "network", "swap")


@dataclass(frozen=True)
class Row:
    """One wrong value."""

    owner: str
    parameter: str
    kind: str
    value: Any
    rule: str
    """A part of the message's rule."""
    got: str | None = None
    """The value as the message shows it, where that is not its repr."""
    beside: Mapping[str, Any] = field(default_factory=dict)
    """Other arguments of the same call."""
    named: str | None = None
    """The parameter as the message names it, where a part of a value object is at fault."""
    error: type[FleetError] = ArgumentError

    def __str__(self) -> str:
        return f"{self.owner}-{self.parameter}-{self.kind}-{str(self.got or self.value)[:30]}"


def policy_row(parameter: str, kind: str, value: Any, rule: str, **more: Any) -> Row:
    return Row("IdlePolicy", parameter, kind, value, rule, **more)


POLICY = [
    policy_row("window", TYPE, 15, "be of type Duration"),
    policy_row("window", RANGE, Duration.minutes(4), "be whole minutes from 5 to 1440", got="'4 minutes'"),
    policy_row("window", RANGE, Duration.seconds(330), "be whole minutes", got="'5 minutes 30 seconds'"),
    policy_row("window", RANGE, Duration.minutes(1441), "be whole minutes from 5 to 1440", got="'1 day 1 minute'"),
    policy_row("window", RANGE, Duration.seconds(TOKEN), "be known at synth", got="'a token'"),
    policy_row("window", TOGETHER, Duration.minutes(10), "not be shorter than warm_up (11 minutes)", got="'10 minutes'",
               beside={"warm_up": Duration.minutes(11)}),
    policy_row("warm_up", TYPE, "10 minutes", "be of type Duration"),
    policy_row("warm_up", RANGE, Duration.seconds(90), "be whole minutes from 0 to 60", got="'1 minute 30 seconds'"),
    policy_row("warm_up", RANGE, Duration.days(2), "be whole minutes from 0 to 60", got="'2 days'"),
    policy_row("threshold_transfers", TYPE, "1000", "be a whole number at least 1"),
    policy_row("threshold_transfers", TYPE, 1.5, "be a whole number at least 1"),
    policy_row("threshold_transfers", RANGE, 0, "be a whole number at least 1"),
    policy_row("signals", TYPE, IdleSignal.CPU, "be a list of IdleSignal"),
    policy_row("signals", TYPE, ["accelerator"], "be of type IdleSignal", got="'accelerator'"),
    policy_row("signals", RANGE, [], "contain IdleSignal.ACCELERATOR"),
    policy_row("signals", RANGE, [IdleSignal.CPU], "contain IdleSignal.ACCELERATOR", got="['CPU']"),
    policy_row("max_release_share", TYPE, "all", "be a number at most 1 and above 0"),
    policy_row("max_release_share", RANGE, 0, "above 0"),
    policy_row("max_release_share", RANGE, 1.01, "at most 1"),
    *(
        policy_row(parameter, kind, value, "be a number above 0 and below 100", got=got)
        for parameter in ("threshold_percent", "cpu_threshold_percent")
        for kind, value, got in [
            (TYPE, "5", None),
            (TYPE, True, None),
            (RANGE, 0, None),
            (RANGE, 100, None),
            (RANGE, -1, None),
            (RANGE, float("nan"), None),
            (RANGE, float("inf"), None),
            (RANGE, TOKEN, "a token"),
        ]
    ),
]  # fmt: skip

DEMAND = [
    Row("QueueDemand", "queue", TYPE, "https://sqs.us-east-1.amazonaws.com/1/jobs", "be an SQS queue"),
    Row("QueueDemand", "queue", TYPE, None, "be an SQS queue"),
    Row("QueueDemand", "messages_per_instance", TYPE, "4", "be a whole number at least 1"),
    Row("QueueDemand", "messages_per_instance", TYPE, 1.5, "be a whole number at least 1"),
    Row("QueueDemand", "messages_per_instance", RANGE, 0, "be a whole number at least 1"),
    Row("QueueDemand", "messages_per_instance", RANGE, 2_000_000, "be a whole number at least 1 and at most 1000000"),
    Row("QueueDemand", "messages_per_instance", RANGE, TOKEN, "be a whole number at least 1", got="a token"),
]

PURCHASE = [
    *(
        Row(owner, parameter, kind, value, rule, got=got)
        for owner in ("Purchase", "Purchase.spot")
        for parameter, kind, value, rule, got in [
            ("on_demand_base", TYPE, "1", "be a whole number at least 0", None),
            ("on_demand_base", RANGE, -1, "be a whole number at least 0", None),
            ("on_demand_base", RANGE, TOKEN, "be a whole number at least 0", "a token"),
            ("on_demand_percent", TYPE, 0.5, "be a whole number at least 0 and at most 100", None),
            ("on_demand_percent", RANGE, -1, "be a whole number at least 0 and at most 100", None),
            ("on_demand_percent", RANGE, 101, "be a whole number at least 0 and at most 100", None),
        ]
    ),
    Row("Purchase.spot", "on_demand_percent", RANGE, 100, "be below 100"),
    Row("Purchase", "on_demand_base", TOGETHER, 2, "be 0 when on_demand_percent is 100",
        beside={"on_demand_percent": 100}),
]  # fmt: skip

STORAGE = [
    Row("FleetStorage", "root_volume_size", TYPE, 200, "be of type Size"),
    Row("FleetStorage", "root_volume_size", RANGE, Size.gibibytes(0), "be whole GiB from 1 to 65536", got="0"),
    Row("FleetStorage", "root_volume_size", RANGE, Size.mebibytes(1500), "be whole GiB", got="1.46"),
    Row("FleetStorage", "root_volume_size", RANGE, Size.tebibytes(65), "be whole GiB from 1 to 65536", got="66560"),
    Row("FleetStorage", "root_volume_iops", TYPE, "3000", "be a whole number"),
    Row("FleetStorage", "root_volume_iops", RANGE, 2_999, "at least 3000 and at most 80000"),
    Row("FleetStorage", "root_volume_iops", RANGE, 80_001, "at least 3000 and at most 80000"),
    Row("FleetStorage", "root_volume_iops", TOGETHER, 10_000, "be at most 500 for each GiB of root_volume_size",
        beside={"root_volume_size": Size.gibibytes(19)}),
    Row("FleetStorage", "root_volume_throughput_mib_s", TYPE, 125.0, "be a whole number"),
    Row("FleetStorage", "root_volume_throughput_mib_s", RANGE, 124, "at least 125 and at most 2000"),
    Row("FleetStorage", "root_volume_throughput_mib_s", RANGE, 2_001, "at least 125 and at most 2000"),
    Row("FleetStorage", "root_volume_throughput_mib_s", TOGETHER, 751,
        "be at most a quarter of root_volume_iops (3000)"),
    Row("FleetStorage", "instance_store_path", TYPE, 1, "be a text that is not empty"),
    Row("FleetStorage", "instance_store_path", RANGE, "", "be a text that is not empty"),
    Row("FleetStorage", "instance_store_path", RANGE, TEXT_TOKEN, "be known at synth", got="a token"),
    *(
        Row("FleetStorage", "instance_store_path", RANGE, path, "be an absolute path")
        for path in ("data", "/", "/mnt/", "/mnt/../etc", "/mnt/a b", "/mnt/a'b", "/mnt/$HOME", "//mnt", "/mnt/\u00e9")
    ),
    *(
        Row("FleetStorage", "instance_store_path", RANGE, path, "be a directory of its own")
        for path in (
            *("/tmp", "/etc/data", "/usr", "/var/lib", "/run/x", "/proc/1", "/home", "/home/ubuntu/data", "/root/data"),
            *("/boot", "/dev/shm"),
        )
    ),
]  # fmt: skip

IMAGE = [
    Row("FleetImage.deep_learning_base", "system", TYPE, "ubuntu-22.04", "be of type OperatingSystem"),
    Row("FleetImage.from_ssm_parameter", "name", TYPE, 7, "be a text that is not empty"),
    Row("FleetImage.from_ssm_parameter", "name", RANGE, " ", "be a text that is not empty"),
    Row("FleetImage.from_machine_image", "image", TYPE, "ami-0123456789abcdef0", "be an ec2.IMachineImage"),
    *(
        Row(owner, "root_device", kind, value, rule)
        for owner in ("FleetImage.from_ssm_parameter", "FleetImage.from_machine_image")
        for kind, value, rule in [
            (TYPE, 1, "be a text that is not empty"),
            (RANGE, "xvda", "be a device name"),
            (RANGE, "", "be a text that is not empty"),
        ]
    ),
]

TELEMETRY = [
    Row("Telemetry", "measurements", TYPE, "utilization_gpu", "be a list of str that is not empty"),
    Row("Telemetry", "measurements", TYPE, [1], "be a list of str that is not empty"),
    Row("Telemetry", "measurements", RANGE, [], "be a list of str that is not empty"),
    *(Row("Telemetry", parameter, TYPE, 1, "be of type bool") for parameter in FLAGS),
    Row("Telemetry", "resolution", TYPE, 10, "be of type Duration"),
    Row("Telemetry", "resolution", RANGE, Duration.seconds(5), "be one that the fleet reads in", got="'5 seconds'"),
    Row("Telemetry", "resolution", RANGE, Duration.seconds(20), "be one that the fleet reads in", got="'20 seconds'"),
    Row("Telemetry", "resolution", RANGE, Duration.minutes(5), "be one that the fleet reads in", got="'5 minutes'"),
    Row("Telemetry", "resolution", RANGE, Duration.millis(500), "be one that the fleet reads in", got="'500 millis'"),
    Row("Telemetry", "resolution", RANGE, Duration.seconds(TOKEN), "be one that the fleet reads in", got="'a token'"),
    Row("Telemetry", "application_metrics", TYPE, "latency", "be a list of str that is not empty"),
    Row("Telemetry", "application_metrics", RANGE, [], "be a list of str that is not empty"),
    Row("Telemetry", "application_metrics", RANGE, ["queue wait"], "hold names of letters", got="'queue wait'"),
    Row("Telemetry", "application_metrics", RANGE, ["a", "a"], "name each one once", got="'a'"),
    Row("Telemetry", "application_metrics", RANGE, ["busy_marks"], "hold names that the fleet", got="'busy_marks'"),
    Row("Telemetry", "application_metrics", RANGE, ["cpu_usage_active"], "hold names that the fleet",
        got="'cpu_usage_active'"),
    Row("Telemetry", "processes", TYPE, "python", "be a list of str that is not empty"),
    Row("Telemetry", "processes", RANGE, [" "], "hold patterns of 1 to 255 characters", got="' '"),
    Row("Telemetry", "logs", TYPE, ["/var/log/worker.log"], "be of type FleetLogs"),
]  # fmt: skip

LOGS = [
    Row("FleetLogs", "files", TYPE, "/var/log/worker.log", "be a list of str"),
    Row("FleetLogs", "files", TYPE, [1], "be a list of str"),
    Row("FleetLogs", "files", RANGE, ["worker.log"], "hold absolute paths", got="'worker.log'"),
    Row("FleetLogs", "files", RANGE, ["/var/log/"], "hold absolute paths", got="'/var/log/'"),
    Row("FleetLogs", "files", RANGE, ["/a", "/a"], "name each file once", got="'/a'"),
    Row("FleetLogs", "files", RANGE, [], "be a list of str that is not empty"),
    Row(
        "FleetLogs",
        "files",
        TOGETHER,
        None,
        "name at least one file when faults is False",
        got="[]",
        beside={"faults": False},
    ),
    Row("FleetLogs", "faults", TYPE, 1, "be of type bool"),
    Row("FleetLogs", "retention", TYPE, 30, "be of type RetentionDays"),
]

MACHINE = [
    *(Row("MachineSetup", name, TYPE, 1, "be of type bool") for name in ("persistence_mode", "application_clocks")),
    Row("MachineSetup", "huge_pages", TYPE, "512", "be a whole number at least 1"),
    Row("MachineSetup", "huge_pages", RANGE, 0, "be a whole number at least 1"),
    Row("MachineSetup", "huge_pages", RANGE, 10**9, "be a whole number at least 1"),
    Row("MachineSetup", "open_files", TYPE, 4096.0, "be a whole number at least 1024"),
    Row("MachineSetup", "open_files", RANGE, 1_023, "be a whole number at least 1024"),
    Row("MachineSetup", "open_files", RANGE, 1_048_577, "at most 1048576"),
]


def fact_row(parameter: str, kind: str, value: Any, rule: str, **more: Any) -> Row:
    return Row("AcceleratedType", parameter, kind, value, rule, **more)


TYPES = [
    fact_row("name", TYPE, 9, "be a text that is not empty"),
    fact_row("name", RANGE, "G9.XLARGE", "be an instance type in lower case"),
    fact_row("name", RANGE, "g9", "be an instance type in lower case"),
    fact_row("kind", TYPE, 1, "be one of amd, "),
    fact_row("kind", RANGE, "gpu", "be one of amd, "),
    fact_row("model", TYPE, None, "be a text that is not empty"),
    fact_row("model", RANGE, "", "be a text that is not empty"),
    fact_row("accelerators", TYPE, "1", "be a whole number at least 1"),
    fact_row("accelerators", RANGE, 0, "be a whole number at least 1"),
    fact_row("accelerators", TOGETHER, 2, "be 1 on a type with a fraction", beside={"fraction": 0.5}),
    fact_row("accelerator_memory_mib", TYPE, 96.0, "be a whole number at least 1"),
    fact_row("accelerator_memory_mib", RANGE, 0, "be a whole number at least 1"),
    fact_row("architecture", TYPE, None, "be one of arm64, x86_64"),
    fact_row("architecture", RANGE, "amd64", "be one of arm64, x86_64"),
    fact_row("fraction", TYPE, "half", "be a number above 0 and below 1"),
    fact_row("fraction", RANGE, 1, "be a number above 0 and below 1"),
    fact_row("driver", TYPE, 580, "be one of open, proprietary"),
    fact_row("driver", RANGE, "nouveau", "be one of open, proprietary"),
    fact_row("driver", TOGETHER, "open", "be left out for kind 'neuron'", beside={"kind": "neuron"}),
    fact_row("video_encoder", TYPE, "yes", "be of type bool"),
    *(fact_row(name, TYPE, "0", "be a whole number at least 0") for name in ("instance_store_gb", "efa_interfaces")),
    *(fact_row(name, RANGE, -1, "be a whole number at least 0") for name in ("instance_store_gb", "efa_interfaces")),
    fact_row("status", TYPE, 1, "be one of current, previous, retired"),
    fact_row("status", RANGE, "new", "be one of current, previous, retired"),
]

VALUES = [*POLICY, *DEMAND, *PURCHASE, *STORAGE, *IMAGE, *TELEMETRY, *LOGS, *MACHINE, *TYPES]
