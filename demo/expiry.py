"""The expiry of a deployed stack, and how its time is made to pass."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from botocore.exceptions import ClientError

from demo import deployment
from demo.deployment import Function
from demo.emulator import Emulator

_LONGEST_SECONDS = 120
_POLL_SECONDS = 0.5


@dataclass(frozen=True)
class Expiry:
    """The expiry of one stack."""

    emulator: Emulator
    stack: str
    function: Function

    @classmethod
    def of(cls, emulator: Emulator, stack: str) -> Expiry:
        """Find the expiry function among the resources of the stack."""
        return cls(emulator, stack, deployment.function_of(emulator, stack, "stack_expiry"))

    @property
    def life_seconds(self) -> int:
        """How long the stack lives."""
        return int(self.function.environment["EXPIRES_AFTER_SECONDS"])

    @property
    def warning_seconds(self) -> int:
        """How long before its end people are warned."""
        return int(self.function.environment["WARN_BEFORE_SECONDS"])

    def look(self) -> dict[str, Any]:
        """Send the tick of the deployed schedule, and return what the function says."""
        return self.function.invoke_as_scheduled()

    def pass_time(self, seconds: int) -> None:
        """Move the stack's creation back, and what the function remembers with it."""
        self.emulator.control("back-date-stack", {"stack": self.stack, "seconds": seconds})
        client, name = self.emulator.client("ssm"), self.function.environment["STATE_PARAMETER"]
        memory = json.loads(client.get_parameter(Name=name)["Parameter"]["Value"])
        for key, value in memory.items():
            if key != "told":
                memory[key] = (datetime.fromisoformat(value) - timedelta(seconds=seconds)).isoformat()
        client.put_parameter(Name=name, Value=json.dumps(memory), Overwrite=True)

    def wait_for_the_end(self) -> None:
        """Wait until CloudFormation has deleted the stack. Raises TimeoutError, or RuntimeError when it cannot."""
        client = self.emulator.client("cloudformation")
        until = time.monotonic() + _LONGEST_SECONDS
        while time.monotonic() < until:
            try:
                (stack,) = client.describe_stacks(StackName=self.stack)["Stacks"]
            except ClientError:
                return  # by its name a deleted stack is not found
            if stack["StackStatus"] == "DELETE_FAILED":
                raise RuntimeError(f"{self.stack} could not be deleted: {stack.get('StackStatusReason')}")
            time.sleep(_POLL_SECONDS)
        raise TimeoutError(f"{self.stack} is still there after {_LONGEST_SECONDS} s")
