"""What is measured, under which name, and how the CloudWatch agent on each instance is told to do it."""

from constructs_lib.telemetry import names
from constructs_lib.telemetry.agent import AgentConfiguration
from constructs_lib.telemetry.agent_rules import check
from constructs_lib.telemetry.alarm import positive_alarm
from constructs_lib.telemetry.kinds import NVIDIA, AcceleratorKind, Measurement, kind_of
from constructs_lib.telemetry.metrics import FleetMetrics
from constructs_lib.telemetry.options import Telemetry
from constructs_lib.telemetry.permissions import telemetry_statements
from constructs_lib.telemetry.widgets import fleet_widgets

__all__ = [
    "NVIDIA",
    "AcceleratorKind",
    "AgentConfiguration",
    "FleetMetrics",
    "Measurement",
    "Telemetry",
    "check",
    "fleet_widgets",
    "kind_of",
    "names",
    "positive_alarm",
    "telemetry_statements",
]
