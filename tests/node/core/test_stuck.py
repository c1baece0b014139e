"""Tools that could not be ended are known again by number and start, and forgotten when they have ended."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructs_lib.node.stuck import Stuck

ARGV = ("nvidia-smi", "-q", "-x")


def show(proc: Path, pid: int, *, start: int, state: str = "D", name: str = "nvidia-smi") -> None:
    (proc / str(pid)).mkdir(exist_ok=True)
    (proc / str(pid) / "stat").write_text(f"{pid} ({name}) {state} {'0 ' * 18}{start} 0 0\n")


def restored(proc: Path, start: int = 99) -> Stuck:
    stuck = Stuck(proc)
    stuck.restore([[list(ARGV), 7, start]])
    return stuck


def test_a_process_that_still_runs_lives(tmp_path: Path) -> None:
    show(tmp_path, 7, start=99)
    assert restored(tmp_path).living(ARGV) == 7


@pytest.mark.parametrize("name", ["a) R 1 1 1 (b", "x y", ") D 0"])
def test_a_name_may_hold_anything(tmp_path: Path, name: str) -> None:
    show(tmp_path, 7, start=99, name=name)
    assert restored(tmp_path).living(ARGV) == 7


def test_another_process_of_the_same_number_is_not_it(tmp_path: Path) -> None:
    show(tmp_path, 7, start=100)
    stuck = restored(tmp_path)
    assert stuck.living(ARGV) is None
    assert stuck.as_data() == []


@pytest.mark.parametrize("state", ["Z", "X"])
def test_one_that_only_waits_to_be_reaped_has_ended(tmp_path: Path, state: str) -> None:
    show(tmp_path, 7, start=99, state=state)
    assert restored(tmp_path).living(ARGV) is None


def test_one_that_is_gone_has_ended(tmp_path: Path) -> None:
    assert restored(tmp_path).living(ARGV) is None


def test_other_commands_are_not_it(tmp_path: Path) -> None:
    show(tmp_path, 7, start=99)
    assert restored(tmp_path).living(("nvidia-smi",)) is None


def test_a_real_child_is_known_until_it_ends() -> None:
    read_end, write_end = os.pipe()
    child = subprocess.Popen(["cat"], stdin=read_end)
    os.close(read_end)
    stuck = Stuck()
    stuck.remember(ARGV, child)
    assert stuck.living(ARGV) == child.pid
    assert Stuck().living(ARGV) is None
    os.close(write_end)
    child.wait()
    assert stuck.living(ARGV) is None


def test_what_is_written_down_is_read_again(tmp_path: Path) -> None:
    show(tmp_path, 7, start=99)
    again = Stuck(tmp_path)
    again.restore(json.loads(json.dumps(restored(tmp_path).as_data())))
    assert again.living(ARGV) == 7


@pytest.mark.parametrize(
    "data", [None, {}, [7], [[["a"], 7]], [["a", 7, 99]], [[[5], 7, 99]], [[["a"], 0, 99]], [[["a"], 7, True]]]
)
def test_what_nobody_wrote_down_is_refused(data: object) -> None:
    with pytest.raises(ValueError, match="stuck process"):
        Stuck(Path("/nowhere")).restore(data)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=3), lambda inner: st.lists(inner, max_size=4)
    )
)
def test_anything_else_is_refused(data: object) -> None:
    stuck = Stuck(Path("/nowhere"))
    try:
        stuck.restore(data)
    except ValueError:
        assert stuck.as_data() == []
