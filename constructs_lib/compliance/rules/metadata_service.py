"""The instance metadata service of accelerated instances.

"Configure the Instance Metadata Service options", Amazon EC2 User Guide, read 2026-11: where the launch says nothing,
the account's default decides, then the image, and else a token is not needed. Images of Amazon Linux 2023 ask for one.
A launch specification of a Spot fleet has no metadata options (property list of AWS::EC2::SpotFleet).
"""

from __future__ import annotations

from collections.abc import Iterator

from constructs_lib.compliance.facts.launches import LAUNCH_TEMPLATE, SPOT_FLEET, Launch, accelerated_launches
from constructs_lib.compliance.facts.machines import same_for_each
from constructs_lib.compliance.facts.together import once_a_fleet
from constructs_lib.compliance.rule import WARNING, Rule
from constructs_lib.compliance.values import Broken, Value
from constructs_lib.template.markers import SsmParameter

_REQUIRED = "required"
_WITH_TOKENS = ("al2023", "amazon-linux-2023")


@once_a_fleet
def _tokens(launch: Launch) -> Iterator[Broken]:
    tokens = launch.setting("MetadataOptions.HttpTokens")
    if tokens.raw == _REQUIRED or launch.setting("MetadataOptions.HttpEndpoint").text() == "disabled":
        return
    if tokens.is_absent and same_for_each(_asks_for_tokens, launch.setting("ImageId")):
        return
    cure = "set MetadataOptions: {HttpTokens: required}"
    if launch.resource.type == LAUNCH_TEMPLATE:
        cure += " in the launch template"
    elif launch.resource.type == SPOT_FLEET:
        cure = f"launch by LaunchTemplateConfigs, and {cure} in the launch template: a launch specification has none"
    yield tokens.broken(must=f"be {_REQUIRED!r}", got=tokens.text(), cure=cure)


def _asks_for_tokens(image: Value) -> bool:
    """Whether the image does by itself; AWS's public parameters tell its system by their name."""
    name = image.raw.name if isinstance(image.raw, SsmParameter) else image.searchable() or ""
    return any(system in name for system in _WITH_TOKENS)


RULES = (
    Rule(
        id="instance-metadata-v1",
        title="Instance metadata is handed out for a token only (IMDSv2)",
        severity=WARNING,
        practices=("SEC06-BP02",),
        why=(
            "With version 1 of the metadata service, whoever makes a program on the instance send one GET request "
            "gets the credentials of its role."
        ),
        cure_here="AcceleratedFleet asks for tokens; nothing is to be set.",
        cure_plain="Set MetadataOptions: {HttpTokens: required} in LaunchTemplateData.",
        link="https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/configuring-instance-metadata-service.html",
        subjects=accelerated_launches,
        judge=_tokens,
    ),
)
