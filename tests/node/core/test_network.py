"""Traffic of the instance: which interfaces count, and what two counts say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from constructs_lib.node import names
from constructs_lib.node.network import Traffic, count_bytes
from tests.node.core.machine import SETTINGS, Rig


def interface(place: Path, name: str, received: int, sent: int, *, device: bool = True) -> None:
    (place / name / "statistics").mkdir(parents=True)
    (place / name / "statistics" / "rx_bytes").write_text(f"{received}\n")
    (place / name / "statistics" / "tx_bytes").write_text(f"{sent}\n")
    if device:
        (place / name / "device").mkdir()


def test_what_leaves_the_instance_is_counted_once(tmp_path: Path) -> None:
    """What a container sends passes its pair of interfaces and a bridge before it leaves."""
    interface(tmp_path, "ens5", 1_000, 200)
    interface(tmp_path, "ens6", 30, 4)
    for virtual in ("lo", "docker0", "veth1a2b3c"):
        interface(tmp_path, virtual, 10**9, 10**9, device=False)
    assert count_bytes(tmp_path) == 1_234


def test_no_interface_is_no_silence(tmp_path: Path) -> None:
    interface(tmp_path, "lo", 1, 1, device=False)
    with pytest.raises(OSError, match="no interface"):
        count_bytes(tmp_path)


def test_two_counts_say_how_much_a_second() -> None:
    traffic = Traffic(60)
    assert traffic.per_second(500, 100.0) is None
    assert traffic.per_second(6_500, 160.0) == 100.0
    assert traffic.per_second(6_500, 220.0) == 0.0


@pytest.mark.parametrize(("count", "now"), [(100, 160.0), (900, 100.0), (900, 251.0)])
def test_an_interface_that_has_gone_or_a_gap_says_nothing(count: int, now: float) -> None:
    traffic = Traffic(60)
    traffic.per_second(500, 100.0)
    assert traffic.per_second(count, now) is None
    assert traffic.per_second(count + 60, now + 60) == 1.0


def test_it_is_published_where_it_was_asked_for(tmp_path: Path) -> None:
    rig = Rig(tmp_path, replace(SETTINGS, network=True))
    assert names.NETWORK_THROUGHPUT not in rig.read()
    rig.traffic = 6_000
    assert rig.read()[names.NETWORK_THROUGHPUT] == 100.0


def test_it_is_not_published_elsewhere(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    rig.read()
    assert names.NETWORK_THROUGHPUT not in rig.read()


def test_counters_that_cannot_be_read_are_told_once_and_hold_up_nothing(tmp_path: Path) -> None:
    rig = Rig(tmp_path, replace(SETTINGS, network=True), traffic=OSError("no interface"))
    for _ in range(3):
        assert names.HEARTBEAT in rig.read()
    assert [event["part"] for event in rig.told("fails")] == ["network"]
