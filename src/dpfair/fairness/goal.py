"""The goal of a rule: a notion of fairness, costs, and how many to accept."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real

import numpy as np

from dpfair import validate
from dpfair.errors import InputError
from dpfair.fairness.notions import Notion

__all__ = ["Goal"]


@dataclass(frozen=True)
class Goal:
    """The goal of a rule.

    Parameters
    ----------
    notion, tolerance
        The notion of fairness, and the largest gap that is allowed.
    costs
        The cost of a wrong acceptance and of a wrong rejection. Equal costs: accuracy.
    acceptance
        The share of all records to accept, exactly.
    capacity
        The share of all records that may be accepted at most.
    """

    notion: Notion
    tolerance: float = 0.0
    costs: tuple[float, float] = (1.0, 1.0)
    acceptance: float | None = None
    capacity: float | None = None

    @property
    def other_goal(self) -> str:
        """The goal besides accuracy as text; empty if there is none."""
        acceptance, rejection = self.costs
        if acceptance != rejection:
            return "something else (unequal costs)"
        if self.acceptance is not None or self.capacity is not None:
            return "something else (a rate of acceptance)"
        return ""

    def __post_init__(self) -> None:
        costs = np.asarray(self.costs)
        if costs.shape != (2,) or costs.dtype.kind not in "iuf":
            raise InputError("Expected two costs: of a wrong acceptance and a wrong rejection.")
        for name, number in (
            ("tolerance", self.tolerance),
            ("target", self.acceptance or 0),
            ("capacity", self.capacity or 0),
        ):
            if not isinstance(number, Real):
                raise InputError(f"Expected {name} to be a number, got {number!r}.")
        if not 0 <= self.tolerance <= 1:
            raise InputError(f"Expected tolerance in [0, 1], got {self.tolerance}.")
        validate.positive(cost_of_acceptance=self.costs[0], cost_of_rejection=self.costs[1])
        for name, share in (("target", self.acceptance), ("capacity", self.capacity)):
            if share is not None and not 0 <= share <= 1:
                raise InputError(f"Expected {name} in [0, 1], got {share}.")
        most = 1.0 if self.capacity is None else self.capacity
        if self.acceptance is not None and self.acceptance > most:
            raise InputError(
                f"A target of {self.acceptance} exceeds the capacity of {self.capacity}."
            )
