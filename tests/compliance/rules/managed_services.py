"""Of AppStream, WorkSpaces, EMR, CodeBuild and GameLift, by the AWS CloudFormation Template Reference; "Image Builder
Actions", Amazon AppStream 2.0 Administration Guide; "Manage Scaling an Amazon GameLift Servers Fleet To/From Zero",
Amazon GameLift Servers Developer Guide.
"""

from __future__ import annotations

from typing import Any

from tests.compliance.cases import Breaks, Case, Template, moving, template

_PARAMETERS = {"Parameters": {"Given": {"Type": "String"}}}
_GIVEN = {"Ref": "Given"}
_STATED = {"accel-fleet": {"minimum": "designers start at any hour"}}


def _role(*actions: str, on: object = "*") -> dict[str, Any]:
    return {
        "Type": "IAM::Role",
        "Properties": {
            "AssumeRolePolicyDocument": {
                "Statement": [
                    {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"Service": "lambda.amazonaws.com"}}
                ]
            },
            "Policies": [
                {
                    "PolicyName": "Own",
                    "PolicyDocument": {"Statement": [{"Effect": "Allow", "Action": [*actions], "Resource": on}]},
                }
            ],
        },
    }


def _with_macro(content: Template) -> Template:
    return {**content, "Transform": "Nights"}


def _fleet(instance: object = "stream.graphics.g4dn.xlarge", *, told: object = None, **properties: object) -> Any:
    metadata = {} if told is None else {"Metadata": told}
    return {
        "Type": "AppStream::Fleet",
        "Properties": {"Name": "designers", "InstanceType": instance, "ImageName": "image", **properties},
        **metadata,
    }


def _target(id: object, least: object = 0, **more: object) -> dict[str, Any]:
    return {
        "Type": "ApplicationAutoScaling::ScalableTarget",
        "Properties": {
            "ServiceNamespace": "appstream",
            "ResourceId": id,
            "ScalableDimension": "appstream:fleet:DesiredCapacity",
            "MinCapacity": least,
            "MaxCapacity": 5,
            **more,
        },
    }


_OF_FLEET = {"Fn::Sub": "fleet/${Fleet}"}
_NIGHT = {"Schedule": "cron(0 20 * * ? *)", "ScalableTargetAction": {"MinCapacity": 0, "MaxCapacity": 0}}

_STREAMS = Case(
    rule="streaming-always-on",
    breaks=(
        Breaks(
            template=template(Fleet=_fleet(FleetType="ALWAYS_ON")),
            resource="Fleet",
            property="FleetType",
            got="ALWAYS_ON",
        ),
        # Always on is the default.
        Breaks(
            template=template(Fleet=_fleet("stream.graphics-pro.4xlarge")),
            resource="Fleet",
            property="FleetType",
            got="nothing",
        ),
        Breaks(
            template=template(Fleet=_fleet(), Target=_target("fleet/designers", 1)),
            resource="Fleet",
            property="FleetType",
        ),
        Breaks(template=template(Fleet=_fleet(), Target=_target(_OF_FLEET)), resource="Target", property="MinCapacity"),
        Breaks(
            template=template(Fleet=_fleet(), Target=_target("fleet/others")), resource="Fleet", property="FleetType"
        ),
    ),
    keeps=(
        template(Fleet=_fleet(FleetType="ON_DEMAND")),
        template(Fleet=_fleet(FleetType="ELASTIC")),
        template(Fleet=_fleet(told=_STATED)),
        template(Fleet=_fleet(), Target=_target("fleet/designers"), Scale=moving()),
        template(Fleet=_fleet(), Target=_target(_OF_FLEET), Scale=moving()),
        template(Fleet=_fleet(), Target=_target(_OF_FLEET, 1, ScheduledActions=[_NIGHT])),
        template(
            Fleet=_fleet(),
            Role=_role("appstream:StopFleet", on={"Fn::Sub": "arn:aws:appstream:*:*:fleet/${Fleet}"}),
        ),
        template(Fleet=_fleet("stream.standard.large")),
    ),
    unknown=(
        _PARAMETERS | template(Fleet=_fleet(FleetType=_GIVEN)),
        _PARAMETERS | template(Fleet=_fleet(_GIVEN)),
        _PARAMETERS | template(Fleet=_fleet(), Target=_target(_OF_FLEET, _GIVEN)),
        template(Fleet=_fleet(), Role=_role("appstream:*")),
        _with_macro(template(Fleet=_fleet())),
    ),
)


def _desktop(mode: object = None, kind: object = "GRAPHICS_G4DN", **more: object) -> dict[str, Any]:
    stated = {} if mode is None else {"RunningMode": mode}
    return {
        "Type": "WorkSpaces::Workspace",
        "Properties": {
            "BundleId": "wsb-1",
            "DirectoryId": "d-1",
            "UserName": "ada",
            "WorkspaceProperties": {"ComputeTypeName": kind, **stated},
        },
        **more,
    }


_DESKTOPS = Case(
    rule="desktop-always-on",
    breaks=(
        Breaks(
            template=template(Desktop=_desktop("ALWAYS_ON")),
            resource="Desktop",
            property="WorkspaceProperties.RunningMode",
            got="ALWAYS_ON",
        ),
        Breaks(
            template=template(Desktop=_desktop("ALWAYS_ON", "GRAPHICSPRO_G4DN")),
            resource="Desktop",
            property="WorkspaceProperties.RunningMode",
        ),
    ),
    keeps=(
        template(Desktop=_desktop("AUTO_STOP")),
        # It is started and stopped by a broker.
        template(Desktop=_desktop("MANUAL")),
        template(Desktop=_desktop("ALWAYS_ON", Metadata=_STATED)),
        template(Desktop=_desktop("ALWAYS_ON", "PERFORMANCE")),
        template(Desktop={"Type": "WorkSpaces::Workspace", "Properties": {"BundleId": "wsb-1"}}),
    ),
    unknown=(
        # The reference names no default.
        template(Desktop=_desktop()),
        _PARAMETERS | template(Desktop=_desktop(_GIVEN)),
        _PARAMETERS | template(Desktop=_desktop("ALWAYS_ON", _GIVEN)),
    ),
)

_KEPT = {"KeepJobFlowAliveWhenNoSteps": True}
_TRANSIENT = {"KeepJobFlowAliveWhenNoSteps": False}


def _nodes(kind: object = "g4dn.2xlarge") -> dict[str, Any]:
    return {
        "MasterInstanceGroup": {"InstanceCount": 1, "InstanceType": "m5.xlarge"},
        "CoreInstanceGroup": {"InstanceCount": 2, "InstanceType": kind},
    }


def _cluster(*instances: dict[str, Any], told: object = None, **properties: object) -> dict[str, Any]:
    merged = {name: value for each in instances for name, value in each.items()}
    metadata = {} if told is None else {"Metadata": told}
    return {
        "Type": "EMR::Cluster",
        "Properties": {"Name": "rapids", "ReleaseLabel": "emr-7.5.0", "Instances": merged, **properties},
        **metadata,
    }


_TASKS = {
    "TaskInstanceFleets": [{"InstanceTypeConfigs": [{"InstanceType": "m5.xlarge"}, {"InstanceType": "g5.xlarge"}]}]
}
_IDLE = {"AutoTerminationPolicy": {"IdleTimeout": 3600}}

_CLUSTERS = Case(
    rule="emr-cluster-never-ends",
    breaks=(
        Breaks(
            template=template(Cluster=_cluster(_nodes(), _KEPT)),
            resource="Cluster",
            property="AutoTerminationPolicy",
            got="nothing",
        ),
        Breaks(
            template=template(Cluster=_cluster(_nodes("m5.xlarge"), _TASKS, _KEPT)),
            resource="Cluster",
            property="AutoTerminationPolicy",
        ),
        Breaks(
            template=template(
                Cluster=_cluster({"TaskInstanceGroups": [{"InstanceType": "p4d.24xlarge"}]}, _KEPT),
                Role=_role("elasticmapreduce:DescribeCluster"),
            ),
            resource="Cluster",
            property="AutoTerminationPolicy",
        ),
    ),
    keeps=(
        template(Cluster=_cluster(_nodes(), _KEPT, **_IDLE)),
        template(Cluster=_cluster(_nodes(), _TRANSIENT)),
        template(Cluster=_cluster(_nodes(), **_IDLE)),
        template(Cluster=_cluster(_nodes(), _KEPT, told=_STATED)),
        template(
            Cluster=_cluster(_nodes(), _KEPT),
            Role=_role(
                "elasticmapreduce:TerminateJobFlows", on={"Fn::Sub": "arn:aws:elasticmapreduce:*:*:cluster/${Cluster}"}
            ),
        ),
        template(Cluster=_cluster(_nodes("m5.xlarge"), _KEPT)),
    ),
    unknown=(
        # The reference has named both as the default.
        template(Cluster=_cluster(_nodes())),
        _PARAMETERS | template(Cluster=_cluster(_nodes(), {"KeepJobFlowAliveWhenNoSteps": _GIVEN})),
        _PARAMETERS | template(Cluster=_cluster(_nodes(_GIVEN), _KEPT)),
        template(Cluster=_cluster(_nodes(), _KEPT), Role=_role("elasticmapreduce:*")),
        _with_macro(template(Cluster=_cluster(_nodes(), _KEPT))),
    ),
)


def _builds(capacity: object = 1, *, told: object = None, **properties: object) -> dict[str, Any]:
    metadata = {} if told is None else {"Metadata": told}
    return {
        "Type": "CodeBuild::Fleet",
        "Properties": {
            "EnvironmentType": "LINUX_GPU_CONTAINER",
            "ComputeType": "BUILD_GENERAL1_SMALL",
            **({} if capacity is None else {"BaseCapacity": capacity}),
            **properties,
        },
        **metadata,
    }


_BUILDS = Case(
    rule="build-fleet-reserved",
    breaks=(
        Breaks(template=template(Builds=_builds()), resource="Builds", property="BaseCapacity", got="1"),
        # What builds need beyond it runs on demand; what is reserved stays.
        Breaks(
            template=template(Builds=_builds("2", OverflowBehavior="ON_DEMAND")),
            resource="Builds",
            property="BaseCapacity",
            got="2",
        ),
        Breaks(
            template=template(
                Builds=_builds(
                    EnvironmentType="LINUX_EC2",
                    ComputeType="CUSTOM_INSTANCE_TYPE",
                    ComputeConfiguration={"InstanceType": "g4dn.xlarge"},
                )
            ),
            resource="Builds",
            property="BaseCapacity",
        ),
    ),
    keeps=(
        template(Builds=_builds(0)),
        template(Builds=_builds(None, told=_STATED)),
        template(Builds=_builds(EnvironmentType="LINUX_EC2", ComputeConfiguration={"InstanceType": "m7i.large"})),
        template(Builds=_builds(told=_STATED)),
        template(Builds=_builds(EnvironmentType="LINUX_CONTAINER")),
        # Projects without a fleet build on demand.
        template(
            Project={"Type": "CodeBuild::Project", "Properties": {"Environment": {"Type": "LINUX_GPU_CONTAINER"}}}
        ),
    ),
    unknown=(
        template(Builds=_builds(None)),
        _PARAMETERS | template(Builds=_builds(_GIVEN)),
        _PARAMETERS | template(Builds=_builds(EnvironmentType=_GIVEN)),
    ),
)


def _builder(kind: object = "stream.graphics.g5.xlarge", *, told: object = None) -> Any:
    own = {"Name": "designers", "InstanceType": kind, "ImageName": "image"}
    return {"Type": "AppStream::ImageBuilder", "Properties": own, **({} if told is None else {"Metadata": told})}


_BUILDERS = Case(
    rule="image-builder-never-stops",
    breaks=(
        Breaks(template=template(Builder=_builder()), resource="Builder"),
        # Who may stop fleets may not stop image builders.
        Breaks(
            template=template(Builder=_builder(), Role=_role("appstream:StopFleet")),
            resource="Builder",
        ),
    ),
    keeps=(
        template(Builder=_builder("stream.standard.large")),
        template(Builder=_builder(told=_STATED)),
        template(
            Builder=_builder(),
            Role=_role("appstream:StopImageBuilder", on={"Fn::Sub": "arn:aws:appstream:*:*:image-builder/${Builder}"}),
        ),
    ),
    unknown=(
        template(Builder=_builder(), Role=_role("appstream:StopImageBuilder")),
        _PARAMETERS | template(Builder=_builder(_GIVEN)),
        _with_macro(template(Builder=_builder())),
    ),
)


def _servers(kind: object = "g5.xlarge", *, told: object = None, **properties: object) -> Any:
    own = {"Name": "matches", "EC2InstanceType": kind, **properties}
    return {"Type": "GameLift::Fleet", "Properties": own, **({} if told is None else {"Metadata": told})}


def _at(least: object = 0, *, desired: object = None, by: str | None = None) -> dict[str, Any]:
    """A location with its sizes; ``by`` is the strategy of its managed capacity."""
    managed = {} if by is None else {"ManagedCapacityConfiguration": {"ZeroCapacityStrategy": by}}
    wanted = {} if desired is None else {"DesiredEC2Instances": desired}
    return {"Location": "us-west-2", "LocationCapacity": {"MinSize": least, "MaxSize": 3, **wanted, **managed}}


_PLAYED_BY_CONTAINERS = {"Type": "GameLift::ContainerFleet", "Properties": {"InstanceType": "g5.xlarge"}}
_POLICY = {"Name": "sessions", "PolicyType": "TargetBased", "MetricName": "PercentAvailableGameSessions"}
_CAPACITY = "Locations[0].LocationCapacity.ManagedCapacityConfiguration.ZeroCapacityStrategy"

_GAMES = Case(
    rule="game-servers-never-at-zero",
    breaks=(
        # Without locations it has one instance in its home Region.
        Breaks(template=template(Games=_servers()), resource="Games", property="ScalingPolicies", got="nothing"),
        Breaks(template=template(Games=_PLAYED_BY_CONTAINERS), resource="Games", property="ScalingPolicies"),
        Breaks(
            template=template(Games=_servers(Locations=[_at(1)])), resource="Games", property=_CAPACITY, got="nothing"
        ),
        Breaks(
            template=template(Games=_servers(Locations=[_at(desired=2, by="MANUAL")])),
            resource="Games",
            property=_CAPACITY,
            got="MANUAL",
        ),
    ),
    keeps=(
        template(Games=_servers("c7i.large")),
        template(Games=_servers(told=_STATED)),
        template(Games=_servers(Locations=[_at(by="SCALE_TO_AND_FROM_ZERO")])),
        template(Games=_servers(Locations=[_at(desired=0)])),
        template(Games=_servers(DesiredEC2Instances=0)),
        template(Games=_servers(ScalingPolicies=[_POLICY])),
        # Of a minimum of the fleet another rule tells.
        template(Games=_servers(MinSize=1)),
        template(
            Games=_servers(),
            Role=_role("gamelift:UpdateFleetCapacity", on={"Fn::Sub": "arn:aws:gamelift:*:*:fleet/${Games}"}),
        ),
    ),
    unknown=(
        template(Games=_servers(), Role=_role("gamelift:UpdateFleetCapacity")),
        _PARAMETERS | template(Games=_servers(_GIVEN)),
        _PARAMETERS | template(Games=_servers(Locations=[_at(desired=_GIVEN)])),
        _PARAMETERS | template(Games=_servers(ScalingPolicies=_GIVEN)),
        _with_macro(template(Games=_servers())),
    ),
)

CASES = (_STREAMS, _BUILDERS, _DESKTOPS, _CLUSTERS, _BUILDS, _GAMES)
