"""Roles that AWS's services need, and keys that they may use."""

from __future__ import annotations

from typing import Any

import pytest

from tests.preflight.fake_account import FakeAccount
from tests.preflight.templates import ask, found, mixed, only, template

_KEY = "arn:aws:kms:us-east-1:111122223333:key/1"
_ROLE = "arn:aws:iam::111122223333:role/aws-service-role/autoscaling.amazonaws.com/AWSServiceRoleForAutoScaling"


def _encrypted(key: object = _KEY) -> dict[str, Any]:
    mapping = {"DeviceName": "/dev/xvda", "Ebs": {"Encrypted": True, "KmsKeyId": key}}
    return template(launch={"BlockDeviceMappings": [mapping]})


def test_spot_needs_its_role() -> None:
    document = template(group=mixed("g6.xlarge", OnDemandPercentageAboveBaseCapacity=0))
    assert only(ask(document=document), "role for Spot").severity == "ok"
    finding = only(ask(FakeAccount(roles=set()), document), "role for Spot")
    assert finding.severity == "warning"
    assert finding.commands == ("aws iam create-service-linked-role --aws-service-name spot.amazonaws.com",)
    assert not found(ask(), "role for Spot")


@pytest.mark.parametrize(
    ("facts", "severity"),
    [
        ({"keys": {_KEY: {}}, "key_policy": f'{{"Principal": "{_ROLE}"}}'}, "ok"),
        ({"keys": {_KEY: {}}, "grants": [{"GranteePrincipal": "x"}, {"GranteePrincipal": _ROLE}], "page": 1}, "ok"),
        ({"keys": {_KEY: {"KeyManager": "AWS"}}}, "ok"),
        ({"keys": {_KEY: {}}}, "warning"),
        ({"keys": {_KEY: {"KeyState": "PendingDeletion"}}}, "error"),
        ({}, "error"),
    ],
)
def test_a_key_that_the_template_names(facts: dict[str, Any], severity: str) -> None:
    assert only(ask(FakeAccount(**facts), _encrypted()), "key of the volumes").severity == severity


def test_a_key_that_the_deploy_makes_is_not_asked_about() -> None:
    assert not found(ask(document=_encrypted({"Fn::GetAtt": ["Key", "Arn"]})), "key of the volumes")
