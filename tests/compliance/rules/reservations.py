"""Billing: "Capacity Reservation pricing and billing", EC2 User Guide; ReleaseHosts, EC2 API Reference."""

from __future__ import annotations

from typing import Any

from tests.compliance.cases import Breaks, Case, stating, template

_GIVEN = {"Parameters": {"Given": {"Type": "String"}}}
_WHY = "the yearly render of the film has to start on the day"


def _reservation(kind: object = "p5.48xlarge", **properties: object) -> dict[str, Any]:
    own = {"AvailabilityZone": "us-east-1a", "InstanceCount": 4, "InstancePlatform": "Linux/UNIX", "InstanceType": kind}
    return template(Held={"Type": "EC2::CapacityReservation", "Properties": {**own, **properties}})


def _host(**properties: object) -> dict[str, Any]:
    return template(Host={"Type": "EC2::Host", "Properties": {"AvailabilityZone": "us-east-1a", **properties}})


def _with_function(content: dict[str, Any], *actions: str, on: object) -> dict[str, Any]:
    """A role for functions beside it, which may do this."""
    trust = {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"Service": "lambda.amazonaws.com"}}
    allowed = {"Statement": [{"Effect": "Allow", "Action": [*actions], "Resource": on}]}
    properties = {
        "AssumeRolePolicyDocument": {"Statement": [trust]},
        "Policies": [{"PolicyName": "Own", "PolicyDocument": allowed}],
    }
    role = template(Role={"Type": "IAM::Role", "Properties": properties})
    return {"Resources": {**content["Resources"], **role["Resources"]}}


_CANCELS = "ec2:CancelCapacityReservation"
_THAT_ONE = {"Fn::Sub": "arn:aws:ec2:*:*:capacity-reservation/${Held}"}
_THAT_HOST = {"Fn::Sub": "arn:aws:ec2:*:*:dedicated-host/${Host}"}

CASES = (
    Case(
        rule="reservation-without-end",
        breaks=(
            Breaks(
                template=_reservation(EndDateType="unlimited"),
                resource="Held",
                property="EndDateType",
                got="'unlimited'",
            ),
            Breaks(template=_reservation(), resource="Held", property="EndDateType", got="nothing"),
            # Who may stop instances ends no reservation.
            Breaks(
                template=_with_function(_reservation(), "ec2:StopInstances", on="*"),
                resource="Held",
                property="EndDateType",
            ),
        ),
        keeps=(
            _reservation(EndDateType="limited", EndDate="2026-12-31T23:59:59Z"),
            _reservation("m7i.large"),
            stating("Held", _reservation(), minimum=_WHY),
            _with_function(_reservation(), _CANCELS, on=_THAT_ONE),
        ),
        unknown=(
            _with_function(_reservation(), _CANCELS, on="*"),
            {"Transform": "Ends"} | _reservation(),
            _GIVEN | _reservation({"Ref": "Given"}),
            _GIVEN | _reservation(EndDateType={"Ref": "Given"}),
        ),
    ),
    Case(
        rule="dedicated-host-unexplained",
        breaks=(
            Breaks(template=_host(InstanceType="g4dn.metal"), resource="Host", got="no reason"),
            Breaks(template=_host(InstanceFamily="g5"), resource="Host"),
        ),
        keeps=(
            _host(InstanceType="mac2.metal"),
            _host(InstanceFamily="m5"),
            stating("Host", _host(InstanceType="g4dn.metal"), minimum=_WHY),
            _with_function(_host(InstanceFamily="g5"), "ec2:ReleaseHosts", on=_THAT_HOST),
        ),
        unknown=(
            _GIVEN | _host(InstanceType={"Ref": "Given"}),
            _with_function(_host(InstanceFamily="g5"), "ec2:*", on="*"),
        ),
    ),
)
