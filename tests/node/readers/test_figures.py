"""A figure is a plain number in its range and its unit, or it is unknown."""

from __future__ import annotations

import math

import pytest

from constructs_lib.node.readers import figures


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("0 %", 0.0),
        ("97 %", 97.0),
        ("100", 100.0),
        (" 12.5 % ", 12.5),
        (0, 0.0),
        (89.4, 89.4),
        ("100.1 %", None),
        ("-1 %", None),
        (-0.5, None),
        ("101", None),
        ("9" * 400, None),
        (10**400, None),
        ("1e2", None),
        ("0x10", None),
        ("N/A", None),
        ("[N/A]", None),
        ("", None),
        ("%", None),
        ("12 MiB", None),
        ("1,5 %", None),
        ("12 % 13 %", None),
        ("٣ %", None),
        ("nan", None),
        ("inf", None),
        (math.nan, None),
        (math.inf, None),
        (-math.inf, None),
        (True, None),
        (None, None),
        ([50], None),
        ({"a": 50}, None),
    ],
)
def test_percent(value: object, expected: float | None) -> None:
    assert figures.percent(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [("67.03 W", 67.03), ("0 W", 0.0), ("5000 W", 5000.0), ("5001 W", None), ("-3 W", None), ("67030 mW", None)],
)
def test_watts(value: object, expected: float | None) -> None:
    assert figures.watts(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [("27 C", 27.0), ("-5 C", -5.0), ("-51 C", None), ("200", 200.0), ("201", None), ("300 K", None), ("80 F", None)],
)
def test_celsius(value: object, expected: float | None) -> None:
    assert figures.celsius(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"), [("50 MiB", 50.0), ("0 MiB", 0.0), ("50", 50.0), ("12 GiB", None), ("-1 MiB", None)]
)
def test_mebibytes(value: object, expected: float | None) -> None:
    assert figures.mebibytes(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("8116 MB", 8116.0),
        ("2048 KB", 2.0),
        ("2048 KiB", 2.0),
        ("3 MiB", 3.0),
        ("8116", None),
        ("8 GB", None),
        ("-1 MB", None),
    ],
)
def test_mebibytes_with_unit(value: str, expected: float | None) -> None:
    assert figures.mebibytes_with_unit(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [("1048576", 1.0), (34359738368, 32768.0), (0, 0.0), (-1, None), (2**64, None), ("many", None)],
)
def test_mebibytes_of_bytes(value: object, expected: float | None) -> None:
    assert figures.mebibytes_of_bytes(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("0", 0),
        (" 7 ", 7),
        (str(2**64 - 1), 2**64 - 1),
        (str(2**64), None),
        ("9" * 5000, None),
        (2**64, None),
        (-1, None),
        ("-1", None),
        ("+1", None),
        ("1.0", None),
        (1.0, None),
        ("0x1", None),
        ("²", None),
        (True, None),
        (None, None),
    ],
)
def test_count(value: object, expected: int | None) -> None:
    assert figures.count(value) == expected


@pytest.mark.parametrize(
    ("part", "whole", "expected"),
    [(0, 14, 0.0), (7, 14, 50.0), ("14", "14", 100.0), (15, 14, None), (0, 0, None), (None, 14, None), (-1, 14, None)],
)
def test_share(part: object, whole: object, expected: float | None) -> None:
    assert figures.share(part, whole) == expected
