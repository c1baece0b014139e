"""The formats a trace can be read from, and which of them a file has."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from constructs_lib.rehearsal.trace import Job, TraceError
from constructs_lib.rehearsal.traces import cluster_logs, plain, request_logs, servegen
from constructs_lib.rehearsal.traces.options import TraceOptions
from constructs_lib.rehearsal.traces.rows import Findings, Rows, header_names, named
from constructs_lib.validation import closest

Reader = Callable[[Rows, TraceOptions, Findings], Iterator[Job]]

JSON = "philly"
"""The one format that is not rows."""


@dataclass(frozen=True)
class Format:
    """One format.

    Attributes:
        description: one line for people.
        columns: the names in the header by which it is known; none if it has no header.
        read: goes through the jobs, in seconds from the first row.
        tokens: whether a row is a request, whose time follows from :class:`ServingRates`.
        models: whether requests to one of several models can be taken.
        drawn: whether the reader draws the jobs from rates, with scale and the part of the time that is taken applied.
    """

    description: str
    columns: tuple[str, ...]
    read: Reader
    tokens: bool = False
    models: bool = False
    drawn: bool = False


_FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        "jobs": Format(
            "arrival_s,service_s,accelerators: seconds from the start, seconds of work, accelerators",
            plain.COLUMNS,
            lambda rows, options, findings: plain.jobs(rows, findings),
        ),
        "azure-llm": Format(
            "Azure LLM inference trace 2023 or 2024: TIMESTAMP,ContextTokens,GeneratedTokens",
            request_logs.AZURE,
            request_logs.azure,
            tokens=True,
        ),
        "azure-llm-offsets": Format(
            "the same with seconds: offset_s,context_tokens,generated_tokens",
            request_logs.AZURE_OFFSETS,
            request_logs.azure_offsets,
            tokens=True,
        ),
        "burstgpt": Format(
            "BurstGPT: Timestamp,Model,Request tokens,Response tokens and others",
            request_logs.BURSTGPT,
            request_logs.burstgpt,
            tokens=True,
            models=True,
        ),
        "servegen": Format(
            "ServeGen rates of all clients: model,offset_s,rate_req_s,active_clients,rate_weighted_cv",
            servegen.RATES,
            servegen.rates,
            tokens=True,
            models=True,
            drawn=True,
        ),
        "servegen-chunk": Format(
            "ServeGen rates of one client, chunk-N-trace.csv, or the folder of a model's",
            (),
            servegen.chunk,
            tokens=True,
            models=True,
            drawn=True,
        ),
        JSON: Format(
            "Philly cluster_job_log, a list in JSON",
            (),
            lambda rows, options, findings: iter(()),  # it has no rows: read_json goes through its jobs
        ),
        "philly-run-times": Format(
            "quantiles of run times, quantile,runtime_s, as jobs at Philly's rate",
            cluster_logs.PHILLY_RUN_TIMES,
            cluster_logs.philly_run_times,
            drawn=True,
        ),
        "openb": Format(
            "Alibaba openb_pod_list of 2023: num_gpu,gpu_milli,creation_time,deletion_time,scheduled_time and others",
            cluster_logs.OPENB,
            lambda rows, options, findings: cluster_logs.openb(rows, findings),
        ),
        "openb-reduced": Format(
            "the same as submit_s,queue_s,duration_s,num_gpu,gpu_milli and others",
            cluster_logs.OPENB_REDUCED,
            lambda rows, options, findings: cluster_logs.openb_reduced(rows, findings),
        ),
    }
)

FORMATS: Mapping[str, str] = MappingProxyType({name: each.description for name, each in _FORMATS.items()})
"""What each format is, in a line, by name."""


def known(name: str) -> Format:
    """Return a format by name.

    Raises:
        TraceError: there is none of this name.
    """
    if name in _FORMATS:
        return _FORMATS[name]
    raise TraceError(
        f"trace: the format must be one of {', '.join(_FORMATS)}, got {name!r}; {closest(name, _FORMATS)}choose one"
    )


def of(rows: Rows) -> str:
    """Recognise the format by the first row.

    Raises:
        TraceError: it is none of them.
    """
    found = set(header_names(rows.first))
    if not rows.first:
        raise TraceError(f"{rows.where}: the trace must have at least one job, and it is empty")
    for name, each in _FORMATS.items():
        if each.columns and found.issuperset(header_names(list(each.columns))):
            return name
    if servegen.is_chunk(rows.first):
        return "servegen-chunk"
    if any(column in cell for cell in found for column in plain.COLUMNS):  # meant to be ours: say what is wrong
        return "jobs"
    others = ", ".join(name for name in _FORMATS if name != "jobs")
    raise TraceError(
        f"{rows.where}: the header must be that of a known format, got {named(rows.first)}; the first line of a file of"
        f" jobs is {','.join(plain.COLUMNS)}, and the other formats are {others}"
    )


def is_json(stream_start: str) -> bool:
    """Whether a file begins as a list in JSON."""
    return stream_start.lstrip("\ufeff \t\r\n").startswith("[")


def read_json(text: str, where: str, findings: Findings) -> Iterator[Job]:
    """Go through the jobs of the one format that is not rows."""
    return cluster_logs.philly(text, where, findings)
