"""What the node program of an instance would send: its own reader and core, run on a report that the demo makes up."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from constructs_lib.node.derived import Counts, State, derive
from constructs_lib.node.readers import reader_of
from constructs_lib.node.readings import Output
from constructs_lib.node.settings import Settings
from constructs_lib.node.statsd import Metric
from demo.agent import Load

_REPORT = """<?xml version="1.0" ?>
<nvidia_smi_log>
  <gpu id="00000000:31:00.0">
    <product_name>NVIDIA L4</product_name>
    <fb_memory_usage>
      <total>{nvidia_smi_memory_total:g} MiB</total>
      <used>{nvidia_smi_memory_used:g} MiB</used>
    </fb_memory_usage>
    <utilization><gpu_util>{nvidia_smi_utilization_gpu:g} %</gpu_util></utilization>
    <temperature><gpu_temp>{nvidia_smi_temperature_gpu:g} C</gpu_temp></temperature>
    <gpu_power_readings><power_draw>{nvidia_smi_power_draw:g} W</power_draw></gpu_power_readings>
  </gpu>
</nvidia_smi_log>
"""


def sent(settings: Settings, instance_type: str, load: Load, minutes: Sequence[datetime]) -> list[tuple[Metric, ...]]:
    """What is sent in each of the minutes, which follow each other.

    Args:
        settings: of the program, as deployed.
        instance_type: of the instance; the settings say how many accelerators it has.
        load: how the instance is used.
        minutes: when the readings are taken.

    Raises:
        KeyError: the program was not told of this instance type.
    """
    answer = reader_of(settings.kind).parse([Output(0, _REPORT.format_map(load.values))])
    counts = Counts(settings.expected[instance_type], busy_marks=load.busy_marks, sessions=0)
    state, found = State(), []
    for minute in minutes:
        outcome = derive(settings, state, answer, counts, minute.timestamp())
        state = outcome.state
        found.append(outcome.metrics)
    return found
