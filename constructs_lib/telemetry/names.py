"""Every name under which something is published or found, said once.

The agent's configuration, the alarms, the handlers' settings, the dashboard and the rehearsal all read this
module; a name written anywhere else is a fault (field case 5: an alarm that watches a series nobody
publishes).
"""

from __future__ import annotations

from constructs_lib.node.names import (
    ACCELERATORS_MISSING,
    ACCELERATORS_PRESENT,
    ACCELERATORS_UNKNOWN,
    BUSY_MARKS,
    COLD_START_AGENT,
    COLD_START_DRIVER,
    COLD_START_FIRST_USE,
    DRAIN_METRICS,
    DRAINS_ABANDONED,
    DRAINS_DONE,
    DRAINS_TIMED_OUT,
    ENERGY,
    FAULT_LOG,
    HEARTBEAT,
    IDLE_SECONDS,
    INSTANCE_METRICS,
    INSTANCES_RELEASED,
    LAUNCHES_STOPPED,
    MEASUREMENTS,
    MEMBERS_BUSY,
    MEMBERS_HELD,
    MEMBERS_IDLE,
    MEMBERS_IDLE_DESPITE_WORK,
    MEMBERS_RETAINED,
    MEMBERS_UNKNOWN,
    NETWORK_THROUGHPUT,
    ORPHAN_USD_PER_MONTH,
    ORPHANS_FOUND,
    PASS_METRICS,
    SESSIONS,
    SETUP_FAILURES,
    STATSD_ADDRESS,
    SWEEP_METRICS,
    is_fleets_own,
    measurement_metric,
)

__all__ = [
    "ACCELERATORS_MISSING",
    "ACCELERATORS_PRESENT",
    "ACCELERATORS_UNKNOWN",
    "APPENDED_DIMENSIONS",
    "BUSY_MARKS",
    "COLD_START_AGENT",
    "COLD_START_DRIVER",
    "COLD_START_FIRST_USE",
    "CPU_UTILIZATION",
    "DIMENSION_SETS",
    "DISK_UTILIZATION",
    "DRAINS_ABANDONED",
    "DRAINS_DONE",
    "DRAINS_TIMED_OUT",
    "DRAIN_METRICS",
    "ENERGY",
    "EXPIRES_TAG",
    "FAULT_LOG",
    "FLEET_TAG",
    "GROUP",
    "HEARTBEAT",
    "HOLD_TAG",
    "IDLE_SECONDS",
    "INSTANCE",
    "INSTANCES_RELEASED",
    "INSTANCE_METRICS",
    "LAUNCHES_STOPPED",
    "LOG_GROUP_PLACEHOLDER",
    "MEASUREMENTS",
    "MEMBERS_BUSY",
    "MEMBERS_HELD",
    "MEMBERS_IDLE",
    "MEMBERS_IDLE_DESPITE_WORK",
    "MEMBERS_RETAINED",
    "MEMBERS_UNKNOWN",
    "MEMORY_UTILIZATION",
    "NAMESPACE",
    "NETWORK_THROUGHPUT",
    "ORPHANS_FOUND",
    "ORPHAN_TAG",
    "ORPHAN_USD_PER_MONTH",
    "PASS_METRICS",
    "PERIOD_SECONDS",
    "SESSIONS",
    "SETUP_FAILURES",
    "STATSD_ADDRESS",
    "SWAP_UTILIZATION",
    "SWEEP_METRICS",
    "UNKNOWN_TAG",
    "is_fleets_own",
    "measurement_metric",
]

NAMESPACE = "AcceleratedFleet"
"""CloudWatch namespace of everything the library publishes."""

INSTANCE = "InstanceId"
"""Dimension of the series of one instance."""

GROUP = "AutoScalingGroupName"
"""Dimension of the series of one Auto Scaling group."""

DIMENSION_SETS = ((INSTANCE,), (GROUP,))
"""The roll-ups that the agent publishes. Every reader uses exactly one of these sets."""

APPENDED_DIMENSIONS = {GROUP: "${aws:AutoScalingGroupName}", INSTANCE: "${aws:InstanceId}"}
"""What the agent adds to every series; the values are placeholders that the agent replaces."""

PERIOD_SECONDS = 60
"""Unless a fleet asks for more, one sample per accelerator is published in this time."""

CPU_UTILIZATION = "cpu_usage_active"
"""Busy share of all CPU cores together, in percent."""

MEMORY_UTILIZATION = "mem_used_percent"
"""Used share of the instance's memory, in percent."""

DISK_UTILIZATION = "disk_used_percent"
"""Used share of the root file system, in percent."""

SWAP_UTILIZATION = "swap_used_percent"
"""Used share of the instance's swap space, in percent; nothing is published on an instance without any."""

LOG_GROUP_PLACEHOLDER = "@LOG_GROUP@"
"""Stands in the agent's configuration where the log group's name comes, which only the deploy settles."""

FLEET_TAG = "accelerated-fleet:id"
"""Tag on everything a fleet starts; its value is unique to stack and fleet."""

HOLD_TAG = "accelerated-fleet:hold"
"""A person's mark on an instance that must not be released: any value but ``false``."""

UNKNOWN_TAG = "accelerated-fleet:unknown"
"""The release handler's note on an instance that it cannot judge: since when, and in how many passes."""

ORPHAN_TAG = "accelerated-fleet:orphan"
"""The sweep's own note on what belongs to nothing: when it was first seen so."""

EXPIRES_TAG = "accelerated-fleet:expires"
"""A stack that carries this tag expires at the moment that its value names."""
