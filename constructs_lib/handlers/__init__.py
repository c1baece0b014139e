"""The library's own Lambda functions as constructs: the function and its trigger."""

from constructs_lib.handlers.function import HandlerFunction
from constructs_lib.handlers.schedule import ScheduleTrigger

__all__ = ["HandlerFunction", "ScheduleTrigger"]
