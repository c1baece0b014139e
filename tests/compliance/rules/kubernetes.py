"""Field cases 62 and 63; "Cluster Autoscaler on AWS", kubernetes/autoscaler; "Taints and Tolerations", Kubernetes."""

import json
from typing import Any

from tests.compliance.cases import Breaks, Case, group, template

_PARAMETER = {"Parameters": {"Choice": {"Type": "String"}}}
_CHOICE = {"Ref": "Choice"}
_TEMPLATE = "k8s.io/cluster-autoscaler/node-template"
_RESOURCES = f"{_TEMPLATE}/resources/aws.amazon.com/neuron"
_DISCOVERED = "k8s.io/cluster-autoscaler/enabled"


def _nodes(*tags: str, kind: object = "inf2.xlarge", script: object = None, **properties: object) -> dict[str, Any]:
    keys = [{"Key": each, "Value": "1", "PropagateAtLaunch": True} for each in tags]
    told = {} if script is None else {"UserData": {"Fn::Base64": script}}
    return group(launch={"InstanceType": kind, **told}, properties={"Tags": keys, **properties})


def _managed(
    *tags: str, kind: object = "inf2.xlarge", least: object = 0, taints: Any = (), **more: Any
) -> dict[str, Any]:
    return template(
        Nodes={
            "Type": "EKS::Nodegroup",
            "Properties": {
                "ClusterName": "c",
                "NodeRole": "r",
                "Subnets": ["s"],
                "InstanceTypes": [kind],
                "ScalingConfig": {"MinSize": least, "MaxSize": 4},
                "Tags": dict.fromkeys(tags, "1"),
                "Taints": taints if isinstance(taints, dict) else list(taints),
            },
        },
        **more,
    )


def _joining(*flags: str) -> str:
    return f"#!/bin/bash\n/etc/eks/bootstrap.sh c --kubelet-extra-args '{' '.join(flags)}'\n"


_TAINTED, _LABELLED = "--register-with-taints=gpu=true:NoSchedule", "--node-labels=team=vision,tier=gpu"
_TOLD = (f"{_TEMPLATE}/taint/gpu", f"{_TEMPLATE}/label/team", f"{_TEMPLATE}/label/tier")
_GPU_TAINT = {"Key": "nvidia.com/gpu", "Value": "present", "Effect": "NO_SCHEDULE"}
_TEAM_TAINT = {"Key": "team", "Value": "vision", "Effect": "NO_EXECUTE"}


def _plugin(*tolerations: dict[str, str], image: str = "nvcr.io/nvidia/k8s-device-plugin:v0.17") -> dict[str, Any]:
    pods = {"containers": [{"name": "plugin", "image": image}], "tolerations": list(tolerations)}
    manifest = [{"kind": "DaemonSet", "spec": {"template": {"spec": pods}}}]
    return {"Type": "Custom::AWSCDK-EKS-KubernetesResource", "Properties": {"Manifest": json.dumps(manifest)}}


_ANY_GPU = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
_THIS_GPU = {"key": "nvidia.com/gpu", "operator": "Equal", "value": "present"}
_WHATEVER = {"operator": "Exists"}
_CHART = {"Type": "Custom::AWSCDK-EKS-HelmChart", "Properties": {"Chart": "nvidia-device-plugin"}}
_NOT_SEEN = {"Type": "Custom::AWSCDK-EKS-KubernetesResource", "Properties": {"Manifest": _CHOICE}}


def _gpus(*taints: Any, **more: Any) -> dict[str, Any]:
    return _managed(kind="g6.xlarge", taints=taints or (_GPU_TAINT,), **more)


CASES = (
    Case(
        rule="autoscaler-cannot-see-accelerators",
        breaks=(
            Breaks(template=_nodes(_DISCOVERED), resource="Group", property="Tags", got="none"),
            Breaks(template=_managed(_DISCOVERED), resource="Nodes", property="Tags", got="none"),
        ),
        keeps=(
            _nodes(_DISCOVERED, _RESOURCES),
            _nodes(_DISCOVERED, MinSize="1"),
            # What the autoscaler knows of the type says that it has a GPU.
            _nodes(_DISCOVERED, kind="g6.xlarge"),
            _nodes(),
            _managed(_DISCOVERED, _RESOURCES),
            _managed(_DISCOVERED, least=1),
            _managed(_DISCOVERED, kind="g6.xlarge"),
        ),
        unknown=(
            _PARAMETER | _nodes(_DISCOVERED, MinSize=_CHOICE),
            _PARAMETER | _nodes(_DISCOVERED, kind=_CHOICE),
            # Nothing says that it is the Cluster Autoscaler that raises it.
            _managed(),
        ),
    ),
    Case(
        rule="autoscaler-not-told-of-nodes",
        breaks=(
            Breaks(
                template=_nodes(_DISCOVERED, kind="g6.xlarge", script=_joining(_TAINTED)),
                resource="Group",
                property="Tags",
                got="no such tag",
            ),
            Breaks(
                template=_nodes(_DISCOVERED, *_TOLD[:2], kind="g6.xlarge", script=_joining(_TAINTED, _LABELLED)),
                resource="Group",
                property="Tags",
            ),
        ),
        keeps=(
            _nodes(_DISCOVERED, *_TOLD, kind="g6.xlarge", script=_joining(_TAINTED, _LABELLED)),
            _nodes(_DISCOVERED, kind="g6.xlarge", script=_joining("--max-pods=20")),
            _nodes(_DISCOVERED, kind="g6.xlarge", script=f"{_joining('--max-pods=20')}# {_TAINTED}\n"),
            # Only the shell knows them.
            _nodes(
                _DISCOVERED,
                kind="g6.xlarge",
                script=_joining("--node-labels=$LABELS", "--register-with-taints=$KEY=true:NoSchedule"),
            ),
            # By these no pod is placed.
            _nodes(
                _DISCOVERED,
                kind="g6.xlarge",
                script=_joining(
                    "--node-labels=node.kubernetes.io/lifecycle=spot,k8s.amazonaws.com/accelerator=nvidia-l4"
                ),
            ),
            _nodes(_DISCOVERED, kind="g6.xlarge", script=_joining(_LABELLED), MinSize=1),
            # Nobody discovers it.
            _nodes(kind="g6.xlarge", script=_joining(_LABELLED)),
            # The autoscaler asks EKS for those of a managed node group.
            _gpus(),
        ),
        unknown=(_PARAMETER | _nodes(_DISCOVERED, kind="g6.xlarge", script=_CHOICE),),
    ),
    Case(
        rule="device-plugin-kept-off",
        breaks=(
            Breaks(
                template=_gpus(Plugin=_plugin()),
                resource="Nodes",
                property="Taints[0]",
                got="nvidia.com/gpu=present:NoSchedule",
            ),
            Breaks(
                template=_gpus(_GPU_TAINT, _TEAM_TAINT, Plugin=_plugin(_ANY_GPU)),
                resource="Nodes",
                property="Taints[1]",
                got="team=vision:NoExecute",
            ),
            Breaks(
                template=_gpus(Plugin=_plugin({**_THIS_GPU, "value": "true"})), resource="Nodes", property="Taints[0]"
            ),
            Breaks(
                template=_gpus(Plugin=_plugin({**_ANY_GPU, "effect": "NoExecute"})),
                resource="Nodes",
                property="Taints[0]",
            ),
            Breaks(
                template=_managed(
                    taints=(_TEAM_TAINT,), Plugin=_plugin(image="public.ecr.aws/neuron/neuron-device-plugin:2.20")
                ),
                resource="Nodes",
                property="Taints[0]",
            ),
            Breaks(
                template={
                    "Resources": {
                        **_nodes(kind="g6.xlarge", script=_joining(_TAINTED))["Resources"],
                        **template(Plugin=_plugin())["Resources"],
                    }
                },
                resource="Launch",
                property="LaunchTemplateData.UserData",
                got="gpu=true:NoSchedule",
            ),
        ),
        keeps=(
            _gpus(Plugin=_plugin(_ANY_GPU)),
            _gpus(Plugin=_plugin(_THIS_GPU)),
            _gpus(_GPU_TAINT, _TEAM_TAINT, Plugin=_plugin(_WHATEVER)),
            # One of two is for these nodes.
            _gpus(One=_plugin(), Two=_plugin(_ANY_GPU)),
            _gpus({**_GPU_TAINT, "Effect": "PREFER_NO_SCHEDULE"}, Plugin=_plugin()),
            # The image, or somebody else, brings it.
            _gpus(),
            # It is for accelerators of another kind.
            _gpus(Plugin=_plugin(image="public.ecr.aws/neuron/neuron-device-plugin:2.20")),
            _managed(kind="m7i.large", taints=(_TEAM_TAINT,), Plugin=_plugin()),
        ),
        unknown=(
            _gpus(Plugin=_CHART),
            _PARAMETER | _gpus(Plugin=_NOT_SEEN),
            _PARAMETER | _managed(kind="g6.xlarge", taints=_CHOICE, Plugin=_plugin()),
        ),
    ),
)
