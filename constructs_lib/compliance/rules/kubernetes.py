"""Nodes of Kubernetes with accelerators, field cases of which tell what goes wrong: groups at zero, and taints."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from constructs_lib.compliance.deployment import Deployment, Resource
from constructs_lib.compliance.facts.capacity_actions import tag_keys
from constructs_lib.compliance.facts.launches import GROUP, NODE_GROUP, Launch, accelerated_launches
from constructs_lib.compliance.facts.nodes import (
    OF_NODES,
    SCALER,
    Plugin,
    Taint,
    labels_told,
    plugins,
    taints_of,
)
from constructs_lib.compliance.facts.owners import accelerated_owners, launches_of
from constructs_lib.compliance.rule import ERROR, WARNING, Itself, Rule
from constructs_lib.compliance.values import Broken, NotKnown, all_of, any_of

_RESOURCES_OF_NODES = f"{OF_NODES}resources/aws.amazon.com/neuron"
_LEAST = {GROUP: "MinSize", NODE_GROUP: "ScalingConfig.MinSize"}
_GUIDE = "https://docs.aws.amazon.com/eks/latest/best-practices/cas.html"


def _keys(owner: Resource) -> list[str]:
    """The keys of the tags of a group, or of a node group, which has an object of them."""
    return tag_keys(owner) if owner.type == GROUP else [name for name, _ in owner.properties.named("Tags")]


def _may_be_autoscaled(owner: Resource) -> bool:
    """EKS lets the autoscaler discover its node groups; a group of one's own has to have a tag for it."""
    try:
        return owner.type == NODE_GROUP or any(each.startswith(SCALER) for each in _keys(owner))
    except NotKnown:
        return True


def _rests_at_zero(owner: Resource) -> bool:
    return not owner.properties.number(_LEAST[owner.type])


def _can_wake(subject: Itself) -> Iterator[Broken]:
    """GPUs are among what the autoscaler knows of an instance type; Neuron devices are not."""
    owner = subject.resource
    if not _rests_at_zero(owner) or not all_of(_is_of_neuron_alone, launches_of(owner)):
        return
    keys = _keys(owner)
    if any(each.startswith(_RESOURCES_OF_NODES) for each in keys):
        return
    if not any(each.startswith(SCALER) for each in keys):
        raise NotKnown(owner, "whether the Cluster Autoscaler is what raises it is not known")
    yield owner.properties.broken(
        "Tags",
        must=f"have {_RESOURCES_OF_NODES}: at zero the autoscaler does not know that its nodes have accelerators",
        got="none",
        cure=f"add the tag {_RESOURCES_OF_NODES} with the number of devices of an instance",
    )


def _is_of_neuron_alone(launch: Launch) -> bool:
    return launch.kinds == {"neuron"}


# --- labels and taints of groups of one's own ------------------------------------------------------------------------


def _is_told_of_nodes(subject: Itself) -> Iterator[Broken]:
    group = subject.resource
    if not _rests_at_zero(group):
        return
    keys = _keys(group)
    for launch in launches_of(group):
        for taint in taints_of(launch):
            if f"{OF_NODES}taint/{taint.key}" not in keys:
                yield group.properties.broken(
                    "Tags",
                    must=f"have {OF_NODES}taint/{taint.key}: without it the autoscaler starts accelerators for pods "
                    "that the taint then keeps off",
                    got="no such tag",
                    cure=f"add the tag {OF_NODES}taint/{taint.key} with the value {taint.value}:{taint.effect}",
                )
        for label in labels_told(launch):
            if f"{OF_NODES}label/{label}" not in keys:
                yield group.properties.broken(
                    "Tags",
                    must=f"have {OF_NODES}label/{label}: without it pods that ask for the label wait for ever at zero",
                    got="no such tag",
                    cure=f"add the tag {OF_NODES}label/{label} with the value that the nodes get",
                )


# --- what has to run on tainted nodes --------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Tainted:
    """A taint of accelerated nodes, for whose accelerators the templates install a plugin."""

    launch: Launch
    taint: Taint
    kind: str

    @property
    def resource(self) -> Resource:
        return self.taint.place.resource


def _tainted(deployment: Deployment) -> Iterator[_Tainted | NotKnown]:
    for launch in accelerated_launches(deployment):
        if isinstance(launch, NotKnown):
            yield launch
            continue
        try:
            kinds = [kind for kind in sorted(launch.kinds) if plugins(deployment, kind)]
            for kind in kinds if launch.owner.type in _LEAST else ():
                for taint in taints_of(launch):
                    yield _Tainted(launch, taint, kind)
        except NotKnown as not_known:
            yield not_known


def _plugin_runs(tainted: _Tainted) -> Iterator[Broken]:
    taint = tainted.taint
    found = plugins(tainted.launch.owner.deployment, tainted.kind)
    if any_of(_that_tolerates(taint), found):
        return
    yield taint.place.broken(
        must="be tolerated by the device plugin: without it the nodes have no accelerators for pods, and are paid for",
        got=f"{taint.key}={taint.value}:{taint.effect}",
        cure=f"add {{key: {taint.key}, operator: Exists, effect: {taint.effect}}} to the tolerations of "
        f"{', '.join(each.resource.id for each in found if isinstance(each, Plugin))}",
    )


def _that_tolerates(taint: Taint) -> Callable[[Plugin | NotKnown], bool]:
    def tolerates(plugin: Plugin | NotKnown) -> bool:
        if isinstance(plugin, NotKnown):
            raise plugin
        return plugin.tolerates(taint)

    return tolerates


RULES = (
    Rule(
        id="autoscaler-cannot-see-accelerators",
        title="The tags of a group at zero tell the autoscaler of its accelerators",
        severity=ERROR,
        practices=("REL07-BP01", "SUS02-BP01"),
        why="Without a node to look at, the autoscaler knows a group by its tags: pods that ask for accelerators wait "
        "for ever.",
        cure_here="The library has no construct for EKS; add the tag to the group.",
        cure_plain=f"Add the tag {_RESOURCES_OF_NODES} to the group.",
        link=_GUIDE,
        subjects=accelerated_owners(GROUP, NODE_GROUP, having=_may_be_autoscaled),
        judge=_can_wake,
    ),
    Rule(
        id="autoscaler-not-told-of-nodes",
        title="The tags of a group at zero tell the autoscaler of the labels and taints of its nodes",
        severity=WARNING,
        practices=("REL07-BP01", "COST09-BP03"),
        why=(
            "At zero the autoscaler knows of labels and taints by tags alone. It starts accelerators for pods that may "
            "not run on them, and none for pods that ask for a label."
        ),
        cure_here="The library has no construct for EKS; add the tags to the group.",
        cure_plain=(
            f"Add a tag {OF_NODES}label/NAME for each label, and {OF_NODES}taint/NAME with VALUE:EFFECT for each taint."
        ),
        link=_GUIDE,
        subjects=accelerated_owners(GROUP, having=_may_be_autoscaled),
        judge=_is_told_of_nodes,
    ),
    Rule(
        id="device-plugin-kept-off",
        title="The device plugin runs on tainted nodes with accelerators",
        severity=ERROR,
        practices=("SUS05-BP04/tune", "REL11-BP01"),
        why=(
            "The plugin tells Kubernetes of the accelerators of a node. A taint that it does not tolerate keeps it "
            "off: pods wait for ever, on nodes that are paid for."
        ),
        cure_here="The library has no construct for EKS; add the toleration to the plugin.",
        cure_plain="Add a toleration for each taint of accelerated nodes to the DaemonSet of the device plugin.",
        link="https://docs.aws.amazon.com/eks/latest/userguide/node-taints-managed-node-groups.html",
        subjects=_tainted,
        judge=_plugin_runs,
    ),
)
