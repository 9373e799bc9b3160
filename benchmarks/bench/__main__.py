"""Measure the sections and write the page.

    python -m benchmarks.bench [--sections fit dp-sgd] [--rows N] [--rounds N] [--largest N]
    python -m benchmarks.bench --quick         # tiny sizes, to see that everything runs
    python -m benchmarks.bench --page-only     # write the page from the stored results

Results are kept in ``.bench/results``, one file per section. With those of all sections, the page
is docs/performance.md; with some, and of a quick run, which has a folder of its own, it is in the
folder of the results.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.bench.environment import environment
from benchmarks.bench.report import read, store, write_page
from benchmarks.bench.rounds import ROOT, Results, measure
from benchmarks.bench.sections import SECTIONS, Section, Sizes

__all__ = ["main"]

QUICK = Sizes(rows=2_000, largest=10_000)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is asked for, then write the page from all that is stored."""
    given = parsed(arguments)
    folder = given.folder / "quick" if given.quick else given.folder
    sizes = QUICK if given.quick else Sizes(given.rows, given.largest)
    rounds = 1 if given.quick else given.rounds
    if not given.page_only:
        facts = environment(sys.argv[1:] if arguments is None else arguments)
        for name in ("model.dpfair", "bench.ledger"):  # the code may have changed since
            (folder / name).unlink(missing_ok=True)
        for section in SECTIONS:
            if section.name in given.sections:
                measure_section(section, sizes, rounds, folder, facts)
    stored = read(folder / "results")
    whole = len(stored) == len(SECTIONS) and not given.quick
    page = (ROOT / "docs" if whole else folder) / "performance.md"
    write_page(stored, page)
    tell(f"{page} is written.")


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options."""
    names = [section.name for section in SECTIONS]
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.bench",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=f"Sections: {', '.join(names)}.",
    )
    parser.add_argument("--sections", nargs="+", choices=names, default=names, metavar="NAME")
    parser.add_argument("--rows", type=int, default=Sizes.rows, help="of tables of one size")
    parser.add_argument("--largest", type=int, default=Sizes.largest, help="size in growth plots")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="tiny sizes, one round")
    parser.add_argument("--page-only", action="store_true", help="measure nothing")
    parser.add_argument("--folder", type=Path, default=ROOT / ".bench", help="of files and results")
    return parser.parse_args(arguments)


def measure_section(
    section: Section, sizes: Sizes, rounds: int, folder: Path, facts: dict[str, str]
) -> None:
    """All sizes of a section, the smallest first; ``facts`` go to the page."""
    start = time.monotonic()
    found: dict[int, Results] = {}
    for rows in section.sizes(sizes):
        found[rows] = measure(section, rows, rounds, folder.resolve(), found.get(rows // 10), tell)
    store(folder / "results", section, {"environment": facts, "sizes": found})
    tell(f"{section.name}: {time.monotonic() - start:.0f} s in all")


def tell(text: str) -> None:
    """Progress goes to standard error."""
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
