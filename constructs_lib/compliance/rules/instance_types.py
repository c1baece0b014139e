"""Which instance types accelerated work runs on: sold today, offered in the Region, of one kind, fit for the work."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from constructs_lib.catalog import AcceleratedType, instead_of, offered_in, regions
from constructs_lib.catalog.withdrawn import withdrawn_family
from constructs_lib.compliance.deployment import Deployment, Resource, Stack
from constructs_lib.compliance.facts.agents import start_of
from constructs_lib.compliance.facts.images import image_named
from constructs_lib.compliance.facts.kept_machines import KeptMachine, kept_machines
from constructs_lib.compliance.facts.launches import (
    BATCH,
    GROUP,
    NODE_GROUP,
    Launch,
    accelerated_launches,
    launches,
)
from constructs_lib.compliance.facts.machines import facts_of, is_accelerated, types_named
from constructs_lib.compliance.facts.regions import region_of
from constructs_lib.compliance.facts.workloads import (
    GRAPHICS,
    INFERENCE,
    MEDIA,
    NONE,
    TRAINING,
    WORKLOADS,
    declared,
    declared_by_itself,
)
from constructs_lib.compliance.rule import ERROR, WARNING, Rule
from constructs_lib.compliance.values import Broken, NotKnown, Value
from constructs_lib.statements import TYPES

_ACCELERATED = "https://docs.aws.amazon.com/ec2/latest/instancetypes/ac.html"
_PREVIOUS = "https://docs.aws.amazon.com/ec2/latest/instancetypes/pg.html"
_REGIONS = "https://docs.aws.amazon.com/ec2/latest/instancetypes/ec2-instance-regions.html"
_ATTRIBUTES = (
    "https://docs.aws.amazon.com/autoscaling/ec2/userguide/"
    "create-mixed-instances-group-attribute-based-instance-type-selection.html"
)
_PAGE = "https://docs.aws.amazon.com/wellarchitected/latest/sustainability-pillar/sus_sus_hardware_a5.html"


# --- sold today ------------------------------------------------------------------------------------------------------


def _kept(deployment: Deployment) -> Iterator[Launch | KeptMachine | NotKnown]:
    yield from accelerated_launches(deployment)
    yield from kept_machines(deployment)


def _of_ec2(deployment: Deployment) -> Iterator[Launch | KeptMachine | NotKnown]:
    """Those whose types are EC2's own: which of its types SageMaker has withdrawn is not documented."""
    for each in _kept(deployment):
        if not isinstance(each, KeptMachine) or not each.is_of_sagemaker:
            yield each


def _named_facts(launch: Launch | KeptMachine) -> Iterator[tuple[Value, AcceleratedType]]:
    """The types that are named; of a family one, where the life of all is the same."""
    for value in launch.named_types:
        named = types_named(value.text() or "")
        if len({each.status for each in named}) == 1:
            yield value, named[0]


def _retired(launch: Launch | KeptMachine) -> Iterator[Broken]:
    for value, facts in _named_facts(launch):
        if facts.status == "retired":
            since = f" (it was withdrawn on {facts.retired_on})" if facts.retired_on else ""
            yield value.broken(must=f"be a type that AWS still offers{since}", cure=f"use {instead_of(facts)}")
    for value in launch.named_types:
        gone = withdrawn_family(value.text() or "")
        if gone is not None:
            yield value.broken(
                must="be a type that AWS still offers: EC2 does not know it any more",
                cure=f"use a type of the family {gone.successor} in place of {gone.family}",
            )


def _previous(launch: Launch | KeptMachine) -> Iterator[Broken]:
    of_sagemaker = isinstance(launch, KeptMachine) and launch.is_of_sagemaker
    old = ("previous", "retired") if of_sagemaker else ("previous",)
    for value, facts in _named_facts(launch):
        if facts.status in old and not launch.has_stated(TYPES):
            instead = f"the type that SageMaker has for {instead_of(facts)}" if of_sagemaker else instead_of(facts)
            yield value.broken(
                must="be a type of a current generation, or have its reason stated",
                cure=f"use {instead}, or write why: Metadata: {{accel-fleet: {{types: reason}}}}",
            )


# --- offered in the Region -------------------------------------------------------------------------------------------


def _in_known_regions(deployment: Deployment) -> Iterator[Launch | NotKnown]:
    """The launches; of a stack of which nobody knows the Region comes, once, why."""
    told: set[Stack] = set()
    for launch in accelerated_launches(deployment):
        if isinstance(launch, NotKnown):
            yield launch
            continue
        try:
            region_of(launch.owner)
        except NotKnown as not_known:
            if launch.owner.stack not in told:
                yield not_known
            told.add(launch.owner.stack)
        else:
            yield launch


def _not_offered(launch: Launch) -> Iterator[Broken]:
    region = region_of(launch.owner)
    asked_on = regions().get(region)
    if asked_on is None:
        raise NotKnown(launch.owner, f"the catalogue does not know what {region} offers")
    lacking = [(value, name) for value in launch.named_types if _is_lacking(value, name := value.text() or "", region)]
    # One type of several that a Region lacks costs nothing: the others start.
    if not lacking or len(lacking) < len(launch.named_types):
        return
    for value, name in lacking:
        yield value.broken(
            must=f"be a type that {region} offers (as of {asked_on})",
            cure=f"choose another type, or a Region that has it: {', '.join(offered_in(name) or ())}",
        )


def _is_lacking(value: Value, name: str, region: str) -> bool:
    facts = facts_of(name)
    if facts is not None and facts.status == "retired":
        return False
    offering = offered_in(name) if name else None
    if offering == ():
        # EC2's answers leave out types that AWS's own pages still list.
        raise value.not_known(f"the catalogue knows no Region that offers {name}")
    return offering is not None and region not in offering


# --- one kind in a group ---------------------------------------------------------------------------------------------

_LOOKS_AT_THE_HOST = re.compile(
    r"nvidia-smi (-L|--list-gpus)|lspci|/dev/nvidia|/proc/driver/nvidia|neuron-ls|/dev/neuron"
)


def _mixed_kinds(launch: Launch) -> Iterator[Broken]:
    # AWS Batch starts each type from an image for it, and places jobs by what they ask for.
    if launch.owner.type == BATCH:
        return
    names = launch.types
    kinds = {name: _kind(name) for name in names}
    if len(set(kinds.values())) < 2 or _starts_differently(launch):
        return
    if any(_LOOKS_AT_THE_HOST.search(each.commands) for each in start_of(launch).told):
        return
    found = ", ".join(f"{name} ({kind})" for name, kind in kinds.items())
    yield launch.named_types[0].broken(
        must="be of the same kind of accelerator as the other types of the group",
        got=found,
        cure="make a group for each kind: all instances of this one start from one image and one configuration",
    )


def _kind(name: str) -> str:
    known = types_named(name)
    if known:
        return known[0].kind
    return "of an unknown kind" if is_accelerated(name if "." in name else f"{name}.xlarge") else "no accelerator"


def _starts_differently(launch: Launch) -> bool:
    """Whether types of a mixed group have launch templates, or images, of their own."""
    if launch.owner.type != GROUP:
        return False
    overrides = launch.owner.properties.at("MixedInstancesPolicy.LaunchTemplate").each("Overrides")
    return any(not each.at(name).is_absent for each in overrides for name in ("LaunchTemplateSpecification", "ImageId"))


# --- chosen by attributes --------------------------------------------------------------------------------------------

_NARROWING = ("AcceleratorManufacturers", "AcceleratorNames", "AllowedInstanceTypes")


def _by_attributes(deployment: Deployment) -> Iterator[Launch | NotKnown]:
    for launch in accelerated_launches(deployment):
        if isinstance(launch, NotKnown) or launch.requirements:
            yield launch


def _any_maker(launch: Launch) -> Iterator[Broken]:
    for requirements in launch.requirements:
        if all(not requirements.each(name) for name in _NARROWING):
            yield requirements.broken(
                "AcceleratorManufacturers",
                must="name the makers whose accelerators the image and the work are for",
                cure="set AcceleratorManufacturers, for example [nvidia], or AcceleratorNames",
            )


def _price_protection(launch: Launch) -> Iterator[Broken]:
    if launch.owner.type == GROUP and not _starts_on_demand(launch.owner):
        return
    for requirements in launch.requirements:
        limit = requirements.at("OnDemandMaxPricePercentageOverLowestPrice")
        if limit.is_absent:
            yield limit.broken(
                must="be set, since price protection is on without it: types are left out that cost a fifth more than "
                "the cheapest",
                cure="set OnDemandMaxPricePercentageOverLowestPrice: 999999, and keep dear types out by "
                "AllowedInstanceTypes, AcceleratorNames or AcceleratorCount.Max",
            )


def _starts_on_demand(group: Resource) -> bool:
    spread = group.properties.at("MixedInstancesPolicy.InstancesDistribution")
    share, base = spread.whole("OnDemandPercentageAboveBaseCapacity"), spread.whole("OnDemandBaseCapacity")
    return share is None or share > 0 or bool(base)


# --- fit for the work ------------------------------------------------------------------------------------------------

_INFERENCE_ONLY = frozenset({"Inferentia", "Inferentia2", "Qualcomm AI100"})
"""Chips for inference: "Accelerated computing", Amazon EC2 instance types guide, read in November 2026."""


def _unfit(launch: Launch) -> Iterator[Broken]:
    word = declared(launch)
    if word is None or word.text() == NONE:
        return
    if word.text() not in WORKLOADS:
        yield word.broken(must=f"be one of {', '.join(WORKLOADS)}", cure="write for example workload: inference")
        return
    for value, facts in _named_facts(launch):
        fit = _fits(facts, str(word.text()))
        if not fit:
            yield value.broken(
                must=f"be a type for {word.text()}, which is declared for it",
                got=f"{facts.name} ({facts.model})",
                cure="choose a type that is made for the work, or correct the declaration",
            )


def _fits(facts: AcceleratedType, word: str) -> bool:
    if word in (GRAPHICS, MEDIA):
        # FPGAs do whatever they are programmed to.
        return bool(facts.video_encoder) or facts.kind == "fpga"
    if word == INFERENCE:
        return facts.kind != "media"
    assert word == TRAINING
    return facts.kind != "media" and facts.model not in _INFERENCE_ONLY


def _without_need(launch: Launch) -> Iterator[Broken]:
    word = declared(launch)
    if word is None or word.text() != NONE:
        return
    for value in (*launch.named_types, *launch.requirements):
        yield value.broken(
            must="be a type without accelerators, since workload: none is declared",
            cure="choose a type of the C, M or R families, or correct the declaration",
        )


_FROM_SCRIPT = re.compile(
    r"docker run [^\n;]*--gpus[ =]|NVIDIA-Linux-\w+|\bcuda-drivers\b|\bnvidia-driver-\d+|\baws-neuronx-dkms\b"
    r"|\bkmod-nvidia-(open-)?(latest-)?dkms\b"
)
_GUARD = re.compile(r"lspci|\bif\b|/dev/nvidia|\|\| *true")


_OF_NODES = re.compile(r"\w+_(GPU|NVIDIA|NEURON)(_FIPS)?")


@dataclass(frozen=True)
class _Wish:
    """A launch without accelerators whose image, boot script or declared work is for them."""

    launch: Launch
    place: Value
    what: str

    @property
    def resource(self) -> Resource:
        return self.launch.resource


def _wishes(deployment: Deployment) -> Iterator[_Wish | NotKnown]:
    for launch in launches(deployment):
        doubt = None
        try:
            if launch.is_accelerated():
                continue
        except NotKnown as not_known:
            doubt = not_known
        wish = _wish(launch)
        if wish is not None and (doubt or launch.named_types):
            yield doubt or wish


def _wish(launch: Launch) -> _Wish | None:
    word = declared_by_itself(launch)
    if word is not None and word.raw in WORKLOADS and word.raw != NONE:
        return _Wish(launch, word, f"the declared workload ({word.raw})")
    image = image_named(launch)
    if image is not None and launch.owner.type == NODE_GROUP and _OF_NODES.fullmatch(image.name):
        return _Wish(launch, image.value, f"the image {image.name}")
    # Batch has words for images that fit several kinds of types.
    if image is not None and image.kinds and image.name.startswith("/"):
        if "bottlerocket" in image.name and "nvidia" not in image.name:
            return None
        return _Wish(launch, image.value, f"the image {image.name}")
    try:
        told = start_of(launch).told
    except NotKnown:
        return None
    for each in told:
        if (found := _FROM_SCRIPT.search(each.commands)) and not _GUARD.search(each.commands):
            return _Wish(launch, each.value, f"its boot script ({found[0]})")
    return None


def _cpu_for_accelerated_work(wish: _Wish) -> Iterator[Broken]:
    for value in wish.launch.named_types:
        yield value.broken(
            must=f"be a type with the accelerator that {wish.what} is for",
            cure="choose a type with that accelerator, for example g6.xlarge for one GPU; if the work needs none, an "
            "image without its software",
        )


RULES = (
    Rule[Launch | KeptMachine](
        id="retired-instance-type",
        title="Instance types are still offered by AWS",
        severity=ERROR,
        practices=("SUS05-BP04/choose", "SUS05-BP02"),
        why="An instance of a type that AWS has withdrawn cannot be started: the deploy or the next scale-out fails.",
        cure_here="AcceleratedFleet refuses such a type; name its successor in instance_types.",
        cure_plain="Name a type that the finding names.",
        link=_PREVIOUS,
        subjects=_of_ec2,
        judge=_retired,
    ),
    Rule[Launch | KeptMachine](
        id="previous-generation-type",
        title="Instance types are of a current generation",
        severity=WARNING,
        practices=("SUS05-BP02", "SUS05-BP04/choose"),
        why=(
            "AWS keeps previous generations for work that cannot move. A current one does the same work with less "
            "energy and money, and is not about to be withdrawn."
        ),
        cure_here="Name the successor in instance_types, or let workload=Workload(...) choose.",
        cure_plain="Name a type that the finding names.",
        link=_PREVIOUS,
        subjects=_kept,
        judge=_previous,
    ),
    Rule(
        id="type-not-offered-in-region",
        title="The Region offers one of the instance types",
        severity=ERROR,
        practices=("REL07-BP01", "SUS05-BP04/choose"),
        why="A Region without any of the types starts nothing: the group tries for ever, and nobody gets a machine.",
        cure_here="Choose types with accel-fleet catalog, which lists the Regions of each.",
        cure_plain="Name a type that the Region offers, or deploy to another Region.",
        link=_REGIONS,
        subjects=_in_known_regions,
        judge=_not_offered,
    ),
    Rule(
        id="accelerator-kinds-mixed",
        title="All types of a group have the same kind of accelerator",
        severity=WARNING,
        practices=("SUS05-BP04/tune", "PERF02-BP06"),
        why=(
            "All instances of a group start from one image and one configuration. Where one has no GPU, or another "
            "maker's, the container or metrics agent does not start, and the node is paid for and does nothing."
        ),
        cure_here="Make a fleet for each kind; AcceleratedFleet refuses types of several kinds.",
        cure_plain="Make a group for each kind, or let the boot script look for real devices (nvidia-smi -L, lspci).",
        link=_ACCELERATED,
        subjects=accelerated_launches,
        judge=_mixed_kinds,
    ),
    Rule(
        id="attributes-allow-any-maker",
        title="Attributes that stand for types say whose accelerators",
        severity=WARNING,
        practices=("SUS05-BP04/choose", "PERF02-BP06"),
        why=(
            "A number of accelerators alone is true of GPUs of two makers, of Trainium, Inferentia, Gaudi and FPGAs. "
            "The image has the driver of one."
        ),
        cure_here="FlexibleTypes(kind=...) names the kind.",
        cure_plain="Set AcceleratorManufacturers, AcceleratorNames or AllowedInstanceTypes in InstanceRequirements.",
        link=_ATTRIBUTES,
        subjects=_by_attributes,
        judge=_any_maker,
    ),
    Rule(
        id="price-protection-drops-accelerators",
        title="Price protection is set where attributes stand for accelerated types",
        severity=WARNING,
        practices=("SUS05-BP04/choose", "REL07-BP01"),
        why=(
            "Without a value Auto Scaling and EC2 leave out every On-Demand type that costs 20 percent more than the "
            "cheapest that fits. Of accelerated types that often leaves one size, and no other to turn to."
        ),
        cure_here="FlexibleTypes turns price protection off and has usd_per_hour in its place.",
        cure_plain="Set OnDemandMaxPricePercentageOverLowestPrice, for example 999999, in InstanceRequirements.",
        link=_ATTRIBUTES,
        subjects=_by_attributes,
        judge=_price_protection,
    ),
    Rule(
        id="cpu-type-for-accelerated-work",
        title="Work that is made for an accelerator runs on a type that has one",
        severity=WARNING,
        practices=("SUS05-BP04/choose", "PERF02-BP06"),
        why=(
            "An image or a boot script with an accelerator's software says that the work wants one. On a type of "
            "general purpose it fails, or falls back to the CPU and takes many times the time and energy."
        ),
        cure_here="Name accelerated types in instance_types; accel-fleet recommend says which.",
        cure_plain="Name a type with the accelerator, or an image without its software.",
        link=_PAGE,
        subjects=_wishes,
        judge=_cpu_for_accelerated_work,
    ),
    Rule(
        id="accelerator-without-need",
        title="Work that needs no accelerator runs without one",
        severity=WARNING,
        practices=("SUS05-BP04/choose", "COST06-BP02"),
        why="An accelerator that the work does not use costs many times the money and energy of a CPU.",
        cure_here="Use an Auto Scaling group of the CDK with a CPU type, or correct the declaration workload: none.",
        cure_plain="Name a CPU type, or correct the declaration workload: none in Metadata.accel-fleet.",
        link=_PAGE,
        subjects=accelerated_launches,
        judge=_without_need,
    ),
    Rule(
        id="accelerator-unfit-for-workload",
        title="The accelerator is one for the declared work",
        severity=WARNING,
        practices=("SUS05-BP04/choose", "PERF02-BP06"),
        why=(
            "Accelerators are made for a purpose: Inferentia does not train models, a GPU without graphics does not "
            "render, and one for video does neither."
        ),
        cure_here="Let workload=Workload(...) choose the types, or ask accel-fleet recommend.",
        cure_plain="Name a type for the work that Metadata.accel-fleet.workload declares, or correct the declaration.",
        link=_ACCELERATED,
        subjects=accelerated_launches,
        judge=_unfit,
    ),
)
