"""The library's own Lambda functions as constructs: the function and its triggers."""

from constructs_lib.handlers.function import HandlerFunction
from constructs_lib.handlers.triggers import EventTrigger, ScheduleTrigger

__all__ = ["EventTrigger", "HandlerFunction", "ScheduleTrigger"]
