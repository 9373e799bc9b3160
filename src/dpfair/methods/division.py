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

The paper's rule knows only the first row, without planning, and with ``composition="basic"`` its
charges add up.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpfair import validate
from dpfair.errors import BudgetError, InputError
from dpfair.fairness.release import table_events
from dpfair.privacy.events import DpEvent

__all__ = ["MODES", "Division", "certified_share", "corrects", "divide", "divide_algorithm2"]

MODES = ("certified", "reuse")


ALGORITHM2_RELEASE_SHARE = 1 / 3

MIN_RELEASE = Fraction(1, 10**4)

MAX_PLACED_ROWS = 200_000
"""With more records a planned rule is corrected, whatever epsilon is."""

DECISIONS_PART = Fraction(3, 4)
"""Of a release that corrects a rule: the part of its epsilon that counts the rule's decisions."""


@dataclass(frozen=True)
class Division:
    """Scopes with their shares of the records, and what each step may cost a record."""

    shares: dict[str, float]
    train_scope: str
    release_scope: str
    check_scope: str | None
    epsilon: Fraction
    plan_epsilon: Fraction | None
    release_epsilon: Fraction
    training_epsilon: Fraction
    decision_epsilon: Fraction | None = None
    values_epsilon: Fraction | None = None

    def share(self, scope: str) -> float:
        """The share of the records in a scope."""
        return self.shares.get(scope, 1.0)

    def events_with_training(self, groups: int, relation: str) -> list[DpEvent]:
        """What else is charged to the records that train."""
        tables = [self.plan_epsilon]
        if self.release_scope == self.train_scope:
            tables += [self.release_epsilon, self.values_epsilon]
        return [
            event
            for epsilon in tables
            if epsilon is not None
            for event in table_events(epsilon, groups, relation, public_sizes=False)
        ]


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
    the declared number of records, of which a group's counted ones are a part; not knowing it, we
    assume 30,000.

    >>> [corrects(epsilon, 45_000) for epsilon in (0.3, 1, 3)], corrects(3, 1000)
    ([True, True, False], True)
    >>> corrects(3, 1_000_000)
    True
    """
    assumed = 30_000 if rows is None else rows
    return assumed * epsilon**2 < 100_000 or assumed > MAX_PLACED_ROWS


def divide(
    epsilon: Fraction,
    *,
    mode: str,
    certifies: str,
    by_label: bool = False,
    release_epsilon: Fraction | None,
    release_share: float | None,
    check_share: float,
    values_epsilon: Fraction | None = None,
) -> Division:
    """The division for a rule found by linear programming.

    ``certifies`` says how a certified rule will be found: ``"placed"``, ``"corrected"`` or, for a
    single group, ``"band"``, which needs no plan. ``by_label`` says that the notion compares
    records of one label. ``values_epsilon`` is the cost of counting irregular values.
    """
    values = values_epsilon or Fraction(0)
    if (release_epsilon or 0) + values > epsilon:
        raise BudgetError(
            f"The release would cost {float((release_epsilon or 0) + values):g}, over the budget "
            f"of {float(epsilon):g}; nothing was charged."
        )
    if mode == "certified":
        if check_share:
            raise InputError("check_share belongs to mode='reuse'; certified needs no check.")
        share = certified_share(float(epsilon)) if release_share is None else release_share
        validate.in_open_interval(0, 1, release_share=share)
        planned, release = (
            certifies != "band",
            epsilon - values if release_epsilon is None else release_epsilon,
        )
        decisions = DECISIONS_PART * release if certifies == "corrected" else None
        plan = counting_epsilon(epsilon, by_label=by_label)
        if certifies == "corrected":  # flips make up for a noisy plan, and nothing for bad training
            plan = min(plan, epsilon / 5)
        return Division(
            shares={"train": 1 - share, "release": share},
            train_scope="train",
            release_scope="release",
            check_scope=None,
            epsilon=epsilon,
            plan_epsilon=plan if planned else None,
            release_epsilon=_usable(release - (decisions or 0), epsilon),
            training_epsilon=epsilon,
            decision_epsilon=decisions,
            values_epsilon=values_epsilon,
        )
    if release_share is not None:
        raise InputError("release_share belongs to mode='certified'; reuse counts all records.")
    if not 0 <= check_share < 1:
        raise InputError(f"Expected check_share in [0, 1), got {check_share}.")
    counted = release_epsilon
    if counted is None:
        counted = counting_epsilon(epsilon, by_label=by_label)
    if not counted + values < epsilon:
        raise InputError("Nothing would be left of epsilon for training.")
    return Division(
        shares={"fit": 1 - check_share, "check": check_share} if check_share else {"": 1.0},
        train_scope="fit" if check_share else "",
        release_scope="fit" if check_share else "",
        check_scope="check" if check_share else None,
        epsilon=epsilon,
        plan_epsilon=None,
        release_epsilon=_usable(counted, epsilon),
        training_epsilon=epsilon,
        values_epsilon=values_epsilon,
    )


def divide_algorithm2(
    epsilon: Fraction,
    *,
    composition: str,
    release_epsilon: Fraction | None,
    release_share: float | None,
    tables: int,
) -> Division:
    """The division for the paper's rule; ``tables`` counts are released if sizes are public."""
    share = ALGORITHM2_RELEASE_SHARE if release_share is None else release_share
    validate.in_open_interval(0, 1, release_share=share)
    tight = composition == "tight"
    if release_epsilon is None:
        release_epsilon = epsilon / (tables if tight else max(60, 2 * tables))
    release = _usable(release_epsilon, epsilon)
    if tight and tables * release > epsilon:
        raise BudgetError(
            f"The release would cost {float(tables * release):g}, over the budget of "
            f"{float(epsilon):g}; nothing was charged."
        )
    left = epsilon if tight else epsilon - tables * release
    validate.positive(training_epsilon=float(left))
    return Division(
        shares={"train": 1 - share, "release": share},
        train_scope="train",
        release_scope="release",
        check_scope=None,
        epsilon=epsilon,
        plan_epsilon=None,
        release_epsilon=release,
        training_epsilon=left,
    )


def _usable(part: Fraction, epsilon: Fraction) -> Fraction:
    """The part of epsilon that a table of scores gets, if it is enough."""
    if part < MIN_RELEASE:
        needed = float(epsilon * MIN_RELEASE / part)
        raise InputError(
            f"A table needs at least epsilon = {float(MIN_RELEASE):g} to say anything. It would "
            f"get {float(part):g} of {float(epsilon):g}; with epsilon = {needed:g} it has enough."
        )
    return part
