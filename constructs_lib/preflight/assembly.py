"""Finds the templates that ``cdk synth`` wrote: in a cloud assembly folder, or in one file."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from constructs_lib.errors import ArgumentError
from constructs_lib.validation import complaint

_MANIFEST = "manifest.json"
_STACK = "aws:cloudformation:stack"
_NESTED = "cdk:cloud-assembly"
_ENVIRONMENT = re.compile(r"aws://([^/]+)/(.+)")
_WHERE = "preflight"


@dataclass(frozen=True, kw_only=True)
class StackTemplate:
    """A synthesized template and where it goes.

    Attributes:
        stack: name of the stack. None: a template file does not tell.
        template: as plain data.
        region: that the stack is bound to. None: to whatever Region it is deployed.
        account: number of the account that the stack is bound to. None: to whatever account.
    """

    stack: str | None
    template: Mapping[str, Any]
    region: str | None = None
    account: str | None = None


def templates_in(path: str | Path) -> tuple[StackTemplate, ...]:
    """Templates of a cloud assembly folder (``cdk.out``), nested ones included, or of one template file in JSON.

    Raises:
        ArgumentError: there is nothing to read, or it is not what it should be.
    """
    place = Path(path)
    if place.is_dir():
        found = _assembly(place)
        if not found:
            cure = "run cdk synth first, and give its output folder or a template"
            raise ArgumentError(complaint(_WHERE, "template", "be a folder with a stack in it", str(place), cure))
        return tuple(found)
    document = _json(place)
    if "Resources" not in document:
        cure = "give a template, or the folder that cdk synth writes"
        raise ArgumentError(complaint(_WHERE, "template", "be a template with Resources", str(place), cure))
    return (StackTemplate(stack=None, template=document),)


def _assembly(folder: Path) -> list[StackTemplate]:
    artifacts = _json(folder / _MANIFEST).get("artifacts")
    found = []
    for id, artifact in (artifacts if isinstance(artifacts, Mapping) else {}).items():
        kind = artifact.get("type") if isinstance(artifact, Mapping) else None
        properties = artifact.get("properties") if isinstance(artifact, Mapping) else None
        if kind == _STACK and isinstance(properties, Mapping) and isinstance(properties.get("templateFile"), str):
            account, region = _environment(artifact.get("environment"))
            found.append(
                StackTemplate(
                    stack=str(properties.get("stackName", id)),
                    template=_json(folder / properties["templateFile"]),
                    region=region,
                    account=account,
                )
            )
        if kind == _NESTED and isinstance(properties, Mapping) and isinstance(properties.get("directoryName"), str):
            found += _assembly(folder / properties["directoryName"])
    return found


def _environment(environment: object) -> tuple[str | None, str | None]:
    match = _ENVIRONMENT.fullmatch(environment) if isinstance(environment, str) else None
    if match is None:
        return None, None
    account, region = match[1], match[2]
    return None if account.startswith("unknown-") else account, None if region.startswith("unknown-") else region


def _json(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        cure = "give a template in JSON, or the folder that cdk synth writes"
        raise ArgumentError(complaint(_WHERE, "template", "be a file that can be read", str(path), cure)) from error
    except (ValueError, RecursionError) as error:
        cure = "give the JSON that cdk synth writes, for example cdk.out/MyStack.template.json (YAML is not read)"
        raise ArgumentError(complaint(_WHERE, "template", "be JSON", str(path), cure)) from error
    if not isinstance(document, dict):
        raise ArgumentError(complaint(_WHERE, "template", "be a JSON object", str(path), "give a template"))
    return document
