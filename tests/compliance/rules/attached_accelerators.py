"""Elastic Graphics and Elastic Inference, which AWS has ended: their pages in AWS's documentation."""

from typing import Any

from tests.compliance.cases import Breaks, Case, group, template

_INFERENCE = [{"Type": "eia2.medium", "Count": 1}]
_GIVEN = {"Parameters": {"Given": {"Type": "String"}}}


def _box(**properties: Any) -> dict[str, Any]:
    return template(Box={"Type": "EC2::Instance", "Properties": {"InstanceType": "m5.large", **properties}})


def _config(**variant: Any) -> dict[str, Any]:
    variants = [{"InstanceType": "ml.m5.large"}, {"InstanceType": "ml.c5.large", **variant}]
    return template(Config={"Type": "SageMaker::EndpointConfig", "Properties": {"ProductionVariants": variants}})


CASES = (
    Case(
        rule="attached-accelerator-ended",
        breaks=(
            Breaks(
                template=_box(ElasticInferenceAccelerators=_INFERENCE),
                resource="Box",
                property="ElasticInferenceAccelerators",
                got="eia2.medium",
            ),
            Breaks(
                template=group("m5.large", launch={"ElasticGpuSpecifications": [{"Type": "eg1.medium"}]}),
                resource="Launch",
                property="LaunchTemplateData.ElasticGpuSpecifications",
                got="eg1.medium",
            ),
            Breaks(
                template=_config(AcceleratorType="ml.eia2.medium"),
                resource="Config",
                property="ProductionVariants[1].AcceleratorType",
            ),
            Breaks(
                template=template(
                    Notebook={
                        "Type": "SageMaker::NotebookInstance",
                        "Properties": {"AcceleratorTypes": ["ml.eia2.xlarge"]},
                    }
                ),
                resource="Notebook",
                property="AcceleratorTypes",
            ),
            Breaks(
                template=template(
                    Task={
                        "Type": "ECS::TaskDefinition",
                        "Properties": {"InferenceAccelerators": [{"DeviceName": "d", "DeviceType": "eia2.medium"}]},
                    }
                ),
                resource="Task",
                property="InferenceAccelerators",
            ),
        ),
        keeps=(_box(), _box(ElasticGpuSpecifications={"Ref": "AWS::NoValue"}), _config(), group()),
        unknown=(_GIVEN | _box(ElasticInferenceAccelerators={"Ref": "Given"}),),
    ),
)
