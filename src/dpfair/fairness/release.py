"""The only thing that fairness ever learns about private records: one noisy table of counts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpfair.errors import InputError
from dpfair.fairness.rates import NoisyRate
from dpfair.privacy.events import DpEvent, noisy_table
from dpfair.privacy.ledger import Ledger

__all__ = ["Release", "release_accepted", "release_exact", "release_table", "table_events"]


@dataclass(frozen=True)
class Release:
    """Counts of records by group and cell: cell 1 is what h accepts, cell 0 the rest.

    Parameters
    ----------
    groups
        The names of the groups.
    counts
        One row per group, one column per cell; noisy counts are not clipped.
    noise
        Per group the parameter t of the noise, P(z) proportional to exp(-t |z|); infinity for
        exact counts.
    sizes
        Public group sizes, or None when the sizes are private and both cells are noisy.
    dependence
        Empty if the counted records are independent of each other and of the scorer; otherwise
        why they are not. Only independent counts say something certain about new records.
    """

    groups: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    noise: tuple[float, ...]
    sizes: tuple[int, ...] | None
    dependence: str

    @property
    def rates(self) -> tuple[NoisyRate, ...]:
        """What is known about the share of accepted records, per group."""
        return tuple(
            NoisyRate(
                accepted=accepted,
                rejected=rejected if self.sizes is None else None,
                size=None if self.sizes is None else self.sizes[i],
                noise=self.noise[i],
            )
            for i, (rejected, accepted) in enumerate(self.counts)
        )

    def to_json(self) -> dict[str, Any]:
        """The release as plain data."""
        return {
            "groups": list(self.groups),
            "counts": [list(row) for row in self.counts],
            "noise": [None if math.isinf(t) else t for t in self.noise],
            "sizes": None if self.sizes is None else list(self.sizes),
            "dependence": self.dependence,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Release:
        """Read a release back."""
        sizes = data["sizes"]
        return cls(
            groups=tuple(str(g) for g in data["groups"]),
            counts=tuple(tuple(int(c) for c in row) for row in data["counts"]),
            noise=tuple(math.inf if t is None else float(t) for t in data["noise"]),
            sizes=None if sizes is None else tuple(int(s) for s in sizes),
            dependence=str(data["dependence"]),
        )


def table_events(
    epsilon: Fraction | float, groups: int, relation: str, *, public_sizes: bool
) -> list[DpEvent]:
    """What a release costs: one table, or one count per group when sizes are public."""
    if public_sizes:
        # A neighbour moves a group's count by one; two groups' counts when it changes group,
        # and then both charges apply.
        return [noisy_table(epsilon, "add_remove") for _ in range(groups)]
    return [noisy_table(epsilon, relation)]


def release_table(
    cells: NDArray[np.int64],
    groups: NDArray[np.int64],
    names: tuple[str, ...],
    *,
    epsilon: Fraction | float,
    ledger: Ledger,
    scope: str,
    dependence: str,
) -> Release:
    """Count records by group and cell, with discrete Laplace noise on every cell.

    Privacy
    -------
    Under add/remove one record moves one cell by one, under replace-one two cells by one: the
    table costs ``epsilon`` in all, group sizes included.
    """
    [event] = table_events(epsilon, len(names), ledger.relation, public_sizes=False)
    receipt = ledger.charge(event, scope=scope, purpose="count accepted and rejected by group")
    exact = _count(cells, groups, len(names))
    noisy = receipt.draw(event).discrete_laplace(exact.ravel().tolist())
    return Release(
        groups=names,
        counts=tuple(zip(noisy[::2], noisy[1::2], strict=True)),
        noise=(_parameter(event),) * len(names),
        sizes=None,
        dependence=dependence,
    )


def release_accepted(
    cells: NDArray[np.int64],
    groups: NDArray[np.int64],
    names: tuple[str, ...],
    *,
    epsilon: Fraction | float,
    ledger: Ledger,
    scope: str,
    dependence: str,
) -> Release:
    """Algorithm 2, line 2: the accepted of each group with noise, group sizes being public.

    The noise is added to the integer count and then divided. The paper's Laplace noise on the
    rate, in floating point, would reveal the exact count.

    Privacy
    -------
    One record moves the count of its group by at most one: ``epsilon`` per group.
    """
    events = table_events(epsilon, len(names), ledger.relation, public_sizes=True)
    receipts = [
        ledger.charge(event, scope=scope, purpose=f"count accepted in group {name}")
        for event, name in zip(events, names, strict=True)
    ]
    exact = _count(cells, groups, len(names))
    sizes = tuple(int(n) for n in exact.sum(axis=1))
    accepted = [
        receipt.draw(event).discrete_laplace([int(count)])[0]
        for receipt, event, count in zip(receipts, events, exact[:, 1], strict=True)
    ]
    return Release(
        groups=names,
        counts=tuple((n - c, c) for n, c in zip(sizes, accepted, strict=True)),
        noise=tuple(_parameter(event) for event in events),
        sizes=sizes,
        dependence=dependence,
    )


def release_exact(
    cells: NDArray[np.int64],
    groups: NDArray[np.int64],
    names: tuple[str, ...],
    *,
    dependence: str,
) -> Release:
    """Algorithm 1, line 1: exact counts. Not private."""
    exact = _count(cells, groups, len(names))
    sizes = tuple(int(n) for n in exact.sum(axis=1))
    for name, size in zip(names, sizes, strict=True):
        if size == 0:
            raise InputError(f"Group {name!r} has no records to estimate its rate from.")
    return Release(
        groups=names,
        counts=tuple(tuple(int(c) for c in row) for row in exact),
        noise=(math.inf,) * len(names),
        sizes=sizes,
        dependence=dependence,
    )


def _count(cells: NDArray[np.int64], groups: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    return np.bincount(groups * 2 + cells, minlength=2 * k).reshape(k, 2)


def _parameter(event: DpEvent) -> float:
    return float(getattr(event, "event", event).noise_parameter)
