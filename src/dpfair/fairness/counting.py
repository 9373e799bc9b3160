"""Count records by group, label and bin: with noise, or exactly for Algorithm 1."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpfair.errors import InputError
from dpfair.fairness.release import HALF, Release, grid_of
from dpfair.privacy.assumptions import Assumption
from dpfair.privacy.events import DpEvent, noisy_table
from dpfair.privacy.ledger import Receipt
from dpfair.privacy.plan import Budget, FitPlan, Step

__all__ = [
    "cell_noise",
    "exact_counts",
    "release_accepted",
    "release_cells",
    "release_exact",
    "release_table",
    "table_cells",
    "table_events",
    "table_plan",
]

Assume = Callable[[Assumption, NDArray[np.int64]], NDArray[np.int64]]


def table_events(
    epsilon: Fraction | float, groups: int, relation: str, *, public_sizes: bool
) -> list[DpEvent]:
    """What a release costs: one table, or one count per group when sizes are public."""
    if public_sizes:
        # A neighbour changes the count of one group by one. If a record changes its group, it
        # changes the counts of two groups, and both charges apply.
        return [noisy_table(epsilon, "add_remove") for _ in range(groups)]
    return [noisy_table(epsilon, relation)]


def table_plan(budget: Budget, purpose: str, groups: int) -> FitPlan:
    """The plan of a job that spends its whole budget on one table."""
    [event] = table_events(budget.row_epsilon, groups, budget.relation, public_sizes=False)
    return FitPlan(budget, (Step("count", "", purpose, event),))


def release_table(
    scores: ArrayLike,
    groups: NDArray[np.integer[Any]],
    names: tuple[str, ...],
    *,
    labels: NDArray[np.integer[Any]] | None = None,
    edges: ArrayLike = HALF,
    receipt: Receipt,
    dependence: str,
    grain: int | None = None,
    by_label: bool = True,
) -> Release:
    """Count records by group, label (if given) and bin, with discrete Laplace noise on every cell.

    ``receipt`` paid for one table, see :func:`table_events`.

    Records of an undeclared group (code -1) have a separate cell, and so have records of a declared
    group and an undeclared label, if labels are given. With ``by_label=False`` it only matters
    whether labels are declared.

    Privacy
    -------
    Every record is in one cell. Under add/remove one record changes one cell by one, under
    replace-one two cells by one. The whole table, including group sizes and undeclared values,
    costs its event, for any number of cells.
    """
    return release_cells(
        lambda: table_cells(scores, groups, labels, len(names), edges, by_label=by_label),
        names,
        labelled=labels is not None,
        by_label=by_label,
        edges=edges,
        receipt=receipt,
        dependence=dependence,
        grain=grain,
    )


def table_cells(
    scores: ArrayLike,
    groups: NDArray[np.integer[Any]],
    labels: NDArray[np.integer[Any]] | None,
    k: int,
    edges: ArrayLike,
    *,
    by_label: bool = True,
) -> NDArray[np.int64]:
    """The exact cells of a table, the undeclared ones last: private until noise is added."""
    extra = [groups < 0]
    if labels is not None:
        extra.append((groups >= 0) & (labels < 0))
    declared = ~np.any(extra, axis=0)
    exact = exact_counts(
        np.asarray(scores)[declared],
        groups[declared],
        labels[declared] if labels is not None and by_label else None,
        k,
        edges,
    )
    return np.append(exact.ravel(), [rows.sum() for rows in extra])


def release_cells(
    cells: Callable[[], NDArray[np.int64]],
    names: tuple[str, ...],
    *,
    labelled: bool,
    by_label: bool,
    edges: ArrayLike,
    receipt: Receipt,
    dependence: str,
    grain: int | None = None,
) -> Release:
    """The table with noise; ``cells`` computes the exact :func:`table_cells` of all records."""
    event, grid = receipt.event, grid_of(edges, len(names))
    noisy = receipt.draw(event).discrete_laplace(lambda: cells().tolist())
    shape = (len(names), 2 if labelled and by_label else 1, grid.shape[1] + 1)
    undeclared = ("group", "label") if labelled else ("group",)
    declared = len(noisy) - len(undeclared)
    return Release(
        groups=names,
        edges=grid,
        counts=np.array(noisy[:declared]).reshape(shape),
        noise=(cell_noise(event),) * len(names),
        sizes=None,
        dependence=dependence,
        grain=grain,
        undeclared=dict(zip(undeclared, noisy[declared:], strict=True)),
    )


def release_accepted(
    scores: ArrayLike,
    groups: NDArray[np.integer[Any]],
    names: tuple[str, ...],
    *,
    receipts: Sequence[Receipt],
    assume: Assume,
    dependence: str,
) -> Release:
    """Algorithm 2, line 2: the accepted of each group with noise, group sizes being public.

    ``receipts`` paid for one count per group; ``assume`` takes the sizes as public. The noise is
    added to the integer count and then divided. The paper's Laplace noise on the rate, in floating
    point, would reveal the exact count.

    Privacy
    -------
    One record changes the count of its group by at most one: one event per group.
    """
    exact = exact_counts(scores, groups, None, len(names), HALF)
    public = assume(Assumption(("group",), receipts[0].scope), exact.sum(axis=(1, 2)))
    sizes = tuple(int(n) for n in public)
    accepted = [
        receipt.draw(receipt.event).discrete_laplace([int(count)])[0]
        for receipt, count in zip(receipts, exact[:, 0, 1], strict=True)
    ]
    return Release(
        groups=names,
        edges=grid_of(HALF, len(names)),
        counts=np.array([[[n - c, c]] for n, c in zip(sizes, accepted, strict=True)]),
        noise=tuple(cell_noise(receipt.event) for receipt in receipts),
        sizes=sizes,
        dependence=dependence,
    )


def release_exact(
    scores: ArrayLike,
    groups: NDArray[np.integer[Any]],
    names: tuple[str, ...],
    *,
    dependence: str,
) -> Release:
    """Algorithm 1, line 1: exact counts. Not private."""
    exact = exact_counts(scores, groups, None, len(names), HALF)
    sizes = tuple(int(n) for n in exact.sum(axis=(1, 2)))
    for name, size in zip(names, sizes, strict=True):
        if size == 0:
            raise InputError(f"Group {name!r} has no records to estimate its rate from.")
    return Release(
        groups=names,
        edges=grid_of(HALF, len(names)),
        counts=exact,
        noise=(math.inf,) * len(names),
        sizes=sizes,
        dependence=dependence,
    )


def exact_counts(
    scores: ArrayLike,
    groups: NDArray[np.integer[Any]],
    labels: NDArray[np.integer[Any]] | None,
    k: int,
    edges: ArrayLike,
) -> NDArray[np.int64]:
    """Exact counts [group, label, bin]: private until noise is added."""
    grid, values = grid_of(edges, k), np.asarray(scores, dtype=np.float64)
    shape = (k, 1 if labels is None else 2, grid.shape[1] + 1)
    bins = np.empty(len(values), dtype=np.int64)
    for a, row in enumerate(grid):
        bins[groups == a] = np.searchsorted(row, values[groups == a], side="right")
    cells = np.ravel_multi_index((groups, 0 if labels is None else labels, bins), shape)
    return np.bincount(cells, minlength=math.prod(shape)).reshape(shape)


def cell_noise(event: DpEvent) -> float:
    """The noise parameter of one cell of a table; replacing a record changes two cells."""
    return float(getattr(event, "event", event).noise_parameter)
