"""The command line's words, and what its answers mean."""

from __future__ import annotations

import json

import pytest

from constructs_lib.node.drain.aws import Aws
from constructs_lib.node.guard import Unknown
from constructs_lib.node.instance_metadata import Identity
from constructs_lib.node.readings import HUNG, MISSING, Command, NoReading, Output

IDENTITY = Identity("i-0123456789abcdef0", "g6.xlarge", 0.0, "eu-west-1")
LIMITS = ["--region", "eu-west-1", "--cli-connect-timeout", "5", "--cli-read-timeout", "10"]


class CommandLine:
    """`aws`, with an answer for each call of an operation."""

    def __init__(self, **answers: Output | NoReading) -> None:
        self.answers = {"describe-tags": Output(0, '["fleet"]'), **{k.replace("_", "-"): v for k, v in answers.items()}}
        self.calls: list[list[str]] = []
        self.limits: set[float] = set()

    def __call__(self, command: Command) -> Output | NoReading:
        self.calls.append(list(command.argv))
        self.limits.add(command.time_limit_seconds)
        return self.answers.get(command.argv[2], Output(0, ""))


def aws(line: CommandLine) -> Aws:
    return Aws(line, IDENTITY, "AcceleratedFleet")


def test_the_name_of_the_group_is_that_of_the_tag_and_asked_for_once() -> None:
    line = CommandLine()
    cloud = aws(line)
    assert [cloud.group(), cloud.group()] == ["fleet", "fleet"]
    filters = ["Name=resource-id,Values=i-0123456789abcdef0", "Name=key,Values=aws:autoscaling:groupName"]
    query = ["--query", "Tags[].Value", "--output", "json"]
    assert line.calls == [["aws", "ec2", "describe-tags", "--filters", *filters, *query, *LIMITS]]
    assert line.limits == {15.0}


@pytest.mark.parametrize("answer", ["", "[]", "null", '["a", "b"]', "[5]", "{", "None\n", "[" * 100_000])
def test_case_36_an_instance_of_no_group_has_none_to_act_on(answer: str) -> None:
    line = CommandLine(describe_tags=Output(0, answer))
    with pytest.raises(Unknown):
        aws(line).complete()
    assert [call[2] for call in line.calls] == ["describe-tags"]


def test_a_metric_of_the_group() -> None:
    line = CommandLine(describe_tags=Output(0, json.dumps(['a,b="c"'])))
    aws(line).publish("DrainsDone")
    words = ["aws", "cloudwatch", "put-metric-data", "--namespace", "AcceleratedFleet", "--metric-name", "DrainsDone"]
    call = line.calls[-1]
    assert call[: len(words)] == words
    assert call[len(words) : len(words) + 4] == ["--unit", "Count", "--value", "1"]
    dimensions = json.loads(call[call.index("--dimensions") + 1])
    assert dimensions == [{"Name": "AutoScalingGroupName", "Value": 'a,b="c"'}]


def test_the_hook_is_completed_for_this_instance_of_this_group() -> None:
    line = CommandLine()
    assert aws(line).complete() is True
    words = ["aws", "autoscaling", "complete-lifecycle-action", "--auto-scaling-group-name", "fleet"]
    hook = ["--lifecycle-hook-name", "Drain", "--instance-id", "i-0123456789abcdef0"]
    assert line.calls[-1] == [*words, *hook, "--lifecycle-action-result", "CONTINUE", *LIMITS]


NO_HOOK = (
    "\nAn error occurred (ValidationError) when calling the CompleteLifecycleAction operation: No active Lifecycle "
    "Action found with instance ID i-0123456789abcdef0\n"
)


def test_a_hook_that_is_completed_already_or_not_there_yet_is_no_error() -> None:
    assert aws(CommandLine(complete_lifecycle_action=Output(254, "", NO_HOOK))).complete() is False


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (Output(254, "", "\nAn error occurred (Throttling) when calling: Rate exceeded\n"), "Rate exceeded"),
        (Output(254, "", "AccessDenied: " + "x" * 5_000 + " END"), "END"),
        (NoReading(HUNG, "aws: no answer within 15 s"), "no answer within 15 s"),
        (NoReading(MISSING, "aws: not on this machine"), "not on this machine"),
    ],
)
def test_what_else_goes_wrong_is_told_shortly(answer: Output | NoReading, told: str) -> None:
    with pytest.raises(Unknown, match=told) as caught:
        aws(CommandLine(complete_lifecycle_action=answer)).complete()
    assert len(str(caught.value)) < 500
