"""Field case 23; "Encrypting Amazon SNS topics: key management", Amazon SNS Developer Guide."""

from typing import Any

from tests.compliance.cases import Breaks, Case, group, template
from tests.compliance.rules.keys import allow

_ROOT = {"AWS": {"Fn::Sub": "arn:aws:iam::${AWS::AccountId}:root"}}
_CLOUDWATCH = {"Service": "cloudwatch.amazonaws.com"}
_EVENTS = {"Service": ["events.amazonaws.com"]}
_USE = ["kms:Decrypt", "kms:GenerateDataKey*"]
_PUBLISH = "sns:Publish"


def _topic(**properties: Any) -> dict[str, Any]:
    return {"Type": "SNS::Topic", "Properties": properties}


def _alarm(**properties: Any) -> dict[str, Any]:
    watched = {"Namespace": "AWS/EC2", "MetricName": "CPUUtilization"}
    return {"Type": "CloudWatch::Alarm", "Properties": {**watched, **properties}}


def _alarmed(actions: Any = None, *types: str, **more: Any) -> dict[str, Any]:
    named = [{"Ref": "Topic"}] if actions is None else actions
    return group(*types, **{"Topic": _topic(), "Alarm": _alarm(AlarmActions=named), **more})


def _key(*statements: Any) -> dict[str, Any]:
    return {"Type": "KMS::Key", "Properties": {"KeyPolicy": {"Statement": [allow(_ROOT), *statements]}}}


def _encrypted(*statements: Any, **more: Any) -> dict[str, Any]:
    return _alarmed(Topic=_topic(KmsMasterKeyId={"Ref": "Key"}), Key=_key(*statements), **more)


def _policy(*statements: Any) -> dict[str, Any]:
    document = {"Statement": list(statements)}
    return {"Type": "SNS::TopicPolicy", "Properties": {"Topics": [{"Ref": "Topic"}], "PolicyDocument": document}}


_RULE = {
    "Type": "Events::Rule",
    "Properties": {
        "EventPattern": {"source": ["aws.autoscaling"]},
        "Targets": [{"Arn": {"Ref": "Topic"}, "Id": "topic"}],
    },
}
_BUDGET = {
    "Type": "Budgets::Budget",
    "Properties": {
        "Budget": {"BudgetType": "COST", "TimeUnit": "MONTHLY"},
        "NotificationsWithSubscribers": [
            {
                "Notification": {"ComparisonOperator": "GREATER_THAN", "NotificationType": "ACTUAL", "Threshold": 80},
                "Subscribers": [{"SubscriptionType": "SNS", "Address": {"Ref": "Topic"}}],
            }
        ],
    },
}
_NAMED = {"Parameters": {"Given": {"Type": "String"}}}

CASES = (
    Case(
        rule="topic-key-refuses-sender",
        breaks=(
            Breaks(
                template=_alarmed(Topic=_topic(KmsMasterKeyId="alias/aws/sns")),
                resource="Topic",
                property="KmsMasterKeyId",
                got="alias/aws/sns",
            ),
            Breaks(
                template=_alarmed(
                    Topic=_topic(
                        KmsMasterKeyId={"Fn::Sub": "arn:aws:kms:${AWS::Region}:${AWS::AccountId}:alias/aws/sns"}
                    )
                ),
                resource="Topic",
                property="KmsMasterKeyId",
            ),
            Breaks(template=_encrypted(), resource="Key", property="KeyPolicy", got="for Topic"),
            # What SageMaker keeps is accelerated capacity, too.
            Breaks(
                template=template(
                    Topic=_topic(KmsMasterKeyId="alias/aws/sns"),
                    Alarm=_alarm(AlarmActions=[{"Ref": "Topic"}]),
                    Config={
                        "Type": "SageMaker::EndpointConfig",
                        "Properties": {"ProductionVariants": [{"InstanceType": "ml.g5.xlarge"}]},
                    },
                ),
                resource="Topic",
                property="KmsMasterKeyId",
            ),
            # The usual half: Decrypt without GenerateDataKey.
            Breaks(template=_encrypted(allow(_CLOUDWATCH, "kms:Decrypt")), resource="Key", property="KeyPolicy"),
            Breaks(template=_encrypted(allow(_EVENTS, _USE)), resource="Key", property="KeyPolicy"),
            Breaks(
                template=_encrypted(allow(_CLOUDWATCH, _USE), Goes=_RULE, Alarm=_alarm(OKActions=[{"Ref": "Topic"}])),
                resource="Key",
                property="KeyPolicy",
            ),
            Breaks(
                template=_alarmed([], Topic=_topic(KmsMasterKeyId="alias/aws/sns"), Budget=_BUDGET),
                resource="Topic",
                property="KmsMasterKeyId",
            ),
        ),
        keeps=(
            _encrypted(allow(_CLOUDWATCH, _USE)),
            _encrypted(allow({"Service": ["events.amazonaws.com", "cloudwatch.amazonaws.com"]}), Goes=_RULE),
            _alarmed(),
            # What EC2 does by itself is no topic.
            _alarmed([{"Fn::Sub": "arn:aws:automate:${AWS::Region}:ec2:stop"}, {"Ref": "Topic"}]),
            # Nobody who needs the key sends to it.
            _alarmed([], Topic=_topic(KmsMasterKeyId="alias/aws/sns")),
            _alarmed(None, "m7i.large", Topic=_topic(KmsMasterKeyId="alias/aws/sns")),
        ),
        unknown=(
            _alarmed(Topic=_topic(KmsMasterKeyId="arn:aws:kms:us-east-1:111122223333:key/1")),
            _NAMED | _alarmed(Topic=_topic(KmsMasterKeyId={"Ref": "Given"})),
            _NAMED | _encrypted(allow({"Service": {"Ref": "Given"}}, _USE)),
            _alarmed(["arn:aws:sns:us-east-1:111122223333:ops"]),
            # Nobody can tell whether the stack has accelerators.
            _NAMED
            | group(
                launch={"InstanceType": {"Ref": "Given"}},
                Topic=_topic(KmsMasterKeyId="alias/aws/sns"),
                Alarm=_alarm(AlarmActions=[{"Ref": "Topic"}]),
            ),
            _alarmed([{"Fn::Sub": "arn:aws:sns:${AWS::Region}:${AWS::AccountId}:ops"}]),
        ),
    ),
    Case(
        rule="topic-refuses-sender",
        breaks=(
            Breaks(
                template=_alarmed(Policy=_policy(allow(_EVENTS, _PUBLISH))),
                resource="Policy",
                property="PolicyDocument",
                got="for Topic",
            ),
            Breaks(
                template=_alarmed(Policy=_policy(allow(_CLOUDWATCH, _PUBLISH)), Goes=_RULE),
                resource="Policy",
                property="PolicyDocument",
            ),
            # EventBridge is not among those whom a topic lets publish by itself.
            Breaks(template=_alarmed([], Goes=_RULE), resource="Topic", got="by itself"),
            Breaks(template=_alarmed([], Budget=_BUDGET), resource="Topic"),
        ),
        keeps=(
            _alarmed(),
            _alarmed(Policy=_policy(allow(_CLOUDWATCH, _PUBLISH))),
            _alarmed(
                Policy=_policy(allow({"AWS": "*"}, "SNS:*", Condition={"StringEquals": {"AWS:SourceOwner": "1"}}))
            ),
            _alarmed(Policy=_policy(allow({"Service": ["cloudwatch.amazonaws.com"]}, ["sns:Pub*"]))),
            # A function is no topic.
            _alarmed(
                [],
                Function={"Type": "Lambda::Function"},
                Goes={
                    "Type": "Events::Rule",
                    "Properties": {"Targets": [{"Arn": {"Fn::GetAtt": ["Function", "Arn"]}, "Id": "function"}]},
                },
            ),
            # A rule may send with a role of its own.
            _alarmed(
                [],
                Goes={
                    "Type": "Events::Rule",
                    "Properties": {
                        "EventPattern": {"source": ["aws.ec2"]},
                        "Targets": [{"Arn": {"Ref": "Topic"}, "Id": "topic", "RoleArn": "arn:aws:iam::1:role/send"}],
                    },
                },
            ),
            _alarmed(None, "m7i.large", Policy=_policy(allow(_EVENTS, _PUBLISH))),
        ),
        unknown=(
            # AWS says nothing of alarms under a statement for the account.
            _alarmed(Policy=_policy(allow(_ROOT, _PUBLISH))),
            _NAMED | _alarmed(Policy=_policy(allow({"Service": {"Ref": "Given"}}, _PUBLISH))),
            _alarmed([], Goes=_RULE)
            | {"Outputs": {"Topic": {"Value": {"Ref": "Topic"}, "Export": {"Name": "fleet-topic"}}}},
        ),
    ),
)
