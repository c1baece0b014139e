"""The rehearsal: what a fleet would do, cost and waste with a trace of work, before it is deployed.

Jobs come and go in continuous time, AWS moves once a minute. Alarms, sizes, schedules and the handlers' settings are
read out of the template, and the handlers' own code is run.

A name is imported when it is first asked for: a trace is read and made without what it takes to play it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from constructs_lib.late_names import late_names

if TYPE_CHECKING:
    from constructs_lib.rehearsal.cold_start import ColdStart, Start
    from constructs_lib.rehearsal.cost import Prices
    from constructs_lib.rehearsal.report import Rehearsal, Way
    from constructs_lib.rehearsal.run import rehearse
    from constructs_lib.rehearsal.simulate import Scenario
    from constructs_lib.rehearsal.trace import Job, Trace, TraceError
    from constructs_lib.rehearsal.traces import (
        FORMATS,
        GENERATORS,
        ServingRates,
        TraceOptions,
        generate,
        read_trace,
        write_trace,
    )

__all__ = [
    "FORMATS",
    "GENERATORS",
    "ColdStart",
    "Job",
    "Prices",
    "Rehearsal",
    "Scenario",
    "ServingRates",
    "Start",
    "Trace",
    "TraceError",
    "TraceOptions",
    "Way",
    "generate",
    "read_trace",
    "rehearse",
    "write_trace",
]

_MODULES = {
    "cold_start": ("ColdStart", "Start"),
    "cost": ("Prices",),
    "report": ("Rehearsal", "Way"),
    "run": ("rehearse",),
    "simulate": ("Scenario",),
    "trace": ("Job", "Trace", "TraceError"),
    "traces": ("FORMATS", "GENERATORS", "ServingRates", "TraceOptions", "generate", "read_trace", "write_trace"),
}


__getattr__ = late_names(__name__, globals(), _MODULES)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
