"""Single-value checks, and the one shape that every message has."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from aws_cdk import Token

from constructs_lib import errors
from constructs_lib.errors import ArgumentError, FleetError, UnknownInstanceTypeError, UnsupportedInstanceTypeError
from constructs_lib.validation import closest, complaint, instance_of, integer, list_of, number, one_of, text

Check = Callable[[object], object]


@pytest.mark.parametrize("kind", [ArgumentError, UnknownInstanceTypeError, UnsupportedInstanceTypeError])
def test_every_error_is_a_value_error_and_in_the_documented_tree(kind: type[FleetError]) -> None:
    assert issubclass(kind, FleetError)
    assert issubclass(FleetError, ValueError)
    assert kind.__name__ in str(errors.__doc__)


def test_a_message_says_where_what_which_rule_which_value_and_the_cure() -> None:
    with pytest.raises(ArgumentError) as caught:
        integer("Stack/Fleet", "max_capacity", 0, minimum=1, cure="give the largest size you would pay for")
    assert str(caught.value) == (
        "Stack/Fleet: max_capacity must be a whole number at least 1, got 0; give the largest size you would pay for"
    )


def test_a_long_value_is_cut_in_the_message() -> None:
    message = complaint("Fleet", "user_data", "be short", "x" * 1000, "shorten it")
    assert len(message) < 200
    assert message.endswith("...; shorten it")


@pytest.mark.parametrize(
    "value",
    [Token.as_string({"Ref": "X"}), f"a-{Token.as_string({'Ref': 'X'})}", Token.as_number({"Ref": "X"})],
    ids=["text", "inside a text", "number"],
)
def test_a_token_is_shown_as_one(value: object) -> None:
    assert Token.is_unresolved(value)
    assert (
        complaint("Fleet", "size", "be known at synth", value, "c")
        == "Fleet: size must be known at synth, got a token; c"
    )


def test_no_token_is_in_a_message_wherever_it_comes_from() -> None:
    token, many = Token.as_string({"Ref": "X"}), Token.as_list({"Ref": "Y"})
    for value in ([token, "b"], {"zone": f"a{token}"}, (many,), many):
        message = complaint("Fleet", "zones", f"not be {token}", value, f"leave out {token}")
        assert "Token[" not in message
        assert message.startswith("Fleet: zones must not be a token, got ")
    assert "got ['a token', 'b']; " in complaint("Fleet", "zones", "be one", [token, "b"], "c")


@pytest.mark.parametrize("value", ["${X}", "Token[1]", -1.5e289, math.nan, -math.inf])
def test_what_only_looks_like_a_token_is_shown_as_it_is(value: object) -> None:
    assert f"got {value!r};" in complaint("Fleet", "size", "be known at synth", value, "c")


@pytest.mark.parametrize("value", [True, False, 1.0, "1", None, -1, 11])
def test_integer_refuses(value: object) -> None:
    with pytest.raises(
        ArgumentError, match=r"^Fleet: size must be a whole number at least 0 and at most 10, got .*; cure$"
    ):
        integer("Fleet", "size", value, minimum=0, maximum=10, cure="cure")


@pytest.mark.parametrize("value", [0, 10])
def test_integer_takes_both_ends(value: int) -> None:
    assert integer("Fleet", "size", value, minimum=0, maximum=10, cure="cure") == value


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, True, "5", None, 0, 100, 10**400])
def test_number_refuses(value: object) -> None:
    with pytest.raises(ArgumentError, match="threshold must be a number above 0 and below 100, got"):
        number("IdlePolicy", "threshold", value, above=0, below=100, cure="give a percentage")


def test_number_takes_whole_numbers_and_the_ends_of_a_closed_range() -> None:
    assert number("P", "share", 1, above=0, maximum=1, cure="cure") == 1.0
    assert number("P", "share", 0, minimum=0, cure="cure") == 0.0


@pytest.mark.parametrize("value", ["", "  ", None, 5, b"x"])
def test_text_refuses(value: object) -> None:
    with pytest.raises(ArgumentError, match="name must be a text that is not empty"):
        text("Fleet", "name", value, cure="cure")


@pytest.mark.parametrize("value", [[], (), "ab", None, ["a", 1], {"a": 1}])
def test_list_of_refuses(value: object) -> None:
    with pytest.raises(ArgumentError, match="names must be a list of str that is not empty"):
        list_of("Fleet", "names", value, str, cure="cure")


def test_list_of_keeps_the_order() -> None:
    assert list_of("Fleet", "names", ["b", "a"], str, cure="cure") == ("b", "a")


def test_one_of_names_the_closest_choice() -> None:
    with pytest.raises(
        ArgumentError, match="must be one of arm64, x86_64, got 'x86-64'; did you mean 'x86_64'\\? cure"
    ):
        one_of("Fleet", "architecture", "x86-64", ("x86_64", "arm64"), cure="cure")


@pytest.mark.parametrize("value", [None, 1, ["x86_64"]])
def test_one_of_refuses_what_is_no_text(value: object) -> None:
    with pytest.raises(ArgumentError, match="must be one of"):
        one_of("Fleet", "architecture", value, ("x86_64",), cure="cure")


def test_closest_is_silent_when_nothing_is_close() -> None:
    assert closest("qqqq", ("x86_64",)) == ""


def test_instance_of_names_all_types_that_would_do() -> None:
    assert instance_of("Fleet", "idle", 1, (int, str), cure="cure") == 1
    with pytest.raises(ArgumentError, match="idle must be of type int or str, got None; cure"):
        instance_of("Fleet", "idle", None, (int, str), cure="cure")


CHECKS: list[Check] = [
    lambda value: integer("W", "p", value, cure="c"),
    lambda value: number("W", "p", value, cure="c"),
    lambda value: text("W", "p", value, cure="c"),
    lambda value: one_of("W", "p", value, ("a",), cure="c"),
    lambda value: list_of("W", "p", value, int, cure="c"),
    lambda value: instance_of("W", "p", value, dict, cure="c"),
]


@pytest.mark.parametrize("check", CHECKS)
def test_every_check_uses_the_one_message_shape(check: Check) -> None:
    with pytest.raises(ArgumentError, match=r"^W: p must [^;]+, got .+; .*c$"):
        check(object())
