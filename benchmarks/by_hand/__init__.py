"""The resources of ``benchmarks.ours``, written out with aws-cdk-lib as somebody would who has no library.

Nothing of ``constructs_lib`` is used; only the code of the handlers and of the program on the instances is the same,
since both sides stage it.
"""

from __future__ import annotations

from aws_cdk import Stack
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from benchmarks.by_hand.alarms import notifications, watch
from benchmarks.by_hand.functions import cleanup, release, wake
from benchmarks.by_hand.instances import agent_parameter, auto_scaling_group, launch_template
from benchmarks.surroundings import existing_vpc


def build(app: Construct, id: str) -> None:
    """Add a stack with the fleet's resources to the app."""
    stack = Stack(app, id)
    queue = sqs.Queue(stack, "Jobs")
    topic = notifications(stack)
    agent = agent_parameter(stack)
    vpc = existing_vpc(stack)
    group = auto_scaling_group(stack, vpc, launch_template(stack, vpc, agent))
    release(stack, group, queue, topic)
    wake(stack, group, queue, topic)
    watch(stack, group, topic)
    cleanup(stack, group)
