"""What the program publishes, under which name, and where its files lie. The constructs read this module too."""

from __future__ import annotations

STATSD_ADDRESS = "127.0.0.1:8125"
"""Where the CloudWatch agent listens: on this machine only."""

MEASUREMENT_PREFIX = "accelerator_"
"""Stands before each figure of one accelerator; such a series has the dimension `index`."""

UTILIZATION = "utilization"
"""How busy an accelerator is, percent."""

TRANSFERS = "transfers"
"""Transfers over an accelerator's bus and memory ports since the last reading, for kinds that know no percentage."""

MEMORY_USED = "memory_used"
"""Used memory of an accelerator, MiB."""

POWER = "power"
"""Power that an accelerator draws, W."""

TEMPERATURE = "temperature"
"""Temperature of an accelerator, degrees Celsius."""

MEASUREMENTS = (UTILIZATION, TRANSFERS, MEMORY_USED, POWER, TEMPERATURE)

HEARTBEAT = "node_heartbeat"
"""1 for each reading in which at least one accelerator answered. It stops when readings stop."""

ACCELERATORS_PRESENT = "accelerators_present"
"""How many accelerators the kind's tool lists."""

ACCELERATORS_MISSING = "accelerators_missing"
"""How many of those that the instance type has do not answer."""

ACCELERATORS_UNKNOWN = "accelerators_unknown"
"""How many of those that the instance type has did not tell their use: the missing ones, and those of which nobody can
read it (MIG). While there is one, the others say nothing about the instance."""

IDLE_SECONDS = "accelerator_idle_seconds"
"""Time since any accelerator of the instance was in use, or somebody held a busy mark."""

ENERGY = "accelerator_energy_joules"
"""Energy that the accelerators took since the last reading, a counter: the sum over any time is the energy in it."""

BUSY_MARKS = "busy_marks"
"""How many programs say that the instance is busy."""

SESSIONS = "interactive_sessions"
"""How many people are logged in."""

NETWORK_THROUGHPUT = "network_bytes_per_second"
"""Traffic of the instance, in and out together, since the last reading."""

SETUP_FAILURES = "setup_failures"
"""How many settings of the machine that were asked for are not in force."""

COLD_START_DRIVER = "cold_start_driver_seconds"
"""From the launch to the driver's first answer; once in an instance's life."""

COLD_START_AGENT = "cold_start_agent_seconds"
"""From the launch to the agent's start; once in an instance's life."""

COLD_START_FIRST_USE = "cold_start_first_use_seconds"
"""From the launch to the first use of an accelerator; once in an instance's life."""

INSTANCE_METRICS = (
    HEARTBEAT,
    ACCELERATORS_PRESENT,
    ACCELERATORS_MISSING,
    ACCELERATORS_UNKNOWN,
    IDLE_SECONDS,
    ENERGY,
    BUSY_MARKS,
    SESSIONS,
    SETUP_FAILURES,
    COLD_START_DRIVER,
    COLD_START_AGENT,
    COLD_START_FIRST_USE,
)
"""Everything that each instance publishes once, without the dimension `index`; `NETWORK_THROUGHPUT` only if asked."""

MEMBERS_BUSY = "MembersBusy"
MEMBERS_IDLE = "MembersIdle"
MEMBERS_UNKNOWN = "MembersUnknown"
MEMBERS_HELD = "MembersHeld"
MEMBERS_IDLE_DESPITE_WORK = "MembersIdleDespiteWork"
INSTANCES_RELEASED = "InstancesReleased"
MEMBERS_RETAINED = "MembersRetained"
"""Members that a failed hook has left behind: they bill beside their replacements."""
LAUNCHES_STOPPED = "LaunchesStopped"
"""1 while launches are stopped because so many in a row came to nothing, else 0."""
DRAINS_ABANDONED = "DrainsAbandoned"
"""Drains that the release handler ended because the machine was gone."""
PASS_METRICS = (
    MEMBERS_BUSY,
    MEMBERS_IDLE,
    MEMBERS_UNKNOWN,
    MEMBERS_HELD,
    MEMBERS_IDLE_DESPITE_WORK,
    INSTANCES_RELEASED,
    MEMBERS_RETAINED,
    LAUNCHES_STOPPED,
    DRAINS_ABANDONED,
)
"""These are published by the release handler for its group, once per pass over a group that is not empty."""

DRAINS_DONE = "DrainsDone"
DRAINS_TIMED_OUT = "DrainsTimedOut"
DRAIN_METRICS = (DRAINS_DONE, DRAINS_TIMED_OUT)
"""An instance publishes one of these for its group when it has drained, or when its time to do so is over."""

ORPHANS_FOUND = "OrphansFound"
ORPHAN_USD_PER_MONTH = "OrphanUsdPerMonth"
SWEEP_METRICS = (ORPHANS_FOUND, ORPHAN_USD_PER_MONTH)
"""Both are published for the fleet's group, once for each complete sweep for orphans."""

OWN_PREFIXES = (
    MEASUREMENT_PREFIX,
    "nvidia_smi_",
    "cpu_",
    "mem_",
    "disk_",
    "swap_",
    "efa_",
    "ethtool_",
    "procstat_",
)
"""What the program and the agent publish for the fleet begins so."""

SETTINGS_FILE = "/etc/accelerated-fleet/node.json"
STATE_DIRECTORY = "/run/accelerated-fleet"
"""In memory: what may be forgotten when the machine restarts."""
BUSY_DIRECTORY = f"{STATE_DIRECTORY}/busy"
DRIVER_READY = f"{STATE_DIRECTORY}/driver-ready"
AGENT_READY = f"{STATE_DIRECTORY}/agent-ready"
SETUP_REPORT = f"{STATE_DIRECTORY}/setup.json"
STATUS_FILE = f"{STATE_DIRECTORY}/status.json"
OPEN_FILES = f"{STATE_DIRECTORY}/open-files"
"""The boot script was started before the limit was set, and gives the workload that it starts this one."""
LIFE_DIRECTORY = "/var/lib/accelerated-fleet"
"""On disk: what is true for the whole life of the instance."""
FAULT_LOG = "/var/log/accelerated-fleet/faults.log"
"""Lines of the kernel log that tell of a faulty accelerator."""
DRAINING = f"{STATE_DIRECTORY}/draining"
"""There while the instance drains: JSON with the reason and the deadline."""
DRAIN_MEMORY = f"{LIFE_DIRECTORY}/drain.json"
"""On disk, so that a machine that restarts in the middle of a drain goes on with it."""

DRAIN_HOOK = "Drain"
"""Name of the group's termination hook, which the instance completes when it has drained."""
DRAIN_SIGNALS = ("SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM", "SIGUSR1", "SIGUSR2")
"""What can be sent to whoever holds a busy mark: those that `accelerated-node busy` passes on."""


def measurement_metric(measurement: str) -> str:
    """Return the name of the metric that a figure of one accelerator becomes."""
    return f"{MEASUREMENT_PREFIX}{measurement}"


def is_fleets_own(name: str) -> bool:
    """Whether the fleet publishes under this name, or may: its figures must not be mixed with an application's."""
    own = (*INSTANCE_METRICS, NETWORK_THROUGHPUT, *PASS_METRICS, *DRAIN_METRICS, *SWEEP_METRICS)
    return name in own or name.startswith(OWN_PREFIXES)
