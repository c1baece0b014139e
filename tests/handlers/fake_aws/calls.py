"""Calls: checked against the service models, recorded, and made to fail on demand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import botocore.session
from botocore.exceptions import ClientError
from botocore.validate import ParamValidator

Parameters = Mapping[str, Any]


@dataclass(frozen=True)
class Call:
    """One call as AWS saw it."""

    service: str
    operation: str
    parameters: Parameters


def refusal(code: str, message: str = "", status: int = 400) -> ClientError:
    """Return the exception that a real client raises for AWS's answer."""
    return ClientError(
        {"Error": {"Code": code, "Message": message or code}, "ResponseMetadata": {"HTTPStatusCode": status}},
        "Operation",
    )


@dataclass
class Fault:
    """An error to raise for the next `times` calls of an operation (None: for all) whose parameters match."""

    operation: str
    error: Exception
    times: int | None
    matches: Callable[[Parameters], bool]
    takes_effect: bool = False
    """Whether the call does its work all the same, and only its answer is lost."""

    def applies_to(self, call: Call) -> bool:
        if call.operation != self.operation or self.times == 0 or not self.matches(call.parameters):
            return False
        if self.times is not None:
            self.times -= 1
        return True


@cache
def service_model(service: str) -> Any:
    return botocore.session.get_session().get_service_model(service)


@cache
def operation_names(service: str) -> Mapping[str, str]:
    """Return the method names of a service and the operations they stand for."""
    return {botocore.xform_name(name): name for name in service_model(service).operation_names}


def check_parameters(call: Call) -> None:
    """Raise for a call that a real client would refuse before sending it."""
    _check(call.parameters, service_model(call.service).operation_model(call.operation).input_shape, call)


def check_answer(call: Call, answer: Any) -> None:
    """Raise for an answer that the real service could not give: a fake must not invent fields."""
    shape = service_model(call.service).operation_model(call.operation).output_shape
    if shape is not None:
        _check(answer, shape, call)


def _check(document: Any, shape: Any, call: Call) -> None:
    report = ParamValidator().validate(document, shape)
    if report.has_errors():
        raise AssertionError(f"{call.service} {call.operation}: {report.generate_report()}")
