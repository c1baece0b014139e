"""Field case 36; "EC2 Auto Scaling event reference", Amazon EC2 Auto Scaling User Guide."""

from typing import Any

from tests.compliance.cases import Breaks, Case, group
from tests.compliance.rules.permissions import FUNCTION, allow, role

_GOES = ["EC2 Instance-terminate Lifecycle Action"]
_COMPLETE = allow("autoscaling:CompleteLifecycleAction")


def _events(*statements: Any, detail: Any = None, source: Any = None, **more: Any) -> dict[str, Any]:
    pattern = {
        "source": ["aws.autoscaling"] if source is None else source,
        "detail-type": _GOES,
        **({} if detail is None else {"detail": detail}),
        **more.pop("pattern", {}),
    }
    target = {"Arn": {"Fn::GetAtt": ["Function", "Arn"]}, "Id": "function"}
    rule = {"Type": "Events::Rule", "Properties": {"EventPattern": pattern, "Targets": [target]}}
    return group(*more.pop("types", ()), **{"Function": FUNCTION, "Role": role(*statements), "Goes": rule, **more})


def _sam(pattern: Any) -> dict[str, Any]:
    event = {"Type": "EventBridgeRule", "Properties": {"Pattern": pattern}}
    return {
        "Type": "Serverless::Function",
        "Properties": {"Events": {"Goes": event}, "Policies": [{"Statement": [_COMPLETE]}]},
    }


_PROPERTY = "EventPattern.detail.AutoScalingGroupName"

CASES = (
    Case(
        rule="event-rule-for-all-groups",
        breaks=(
            Breaks(template=_events(_COMPLETE), resource="Goes", property=_PROPERTY, got="nothing"),
            Breaks(
                template=_events(
                    allow("ec2:Terminate*"), detail={"LifecycleTransition": ["autoscaling:EC2_INSTANCE_TERMINATING"]}
                ),
                resource="Goes",
                property=_PROPERTY,
            ),
            Breaks(
                template=group(Function=_sam({"source": ["aws.autoscaling"], "detail-type": _GOES})),
                resource="Function",
                property="Events.Goes.Properties.Pattern.detail.AutoScalingGroupName",
            ),
        ),
        keeps=(
            group(Function=_sam({"source": ["aws.autoscaling"], "detail": {"AutoScalingGroupName": ["train"]}})),
            _events(_COMPLETE, detail={"AutoScalingGroupName": [{"Ref": "Group"}]}),
            _events(_COMPLETE, detail={"LifecycleHookName": ["drain-of-train-1"]}),
            _events(_COMPLETE, detail={"$or": [{"AutoScalingGroupName": ["a"]}, {"AutoScalingGroupName": ["b"]}]}),
            _events(_COMPLETE, pattern={"resources": [{"Fn::GetAtt": ["Group", "Arn"]}]}),
            # Whom the rule wakes can act on its own group only, or on none.
            _events(allow("autoscaling:CompleteLifecycleAction", {"Fn::GetAtt": ["Group", "Arn"]})),
            _events(allow("autoscaling:Describe*")),
            # Events of EC2 name an instance, never its group: the function has to look it up.
            _events(_COMPLETE, source=["aws.ec2"]),
            _events(_COMPLETE, types=("m7i.large",)),
            group(
                Topic={"Type": "SNS::Topic"},
                Goes={
                    "Type": "Events::Rule",
                    "Properties": {
                        "EventPattern": {"source": ["aws.autoscaling"]},
                        "Targets": [{"Arn": {"Ref": "Topic"}, "Id": "topic"}],
                    },
                },
            ),
        ),
        unknown=(
            {"Parameters": {"Given": {"Type": "String"}}} | _events(allow({"Ref": "Given"})),
            {"Parameters": {"Given": {"Type": "String"}}} | _events(_COMPLETE, detail={"Ref": "Given"}),
            _events(Role=role(ManagedPolicyArns=["arn:aws:iam::111122223333:policy/ours"])),
        ),
    ),
)
