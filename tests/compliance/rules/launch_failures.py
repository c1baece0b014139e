"""Launches that fail and nobody is told: field cases 42 and 43."""

from typing import Any

from tests.compliance.cases import Breaks, Case, group, template
from tests.compliance.telemetry import GROUP_NAME, WAITING, alarm, raised, without_default


def _scaled(properties: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    busy = alarm(WAITING, ComparisonOperator="GreaterThanThreshold", AlarmActions=[{"Ref": "Out"}])
    return group(properties=properties, **template(Out=raised(), Busy=busy, **more)["Resources"])


def _by_the_clock(**sizes: Any) -> dict[str, Any]:
    morning = {"AutoScalingGroupName": {"Ref": "Group"}, "Recurrence": "0 8 * * *", **sizes}
    return group(Morning={"Type": "AutoScaling::ScheduledAction", "Properties": morning})


def _rule(**pattern: Any) -> dict[str, Any]:
    return {"Type": "Events::Rule", "Properties": {"EventPattern": pattern}}


def _notified(*types: str) -> dict[str, Any]:
    return {"NotificationConfigurations": [{"TopicARN": "arn", "NotificationTypes": list(types)}]}


CASES = (
    Case(
        rule="launch-failure-untold",
        breaks=(
            Breaks(template=_scaled(), resource="Group", property="NotificationConfigurations", got="nothing"),
            # Nobody looks on in the morning, either.
            Breaks(template=_by_the_clock(DesiredCapacity=2), resource="Group", property="NotificationConfigurations"),
            Breaks(
                template=_scaled(_notified("autoscaling:EC2_INSTANCE_TERMINATE")),
                resource="Group",
                property="NotificationConfigurations",
            ),
            Breaks(
                template=_scaled(Rule=_rule(**{"source": ["aws.ec2"]})),
                resource="Group",
                property="NotificationConfigurations",
            ),
        ),
        keeps=(
            _scaled(_notified("autoscaling:EC2_INSTANCE_LAUNCH_ERROR")),
            _by_the_clock(DesiredCapacity=0, MinSize=0),
            _scaled(Rule=_rule(**{"source": ["aws.autoscaling"], "detail-type": ["EC2 Instance Launch Unsuccessful"]})),
            _scaled(
                Shortfall=alarm(
                    {
                        "Namespace": "AWS/AutoScaling",
                        "MetricName": "GroupInServiceInstances",
                        "Dimensions": [GROUP_NAME],
                    }
                )
            ),
        ),
        unknown=(
            without_default(_scaled({"NotificationConfigurations": {"Ref": "Asked"}}), "Asked"),
            _scaled() | {"Outputs": {"Name": {"Value": {"Ref": "Group"}, "Export": {"Name": "group"}}}},
            without_default(_by_the_clock(DesiredCapacity={"Ref": "Wanted"}), "Wanted"),
            _scaled(Watch={"Type": "Lambda::Function", "Properties": {"Role": "arn:aws:iam::1:role/elsewhere"}}),
        ),
    ),
)
