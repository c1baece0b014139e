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

SETUP_FAILURES = "setup_failures"
"""How many settings of the machine that were asked for are not in force."""

COLD_START_DRIVER = "cold_start_driver_seconds"
COLD_START_AGENT = "cold_start_agent_seconds"
COLD_START_FIRST_USE = "cold_start_first_use_seconds"
"""From the launch to the driver's first answer, the agent's start, the first use. Each once in an instance's life."""

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
"""Everything that is published once for an instance, without the dimension `index`."""

SETTINGS_FILE = "/etc/accelerated-fleet/node.json"
STATE_DIRECTORY = "/run/accelerated-fleet"
"""In memory: what may be forgotten when the machine restarts."""
BUSY_DIRECTORY = f"{STATE_DIRECTORY}/busy"
DRIVER_READY = f"{STATE_DIRECTORY}/driver-ready"
AGENT_READY = f"{STATE_DIRECTORY}/agent-ready"
SETUP_REPORT = f"{STATE_DIRECTORY}/setup.json"
STATUS_FILE = f"{STATE_DIRECTORY}/status.json"
LIFE_DIRECTORY = "/var/lib/accelerated-fleet"
"""On disk: what is true for the whole life of the instance."""
FAULT_LOG = "/var/log/accelerated-fleet/faults.log"
"""Lines of the kernel log that tell of a faulty accelerator."""


def measurement_metric(measurement: str) -> str:
    """Return the name of the metric that a figure of one accelerator becomes."""
    return f"{MEASUREMENT_PREFIX}{measurement}"
