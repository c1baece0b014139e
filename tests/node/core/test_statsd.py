"""What goes to the CloudWatch agent, as its StatsD plugin reads it."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructs_lib.node.statsd import COUNTER, GAUGE, PACKET_LIMIT_BYTES, Metric, Sender, connect, packets

_LINE = re.compile(r"[A-Za-z0-9_]+:-?\d+(\.\d{1,3})?\|(g|c|ms)(\|#index:\d+)?")


@pytest.mark.parametrize(
    ("metric", "lines"),
    [
        (Metric("node_heartbeat", 1), ["node_heartbeat:1|g"]),
        (Metric("accelerator_utilization", 0.0, index=0), ["accelerator_utilization:0|g|#index:0"]),
        (Metric("accelerator_power", 67.03, index=15), ["accelerator_power:67.03|g|#index:15"]),
        (Metric("accelerator_energy_joules", 4020, COUNTER), ["accelerator_energy_joules:4020|c"]),
        (Metric("accelerator_transfers", 10**15, index=1), ["accelerator_transfers:1000000000000000|g|#index:1"]),
        (Metric("x", 1e-9), ["x:0|g"]),
        (Metric("x", -1e-9, COUNTER), ["x:0|c"]),
        (Metric("x", 100), ["x:100|g"]),
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


def test_nothing_is_no_packet() -> None:
    assert list(packets([])) == []


@given(
    st.lists(
        st.builds(
            Metric,
            st.from_regex(r"[a-z_]{1,200}", fullmatch=True),
            st.floats(-1e15, 1e15),
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


@pytest.fixture
def pair() -> Iterator[tuple[Sender, socket.socket]]:
    """A sender and whom it sends to; the kernel treats the pair as it treats UDP on loopback."""
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    here.setblocking(False)
    with closing(Sender(here)) as sender, closing(there):
        yield sender, there


def test_metrics_arrive(pair: tuple[Sender, socket.socket]) -> None:
    sender, agent = pair
    sender.send([Metric("node_heartbeat", 1), Metric("accelerators_present", 8)])
    assert agent.recv(65536) == b"node_heartbeat:1|g\naccelerators_present:8|g"


def test_nobody_listening_is_an_error(pair: tuple[Sender, socket.socket]) -> None:
    sender, agent = pair
    agent.close()
    with pytest.raises(ConnectionError):
        sender.send([Metric("node_heartbeat", 1)])


def test_a_full_buffer_is_an_error_not_a_wait(pair: tuple[Sender, socket.socket]) -> None:
    sender, _ = pair
    with pytest.raises(BlockingIOError):
        sender.send(Metric("x" * 1000, 1) for _ in range(10_000))


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
    Sender(connection).send([Metric("node_heartbeat", 1)])  # type: ignore[arg-type]
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
