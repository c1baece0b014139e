"""The tables beside this module: what generators and loaders of rates are made to agree with."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

from constructs_lib.catalog.tables import read_from
from constructs_lib.rehearsal.traces.quantiles import Quantiles

_FOLDER = Path(__file__).resolve().parent / "data"
_PERCENTILES = {"p5": 0.05, "p25": 0.25, "p50": 0.5, "p75": 0.75, "p90": 0.9, "p95": 0.95, "p99": 0.99}


@cache
def figures() -> Mapping[str, float]:
    """Single figures by name."""
    return MappingProxyType({row["figure"]: float(row["value"]) for row in read_from(_FOLDER, "figures.csv")})


@cache
def hours(model: str) -> tuple[float, ...]:
    """What an hour of the day has of requests to a model, as a share of the mean hour: 24 of them."""
    return tuple(float(row[model]) for row in read_from(_FOLDER, "hours.csv"))


@cache
def philly_run_times() -> Quantiles:
    """Seconds that jobs of deep learning ran on Philly."""
    rows = read_from(_FOLDER, "philly_run_times.csv")
    return Quantiles([(float(row["quantile"]), float(row["seconds"])) for row in rows])


@cache
def azure_answers() -> Quantiles:
    """Tokens of the answers that a conversation service of Azure gave."""
    rows = read_from(_FOLDER, "azure_answers.csv")
    return Quantiles([(float(row["quantile"]), float(row["tokens"])) for row in rows])


@cache
def token_lengths() -> Mapping[str, tuple[tuple[Quantiles, ...], Quantiles]]:
    """By model: the tokens that add up to a request, and those of its answer."""
    prompts: dict[str, tuple[Quantiles, ...]] = {}
    answers: dict[str, Quantiles] = {}
    for row in read_from(_FOLDER, "token_lengths.csv"):
        known = [(share, float(row[name])) for name, share in _PERCENTILES.items()]
        tokens = Quantiles.with_mean(known, float(row["mean"]))
        if row["figure"] == "output_tokens":
            answers[row["model"]] = tokens
        else:
            prompts[row["model"]] = (*prompts.get(row["model"], ()), tokens)
    return MappingProxyType({model: (prompts[model], answers[model]) for model in prompts})
