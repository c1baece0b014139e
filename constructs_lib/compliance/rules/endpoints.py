"""Accelerators of Amazon SageMaker: endpoints, notebooks, Studio and HyperPod clusters.

Source: Amazon SageMaker AI Developer Guide ("Scale an endpoint to zero instances", "Autoscale an asynchronous
endpoint", "Idle shutdown", "Autoscaling on SageMaker HyperPod EKS"); AWS CloudFormation Template Reference, read
2026-11.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from constructs_lib.compliance.deployment import Deployment, Resource
from constructs_lib.compliance.facts.alarms import alarms
from constructs_lib.compliance.facts.grants import check_outside, is_allowed_on
from constructs_lib.compliance.facts.hosts import (
    APP,
    CLASSIC_APP,
    CLUSTER,
    DOMAIN,
    NOTEBOOK,
    PROFILE,
    SPACE,
    STUDIO_APPS,
    STUDIO_SETTINGS,
    Variant,
    variants,
)
from constructs_lib.compliance.facts.loops import loops_of
from constructs_lib.compliance.facts.machines import names_accelerators
from constructs_lib.compliance.facts.reasons import has_stated
from constructs_lib.compliance.facts.scalable_targets import scales_to_zero, unmoved
from constructs_lib.compliance.facts.scripts import commands_in, decoded, has_commands_of_a_deploy
from constructs_lib.compliance.rule import WARNING, Itself, Rule, resources_of
from constructs_lib.compliance.values import Broken, NotKnown, Value, all_of, any_of
from constructs_lib.statements import MINIMUM

_COMPONENT = "AWS::SageMaker::InferenceComponent"
_NOTEBOOK_SCRIPTS = "AWS::SageMaker::NotebookInstanceLifecycleConfig"

_LOWERS_ENDPOINT = (
    "sagemaker:DeleteEndpoint",
    "sagemaker:UpdateEndpoint",
    "sagemaker:UpdateEndpointWeightsAndCapacities",
)
_LOWERS_COMPONENT = ("sagemaker:UpdateInferenceComponentRuntimeConfig", "sagemaker:DeleteInferenceComponent")
_STOPS_NOTEBOOK = ("sagemaker:StopNotebookInstance", "sagemaker:DeleteNotebookInstance")
_DELETES_APP = ("sagemaker:DeleteApp",)
_UPDATES_CLUSTER = ("sagemaker:UpdateCluster", "sagemaker:DeleteCluster", "sagemaker:BatchDeleteClusterNodes")
_WAKES_AT_ONE = "HasBacklogWithoutCapacity"
_STOPS = re.compile(r"idle|auto-?stop|shutdown|stop-notebook|poweroff", re.IGNORECASE)
_LOADS = re.compile(
    r"\b(?:curl|wget|git|docker|nohup|perl|node|ruby)\b|\baws\s+(?:s3|ssm|lambda)|\bs3://|\bcrontab\b|/etc/cron"
    r"|\b(?:ba|z|da)?sh\s+(?!-)\S|\bpython[\d.]*\s+(?!-m\s+(?:pip|ipykernel|venv|nbextension)\b)\S"
    r"|(?:\bsource|(?:^|[;&|])\s*\.)\s+(?!\S*activate\b)\S|(?:^|[\s;&|])\.{0,2}/(?!dev/|etc/|opt/|usr/)\S+\.(?:sh|py)\b",
    re.MULTILINE,
)
"""What a script does that runs another one, of which nobody can tell what that does."""
_SERVER = "JupyterServerAppSettings"
_IDLE = "AppLifecycleManagement.IdleSettings.LifecycleManagement"
_KARPENTER = "AutoScaling: {Mode: Enable, AutoScalerType: Karpenter}"
_FOR_KARPENTER = {
    "NodeProvisioningMode": "NodeProvisioningMode: Continuous (at the creation of the cluster)",
    "NodeRecovery": "NodeRecovery: Automatic",
    "ClusterRole": "a ClusterRole that may add and delete its nodes",
}
"""What it needs besides, by the property."""
_GUIDE = "https://docs.aws.amazon.com/sagemaker/latest/dg"


def _goes_to_zero(variant: Variant) -> Iterator[Broken]:
    ways = (_components_rest, _target_to_zero, _function_lowers, _has_reason, _seen)
    if any_of(lambda way: way(variant), ways):
        return
    if _manages_to_zero(variant):
        for component in variant.endpoint.users(_COMPONENT):
            yield from _component_holds(component)
    else:
        yield from list(_targets_unmoved(variant)) or [
            variant.value.broken(
                "ManagedInstanceScaling.MinInstanceCount",
                must="be 0, or the endpoint be asynchronous with a scalable target that has a minimum of 0",
                cure="set ManagedInstanceScaling: {Status: ENABLED, MinInstanceCount: 0} with inference components, or "
                "make the endpoint asynchronous with a scalable target of MinCapacity: 0 and a policy",
            )
        ]


def _manages_to_zero(variant: Variant) -> bool:
    scaling = variant.value.at("ManagedInstanceScaling")
    return scaling.text("Status") != "DISABLED" and scaling.number("MinInstanceCount") == 0


def _components_rest(variant: Variant) -> bool:
    return _manages_to_zero(variant) and all_of(_component_rests, variant.endpoint.users(_COMPONENT))


def _component_rests(component: Resource) -> bool:
    """Whether it comes to no copies, so that its instances can end; an adapter has no copies of its own."""
    properties = component.properties
    return (
        not properties.number("RuntimeConfig.CopyCount")
        or scales_to_zero(component, properties.at("InferenceComponentName").text())
        or is_allowed_on(component, _LOWERS_COMPONENT)
    )


def _component_holds(component: Resource) -> Iterator[Broken]:
    if not _component_rests(component):
        yield from list(unmoved(component, component.properties.at("InferenceComponentName").text())) or [
            component.properties.broken(
                "RuntimeConfig.CopyCount",
                must="come to 0 by a scalable target: while a copy runs, its instance does",
                cure="register the component as a scalable target with MinCapacity: 0 and a policy on its invocations",
            )
        ]


def _target_to_zero(variant: Variant) -> bool:
    """By its own target only an asynchronous endpoint comes to zero; a real-time one does by its components."""
    return _is_asynchronous(variant) and scales_to_zero(variant.endpoint, _name(variant))


def _targets_unmoved(variant: Variant) -> Iterator[Broken]:
    if _is_asynchronous(variant):
        yield from unmoved(variant.endpoint, _name(variant))


def _is_asynchronous(variant: Variant) -> bool:
    return not variant.resource.properties.at("AsyncInferenceConfig").is_absent


def _name(variant: Variant) -> str | None:
    return variant.endpoint.properties.at("EndpointName").text()


def _function_lowers(variant: Variant) -> bool:
    return is_allowed_on(variant.endpoint, _LOWERS_ENDPOINT)


def _has_reason(variant: Variant) -> bool:
    return has_stated(variant.endpoint, MINIMUM) or has_stated(variant.resource, MINIMUM)


def _seen(variant: Variant) -> bool:
    return check_outside(variant.endpoint)


# --- asynchronous endpoints ------------------------------------------------------------------------------------------


def _asynchronous(deployment: Deployment) -> Iterator[Variant | NotKnown]:
    for each in variants(deployment):
        if isinstance(each, NotKnown) or _is_asynchronous(each):
            yield each


def _wakes_for_one(variant: Variant) -> Iterator[Broken]:
    if not scales_to_zero(variant.endpoint, _name(variant)) or _watches_backlog(variant.endpoint.deployment):
        return
    check_outside(variant.endpoint)
    yield Broken(
        resource=variant.endpoint,
        path=(),
        must=f"be woken by an alarm on {_WAKES_AT_ONE}: from zero its backlog per instance has no figure",
        shown="no such alarm",
        cure=f"add an alarm on {_WAKES_AT_ONE} with a step scaling policy that adds an instance",
    )


def _watches_backlog(deployment: Deployment) -> bool:
    return any_of(
        lambda series: series.name == _WAKES_AT_ONE, (one for each in alarms(deployment) for one in each.series)
    )


# --- notebooks and Studio --------------------------------------------------------------------------------------------


def _of_type(kind: str, path: str) -> Callable[[Deployment], Iterator[Itself | NotKnown]]:
    return resources_of(kind, having=lambda resource: names_accelerators(resource.properties.at(path)))


def _notebook_stops(subject: Itself) -> Iterator[Broken]:
    notebook = subject.resource
    named = notebook.properties.at("LifecycleConfigName")
    if (not named.is_absent and _script_stops(named)) or is_allowed_on(notebook, _STOPS_NOTEBOOK):
        return
    check_outside(notebook)
    yield named.broken(
        must="name a configuration that stops the notebook when it is idle",
        cure="add an AWS::SageMaker::NotebookInstanceLifecycleConfig whose OnStart script stops the instance when idle",
    )


def _script_stops(named: Value) -> bool:
    """Whether a script of the lifecycle configuration stops the notebook.

    Raises:
        NotKnown: it is not in the templates, or loads what may stop the notebook.
    """
    config = next(iter(named.resource.uses(_NOTEBOOK_SCRIPTS)), None)
    if config is None:
        raise named.not_known("what the lifecycle configuration does is not in the templates")
    at_start = [each.at("Content") for each in config.properties.each("OnStart")]
    at_first = [each.at("Content") for each in config.properties.each("OnCreate")]
    return any_of(_stops_what_is_idle, at_start) or any_of(_may_stop_once, at_first)


def _stops_what_is_idle(content: Value) -> bool:
    commands = commands_in(decoded(content.searchable() or ""))
    if _STOPS.search(commands):
        return True
    if has_commands_of_a_deploy(content.raw) or _LOADS.search(commands):
        raise content.not_known("nobody can tell whether what the script loads stops what is idle")
    return False


def _may_stop_once(content: Value) -> bool:
    """Whether a script that runs when the notebook is made stops it, which may not outlast the first stop.

    Raises:
        NotKnown: it does, or may.
    """
    if _stops_what_is_idle(content):
        raise content.not_known("the script runs once: nobody can tell whether later starts have what it sets up")
    return False


@dataclass(frozen=True)
class _AppSettings:
    """What Studio starts an application with.

    Attributes:
        value: the settings, such as ``JupyterLabAppSettings``.
    """

    value: Value

    @property
    def resource(self) -> Resource:
        """The domain, profile or space that has them."""
        return self.value.resource


def _studio(deployment: Deployment) -> Iterator[_AppSettings | NotKnown]:
    for resource in deployment.resources(*STUDIO_SETTINGS):
        for path in (f"{settings}.{app}" for settings in STUDIO_SETTINGS[resource.type] for app in STUDIO_APPS):
            try:
                value = resource.properties.at(path)
                if names_accelerators(value.at("DefaultResourceSpec.InstanceType")):
                    yield _AppSettings(value)
            except NotKnown as not_known:
                yield not_known
    yield from loops_of(deployment, *STUDIO_SETTINGS)


def _studio_stops(settings: _AppSettings) -> Iterator[Broken]:
    value = settings.value
    if _stops_when_idle(settings) or _has_scripts(value) or _server_has_scripts(settings):
        return
    check_outside(settings.resource)
    if value.path[-1] == CLASSIC_APP:
        yield value.broken(
            "DefaultResourceSpec.InstanceType",
            must="be a type without accelerators: kernels of Studio Classic run until somebody deletes them",
            cure=f"name a script that shuts idle kernels down in {_SERVER}.LifecycleConfigArns, or let people work in "
            "JupyterLab, whose idle settings do",
        )
        return
    if settings.resource.type == SPACE:
        yield value.broken(
            "DefaultResourceSpec.InstanceType",
            must="be a type without accelerators, or the settings of its domain stop what is idle",
            cure=f"set DefaultUserSettings.{value.path[-1]}.{_IDLE}: ENABLED at its domain",
        )
        return
    yield value.broken(
        _IDLE,
        must="be 'ENABLED': an application runs on its accelerator until somebody deletes it",
        cure="set AppLifecycleManagement: {IdleSettings: {LifecycleManagement: ENABLED, IdleTimeoutInMinutes: 60}}",
    )


def _stops_when_idle(settings: _AppSettings) -> bool:
    """What is said at the application itself goes before what the domain says."""
    own = settings.value.text(_IDLE)
    return any_of(_says_so, _inherited(settings)) if own is None else own == "ENABLED"


def _says_so(value: Value) -> bool:
    return value.text(_IDLE) == "ENABLED"


def _inherited(settings: _AppSettings, app: str = "") -> Sequence[Value]:
    """What the domain says of an application. Default: of the same one.

    Raises:
        NotKnown: the domain is not in the templates.
    """
    resource, app = settings.resource, app or str(settings.value.path[-1])
    if resource.type == DOMAIN:
        return ()
    domain = next(iter(resource.uses(DOMAIN)), None)
    if domain is None:
        raise NotKnown(resource, "its domain, which may stop idle applications, is not in the templates")
    profiles = resource.uses(PROFILE)
    inherited = [domain.properties.at(f"{each}.{app}") for each in STUDIO_SETTINGS[DOMAIN]]
    return [*inherited, *(each.properties.at(f"UserSettings.{app}") for each in profiles)]


def _has_scripts(value: Value) -> bool:
    scripts = value.at("LifecycleConfigArns")
    chosen = value.at("DefaultResourceSpec.LifecycleConfigArn")
    if not scripts.is_absent or not chosen.is_absent:
        raise scripts.not_known("its lifecycle scripts may stop it when it is idle")
    return False


def _server_has_scripts(settings: _AppSettings) -> bool:
    """Kernels of Studio Classic are shut down by what runs in the Jupyter server beside them."""
    if settings.value.path[-1] != CLASSIC_APP:
        return False
    beside = settings.resource.properties.at(".".join(map(str, (*settings.value.path[:-1], _SERVER))))
    for server in (beside, *_inherited(settings, _SERVER)):
        _has_scripts(server)
    return False


def _app_stops(subject: Itself) -> Iterator[Broken]:
    app = subject.resource
    script = app.properties.at("ResourceSpec.LifecycleConfigArn")
    if not script.is_absent:
        raise script.not_known("its lifecycle script may stop it when it is idle")
    if app.properties.text("AppType") not in ("KernelGateway", "JupyterServer"):
        raise app.properties.at("AppType").not_known("the settings of its domain may stop it when it is idle")
    if is_allowed_on(app, _DELETES_APP):
        return
    check_outside(app)
    yield app.properties.broken(
        "ResourceSpec.InstanceType",
        must="be a type without accelerators: the application runs from the deploy on until somebody deletes it",
        cure="leave the application out of the template: people start theirs when they need it",
    )


# --- HyperPod --------------------------------------------------------------------------------------------------------


def _has_accelerators(cluster: Resource) -> bool:
    return any_of(lambda each: names_accelerators(each.at("InstanceType")), _paid_by_the_hour(cluster))


def _paid_by_the_hour(cluster: Resource) -> list[Value]:
    """Its groups of instances; what a training plan has reserved is paid for whether it runs or not."""
    groups = cluster.properties.each("InstanceGroups")
    return [
        each for each in groups if each.at("TrainingPlanArn").is_absent and each.at("InstanceCount").raw not in (0, "0")
    ]


def _cluster_shrinks(subject: Itself) -> Iterator[Broken]:
    cluster = subject.resource
    mode = cluster.properties.at("AutoScaling.Mode")
    if mode.text() == "Enable" or has_stated(cluster, MINIMUM) or is_allowed_on(cluster, _UPDATES_CLUSTER):
        return
    check_outside(cluster)
    if cluster.properties.at("Orchestrator.Eks").is_absent:
        yield cluster.properties.broken(
            must="have its instance groups lowered by a function: HyperPod keeps their count, idle or not",
            got="no function that does",
            cure="lower InstanceCount by a function when no job of Slurm waits: HyperPod scales by itself only what "
            "EKS orchestrates",
        )
        return
    lacking = [each for name, each in _FOR_KARPENTER.items() if cluster.properties.at(name).is_absent]
    yield mode.broken(
        must="be 'Enable', or a function lower the instance groups: HyperPod keeps their count, idle or not",
        cure=f"set {', '.join([_KARPENTER, *lacking])}, or lower InstanceCount by a function",
    )


RULES = (
    Rule(
        id="endpoint-never-at-zero",
        title="An accelerated inference endpoint goes to zero instances when nobody asks",
        severity=WARNING,
        practices=("SUS05-BP04/release", "COST09-BP03"),
        why="A real-time endpoint bills for its instances from its creation to its deletion, asked or not.",
        cure_here="Serve work that can wait a minute from AcceleratedFleet with a queue as its demand.",
        cure_plain="Use inference components with a minimum of 0 instances, or an asynchronous endpoint with a "
        "scalable target of MinCapacity: 0.",
        link=f"{_GUIDE}/endpoint-auto-scaling-zero-instances.html",
        subjects=variants,
        judge=_goes_to_zero,
    ),
    Rule(
        id="asynchronous-endpoint-wakes-late",
        title="An accelerated asynchronous endpoint is woken from zero by its first request",
        severity=WARNING,
        practices=("SUS02-BP01", "REL07-BP01"),
        why="At zero instances there is no backlog per instance to track: requests wait until there are more of them "
        "than the target.",
        cure_here="Serve it from AcceleratedFleet with a queue as its demand: the first message wakes it.",
        cure_plain="Add an alarm on HasBacklogWithoutCapacity with a step scaling policy.",
        link=f"{_GUIDE}/async-inference-autoscale.html",
        subjects=_asynchronous,
        judge=_wakes_for_one,
    ),
    Rule(
        id="notebook-never-stops",
        title="An accelerated notebook instance stops when it is idle",
        severity=WARNING,
        practices=("SUS05-BP04/release", "COST04-BP04"),
        why="A notebook instance bills until somebody stops it, which after working hours nobody does.",
        cure_here="Stop it by a function on a schedule; the library has no construct for notebooks.",
        cure_plain="Name a lifecycle configuration whose script stops the instance when it is idle.",
        link=f"{_GUIDE}/notebook-lifecycle-config.html",
        subjects=_of_type(NOTEBOOK, "InstanceType"),
        judge=_notebook_stops,
    ),
    Rule(
        id="studio-never-stops",
        title="Accelerated applications of Studio stop when they are idle",
        severity=WARNING,
        practices=("SUS05-BP04/release", "COST04-BP04"),
        why="An application keeps its instance until it is deleted; closing the browser does not.",
        cure_here="Set the idle settings of the domain; the library has no construct for Studio.",
        cure_plain="Set AppLifecycleManagement.IdleSettings with LifecycleManagement: ENABLED.",
        link=f"{_GUIDE}/studio-updated-idle-shutdown.html",
        subjects=_studio,
        judge=_studio_stops,
    ),
    Rule(
        id="studio-application-deployed",
        title="No accelerated application of Studio is part of a template",
        severity=WARNING,
        practices=("SUS05-BP04/release", "COST04-BP04"),
        why="It starts with the deploy, and bills until somebody deletes it.",
        cure_here="Leave it out of the stack; the library has no construct for Studio.",
        cure_plain="Remove the AWS::SageMaker::App: people start theirs when they need it.",
        link="https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/aws-resource-sagemaker-app.html",
        subjects=_of_type(APP, "ResourceSpec.InstanceType"),
        judge=_app_stops,
    ),
    Rule(
        id="hyperpod-never-shrinks",
        title="A HyperPod cluster with accelerators is scaled by its work",
        severity=WARNING,
        practices=("SUS05-BP04/release", "SUS02-BP01"),
        why="A cluster keeps the number of instances that its groups state, between jobs too.",
        cure_here="For single jobs use AcceleratedFleet, which goes back to zero after them.",
        cure_plain=f"Where EKS orchestrates it, set {', '.join([_KARPENTER, *_FOR_KARPENTER.values()])}; with Slurm, "
        "lower InstanceCount by a function.",
        link=f"{_GUIDE}/sagemaker-hyperpod-eks-autoscaling.html",
        subjects=resources_of(CLUSTER, having=_has_accelerators),
        judge=_cluster_shrinks,
    ),
)
