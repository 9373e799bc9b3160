"""Progress of long work, on standard error and only for people."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from dpfair.cli.output import interactive

__all__ = ["counting_rows", "progress_bar", "working"]


@contextmanager
def progress_bar(what: str, total: int) -> Iterator[Callable[[int], None] | None]:
    """A bar that is advanced by calling it; None if nobody watches."""
    if not interactive():
        yield None
        return
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress

    columns = (*Progress.get_default_columns(), MofNCompleteColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done: bar.advance(task, done)


@contextmanager
def counting_rows(what: str) -> Iterator[Callable[[int], None]]:
    """A bar without an end that tells how many rows are done, and how many in a second.

    It is for rows that are decided about: how many records a fit reads may be private.
    """
    if not interactive():
        yield lambda rows: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text("" if task.speed is None else f"{task.speed:,.0f} rows/s")

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed:,} rows"))
    with Progress(*columns, Rate(), console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda rows: bar.advance(task, rows)


def working(what: str) -> AbstractContextManager[None]:
    """A bar without an end and without a number, for a step whose length is not known or private.

    What a command reads may be private, and so is its number of rows.
    """
    from dpfair.methods.progress import stage

    return stage(what, shown=interactive())
