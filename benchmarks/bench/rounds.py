"""Contenders take turns in every round, each in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.bench.probe import probe
from benchmarks.bench.sections import Section

__all__ = ["Results", "measure"]

Results = dict[str, Any]
"""``probes`` has the times of the probe, ``rounds`` what each contender took in each of them, and
``skipped`` the reasons of those that did not run, by their titles."""

MOST_CPU = 100.0
"""Seconds that a contender may be expected to take; at larger sizes it is left out."""

MOST_WALL = 1800
"""Seconds after which a contender is stopped."""

LARGE = 5 * 10**6
"""So many rows are measured in one round only."""

FEWEST, LONG = 3, 60.0
"""After so many rounds, a section stops at a size if they took more than so many seconds."""

ROOT = Path(__file__).parents[2]
LIBRARIES = ("OMP", "OPENBLAS", "MKL", "NUMBA")


def measure(
    section: Section,
    rows: int,
    rounds: int,
    folder: Path,
    smaller: Results | None,
    tell: Callable[[str], None],
) -> Results:
    """All rounds of a section at one size; ``smaller`` is what a tenth of the rows took."""
    skipped = dict(left_out(section, smaller))
    done: list[dict[str, Any]] = []
    probes, start = [probe()], time.monotonic()
    for turn in range(1 if rows >= LARGE else rounds):
        if turn >= FEWEST and time.monotonic() - start > LONG:
            break
        taken = {}
        # Every other round in reverse order, so that no contender always follows the same one.
        for contender in section.contenders[:: -1 if turn % 2 else 1]:
            if contender.title not in skipped:
                found = run(contender.source, rows, folder, one_thread=section.one_thread)
                if "skipped" in found:
                    skipped[contender.title] = found["skipped"]
                else:
                    taken[contender.title] = found
                tell(f"{section.name}, {rows} rows, round {turn + 1}, {contender.title}: {found}")
        done.append(taken)
        probes.append(probe())
    return {"probes": probes, "rounds": done, "skipped": skipped}


def left_out(section: Section, smaller: Results | None) -> Iterator[tuple[str, str]]:
    """The contenders that would take too long, by what a tenth of the rows took."""
    if smaller is None:
        return
    for contender in section.contenders:
        taken = [r[contender.title]["cpu"] for r in smaller["rounds"] if contender.title in r]
        if not taken:
            yield contender.title, smaller["skipped"].get(contender.title, "failed with fewer rows")
        elif 10 * min(taken) > MOST_CPU:
            yield contender.title, f"expected to take more than {MOST_CPU:g} s"


def run(source: str, rows: int, folder: Path, *, one_thread: bool) -> dict[str, Any]:
    """What one contender took, or why it was skipped."""
    environment = dict(os.environ)
    if one_thread:
        environment |= {f"{name}_NUM_THREADS": "1" for name in LIBRARIES}
        environment["POLARS_MAX_THREADS"] = "1"
    command = [sys.executable, "-m", "benchmarks.bench.process", source, str(rows), str(folder)]
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, timeout=MOST_WALL
        )
    except subprocess.TimeoutExpired:
        return {"skipped": f"stopped after {MOST_WALL} s"}
    if done.returncode < 0:
        return {"skipped": f"killed by signal {-done.returncode}, probably for want of memory"}
    if done.returncode:
        sys.exit(f"{source} failed; see above.")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found
