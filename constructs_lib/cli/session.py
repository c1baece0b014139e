"""Whose credentials ask AWS, and what is seen while it answers."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from constructs_lib.errors import ArgumentError, MissingExtraError
from constructs_lib.validation import closest, complaint

Say = Callable[[str], object]


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


@contextmanager
def progress(doing: str) -> Iterator[Say]:
    """Show on a terminal that something goes on, with the last thing said and how many were; elsewhere show nothing.

    Args:
        doing: a few words.
    """
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda said: None
        return
    try:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
    except ImportError:
        with _plain(doing) as say:
            yield say
        return
    columns = (TextColumn("{task.description}"), BarColumn(20), TextColumn("{task.fields[said]}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True, highlight=False, markup=False), transient=True) as bar:
        task = bar.add_task(doing, total=None, said="")
        yield lambda said: bar.update(task, advance=1, said=said)


@contextmanager
def _plain(doing: str) -> Iterator[Say]:
    """One line that is written over again and wiped away at the end."""

    def show(said: str) -> None:
        sys.stderr.write(f"\r\x1b[2K{doing}: {said}"[:84])
        sys.stderr.flush()

    try:
        yield show
    finally:
        sys.stderr.write("\r\x1b[2K")
        sys.stderr.flush()


def tell_calls(session: Any, say: Say) -> None:
    """Say the name of each call that the session's clients make."""

    def before(event_name: str = "", **_: object) -> None:
        say(":".join(event_name.split(".")[1:]))

    session.events.register("before-call", before)
