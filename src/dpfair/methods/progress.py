"""A progress bar on standard error, for whoever watches a fit."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from dpfair.learners.protocols import Progress

__all__ = ["progress_bar"]


@contextmanager
def progress_bar(shown: bool) -> Iterator[Progress | None]:
    """What to call with the number of finished training steps; None if nothing is shown."""
    if not shown:
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress as Bar

    with Bar(console=Console(file=sys.stderr), transient=True) as bar:
        task = bar.add_task("training", total=None)
        yield lambda step: bar.update(task, completed=step)
