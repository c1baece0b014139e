"""The library's own Lambda functions as constructs: the function and its triggers."""

from constructs_lib.handlers.alarm_action import FunctionAction
from constructs_lib.handlers.function import GROUP_WILDCARD, HandlerFunction
from constructs_lib.handlers.triggers import EventTrigger, ScheduleTrigger

__all__ = ["GROUP_WILDCARD", "EventTrigger", "FunctionAction", "HandlerFunction", "ScheduleTrigger"]
