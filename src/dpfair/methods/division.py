"""How a fit divides its records and its budget: by its parameters alone, never by a record.

================  ==========================  =================================================
mode              scopes                      charges
================  ==========================  =================================================
``certified``     train, release (disjoint)   train: training and a planning table; release: one
                                              table to place thresholds in, or a table of the
                                              planned rule's decisions to correct it by and a
                                              table of scores for other rules. Each scope may
                                              use the whole epsilon (parallel composition).
``reuse``         everybody                   training and one table, in one tight composition
``reuse`` with    fit, check (disjoint)       fit: as before; check: one small table with the
a check                                       whole epsilon
================  ==========================  =================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpfair import validate
from dpfair.errors import BudgetError, InputError
from dpfair.fairness.notions import Notion
from dpfair.methods.settings import Division
from dpfair.privacy.events import exact_epsilon
from dpfair.privacy.plan import Budget

__all__ = ["MODES", "Allotment", "certified_share", "certifies", "corrects", "divide", "usable"]

MODES = ("certified", "reuse")

MIN_RELEASE = Fraction(1, 10**4)

MAX_PLACED_ROWS = 200_000
"""With more records a planned rule is corrected, whatever epsilon is."""

MAX_PLACED_GROUPS = 20
"""Placing takes a third of a second per group, longer with more noise. Beyond this many groups, or
with less than epsilon = 0.1 for two of them, its bounds are too wide to be worth that."""

DECISIONS_PART = Fraction(3, 4)
"""Of a release that corrects a rule: the part of its epsilon that counts the rule's decisions."""


@dataclass(frozen=True)
class Allotment:
    """Scopes with their shares of the records, and what each step may cost a record.

    None stands for a step that the fit does not have.
    """

    shares: dict[str, float]
    train_scope: str
    release_scope: str
    release_epsilon: Fraction
    plan_epsilon: Fraction | None = None
    decision_epsilon: Fraction | None = None
    values_epsilon: Fraction | None = None
    check_epsilon: Fraction | None = None


def certified_share(epsilon: float) -> float:
    """The share of the records that are counted in certified mode: half, or 0.3 below one.

    A certificate is as sharp as its counts are many, but with a small budget it is the training
    that needs records.
    """
    return 1 / 2 if epsilon >= 1 else 0.3


def counting_epsilon(epsilon: Fraction, *, by_label: bool = False) -> Fraction:
    """What a table costs when it counts the training records: a tenth, but 0.2 if possible.

    Notions that compare records of one label have fewer of them to count, and get the double.

    The noise of a table falls like 1 / epsilon and soon vanishes beside the sampling error, which
    does not; so a large budget needs a smaller part of itself for counting.

    >>> [float(counting_epsilon(Fraction(e))) for e in ("9", "3", "1", "0.3")]
    [0.9, 0.3, 0.2, 0.105]
    """
    wanted = max(Fraction(1, 5), epsilon / 10) * (2 if by_label else 1)
    return min(Fraction(7, 20) * epsilon, wanted)


def corrects(epsilon: float, rows: int | None) -> bool:
    """Whether flips that correct a planned rule have a smaller expected bound than placing.

    With r(1 - r) n the variance of a count of n records, placed thresholds add the noise of some
    150 cells, 300 / epsilon^2, and corrected ones that of two. The former pays only if it is the
    smaller one by far; the sampling errors are the same. With very many records a plan needs hardly
    any correction, and no grid is fine enough to place thresholds among tied scores. ``rows`` is
    the declared number of records, of which a group's counted ones are a part.

    Not knowing it, we correct, since that costs little where placing would be better, and placing
    costs much where it is not. On samples of Adult with 1,000 to 100,000 records and an epsilon of
    1 to 5, the bound of placed thresholds is 0.86 to 2.2 times that of corrected ones. It would be
    no better to guess a size: more budget would then give a wider bound wherever the guess is
    wrong.

    >>> [corrects(epsilon, 45_000) for epsilon in (0.3, 1, 3)], corrects(3, 1000)
    ([True, True, False], True)
    >>> corrects(3, 1_000_000), corrects(3, None)
    (True, True)
    """
    return rows is None or rows * epsilon**2 < 100_000 or rows > MAX_PLACED_ROWS


def certifies(
    notion: Notion, epsilon: Fraction, *, relation: str, groups: int, rows: int | None
) -> str:
    """How a certified rule is found, by public numbers alone.

    ``"placed"``, ``"corrected"`` or, for a single group, ``"band"``, which needs no plan.
    """
    if groups < 2:
        return "band"
    placeable = groups <= MAX_PLACED_GROUPS * min(Fraction(1), epsilon)
    # To replace a record moves two cells, each with half of epsilon.
    cell = float(epsilon) / (2 if relation == "replace_one" else 1)
    if placeable and notion.monotone and not corrects(cell, rows):
        return "placed"
    return "corrected"


def divide(
    budget: Budget, settings: Division, *, mode: str, notion: Notion, groups: int, rows: int | None
) -> Allotment:
    """The scopes and costs of a fit of :class:`dpfair.PrivateFairClassifier`."""

    def of_a_record(epsilon: float | None) -> Fraction | None:
        return None if epsilon is None else exact_epsilon(epsilon) / budget.rows_per_unit

    epsilon, given = budget.row_epsilon, of_a_record(settings.release_epsilon)
    values_epsilon = of_a_record(settings.values_epsilon)
    values = values_epsilon or Fraction(0)
    if (given or 0) + values > epsilon:
        raise BudgetError(
            f"The release would cost {float((given or 0) + values):g}, over the budget "
            f"of {float(epsilon):g}; nothing was charged."
        )
    if values_epsilon is not None:  # to replace a record moves two cells
        usable(values_epsilon / (2 if budget.relation == "replace_one" else 1), epsilon)
    check_share, by_label = settings.check_share, notion.needs_labels
    if mode == "certified":
        if check_share:
            raise InputError("check_share belongs to mode='reuse'; certified needs no check.")
        share = settings.release_share
        share = certified_share(float(epsilon)) if share is None else share
        validate.in_open_interval(0, 1, release_share=share)
        how = certifies(
            notion, given or epsilon, relation=budget.relation, groups=groups, rows=rows
        )
        release = epsilon - values if given is None else given
        decisions = DECISIONS_PART * release if how == "corrected" else None
        plan = counting_epsilon(epsilon, by_label=by_label)
        if how == "corrected":  # flips make up for a noisy plan, and nothing for bad training
            plan = min(plan, epsilon / 5)
        return Allotment(
            shares={"train": 1 - share, "release": share},
            train_scope="train",
            release_scope="release",
            release_epsilon=usable(release - (decisions or 0), epsilon),
            plan_epsilon=None if how == "band" else plan,
            decision_epsilon=decisions,
            values_epsilon=values_epsilon,
        )
    if settings.release_share is not None:
        raise InputError("release_share belongs to mode='certified'; reuse counts all records.")
    if not 0 <= check_share < 1:
        raise InputError(f"Expected check_share in [0, 1), got {check_share}.")
    counted = counting_epsilon(epsilon, by_label=by_label) if given is None else given
    if not counted + values < epsilon:
        raise InputError("Nothing would be left of epsilon for training.")
    scope = "fit" if check_share else ""
    return Allotment(
        shares={"fit": 1 - check_share, "check": check_share} if check_share else {"": 1.0},
        train_scope=scope,
        release_scope=scope,
        release_epsilon=usable(counted, epsilon),
        values_epsilon=values_epsilon,
        check_epsilon=epsilon if check_share else None,
    )


def usable(part: Fraction, epsilon: Fraction) -> Fraction:
    """The part of epsilon that a table of scores gets, if it is enough."""
    if part <= 0:
        raise InputError("Nothing would be left of epsilon for the table of scores.")
    if part < MIN_RELEASE:
        needed = float(epsilon * MIN_RELEASE / part)
        raise InputError(
            f"A table needs at least epsilon = {float(MIN_RELEASE):g} to be useful. It would "
            f"get {float(part):g} of {float(epsilon):g}; with epsilon = {needed:g} it has enough."
        )
    return part
