"""What is seen on a terminal while something goes on; elsewhere nothing is."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Say = Callable[[str], object]
SayHowFar = Callable[[str, float], object]


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
def measured(doing: str) -> Iterator[SayHowFar]:
    """Show on a terminal how much of something is done, with the last thing said; elsewhere show nothing.

    Args:
        doing: a few words.
    """
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda said, share: None
        return
    try:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
    except ImportError:
        with _plain(doing) as say:
            yield lambda said, share: say(f"{share:.0%} {said}")
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(20),
        TaskProgressColumn(),
        TextColumn("{task.fields[said]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True, highlight=False, markup=False), transient=True) as bar:
        task = bar.add_task(doing, total=1.0, said="")
        yield lambda said, share: bar.update(task, completed=share, said=said)


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
