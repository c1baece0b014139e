"""The program that runs on each instance: its files, its settings, and the permission to fetch it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from aws_cdk import Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3_assets as assets
from constructs import Construct

from constructs_lib.catalog import AcceleratedType
from constructs_lib.node import names
from constructs_lib.node.settings import Settings
from constructs_lib.telemetry import AcceleratorKind

_DIRECTORY = Path(names.__file__).resolve().parent


class NodeProgram(Construct):
    """The node program as an asset, without byte-code caches: the same hash from a checkout and from the wheel.

    Attributes:
        url: where an instance fetches the archive, ``s3://bucket/key``.
        read_statement: allows to read this object, and no other of the bucket.
    """

    def __init__(self, scope: Construct, id: str) -> None:
        super().__init__(scope, id)
        asset = assets.Asset(
            self, "Asset", path=str(_DIRECTORY), exclude=["**/__pycache__", "**/*.pyc", "**/.DS_Store"]
        )
        self.url = asset.s3_object_url
        self.read_statement = read_object(self, asset)


def read_object(scope: Construct, asset: assets.Asset) -> iam.PolicyStatement:
    """Allow to read one asset. The CDK's own grant opens the whole bucket, with what every other stack keeps there."""
    arn = Stack.of(scope).format_arn(
        service="s3", region="", account="", resource=asset.s3_bucket_name, resource_name=asset.s3_object_key
    )
    return iam.PolicyStatement(actions=["s3:GetObject"], resources=[arn])


def settings_json(
    *,
    kind: AcceleratorKind,
    types: Sequence[AcceleratedType],
    interval_seconds: int,
    measurements: Sequence[str],
    use_threshold: float,
    setup: Mapping[str, object],
    drain: Mapping[str, object],
    network: bool,
) -> str:
    """The program's settings file, the same text for the same fleet. What is as usual is left out: it is in user data.

    Args:
        kind: of accelerator.
        types: every instance type of the fleet.
        interval_seconds: time between two readings.
        measurements: what the program publishes for each accelerator, as ``constructs_lib.node.names`` spells it; may
            be empty.
        use_threshold: a use at or above it is work: percent, or transfers for a kind that knows no percentage.
        setup: what is set on the machine, from ``MachineSetup.settings(types)`` and ``FleetStorage.settings()``.
        drain: how work ends before the instance goes, from ``Drain.settings()``.
        network: whether the traffic of the instance is published: a policy looks at it.
    """
    document: dict[str, object] = {
        "kind": kind.name,
        "expected": {each.name: kind.devices(each) for each in types},
        "drain": dict(drain),
    }
    chosen = {
        "interval_seconds": interval_seconds,
        "use_threshold": float(use_threshold),
        "measurements": tuple(measurements),
        "setup": dict(setup) or None,
        "network": network,
    }
    usual = Settings(kind.name)
    document.update({name: value for name, value in chosen.items() if value != getattr(usual, name)})
    return json.dumps(document, separators=(",", ":"), sort_keys=True)
