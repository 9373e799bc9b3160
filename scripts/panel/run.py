"""Run the panel; results that are already there are not made again.

    python -m scripts.panel.run --half choosing --contenders logistic boosting --seeds 200-204
    python -m scripts.panel.run --dask local     # or the address of a scheduler

Results are lines of ``.panel/runs.jsonl``. ``python -m scripts.panel.report`` writes the page.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from dpfair.cli.cluster import runs_on
from dpfair.experiments.benchmark import parse_seeds
from dpfair.experiments.runner import run_all
from dpfair.learners import LEARNERS
from scripts.panel.contenders import BUDGETS, CONSTANT, MODES, QUOTAS, contenders
from scripts.panel.experiment import PanelRun, execute
from scripts.panel.halves import HALVES, halves
from scripts.panel.schemas import FACTS
from scripts.panel.tables import TABLES

__all__ = ["CACHE", "SEEDS", "WHERE", "main", "planned", "reporter"]

CACHE = Path(__file__).parents[2] / ".panel"
SEEDS = "300-309"
JOBS = 2

WHERE = argparse.ArgumentParser(add_help=False)
"""Where runs are made: an option of all programs that make them."""
WHERE.add_argument("--dask", metavar="ADDRESS", help="of a Dask scheduler, or local")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what is missing."""
    where, others = WHERE.parse_known_args(arguments)
    runs = planned(others)
    with runs_on(where.dask):
        run_all(runs, CACHE, jobs=JOBS, progress=reporter(len(runs)), execute=execute)


def planned(arguments: Sequence[str] | None = None) -> list[PanelRun]:
    """The runs that the arguments ask for, table by table."""
    names = [table.name for table in TABLES]
    summary = (__doc__ or "").splitlines()[0]
    parser = argparse.ArgumentParser(description=summary, parents=[WHERE])
    parser.add_argument("--tables", nargs="+", choices=names, default=names, metavar="NAME")
    parser.add_argument("--half", choices=HALVES)
    known = [CONSTANT, QUOTAS, *LEARNERS]
    parser.add_argument("--contenders", nargs="+", choices=known, default=known)
    parser.add_argument("--facts", nargs="+", choices=FACTS, default=FACTS)
    parser.add_argument("--modes", nargs="+", choices=MODES, default=MODES)
    parser.add_argument("--budgets", nargs="+", type=float, default=BUDGETS, metavar="EPSILON")
    parser.add_argument("--seeds", type=parse_seeds, default=SEEDS, metavar="A-B")
    given = parser.parse_args(arguments)
    found = halves(TABLES)
    return [
        PanelRun(table, contender, seed)
        for table in TABLES
        if table.name in given.tables and given.half in (None, found[table.name])
        for contender in contenders(given.contenders, given.facts, given.modes, given.budgets)
        for seed in given.seeds
    ]


def reporter(total: int) -> Callable[[int], None]:
    """A function that says after every hundredth of the runs how many are finished."""
    start, finished = time.monotonic(), 0

    def report(more: int) -> None:
        nonlocal finished
        before, finished = finished, finished + more
        if finished == total or finished * 100 // total > before * 100 // total:
            minutes = (time.monotonic() - start) / 60
            print(f"{finished} of {total} runs, {minutes:.1f} minutes", file=sys.stderr, flush=True)

    return report


if __name__ == "__main__":
    main()
