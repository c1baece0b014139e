"""Keys that encrypt the volumes of accelerated instances: who launches the instances has to be able to use them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from constructs_lib.compliance.deployment import Deployment, Resource
from constructs_lib.compliance.facts.keys import key_of, lets_in
from constructs_lib.compliance.facts.launches import GROUP, NODE_GROUP, Launch, accelerated_launches
from constructs_lib.compliance.facts.policies import Statement, either, elements
from constructs_lib.compliance.rule import ERROR, Rule
from constructs_lib.compliance.values import Broken, NotKnown, Value, any_of
from constructs_lib.template.markers import Made, markers_in

_PATH_OF_ROLE = "aws-service-role/autoscaling.amazonaws.com/"
_LINKED_ROLE = "AWS::IAM::ServiceLinkedRole"
_PRINCIPAL = "aws:principalarn"
_NEEDED = ("kms:CreateGrant", "kms:Decrypt", "kms:GenerateDataKeyWithoutPlaintext")
_ROLE = f"role/{_PATH_OF_ROLE}AWSServiceRoleForAutoScaling"


@dataclass(frozen=True)
class _KeyOfVolume:
    launch: Launch
    named: Value

    @property
    def resource(self) -> Resource:
        return self.launch.resource


def _keys_of_volumes(deployment: Deployment) -> Iterator[_KeyOfVolume | NotKnown]:
    """The keys that Auto Scaling has to use; a managed node group stands on a group, too."""
    for launch in accelerated_launches(deployment):
        if isinstance(launch, NotKnown):
            yield launch
        elif launch.owner.type in (GROUP, NODE_GROUP) and not launch.is_left_to_service:
            try:
                mappings = launch.setting("BlockDeviceMappings").each()
                named = [each.at("Ebs.KmsKeyId") for each in mappings]
            except NotKnown as not_known:
                yield not_known
                continue
            yield from (_KeyOfVolume(launch, each) for each in named if not each.is_absent)


def _lets_auto_scaling_in(subject: _KeyOfVolume) -> Iterator[Broken]:
    key = key_of(subject.named)
    if key is None:
        return
    missing = [each for each in _NEEDED if not lets_in(key, _is_for_auto_scaling, each)]
    if missing:
        yield key.properties.broken(
            "KeyPolicy",
            must=f"allow {', '.join(missing)} to Auto Scaling's service-linked role",
            got=f"a policy without it for {subject.named.resource.id}",
            cure=(
                f"add statements to KeyPolicy for the principal arn:aws:iam::ACCOUNT:{_ROLE}: kms:Encrypt, "
                "kms:Decrypt, kms:ReEncrypt*, kms:GenerateDataKey*, kms:DescribeKey, and under the condition "
                "kms:GrantIsForAWSResource: true kms:CreateGrant"
            ),
        )


def _is_for_auto_scaling(statement: Statement) -> bool:
    return either(
        lambda: any_of(_is_role_of_auto_scaling, statement.principals()),
        lambda: statement.is_for_everybody() and _is_open_to_auto_scaling(statement),
    )


def _is_open_to_auto_scaling(statement: Statement) -> bool:
    """Whether the condition on the principal, if there is one, is met by a service-linked role of Auto Scaling."""
    asked = [value for _, key, value in statement.conditions() if key == _PRINCIPAL]
    return not asked or any_of(_is_role_of_auto_scaling, [each for value in asked for each in elements(value)])


def _is_role_of_auto_scaling(principal: Value) -> bool:
    for marker in markers_in(principal.raw):
        made = principal.resource.deployment.resource_made(marker) if isinstance(marker, Made) else None
        if made is not None and made.type == _LINKED_ROLE:
            return True
    if isinstance(principal.raw, Made):
        return False
    name = principal.searchable() or ""
    return _PATH_OF_ROLE in name or "*" in name


RULES = (
    Rule(
        id="volume-key-refuses-launch",
        title="Auto Scaling may use the key of the volumes that it launches instances with",
        severity=ERROR,
        practices=("SEC08-BP01", "REL07-BP01"),
        why=(
            "Auto Scaling's service-linked role has no right on keys of yours. Each instance is launched and ends at "
            "once with Client.InternalError, again and again; no instance ever does work."
        ),
        cure_here="Give encryption_key a key of the stack: AcceleratedFleet adds the statements to its policy.",
        cure_plain=(
            "Add the two statements of the page below to KeyPolicy: use of the key, and kms:CreateGrant, both for "
            "AWSServiceRoleForAutoScaling."
        ),
        link="https://docs.aws.amazon.com/autoscaling/ec2/userguide/key-policy-requirements-EBS-encryption.html",
        subjects=_keys_of_volumes,
        judge=_lets_auto_scaling_in,
    ),
)
