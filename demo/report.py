"""What the demo shows: chapters, progress and tables on the terminal."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.table import Table


class Report:
    """Writes the story to a console."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._chapters = 0

    def chapter(self, title: str) -> None:
        """Begin the next part of the story."""
        self._chapters += 1
        self._console.print()
        self._console.rule(f"[bold]{self._chapters}  {escape(title)}", align="left", style="dim")

    def done(self, text: str) -> None:
        """Tell something that has come true."""
        self._console.print(f"[green]✓[/] {escape(text)}")

    def note(self, text: str) -> None:
        """Tell what a reader should know."""
        self._console.print(f"[dim]  {escape(text)}[/]")

    def ending(self, text: str) -> None:
        """Tell that the whole story came true."""
        self._console.print(f"\n[bold green]✓[/] [bold]{escape(text)}[/]")

    def failed(self, text: str) -> None:
        """Tell why the story ends here."""
        self._console.print(f"\n[bold red]✗[/] {escape(text)}")

    @contextmanager
    def working(self, text: str) -> Iterator[Callable[[str], None]]:
        """Show that something takes time; the caller may pass on what is going on. Ends with the time it took."""
        started = time.monotonic()
        if not self._console.is_terminal:
            self._console.print(f"  {escape(text)} ...")
        with self._console.status(escape(text)) as status:
            room = max(0, self._console.width - len(text) - 8)
            yield lambda line: status.update(f"{escape(text)}  [dim]{escape(line[:room])}[/]")
        self.done(f"{text} ({time.monotonic() - started:.0f} s)")

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        """Show rows of values."""
        table = Table(box=None, pad_edge=True, header_style="bold dim")
        for column in columns:
            table.add_column(column, overflow="fold")
        for row in rows:
            table.add_row(*(escape(str(value)) for value in row))
        self._console.print(table)
