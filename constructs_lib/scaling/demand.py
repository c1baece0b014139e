"""What work is waiting, and how much capacity it needs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sqs as sqs

from constructs_lib.claims import claim
from constructs_lib.errors import ArgumentError
from constructs_lib.validation import complaint, integer


class Demand(ABC):
    """A source of work that can say how many instances it needs.

    The wake function lifts the group to that number, the release handler never goes below it; both learn how to ask
    from the settings given here. A metric or a schedule becomes a demand by one more subclass and one more reader.
    """

    @property
    def keeps_instances(self) -> bool:
        """Whether its work is kept count of, so that an instance stays while some waits. Default: yes."""
        return True

    @abstractmethod
    def settings(self) -> Mapping[str, str]:
        """Environment variables by which the handlers know whom to ask and how to count."""

    @abstractmethod
    def metric_waiting(self, period: Duration) -> cloudwatch.IMetric:
        """How much work waits, as the source itself publishes it; above zero while some does."""

    @abstractmethod
    def claim(self, where: str) -> None:
        """Note that the group at construct path ``where`` works on this demand.

        Raises:
            ArgumentError: another group does already, so that each would start instances for the same work.
        """

    def warnings(self) -> Mapping[str, str]:
        """What is allowed and will cost money: text by warning id. Default: nothing."""
        return {}

    @abstractmethod
    def statements(self) -> Sequence[iam.PolicyStatement]:
        """What the handlers must be allowed to do in order to ask."""

    def wildcards(self) -> Mapping[str, str]:
        """Each resource with a ``*`` in the statements, and why nothing narrower will do. Default: none."""
        return {}


NO_DEAD_LETTER_QUEUE = "@cdk-accelerated-fleet/scaling:NoDeadLetterQueue"
_MOST_MESSAGES = 1_000_000  # more than any queue has in flight; the handlers refuse more, too


@dataclass(frozen=True)
class QueueDemand(Demand):
    """Work waits on an SQS queue: visible and in-flight messages need one instance for each ``messages_per_instance``.

    The queue is read once a minute with GetQueueAttributes. That also keeps it awake: SQS stops publishing metrics for
    a queue that nobody touched for six hours and takes up to 15 minutes to resume, so an alarm would wake a fleet late.

    Attributes:
        queue: the queue that the fleet's instances work on.
        messages_per_instance: how many messages one instance takes at a time. 1 to 1,000,000. Default: 1.

    Raises:
        ArgumentError: the number is not a positive integer, or the queue is not a queue.
    """

    queue: sqs.IQueue
    messages_per_instance: int | None = None

    def __post_init__(self) -> None:
        if self.messages_per_instance is None:
            object.__setattr__(self, "messages_per_instance", 1)
        if not hasattr(self.queue, "queue_url"):
            cure = "pass an aws_sqs.Queue or an imported one (Queue.from_queue_arn)"
            raise ArgumentError(complaint("QueueDemand", "queue", "be an SQS queue", self.queue, cure))
        integer(
            "QueueDemand",
            "messages_per_instance",
            self.messages_per_instance,
            minimum=1,
            maximum=_MOST_MESSAGES,
            cure="give the number of messages that one instance works on at a time",
        )

    def settings(self) -> Mapping[str, str]:
        return {"QUEUE_URL": self.queue.queue_url, "MESSAGES_PER_INSTANCE": str(self.messages_per_instance)}

    def metric_waiting(self, period: Duration) -> cloudwatch.Metric:
        # Two samples can fall into one minute, so a sum would count them twice.
        return self.queue.metric_approximate_number_of_messages_visible(period=period, statistic="Maximum")

    def warnings(self) -> Mapping[str, str]:
        if not isinstance(self.queue, sqs.Queue) or self.queue.dead_letter_queue is not None:
            return {}
        why = "keeps idle instances until the queue forgets it: give the queue a dead_letter_queue"
        return {NO_DEAD_LETTER_QUEUE: f"a message that can never be processed {why}"}

    def claim(self, where: str) -> None:
        taken = claim(self.queue.node, "worked-on-by", where)
        if taken is not None:
            cure = "give each fleet a queue of its own: both would count, and start instances for, every message"
            rule = f"have a queue that no other fleet works on ({taken})"
            raise ArgumentError(complaint(where, "demand", rule, self.queue.node.path, cure))

    def statements(self) -> Sequence[iam.PolicyStatement]:
        return [iam.PolicyStatement(actions=["sqs:GetQueueAttributes"], resources=[self.queue.queue_arn])]
