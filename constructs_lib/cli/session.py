"""Whose credentials ask AWS, and how its answers are followed."""

from __future__ import annotations

from typing import Any

from constructs_lib.cli.progress import Say
from constructs_lib.errors import ArgumentError, MissingExtraError
from constructs_lib.validation import closest, complaint


def session_for(profile: str | None, region: str | None) -> Any:
    """A boto3 session.

    Args:
        profile: of the credentials. None: as the environment has it.
        region: None: as the profile or the environment has it.

    Raises:
        MissingExtraError: boto3 is not installed.
        ArgumentError: there is no such profile.
    """
    try:
        import boto3
        from botocore.exceptions import BotoCoreError
    except ImportError as error:
        raise MissingExtraError(
            "accel-fleet: boto3 must be installed, and is not; pip install boto3 rich, "
            "or pip install '.[cli]' in a checkout of the library"
        ) from error
    try:
        return boto3.Session(profile_name=profile, region_name=region)
    except BotoCoreError as error:
        cure = "aws configure list-profiles shows which there are"
        if profile is not None:
            cure = closest(profile, boto3.Session().available_profiles) + cure
        raise ArgumentError(complaint("accel-fleet", "--profile", "be a usable profile", profile, cure)) from error


def tell_calls(session: Any, say: Say) -> None:
    """Say the name of each call that the session's clients make."""

    def before(event_name: str = "", **_: object) -> None:
        say(":".join(event_name.split(".")[1:]))

    session.events.register("before-call", before)
