"""Every name under which something is published or found, said once.

The agent's configuration, the alarms, the handlers' settings, the dashboard and the rehearsal all read this
module; a name written anywhere else is a fault (field case 5: an alarm that watches a series nobody
publishes).
"""

from __future__ import annotations

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
"""The agent publishes one sample per accelerator in this time; no reader may use a shorter period."""

CPU_UTILIZATION = "cpu_usage_active"
"""Busy share of all CPU cores together, in percent."""

MEMORY_UTILIZATION = "mem_used_percent"
"""Used share of the instance's memory, in percent."""

DISK_UTILIZATION = "disk_used_percent"
"""Used share of the root file system, in percent."""

HEARTBEAT = MEMORY_UTILIZATION
"""Published whenever the agent lives, whether or not the accelerator can be read."""

ACCELERATOR_UNREADABLE = "accelerator_unreadable"
"""Published, instead of the accelerator's own metrics, by an instance whose driver did not answer at boot.

Its presence is the message: one sample per instance and period. The value carries no meaning.
"""

MEMBERS_BUSY = "MembersBusy"
MEMBERS_IDLE = "MembersIdle"
MEMBERS_UNKNOWN = "MembersUnknown"
MEMBERS_HELD = "MembersHeld"
MEMBERS_IDLE_DESPITE_WORK = "MembersIdleDespiteWork"
INSTANCES_RELEASED = "InstancesReleased"
"""These six are published by the release handler for its group, once per pass over a group that is not empty."""

FLEET_TAG = "accelerated-fleet:id"
"""Tag on everything a fleet starts; its value is unique to stack and fleet."""

HOLD_TAG = "accelerated-fleet:hold"
"""A person's mark on an instance that must not be released: any value but ``false``."""
