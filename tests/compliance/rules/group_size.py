"""Field cases 1, 2 and 57; ``AWS::AutoScaling::AutoScalingGroup``, AWS CloudFormation Template Reference."""

from __future__ import annotations

from typing import Any

from tests.compliance.cases import Breaks, Case, group, template

_PARAMETER = {"Parameters": {"Size": {"Type": "Number"}}}
_REASON = {"Metadata": {"accel-fleet": {"minimum": "the model has to answer within a second"}}}


def _with(made: dict[str, Any], id: str, **attributes: Any) -> dict[str, Any]:
    return {**made, "Resources": {**made["Resources"], id: {**made["Resources"][id], **attributes}}}


def _batch(**resources: object) -> dict[str, Any]:
    return template(
        Environment={
            "Type": "Batch::ComputeEnvironment",
            "Properties": {
                "Type": "MANAGED",
                "ComputeResources": {"Type": "EC2", "InstanceTypes": ["g6.xlarge"], "MaxvCpus": 64, **resources},
            },
        }
    )


def _nodes(least: object) -> dict[str, Any]:
    return template(
        Nodes={
            "Type": "EKS::Nodegroup",
            "Properties": {"InstanceTypes": ["g6.xlarge"], "ScalingConfig": {"MinSize": least, "MaxSize": 2}},
        }
    )


def _render_fleet(least: int) -> dict[str, Any]:
    return template(
        Fleet={
            "Type": "Deadline::Fleet",
            "Properties": {
                "MinWorkerCount": least,
                "Configuration": {
                    "ServiceManagedEc2": {
                        "InstanceCapabilities": {"AcceleratorCapabilities": {"Selections": [{"Name": "l4"}]}}
                    }
                },
            },
        }
    )


def _servers(least: int) -> dict[str, Any]:
    return template(
        Servers={"Type": "GameLift::Fleet", "Properties": {"EC2InstanceType": "g5.xlarge", "MinSize": least}}
    )


def _cluster_nodes(least: int) -> dict[str, Any]:
    return template(
        Nodes={
            "Type": "PCS::ComputeNodeGroup",
            "Properties": {
                "InstanceConfigs": [{"InstanceType": "p5.48xlarge"}],
                "ScalingConfiguration": {"MinInstanceCount": least, "MaxInstanceCount": 4},
            },
        }
    )


_WITH_DESIRED = group(properties={"DesiredCapacity": "2"})

CASES = (
    Case(
        rule="minimum-above-zero",
        breaks=(
            Breaks(template=group(properties={"MinSize": "1"}), resource="Group", property="MinSize", got="'1'"),
            Breaks(template=_batch(MinvCpus=4), resource="Environment", property="ComputeResources.MinvCpus", got="4"),
            Breaks(template=_nodes(1), resource="Nodes", property="ScalingConfig.MinSize", got="1"),
            Breaks(template=_render_fleet(2), resource="Fleet", property="MinWorkerCount", got="2"),
            Breaks(template=_servers(1), resource="Servers", property="MinSize", got="1"),
            Breaks(
                template=_cluster_nodes(1),
                resource="Nodes",
                property="ScalingConfiguration.MinInstanceCount",
                got="1",
            ),
        ),
        keeps=(
            _with(group(properties={"MinSize": "1"}), "Group", **_REASON),
            {"Parameters": {"Size": {"Type": "Number", "Default": 0}}} | group(properties={"MinSize": {"Ref": "Size"}}),
        ),
        unknown=(
            _PARAMETER | group(properties={"MinSize": {"Ref": "Size"}}),
            _PARAMETER | _batch(MinvCpus={"Ref": "Size"}),
            _PARAMETER | _nodes({"Ref": "Size"}),
        ),
    ),
    Case(
        rule="desired-capacity-fixed",
        breaks=(Breaks(template=_WITH_DESIRED, resource="Group", property="DesiredCapacity", got="'2'"),),
        keeps=(
            group(properties={"MinSize": "2", "MaxSize": "2", "DesiredCapacity": "2"}),
            _with(
                _WITH_DESIRED,
                "Group",
                UpdatePolicy={"AutoScalingScheduledAction": {"IgnoreUnmodifiedGroupSizeProperties": True}},
            ),
        ),
        unknown=(_PARAMETER | group(properties={"DesiredCapacity": {"Ref": "Size"}}),),
    ),
    Case(
        rule="launch-configuration-used",
        breaks=(
            Breaks(
                template=template(
                    Launch={"Type": "AutoScaling::LaunchConfiguration", "Properties": {"InstanceType": "p3.2xlarge"}},
                    Group={
                        "Type": "AutoScaling::AutoScalingGroup",
                        "Properties": {"LaunchConfigurationName": {"Ref": "Launch"}, "MinSize": "0", "MaxSize": "1"},
                    },
                ),
                resource="Group",
                property="LaunchConfigurationName",
            ),
        ),
        keeps=(group(),),
        unknown=(
            template(
                Group={
                    "Type": "AutoScaling::AutoScalingGroup",
                    "Properties": {"LaunchConfigurationName": "of-somebody", "MinSize": "0", "MaxSize": "1"},
                },
            ),
        ),
    ),
    Case(
        rule="launch-stated-twice",
        breaks=(
            Breaks(
                template=group("g6.xlarge", "g5.xlarge", properties={"LaunchTemplate": {"LaunchTemplateId": "lt-1"}}),
                resource="Group",
                property="MixedInstancesPolicy",
            ),
        ),
        keeps=(group(), group("g6.xlarge", "g5.xlarge")),
        unknown=(_PARAMETER | group(launch={"InstanceType": {"Ref": "Size"}}),),
    ),
)
