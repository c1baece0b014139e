"""The one tag that keeps everything: what counts as a hold, for an instance and for any leftover."""

from __future__ import annotations

import pytest

from runtime.hold_tag import why_held

KEY = "accelerated-fleet:hold"


@pytest.mark.parametrize("value", ["true", "yes", "", " ", "0", "no", "until friday", "falsely"])
def test_any_value_holds(value: str) -> None:
    assert why_held({KEY: value, "Name": "false"}, KEY) == f"tag {KEY} is {value!r}"


@pytest.mark.parametrize("value", ["false", "False", " FALSE ", "false\n"])
def test_false_alone_does_not(value: str) -> None:
    assert why_held({KEY: value}, KEY) is None


def test_without_the_tag_nobody_holds() -> None:
    assert why_held({"Accelerated-Fleet:Hold": "true", "Name": "true"}, KEY) is None
