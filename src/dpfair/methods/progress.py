"""Progress bars on standard error, for whoever watches a fit.

A bar shows the name of a step and, of training, the number of finished gradient steps. Both follow
from the plan. How many records there are is private, so no bar shows it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from dpfair.privacy.plan import Watcher

__all__ = ["progress_bar", "stage"]


@contextmanager
def progress_bar(shown: bool, steps: int | None = None) -> Iterator[Watcher | None]:
    """What is told the progress of a training of so many steps; None if nothing is shown."""
    if not shown:
        yield None
        return
    with _bar() as bar:
        yield _Bar(bar, bar.add_task("training", total=steps))


@contextmanager
def stage(what: str, *, shown: bool) -> Iterator[None]:
    """A bar without an end, while a step takes its time."""
    if not shown:
        yield
        return
    with _bar() as bar:
        bar.add_task(what, total=None)
        yield


class _Bar:
    """One bar for all that a fit does after its records are read."""

    def __init__(self, bar: Progress, task: TaskID) -> None:
        self._bar, self._task = bar, task

    def __call__(self, step: int) -> None:
        self._bar.update(self._task, completed=step)

    def stage(self, what: str) -> None:
        """Go on with another step, whose length is not known."""
        self._bar.remove_task(self._task)
        self._task = self._bar.add_task(what, total=None)


def _bar() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    return Progress(*columns, console=Console(stderr=True), transient=True)
