"""Asks for launch templates that exist already."""

from __future__ import annotations

from typing import Any

from constructs_lib.preflight.account import Account, Refused
from constructs_lib.template.markers import Unknown
from constructs_lib.template.plain_values import mapping

_DEFAULT_VERSION = "$Default"


def launch_template_data(account: Account, named: str, version: str | None) -> dict[str, Any] | Unknown:
    """Data of one version of a launch template, or why they are not known.

    Args:
        account: to ask.
        named: id or name of the launch template.
        version: its number, ``$Latest`` or ``$Default``. None: the default one.
    """
    by = "LaunchTemplateId" if named.startswith("lt-") else "LaunchTemplateName"
    wanted: dict[str, Any] = {by: named, "Versions": [_DEFAULT_VERSION if version is None else version]}
    try:
        answer = account.ask("ec2", "describe_launch_template_versions", "LaunchTemplateVersions", **wanted)
    except Refused as refused:
        if "NotFound" not in refused.code:
            return Unknown(refused.reason, refused.cure)
        answer = []
    if answer:
        return mapping(mapping(answer[0]).get("LaunchTemplateData"))
    return Unknown(
        f"launch template {named} (version {wanted['Versions'][0]}) does not exist in {account.region}",
        "name one that exists, or ask the account that the deploy goes to",
    )
