"""Nodes of Kubernetes: what is told of them before there are any, and what has to run on them.

Source: "Cluster Autoscaler on AWS", kubernetes/autoscaler: tags of a group tell resources, labels and taints of its
nodes; those of a managed node group the autoscaler asks EKS for. "Taints and Tolerations", Kubernetes. Read 2026-12.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from constructs_lib.compliance.deployment import Deployment, Resource, once
from constructs_lib.compliance.facts.agents import start_of
from constructs_lib.compliance.facts.launches import NODE_GROUP, Launch
from constructs_lib.compliance.values import NotKnown, Value
from constructs_lib.template.plain_values import items, mapping

SCALER = "k8s.io/cluster-autoscaler/"
OF_NODES = f"{SCALER}node-template/"

_MANIFEST = "Custom::AWSCDK-EKS-KubernetesResource"
_CHART = "Custom::AWSCDK-EKS-HelmChart"
_PLUGINS = {
    "nvidia": re.compile(r"nvidia-device-plugin|nvidia/k8s-device-plugin|gpu-operator"),
    "neuron": re.compile(r"neuron-device-plugin|neuron-helm-chart"),
}
"""What images and charts of the plugins are called that tell Kubernetes of accelerators, by their kind."""
_EFFECTS = {"NO_SCHEDULE": "NoSchedule", "NO_EXECUTE": "NoExecute"}
"""Those that keep pods off; the other one is a wish."""
_TAINTS = re.compile(r"--register-with-taints[= ]['\"]?([^\s'\"]+)")
_OF_PROGRAMS = re.compile(r"kubernetes\.io/|k8s\.amazonaws\.com/|eksctl\.io/|\$")
"""Labels that programs read, by which pods are not placed, and those whose name only the shell or a deploy knows."""
_LABELS = re.compile(r"--node-labels[= ]['\"]?([^\s'\"]+)")


@dataclass(frozen=True)
class Taint:
    """What keeps pods off nodes that do not tolerate it.

    Attributes:
        key: for example ``nvidia.com/gpu``.
        value: empty if it has none.
        effect: as Kubernetes writes it.
        place: where the template says it.
    """

    key: str
    value: str
    effect: str
    place: Value


@dataclass(frozen=True)
class Plugin:
    """A manifest that tells Kubernetes of accelerators.

    Attributes:
        resource: that applies it.
        tolerations: of its pods. None: they are not in the templates.
    """

    resource: Resource
    tolerations: Sequence[Mapping[str, Any]] | None

    def tolerates(self, taint: Taint) -> bool:
        """Whether its pods run on nodes with a taint.

        Raises:
            NotKnown: its tolerations are not in the templates.
        """
        if self.tolerations is None:
            raise NotKnown(self.resource, "what its chart tolerates is not in the templates")
        return any(_tolerates(each, taint) for each in self.tolerations)


def taints_of(launch: Launch) -> list[Taint]:
    """The taints that keep pods off the nodes of a launch.

    Raises:
        NotKnown: they are not known.
    """
    if launch.owner.type == NODE_GROUP:
        taints = launch.owner.properties.each("Taints")
        return [
            Taint(each.text("Key") or "", each.text("Value") or "", _EFFECTS[each.text("Effect") or ""], each)
            for each in taints
            if each.text("Effect") in _EFFECTS
        ]
    return [each for each in _told_taints(launch) if each.effect in _EFFECTS.values()]


def labels_told(launch: Launch) -> dict[str, Value]:
    """The labels of its owner's own that the boot script of a launch gives its nodes, each with its place.

    Raises:
        NotKnown: the boot script is not known.
    """
    found = {}
    for each in start_of(launch).told:
        for written in _LABELS.findall(each.commands):
            names = (pair.partition("=")[0] for pair in written.split(","))
            found.update({name: each.value for name in names if not _OF_PROGRAMS.search(name)})
    return found


def plugins(deployment: Deployment, kind: str) -> Sequence[Plugin | NotKnown]:
    """The plugins for a kind of accelerators that the templates install, and in place of one that is not known, why."""
    return deployment.once(_plugins).get(kind, ())


def _told_taints(launch: Launch) -> Iterator[Taint]:
    for each in start_of(launch).told:
        for written in _TAINTS.findall(each.commands):
            for taint in (one for one in written.split(",") if "$" not in one):
                told, _, effect = taint.rpartition(":")
                key, _, value = told.partition("=")
                yield Taint(key, value, effect, each.value)


@once
def _plugins(deployment: Deployment) -> Mapping[str, Sequence[Plugin | NotKnown]]:
    found: dict[str, list[Plugin | NotKnown]] = {kind: [] for kind in _PLUGINS}
    for chart in deployment.resources(_CHART):
        named = str(chart.properties.raw.get("Chart"))
        for kind, pattern in _PLUGINS.items():
            found[kind] += [Plugin(chart, None)] if pattern.search(named) else []
    for resource in deployment.resources(_MANIFEST):
        try:
            text = resource.properties.searchable("Manifest") or "[]"
            described = [(each, json.dumps(each)) for each in _daemon_sets(text)]
        except NotKnown as not_known:
            for each in found.values():
                each.append(not_known)
            continue
        except ValueError:
            continue  # What is not JSON, Kubernetes refuses.
        for daemon_set, whole in described:
            for kind, pattern in _PLUGINS.items():
                found[kind] += [Plugin(resource, _tolerations(daemon_set))] if pattern.search(whole) else []
    return found


def _daemon_sets(manifest: str) -> list[Mapping[str, Any]]:
    objects = json.loads(manifest)
    return [each for each in map(mapping, items(objects) or [objects]) if each.get("kind") == "DaemonSet"]


def _tolerations(daemon_set: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    pods = mapping(mapping(mapping(daemon_set.get("spec")).get("template")).get("spec"))
    return [mapping(each) for each in items(pods.get("tolerations"))]


def _tolerates(toleration: Mapping[str, Any], taint: Taint) -> bool:
    if toleration.get("effect", taint.effect) not in ("", taint.effect):
        return False
    key, exists = toleration.get("key") or "", toleration.get("operator") == "Exists"
    if not key:
        return exists
    return key == taint.key and (exists or (toleration.get("value") or "") == taint.value)
