"""What EC2 says about the instance types that a template wants."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from constructs_lib.catalog import known_types
from constructs_lib.preflight.account import Account, Refused, filters
from constructs_lib.template.plain_values import items, mapping, whole

_MOST_FILTER_VALUES = 200
_VIRTUALIZATION = ["hvm"]


@dataclass(frozen=True, kw_only=True)
class Machine:
    """One instance type in one Region; None is not known.

    Attributes:
        name: for example ``g6.xlarge``.
        vcpus: of an instance.
        architectures: of its CPU, for example ``x86_64``.
        kinds: of its accelerators: ``nvidia``, ``neuron`` and others.
        usage_classes: ``on-demand``, ``spot``, ``capacity-block``.
        boot_modes: ``legacy-bios``, ``uefi``.
        efa_interfaces: most of them, 0 for none.
        hibernates: whether it can.
    """

    name: str
    vcpus: int | None
    architectures: tuple[str, ...] | None
    kinds: tuple[str, ...]
    usage_classes: tuple[str, ...] | None = None
    boot_modes: tuple[str, ...] | None = None
    efa_interfaces: int | None = None
    hibernates: bool | None = None


def machines(account: Account, names: Iterable[str]) -> dict[str, Machine]:
    """Facts about the types by name; a type that EC2 does not know in this Region is left out.

    Raises:
        Refused: EC2 does not say.
    """
    wanted = sorted(set(names))
    found = {}
    for start in range(0, len(wanted), _MOST_FILTER_VALUES):
        part = wanted[start : start + _MOST_FILTER_VALUES]
        answer = account.ask("ec2", "describe_instance_types", "InstanceTypes", Filters=filters(instance_type=part))
        for each in answer:
            machine = _machine(mapping(each))
            if machine.name in part:
                found[machine.name] = machine
    return found


def from_catalog(names: Iterable[str]) -> dict[str, Machine]:
    """What the library's own table knows about the types, where EC2 does not say."""
    known = known_types()
    return {
        name: Machine(
            name=name,
            vcpus=known[name].vcpus,
            architectures=(known[name].architecture,),
            kinds=(known[name].kind,),
            efa_interfaces=known[name].efa_interfaces,
        )
        for name in names
        if name in known
    }


def known_machines(account: Account, names: Iterable[str]) -> dict[str, Machine]:
    """Facts by name from EC2, or from the library's own table about those that EC2 says nothing about."""
    wanted = list(names)
    try:
        return {**from_catalog(wanted), **machines(account, wanted)}
    except Refused:
        return from_catalog(wanted)


def matching(account: Account, requirements: Mapping[str, Any], architectures: Sequence[str]) -> list[str]:
    """Names of the types that a set of attributes stands for now.

    Raises:
        Refused: EC2 does not say.
    """
    answer = account.ask(
        "ec2",
        "get_instance_types_from_instance_requirements",
        "InstanceTypes",
        ArchitectureTypes=list(architectures),
        VirtualizationTypes=_VIRTUALIZATION,
        InstanceRequirements=_as_asked(requirements),
    )
    return sorted(str(mapping(each).get("InstanceType")) for each in answer)


def _as_asked(value: object) -> object:
    """Numbers as the API takes them; a template may write them as text."""
    if isinstance(value, Mapping):
        return {name: _as_asked(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_as_asked(item) for item in value]
    if isinstance(value, str) and value.isdigit():
        return int(value)
    return {"true": True, "false": False}.get(value, value) if isinstance(value, str) else value


def _machine(answer: Mapping[str, Any]) -> Machine:
    network = mapping(answer.get("NetworkInfo"))
    efa = None
    if network.get("EfaSupported") is not None:
        efa = whole(mapping(network.get("EfaInfo")).get("MaximumEfaInterfaces", 1)) if network["EfaSupported"] else 0
    return Machine(
        name=str(answer.get("InstanceType")),
        vcpus=whole(mapping(answer.get("VCpuInfo")).get("DefaultVCpus")),
        architectures=_texts(mapping(answer.get("ProcessorInfo")).get("SupportedArchitectures")),
        kinds=_kinds(answer),
        usage_classes=_texts(answer.get("SupportedUsageClasses")),
        boot_modes=_texts(answer.get("SupportedBootModes")),
        efa_interfaces=efa,
        hibernates=answer.get("HibernationSupported"),
    )


def _kinds(answer: Mapping[str, Any]) -> tuple[str, ...]:
    gpus = items(mapping(answer.get("GpuInfo")).get("Gpus"))
    kinds = {str(mapping(gpu).get("Manufacturer", "")).lower() for gpu in gpus} - {""}
    if answer.get("NeuronInfo") is not None:
        kinds.add("neuron")
    # Of the oldest Neuron types EC2 says that they have inference accelerators, as it does of other makers' ones.
    known = known_types().get(str(answer.get("InstanceType")))
    return tuple(sorted(kinds or ({known.kind} if known is not None else set())))


def _texts(value: object) -> tuple[str, ...] | None:
    return tuple(str(each) for each in items(value)) or None
