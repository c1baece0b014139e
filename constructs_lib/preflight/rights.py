"""Whether Auto Scaling and EC2 have the roles and the keys that a group's launches need."""

from __future__ import annotations

from constructs_lib.preflight.account import Account, Refused, account_number
from constructs_lib.preflight.images import keys_of
from constructs_lib.preflight.plan import Group
from constructs_lib.preflight.report import Finding
from constructs_lib.template.plain_values import mapping
from constructs_lib.template.settling import partition

_SPOT_ROLE = "AWSServiceRoleForEC2Spot"
_SCALING_ROLE = "AWSServiceRoleForAutoScaling"


def check(account: Account, group: Group) -> list[Finding]:
    """Findings about service-linked roles and keys."""
    findings = []
    if group.split(group.most or 1)[1] > 0:
        findings.append(_spot_role(account, group))
    for key in keys_of(group.launches):
        findings += _key(account, group, key)
    return findings


def _spot_role(account: Account, group: Group) -> Finding:
    asked = "role for Spot"
    try:
        account.ask("iam", "get_role", RoleName=_SPOT_ROLE)
    except Refused as refused:
        if refused.code != "NoSuchEntity":
            return refused.finding(group.logical_id, asked)
        # "Service-linked role for Spot Instance requests" in the Amazon EC2 User Guide
        message = (
            f"the account has no {_SPOT_ROLE}: Spot requests fail until it exists, unless Auto Scaling may make it"
        )
        command = "aws iam create-service-linked-role --aws-service-name spot.amazonaws.com"
        return _finding(group, "warning", asked, message, "make it once for the account", command)
    return _finding(group, "ok", asked, f"{_SPOT_ROLE} exists")


def _key(account: Account, group: Group, key: str) -> list[Finding]:
    asked = "key of the volumes"
    try:
        described = mapping(account.ask("kms", "describe_key", KeyId=key)[0].get("KeyMetadata"))
    except Refused as refused:
        if refused.code != "NotFoundException":
            return [refused.finding(group.logical_id, asked)]
        message = f"key {key} does not exist in {account.region}: launches fail"
        return [_finding(group, "error", asked, message, "name a key of this Region")]
    if described.get("KeyState") != "Enabled":
        message = f"key {key} is {described.get('KeyState')}: launches fail"
        command = f"aws kms enable-key --region {account.region} --key-id {key}"
        return [_finding(group, "error", asked, message, "enable it, or name another", command)]
    if described.get("KeyManager") == "AWS":
        return [_finding(group, "ok", asked, f"key {key} is enabled and AWS's own")]
    return [_granted(account, group, key, asked)]


def _granted(account: Account, group: Group, key: str, asked: str) -> Finding:
    """Whether Auto Scaling may use a customer's key ("Required AWS KMS key policy" in its user guide)."""
    try:
        policy = account.ask("kms", "get_key_policy", KeyId=_plain(account, key), PolicyName="default")
        if _SCALING_ROLE in str(policy[0].get("Policy")):
            return _finding(group, "ok", asked, f"key {key} is enabled and its policy names {_SCALING_ROLE}")
        grants = account.ask("kms", "list_grants", "Grants", KeyId=_plain(account, key))
    except Refused as refused:
        return refused.finding(group.logical_id, asked)
    if any(_SCALING_ROLE in str(mapping(grant).get("GranteePrincipal")) for grant in grants):
        return _finding(group, "ok", asked, f"key {key} is enabled and granted to {_SCALING_ROLE}")
    message = (
        f"neither the policy nor a grant of key {key} names {_SCALING_ROLE}: launches fail if nothing else allows it"
    )
    cure = "let the role use the key, in the key's policy or by a grant"
    role = f"role/aws-service-role/autoscaling.amazonaws.com/{_SCALING_ROLE}"
    principal = f"arn:{partition(account.region)}:iam::{account_number(account) or 'ACCOUNT'}:{role}"
    command = (
        f"aws kms create-grant --region {account.region} --key-id {_plain(account, key)} "
        f"--grantee-principal {principal} "
        "--operations Encrypt Decrypt ReEncryptFrom ReEncryptTo GenerateDataKey GenerateDataKeyWithoutPlaintext "
        "DescribeKey CreateGrant"
    )
    return _finding(group, "warning", asked, message, cure, command)


def _plain(account: Account, key: str) -> str:
    """Id of the key: an alias is not taken by every call."""
    described = mapping(account.ask("kms", "describe_key", KeyId=key)[0].get("KeyMetadata"))
    return str(described.get("KeyId") or key)


def _finding(group: Group, severity: str, asked: str, message: str, cure: str = "", *commands: str) -> Finding:
    return Finding(
        severity=severity, resource=group.logical_id, asked=asked, message=message, cure=cure, commands=commands
    )
