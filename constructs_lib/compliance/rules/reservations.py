"""Accelerators that are held, and paid for, whether an instance runs on them or not: reserved capacity, whole hosts.

Source: "Capacity Reservation pricing and billing" and "Dedicated Hosts", Amazon EC2 User Guide; ``ReleaseHosts``,
Amazon EC2 API Reference, read 2026-12.
"""

from __future__ import annotations

from collections.abc import Iterator

from constructs_lib.compliance.deployment import Resource
from constructs_lib.compliance.facts.grants import check_outside, is_allowed_on
from constructs_lib.compliance.facts.machines import names_accelerators
from constructs_lib.compliance.facts.reasons import has_stated
from constructs_lib.compliance.rule import WARNING, Itself, Rule, resources_of
from constructs_lib.compliance.values import Broken, any_of
from constructs_lib.statements import MINIMUM

_RESERVATION = "AWS::EC2::CapacityReservation"
_HOST = "AWS::EC2::Host"
_CANCELS = ("ec2:CancelCapacityReservation", "ec2:ModifyCapacityReservation")
_RELEASES = ("ec2:ReleaseHosts",)
_REASON = f"write why: Metadata: {{accel-fleet: {{{MINIMUM}: reason}}}}"


def _reserves_accelerators(resource: Resource) -> bool:
    return names_accelerators(resource.properties.at("InstanceType"))


def _is_accelerated_host(resource: Resource) -> bool:
    properties = resource.properties
    return any_of(names_accelerators, (properties.at("InstanceType"), properties.at("InstanceFamily")))


def _ends(subject: Itself) -> Iterator[Broken]:
    """A reservation with a date ends by itself; another one somebody has to end, who may be a function beside it."""
    resource = subject.resource
    kind = resource.properties.at("EndDateType")
    if kind.text() == "limited" or not resource.properties.at("EndDate").is_absent or has_stated(resource, MINIMUM):
        return
    if is_allowed_on(resource, _CANCELS):
        return
    check_outside(resource)
    yield kind.broken(
        must="be 'limited' with an EndDate, or have its reason stated: reserved capacity is billed as if instances "
        "ran, until it is cancelled",
        cure=f"set EndDateType: limited and an EndDate, or {_REASON}",
    )


def _has_reason(subject: Itself) -> Iterator[Broken]:
    resource = subject.resource
    if has_stated(resource, MINIMUM) or is_allowed_on(resource, _RELEASES):
        return
    check_outside(resource)
    yield resource.properties.broken(
        must="have its reason stated: a host is billed until somebody releases it, used or not",
        got="no reason",
        cure=f"launch instances without a host of their own, or {_REASON}",
    )


RULES = (
    Rule(
        id="reservation-without-end",
        title="Capacity of accelerated types is reserved until a date, or has its reason stated",
        severity=WARNING,
        practices=("SUS05-BP04/release", "COST09-BP03"),
        why=(
            "A Capacity Reservation is billed at the On-Demand rate whether instances run in it or not; one without an "
            "end is billed until somebody cancels it."
        ),
        cure_here="Leave the reservation out, and give AcceleratedFleet several types and zones to turn to.",
        cure_plain="Set EndDateType: limited and an EndDate, or state the reason in Metadata.accel-fleet.minimum.",
        link="https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-reservations-pricing-billing.html",
        subjects=resources_of(_RESERVATION, having=_reserves_accelerators),
        judge=_ends,
    ),
    Rule(
        id="dedicated-host-unexplained",
        title="A Dedicated Host with accelerators has its reason stated",
        severity=WARNING,
        practices=("SUS05-BP04/release", "COST09-BP03"),
        why="The whole host is billed from its allocation to its release, with or without instances on it.",
        cure_here="Leave the host out: AcceleratedFleet starts instances on shared hardware.",
        cure_plain="Launch instances without a host of their own, or state the reason in Metadata.accel-fleet.minimum.",
        link="https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_ReleaseHosts.html",
        subjects=resources_of(_HOST, having=_is_accelerated_host),
        judge=_has_reason,
    ),
)
