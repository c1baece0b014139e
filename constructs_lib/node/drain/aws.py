"""What the drain asks of AWS, by the `aws` command line, which signs requests and knows every partition."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from .. import names
from ..guard import Unknown
from ..instance_metadata import Identity
from ..readings import Command, NoReading, Output

TIME_LIMIT_SECONDS = 15.0
_GROUP_TAG = "aws:autoscaling:groupName"
_LIMITS = ("--cli-connect-timeout", "5", "--cli-read-timeout", "10")
_LONGEST_COMPLAINT = 300
# The hook is not there yet, as while a load balancer lets the instance go first, or no more, as somebody completed it.
_NO_HOOK = "No active Lifecycle Action found"


class Aws:
    """Calls for one instance. Each raises `Unknown` if it fails, with what the command line says."""

    def __init__(self, run: Callable[[Command], Output | NoReading], identity: Identity, namespace: str) -> None:
        self._run = run
        self._identity = identity
        self._namespace = namespace
        self._group: str | None = None

    def group(self) -> str:
        """Return the name of the instance's group."""
        if self._group is None:
            answer = self._call(
                *("ec2", "describe-tags", "--filters", f"Name=resource-id,Values={self._identity.instance_id}"),
                *(f"Name=key,Values={_GROUP_TAG}", "--query", "Tags[].Value", "--output", "json"),
            )
            self._group = _only(answer)
        return self._group

    def publish(self, metric: str) -> None:
        """Publish 1 for the group."""
        dimensions = json.dumps([{"Name": "AutoScalingGroupName", "Value": self.group()}])
        self._call(
            *("cloudwatch", "put-metric-data", "--namespace", self._namespace, "--metric-name", metric),
            *("--unit", "Count", "--value", "1", "--dimensions", dimensions),
        )

    def complete(self) -> bool:
        """Complete the termination hook; return False if there is none that waits."""
        try:
            self._call(
                *("autoscaling", "complete-lifecycle-action", "--auto-scaling-group-name", self.group()),
                *("--lifecycle-hook-name", names.DRAIN_HOOK, "--instance-id", self._identity.instance_id),
                *("--lifecycle-action-result", "CONTINUE"),
            )
        except Unknown as refused:
            if _NO_HOOK in str(refused):
                return False
            raise
        return True

    def _call(self, *words: str) -> str:
        argv: Sequence[str] = ("aws", *words, "--region", self._identity.region, *_LIMITS)
        output = self._run(Command(tuple(argv), TIME_LIMIT_SECONDS))
        if isinstance(output, NoReading):
            raise Unknown(output.reason)
        if output.exit_status != 0:
            complaint = " ".join(output.stderr.split())[-_LONGEST_COMPLAINT:]
            raise Unknown(f"{words[0]} {words[1]} ended with {output.exit_status}: {complaint}")
        return output.stdout


def _only(answer: str) -> str:
    try:
        names_found = json.loads(answer)
    except (ValueError, RecursionError) as error:
        raise Unknown(f"the tags of the instance cannot be read: {error}") from error
    if not isinstance(names_found, list) or len(names_found) != 1 or not isinstance(names_found[0], str):
        raise Unknown("the instance is in no group")
    return names_found[0]
