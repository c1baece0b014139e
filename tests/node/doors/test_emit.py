"""Application metrics: names, single values, and lines of embedded metric format."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructs_lib.node import names
from constructs_lib.node.application import MetricError, application_metric, check_name
from constructs_lib.node.embedded_format import LONGEST_LINE_BYTES, metrics_of
from constructs_lib.node.emit import emit_stream, emit_value
from constructs_lib.node.statsd import COUNTER, GAUGE, TIMING, Metric


class Agent:
    """Takes metrics, or refuses some."""

    def __init__(self, refusals: int = 0) -> None:
        self.metrics: list[Metric] = []
        self._refusals = refusals

    def send(self, metrics: Iterable[Metric]) -> None:
        if self._refusals:
            self._refusals -= 1
            raise ConnectionRefusedError(111, "Connection refused")
        self.metrics += metrics


def _line(metrics: Any = None, **members: Any) -> bytes:
    """A line of embedded metric format as the specification has it."""
    directive = {"Namespace": "app", "Dimensions": [["service"]], "Metrics": metrics}
    return json.dumps({"_aws": {"Timestamp": 1700000000000, "CloudWatchMetrics": [directive]}, **members}).encode()


def _emit(*lines: bytes, agent: Agent | None = None) -> tuple[int, list[Metric], list[str]]:
    agent, errors = agent or Agent(), io.StringIO()
    status = emit_stream(io.BytesIO(b"\n".join(lines)), agent.send, errors)
    return status, agent.metrics, errors.getvalue().splitlines()


@pytest.mark.parametrize(
    ("unit", "value", "sent", "type_letter"),
    [
        ("Milliseconds", 12.5, 12.5, TIMING),
        ("Seconds", 0.25, 250, TIMING),
        ("Microseconds", 1500, 1.5, TIMING),
        ("Count", 3, 3, COUNTER),
        ("Count", -3, -3, COUNTER),
        ("Percent", 97.5, 97.5, GAUGE),
        ("Bytes/Second", 1e9, 1e9, GAUGE),
        ("Gigabits", 2, 2, GAUGE),
        ("Count/Second", 31.25, 31.25, GAUGE),
        ("None", -40, -40, GAUGE),
    ],
)
def test_the_unit_decides_how_a_value_is_sent(unit: str, value: float, sent: float, type_letter: str) -> None:
    line = _line([{"Name": "figure", "Unit": unit}], figure=value, service="ignored")

    assert _emit(line) == (0, [Metric("figure", pytest.approx(sent), type_letter)], [])  # type: ignore[arg-type]


def test_without_a_unit_it_is_a_gauge() -> None:
    assert _emit(_line([{"Name": "batch_size"}], batch_size=64))[1] == [Metric("batch_size", 64, GAUGE)]


def test_each_value_of_an_array_is_sent() -> None:
    line = _line([{"Name": "latency", "Unit": "Milliseconds", "StorageResolution": 1}], latency=[1, 2.5, 40])

    assert [metric.value for metric in _emit(line)[1]] == [1, 2.5, 40]


def test_several_directives_give_each_metric_once() -> None:
    """Here they differ in dimensions only; sent twice, a count would double."""
    directives = [
        {"Namespace": "app", "Dimensions": [[d]], "Metrics": [{"Name": "requests", "Unit": "Count"}]} for d in "ab"
    ]
    directives.append({"Namespace": "app", "Dimensions": [[]], "Metrics": [{"Name": "depth"}]})
    line = json.dumps({"_aws": {"Timestamp": 0, "CloudWatchMetrics": directives}, "requests": 5, "depth": 2}).encode()

    assert _emit(line) == (0, [Metric("requests", 5, COUNTER), Metric("depth", 2, GAUGE)], [])


def test_bad_lines_are_told_by_number_and_the_good_ones_sent() -> None:
    good = _line([{"Name": "depth"}], depth=2)

    status, metrics, errors = _emit(good, b"starting up", b"", b"   ", good, b"[1]", b"{}", good + b"x", good)

    assert status == 1
    assert metrics == [Metric("depth", 2, GAUGE)] * 3
    assert [error.split(": ")[1] for error in errors] == ["line 2", "line 6", "line 7", "line 8"]


def test_a_bad_metric_does_not_cost_the_others_of_its_line() -> None:
    line = _line(
        [{"Name": "gone"}, {"Name": "bad name"}, {"Name": "depth"}, {"Name": "x", "Unit": "Hours"}], depth=2, x=1
    )

    status, metrics, errors = _emit(line)

    assert status == 1
    assert metrics == [Metric("depth", 2, GAUGE)]
    assert len(errors) == 3


@pytest.mark.parametrize("value", ["12", True, None, {}, [1, "2"], [[1]], 10**400, 2**361])
def test_what_is_no_number_is_never_sent(value: Any) -> None:
    status, metrics, errors = _emit(_line([{"Name": "figure"}], figure=value))

    assert (status, metrics, len(errors)) == (1, [], 1)
    assert "figure" in errors[0]


@pytest.mark.parametrize("text", [b"NaN", b"Infinity", b"-Infinity", b"1e999"])
def test_numbers_that_are_none_are_never_sent(text: bytes) -> None:
    line = _line([{"Name": "figure"}], figure=7).replace(b"7", text)

    assert _emit(line)[:2] == (1, [])


@pytest.mark.parametrize(
    ("unit", "value"), [("Count", 0.5), ("Count", 2**53 + 2), ("Seconds", -1), ("Seconds", 2.0**359)]
)
def test_what_the_agent_would_cut_or_refuse_is_told(unit: str, value: float) -> None:
    """It makes whole numbers of counts, and ignores a duration below zero."""
    assert _emit(_line([{"Name": "figure", "Unit": unit}], figure=value))[:2] == (1, [])


def test_two_units_of_one_metric_are_told() -> None:
    status, metrics, errors = _emit(_line([{"Name": "a", "Unit": "Count"}, {"Name": "a", "Unit": "Bytes"}], a=1))

    assert (status, metrics) == (1, [Metric("a", 1, COUNTER)])
    assert "one unit" in errors[0]


@pytest.mark.parametrize(
    "document",
    [
        {"_aws": None},
        {"_aws": {"CloudWatchMetrics": {}}},
        {"_aws": {"CloudWatchMetrics": [1]}},
        {"_aws": {"CloudWatchMetrics": [{}]}},
        {"_aws": {"CloudWatchMetrics": [{"Metrics": ["latency"]}]}},
        {"latency": 1},
    ],
)
def test_json_that_is_not_embedded_format_is_told(document: Any) -> None:
    status, metrics, errors = _emit(json.dumps(document).encode())

    assert (status, metrics, len(errors)) == (1, [], 1)


def test_a_line_too_long_is_left_out_and_the_next_one_read() -> None:
    good = _line([{"Name": "depth"}], depth=2)
    long = _line([{"Name": "depth"}], depth=1, text="x" * 3 * LONGEST_LINE_BYTES)

    status, metrics, errors = _emit(long, good)

    assert (status, metrics) == (1, [Metric("depth", 2, GAUGE)])
    assert errors[0].startswith("accelerated-node emit: line 1: ")
    assert len(errors[0]) < 300


@pytest.mark.parametrize("line", [b"\xff\xfe{}", b"[" * 100_000, b'"\\ud800"', b"9" * 5000, b"\x1b[2J"])
def test_hostile_lines_are_told_without_control_characters(line: bytes) -> None:
    status, metrics, errors = _emit(line)

    assert (status, metrics, len(errors)) == (1, [], 1)
    assert errors[0].isprintable()


def test_each_line_is_sent_as_it_comes() -> None:
    """The stream of a program that runs for days does not end."""
    agent, sent_before = Agent(), []
    good = _line([{"Name": "depth"}], depth=2) + b"\n"

    class Stream(io.BytesIO):
        def readline(self, size: int | None = -1, /) -> bytes:
            sent_before.append(len(agent.metrics))
            return super().readline(size)

    emit_stream(Stream(good * 3), agent.send, io.StringIO())

    assert sent_before == [0, 1, 2, 3]


def test_an_agent_that_does_not_listen_is_told_and_later_lines_are_sent() -> None:
    good = _line([{"Name": "depth"}], depth=2)

    status, metrics, errors = _emit(good, good, agent=Agent(refusals=1))

    assert (status, len(metrics)) == (1, 1)
    assert "line 1: not sent" in errors[0]


@pytest.mark.parametrize(
    ("type_name", "value", "metric"),
    [
        ("gauge", "12.5", Metric("depth", 12.5, GAUGE)),
        ("gauge", "-1e-3", Metric("depth", -0.001, GAUGE)),
        ("counter", "3", Metric("depth", 3, COUNTER)),
        ("timing", ".5", Metric("depth", 0.5, TIMING)),
    ],
)
def test_a_single_value(type_name: str, value: str, metric: Metric) -> None:
    agent = Agent()

    assert emit_value("depth", value, type_name, agent.send, io.StringIO()) == 0
    assert agent.metrics == [metric]


@pytest.mark.parametrize("value", ["", "nan", "inf", "1_000", "0x10", " 1", "1|c", "1\n", "\u0661", "1e9999"])
def test_a_single_value_that_is_no_number_is_told(value: str) -> None:
    agent, errors = Agent(), io.StringIO()

    assert emit_value("depth", value, "gauge", agent.send, errors) == 1
    assert agent.metrics == []
    assert "must be a number" in errors.getvalue()


def test_a_single_value_that_nobody_takes_is_told() -> None:
    errors = io.StringIO()

    assert emit_value("depth", "1", "gauge", Agent(refusals=1).send, errors) == 1
    assert "Connection refused" in errors.getvalue()


@pytest.mark.parametrize("name", ["latency", "Latency_99", "p", "x" * 200, "busy"])
def test_names_that_an_application_may_use(name: str) -> None:
    assert check_name(name) == name


@pytest.mark.parametrize("name", ["", "a b", "a.b", "a:1|c", "a\n", "größe", "x" * 201, 7, None])
def test_names_that_statsd_or_cloudwatch_would_not_keep_are_refused(name: object) -> None:
    with pytest.raises(MetricError, match="must be 1 to 200"):
        check_name(name)


@pytest.mark.parametrize(
    "name",
    [
        *names.INSTANCE_METRICS,
        *(names.measurement_metric(measurement) for measurement in names.MEASUREMENTS),
        "nvidia_smi_utilization_gpu",
        "cpu_usage_active",
        "mem_used_percent",
        "efa_tx_bytes",
        "ethtool_pps_allowance_exceeded",
        "MembersIdle",
    ],
)
def test_what_the_fleet_judges_by_cannot_be_forged_by_accident(name: str) -> None:
    with pytest.raises(MetricError, match="fleet's own"):
        check_name(name)
    with pytest.raises(MetricError, match="fleet's own"):
        application_metric(name, 0, GAUGE)
    assert _emit(_line([{"Name": name}], **{name: 0}))[:2] == (1, [])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(["a", "Count", "Seconds"]),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.sampled_from(["Name", "Unit", "a"]), inner),
    max_leaves=8,
)


@given(metrics=JSON | st.lists(st.fixed_dictionaries({"Name": JSON, "Unit": JSON})), value=JSON)
def test_no_document_is_too_strange(metrics: Any, value: Any) -> None:
    try:
        found, _ = metrics_of(_line(metrics, a=value))
    except MetricError:
        return
    for metric in found:
        assert abs(metric.value) <= 2.0**360
        assert check_name(metric.name) == "a"


@given(st.binary())
def test_no_line_is_too_strange(data: bytes) -> None:
    status, metrics, errors = _emit(data)

    assert metrics == []
    assert status == (1 if errors else 0)
