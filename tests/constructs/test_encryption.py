"""Case 22: volumes under a customer's key, without whose grants every instance dies at launch."""

from __future__ import annotations

from typing import Any

import pytest
from aws_cdk import aws_kms as kms
from aws_cdk.assertions import Annotations, Template

from constructs_lib import Purchase
from tests.constructs.reading import only, plain, resources
from tests.constructs.scenarios import CONTEXTS, template
from tests.support.stacks import fleet, stack

AUTO_SCALING = (
    "arn:<AWS::Partition>:iam::<AWS::AccountId>:role/aws-service-role/autoscaling.amazonaws.com/"
    "AWSServiceRoleForAutoScaling"
)
SPOT = "arn:<AWS::Partition>:iam::<AWS::AccountId>:role/aws-service-role/spot.amazonaws.com/AWSServiceRoleForEC2Spot"
USE = ["kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey*", "kms:ReEncrypt*"]
GRANT = {"Bool": {"kms:GrantIsForAWSResource": "true"}}
KEY = "AWS::KMS::Key"


def roles_that(policy: dict[str, Any], actions: list[str], condition: dict[str, Any]) -> set[str]:
    """The roles that a key policy lets do exactly these actions under exactly this condition.

    They stand in a condition, not as principals: KMS refuses a policy whose principal does not exist, and a new account
    has neither role when the key is made.
    """
    found = set()
    for each in plain(policy["Statement"]):
        given = [each["Action"]] if isinstance(each["Action"], str) else sorted(each["Action"])
        conditions = dict(each.get("Condition", {}))
        role = conditions.pop("ArnEquals", {}).get("aws:PrincipalArn")
        if role and (given, conditions, each["Effect"]) == (actions, condition, "Allow"):
            assert each["Principal"] == {"AWS": "*"}
            found.add(role.replace("arn:aws:", "arn:<AWS::Partition>:"))
    return found


@pytest.mark.parametrize(
    ("purchase", "roles"),
    [(Purchase.on_demand(), {AUTO_SCALING}), (Purchase.spot(), {AUTO_SCALING, SPOT})],
    ids=["on-demand", "spot"],
)
def test_case_22_a_key_of_the_stack_lets_the_launching_roles_use_it(purchase: Purchase, roles: set[str]) -> None:
    test_stack = stack()
    fleet(test_stack, purchase=purchase, encryption_key=kms.Key(test_stack, "Key"))
    made = Template.from_stack(test_stack).to_json()
    policy = only(made, KEY)["Properties"]["KeyPolicy"]
    assert roles_that(policy, USE, {}) == roles
    assert roles_that(policy, ["kms:CreateGrant"], GRANT) == roles
    (mapping,) = only(made, "AWS::EC2::LaunchTemplate")["Properties"]["LaunchTemplateData"]["BlockDeviceMappings"]
    assert plain(mapping["Ebs"]["KmsKeyId"]) == "<Key.Arn>"


@pytest.mark.parametrize("context", CONTEXTS)
def test_case_22_feature_flags_take_nothing_away(context: str) -> None:
    (policy,) = [
        key["Properties"]["KeyPolicy"]
        for id, key in resources(template("fullest", context), KEY).items()
        if id.startswith("VolumeKey")
    ]
    assert roles_that(policy, USE, {}) == {AUTO_SCALING, SPOT}
    assert roles_that(policy, ["kms:CreateGrant"], GRANT) == {AUTO_SCALING, SPOT}


def test_case_22_an_imported_key_gets_a_warning_that_names_the_statements() -> None:
    test_stack = stack()
    key = kms.Key.from_key_arn(test_stack, "Key", "arn:aws:kms:us-east-1:111122223333:key/1234abcd-12ab")
    fleet(test_stack, purchase=Purchase.spot(), encryption_key=key)
    expected = (
        "the policy of the imported encryption_key is not ours to change; it must allow kms:Encrypt, kms:Decrypt, "
        "kms:ReEncrypt*, kms:GenerateDataKey*, kms:DescribeKey, and kms:CreateGrant with kms:GrantIsForAWSResource, to "
        "aws-service-role/autoscaling.amazonaws.com/AWSServiceRoleForAutoScaling and "
        "aws-service-role/spot.amazonaws.com/AWSServiceRoleForEC2Spot, else every instance ends at launch "
        "[ack: @cdk-accelerated-fleet/fleet:ImportedVolumeKey]"
    )
    Annotations.from_stack(test_stack).has_warning("/Test/Fleet", expected)


def test_case_22_fleets_that_share_a_key_but_not_the_way_they_buy() -> None:
    test_stack = stack()
    key = kms.Key(test_stack, "Key")
    for id, purchase in (("Spot", Purchase.spot()), ("OnDemand", Purchase.on_demand())):
        fleet(test_stack, id, purchase=purchase, encryption_key=key)
    policy = only(Template.from_stack(test_stack).to_json(), KEY)["Properties"]["KeyPolicy"]
    sids = [each["Sid"] for each in policy["Statement"] if "Sid" in each]
    assert len(sids) == len(set(sids)) == 4


def test_case_22_without_a_key_the_accounts_default_is_used() -> None:
    made = template("smallest")
    assert resources(made, KEY) == {}
    (mapping,) = only(made, "AWS::EC2::LaunchTemplate")["Properties"]["LaunchTemplateData"]["BlockDeviceMappings"]
    assert mapping["Ebs"]["Encrypted"] is True
    assert "KmsKeyId" not in mapping["Ebs"]


def test_case_22_no_statement_of_the_key_is_open_to_everybody() -> None:
    test_stack = stack()
    fleet(test_stack, purchase=Purchase.spot(), encryption_key=kms.Key(test_stack, "Key"))
    policy = only(Template.from_stack(test_stack).to_json(), KEY)["Properties"]["KeyPolicy"]
    open_ones = [each for each in policy["Statement"] if each["Principal"] == {"AWS": "*"}]
    assert len(open_ones) == 4
    assert all(list(each["Condition"]["ArnEquals"]) == ["aws:PrincipalArn"] for each in open_ones)
