"""Metrics written as a log line (CloudWatch embedded metric format): no call, no permission, no failure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from runtime.structured_log import Json


def embedded_counts(
    *, namespace: str, dimensions: Mapping[str, str], counts: Mapping[str, int], at: datetime
) -> dict[str, Json]:
    """Return the document for `counts`, all under exactly one dimension set, so that an alarm can name it."""
    return {
        "_aws": {
            "Timestamp": int(at.timestamp() * 1000),
            "CloudWatchMetrics": [
                {
                    "Namespace": namespace,
                    "Dimensions": [list(dimensions)],
                    "Metrics": [{"Name": name, "Unit": "Count"} for name in counts],
                }
            ],
        },
        **dimensions,
        **counts,
    }
