"""Field cases 41 and 51; the attributes of resources in the AWS CloudFormation User Guide."""

from typing import Any

from tests.compliance.cases import Breaks, Case, group, template

_GIVEN = {"Parameters": {"Given": {"Type": "String"}}}


def _attributes(*types: str, **attributes: Any) -> dict[str, Any]:
    made = group(*types)
    made["Resources"]["Group"] = {**made["Resources"]["Group"], **attributes}
    return made


def _custom(kind: str = "Custom::Cleanup", **properties: Any) -> dict[str, Any]:
    return {"Type": kind, "Properties": {"ServiceToken": "arn", "Group": {"Ref": "Group"}, **properties}}


_BOX = {"InstanceType": "g6.xlarge", "DisableApiTermination": True}
_UNKNOWN_TYPE = {"Parameters": {"Type": {"Type": "String"}}}

CASES = (
    Case(
        rule="member-protected-from-termination",
        breaks=(
            Breaks(
                template=group(launch={"DisableApiTermination": True}),
                resource="Launch",
                property="LaunchTemplateData.DisableApiTermination",
                got="true",
            ),
            Breaks(
                template=group(launch={"DisableApiStop": "true"}),
                resource="Launch",
                property="LaunchTemplateData.DisableApiStop",
            ),
        ),
        keeps=(
            group(),
            group(launch={"DisableApiTermination": False}),
            # An instance of its own may be protected from its own people.
            template(Box={"Type": "EC2::Instance", "Properties": _BOX}),
            group("m7i.large", launch={"DisableApiTermination": True}),
        ),
        unknown=(_GIVEN | group(launch={"DisableApiTermination": {"Ref": "Given"}}),),
    ),
    Case(
        rule="accelerators-outlive-stack",
        breaks=(
            Breaks(
                template=_attributes(DeletionPolicy="Retain"),
                resource="Group",
                property="<DeletionPolicy>",
                got="'Retain'",
            ),
            Breaks(
                template=_attributes(UpdateReplacePolicy="Retain"), resource="Group", property="<UpdateReplacePolicy>"
            ),
            Breaks(
                template=template(
                    Box={
                        "Type": "EC2::Instance",
                        "DeletionPolicy": "RetainExceptOnCreate",
                        "Properties": {"InstanceType": "inf2.xlarge"},
                    }
                ),
                resource="Box",
                property="<DeletionPolicy>",
            ),
        ),
        keeps=(
            group(),
            _attributes(DeletionPolicy="Delete", UpdateReplacePolicy="Delete"),
            _attributes("m7i.large", DeletionPolicy="Retain"),
        ),
        unknown=(
            _GIVEN | _attributes(DeletionPolicy={"Ref": "Given"}),
            _UNKNOWN_TYPE | group(launch={"InstanceType": {"Ref": "Type"}}),
        ),
    ),
    Case(
        rule="custom-resource-waits-an-hour",
        breaks=(
            Breaks(template=group(Cleanup=_custom()), resource="Cleanup", property="ServiceTimeout", got="nothing"),
            Breaks(
                template=group(Cleanup=_custom("AWS::CloudFormation::CustomResource")),
                resource="Cleanup",
                property="ServiceTimeout",
            ),
        ),
        keeps=(
            group(Cleanup=_custom(ServiceTimeout=900)),
            _GIVEN | group(Cleanup=_custom(ServiceTimeout={"Ref": "Given"})),
            # It has nothing to do with the group.
            group(Bucket={"Type": "Custom::Empty", "Properties": {"ServiceToken": "arn"}}),
            group("m7i.large", Cleanup=_custom()),
        ),
        unknown=(_UNKNOWN_TYPE | group(launch={"InstanceType": {"Ref": "Type"}}, Cleanup=_custom()),),
    ),
)
