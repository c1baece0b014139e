"""What goes to the CloudWatch agent, as its StatsD plugin reads it."""

from __future__ import annotations

import math
import re
import socket
from collections.abc import Iterator
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructs_lib.node.statsd import COUNTER, GAUGE, PACKET_LIMIT_BYTES, TIMING, Metric, Sender, connect, packets

# What Go's strconv.ParseFloat takes as a plain decimal number.
_LINE = re.compile(r"[A-Za-z0-9_]+:(-?\d+(?:\.\d+)?)\|(g|c|ms)(\|#index:\d+)?")
_FINITE = st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize(
    ("metric", "lines"),
    [
        (Metric("node_heartbeat", 1), ["node_heartbeat:1|g"]),
        (Metric("accelerator_utilization", 0.0, index=0), ["accelerator_utilization:0|g|#index:0"]),
        (Metric("accelerator_power", 67.03, index=15), ["accelerator_power:67.03|g|#index:15"]),
        (Metric("accelerator_energy_joules", 4020, COUNTER), ["accelerator_energy_joules:4020|c"]),
        (Metric("accelerator_transfers", 10**15, index=1), ["accelerator_transfers:1000000000000000|g|#index:1"]),
        (Metric("loss", 1e-9), ["loss:0.000000001|g"]),
        (Metric("loss", 1.5e-7), ["loss:0.00000015|g"]),
        (Metric("wait", 0.0004, TIMING), ["wait:0.0004|ms"]),
        (Metric("x", 0.1 + 0.2), ["x:0.30000000000000004|g"]),
        (Metric("x", 1e22), ["x:10000000000000000000000|g"]),
        (Metric("x", -0.0), ["x:0|g"]),
        (Metric("x", -0.0, COUNTER), ["x:0|c"]),
        (Metric("x", 100), ["x:100|g"]),
        (Metric("x", 100.0), ["x:100|g"]),
    ],
)
def test_a_metric_is_a_line(metric: Metric, lines: list[str]) -> None:
    assert list(metric.lines()) == lines


def test_a_gauge_below_zero_is_set_not_lowered() -> None:
    """A sign makes a gauge's value a change (StatsD, "Gauges")."""
    assert list(Metric("accelerator_temperature", -5.5, index=0).lines()) == [
        "accelerator_temperature:0|g|#index:0",
        "accelerator_temperature:-5.5|g|#index:0",
    ]


def _number_of(metric: Metric) -> str:
    match = _LINE.fullmatch(list(metric.lines())[-1])
    assert match
    return match[1]


@given(_FINITE)
def test_a_number_is_sent_whole_and_without_an_exponent(value: float) -> None:
    """Go's ParseFloat and Python's float both give the double that is nearest to a decimal number."""
    text = _number_of(Metric("x", value))
    assert float(text) == value
    assert (text == "0") == (value == 0)


@given(st.integers(-(2**53), 2**53), st.booleans())
def test_a_whole_count_is_written_as_a_whole_number(count: int, as_float: bool) -> None:
    """The agent reads a count with ParseInt; only what that refuses is read as a fraction, which is then cut off."""
    assert _number_of(Metric("x", float(count) if as_float else count, COUNTER)) == f"{count}"


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("type_letter", [GAUGE, COUNTER, TIMING])
def test_what_is_no_finite_number_is_refused(value: float, type_letter: str) -> None:
    """ParseFloat takes "NaN" and "inf", which CloudWatch does not support (PutMetricData)."""
    with pytest.raises(ValueError, match=r"accelerator_power: value must be a finite number, got -?(nan|inf); "):
        list(Metric("accelerator_power", value, type_letter, index=0).lines())


def test_nothing_is_no_packet() -> None:
    assert list(packets([])) == []


@given(
    st.lists(
        st.builds(
            Metric,
            st.from_regex(r"[a-z_]{1,200}", fullmatch=True),
            _FINITE,
            st.sampled_from([GAUGE, COUNTER]),
            st.none() | st.integers(0, 255),
        ),
        max_size=60,
    )
)
def test_packets_hold_every_line_once_and_fit_a_frame(metrics: list[Metric]) -> None:
    sent = list(packets(metrics))
    assert all(len(packet) <= PACKET_LIMIT_BYTES for packet in sent)
    lines = [line for packet in sent for line in packet.decode().split("\n")]
    assert lines == [line for metric in metrics for line in metric.lines()]
    assert all(_LINE.fullmatch(line) for line in lines)


@pytest.mark.parametrize(("name_length", "sizes"), [(1422, [1432]), (1423, [5, 1427])])
def test_a_packet_may_be_filled_to_the_last_byte(name_length: int, sizes: list[int]) -> None:
    sent = packets([Metric("x", 1), Metric("y" * name_length, 1)])
    assert [len(packet) for packet in sent] == sizes


def test_packets_are_as_few_as_the_lines_need() -> None:
    metrics = [Metric("accelerator_utilization", 50, index=index) for index in range(16)]
    assert len(list(packets(metrics))) == 1


AGENT = ("127.0.0.1", 8125)


@pytest.fixture
def pair() -> Iterator[tuple[Sender, socket.socket]]:
    """A sender and whom it sends to; the kernel treats the pair as it treats UDP on loopback."""
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    here.setblocking(False)
    with closing(Sender(here, AGENT)) as sender, closing(there):
        yield sender, there


def test_metrics_arrive(pair: tuple[Sender, socket.socket]) -> None:
    sender, agent = pair
    sender.send([Metric("node_heartbeat", 1), Metric("accelerators_present", 8)])
    assert agent.recv(65536) == b"node_heartbeat:1|g\naccelerators_present:8|g"


def test_nothing_is_sent_if_one_value_is_no_finite_number(pair: tuple[Sender, socket.socket]) -> None:
    """Half of an interval would look like all that is known."""
    sender, agent = pair
    with pytest.raises(ValueError, match="finite"):
        sender.send([*(Metric("x" * 1000, 1) for _ in range(3)), Metric("accelerator_power", math.nan)])
    agent.setblocking(False)
    with pytest.raises(BlockingIOError):
        agent.recv(65536)


def test_nobody_listening_is_an_error(pair: tuple[Sender, socket.socket]) -> None:
    sender, agent = pair
    agent.close()
    with pytest.raises(ConnectionError):
        sender.send([Metric("node_heartbeat", 1)])


def test_a_full_buffer_is_an_error_not_a_wait(pair: tuple[Sender, socket.socket]) -> None:
    sender, _ = pair
    with pytest.raises(BlockingIOError):
        sender.send(Metric("x" * 1000, 1) for _ in range(10_000))


class Refusing:
    """A UDP socket on loopback when nobody listens: the kernel says so at once, at this call or the next."""

    def __init__(self, at_once: bool) -> None:
        self.at_once = at_once
        self.pending = 0

    def getsockopt(self, level: int, option: int) -> int:
        pending, self.pending = self.pending, 0
        return pending

    def send(self, packet: bytes) -> None:
        if self.at_once:
            raise ConnectionRefusedError(111, "Connection refused")
        self.pending = 111


@pytest.mark.parametrize("at_once", [True, False])
def test_who_should_listen_and_where_is_said(at_once: bool) -> None:
    told = r"^nothing listens on 127\.0\.0\.1:8125; start the CloudWatch agent, in a container use the host's network$"
    with pytest.raises(ConnectionRefusedError, match=told):
        Sender(Refusing(at_once), AGENT).send([Metric("node_heartbeat", 1)])  # type: ignore[arg-type]


class RefusedOnce:
    """A socket as Linux makes it for UDP: that a packet was refused is told at the next call, in place of sending."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.pending = 0

    def getsockopt(self, level: int, option: int) -> int:
        assert (level, option) == (socket.SOL_SOCKET, socket.SO_ERROR)
        pending, self.pending = self.pending, 0
        return pending

    def send(self, packet: bytes) -> None:
        assert self.pending == 0, "this packet would not be sent"
        self.sent.append(packet)


def test_a_packet_that_was_refused_before_does_not_cost_the_next_one() -> None:
    """The agent was restarted in between: its first packet must not be lost."""
    connection = RefusedOnce()
    connection.pending = 111
    Sender(connection, AGENT).send([Metric("node_heartbeat", 1)])  # type: ignore[arg-type]
    assert connection.sent == [b"node_heartbeat:1|g"]


def test_the_agent_is_reached_by_udp_and_never_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[object] = []

    class Udp:
        def __init__(self, family: int, type: int) -> None:
            calls.append((family, type))

        def connect(self, address: object) -> None:
            calls.append(address)

        def setblocking(self, flag: bool) -> None:
            calls.append(flag)

    monkeypatch.setattr(socket, "socket", Udp)
    connect(("127.0.0.1", 8125))
    assert calls == [(socket.AF_INET, socket.SOCK_DGRAM), ("127.0.0.1", 8125), False]
