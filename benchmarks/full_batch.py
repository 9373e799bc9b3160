"""CPU time of one full-batch step in exact arithmetic, and the part of it that no loop can avoid.

    python benchmarks/full_batch.py [--rows 1000000] [--rounds 7] [--seed 0]

Adult-like rows (each column from one of two random Adult records), binned features, logistic loss,
clipping at 0.4. A step has to look up the weights of a row's cells, to look up the logistic
function, and to add to the sums of the cells. Bare loops that do nothing else are the bound; to
read the codes from memory, as a plain sum does, takes far less. Needs the ``fast`` extra.
One thread, best of all rounds, because other programs may slow down some of them.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from typing import Any

os.environ["NUMBA_NUM_THREADS"] = "1"

import numpy as np
import polars as pl

from dpfair import load_adult
from dpfair.data.encode import encode, level_codes
from dpfair.data.schema import Schema
from dpfair.learners.compiled import available
from dpfair.learners.design import Design
from dpfair.learners.exact import Grid, logistic_sum
from dpfair.learners.features import design
from dpfair.learners.logistic_table import logistic_table

CLIP = 0.4


def main() -> None:
    """Time the step, compiled and not, and the bare loops."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    if not available():
        sys.exit("This benchmark needs numba: pip install 'dpfair[fast]'.")
    rows, labels = adult_like(arguments.rows, arguments.seed)
    theta = 0.5 * np.random.default_rng(arguments.seed).normal(size=rows.width)
    grid = Grid.of(CLIP, 10.0)

    def step(*, compiled: bool) -> Any:
        return logistic_sum(rows, slice(None), labels, theta, CLIP, grid, compiled=compiled)

    assert (step(compiled=True) == step(compiled=False)).all(), "the two paths differ"
    stored = rows.codes.nbytes + rows.norms.nbytes + labels.nbytes
    print(
        f"{len(rows)} rows, {len(rows.look_ups.columns)} columns in {rows.codes.shape[1]} "
        f"look-ups, {rows.width} parameters, {stored / len(rows):.0f} bytes a row"
    )
    bare = {name: best(loop, arguments.rounds) for name, loop in bare_loops(rows, theta).items()}
    times = {
        "step, compiled": best(lambda: step(compiled=True), arguments.rounds),
        "step, numpy": best(lambda: step(compiled=False), arguments.rounds),
        **bare,
    }
    for name, seconds in times.items():
        print(f"{name:32}{1e3 * seconds:9.2f} ms {1e9 * seconds / len(rows):8.2f} ns a row")
    bound = sum(seconds for name, seconds in bare.items() if name != "codes from memory")
    print(f"bound / compiled step: {bound / times['step, compiled']:.0%}")


def adult_like(rows: int, seed: int) -> tuple[Design, Any]:
    """Each column from the first of two random Adult records, or (one in five) from the second."""
    data, rng = load_adult(), np.random.default_rng(seed)
    schema: Schema = data.schema
    assert schema.label is not None
    known = level_codes(data.y, schema.label).astype(np.int8)
    records = encode(pl.DataFrame(data.X), schema)
    first, second = rng.integers(0, len(records), (2, rows))

    def mixed(columns: Any) -> Any:
        picked = (np.where(rng.random(rows) < 0.8, first, second) for _ in columns.T)
        return np.stack([c[p] for c, p in zip(columns.T, picked, strict=True)], axis=1)

    numeric, codes = mixed(records.numeric), mixed(records.codes)
    table = type(records)(numeric, codes, records.groups[first])
    return design("binned", schema, table), known[first]


def bare_loops(rows: Design, theta: Any) -> dict[str, Callable[[], Any]]:
    """What cannot be avoided: looked-up weights, a looked-up function, sums of cells."""
    from numba import njit

    starts, table = rows.look_ups.starts.astype(np.uint64), rows.cell_table(theta)
    scores, sums = rows.wide_scores(theta), np.zeros(len(table), dtype=np.int64)
    points, reach, per_unit = logistic_table()
    places = ((np.clip(scores, -reach, reach) + reach) * per_unit).astype(np.uint32)
    kept = np.empty(256)

    @njit(nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
    def looked_up(codes: Any, starts: Any, table: Any, kept: Any) -> None:
        for i in range(codes.shape[0]):
            total = 0.0
            for j in range(codes.shape[1]):
                total += table[starts[j] + codes[i, j]]
            kept[i & 255] = total

    @njit(nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
    def function(places: Any, points: Any, kept: Any) -> None:
        for i in range(places.shape[0]):
            kept[i & 255] = points[places[i], 0] + points[places[i], 1]

    @njit(nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
    def added(codes: Any, starts: Any, sums: Any) -> None:
        for i in range(codes.shape[0]):
            for j in range(codes.shape[1]):
                sums[starts[j] + codes[i, j]] += i

    whole = rows.codes.reshape(-1)[: rows.codes.size // 4 * 4].view(np.uint64)
    return {
        "weights looked up": lambda: looked_up(rows.codes, starts, table, kept),
        "logistic function looked up": lambda: function(places, points, kept),
        "sums of cells": lambda: added(rows.codes, starts, sums),
        "codes from memory": whole.sum,
    }


def best(call: Callable[[], Any], rounds: int) -> float:
    call()
    times = []
    for _ in range(rounds):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


if __name__ == "__main__":
    main()
