"""Topics that alarms, event rules and budgets beside accelerators send to: who sends has to get through.

"Enable compatibility between event sources from AWS services and encrypted topics", Amazon SNS Developer Guide; "Using
resource-based policies for Amazon EventBridge", Amazon EventBridge User Guide. Read 2026-11.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from constructs_lib.compliance.deployment import Deployment, Resource
from constructs_lib.compliance.facts.accelerated_stacks import beside_accelerators
from constructs_lib.compliance.facts.keys import is_of_aws, key_of, lets_in
from constructs_lib.compliance.facts.policies import Statement, elements, policy_statements, settled
from constructs_lib.compliance.rule import ERROR, Rule
from constructs_lib.compliance.values import Broken, NotKnown, Value, any_of
from constructs_lib.template.markers import Made, PartText, Unknown, is_marker

ALARM = "AWS::CloudWatch::Alarm"
COMPOSITE_ALARM = "AWS::CloudWatch::CompositeAlarm"
RULE = "AWS::Events::Rule"
BUDGET = "AWS::Budgets::Budget"
TOPIC = "AWS::SNS::Topic"

_CLOUDWATCH = "cloudwatch.amazonaws.com"
_SERVICES = {
    ALARM: _CLOUDWATCH,
    COMPOSITE_ALARM: _CLOUDWATCH,
    RULE: "events.amazonaws.com",
    BUDGET: "budgets.amazonaws.com",
}
_ACTIONS = ("AlarmActions", "OKActions", "InsufficientDataActions")
_USES_OF_KEY = ("kms:Decrypt", "kms:GenerateDataKey")
_POLICIES = ("AWS::SNS::TopicPolicy", "AWS::SNS::TopicInlinePolicy")


@dataclass(frozen=True)
class _Sending:
    """A service that sends to a topic.

    Attributes:
        resource: the topic.
        service: its principal.
        sender: the first resource that has it send.
    """

    resource: Resource
    service: str
    sender: Resource


def _sendings(deployment: Deployment) -> Iterator[_Sending | NotKnown]:
    seen: set[tuple[Resource, str]] = set()
    for sender in beside_accelerators(deployment, *_SERVICES):
        if isinstance(sender, NotKnown):
            yield sender
            continue
        for target in _targets(sender):
            topic = target if isinstance(target, NotKnown) else _topic(target)
            if isinstance(topic, NotKnown):
                yield topic
            elif topic is not None and (topic, _SERVICES[sender.type]) not in seen:
                seen.add((topic, _SERVICES[sender.type]))
                yield _Sending(topic, _SERVICES[sender.type], sender)


def _targets(sender: Resource) -> Iterator[Value | NotKnown]:
    properties = sender.properties
    try:
        if sender.type == RULE:
            # A role that the target names sends in its own right, for which the topic's policy is not needed.
            yield from [each.at("Arn") for each in properties.each("Targets") if each.at("RoleArn").is_absent]
        elif sender.type == BUDGET:
            for notification in properties.each("NotificationsWithSubscribers"):
                subscribers = notification.each("Subscribers")
                yield from [each.at("Address") for each in subscribers if each.text("SubscriptionType") == "SNS"]
        else:
            for name in _ACTIONS:
                yield from elements(properties.at(name))
    except NotKnown as not_known:
        yield not_known


def _topic(target: Value) -> Resource | NotKnown | None:
    """The topic that a target is. None: it is something else."""
    if isinstance(target.raw, Made):
        made = target.made()
        return made if made is not None and made.type == TOPIC else None
    if isinstance(target.raw, (str, PartText)):
        named = target.searchable() or ""
        return target.not_known("the topic is not in the templates") if ":sns:" in named else None
    if is_marker(target.raw):
        return target.not_known("" if isinstance(target.raw, Unknown) else "only a deploy tells what it is")
    return None


def _key_lets_in(sending: _Sending) -> Iterator[Broken]:
    named = sending.resource.properties.at("KmsMasterKeyId")
    if named.is_absent:
        return
    if is_of_aws(named):
        yield named.broken(
            must=f"be a key of your own: {sending.service} may not use AWS's, and {sending.sender.id} sends nothing",
            cure=f"name an AWS::KMS::Key whose KeyPolicy allows kms:Decrypt, kms:GenerateDataKey* to {sending.service}",
        )
        return
    key = key_of(named)
    if key is None:
        return
    missing = [
        each for each in _USES_OF_KEY if not lets_in(key, lambda each: each.is_for_service(sending.service), each)
    ]
    if missing:
        yield key.properties.broken(
            "KeyPolicy",
            must=f"allow {' and '.join(missing)} to {sending.service}, else {sending.sender.id} sends nothing",
            got=f"a policy without it for {sending.resource.id}",
            cure=f"add a statement to KeyPolicy that allows kms:Decrypt and kms:GenerateDataKey* to {sending.service}",
        )


def _topic_lets_in(sending: _Sending) -> Iterator[Broken]:
    topic = sending.resource
    policies = [each for each in topic.users(*_POLICIES) if _is_for(each, topic)]
    statements = [each for policy in policies for each in policy_statements(policy.properties.at("PolicyDocument"))]
    if not policies:
        if sending.service == _CLOUDWATCH:
            return  # The policy that a topic has by itself lets the account's alarms publish.
        _nobody_else_has_a_policy_for(topic)
    elif any_of(lambda each: _lets_publish(settled(each), sending.service), statements):
        return
    elif sending.service == _CLOUDWATCH and any_of(lambda each: _lets_the_account(settled(each)), statements):
        raise NotKnown(policies[0], "AWS does not say whether a statement for the account lets its alarms publish")
    place = policies[0].properties.at("PolicyDocument") if policies else topic.properties
    yield place.broken(
        must=f"allow sns:Publish to {sending.service}, else {sending.sender.id} sends nothing",
        got=f"a policy without it for {topic.id}" if policies else "the policy that a topic has by itself",
        cure=f"add a statement to an AWS::SNS::TopicPolicy of {topic.id} that allows sns:Publish to {sending.service}",
    )


def _is_for(policy: Resource, topic: Resource) -> bool:
    name = "Topics" if policy.type == _POLICIES[0] else "TopicArn"
    return any_of(lambda each: each.made() is topic, elements(policy.properties.at(name)))


def _lets_publish(statement: Statement, service: str) -> bool:
    return statement.allows() and statement.covers("sns:Publish") and statement.is_for_service(service)


def _lets_the_account(statement: Statement) -> bool:
    return statement.allows() and statement.covers("sns:Publish") and bool(statement.principals())


def _nobody_else_has_a_policy_for(topic: Resource) -> None:
    deployment = topic.deployment
    if deployment.unread:
        raise NotKnown(topic, f"{deployment.unread[0]} may have a policy for it")
    if deployment.exported(topic):
        raise NotKnown(topic, "another stack may have a policy for it: an output exports it")


RULES = (
    Rule(
        id="topic-key-refuses-sender",
        title="Alarms, event rules and budgets may use the key of the topic that they send to",
        severity=ERROR,
        practices=("REL06-BP01", "SEC08-BP01"),
        why=(
            "The alarm turns red and nobody hears of it, nor does a function that listens on the topic: the service "
            "may not use the topic's key, and only the alarm's history has the error."
        ),
        cure_here="Give the fleet a topic, with your key or without one; it adds what the senders need.",
        cure_plain=(
            "Encrypt the topic with a key of your own whose KeyPolicy allows kms:Decrypt and kms:GenerateDataKey* to "
            "the service; the key alias/aws/sns cannot be opened to one."
        ),
        link="https://docs.aws.amazon.com/sns/latest/dg/sns-key-management.html",
        subjects=_sendings,
        judge=_key_lets_in,
    ),
    Rule(
        id="topic-refuses-sender",
        title="Alarms, event rules and budgets may publish to the topic that they send to",
        severity=ERROR,
        practices=("REL06-BP01",),
        why=(
            "A topic with a policy of its own takes messages only from those that the policy names. The alarm turns "
            "red, the launch fails, the budget is spent, and nobody hears of it."
        ),
        cure_here="Give the fleet the topic; it adds the statements to its policy.",
        cure_plain="Add a statement with sns:Publish for the service to the topic's AWS::SNS::TopicPolicy.",
        link="https://docs.aws.amazon.com/sns/latest/dg/sns-access-policy-use-cases.html",
        subjects=_sendings,
        judge=_topic_lets_in,
    ),
)
