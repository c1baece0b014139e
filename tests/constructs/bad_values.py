"""Wrong values of the value objects, a row for each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from aws_cdk import Duration, Size, Token

from constructs_lib import AtMinimum, CustomSignal, FleetError, Hours, IdleSignal, WakeUp, Weekday
from constructs_lib.errors import ArgumentError, UnsupportedInstanceTypeError

TYPE, RANGE, TOGETHER = "wrong type", "out of range", "in combination"
TOKEN = Token.as_number({"Ref": "Number"})
TEXT_TOKEN = Token.as_string({"Ref": "Text"})
RESERVATIONS = "arn:aws:resource-groups:us-east-1:111122223333:group/reservations"
OFFICE = Hours(start="08:00", end="18:00", time_zone="Europe/Berlin")
JOBS = CustomSignal(namespace="Jobs", metric_name="running", idle_below=1)
FLAGS = ("per_accelerator_series", "network", "swap")
FACT_FLAGS = ("spot", "on_demand", "capacity_block", "hibernation", "bare_metal")


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
    policy_row("window", RANGE, Duration.seconds(330), "be whole minutes", got="'330 seconds'"),
    policy_row("window", RANGE, Duration.minutes(1441), "be whole minutes from 5 to 1440", got="'1 day 1 minute'"),
    policy_row("window", RANGE, Duration.seconds(TOKEN), "be known at synth", got="'a token'"),
    policy_row("window", TOGETHER, Duration.minutes(10), "not be shorter than warm_up (11 minutes)", got="'10 minutes'",
               beside={"warm_up": Duration.minutes(11)}),
    policy_row("warm_up", TYPE, "10 minutes", "be of type Duration"),
    policy_row("warm_up", RANGE, Duration.seconds(90), "be whole minutes from 0 to 60", got="'90 seconds'"),
    policy_row("warm_up", RANGE, Duration.days(2), "be whole minutes from 0 to 60", got="'2 days'"),
    policy_row("threshold_transfers", TYPE, "1000", "be a whole number at least 1"),
    policy_row("threshold_transfers", TYPE, 1.5, "be a whole number at least 1"),
    policy_row("threshold_transfers", RANGE, 0, "be a whole number at least 1"),
    # The node program would refuse its settings, and every instance would be unknown for ever.
    policy_row("threshold_transfers", RANGE, 10**15 + 1, "at most 1000000000000000"),
    policy_row("threshold_transfers", RANGE, 10**400, "at most 1000000000000000", got="1000000"),
    policy_row("signals", TYPE, IdleSignal.CPU, "be a list of IdleSignal"),
    policy_row("signals", TYPE, ["accelerator"], "be of type IdleSignal", got="'accelerator'"),
    policy_row("signals", RANGE, [], "contain one of ACCELERATOR, MEMORY, POWER, IDLE_SECONDS"),
    policy_row("signals", RANGE, [IdleSignal.CPU], "contain one of ACCELERATOR", got="['CPU']"),
    *(
        policy_row(parameter, kind, value, "be a number above 0", got=got)
        for parameter in ("threshold_memory_mib", "threshold_power_watts", "threshold_network_mib_s")
        for kind, value, got in [(TYPE, "9", None), (TYPE, True, None), (RANGE, 0, None), (RANGE, TOKEN, "a token")]
    ),
    *(
        policy_row(parameter, TOGETHER, 9.0, f"be left out unless signals contain IdleSignal.{signal}")
        for parameter, signal in [("threshold_memory_mib", "MEMORY"), ("threshold_power_watts", "POWER"),
                                  ("threshold_network_mib_s", "NETWORK")]
    ),
    policy_row("cpu_threshold_percent", TOGETHER, 9.0, "be left out unless signals contain IdleSignal.CPU",
               beside={"signals": [IdleSignal.ACCELERATOR]}),
    *(
        policy_row(parameter, TOGETHER, None, f"be given when signals contain IdleSignal.{signal.name}",
                   beside={"signals": [signal]})
        for parameter, signal in [("threshold_memory_mib", IdleSignal.MEMORY),
                                  ("threshold_power_watts", IdleSignal.POWER)]
    ),
    policy_row("custom_signals", TYPE, JOBS, "be a list of CustomSignal"),
    policy_row("custom_signals", TYPE, ["running"], "be a list of CustomSignal"),
    policy_row("custom_signals", RANGE, [], "be a list of CustomSignal that is not empty"),
    policy_row("custom_signals", RANGE, [JOBS, JOBS], "be at most 5 different ones", got="(CustomSignal("),
    policy_row("max_releases_per_pass", TYPE, "2", "be a whole number at least 1 and at most 200"),
    policy_row("max_releases_per_pass", RANGE, 0, "be a whole number at least 1 and at most 200"),
    policy_row("max_releases_per_pass", RANGE, 201, "be a whole number at least 1 and at most 200"),
    policy_row("max_failed_launches", TYPE, 1.5, "be a whole number at least 0 and at most 100"),
    policy_row("max_failed_launches", RANGE, -1, "be a whole number at least 0 and at most 100"),
    policy_row("max_failed_launches", RANGE, 101, "be a whole number at least 0 and at most 100"),
    *(
        policy_row(parameter, kind, value, rule, got=got)
        for parameter, longest, shown in [
            ("cold_start", Duration.hours(2), "2 hours"),
            ("min_instance_life", Duration.days(8), "8 days"),
            ("max_instance_life", Duration.days(366), "366 days"),
            ("max_unknown", Duration.days(31), "31 days"),
            ("end_retained_after", Duration.days(31), "31 days"),
        ]
        for kind, value, rule, got in [
            (TYPE, 3600, "be of type Duration", None),
            (RANGE, longest, "be whole minutes from", f"'{shown}'"),
            (RANGE, Duration.seconds(5401), "be whole minutes from", "'5401 seconds'"),
            (RANGE, Duration.minutes(TOKEN), "be known at synth", "'a token'"),
        ]
    ),
    policy_row("cold_start", RANGE, Duration.minutes(0), "be whole minutes from 1 to 6", got="'0 minutes'"),
    policy_row("cold_start", RANGE, Duration.minutes(7), "be whole minutes from 1 to 6", got="'7 minutes'"),
    policy_row("window", TOGETHER, Duration.minutes(5), "not be shorter than warm_up (6 minutes)", got="'5 minutes'",
               beside={"cold_start": Duration.minutes(6), "warm_up": Duration.minutes(6)}),
    policy_row("window", TOGETHER, Duration.minutes(121), "be at most 120 minutes with cold_start", got="'121 minutes'",
               beside={"cold_start": Duration.minutes(5)}),
    policy_row("max_instance_life", RANGE, Duration.minutes(59), "be whole minutes from 60", got="'59 minutes'"),
    policy_row("max_instance_life", TOGETHER, Duration.hours(1), "be longer than window (60 minutes)",
               got="'60 minutes'", beside={"window": Duration.hours(1)}),
    policy_row("max_instance_life", TOGETHER, Duration.hours(1), "be longer than min_instance_life (90 minutes)",
               got="'60 minutes'", beside={"min_instance_life": Duration.minutes(90)}),
    policy_row("max_unknown", RANGE, Duration.minutes(14), "be whole minutes from 15", got="'14 minutes'"),
    policy_row("max_unknown", TOGETHER, Duration.minutes(44), "be at least window and 15 minutes (45 minutes)",
               got="'44 minutes'", beside={"window": Duration.minutes(30)}),
    policy_row("end_retained_after", RANGE, Duration.minutes(0), "be whole minutes from 1", got="'0 minutes'"),
    policy_row("at_minimum", TYPE, "replace", "be of type AtMinimum"),
    policy_row("at_minimum", TOGETHER, AtMinimum.REPLACE, "be left out without max_instance_life and max_unknown",
               got="'REPLACE'"),
    *(
        policy_row("quiet_hours", kind, value, "be a list of Hours that is not empty")
        for kind, value in [(TYPE, OFFICE), (TYPE, ["08:00"]), (RANGE, [])]
    ),
    policy_row("quiet_hours", TOGETHER, [Hours(start="00:00", end="24:00", time_zone="UTC")],
               "leave time to release something", got="[Hours("),
    policy_row("keep_warm", TYPE, OFFICE, "be a list of KeepWarm"),
    policy_row("keep_warm", TYPE, [OFFICE], "be a list of KeepWarm"),
    policy_row("keep_warm", RANGE, [], "be a list of KeepWarm that is not empty"),
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

HOURS = [
    *(
        Row("Hours", parameter, kind, value, "be a time from")
        for parameter in ("start", "end")
        for kind, value in [
            (TYPE, 8),
            (TYPE, None),
            *(
                (RANGE, value)
                for value in ("", "8:00", "08:60", "24:01", "08:00:00", " 08:00", "\u0660\u0668:\u0660\u0660")
            ),
        ]
    ),
    Row("Hours", "start", RANGE, "24:00", "be a time from 00:00 to 23:59"),
    Row("Hours", "end", TOGETHER, "08:00", "differ from start (08:00)"),
    Row("Hours", "time_zone", TYPE, 1, "be a text that is not empty"),
    Row("Hours", "time_zone", TYPE, None, "be a text that is not empty"),
    *(
        Row("Hours", "time_zone", RANGE, name, "be a time zone's name in the IANA database")
        for name in ("Europe/Berlim", "europe/berlin", "CEST", "+01:00", "Factory", "../etc/passwd")
    ),
    Row("Hours", "time_zone", RANGE, TEXT_TOKEN, "be a time zone's name in the IANA database", got="a token"),
    Row("Hours", "days", TYPE, Weekday.MONDAY, "be a list of Weekday"),
    Row("Hours", "days", TYPE, [0], "be a list of Weekday"),
    Row("Hours", "days", RANGE, [], "be a list of Weekday that is not empty"),
    Row("Hours", "days", RANGE, [Weekday.MONDAY, Weekday.MONDAY], "name each day once", got="['MONDAY', 'MONDAY']"),
    Row("Hours", "exceptions", TYPE, "2026-12-25", "be a list of str"),
    Row("Hours", "exceptions", TYPE, [20261225], "be a list of str"),
    Row("Hours", "exceptions", RANGE, [], "be a list of str that is not empty"),
    *(
        Row("Hours", "exceptions", RANGE, [date], "hold dates, as YYYY-MM-DD", got=repr(date))
        for date in ("25.12.2026", "2026-2-1", "2026-02-30", "2026-12-25T00:00")
    ),
    Row("Hours", "exceptions", RANGE, ["2026-12-25", "2026-12-25"], "name each date once"),
    Row("KeepWarm", "instances", TYPE, "1", "be a whole number at least 1"),
    Row("KeepWarm", "instances", TYPE, True, "be a whole number at least 1"),
    Row("KeepWarm", "instances", RANGE, 0, "be a whole number at least 1"),
    Row("KeepWarm", "hours", TYPE, "08:00", "be of type Hours"),
]

EARLY = WakeUp(at="05:00", instances=1, time_zone="Europe/Berlin")
SCHEDULE = [
    *(
        Row("FleetSchedule", parameter, kind, value, "be a list of Hours that is not empty")
        for parameter in ("office_hours", "maintenance")
        for kind, value in [(TYPE, OFFICE), (TYPE, ["08:00"]), (RANGE, [])]
    ),
    Row("FleetSchedule", "office_hours", RANGE, [Hours(start="00:00", end="24:00", time_zone="UTC")],
        "leave time to pause"),
    Row("FleetSchedule", "wake_ups", TYPE, EARLY, "be a list of WakeUp"),
    Row("FleetSchedule", "wake_ups", TYPE, ["05:00"], "be a list of WakeUp"),
    Row("FleetSchedule", "wake_ups", RANGE, [], "be a list of WakeUp that is not empty"),
    Row("FleetSchedule", "wake_ups", TOGETHER, [EARLY], "be for a time within the office hours", got="'05:00'",
        beside={"office_hours": [OFFICE]}),
    Row("WakeUp", "at", TYPE, 8, "be a time from"),
    Row("WakeUp", "at", RANGE, "24:00", "be a time from 00:00 to 23:59"),
    Row("WakeUp", "instances", TYPE, "2", "be a whole number at least 1"),
    Row("WakeUp", "instances", RANGE, 0, "be a whole number at least 1"),
    Row("WakeUp", "instances", RANGE, 1_000_001, "be a whole number at least 1 and at most 1000000"),
    Row("WakeUp", "time_zone", TYPE, 1, "be a text that is not empty"),
    Row("WakeUp", "time_zone", RANGE, "CEST", "be a time zone's name in the IANA database"),
    Row("WakeUp", "days", TYPE, "Monday", "be a list of Weekday"),
    Row("WakeUp", "days", RANGE, [], "be a list of Weekday that is not empty"),
    Row("WakeUp", "ahead", TYPE, 15, "be of type Duration"),
    Row("WakeUp", "ahead", RANGE, Duration.minutes(0), "be whole minutes from 1 to 720", got="'0 minutes'"),
    Row("WakeUp", "ahead", RANGE, Duration.hours(13), "be whole minutes from 1 to 720", got="'13 hours'"),
    Row("WakeUp", "exceptions", TYPE, "2026-12-25", "be a list of str"),
    Row("WakeUp", "exceptions", RANGE, ["Christmas"], "hold dates, as YYYY-MM-DD", got="'Christmas'"),
]  # fmt: skip

DRAIN = [
    Row("Drain", "deadline", TYPE, 300, "be of type Duration"),
    Row("Drain", "deadline", RANGE, Duration.seconds(29), "be whole seconds from 30 seconds", got="'29 seconds'"),
    Row("Drain", "deadline", RANGE, Duration.minutes(116), "to 115 minutes", got="'1 hour 56 minutes'"),
    Row("Drain", "deadline", RANGE, Duration.seconds(TOKEN), "be known at synth", got="'a token'"),
    Row("Drain", "signal", TYPE, 15, "be one of SIGHUP, "),
    Row("Drain", "signal", RANGE, "SIGKILL", "be one of SIGHUP, "),
    *(
        Row("Drain", parameter, kind, value, rule)
        for parameter in ("command", "checkpoint_command")
        for kind, value, rule in [
            (TYPE, ["/opt/finish"], "be a text that is not empty"),
            (RANGE, " ", "be a text that is not empty"),
            (RANGE, "finish\0", "be a text without a zero byte"),
            (RANGE, "finish \udc80", "be a text in Unicode"),
        ]
    ),
    Row("Drain", "drain_on_rebalance", TYPE, 1, "be of type bool"),
]

CUSTOM = [
    *(
        Row("CustomSignal", parameter, kind, value, rule)
        for parameter in ("namespace", "metric_name")
        for kind, value, rule in [
            (TYPE, 1, "be a text that is not empty"),
            (RANGE, " ", "be a text that is not empty"),
            (RANGE, ":x", "be a name of CloudWatch"),
            (RANGE, "x" * 256, "be a name of CloudWatch"),
            (RANGE, "Größe", "be a name of CloudWatch, at most 255 characters of printable ASCII"),
            (RANGE, "x\ny", "be a name of CloudWatch"),
        ]
    ),
    Row("CustomSignal", "idle_below", TYPE, "1", "be a number above 0"),
    Row("CustomSignal", "idle_below", RANGE, 0, "be a number above 0"),
    Row("CustomSignal", "statistic", TYPE, 1, "be one of Average, Maximum, Minimum, SampleCount, Sum"),
    Row("CustomSignal", "statistic", RANGE, "p90", "be one of Average, Maximum, Minimum, SampleCount, Sum"),
    Row("CustomSignal", "dimensions", TYPE, ["Service"], "be of type dict"),
    Row("CustomSignal", "dimensions", RANGE, {}, "hold 1 to 29 dimensions"),
    Row("CustomSignal", "dimensions", RANGE, {f"d{n}": "x" for n in range(30)}, "hold 1 to 29 dimensions"),
    Row("CustomSignal", "dimensions", RANGE, {"Service": ""}, "be a text that is not empty", got="''"),
    Row("CustomSignal", "dimensions", RANGE, {"Service": "x" * 1025}, "at most 1024 characters", got="'xxx"),
    Row("CustomSignal", "dimensions", RANGE, {"Service": "Größe"}, "be a name of CloudWatch", got="'Größe'"),
    Row("CustomSignal", "dimensions", RANGE, {":": "x"}, "be a name of CloudWatch", got="':'"),
    Row("CustomSignal", "dimensions", RANGE, {"InstanceId": "i-1"}, "not name InstanceId"),
]

DEMAND = [
    Row("QueueDemand", "queue", TYPE, "https://sqs.us-east-1.amazonaws.com/1/jobs", "be an SQS queue"),
    Row("QueueDemand", "queue", TYPE, None, "be an SQS queue"),
    Row("QueueDemand", "messages_per_instance", TYPE, "4", "be a whole number at least 1"),
    Row("QueueDemand", "messages_per_instance", TYPE, 1.5, "be a whole number at least 1"),
    Row("QueueDemand", "messages_per_instance", RANGE, 0, "be a whole number at least 1"),
    Row("QueueDemand", "messages_per_instance", RANGE, 2_000_000, "be a whole number at least 1 and at most 1000000"),
    Row("QueueDemand", "messages_per_instance", RANGE, TOKEN, "be a whole number at least 1", got="a token"),
    Row("ShortfallDemand", "fleet", TYPE, "spot", "be an AcceleratedFleet or an Auto Scaling group"),
    Row("ShortfallDemand", "fleet", TYPE, None, "be an AcceleratedFleet or an Auto Scaling group"),
    Row("ShortfallDemand", "after", TYPE, 15, "be of type Duration"),
    *(
        Row("ShortfallDemand", "after", RANGE, value, "be whole minutes from 5 to 360", got=got)
        for value, got in [
            (Duration.minutes(4), "'4 minutes'"),
            (Duration.seconds(330), "'5 minutes 30 seconds'"),
            (Duration.millis(900_001), "'15 minutes 1 milli'"),
            (Duration.minutes(361), "'6 hours 1 minute'"),
        ]
    ),
    Row("ShortfallDemand", "after", RANGE, Duration.seconds(TOKEN), "be known at synth", got="'a token'"),
    Row("ShortfallDemand", "after", TOGETHER, Duration.minutes(9), "not be shorter than the other fleet's warm-up",
        got="'9 minutes'"),
]  # fmt: skip

PURCHASE = [
    *(
        Row(owner, parameter, kind, value, rule, got=got)
        for owner in ("Purchase.spot", "Purchase.mixed")
        for parameter, kind, value, rule, got in [
            ("on_demand_base", TYPE, "1", "be a whole number at least 0", None),
            ("on_demand_base", RANGE, -1, "be a whole number at least 0", None),
            ("on_demand_base", RANGE, TOKEN, "be a whole number at least 0", "a token"),
            ("on_demand_percent", TYPE, 0.5, "be a whole number at least 0 and at most 99", None),
            ("on_demand_percent", RANGE, -1, "be a whole number at least 0 and at most 99", None),
            ("on_demand_percent", RANGE, 101, "be a whole number at least 0 and at most 99", None),
        ]
    ),
    *(
        Row(owner, parameter, TYPE, value, rule)
        for owner in ("Purchase.spot", "Purchase.mixed")
        for parameter, value, rule in [
            ("allocation", "price-capacity-optimized", "be of type SpotAllocation"),
            ("on_demand_allocation", "prioritized", "be of type OnDemandAllocation"),
            ("capacity_rebalance", 1, "be of type bool"),
        ]
    ),
    Row("Purchase.spot", "on_demand_percent", RANGE, 100, "be below 100"),
    Row("Purchase.mixed", "on_demand_percent", RANGE, 100, "be below 100"),
    Row("Purchase.mixed", "on_demand_base", TOGETHER, 0, "leave something to On-Demand"),
    Row("Purchase.on_demand", "allocation", TYPE, "lowest-price", "be of type OnDemandAllocation"),
    Row("Purchase.reservation", "reservation_id", TYPE, 1, "be a text that is not empty"),
    Row("Purchase.reservation", "reservation_id", RANGE, "r-0123456789abcdef0", "be the id of a reservation"),
    Row("Purchase.reservation", "resource_group_arn", TYPE, ["arn"], "be a text that is not empty"),
    Row("Purchase.reservation", "resource_group_arn", RANGE, "my-group", "be the ARN of a resource group"),
    Row("Purchase.reservation", "resource_group_arn", TOGETHER, RESERVATIONS, "be left out beside reservation_id",
        beside={"reservation_id": "cr-0123456789abcdef0"}),
    Row("Purchase.reservation", "fall_back", TYPE, 1, "be of type bool"),
    Row("Purchase.reservation", "allocation", TYPE, "prioritized", "be of type OnDemandAllocation"),
    Row("Purchase.capacity_block", "reservation_id", TYPE, None, "be a text that is not empty"),
    Row("Purchase.capacity_block", "reservation_id", RANGE, "cb-0123456789abcdef0", "be the id of a reservation"),
    *(
        Row("Purchase.capacity_block", parameter, kind, value, rule, got=got)
        for parameter in ("start", "end")
        for kind, value, rule, got in [
            (TYPE, 1_804_000_000, "be a datetime or a text in ISO 8601, with its time zone", None),
            (RANGE, "2027-03-01T11:30", "with its time zone", None),
            (RANGE, datetime(2027, 3, 1, 11, 30), "with its time zone", None),
            (RANGE, "1 March 2027", "be a datetime or a text in ISO 8601", None),
            (RANGE, "2027-03-01T11:30:30Z", "be a whole minute", "'2027-03-01T11:30:30+00:00'"),
            (RANGE, TEXT_TOKEN, "be known at synth", "a token"),
        ]
    ),
    Row("Purchase.capacity_block", "start", TOGETHER, "2027-03-08T11:30Z", "be before end (2027-03-08T11:30:00Z)",
        got="'2027-03-08T11:30:00Z'"),
    Row("Purchase.capacity_block", "instances_at_start", TYPE, "4", "be a whole number at least 1",
        beside={"start": "2027-03-01T11:30Z"}),
    Row("Purchase.capacity_block", "instances_at_start", RANGE, 0, "be a whole number at least 1",
        beside={"start": "2027-03-01T11:30Z"}),
    Row("Purchase.capacity_block", "instances_at_start", TOGETHER, 4, "be left out without start"),
]  # fmt: skip

FLEXIBLE = [
    Row("FlexibleTypes", "kind", TYPE, 1, "be one of amd, "),
    Row("FlexibleTypes", "kind", RANGE, "nvidea", "be one of amd, "),
    *(
        Row("FlexibleTypes", parameter, kind, value, rule, got=got)
        for parameter in ("accelerators", "accelerator_memory_mib", "vcpus", "memory_mib")
        for kind, value, rule, got in [
            (TYPE, "1", "be a whole number at least 1", None),
            (TYPE, True, "be a whole number at least 1", None),
            (RANGE, 0, "be a whole number at least 1", None),
            (RANGE, (1, 2, 3), "be a number or a pair of numbers", None),
            (TOGETHER, (4, 2), "be a whole number at least 4", "2"),
            (RANGE, TOKEN, "be a whole number at least 1", "a token"),
        ]
    ),
    Row("FlexibleTypes", "architecture", TYPE, 64, "be one of arm64, x86_64"),
    Row("FlexibleTypes", "architecture", RANGE, "x86", "be one of arm64, x86_64"),
    Row("FlexibleTypes", "models", TYPE, "L4", "be a list of str"),
    Row("FlexibleTypes", "models", RANGE, [], "be a list of str that is not empty"),
    Row("FlexibleTypes", "models", RANGE, ["L5"], "be one of ", got="'L5'"),
    Row("FlexibleTypes", "exclude", TYPE, "p4d*", "be a list of str"),
    Row("FlexibleTypes", "exclude", RANGE, [" "], "be a text that is not empty", got="' '"),
    Row("FlexibleTypes", "fractions", TYPE, 1, "be of type bool"),
    Row("FlexibleTypes", "previous_generations", TYPE, "no", "be of type bool"),
    Row("FlexibleTypes", "usd_per_hour", TYPE, "2", "be a number above 0"),
    Row("FlexibleTypes", "usd_per_hour", TYPE, True, "be a number above 0"),
    Row("FlexibleTypes", "usd_per_hour", RANGE, 0, "be a number above 0"),
    Row("FlexibleTypes", "usd_per_hour", RANGE, TOKEN, "be a number above 0", got="a token"),
    Row("FlexibleTypes", "accelerators", TOGETHER, 1000, "leave at least one type of the catalogue",
        error=UnsupportedInstanceTypeError),
]  # fmt: skip

WARM_POOL = [
    Row("WarmPool", "min_size", TYPE, "1", "be a whole number at least 0"),
    Row("WarmPool", "min_size", RANGE, -1, "be a whole number at least 0"),
    Row("WarmPool", "min_size", RANGE, 0, "leave an instance to prepare"),
    Row("WarmPool", "max_prepared", TYPE, "1", "be a whole number at least 1"),
    Row("WarmPool", "max_prepared", RANGE, 0, "be a whole number at least 1"),
    Row("WarmPool", "max_prepared", TOGETHER, 2, "be a whole number at least 3", beside={"min_size": 3}),
    Row("WarmPool", "state", TYPE, "Stopped", "be of type PoolState"),
    Row("WarmPool", "prepare_within", TYPE, 30, "be of type Duration"),
    Row("WarmPool", "prepare_within", RANGE, Duration.seconds(90), "be whole minutes from 1 to 120",
        got="'1 minute 30 seconds'"),
    Row("WarmPool", "prepare_within", RANGE, Duration.hours(3), "be whole minutes from 1 to 120", got="'3 hours'"),
    Row("WarmPool", "prepare_within", RANGE, Duration.seconds(TOKEN), "be whole minutes", got="'a token'"),
    Row("WarmPool.size_for", "starts_per_hour", TYPE, "6", "be a number"),
    Row("WarmPool.size_for", "starts_per_hour", RANGE, 0, "be a number"),
    Row("WarmPool.size_for", "cold_start", TYPE, 8, "be of type Duration"),
    Row("WarmPool.size_for", "cold_start", RANGE, Duration.hours(3), "be above 0 and at most 2 hours", got="'3 hours'"),
    Row("WarmPool.size_for", "cold_start", RANGE, Duration.seconds(TOKEN), "be known at synth", got="'a token'"),
    Row("WarmPool.size_for", "covered", TYPE, "all", "be a number"),
    Row("WarmPool.size_for", "covered", RANGE, 1, "be a number"),
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
    Row("FleetStorage", "lustre", TYPE, "/fsx", "be a list of LustreMount that is not empty"),
    Row("FleetStorage", "lustre", RANGE, [], "be a list of LustreMount that is not empty"),
    Row("LustreMount", "file_system", TYPE, "fs-0123456789abcdef0", "be of type FileSystemBase"),
    Row("LustreMount", "path", TYPE, None, "be a text that is not empty"),
    Row("LustreMount", "path", RANGE, "/home/data", "be a directory of its own"),
    Row("LustreMount", "mount_name", TYPE, 1, "be a text that is not empty"),
    Row("LustreMount", "mount_name", RANGE, "longer-than-8", "be 1 to 8 letters, digits, _ or -"),
    Row("LustreMount", "read_only", TYPE, "yes", "be of type bool"),
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
    fact_row("block_end_minutes", TYPE, "60", "be a whole number at least 0"),
    fact_row("block_end_minutes", RANGE, -1, "be a whole number at least 0"),
    fact_row(
        "block_end_minutes",
        TOGETHER,
        60,
        "be left out for a type without Capacity Blocks",
        beside={"capacity_block": False},
    ),
    fact_row("vcpus", TYPE, 4.0, "be a whole number at least 1"),
    fact_row("vcpus", RANGE, 0, "be a whole number at least 1"),
    fact_row("usd_per_hour", TYPE, "1.2", "be a number above 0"),
    fact_row("usd_per_hour", RANGE, 0, "be a number above 0"),
    fact_row("status", TYPE, 1, "be one of current, previous, retired"),
    fact_row("status", RANGE, "new", "be one of current, previous, retired"),
    fact_row("memory_mib", TYPE, 4.0, "be a whole number at least 1"),
    fact_row("memory_mib", RANGE, 0, "be a whole number at least 1"),
    fact_row("network_cards", TYPE, 4, "be a list of NetworkCard"),
    fact_row("network_cards", RANGE, [], "be a list of NetworkCard that is not empty"),
    *(fact_row(name, TYPE, "yes", "be of type bool") for name in FACT_FLAGS),
    fact_row("placement", TYPE, "cluster", "be a list of str"),
    fact_row("placement", RANGE, ["rack"], "be one of cluster, partition, spread", got="'rack'"),
    fact_row("regions", TYPE, "eu-west-1", "be a list of str"),
    fact_row("regions", RANGE, [""], "be a text that is not empty", got="''"),
    fact_row("retired_on", TYPE, 2026, "be a text that is not empty"),
    fact_row("retired_on", RANGE, "soon", "be a date", beside={"status": "retired"}),
    fact_row("retired_on", TOGETHER, "2026-01-01", "be a date, of a type whose status is 'retired'"),
    fact_row("successor", TYPE, 9, "be a text that is not empty"),
    fact_row("successor", RANGE, "g10", "be another instance type in lower case"),
]

COMPLIANCE = [
    *(
        row
        for owner in ("AcceleratorChecks", "assert_compliant")
        for row in (
            Row(owner, "region", TYPE, 1, "be a text that is not empty"),
            Row(owner, "region", RANGE, " ", "be a text that is not empty"),
            *(
                Row(owner, parameter, kind, value, rule, got=got)
                for parameter in ("select", "ignore")
                for kind, value, rule, got in [
                    (TYPE, "instance-metadata-v1", "be a list of ids of rules", None),
                    (TYPE, 1, "be a list of ids of rules", None),
                    (TYPE, [1], "be a list of ids of rules", None),
                    (RANGE, ["instance-metadata"], "be the id of a rule", "'instance-metadata'"),
                    (RANGE, ["no-such-*"], "be the id of a rule", "'no-such-*'"),
                ]
            ),
            Row(owner, "ignore", RANGE, ["*"], "leave a rule to be asked"),
            Row(owner, "fail_on", TYPE, 1, "be one of error, none, warning"),
            Row(owner, "fail_on", RANGE, "warn", "be one of error, none, warning"),
        )
    ),
    Row("assert_compliant", "parameters", TYPE, ["Size"], "be of type Mapping"),
    Row("assert_compliant", "parameters", TYPE, {"Size": 1}, "be of type str", got="1", named="parameters['Size']"),
    Row("assert_compliant", "parameters", RANGE, {"Size": "1"}, "be declared by a template", got="'Size'"),
    Row("assert_compliant", "subject", TYPE, 1, "be a stack, a stage, an app, a template or a path"),
    Row("assert_compliant", "subject", TYPE, None, "be a stack, a stage, an app, a template or a path"),
    Row("assert_compliant", "subject", RANGE, "no-such-folder", "be a file that can be read", named="template"),
    Row("suppress", "construct", TYPE, "Fleet", "be of type Construct"),
    Row("suppress", "rule", TYPE, 1, "be the id of a rule"),
    Row("suppress", "rule", RANGE, "instance-metadata", "be the id of a rule"),
    Row("suppress", "reason", TYPE, 1, "be a text that is not empty"),
    Row("suppress", "reason", RANGE, " ", "be a text that is not empty"),
]

VALUES = [
    *POLICY,
    *HOURS,
    *SCHEDULE,
    *DRAIN,
    *CUSTOM,
    *DEMAND,
    *PURCHASE,
    *FLEXIBLE,
    *WARM_POOL,
    *STORAGE,
    *IMAGE,
    *TELEMETRY,
    *LOGS,
    *MACHINE,
    *TYPES,
    *COMPLIANCE,
]
