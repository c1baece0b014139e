"""CloudFormation: the service role that a stack was made with, which the emulator forgets."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from xml.sax.saxutils import escape

from ministack.services import cloudformation
from ministack.services.cloudformation.helpers import _p

Parameters = dict[str, Any]
Response = tuple[int, dict[str, str], bytes]
Answer = Callable[[Parameters], Response]

_GIVE_A_ROLE = ("CreateStack", "UpdateStack", "CreateChangeSet", "ExecuteChangeSet")
_STACK_ID = re.compile(r"<StackId>([^<]+)</StackId>")
_ROLE = "_demo_role_arn"


def apply() -> None:
    """Register the calls of this module with the emulator."""
    calls = cloudformation._ACTION_HANDLERS
    for name in _GIVE_A_ROLE:
        calls[name] = _remembering(calls[name])
    calls["DescribeStacks"] = _telling(calls["DescribeStacks"])


def _remembering(answer: Answer) -> Answer:
    """CloudFormation goes on with the role of a call until another call brings another one."""

    def remember(parameters: Parameters) -> Response:
        response = answer(parameters)
        role, stack = _p(parameters, "RoleARN"), _stack(_p(parameters, "StackName"))
        if role and stack is not None:
            stack[_ROLE] = role
        return response

    return remember


def _telling(answer: Answer) -> Answer:
    def describe(parameters: Parameters) -> Response:
        status, headers, body = answer(parameters)
        return status, headers, _STACK_ID.sub(_with_role, body.decode()).encode()

    return describe


def _with_role(match: re.Match[str]) -> str:
    role = (_stack(match[1]) or {}).get(_ROLE)
    return match[0] if role is None else f"{match[0]}<RoleARN>{escape(role)}</RoleARN>"


def _stack(name_or_id: str) -> dict[str, Any] | None:
    for stack in cloudformation._stacks.values():
        if name_or_id in (stack["StackName"], stack["StackId"]):
            found: dict[str, Any] = stack
            return found
    return None
