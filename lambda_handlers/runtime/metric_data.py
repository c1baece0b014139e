"""CloudWatch's GetMetricData: the shape of its questions and answers, and all pages of one answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Protocol, TypedDict

from runtime.patience import Patience


class Dimension(TypedDict):
    Name: str
    Value: str


class Metric(TypedDict):
    Namespace: str
    MetricName: str
    Dimensions: list[Dimension]


class MetricStat(TypedDict):
    Metric: Metric
    Period: int
    Stat: str


class MetricQuery(TypedDict):
    Id: str
    MetricStat: MetricStat
    ReturnData: bool


class MetricResult(TypedDict, total=False):
    Id: str
    StatusCode: str
    Timestamps: list[datetime]
    Values: list[float]


class Message(TypedDict, total=False):
    Code: str
    Value: str


class MetricPage(TypedDict, total=False):
    MetricDataResults: list[MetricResult]
    NextToken: str
    Messages: list[Message]


class MetricClient(Protocol):
    """The call that reads metrics."""

    def get_metric_data(
        self,
        *,
        MetricDataQueries: Sequence[MetricQuery],
        StartTime: datetime,
        EndTime: datetime,
        NextToken: str = ...,
    ) -> MetricPage: ...


def metric_pages(
    client: MetricClient,
    queries: Sequence[MetricQuery],
    start: datetime,
    end: datetime,
    patience: Patience,
    doing: str,
) -> Iterator[MetricPage]:
    """Yield each page of the answer; `doing` says what for, should the time run out."""
    token: str | None = None
    while True:
        more = {} if token is None else {"NextToken": token}

        def ask(more: Mapping[str, str] = more) -> MetricPage:
            return client.get_metric_data(MetricDataQueries=queries, StartTime=start, EndTime=end, **more)

        page = patience.call(doing, ask)
        yield page
        token = page.get("NextToken")
        if not token:
            return
