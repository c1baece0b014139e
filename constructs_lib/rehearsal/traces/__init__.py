"""Traces of work: read from files, made from published figures, written."""

from __future__ import annotations

from constructs_lib.rehearsal.traces.formats import FORMATS
from constructs_lib.rehearsal.traces.generators import GENERATORS, generate
from constructs_lib.rehearsal.traces.options import ServingRates, TraceOptions
from constructs_lib.rehearsal.traces.read import read_trace
from constructs_lib.rehearsal.traces.write import write_trace

__all__ = ["FORMATS", "GENERATORS", "ServingRates", "TraceOptions", "generate", "read_trace", "write_trace"]
