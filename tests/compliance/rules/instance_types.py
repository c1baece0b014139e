"""Life cycle: AWS's page of previous generations. Mixed kinds: field case 76. Prices: Auto Scaling's guide."""

from typing import Any

from tests.compliance.cases import Breaks, Case, group, stating, template

_NO_DEFAULT = {"Parameters": {"Type": {"Type": "String"}}}
_UNKNOWN_TYPE = _NO_DEFAULT | group(launch={"InstanceType": {"Ref": "Type"}})
_SOME_ACCELERATED = {"Parameters": {"Type": {"Type": "String", "AllowedValues": ["m7i.large", "g6.xlarge"]}}} | group(
    launch={"InstanceType": {"Ref": "Type"}}
)
_DEEP_LEARNING = (
    "resolve:ssm:/aws/service/deeplearning/ami/x86_64/base-oss-nvidia-driver-gpu-ubuntu-24.04/latest/ami-id"
)
_TYPE = "LaunchTemplateData.InstanceType"
_BY_ATTRIBUTES = {
    "VCpuCount": {"Min": 4},
    "MemoryMiB": {"Min": 16000},
    "AcceleratorCount": {"Min": 1},
    "AcceleratorManufacturers": ["nvidia"],
}


def _attributes(requirements: Any, **properties: Any) -> dict[str, Any]:
    used = {"LaunchTemplateId": {"Ref": "Launch"}, "Version": {"Fn::GetAtt": ["Launch", "LatestVersionNumber"]}}
    return template(
        Launch={"Type": "EC2::LaunchTemplate", "Properties": {"LaunchTemplateData": {"ImageId": "ami-1"}}},
        Group={
            "Type": "AutoScaling::AutoScalingGroup",
            "Properties": {
                "MinSize": "0",
                "MaxSize": "4",
                "VPCZoneIdentifier": ["subnet-a"],
                "MixedInstancesPolicy": {
                    "LaunchTemplate": {
                        "LaunchTemplateSpecification": used,
                        "Overrides": [{"InstanceRequirements": requirements}],
                    },
                    **properties,
                },
            },
        },
    )


def _without(name: str) -> dict[str, Any]:
    return {key: value for key, value in _BY_ATTRIBUTES.items() if key != name}


_REQUIREMENTS = "MixedInstancesPolicy.LaunchTemplate.Overrides[0].InstanceRequirements"
_UNKNOWN_REQUIREMENTS = {"Parameters": {"Attributes": {"Type": "String"}}} | _attributes({"Ref": "Attributes"})


def _declared(word: Any, *types: str) -> dict[str, Any]:
    return group(*types) | {"Metadata": {"accel-fleet": {"workload": word}}}


def _declared_by_group(word: Any, *types: str) -> dict[str, Any]:
    declaring = group(*types)
    declaring["Resources"]["Group"]["Metadata"] = {"accel-fleet": {"workload": word}}
    return declaring


def _notebook(kind: str) -> dict[str, Any]:
    return template(Notebook={"Type": "SageMaker::NotebookInstance", "Properties": {"InstanceType": kind}})


def _endpoint(kind: str) -> dict[str, Any]:
    variant = {"VariantName": "v", "ModelName": "m", "InstanceType": kind, "InitialInstanceCount": 1}
    return template(
        Config={"Type": "SageMaker::EndpointConfig", "Properties": {"ProductionVariants": [variant]}},
        Endpoint={
            "Type": "SageMaker::Endpoint",
            "Properties": {"EndpointConfigName": {"Fn::GetAtt": ["Config", "EndpointConfigName"]}},
        },
    )


def _big_data(kind: str) -> dict[str, Any]:
    instances = {"CoreInstanceGroup": {"InstanceType": kind, "InstanceCount": 2}}
    return template(Data={"Type": "EMR::Cluster", "Properties": {"Instances": instances}})


def _environment(*types: str) -> dict[str, Any]:
    resources = {"Type": "EC2", "MinvCpus": 0, "MaxvCpus": 64, "InstanceTypes": list(types), "Subnets": ["subnet-a"]}
    properties = {"Type": "MANAGED", "ComputeResources": resources}
    return template(Batch={"Type": "Batch::ComputeEnvironment", "Properties": properties})


def _nodes(image: str, *types: str) -> dict[str, Any]:
    return template(Nodes={"Type": "EKS::Nodegroup", "Properties": {"AmiType": image, "InstanceTypes": list(types)}})


CASES = (
    Case(
        rule="retired-instance-type",
        breaks=(
            Breaks(template=group("p2.xlarge"), resource="Launch", property=_TYPE, got="p2.xlarge"),
            Breaks(
                template=group("g6.xlarge", "g3.4xlarge"),
                resource="Group",
                property="MixedInstancesPolicy.LaunchTemplate.Overrides[1].InstanceType",
                got="g3.4xlarge",
            ),
            Breaks(
                template=_big_data("p2.xlarge"),
                resource="Data",
                property="Instances.CoreInstanceGroup.InstanceType",
                got="p2.xlarge",
            ),
            # EC2 does not even describe it any more.
            Breaks(template=group("g2.2xlarge"), resource="Launch", property=_TYPE, got="g2.2xlarge"),
            Breaks(
                template=_environment("g6", "g2"),
                resource="Batch",
                property="ComputeResources.InstanceTypes[1]",
                got="g2",
            ),
        ),
        # Inf1 is old, and AWS still offers it.
        # Which types SageMaker has withdrawn is not documented.
        keeps=(group("g6.xlarge"), group("p3.2xlarge"), group("inf1.xlarge"), _big_data("g4dn.xlarge")),
        unknown=(_UNKNOWN_TYPE, _SOME_ACCELERATED),
    ),
    Case(
        rule="previous-generation-type",
        breaks=(
            Breaks(template=group("p3.2xlarge"), resource="Launch", property=_TYPE, got="p3.2xlarge"),
            *(
                Breaks(template=_notebook(kind), resource="Notebook", property="InstanceType", got=kind)
                for kind in ("ml.p3.2xlarge", "ml.p2.xlarge")
            ),
            Breaks(
                template=_endpoint("ml.p2.xlarge"),
                resource="Config",
                property="ProductionVariants[0].InstanceType",
                got="ml.p2.xlarge",
            ),
            Breaks(
                template=_big_data("p3.2xlarge"),
                resource="Data",
                property="Instances.CoreInstanceGroup.InstanceType",
            ),
            # Batch takes a family for all of its types.
            Breaks(
                template=_environment("g6", "p3"),
                resource="Batch",
                property="ComputeResources.InstanceTypes[1]",
                got="p3",
            ),
            Breaks(
                template=stating("Group", group("p3.2xlarge"), types=" ", spot="of another thing"),
                resource="Launch",
                property=_TYPE,
                got="p3.2xlarge",
            ),
        ),
        keeps=(
            group("p5.4xlarge"),
            group("p2.xlarge"),
            _environment("g6"),
            _notebook("ml.g5.xlarge"),
            _endpoint("ml.g4dn.xlarge"),
            stating("Notebook", _notebook("ml.p3.2xlarge"), types="the licence of the solver is for V100"),
            stating("Group", group("p3.2xlarge"), types="the licence of the solver is for V100"),
            stating("Launch", group("p3.2xlarge"), types="the licence of the solver is for V100"),
        ),
        unknown=(_UNKNOWN_TYPE,),
    ),
    Case(
        rule="type-not-offered-in-region",
        breaks=(
            Breaks(
                template=group("trn2.48xlarge"),
                region="eu-west-1",
                resource="Launch",
                property=_TYPE,
                got="trn2.48xlarge",
            ),
            # The zones that the template names are of one Region.
            *(
                Breaks(template=group("trn2.48xlarge", **each), resource="Launch", property=_TYPE)
                for each in (
                    {"properties": {"AvailabilityZones": ["eu-west-1a", "eu-west-1b"]}},
                    {"launch": {"Placement": {"AvailabilityZone": "eu-west-1c"}}},
                    {"Subnet": {"Type": "EC2::Subnet", "Properties": {"AvailabilityZone": "us-west-2-lax-1a"}}},
                )
            ),
        ),
        region="eu-west-1",
        # A type that the Region lacks beside one that it has costs nothing.
        keeps=(group("g5.xlarge"), group("trn1.2xlarge", "g5.xlarge")),
        unknown=(_UNKNOWN_TYPE,),
    ),
    Case(
        rule="type-not-offered-in-region",
        breaks=(),
        keeps=(),
        unknown=(
            group("trn2.48xlarge"),
            group("trn2.48xlarge", properties={"AvailabilityZones": ["eu-west-1a", "us-east-1a"]}),
            group("trn2.48xlarge", properties={"AvailabilityZones": {"Fn::GetAZs": ""}}),
        ),
    ),
    Case(
        rule="type-not-offered-in-region",
        breaks=(),
        keeps=(),
        unknown=(group("trn2.48xlarge"),),
        region="mars-north-1",
    ),
    Case(
        rule="type-not-offered-in-region",
        breaks=(),
        keeps=(group("p2.xlarge"),),
        # AWS's pages list them, and no answer of EC2 has them.
        unknown=(group("g4ad.xlarge"), group("dl1.24xlarge")),
        region="us-east-1",
    ),
    Case(
        rule="accelerator-kinds-mixed",
        breaks=(
            Breaks(
                template=group("g6.xlarge", "m7i.xlarge"),
                resource="Group",
                property="MixedInstancesPolicy.LaunchTemplate.Overrides[0].InstanceType",
                got="m7i.xlarge (no accelerator)",
            ),
            Breaks(
                template=group("g6.xlarge", "inf2.xlarge"),
                resource="Group",
                property="MixedInstancesPolicy.LaunchTemplate.Overrides[0].InstanceType",
                got="inf2.xlarge (neuron)",
            ),
        ),
        keeps=(
            group("g6.xlarge", "g5.xlarge"),
            template(
                Batch={
                    "Type": "Batch::ComputeEnvironment",
                    "Properties": {"ComputeResources": {"Type": "EC2", "InstanceTypes": ["optimal", "g6"]}},
                }
            ),
            group("g6.xlarge", "m7i.xlarge", launch={"UserData": "#!/bin/sh\nif lspci | grep -q NVIDIA; then :; fi"}),
        ),
        unknown=(_UNKNOWN_TYPE,),
    ),
    Case(
        rule="attributes-allow-any-maker",
        breaks=(
            Breaks(
                template=_attributes(_without("AcceleratorManufacturers")),
                resource="Group",
                property=f"{_REQUIREMENTS}.AcceleratorManufacturers",
                got="nothing",
            ),
        ),
        keeps=(
            _attributes(_BY_ATTRIBUTES),
            _attributes({**_without("AcceleratorManufacturers"), "AcceleratorNames": ["l4"]}),
            _attributes({**_without("AcceleratorManufacturers"), "AllowedInstanceTypes": ["g6.*"]}),
        ),
        unknown=(_UNKNOWN_REQUIREMENTS,),
    ),
    Case(
        rule="price-protection-drops-accelerators",
        breaks=(
            Breaks(
                template=_attributes(_BY_ATTRIBUTES),
                resource="Group",
                property=f"{_REQUIREMENTS}.OnDemandMaxPricePercentageOverLowestPrice",
                got="nothing",
            ),
        ),
        keeps=(
            _attributes({**_BY_ATTRIBUTES, "OnDemandMaxPricePercentageOverLowestPrice": 999999}),
            # Nothing is bought On-Demand.
            _attributes(_BY_ATTRIBUTES, InstancesDistribution={"OnDemandPercentageAboveBaseCapacity": 0}),
        ),
        unknown=(_UNKNOWN_REQUIREMENTS,),
    ),
    Case(
        rule="cpu-type-for-accelerated-work",
        breaks=(
            Breaks(
                template=group("m7i.4xlarge", launch={"ImageId": _DEEP_LEARNING}),
                resource="Launch",
                property=_TYPE,
                got="m7i.4xlarge",
            ),
            Breaks(
                template=group("c7i.xlarge", launch={"UserData": "#!/bin/sh\ndocker run -d --gpus all model\n"}),
                resource="Launch",
                property=_TYPE,
                got="c7i.xlarge",
            ),
            Breaks(
                template=_nodes("AL2023_x86_64_NVIDIA", "m7i.xlarge"), resource="Nodes", property="InstanceTypes[0]"
            ),
            Breaks(
                template=_declared_by_group("training", "m7i.4xlarge"),
                resource="Launch",
                property=_TYPE,
                got="m7i.4xlarge",
            ),
        ),
        keeps=(
            group("g6.xlarge", launch={"ImageId": _DEEP_LEARNING}),
            group("c7i.xlarge"),
            _nodes("AL2023_x86_64_NVIDIA", "g6.xlarge"),
            _nodes("BOTTLEROCKET_x86_64", "m7i.xlarge"),
            _declared_by_group("none", "m7i.4xlarge"),
            _declared_by_group("training", "p5.4xlarge"),
            # What is declared for a whole template is for those of its machines that have accelerators.
            _declared("training", "m7i.4xlarge"),
            # One script for machines with and without GPUs.
            group("c7i.xlarge", launch={"UserData": "lspci | grep -i nvidia && docker run --gpus all model"}),
        ),
        unknown=(_NO_DEFAULT | group(launch={"InstanceType": {"Ref": "Type"}, "ImageId": _DEEP_LEARNING}),),
    ),
    Case(
        rule="accelerator-without-need",
        breaks=(Breaks(template=_declared("none"), resource="Launch", property=_TYPE, got="g6.xlarge"),),
        keeps=(group(), _declared("inference"), _declared("none", "m7i.xlarge")),
        unknown=(
            {"Metadata": {"accel-fleet": {"workload": "none"}}, **_UNKNOWN_TYPE},
            _declared({"Ref": "Type"}),
        ),
    ),
    Case(
        rule="accelerator-unfit-for-workload",
        breaks=(
            Breaks(
                template=_declared("training", "inf2.48xlarge"), resource="Launch", property=_TYPE, got="Inferentia2"
            ),
            Breaks(template=_declared("graphics", "p5.48xlarge"), resource="Launch", property=_TYPE, got="H100"),
            Breaks(template=_declared("inference", "vt1.3xlarge"), resource="Launch", property=_TYPE, got="vt1"),
            Breaks(
                template=_declared("learning"),
                resource="Group",
                property="<Metadata>.accel-fleet.workload",
                got="'learning'",
            ),
        ),
        keeps=(
            group(),
            _declared("training", "trn1.32xlarge"),
            _declared("inference", "trn1.2xlarge"),
            _declared("media", "vt1.3xlarge"),
            _declared("graphics", "g4ad.xlarge"),
        ),
        unknown=(_declared({"Ref": "Type"}),),
    ),
)
