"""The figures that the node program publishes of accelerators, each in the range that its readers let through."""

from __future__ import annotations

from constructs_lib.agent.kinds.description import Measurement
from constructs_lib.node import names
from constructs_lib.node.readers import figures

UTILIZATION = Measurement(names.UTILIZATION, "%", maximum=100, standard=True)
TRANSFERS = Measurement(names.TRANSFERS, "transfers", standard=True)
MEMORY_USED = Measurement(names.MEMORY_USED, "MiB", standard=True)
POWER = Measurement(names.POWER, "W", maximum=figures.HIGHEST_POWER_WATTS, standard=True)
TEMPERATURE = Measurement(
    names.TEMPERATURE,
    "°C",
    minimum=figures.LOWEST_TEMPERATURE_CELSIUS,
    maximum=figures.HIGHEST_TEMPERATURE_CELSIUS,
    standard=True,
)
