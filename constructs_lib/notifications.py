"""Where people are told: one topic that alarms and events can reach."""

from __future__ import annotations

from aws_cdk import Annotations, Stack, Token
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sns as sns
from constructs import Construct

from constructs_lib.errors import ArgumentError
from constructs_lib.validation import complaint

_ALARMS = "cloudwatch.amazonaws.com"
_EVENTS = "events.amazonaws.com"
_PUBLISHERS = f"{_ALARMS} and {_EVENTS}"


def notifications_topic(scope: Construct, id: str, given: sns.ITopic | None) -> sns.ITopic:
    """The given topic or a new one, open to CloudWatch and EventBridge of this account.

    A topic without a policy lets its own account publish; the first statement added replaces that default, so both
    publishers are always named. An encrypted topic also needs its key to let them in, else alarms turn red and nobody
    hears of it.

    Raises:
        ArgumentError: the topic is encrypted with the AWS-managed key, whose policy cannot be changed, is a FIFO topic,
            or stands in another Region, where neither publisher can reach it.
    """
    topic = sns.Topic(scope, id, enforce_ssl=True) if given is None else given
    _check_reach(scope, topic)
    publish = _statements(scope, ["sns:Publish"], topic.topic_arn)
    added = [topic.add_to_resource_policy(statement).statement_added for statement in publish]
    if not all(added):
        Annotations.of(scope).add_warning_v2(
            "@cdk-accelerated-fleet/notifications:ImportedTopic",
            "the policy of the imported topic is not ours to change; make sure that it lets "
            f"{_PUBLISHERS} publish, and that its key, if it has one, lets them use it (kms:Decrypt, "
            "kms:GenerateDataKey*)",
        )
    if isinstance(topic, sns.Topic) and topic.master_key is not None:
        _open_key(scope, topic.master_key)
    return topic


def key_statements(topic: sns.ITopic) -> list[iam.PolicyStatement]:
    """What a function that publishes to the topic may do with the topic's key; nothing if it has none of its own.

    The policy of an imported key is its owner's business.
    """
    if not isinstance(topic, sns.Topic) or topic.master_key is None:
        return []
    use = ["kms:Decrypt", "kms:GenerateDataKey"]
    return [iam.PolicyStatement(actions=use, resources=[topic.master_key.key_arn])]


def _open_key(scope: Construct, key: kms.IKey) -> None:
    if "alias/aws/" in key.key_arn:
        rule = "not be encrypted with the AWS-managed key alias/aws/sns, which CloudWatch may not use"
        cure = "give the topic a key of your own or none"
        alias = key.key_arn.rpartition(":")[2]
        raise ArgumentError(complaint(scope.node.path, "notifications", rule, alias, cure))
    use = _statements(scope, ["kms:Decrypt", "kms:GenerateDataKey*"], "*")
    added = [key.add_to_resource_policy(statement).statement_added for statement in use]
    if not all(added):
        Annotations.of(scope).add_warning_v2(
            "@cdk-accelerated-fleet/notifications:ImportedKey",
            "the policy of the topic's imported key is not ours to change; it must allow kms:Decrypt and "
            f"kms:GenerateDataKey* to {_PUBLISHERS}, else no alarm reaches the topic",
        )


def _check_reach(scope: Construct, topic: sns.ITopic) -> None:
    where = scope.node.path
    if topic.fifo:
        cure = "give a standard topic: alarms and rules name no message group, and a FIFO topic sends no mail"
        raise ArgumentError(complaint(where, "notifications", "not be a FIFO topic", topic.node.path, cure))
    here, there = Stack.of(scope).region, topic.env.region
    if here != there and not Token.is_unresolved(here) and not Token.is_unresolved(there):
        rule = f"be a topic of the fleet's own Region, {here}"
        cure = "give one of each Region: neither an alarm nor a rule reaches another Region"
        raise ArgumentError(complaint(where, "notifications", rule, there, cure))


def _statements(scope: Construct, actions: list[str], resource: str) -> list[iam.PolicyStatement]:
    """One statement for each publisher, since only CloudWatch says for whom it acts.

    EventBridge states no source: a condition on one, in the topic's policy or in its key's, silently refuses every
    event ("Amazon SNS permissions" in the EventBridge User Guide; "Enable compatibility between event sources from AWS
    services and encrypted topics" in the SNS Developer Guide).
    """
    return [
        iam.PolicyStatement(
            sid="FleetAlarms",
            actions=actions,
            principals=[iam.ServicePrincipal(_ALARMS)],
            resources=[resource],
            # Of the alarms, which the topic need not share.
            conditions={"StringEquals": {"aws:SourceAccount": Stack.of(scope).account}},
        ),
        iam.PolicyStatement(
            sid="FleetEvents", actions=actions, principals=[iam.ServicePrincipal(_EVENTS)], resources=[resource]
        ),
    ]
