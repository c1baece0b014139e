"""Versions: field case 9. User data: 16 KB, EC2 User Guide. Hibernation: no accelerated type does."""

from typing import Any

from tests.compliance.cases import Breaks, Case, group, template

_PARAMETER = {"Parameters": {"Value": {"Type": "String"}}}


def _version(**version: Any) -> dict[str, Any]:
    return group(properties={"LaunchTemplate": {"LaunchTemplateId": {"Ref": "Launch"}, **version}})


def _nodes(**version: Any) -> dict[str, Any]:
    properties = {"InstanceTypes": ["g6.xlarge"], "LaunchTemplate": {"Id": {"Ref": "Launch"}, **version}}
    return template(
        Launch={"Type": "EC2::LaunchTemplate", "Properties": {"LaunchTemplateData": {"UserData": "#!/bin/sh"}}},
        Nodes={"Type": "EKS::Nodegroup", "Properties": properties},
    )


def _pool(state: Any) -> dict[str, Any]:
    properties = {"AutoScalingGroupName": {"Ref": "Group"}, "PoolState": state}
    return group(Pool={"Type": "AutoScaling::WarmPool", "Properties": properties})


def _script(size: int, *references: Any) -> dict[str, Any]:
    return {"Fn::Base64": {"Fn::Join": ["", ["#" * size, *references]]}}


CASES = (
    Case(
        rule="launch-template-version-floats",
        breaks=(
            Breaks(
                template=_version(Version="$Latest"), resource="Group", property="LaunchTemplate.Version", got="$Latest"
            ),
            Breaks(template=_nodes(), resource="Nodes", property="LaunchTemplate.Version", got="nothing"),
            Breaks(template=_version(), resource="Group", property="LaunchTemplate.Version", got="nothing"),
        ),
        keeps=(
            group(),
            group("g6.xlarge", "g5.xlarge"),
            _version(Version="3"),
            _nodes(Version={"Fn::GetAtt": ["Launch", "LatestVersionNumber"]}),
            # An image that is read from its parameter at the launch is a choice of its own.
            group(launch={"ImageId": "resolve:ssm:/golden/ami-id"}),
        ),
        unknown=(_PARAMETER | _version(Version={"Ref": "Value"}),),
    ),
    Case(
        rule="user-data-too-long",
        breaks=(
            Breaks(
                template=group(launch={"UserData": _script(16_385)}),
                resource="Launch",
                property="LaunchTemplateData.UserData",
                got="16385 bytes",
            ),
            Breaks(
                template=group(launch={"UserData": _script(16_385, {"Ref": "Launch"})}),
                resource="Launch",
                property="LaunchTemplateData.UserData",
            ),
        ),
        keeps=(
            group(),
            _nodes(),
            group(launch={"UserData": _script(16_384)}),
            group(launch={"UserData": _script(9_000, {"Ref": "Launch"})}),
        ),
        unknown=(
            _PARAMETER | group(launch={"UserData": {"Ref": "Value"}}),
            group(launch={"UserData": _script(16_300, {"Ref": "Launch"})}),
        ),
    ),
    Case(
        rule="hibernation-not-possible",
        breaks=(
            Breaks(template=_pool("Hibernated"), resource="Pool", property="PoolState", got="Hibernated"),
            Breaks(
                template=group(launch={"HibernationOptions": {"Configured": True}}),
                resource="Launch",
                property="LaunchTemplateData.HibernationOptions.Configured",
                got="true",
            ),
        ),
        keeps=(group(), _pool("Stopped"), group(launch={"HibernationOptions": {"Configured": False}})),
        unknown=(_PARAMETER | _pool({"Ref": "Value"}),),
    ),
)
