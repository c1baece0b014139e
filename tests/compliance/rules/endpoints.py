"""Amazon SageMaker AI Developer Guide: "Scale an endpoint to zero instances", "Idle shutdown", and their neighbours."""

from __future__ import annotations

import base64
from typing import Any

from tests.compliance.cases import Breaks, Case, moving, role_for, template

_PARAMETER = {"Parameters": {"Choice": {"Type": "String"}}}
_CHOICE = {"Ref": "Choice"}


def _endpoint(
    *, variant: dict[str, Any] | None = None, config: dict[str, Any] | None = None, **more: Any
) -> dict[str, Any]:
    return template(
        Config={
            "Type": "SageMaker::EndpointConfig",
            "Properties": {
                "ProductionVariants": [
                    {
                        "VariantName": "all",
                        "InstanceType": "ml.g5.xlarge",
                        "InitialInstanceCount": 1,
                        **(variant or {}),
                    }
                ],
                **(config or {}),
            },
        },
        Endpoint={
            "Type": "SageMaker::Endpoint",
            "Properties": {"EndpointConfigName": {"Fn::GetAtt": ["Config", "EndpointConfigName"]}},
        },
        **more,
    )


def _run_by(kind: str, **properties: Any) -> dict[str, Any]:
    """A role that may do whatever SageMaker can, and what AWS, or people who log in, run under it."""
    role = {
        "Type": "IAM::Role",
        "Properties": {"ManagedPolicyArns": ["arn:aws:iam::aws:policy/AmazonSageMakerFullAccess"]},
    }
    arn = {"Fn::GetAtt": ["Role", "Arn"]}
    return {"Role": role, "User": {"Type": kind, "Properties": {**properties, "Role": arn}}}


def _target(least: object, id: object = None) -> dict[str, Any]:
    return {
        "Type": "ApplicationAutoScaling::ScalableTarget",
        "Properties": {
            "ServiceNamespace": "sagemaker",
            "ScalableDimension": "sagemaker:variant:DesiredInstanceCount",
            "ResourceId": id or {"Fn::Sub": "endpoint/${Endpoint.EndpointName}/variant/all"},
            "MinCapacity": least,
            "MaxCapacity": 4,
        },
    }


_ASYNCHRONOUS = {"AsyncInferenceConfig": {"OutputConfig": {"S3OutputPath": "s3://results"}}}
_MANAGED = {"ManagedInstanceScaling": {"Status": "ENABLED", "MinInstanceCount": 0}}


def _named_endpoint(kind: str) -> dict[str, Any]:
    variants = [{"VariantName": "all", "InstanceType": kind, "InitialInstanceCount": 1}]
    return template(
        Config={
            "Type": "SageMaker::EndpointConfig",
            "Properties": {"EndpointConfigName": "of-model", "ProductionVariants": variants},
        },
        Endpoint={"Type": "SageMaker::Endpoint", "Properties": {"EndpointConfigName": "of-model"}},
    )


def _component(copies: object) -> dict[str, Any]:
    return {
        "Type": "SageMaker::InferenceComponent",
        "Properties": {
            "InferenceComponentName": "model",
            "EndpointName": {"Fn::GetAtt": ["Endpoint", "EndpointName"]},
            "RuntimeConfig": {"CopyCount": copies},
        },
    }


def _copies(least: object) -> dict[str, Any]:
    return _target(least, "inference-component/model")


_BACKLOG = {
    "Type": "CloudWatch::Alarm",
    "Properties": {
        "Namespace": "AWS/SageMaker",
        "MetricName": "HasBacklogWithoutCapacity",
        "Dimensions": [{"Name": "EndpointName", "Value": {"Fn::GetAtt": ["Endpoint", "EndpointName"]}}],
    },
}


def _notebook(kind: object = "ml.g4dn.xlarge", **more: Any) -> dict[str, Any]:
    own = {"LifecycleConfigName": more.pop("config")} if "config" in more else {}
    return template(
        Notebook={"Type": "SageMaker::NotebookInstance", "Properties": {"InstanceType": kind, **own}}, **more
    )


_EVENING = {
    "Type": "Scheduler::Schedule",
    "Properties": {
        "ScheduleExpression": "cron(0 20 * * ? *)",
        "Target": {
            "Arn": "arn:aws:scheduler:::aws-sdk:sagemaker:stopNotebookInstance",
            "RoleArn": {"Fn::GetAtt": ["Role", "Arn"]},
            "Input": {"Fn::Sub": '{"NotebookInstanceName": "${Notebook.NotebookInstanceName}"}'},
        },
    },
}


def _scripts(text: str, *, at: str = "OnStart") -> dict[str, Any]:
    content = base64.b64encode(text.encode()).decode()
    return {"Type": "SageMaker::NotebookInstanceLifecycleConfig", "Properties": {at: [{"Content": content}]}}


_OWN_SCRIPTS = {"Fn::GetAtt": ["Scripts", "NotebookInstanceLifecycleConfigName"]}
_IDLE = {"AppLifecycleManagement": {"IdleSettings": {"LifecycleManagement": "ENABLED", "IdleTimeoutInMinutes": 60}}}


def _lab(kind: object = "ml.g5.xlarge", **more: object) -> dict[str, Any]:
    return {"JupyterLabAppSettings": {"DefaultResourceSpec": {"InstanceType": kind}, **more}}


def _domain(**settings: object) -> dict[str, Any]:
    return {"Type": "SageMaker::Domain", "Properties": {"DefaultUserSettings": settings}}


def _kernels(kind: object = "ml.g4dn.xlarge", **more: object) -> dict[str, Any]:
    return {"KernelGatewayAppSettings": {"DefaultResourceSpec": {"InstanceType": kind}, **more}}


def _profile(**settings: object) -> dict[str, Any]:
    return {
        "Type": "SageMaker::UserProfile",
        "Properties": {"DomainId": {"Ref": "Domain"}, "UserSettings": settings},
    }


def _space(**settings: object) -> dict[str, Any]:
    return {"Type": "SageMaker::Space", "Properties": {"DomainId": {"Ref": "Domain"}, "SpaceSettings": settings}}


_IN_AN_HOUR = {"AppLifecycleManagement": {"IdleSettings": {"IdleTimeoutInMinutes": 60}}}


def _app(kind: str, **resources: object) -> dict[str, Any]:
    return template(
        App={
            "Type": "SageMaker::App",
            "Properties": {"AppType": kind, "ResourceSpec": {"InstanceType": "ml.g4dn.xlarge", **resources}},
        }
    )


def _hyperpod(*, scaling: object = None, orchestrator: object = None, **more: object) -> dict[str, Any]:
    scaled = {} if scaling is None else {"AutoScaling": scaling}
    scaled |= {} if orchestrator is None else {"Orchestrator": orchestrator}
    return template(
        Cluster={
            "Type": "SageMaker::Cluster",
            "Properties": {
                "InstanceGroups": [{"InstanceType": "ml.p5.48xlarge", "InstanceCount": 2, **more}],
                **scaled,
            },
        }
    )


CASES = (
    Case(
        rule="endpoint-never-at-zero",
        breaks=(
            Breaks(
                template=_endpoint(**_run_by("SageMaker::Model")),
                resource="Config",
                property="ProductionVariants[0].ManagedInstanceScaling.MinInstanceCount",
            ),
            Breaks(
                template=_endpoint(),
                resource="Config",
                property="ProductionVariants[0].ManagedInstanceScaling.MinInstanceCount",
                got="nothing",
            ),
            Breaks(
                template=_endpoint(Target=_target(1)),
                resource="Config",
                property="ProductionVariants[0].ManagedInstanceScaling.MinInstanceCount",
            ),
            Breaks(
                template=_endpoint(variant={"ManagedInstanceScaling": {"Status": "ENABLED", "MinInstanceCount": 1}}),
                resource="Config",
                property="ProductionVariants[0].ManagedInstanceScaling.MinInstanceCount",
                got="1",
            ),
            # The target is of another endpoint.
            Breaks(
                template=_endpoint(config=_ASYNCHRONOUS, Target=_target(0, "endpoint/other/variant/all")),
                resource="Config",
                property="ProductionVariants[0].ManagedInstanceScaling.MinInstanceCount",
            ),
            # By its own target a real-time endpoint does not come to zero.
            Breaks(
                template=_endpoint(Target=_target(0)),
                resource="Config",
                property="ProductionVariants[0].ManagedInstanceScaling.MinInstanceCount",
            ),
            # A configuration that the endpoint names and does not refer to.
            Breaks(
                template=_named_endpoint("ml.inf2.xlarge"),
                resource="Config",
                property="ProductionVariants[0].ManagedInstanceScaling.MinInstanceCount",
            ),
            # An instance stays while a copy of a component does.
            Breaks(
                template=_endpoint(variant=_MANAGED, Component=_component(1)),
                resource="Component",
                property="RuntimeConfig.CopyCount",
                got="1",
            ),
            Breaks(
                template=_endpoint(variant=_MANAGED, Component=_component(1), Target=_copies(1), Scale=moving()),
                resource="Component",
                property="RuntimeConfig.CopyCount",
            ),
            # Nothing moves what the targets would allow.
            Breaks(
                template=_endpoint(variant=_MANAGED, Component=_component(1), Target=_copies(0)),
                resource="Target",
                property="MinCapacity",
            ),
            Breaks(
                template=_endpoint(config=_ASYNCHRONOUS, Target=_target(0)), resource="Target", property="MinCapacity"
            ),
        ),
        keeps=(
            _endpoint(variant=_MANAGED),
            _endpoint(variant=_MANAGED, Component=_component(1), Target=_copies(0), Scale=moving()),
            _endpoint(variant=_MANAGED, Component=_component(0)),
            # An adapter uses the copies of its base.
            _endpoint(variant=_MANAGED, Component=_component({"Ref": "AWS::NoValue"})),
            _named_endpoint("ml.m5.xlarge"),
            _endpoint(config=_ASYNCHRONOUS, Target=_target(0), Scale=moving()),
            _endpoint(Role=role_for("sagemaker:DeleteEndpoint", {"Ref": "Endpoint"})),
            _endpoint(variant={"InstanceType": "ml.m5.xlarge"}),
            _endpoint(variant={"InstanceType": {"Ref": "AWS::NoValue"}, "ServerlessConfig": {"MaxConcurrency": 5}}),
        ),
        unknown=(
            _endpoint(**_run_by("Lambda::Function")),
            _PARAMETER | _endpoint(variant={"InstanceType": _CHOICE}),
            _PARAMETER
            | _endpoint(config=_ASYNCHRONOUS, Target=_target(0, {"Fn::Sub": "endpoint/${Choice}/variant/all"})),
            _PARAMETER | _endpoint(variant=_MANAGED, Component=_component(1), Target=_copies(_CHOICE)),
            _PARAMETER | _endpoint(config={"AsyncInferenceConfig": _CHOICE}, Target=_target(_CHOICE)),
            _endpoint(Role=role_for("sagemaker:*", "*")),
        ),
    ),
    Case(
        rule="asynchronous-endpoint-wakes-late",
        breaks=(
            Breaks(
                template=_endpoint(config=_ASYNCHRONOUS, Target=_target(0), Scale=moving()),
                resource="Endpoint",
                got="no such alarm",
            ),
        ),
        keeps=(
            _endpoint(config=_ASYNCHRONOUS, Target=_target(0), Scale=moving(), Wake=_BACKLOG),
            _endpoint(config=_ASYNCHRONOUS, Target=_target(1)),
        ),
        unknown=(
            _PARAMETER | _endpoint(config=_ASYNCHRONOUS, Target=_target(_CHOICE)),
            {**_endpoint(config=_ASYNCHRONOUS, Target=_target(0), Scale=moving()), "Transform": "Scaler"},
        ),
    ),
    Case(
        rule="notebook-never-stops",
        breaks=(
            Breaks(
                template=_notebook(**_run_by("SageMaker::NotebookInstance")),
                resource="Notebook",
                property="LifecycleConfigName",
            ),
            Breaks(template=_notebook(), resource="Notebook", property="LifecycleConfigName", got="nothing"),
            # Whole and plain scripts that stop nothing.
            *(
                Breaks(
                    template=_notebook(config=_OWN_SCRIPTS, Scripts=each),
                    resource="Notebook",
                    property="LifecycleConfigName",
                )
                for each in (
                    _scripts("#!/bin/bash\nset -e\nsource activate pytorch\npip install torch\n"),
                    _scripts("#!/bin/bash\n# TODO: add idle shutdown later\npip install torch\n"),
                    _scripts("#!/bin/bash\npip install torch\n", at="OnCreate"),
                )
            ),
        ),
        keeps=(
            _notebook(config=_OWN_SCRIPTS, Scripts=_scripts("python autostop.py --time 3600")),
            _notebook(Role=role_for("sagemaker:StopNotebookInstance", {"Ref": "Notebook"})),
            _notebook(Role=role_for("sagemaker:StopNotebookInstance", "*"), Evening=_EVENING),
            _notebook("ml.t3.medium"),
        ),
        unknown=(
            _PARAMETER | _notebook(_CHOICE),
            _notebook(config="of-somebody"),
            _notebook(Role=role_for("sagemaker:StopNotebookInstance", "*")),
            _notebook(config=_OWN_SCRIPTS, Scripts=_scripts("curl https://example.com/setup | sh")),
            _notebook(config=_OWN_SCRIPTS, Scripts=_scripts("#!/bin/bash\npython /home/ec2-user/SageMaker/start.py\n")),
            # Whether the second start has it, too, nobody can tell.
            _notebook(config=_OWN_SCRIPTS, Scripts=_scripts("python autostop.py --time 3600", at="OnCreate")),
        ),
    ),
    Case(
        rule="studio-never-stops",
        breaks=(
            Breaks(
                template=template(Domain=_domain(**_lab())),
                resource="Domain",
                property="DefaultUserSettings.JupyterLabAppSettings.AppLifecycleManagement.IdleSettings"
                ".LifecycleManagement",
                got="nothing",
            ),
            Breaks(
                template=template(Domain=_domain(), User=_profile(**_lab())),
                resource="User",
                property="UserSettings.JupyterLabAppSettings.AppLifecycleManagement.IdleSettings.LifecycleManagement",
            ),
            # A profile that says no goes before the domain.
            Breaks(
                template=template(
                    Domain=_domain(**_lab("ml.t3.medium", **_IDLE)),
                    User=_profile(**_lab(AppLifecycleManagement={"IdleSettings": {"LifecycleManagement": "DISABLED"}})),
                ),
                resource="User",
                property="UserSettings.JupyterLabAppSettings.AppLifecycleManagement.IdleSettings.LifecycleManagement",
                got="'DISABLED'",
            ),
            # A space has a time for it, and no switch.
            Breaks(
                template=template(Domain=_domain(), Space=_space(**_lab(**_IN_AN_HOUR))),
                resource="Space",
                property="SpaceSettings.JupyterLabAppSettings.DefaultResourceSpec.InstanceType",
                got="'ml.g5.xlarge'",
            ),
            # Kernels of Studio Classic have no idle settings.
            Breaks(
                template=template(Domain=_domain(**_kernels())),
                resource="Domain",
                property="DefaultUserSettings.KernelGatewayAppSettings.DefaultResourceSpec.InstanceType",
                got="'ml.g4dn.xlarge'",
            ),
        ),
        keeps=(
            template(Domain=_domain(**_lab(**_IDLE))),
            template(Domain=_domain(**_lab("ml.t3.medium", **_IDLE)), User=_profile(**_lab())),
            template(Domain=_domain(**_lab("ml.t3.medium", **_IDLE)), Space=_space(**_lab(**_IN_AN_HOUR))),
            template(Domain=_domain(**_lab("ml.t3.medium"))),
            template(Domain=_domain(**_kernels("ml.t3.medium"))),
        ),
        unknown=(
            _PARAMETER | template(Domain=_domain(**_lab(_CHOICE))),
            template(
                User={"Type": "SageMaker::UserProfile", "Properties": {"DomainId": "d-1", "UserSettings": _lab()}}
            ),
            template(Domain=_domain(**_lab(LifecycleConfigArns=["arn:x"]))),
            template(Domain=_domain(**_kernels(LifecycleConfigArns=["arn:x"]))),
            # A script of the server shuts its kernels down.
            template(Domain=_domain(**_kernels(), JupyterServerAppSettings={"LifecycleConfigArns": ["arn:x"]})),
            template(
                Domain=_domain(JupyterServerAppSettings={"LifecycleConfigArns": ["arn:x"]}),
                User=_profile(**_kernels()),
            ),
        ),
    ),
    Case(
        rule="studio-application-deployed",
        breaks=(
            Breaks(template=_app("KernelGateway"), resource="App", property="ResourceSpec.InstanceType", got="ml.g4dn"),
        ),
        keeps=(_app("KernelGateway", InstanceType="ml.t3.medium"),),
        unknown=(_app("JupyterLab"), _app("KernelGateway", LifecycleConfigArn="arn:x")),
    ),
    Case(
        rule="hyperpod-never-shrinks",
        breaks=(
            Breaks(
                template=_hyperpod(orchestrator={"Eks": {"ClusterArn": "arn:x"}}),
                resource="Cluster",
                property="AutoScaling.Mode",
                got="nothing",
            ),
            # Slurm's have no scaling of HyperPod's own.
            Breaks(template=_hyperpod(), resource="Cluster", got="no function"),
        ),
        keeps=(
            _hyperpod(scaling={"Mode": "Enable", "AutoScalerType": "Karpenter"}),
            _hyperpod(TrainingPlanArn="arn:x"),
            _hyperpod(InstanceCount=0),
            _hyperpod(InstanceType="ml.m5.xlarge"),
        ),
        unknown=(
            _PARAMETER | _hyperpod(scaling={"Mode": _CHOICE}),
            _PARAMETER | _hyperpod(InstanceType=_CHOICE),
        ),
    ),
)
