"""Field cases 25, 54, 55, 57, 58, 59 and 62; Amazon ECS Developer Guide and AWS Batch User Guide."""

from __future__ import annotations

from typing import Any

from tests.compliance.cases import Breaks, Case, group, moving, role_for, template

_PARAMETER = {"Parameters": {"Choice": {"Type": "String"}}}
_CHOICE = {"Ref": "Choice"}


def _provider(
    *,
    group_properties: dict[str, Any] | None = None,
    draining: object = None,
    protection: object = None,
    **scaling: object,
) -> dict[str, Any]:
    own: dict[str, Any] = {} if draining is None else {"ManagedDraining": draining}
    own |= {} if protection is None else {"ManagedTerminationProtection": protection}
    return group(
        properties=group_properties,
        Provider={
            "Type": "ECS::CapacityProvider",
            "Properties": {
                "AutoScalingGroupProvider": {
                    "AutoScalingGroupArn": {"Ref": "Group"},
                    "ManagedScaling": {"Status": "ENABLED", **scaling},
                    **own,
                }
            },
        },
    )


def _hook(transition: str) -> dict[str, Any]:
    return {"LifecycleHookSpecificationList": [{"LifecycleTransition": f"autoscaling:EC2_INSTANCE_{transition}"}]}


def _service(
    *, kind: object = "GPU", properties: dict[str, Any] | None = None, attributes: object = None, **more: Any
) -> dict[str, Any]:
    requirements = [{"Type": kind, "Value": "1"}]
    return template(
        Task={
            "Type": "ECS::TaskDefinition",
            "Properties": {"ContainerDefinitions": [{"Name": "model", "ResourceRequirements": requirements}]},
        },
        Service={
            "Type": "ECS::Service",
            "Properties": {"TaskDefinition": {"Ref": "Task"}, "DesiredCount": 1, **(properties or {})},
            **({} if attributes is None else {"Metadata": attributes}),
        },
        **more,
    )


def _service_with_device(path: str) -> dict[str, Any]:
    devices = [{"HostPath": path, "ContainerPath": path, "Permissions": ["read", "write"]}]
    given = _service()
    given["Resources"]["Task"]["Properties"]["ContainerDefinitions"] = [
        {"Name": "model", "LinuxParameters": {"Devices": devices}}
    ]
    return given


def _service_on(status: object, *, evening: int = 0) -> dict[str, Any]:
    """A service on a group that a schedule lowers, behind a capacity provider with this managed scaling."""
    on = _provider(Status=status)["Resources"]
    sizes = {"Evening": evening, "Morning": 1}
    schedule = {
        id: {
            "Type": "AWS::AutoScaling::ScheduledAction",
            "Properties": {"AutoScalingGroupName": {"Ref": "Group"}, "DesiredCapacity": size},
        }
        for id, size in sizes.items()
    }
    return {"Resources": {**_service()["Resources"], **on, **schedule}}


def _target(least: object, id: object = None, *, nights: object = None) -> dict[str, Any]:
    actions = [] if nights is None else [{"Schedule": "cron(0 20 * * ? *)", "ScalableTargetAction": nights}]
    return {
        "Type": "ApplicationAutoScaling::ScalableTarget",
        "Properties": {
            "ServiceNamespace": "ecs",
            "ResourceId": id or {"Fn::Sub": "service/cluster/${Service.Name}"},
            "MinCapacity": least,
            "MaxCapacity": 4,
            "ScheduledActions": actions,
        },
    }


_TO_NOTHING = moving("StepScaling", AdjustmentType="ExactCapacity", StepAdjustments=[{"ScalingAdjustment": 0}])


def _by_name(id: object) -> dict[str, Any]:
    """A policy that names what it scales, and no target."""
    found = moving()
    del found["Properties"]["ScalingTargetId"]
    found["Properties"] |= {
        "ServiceNamespace": "ecs",
        "ScalableDimension": "ecs:service:DesiredCount",
        "ResourceId": id,
    }
    return found


def _batch(
    *types: object, properties: dict[str, Any] | None = None, more: Any = None, **resources: object
) -> dict[str, Any]:
    return template(
        Environment={
            "Type": "Batch::ComputeEnvironment",
            "Properties": {
                "Type": "MANAGED",
                "ComputeResources": {
                    "Type": "EC2",
                    "AllocationStrategy": "BEST_FIT_PROGRESSIVE",
                    "InstanceTypes": [*(types or ("g6.xlarge",))],
                    "MaxvCpus": 64,
                    **resources,
                },
                **(properties or {}),
            },
        },
        **(more or {}),
    )


_PLAIN = [{"ImageType": "ECS_AL2023"}]


def _launch(data: dict[str, Any] | None = None) -> dict[str, Any]:
    own = {"InstanceType": "g6.xlarge", **(data or {})}
    return {"Launch": {"Type": "EC2::LaunchTemplate", "Properties": {"LaunchTemplateData": own}}}


def _launched(*, data: dict[str, Any] | None = None, ec2: object = None, **version: object) -> dict[str, Any]:
    own: dict[str, Any] = {} if ec2 is None else {"Ec2Configuration": ec2}
    return _batch(LaunchTemplate={"LaunchTemplateId": {"Ref": "Launch"}, **version}, more=_launch(data), **own)


def _job(*environment_types: object, **container: object) -> dict[str, Any]:
    job = {"Type": "Batch::JobDefinition", "Properties": {"ContainerProperties": {"Image": "x", **container}}}
    return _batch(*environment_types, more={"Job": job})


def _sharing_job(daemon: str) -> dict[str, Any]:
    script = {"UserData": {"Fn::Base64": f"echo '{daemon}' > /etc/docker/daemon.json"}}
    job = {"Type": "Batch::JobDefinition", "Properties": {"ContainerProperties": {"Image": "x"}}}
    return _batch(
        LaunchTemplate={"LaunchTemplateId": {"Ref": "Launch"}, "Version": "1"}, more={"Job": job, **_launch(script)}
    )


_ONE_GPU = [{"Type": "GPU", "Value": "1"}]
_ECS = (
    Case(
        rule="ecs-starts-more-than-needed",
        breaks=(
            Breaks(
                template=_provider(TargetCapacity=80),
                resource="Provider",
                property="AutoScalingGroupProvider.ManagedScaling.TargetCapacity",
                got="80",
            ),
            Breaks(
                template=_provider(MinimumScalingStepSize=2),
                resource="Provider",
                property="AutoScalingGroupProvider.ManagedScaling.MinimumScalingStepSize",
                got="2",
            ),
        ),
        keeps=(
            _provider(),
            _provider(TargetCapacity=100, MinimumScalingStepSize=1),
            _provider(Status="DISABLED", TargetCapacity=80),
        ),
        unknown=(_PARAMETER | _provider(TargetCapacity=_CHOICE),),
    ),
    Case(
        rule="ecs-draining-off",
        breaks=(
            Breaks(
                template=_provider(draining="DISABLED"),
                resource="Provider",
                property="AutoScalingGroupProvider.ManagedDraining",
                got="'DISABLED'",
            ),
            # A hook for what starts holds nothing that ends.
            Breaks(
                template=_provider(draining="DISABLED", group_properties=_hook("LAUNCHING")),
                resource="Provider",
                property="AutoScalingGroupProvider.ManagedDraining",
            ),
        ),
        keeps=(
            _provider(draining="ENABLED"),
            # It is on unless it is switched off.
            _provider(),
            _provider(draining="DISABLED", group_properties=_hook("TERMINATING")),
            # ECS then ends only instances without tasks.
            _provider(
                draining="DISABLED",
                protection="ENABLED",
                group_properties={"NewInstancesProtectedFromScaleIn": True},
            ),
        ),
        unknown=(_PARAMETER | _provider(draining=_CHOICE),),
    ),
    Case(
        rule="ecs-service-never-at-zero",
        breaks=(
            Breaks(template=_service(), resource="Service", property="DesiredCount", got="1"),
            # It is 1 unless somebody says otherwise.
            Breaks(
                template=_service(properties={"DesiredCount": {"Ref": "AWS::NoValue"}}),
                resource="Service",
                property="DesiredCount",
                got="nothing",
            ),
            # ECS starts again what the schedule ends.
            Breaks(template=_service_on("ENABLED"), resource="Service", property="DesiredCount"),
            Breaks(template=_service_on("DISABLED", evening=1), resource="Service", property="DesiredCount"),
            Breaks(template=_service(kind="NeuronDevice"), resource="Service", property="DesiredCount"),
            Breaks(template=_service_with_device("/dev/neuron0"), resource="Service", property="DesiredCount"),
            Breaks(template=_service(Target=_target(1)), resource="Service", property="DesiredCount"),
            Breaks(
                template=_service(Target=_target(0, "service/cluster/other")),
                resource="Service",
                property="DesiredCount",
            ),
            # A target by itself moves nothing, nor does what only lifts it, or makes room below.
            Breaks(template=_service(Target=_target(0)), resource="Target", property="MinCapacity", got="0"),
            *(
                Breaks(template=_service(Target=_target(0), Scale=each), resource="Target", property="MinCapacity")
                for each in (
                    moving(DisableScaleIn=True),
                    moving("StepScaling", StepAdjustments=[{"ScalingAdjustment": 1}]),
                    moving("StepScaling", AdjustmentType="ExactCapacity", StepAdjustments=[{"ScalingAdjustment": 2}]),
                    moving("PredictiveScaling"),
                    _by_name("service/cluster/other"),
                )
            ),
            Breaks(
                template=_service(Target=_target(0, nights={"MinCapacity": 0, "MaxCapacity": 1})),
                resource="Target",
                property="MinCapacity",
            ),
            Breaks(
                template=_service(Target=_target(1, nights={"MinCapacity": 0})),
                resource="Target",
                property="MinCapacity",
            ),
        ),
        keeps=(
            _service(Target=_target(0), Scale=moving()),
            _service(Target=_target(0), Scale=moving("StepScaling", StepAdjustments=[{"ScalingAdjustment": -1}])),
            _service(Target=_target(0), Scale=_TO_NOTHING),
            # By name in place of the target's own id.
            _service(Target=_target(0), Scale=_by_name({"Fn::Sub": "service/cluster/${Service.Name}"})),
            _service(
                properties={"ServiceName": "model"},
                Cluster={"Type": "ECS::Cluster"},
                Target=_target(0, {"Fn::Sub": "service/${Cluster}/model"}),
                Scale=moving(),
            ),
            _service(
                properties={"ServiceName": "model"},
                Target=_target(0, "service/cluster/model"),
                Scale=_by_name("service/cluster/model"),
            ),
            _service(
                Target=_target(0, {"Fn::Join": ["/", ["service", "x", {"Fn::GetAtt": ["Service", "Name"]}]]}),
                Scale=moving(),
            ),
            _service(Target=_target(1, nights={"MinCapacity": 0}), Scale=moving()),
            _service(Target=_target(1, nights={"MinCapacity": 0, "MaxCapacity": 0})),
            _service(Role=role_for("ecs:UpdateService", {"Ref": "Service"})),
            _service(properties={"DesiredCount": 0}),
            # Without managed scaling a task holds no instance.
            _service_on("DISABLED"),
            _service(properties={"SchedulingStrategy": "DAEMON"}),
            _service(kind="InferenceAccelerator"),
            _service_with_device("/dev/fuse"),
            _service(attributes={"accel-fleet": {"minimum": "answers within a second"}}),
        ),
        unknown=(
            _PARAMETER | _service(kind=_CHOICE),
            _service_on({"Ref": "AWS::NoValue"}),
            _PARAMETER | _service(properties={"DesiredCount": _CHOICE}),
            _service(Role=role_for("ecs:UpdateService", "*")),
            {**_service(), "Outputs": {"Name": {"Value": {"Ref": "Service"}, "Export": {"Name": "service"}}}},
            _PARAMETER | _service(Target=_target(0, {"Fn::Sub": "service/cluster/${Choice}"})),
            # Who moves the target is not known.
            _PARAMETER | _service(Target=_target(0), Scale=_by_name(_CHOICE)),
            _PARAMETER | _service(Target=_target(0), Scale=moving(DisableScaleIn=_CHOICE)),
            {
                **_service(Target=_target(0)),
                "Outputs": {"Id": {"Value": {"Ref": "Target"}, "Export": {"Name": "target"}}},
            },
            _service(Target=_target(0), Role=role_for("application-autoscaling:*", "*")),
            {**_service(), "Transform": "Scaler"},
        ),
    ),
)

_OF_BATCH = (
    Case(
        rule="batch-environment-named",
        breaks=(
            Breaks(
                template=_batch(properties={"ComputeEnvironmentName": "gpus"}),
                resource="Environment",
                property="ComputeEnvironmentName",
                got="'gpus'",
            ),
        ),
        keeps=(
            _batch(),
            _batch(properties={"ComputeEnvironmentName": "gpus", "ReplaceComputeEnvironment": False}),
        ),
        unknown=(
            _PARAMETER | _batch(properties={"ComputeEnvironmentName": "gpus", "ReplaceComputeEnvironment": _CHOICE}),
        ),
    ),
    Case(
        rule="batch-launch-template-floating",
        breaks=(
            Breaks(
                template=_launched(Version="$Latest"),
                resource="Environment",
                property="ComputeResources.LaunchTemplate.Version",
                got="'$Latest'",
            ),
            Breaks(
                template=_launched(),
                resource="Environment",
                property="ComputeResources.LaunchTemplate.Version",
                got="nothing",
            ),
        ),
        keeps=(
            _launched(Version={"Fn::GetAtt": ["Launch", "LatestVersionNumber"]}),
            _launched(Version="3"),
        ),
        unknown=(_PARAMETER | _launched(Version=_CHOICE),),
    ),
    Case(
        rule="batch-best-fit",
        breaks=(
            Breaks(
                template=_batch(AllocationStrategy="BEST_FIT"),
                resource="Environment",
                property="ComputeResources.AllocationStrategy",
                got="'BEST_FIT'",
            ),
            # It is what an environment has without a strategy.
            Breaks(
                template=_batch(AllocationStrategy={"Ref": "AWS::NoValue"}),
                resource="Environment",
                property="ComputeResources.AllocationStrategy",
                got="nothing",
            ),
        ),
        keeps=(
            _batch(),
            _batch(
                AllocationStrategy={"Ref": "AWS::NoValue"},
                properties={"EksConfiguration": {"EksClusterArn": "arn:x", "KubernetesNamespace": "jobs"}},
            ),
        ),
        unknown=(_PARAMETER | _batch(AllocationStrategy=_CHOICE),),
    ),
    Case(
        rule="batch-desired-stated",
        breaks=(
            Breaks(
                template=_batch(DesiredvCpus=8),
                resource="Environment",
                property="ComputeResources.DesiredvCpus",
                got="8",
            ),
        ),
        keeps=(_batch(), _batch(DesiredvCpus=0), _batch(MinvCpus=8, DesiredvCpus=8)),
        unknown=(_PARAMETER | _batch(DesiredvCpus=_CHOICE),),
    ),
    Case(
        rule="batch-maximum-too-small",
        breaks=(
            # A p4d.24xlarge has 96 vCPUs.
            Breaks(
                template=_batch("p4d.24xlarge", AllocationStrategy="BEST_FIT"),
                resource="Environment",
                property="ComputeResources.MaxvCpus",
                got="64",
            ),
        ),
        keeps=(
            _batch(),
            _batch("p4d.24xlarge", "g6.xlarge", AllocationStrategy="BEST_FIT"),
            _batch("g6", AllocationStrategy="BEST_FIT", MaxvCpus=1),
        ),
        unknown=(
            _PARAMETER | _batch("p4d.24xlarge", MaxvCpus=_CHOICE),
            # Batch may exceed it by one instance with every strategy but BEST_FIT for On-Demand.
            _batch("p4d.24xlarge"),
            _batch("p4d.24xlarge", Type="SPOT", AllocationStrategy="BEST_FIT"),
        ),
    ),
    Case(
        rule="batch-image-without-drivers",
        breaks=(
            Breaks(
                template=_batch(Ec2Configuration=[{"ImageType": "ECS_AL2023"}]),
                resource="Environment",
                property="ComputeResources.Ec2Configuration[0].ImageType",
                got="'ECS_AL2023'",
            ),
            Breaks(
                template=_batch("g5", "g6.xlarge", Ec2Configuration=_PLAIN),
                resource="Environment",
                property="ComputeResources.Ec2Configuration[0].ImageType",
                got="'ECS_AL2023'",
            ),
            # A launch template that brings neither an image nor a script brings no drivers.
            Breaks(
                template=_launched(ec2=_PLAIN, Version="1"),
                resource="Environment",
                property="ComputeResources.Ec2Configuration[0].ImageType",
                got="'ECS_AL2023'",
            ),
        ),
        keeps=(
            _batch(Ec2Configuration=[{"ImageType": "ECS_AL2023_NVIDIA"}]),
            _batch(Ec2Configuration=[{"ImageType": "ECS_AL2023", "ImageIdOverride": "ami-1"}]),
            _batch("g6.xlarge", "inf2.xlarge", Ec2Configuration=[{"ImageType": "ECS_AL2023"}]),
            _batch("g6", "inf2", Ec2Configuration=_PLAIN),
            _batch("g6", "optimal", Ec2Configuration=_PLAIN),
            _batch(ImageId="ami-1", Ec2Configuration=_PLAIN),
            _launched(ec2=_PLAIN, data={"ImageId": "ami-1"}, Version="1"),
            _launched(ec2=_PLAIN, data={"UserData": {"Fn::Base64": "dnf install -y nvidia-open"}}, Version="1"),
            _batch(),
        ),
        unknown=(
            _PARAMETER | _batch(Ec2Configuration=[{"ImageType": _CHOICE}]),
            _batch(Ec2Configuration=_PLAIN, LaunchTemplate={"LaunchTemplateName": "of-somebody"}),
        ),
    ),
    Case(
        rule="batch-job-without-gpu",
        breaks=(
            Breaks(
                template=_job(ResourceRequirements=[{"Type": "VCPU", "Value": "4"}]),
                resource="Job",
                property="ContainerProperties.ResourceRequirements",
                got="no requirement",
            ),
            Breaks(
                template=_sharing_job('{"log-driver": "awslogs"}'),
                resource="Job",
                property="ContainerProperties.ResourceRequirements",
            ),
        ),
        keeps=(
            _job(ResourceRequirements=_ONE_GPU),
            _job(Privileged=True),
            # Containers that share a GPU ask NVIDIA's runtime for it.
            _job(Environment=[{"Name": "NVIDIA_VISIBLE_DEVICES", "Value": "0"}]),
            _sharing_job('{"default-runtime": "nvidia"}'),
            _job("m5.xlarge", ResourceRequirements=[]),
            _job("g6.xlarge", "m5.xlarge", ResourceRequirements=[]),
        ),
        unknown=(
            _PARAMETER | _job(ResourceRequirements=_CHOICE),
            _PARAMETER | _job(_CHOICE, ResourceRequirements=[]),
        ),
    ),
)

CASES = (*_ECS, *_OF_BATCH)
