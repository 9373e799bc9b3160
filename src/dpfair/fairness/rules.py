"""Decision rules, and the paper's Algorithms 1 and 2 for any number of groups."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpfair.errors import InputError

TARGETS = ("midpoint", "lower", "upper", "majority")

MAX_BINS = 1000
"""Of the scores of a group; a rule has one step less at most."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Rule:
    """P(accept | group, score): for every group a step function of the score.

    A record whose score reaches i of its group's cuts is accepted with probability
    ``accept[group, i]``. The paper's rules have one cut, at one half: ``accept[:, 0]`` is the
    *lift* of what h rejects, ``accept[:, 1]`` the *keep* of what it accepts. A threshold rule has
    the levels 0 and 1.

    Parameters
    ----------
    accept : array of shape [groups, steps + 1]
        Probabilities; copied and made read-only.
    cuts : array of shape [groups, steps]
        Increasing scores; infinity fills up the row of a group with fewer steps.

    Examples
    --------
    >>> rule = Rule([[0.0, 0.75], [0.25, 1.0]])
    >>> rule.probabilities([0, 0, 1, 1], [0.1, 0.9, 0.1, 0.9]).tolist()
    [0.0, 0.75, 0.25, 1.0]
    >>> rule.decide([0, 0, 1, 1], [0.1, 0.9, 0.1, 0.9], [0.0, 0.8, 0.2, 1.0]).tolist()
    [0, 0, 1, 1]
    >>> thresholds = Rule([[0, 1], [0, 1]], cuts=[[0.41], [0.58]])
    >>> thresholds.probabilities([0, 1], [0.5, 0.5]).tolist()
    [1.0, 0.0]
    """

    accept: Floats
    cuts: Floats = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        table = np.array(self.accept, dtype=np.float64)
        if table.ndim != 2 or table.shape[0] < 1 or table.shape[1] < 2:
            raise InputError(f"Expected a table [groups, steps + 1], got shape {table.shape}.")
        if not np.all((table >= 0) & (table <= 1)):  # written so that NaN fails
            raise InputError("Expected probabilities in [0, 1].")
        given = np.array(0.5 if self.cuts is None else self.cuts, dtype=np.float64)
        wanted = (table.shape[0], table.shape[1] - 1)
        if self.cuts is None and wanted[1] != 1:
            raise InputError("A rule of several steps needs its cuts.")
        cuts = np.full(wanted, given) if self.cuts is None else given
        if cuts.shape != wanted:
            raise InputError(f"Expected cuts of shape {wanted}, got {cuts.shape}.")
        if np.isnan(cuts).any() or not np.all(cuts[:, 1:] >= cuts[:, :-1]):
            raise InputError("Expected increasing cuts.")
        for name, array in (("accept", table), ("cuts", cuts)):
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Rule)
            and np.array_equal(self.accept, other.accept)
            and np.array_equal(self.cuts, other.cuts)
        )

    @property
    def constant(self) -> str:
        """``"everybody"`` or ``"nobody"`` if all scores from 0 to 1 are decided alike; else empty.

        >>> Rule([[0, 1]], [[-np.inf]]).constant, Rule([[0, 0]]).constant, Rule([[0, 1]]).constant
        ('everybody', 'nobody', '')
        """
        first, last = (self.cuts <= 0).sum(axis=1), (self.cuts <= 1).sum(axis=1)
        reached = {
            float(chance)
            for row, low, high in zip(self.accept, first, last, strict=True)
            for chance in row[low : high + 1]
        }
        if reached == {0.0}:
            return "nobody"
        return "everybody" if reached == {1.0} else ""

    def probabilities(self, groups: ArrayLike, scores: ArrayLike) -> Floats:
        """Exact probability of acceptance of each record."""
        index, values = np.asarray(groups), np.asarray(scores, dtype=np.float64)
        steps = np.zeros(values.shape, dtype=np.intp)
        for column in self.cuts.T:
            steps += values >= column[index]
        table: Floats = self.accept[index, steps]
        return table

    def decide(self, groups: ArrayLike, scores: ArrayLike, coins: ArrayLike) -> Ints:
        """Decisions 0/1 from coins that are uniform on [0, 1]: accept if coin <= probability.

        A coin of exactly 0 must not accept a record whose probability is 0.
        """
        chances = self.probabilities(groups, scores)
        return ((np.asarray(coins) <= chances) & (chances > 0)).astype(np.int64)


def parity_rule(
    rates: Sequence[float], target: float | str = "midpoint", sizes: Sequence[float] | None = None
) -> Rule:
    """Rule that brings all groups to one acceptance rate (Algorithms 1 and 2 of the paper).

    A group above the common target r keeps a positive with probability r / rate; a group below
    lifts a negative with probability (r - rate) / (1 - rate). For two groups with alpha >= beta and
    the paper's midpoint these are (alpha + beta) / (2 alpha) and (alpha - beta) / (2 (1 - beta)).
    Equal rates, also all 0 or all 1, give the identity, and so does a single group.

    Parameters
    ----------
    rates : sequence of float
        Positive rates within [0, 1], one per group: the population's (Algorithm 1) or the
        clipped noisy estimates (Algorithm 2).
    target
        The common rate: a number, the ``"midpoint"`` of the largest and the smallest rate (the
        paper's, which minimises the largest change of any group), the ``"lower"`` or the
        ``"upper"`` of them, or the rate of the ``"majority"`` group, which changes the fewest
        people. For two groups every target between the rates has the same sum of changes.
    sizes
        The sizes of the groups, for the majority.

    Examples
    --------
    >>> parity_rule([0.5, 0.25]).accept.tolist()
    [[0.0, 0.75], [0.16666666666666666, 1.0]]
    >>> parity_rule([0.5, 0.25], "lower").accept.tolist()
    [[0.0, 0.5], [0.0, 1.0]]
    """
    values = np.asarray(rates, dtype=np.float64)
    if values.ndim != 1 or len(values) < 1:
        raise InputError("Expected the rates of at least one group.")
    if not np.all((values >= 0) & (values <= 1)):
        raise InputError("Expected rates in [0, 1].")
    if isinstance(target, str):
        if target not in TARGETS:
            raise InputError(f"Expected target to be a rate or one of {', '.join(TARGETS)}.")
        largest = 0 if sizes is None else int(np.argmax(sizes))
        goal = {
            "midpoint": (values.max() + values.min()) / 2,
            "lower": values.min(),
            "upper": values.max(),
            "majority": values[largest],
        }[target]
    elif not 0 <= target <= 1:
        raise InputError(f"Expected target in [0, 1], got {target}.")
    else:
        goal = target
    return Rule(np.stack(moves(values, goal), axis=-1))


def moves(rates: ArrayLike, target: ArrayLike) -> tuple[Floats, Floats]:
    """Lift and keep that move each rate to the target, elementwise.

    Examples
    --------
    >>> lift, keep = moves([0.5, 0.25], 0.375)
    >>> lift.round(3).tolist(), keep.tolist()
    ([0.0, 0.167], [0.75, 1.0])
    """
    rate, goal = np.broadcast_arrays(np.asarray(rates, float), np.asarray(target, float))
    above, below = rate > goal, rate < goal
    # rate > goal >= 0 and rate < goal <= 1 exclude a division by zero.
    keep = np.divide(goal, rate, out=np.ones(rate.shape), where=above)
    lift = np.divide(goal - rate, 1 - rate, out=np.zeros(rate.shape), where=below)
    return lift, keep


def group_acceptance(rule: Rule, rates: ArrayLike) -> Floats:
    """Acceptance rate of each group under a two-cell rule: l + (k - l) p.

    Examples
    --------
    >>> group_acceptance(parity_rule([0.5, 0.25]), [0.5, 0.25]).round(12).tolist()
    [0.375, 0.375]
    """
    lift, keep = _columns(rule)
    return lift + (keep - lift) * np.asarray(rates, dtype=np.float64)


def exact_gap(rule: Rule, population_rates: Sequence[float]) -> float:
    """Signed demographic parity gap of two groups: acceptance of group 0 minus that of group 1.

    If the rule was made from noisy rates (a, b), a > b, and the population has (alpha, beta),
    this is k (alpha - a) - (1 - l) (beta - b) with both coefficients in [1/2, 1].

    Examples
    --------
    >>> round(exact_gap(parity_rule([0.5, 0.25]), [0.52, 0.25]), 12)
    0.015
    """
    first, second = group_acceptance(rule, population_rates)
    return float(first - second)


def prediction_changes(rule: Rule, population_rates: ArrayLike) -> Floats:
    """Share of each group whose prediction a two-cell rule changes: p (1 - k) + (1 - p) l.

    For two groups and a rule that only takes away from group 0 and only adds to group 1, the
    two shares add up to (alpha - beta) - gap.

    Examples
    --------
    >>> prediction_changes(parity_rule([0.5, 0.25]), [0.5, 0.25]).round(12).tolist()
    [0.125, 0.125]
    """
    lift, keep = _columns(rule)
    rates = np.asarray(population_rates, dtype=np.float64)
    return rates * (1 - keep) + (1 - rates) * lift


def minimal_changes(rates: Sequence[float], gap: float) -> float:
    """Fewest changes, summed over two groups, that any rule with this gap makes (Proposition 1).

    Examples
    --------
    >>> round(minimal_changes([0.5, 0.25], 0.05), 12)
    0.2
    """
    first, second = rates
    return max(0.0, abs(first - second) - gap)


def _columns(rule: Rule) -> tuple[Floats, Floats]:
    if rule.accept.shape[1] != 2:
        raise InputError(f"Expected a rule with 2 cells, got {rule.accept.shape[1]}.")
    return rule.accept[:, 0], rule.accept[:, 1]
