"""From noisy counts of a numeric column to its facts: usual value, edges, center and scale."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dpfair.data.columns import Numeric
from dpfair.discovery.density import smooth_masses
from dpfair.discovery.grids import grid_cells, grid_of

__all__ = ["MOST_BINS", "USUAL_SHARE", "found_numeric"]

Floats = NDArray[np.float64]

MOST_BINS, FEWEST_BINS = 16, 2
# A bin has the mass of so many standard deviations of the noise at least.
_BIN_DEVIATIONS = 8.0
# A value that so many records have is the usual one.
USUAL_SHARE = 0.8
# A column with a usual value is spiky if less of the rest has bins of its own.
_SPIKY_SHARE = 0.8


@dataclass(frozen=True)
class _Masses:
    """Where the records of a column are, as far as noise lets us see.

    ``atoms`` are single values; the rest lies evenly between neighbouring ``cuts``.
    """

    cuts: Floats
    between: Floats
    atoms: dict[float, float]

    @property
    def total(self) -> float:
        return float(self.between.sum()) + sum(self.atoms.values())

    def just_above(self, value: float) -> float:
        """A number with few digits between a value and the next one that was counted."""
        cut = self.cuts[np.searchsorted(self.cuts, math.nextafter(value, math.inf), side="right") :]
        ends = [*cut[:1].tolist(), *(v for v in self.atoms if v > value)]
        return _round_inside(value, min(ends), 0.5) if ends else math.nextafter(value, math.inf)

    def without(self, values: set[float]) -> _Masses:
        kept = {v: m for v, m in self.atoms.items() if v not in values}
        return replace(self, atoms=kept)


def found_numeric(
    column: Numeric,
    counts: NDArray[np.int64],
    named: Mapping[float, int],
    total: float,
    deviation: float,
    *,
    may_be_spiky: bool = True,
) -> Numeric:
    """The column with the facts that noisy counts show; declared facts are kept.

    ``counts`` are those of the cells of :func:`~dpfair.discovery.grids.grid_of`, ``named`` of
    single values, ``total`` of all records; each has noise of standard ``deviation``. A spiky
    column has many cells, so not all of a thousand columns ``may_be_spiky``.
    """
    masses = _masses(column, counts, named, deviation)
    usual = column.usual if column.usual is not None else _usual(masses, total)
    rest = masses if usual is None else masses.without({usual})
    bins = int(min(MOST_BINS, max(FEWEST_BINS, rest.total / (_BIN_DEVIATIONS * deviation))))
    single = {v for v, m in rest.atoms.items() if m >= rest.total / bins / 2}
    in_bins = sum(rest.atoms[v] for v in single)
    # All but the usual and the missing values, also if noise hides where they are.
    others = total - counts[-1] - masses.atoms.get(usual, 0.0) if usual is not None else 0.0
    spiky = may_be_spiky and in_bins < _SPIKY_SHARE * others
    found: dict[str, object] = {"edges": _edges(rest, single, bins), "spiky": spiky}
    if usual is not None and column.usual is None:
        found["usual"] = usual
    if column.unbounded:
        found["center"], found["scale"] = _standard(masses)
    declared = {fact.name for fact in column.facts if fact.declared(column)}
    found = {name: value for name, value in found.items() if name not in declared}
    return replace(column, **found, found=tuple(sorted(found)))  # type: ignore[arg-type]


def _masses(
    column: Numeric, counts: NDArray[np.int64], named: Mapping[float, int], deviation: float
) -> _Masses:
    cuts = grid_of(column)
    present = counts[:-1].astype(np.float64)  # without the missing ones
    atoms = {float(v): float(n) for v, n in named.items() if math.isfinite(v)}
    for value, mass in atoms.items():
        present[int(grid_cells(cuts, np.array([value]))[0])] -= mass
    # Cells of a single value are atoms, too; nothing lies between their ends.
    single = np.flatnonzero(np.nextafter(cuts[:-1], math.inf) == cuts[1:]) + 1
    for cell in single:
        value = float(cuts[cell - 1])
        if value not in atoms and present[cell] > 4 * deviation:
            atoms[value] = float(present[cell])
        present[cell] = 0.0
    between = smooth_masses(present, deviation)
    between[single] = 0.0
    return _Masses(cuts, between, atoms)


def _usual(masses: _Masses, total: float) -> float | None:
    if not masses.atoms:
        return None
    value = max(masses.atoms, key=lambda v: (masses.atoms[v], v))
    return value if masses.atoms[value] > USUAL_SHARE * total > 0 else None


def _edges(masses: _Masses, single: set[float], bins: int) -> tuple[float, ...]:
    """Cuts around single values with bins of their own, and quantiles of the rest."""
    edges = {edge for value in single for edge in (value, masses.just_above(value))}
    rest = masses.without(single)
    parts = round(bins * rest.total / masses.total) if masses.total > 0 else 0
    if parts > 1:
        edges |= set(_quantiles(rest, np.arange(1, parts) / parts))
    return tuple(sorted(edges))


def _quantiles(masses: _Masses, levels: Floats) -> list[float]:
    """Where the masses reach the levels: interpolated between cuts, or just at an atom."""
    places, amounts = [], []
    low_ends = np.concatenate([[masses.cuts[0]], masses.cuts])
    high_ends = np.concatenate([masses.cuts, [masses.cuts[-1]]])
    for low, high, mass in zip(low_ends, high_ends, masses.between, strict=True):
        if mass > 0:
            inside = sorted(v for v in masses.atoms if low <= v < high)
            ends = [low, *inside, high]
            width = max(high - low, math.ulp(low))
            for a, b in pairwise(ends):
                places.append((float(a), float(b)))
                amounts.append(mass * ((b - a) / width) if high > low else mass / (len(ends) - 1))
    for value, mass in masses.atoms.items():
        places.append((value, value))
        amounts.append(mass)
    order = sorted(range(len(places)), key=lambda i: places[i])
    reached = np.cumsum([amounts[i] for i in order])
    found = []
    for level in levels * reached[-1]:
        i = int(np.searchsorted(reached, level))
        low, high = places[order[i]]
        before = reached[i - 1] if i else 0.0
        part = (level - before) / max(reached[i] - before, 1e-300)
        if low < high:
            found.append(_round_inside(low, high, part))
        else:
            found.append(low if part < 0.5 else masses.just_above(low))
    return found


def _round_inside(low: float, high: float, part: float) -> float:
    """A number with few digits, above low, at about this part of the way to high."""
    exact = low + (high - low) * part
    for digits in range(2, 17):
        rounded = float(f"{exact:.{digits}g}")
        if low < rounded <= high and abs(rounded - exact) <= (high - low) / 10:
            return rounded
    return math.nextafter(low, math.inf) if part < 0.5 else high


def _standard(masses: _Masses) -> tuple[float, float]:
    """Mean and standard deviation, in thousandths of the latter; (0, 1) if nothing can be seen."""
    middles = np.concatenate(
        [[masses.cuts[0]], (masses.cuts[:-1] + masses.cuts[1:]) / 2, [masses.cuts[-1]]]
    )
    places = np.concatenate([middles, list(masses.atoms)])
    weights = np.concatenate([masses.between, list(masses.atoms.values())])
    if not weights.sum() > 0:
        return 0.0, 1.0
    mean = float(np.average(places, weights=weights))
    spread = math.sqrt(float(np.average((places - mean) ** 2, weights=weights)))
    if not spread > 0:
        return mean, 1.0
    return round(mean, 3 - math.floor(math.log10(spread))), float(f"{spread:.4g}")
