"""Progress of long work, on standard error and only for people."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from dpfair.cli.output import interactive

__all__ = ["progress_bar", "working"]


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


def working(what: str) -> AbstractContextManager[None]:
    """A bar without an end and without a number, for a step whose length is not known or private.

    What a command reads may be private, and so is its number of rows.
    """
    from dpfair.methods.progress import stage

    return stage(what, shown=interactive())
