"""Dithered scores, and grids with narrow cells where the cut of a group is expected.

Cells may be narrow even where many records share a score, because the counted scores are
*dithered*: they are rounded down to a multiple of 1 / GRAIN, and a coin per record replaces the
other digits, for new records as well.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpfair.fairness.release import score_grid

__all__ = ["GRAIN", "Window", "dithered", "placement_grid"]

Floats = NDArray[np.float64]

GRAIN = 100
"""Dithered scores keep two digits of the score."""

MAX_NARROW_CELLS = 480
"""More cells would take too long to bound."""

MAX_PLACED_NOISE = 18_000
"""How long the tables of the noise may be, all groups together: (cells + 100) / noise each."""

MAX_PLACED_BINS = 64 + MAX_NARROW_CELLS + 2 * GRAIN
"""An upper limit on the cells of a grid: the wide ones, and the narrow ones of a window."""


def dithered(scores: Floats, coins: Floats) -> Floats:
    """Scores whose digits beyond 1 / GRAIN are replaced by coins in [0, 1).

    >>> dithered(np.array([0.4567]), np.array([0.5])).round(6).tolist()
    [0.455]
    """
    # By comparison with the same numbers that a rule uses, not by rounding a product.
    whole = np.searchsorted(np.arange(1, GRAIN) / GRAIN, scores, side="right")
    return (whole + coins) / GRAIN


@dataclass(frozen=True)
class Window:
    """Where the cut of a group is expected, by a plan from other records.

    ``ends`` are those of the plan's bins that hold the cut with a high probability, and
    ``masses`` the shares of the group's records in these bins. ``rate`` is the group's target and
    ``size`` the number of its records to be counted.
    """

    ends: tuple[float, ...]
    masses: tuple[float, ...]
    rate: float
    size: float

    @property
    def grains(self) -> tuple[int, Floats]:
        """The first grain, and of each grain the largest share of records that it may hold.

        The distribution of the records within a bin is not known: all may have the same score.
        """
        places = np.array(self.ends) * GRAIN
        lows = np.floor(places[:-1]).clip(0, GRAIN - 1).astype(np.intp)
        highs = np.maximum(np.ceil(places[1:]).clip(0, GRAIN).astype(np.intp), lows + 1)
        shares = np.zeros(int(highs[-1] - lows[0]))
        for low, high, mass in zip(lows - lows[0], highs - lows[0], self.masses, strict=True):
            shares[low:high] = np.maximum(shares[low:high], mass)
        return int(lows[0]), shares


def placement_grid(windows: Sequence[Window], noise: float, rows: int = 2) -> Floats:
    """Edges for each group: wide cells, and narrow ones in the window where its cut is expected.

    The windows come from other records, so the grid is independent of the counted records. A cell
    has ``rows`` counts, each with noise of the given parameter. Narrow cells place a cut precisely,
    but every cell above it adds its noise: their number is the one with the smallest expected
    bound, as long as it can be bounded in a short time.
    """
    wide = np.unique(np.round(np.array(score_grid(noise)) * GRAIN))
    bins = (MAX_PLACED_NOISE * noise / len(windows) - 100) / rows
    most = min(MAX_NARROW_CELLS, int(bins) - len(wide) - 1)
    # All groups get the same number of edges, so no group gets more than the one that needs fewest.
    wanted = [int(_splits(window, noise, len(wide), rows, most).sum()) for window in windows]
    rows_of_edges = []
    for window in windows:
        first, splits = window.grains[0], _splits(window, noise, len(wide), rows, min(wanted))
        narrow = [first + g + np.arange(split) / split for g, split in enumerate(splits.tolist())]
        row = np.unique(np.concatenate([wide, *narrow, [first + len(splits)]]).round(9))
        rows_of_edges.append(row[(row > 0) & (row < GRAIN)])
    width = max(len(row) for row in rows_of_edges)
    return np.stack([_padded(row, width) for row in rows_of_edges]) / GRAIN


def _splits(window: Window, noise: float, wide: int, rows: int, most: int) -> NDArray[np.intp]:
    """How often to split each grain of a window, so that every cell has a small share.

    The number of cells is the allowed one with the smallest expected bound.
    """
    shares = window.grains[1]
    best, least = np.ones(len(shares), dtype=np.intp), math.inf
    for cell in np.geomspace(max(float(shares.max()), 1e-9), 1e-6, 80).tolist():
        splits = np.maximum(np.ceil(shares / cell - 1e-9), 1).astype(np.intp)
        cells = int(splits.sum())
        if cells > max(most, len(shares)):
            break
        # About half of the cells are above the cut. Two groups deviate, each to one side.
        added = 2 * rows * (wide + cells) / 2 / noise**2
        spread = math.sqrt(window.rate * (1 - window.rate) * window.size + added)
        expected = 2 * math.sqrt(2) * spread + window.size * cell
        if expected < least:
            best, least = splits, expected
    return best


def _padded(row: Floats, width: int) -> Floats:
    """More edges, halving the widest cells, until there are ``width`` of them."""
    while len(row) < width:
        ends = np.concatenate([[0.0], row, [float(GRAIN)]])
        widest = int(np.argmax(np.diff(ends)))
        row = np.sort(np.append(row, (ends[widest] + ends[widest + 1]) / 2))
    return row
