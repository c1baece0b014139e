"""What is measured, under which name, and how the CloudWatch agent on each instance is told to do it."""

from constructs_lib.agent.kinds import AcceleratorKind, Measurement, kind_named, kind_of
from constructs_lib.agent.kinds.nvidia import KIND as NVIDIA
from constructs_lib.agent.rules import check
from constructs_lib.telemetry import names
from constructs_lib.telemetry.agent import AgentConfiguration
from constructs_lib.telemetry.alarm import positive_alarm
from constructs_lib.telemetry.billing import billed_metrics
from constructs_lib.telemetry.logs import FleetLogs
from constructs_lib.telemetry.metrics import FleetMetrics
from constructs_lib.telemetry.options import Telemetry
from constructs_lib.telemetry.permissions import log_statement, telemetry_statements
from constructs_lib.telemetry.widgets import fleet_widgets

__all__ = [
    "NVIDIA",
    "AcceleratorKind",
    "AgentConfiguration",
    "FleetLogs",
    "FleetMetrics",
    "Measurement",
    "Telemetry",
    "billed_metrics",
    "check",
    "fleet_widgets",
    "kind_named",
    "kind_of",
    "log_statement",
    "names",
    "positive_alarm",
    "telemetry_statements",
]
