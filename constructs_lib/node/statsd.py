"""StatsD: what is sent to the CloudWatch agent on this machine, and how it is written.

The agent forgets a gauge after each flush, so everything is sent again in each interval (its plugin statsd, read
2026-08). It reads tags as DogStatsD writes them and makes dimensions of them.
"""

from __future__ import annotations

import math
import os
import socket
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal

PACKET_LIMIT_BYTES = 1432
"""What fits one Ethernet frame, as StatsD servers advise."""

GAUGE, COUNTER, TIMING = "g", "c", "ms"


@dataclass(frozen=True)
class Metric:
    """One value. `index` is the accelerator that it is about, None if it is about the instance."""

    name: str
    value: float
    type: str = GAUGE
    index: int | None = None

    def lines(self) -> Iterator[str]:
        """Write it in StatsD's format; raise ValueError if the value is no finite number.

        A gauge with a sign is a change of the gauge, so a value below zero is set by way of zero.
        """
        # The agent would read NaN and infinity as numbers, but CloudWatch has neither.
        if not math.isfinite(self.value):
            raise ValueError(
                f"{self.name}: value must be a finite number, got {self.value}; send none if it is unknown"
            )
        tags = "" if self.index is None else f"|#index:{self.index}"
        if self.type == GAUGE and self.value < 0:
            yield f"{self.name}:0|{self.type}{tags}"
        yield f"{self.name}:{_decimal(self.value)}|{self.type}{tags}"


def _decimal(value: float) -> str:
    """Write a number without an exponent and without losing a digit: a small number is not zero."""
    text = f"{Decimal(repr(value)):f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


def packets(metrics: Iterable[Metric]) -> Iterator[bytes]:
    """Put the metrics' lines into as few packets as hold them, in their order."""
    packet = b""
    for metric in metrics:
        lines = "\n".join(metric.lines()).encode("ascii")
        if packet and len(packet) + 1 + len(lines) > PACKET_LIMIT_BYTES:
            yield packet
            packet = b""
        packet = packet + b"\n" + lines if packet else lines
    if packet:
        yield packet


class Sender:
    """Sends metrics through a datagram socket, which it owns, and which is connected to the host and port."""

    def __init__(self, connected: socket.socket, address: tuple[str, int]) -> None:
        self._socket = connected
        self._address = address

    def send(self, metrics: Iterable[Metric]) -> None:
        """Send all metrics, or raise OSError: ConnectionRefusedError if nobody listens.

        Raises ValueError before anything is sent if one of the values is no finite number.
        """
        try:
            for packet in tuple(packets(metrics)):
                self._send_packet(packet)
        except ConnectionRefusedError as error:
            host, port = self._address
            cure = "start the CloudWatch agent, in a container use the host's network"
            raise ConnectionRefusedError(f"nothing listens on {host}:{port}; {cure}") from error

    def _send_packet(self, packet: bytes) -> None:
        # That an earlier packet was refused would be raised in place of sending this one.
        self._pending_error()
        self._socket.send(packet)
        error = self._pending_error()
        if error:
            raise OSError(error, os.strerror(error))

    def _pending_error(self) -> int:
        return self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)

    def close(self) -> None:
        """Let go of the socket."""
        self._socket.close()


def connect(address: tuple[str, int]) -> Sender:
    """Return a sender to a host and port. UDP: it succeeds whether or not anybody listens."""
    connected = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    connected.connect(address)
    # Rather lose a packet than wait for a full buffer.
    connected.setblocking(False)
    return Sender(connected, address)
