"""The stack of a fleet, as far as its status goes."""

from __future__ import annotations

from typing import Any

from tests.handlers.fake_aws.calls import Parameters


class FakeStacks:
    """CloudFormation. Whatever stack is asked for has `status`: it is being deleted, unless a test says otherwise."""

    def __init__(self) -> None:
        self.status = "DELETE_IN_PROGRESS"

    def describe_stacks(self, parameters: Parameters) -> dict[str, Any]:
        # Without a name, every stack of the account would be described.
        stack_id = parameters["StackName"]
        name = stack_id.split("/")[1]
        created = "2026-11-30T00:00:00Z"
        return {
            "Stacks": [
                {"StackId": stack_id, "StackName": name, "CreationTime": created, "StackStatus": self.status},
            ]
        }
