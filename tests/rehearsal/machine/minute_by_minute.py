"""An agent that publishes each sample when it is due: slow, and what the held figures have to agree with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from constructs_lib.rehearsal.cloud.metrics import MetricStore
from constructs_lib.rehearsal.machine.agent import Agent, Figure, Tags
from constructs_lib.rehearsal.machine.load import Load
from constructs_lib.rehearsal.machine.node_program import METRIC_TYPES, Said

MINUTE = 60
Sent = tuple[int, str]
"""When in the minute, in seconds, and the line of StatsD."""


def publish_minute(
    agent: Agent, store: MetricStore, now: int, identity: Mapping[str, str], load: Load, lines: Iterable[Sent] = ()
) -> None:
    """Publish one minute of one instance, whose samples all carry its start.

    ``identity`` holds its values for the appended dimensions, ``lines`` is what programs on it send by StatsD.
    """
    if not load.agent:
        return
    for figure, held in agent.figures(load).items():
        for _ in range(MINUTE // held.every):
            _add(agent, store, now, identity, figure, held.value)
    for said in _aggregated(agent, lines):
        _add(agent, store, now, identity, agent.figure_of(said), said.value)


def _add(agent: Agent, store: MetricStore, now: int, identity: Mapping[str, str], figure: Figure, value: float) -> None:
    for key in agent.series_of(figure, identity):
        store.add(key, now, value)


def _aggregated(agent: Agent, lines: Iterable[Sent]) -> list[Said]:
    """Return the value of each bucket in each interval: the last of a gauge, which was sent in it, the sum of a
    counter."""
    buckets: dict[tuple[int, str, str, Tags], float] = {}
    for second, line in lines:
        name, metric_type, tags, value = _parsed(line)
        bucket = (second // agent.hears_every, name, metric_type, tags)
        before = buckets.get(bucket, 0.0) if metric_type == "counter" else 0.0
        buckets[bucket] = before + value
    return [Said(name, metric_type, tags, value) for (_, name, metric_type, tags), value in buckets.items()]


def _parsed(line: str) -> tuple[str, str, Tags, float]:
    """Return name, type, tags and value of a line of StatsD with DogStatsD's tags."""
    name, _, rest = line.partition(":")
    value, short_type, *extensions = rest.split("|")
    tags = (tag.partition(":") for each in extensions for tag in each.removeprefix("#").split(","))
    return name, METRIC_TYPES[short_type], tuple((key, said) for key, _, said in tags), float(value)
