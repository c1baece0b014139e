"""What holds for every reader, whatever its tool writes: no exception, no figure out of range, no guess."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constructs_lib.node.readers import reader_of
from constructs_lib.node.readers.reports import LONGEST_TEXT
from constructs_lib.node.readings import FAILED, MISSING, UNREADABLE, Answer, Device, NoReading, Reading
from tests.node.readers.recorded import KINDS, all_recorded, answer, recorded

_RANGES = {
    "utilization": (0, 100),
    "memory_used_mib": (0, 2**30),
    "memory_total_mib": (0, 2**30),
    "power_watts": (0, 5000),
    "temperature_celsius": (-50, 200),
}
_FUZZ = settings(max_examples=60)

_STATUS = st.integers(min_value=-64, max_value=255)
_PIECES = st.one_of(
    st.text(max_size=20),
    st.sampled_from(
        (
            *("N/A", "-1", "101", "9" * 400, "NaN", "Infinity", "-Infinity", "1e999", "null", "true", "\x00", "\r\n"),
            *("<", "&", "]]>", "<!-- ", "</gpu>", "<gpu>", '"', "{", "}", "[", ",", ":", "%", " MiB", "\ud800", "٣"),
        )
    ),
)


def _check(reading: Answer) -> tuple[Device, ...]:
    """Assert what every answer of a reader must be, and return its devices."""
    if isinstance(reading, NoReading):
        assert reading.cause in (MISSING, FAILED, UNREADABLE)
        assert 0 < len(reading.reason) < 500
        assert "\n" not in reading.reason
        return ()
    assert isinstance(reading, Reading)
    assert reading.devices
    assert len({device.index for device in reading.devices}) == len(reading.devices)
    for device in reading.devices:
        _check_device(device)
    return reading.devices


def _check_device(device: Device) -> None:
    assert device.index >= 0
    for name, (lowest, highest) in _RANGES.items():
        value = getattr(device, name)
        assert value is None or (isinstance(value, float) and lowest <= value <= highest), (name, value)
    assert device.transfers is None or device.transfers >= 0
    assert device.use_is_known == (device.fault is None)
    assert device.fault is None or (0 < len(device.fault) < 500 and "\n" not in device.fault)


@pytest.mark.parametrize(("kind", "name"), all_recorded())
def test_a_recorded_answer_holds_the_rules(kind: str, name: str) -> None:
    _check(answer(kind, recorded(kind, name)))
    _check(answer(kind, recorded(kind, name), exit_status=1))


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_has_been_recorded_idle_busy_and_failing(kind: str) -> None:
    names = [name for other, name in all_recorded() if other == kind]

    for states in (("idle",), ("busy",), ("one-failing", "power-violation")):
        assert any(name.startswith(states) for name in names)


@pytest.mark.parametrize(("kind", "name"), all_recorded())
def test_an_answer_that_is_cut_off_anywhere_says_nothing_that_the_whole_does_not_say(kind: str, name: str) -> None:
    text = recorded(kind, name)
    whole = {device.index: dataclasses.asdict(device) for device in _check(answer(kind, text))}

    for end in range(len(text)):
        for device in _check(answer(kind, text[:end])):
            assert device.index in whole
            figures = {key: value for key, value in dataclasses.asdict(device).items() if key != "fault"}
            for key, value in figures.items():
                assert value is None or value is False or value == whole[device.index][key], (end, key)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "text", ["", "\n", " ", "\x00" * 100, "\ufeff", "null", "{}", "[]", "<a/>", "command not found"]
)
def test_nothing_and_garbage_are_no_reading(kind: str, text: str) -> None:
    for exit_status, cause in ((0, UNREADABLE), (1, FAILED), (-9, FAILED), (127, MISSING)):
        reading = answer(kind, text, exit_status=exit_status)
        assert isinstance(reading, NoReading)
        assert reading.cause == cause


@pytest.mark.parametrize("kind", KINDS)
def test_no_answers_at_all_are_no_reading(kind: str) -> None:
    assert isinstance(reader_of(kind).parse([]), NoReading)


@pytest.mark.parametrize(("kind", "name"), [pair for pair in all_recorded() if pair[1].startswith("busy")])
def test_an_answer_without_end_is_not_read(kind: str, name: str) -> None:
    reading = answer(kind, recorded(kind, name) + "\n" * LONGEST_TEXT)

    assert isinstance(reading, NoReading)


@pytest.mark.parametrize("kind", KINDS)
def test_a_command_is_a_list_of_words_with_a_time_limit(kind: str) -> None:
    for expected in (0, 1, 16):
        for command in reader_of(kind).commands(expected):
            assert command.argv
            assert all(command.argv)
            assert 0 < command.time_limit_seconds <= 20


@pytest.mark.parametrize("kind", KINDS)
@_FUZZ
@given(texts=st.lists(st.text(), max_size=3), status=_STATUS, stderr=st.text())
def test_any_text(kind: str, texts: list[str], status: int, stderr: str) -> None:
    _check(answer(kind, *texts, exit_status=status, stderr=stderr))


@pytest.mark.parametrize(("kind", "name"), all_recorded())
@_FUZZ
@given(data=st.data(), status=_STATUS)
def test_any_change_of_a_recorded_answer(kind: str, name: str, data: st.DataObject, status: int) -> None:
    text = recorded(kind, name)
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        length = data.draw(st.one_of(st.integers(0, 3), st.integers(0, 400)))
        text = text[:start] + data.draw(_PIECES) + text[start + length :]

    _check(answer(kind, text, exit_status=status))


@pytest.mark.parametrize(("kind", "name"), all_recorded())
@_FUZZ
@given(data=st.data())
def test_lines_in_any_order_and_number(kind: str, name: str, data: st.DataObject) -> None:
    lines = recorded(kind, name).splitlines(keepends=True)
    picked = data.draw(st.lists(st.sampled_from(lines), max_size=2 * len(lines)))

    _check(answer(kind, "".join(picked)))


def test_the_rules_are_checked() -> None:
    for broken in (
        Device(0, utilization=101.0),
        Device(0, utilization=float("nan")),
        Device(-1, utilization=1.0),
        Device(0),
        Device(0, utilization=1.0, fault="but why"),
    ):
        with pytest.raises(AssertionError):
            _check(Reading((broken,)))
