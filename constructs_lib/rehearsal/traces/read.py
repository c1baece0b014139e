"""A file, a pipe or a folder to a trace."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import TextIO

from constructs_lib.collecting import without_collecting
from constructs_lib.rehearsal.trace import Job, Trace, TraceError
from constructs_lib.rehearsal.traces import formats, servegen
from constructs_lib.rehearsal.traces.merge import merged
from constructs_lib.rehearsal.traces.options import TraceOptions
from constructs_lib.rehearsal.traces.rows import Findings, Rows, decoding, opened
from constructs_lib.validation import instance_of

_WHERE = "read_trace"


def read_trace(file: str | Path | TextIO, *, trace_format: str = "", options: TraceOptions | None = None) -> Trace:
    """Read a trace.

    Args:
        file: the path of a file, compressed with gzip or not, or of a folder of ServeGen's; or a stream of text that is
            open, such as standard input.
        trace_format: one of :data:`FORMATS`. Default: the one that the header tells.
        options: which part of the file becomes the trace, and how. Default: all of it, as it is.

    Returns:
        The jobs in the order of their arrival. ``source`` says what was assumed and left out.

    Raises:
        TraceError: the file cannot be read, has none of the formats or no job, or rows that are no jobs and nobody has
            asked to skip.
        ArgumentError: an argument has the wrong type.
    """
    chosen = options or TraceOptions()
    instance_of(_WHERE, "options", chosen, TraceOptions, cure="pass TraceOptions(...)")
    if trace_format:
        formats.known(trace_format)
    findings = Findings()
    findings.keep_all = chosen.skip_bad
    if not isinstance(file, (str, Path)):
        where = str(getattr(file, "name", "") or "trace")
        with decoding(where):
            return _read(file, where, "trace", trace_format, chosen, findings)
    path = Path(file)
    name = path.name.removesuffix(".gz").removesuffix(".csv") or str(path)
    if _is_folder(path) and trace_format in ("", "servegen-chunk"):
        jobs = servegen.chunks(path, chosen, findings)
        return _trace(jobs, str(path), name, "servegen-chunk", [], chosen, findings)
    with decoding(str(path)), opened(path) as stream:
        return _read(stream, str(path), name, trace_format, chosen, findings)


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # what is wrong with the name is said when the file is opened
        return False


def _read(stream: TextIO, where: str, name: str, trace_format: str, options: TraceOptions, findings: Findings) -> Trace:
    lines = iter(stream)
    beginning = list(_to_first_text(lines))
    if trace_format == formats.JSON or (not trace_format and formats.is_json("".join(beginning))):
        findings.unit = "job"
        jobs = formats.read_json("".join(chain(beginning, lines)), where, findings)
        return _trace(jobs, where, name, formats.JSON, [], options, findings)
    rows = Rows(chain(beginning, lines), where, findings)
    of_format = trace_format or formats.of(rows)
    jobs = formats.known(of_format).read(rows, options, findings)
    return _trace(jobs, where, name, of_format, rows.comments, options, findings)


def _to_first_text(lines: Iterator[str]) -> Iterator[str]:
    for line in lines:
        yield line
        if line.strip("\ufeff \t\r\n"):
            return


def _trace(
    jobs: Iterable[Job],
    where: str,
    name: str,
    of_format: str,
    comments: list[str],
    options: TraceOptions,
    findings: Findings,
) -> Trace:
    read = formats.known(of_format)
    if options.model and not read.models:
        raise TraceError(f"{where}: model must be left out, got {options.model!r}; a file of {of_format} names none")
    with without_collecting():
        found = tuple(_taken(jobs, options, drawn=read.drawn))
    if not options.skip_bad:
        findings.stop(where)
    if not found:
        raise TraceError(f"{where}: the trace must have at least one job, and it has none{_why(findings)}")
    early = min(job.arrival_s for job in found)
    if early < 0:  # rows that stand after the first one and came before it
        found = tuple(job._replace(arrival_s=job.arrival_s - early) for job in found)
    said = [*comments] if of_format == "jobs" and comments else [f"{Path(where).name} ({of_format})"]
    if read.tokens:
        said.append(options.rates.describe())
    said.extend(findings.sentences())
    return Trace(found, name, "; ".join(said), tuple(findings.bad))


def _why(findings: Findings) -> str:
    reasons = findings.sentences()
    if findings.bad_count:
        reasons.append(f"{findings.bad_count} rows that are no jobs skipped")
    return f" ({'; '.join(reasons)})" if reasons else ""


def _taken(jobs: Iterable[Job], options: TraceOptions, *, drawn: bool) -> Iterator[Job]:
    taken: Iterator[Job] = iter(jobs)
    if not drawn:
        taken = _part(taken, options)
    if options.merge_s:
        taken = merged(taken, options.merge_s)
    if options.stretch != 1:
        taken = (job._replace(arrival_s=job.arrival_s * options.stretch) for job in taken)
    return taken if options.limit_jobs is None else islice(taken, options.limit_jobs)


def _part(jobs: Iterator[Job], options: TraceOptions) -> Iterator[Job]:
    if options.scale > 1:
        raise TraceError(
            f"trace: scale must be at most 1 for a log of single jobs, got {options.scale:g};"
            f" shorten the gaps instead, for example stretch={1 / options.scale:g}"
        )
    if options.from_s or options.limit_s is not None:
        jobs = (job._replace(arrival_s=job.arrival_s - options.from_s) for job in jobs if options.holds(job.arrival_s))
    if options.scale < 1:
        dice = random.Random(f"{options.seed}:share")
        jobs = (job for job in jobs if dice.random() < options.scale)
    return jobs
