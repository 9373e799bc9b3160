"""Certificates for the demographic parity gap: the paper's, and sharper ones that use the noise.

Four bounds hold with probability 1 - eta, for every population and sample size. C0 (the paper's)
and C1 use the sizes and the noise only, so they are known before any data is read. C2 and C3 use
the release. C3 is usually the smallest, but the bound must be chosen beforehand.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, signal, special

from dpfair.errors import InputError
from dpfair.fairness.bounds.tails import binomial_window
from dpfair.fairness.rates import SIZE_SHARE, Interval, NoisyRate
from dpfair.fairness.rules import Rule, moves
from dpfair.validate import in_open_interval

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class GapBound:
    """An upper bound on the demographic parity gap of one rule, and what comes with it.

    With probability ``confidence`` over the records and the noise, all of the following hold at
    once: the gap in the population is at most ``bound``; every group's acceptance rate lies in
    its interval ``before`` and ``after`` the rule; the shares of changed predictions, summed
    over the groups, lie in ``changes``; and they exceed the fewest possible at the same gap
    (Proposition 1) by at most ``excess_changes``.

    ``excess_changes`` is twice the bound for two groups of which one only loses and the other
    only gains acceptances, as in the paper, whose factor is 5/2. It is None for other rules.
    """

    bound: float
    confidence: float
    method: Literal["C2", "C3"]
    before: tuple[Interval, ...]
    after: tuple[Interval, ...]
    changes: Interval
    excess_changes: float | None


def interval_gap_bound(rates: Sequence[NoisyRate], rule: Rule, confidence: float) -> GapBound:
    """C2: an exact interval for each group's rate, and the worst case over the intervals.

    The groups are independent, so intervals at 1 - (1 - eta)^(1/K) hold together (Sidak). A
    group's rate after the rule is l + (k - l) p, so the largest gap is at a corner.

    Examples
    --------
    >>> from dpfair.fairness.rules import parity_rule
    >>> rates = [NoisyRate(220, None, 3674, 0.05), NoisyRate(1526, None, 7631, 0.05)]
    >>> rule = parity_rule([rate.estimate for rate in rates])
    >>> print(f"{interval_gap_bound(rates, rule, 0.95).bound:.4f}")
    0.0291
    """
    eta = _error(confidence)
    _check_groups(rates, rule)
    share = -math.expm1(math.log1p(-eta) / len(rates))
    # One level per group: the region is a box.
    levels = np.array([rate.interval(share) for rate in rates])[:, None, :]
    return _bound(rates, rule, levels, confidence, "C2")


def combined_gap_bound(
    rates: Sequence[NoisyRate], rule: Rule, confidence: float, steps: int = 1000
) -> GapBound:
    r"""C3: the worst case over Fisher's region, in which not all groups are extreme at once.

    With exact two-sided p-values :math:`\pi_a` the true rates satisfy
    :math:`-\sum_a \ln \pi_a(p_a) \le s` with probability 1 - eta, where 2s is the quantile of a
    chi-square with 2K degrees of freedom. The surprise s is divided into m = ``steps``. If group
    a has used between i and i + 1 of them, its rate is in its interval at :math:`e^{-s(i+1)/m}`
    and the others have at most m - i left, so the maximum over the ways to share the steps,
    each group's share rounded up, is never too small, and too large by about 1/m.

    With private sizes ``SIZE_SHARE`` of eta is spent on the K size ranges.

    Examples
    --------
    >>> from dpfair.fairness.rules import parity_rule
    >>> rates = [NoisyRate(220, None, 3674, 0.05), NoisyRate(1526, None, 7631, 0.05)]
    >>> rule = parity_rule([rate.estimate for rate in rates])
    >>> print(f"{combined_gap_bound(rates, rule, 0.95).bound:.3f}")
    0.026
    """
    eta = _error(confidence)
    _check_groups(rates, rule)
    private = any(rate.size is None for rate in rates)
    eta_sizes = SIZE_SHARE * eta if private else 0.0
    surprise = float(special.gammainccinv(len(rates), eta - eta_sizes))
    etas = np.exp(-np.linspace(0, surprise, steps + 1))
    levels = np.stack([rate.nested_intervals(etas, eta_sizes / len(rates)) for rate in rates])
    return _bound(rates, rule, levels, confidence, "C3")


def paper_gap_bound(sizes: Sequence[int], epsilons: Sequence[float], eta: float) -> float:
    """C0: the paper's bound on the gap of Algorithm 2, with probability 1 - eta (Theorem alg2WHP).

    The theorem is for continuous Laplace noise.

    Examples
    --------
    >>> round(paper_gap_bound([3674, 7631], [0.05, 0.05], 0.05), 4)
    0.0799
    """
    return min(1.0, _paper_terms(sizes, epsilons, eta))


def paper_expected_gap_bound(sizes: Sequence[int], epsilons: Sequence[float]) -> float:
    """The paper's bound on the expected gap of Algorithm 2 (Proposition alg2Exp).

    It also holds for discrete Laplace noise, whose mean size 1 / sinh(epsilon) is smaller.

    Examples
    --------
    >>> round(paper_expected_gap_bound([3674, 7631], [0.05, 0.05]), 4)
    0.022
    """
    return min(1.0, _paper_terms(sizes, epsilons, None))


def paper_utility_bound(
    sizes: Sequence[int], epsilons: Sequence[float], eta: float | None = None
) -> float:
    """The paper's bound on the changes in excess of the fewest possible: 5/2 of the gap's bound.

    With probability 1 - eta, or in expectation when eta is None. At most 2, the largest sum.

    Examples
    --------
    >>> round(paper_utility_bound([3674, 7631], [0.05, 0.05], 0.05), 4)
    0.1996
    """
    return min(2.0, 2.5 * _paper_terms(sizes, epsilons, eta))


def chernoff_gap_bound(sizes: Sequence[int], epsilons: Sequence[float], eta: float) -> float:
    r"""C1: a bound without data, by Chernoff's method on the sum of all errors.

    .. math:: \inf_s \frac1s \Big[\ln\frac4\eta + \frac{s^2}{8}\Big(\frac1{n_0}+\frac1{n_1}\Big)
              - \ln(1-s^2b_0^2) - \ln(1-s^2b_1^2)\Big], \qquad b_a = \frac1{n_a\epsilon_a}

    Any s gives a valid bound. With X, X' the errors of the two noisy rates before clipping,
    either sign of the gap is at most max(X, 0) + max(-X', 0), or the same with the groups
    swapped. Let f(s) = exp(s^2/8n) / (1 - s^2 b^2), which bounds E exp(sX); it is at least
    1 + z^2/2 with z = s sd(X). Then E exp(s max(X, 0)) <= f + E(1 - exp(sX))_+ <= f + z/2
    <= (1 + 1/sqrt(8)) f, and the square of this factor is below 2, for two signs: hence the 4.
    The moments of discrete Laplace noise are smaller, so the bound holds for both kinds.

    Examples
    --------
    >>> round(chernoff_gap_bound([3674, 7631], [0.05, 0.05], 0.05), 4)
    0.0452
    """
    in_open_interval(0, 1, eta=eta)
    n, b = _sizes_and_scales(sizes, epsilons)
    cost, quadratic = math.log(4 / eta), float((1 / n).sum()) / 8

    def at(s: float) -> float:
        return float((cost + s * s * quadratic - np.log1p(-((s * b) ** 2)).sum()) / s)

    # With noise the best s is below the optimum without noise, and s b must stay below 1.
    without_noise = math.sqrt(cost / quadratic)
    top = min(without_noise, (1 - 1e-9) / max(float(b.max()), 1e-300))
    found = optimize.minimize_scalar(at, bounds=(top * 1e-3, top), method="bounded")
    return min(1.0, at(float(found.x)), at(top))


def expected_gap(
    population_rates: Sequence[float], sizes: Sequence[int], noise: Sequence[float]
) -> float:
    """Exact expected gap of Algorithm 2 for two groups with public sizes, to about 1e-9.

    It adds up |gap| over all pairs of noisy counts, whose clipped rates have atoms at 0 and 1.

    Examples
    --------
    >>> round(expected_gap([0.06, 0.2], [3674, 7631], [0.05, 0.05]), 4)
    0.0068
    """
    alpha, beta = population_rates
    (first, mass), (second, other_mass) = (
        _clipped_rates(p, n, t) for p, n, t in zip(population_rates, sizes, noise, strict=True)
    )
    total = 0.0
    for rate, weight in zip(first, mass, strict=True):  # row by row keeps the memory small
        target = (rate + second) / 2
        lift, keep = moves(rate, target)
        other_lift, other_keep = moves(second, target)
        gap = lift + (keep - lift) * alpha - other_lift - (other_keep - other_lift) * beta
        total += float(weight * (other_mass @ np.abs(gap)))
    return total


def _bound(
    rates: Sequence[NoisyRate],
    rule: Rule,
    levels: Floats,
    confidence: float,
    method: Literal["C2", "C3"],
) -> GapBound:
    """Worst cases when groups may share the steps of ``levels`` [group, level, (low, high)]."""
    lift, keep = rule.accept[:, 0], rule.accept[:, 1]
    after = _images(lift, keep - lift, levels)
    changed = _images(lift, 1 - keep - lift, levels)
    gap = max(
        _largest_sum([after[a, :, 1], -after[b, :, 0]])
        for a, b in itertools.permutations(range(len(rates)), 2)
    )
    # Nothing is known about a group without records, for any rule.
    bound = 1.0 if any(rate.size == 0 for rate in rates) else min(1.0, max(0.0, gap))
    opposite = any(not lift[a] and keep[1 - a] == 1 for a in (0, 1)) and len(rates) == 2
    return GapBound(
        bound=bound,
        confidence=confidence,
        method=method,
        before=tuple((float(low), float(high)) for low, high in levels[:, -1]),
        after=tuple((float(low), float(high)) for low, high in after[:, -1]),
        changes=(-_largest_sum(-changed[..., 0]), _largest_sum(changed[..., 1])),
        excess_changes=2 * bound if opposite else None,
    )


def _images(constant: Floats, slope: Floats, levels: Floats) -> Floats:
    """Intervals of constant + slope * p for p in the levels; a negative slope swaps the ends."""
    ends = constant[:, None, None] + slope[:, None, None] * levels
    ends.sort(axis=-1)
    return ends


def _largest_sum(groups: Sequence[Floats] | Floats) -> float:
    """Largest sum of one value per group when the groups share the steps of the last level.

    ``groups[a][i]`` is the largest value of group a within i steps, so each array grows.
    """
    total = groups[0]
    for group in groups[1:-1]:
        total = np.array([_shared(total, group, k) for k in range(len(group))])
    return _shared(total, groups[-1], len(total) - 1)


def _shared(first: Floats, second: Floats, k: int) -> float:
    """Largest sum within k steps: if the first used i - 1 to i, the second has k - (i - 1)."""
    return float((first[1 : k + 1] + second[k:0:-1]).max() if k else first[0] + second[0])


def _paper_terms(sizes: Sequence[int], epsilons: Sequence[float], eta: float | None) -> float:
    n, b = _sizes_and_scales(sizes, epsilons)
    if eta is None:
        return float((b + np.sqrt(1 / (4 * n))).sum())
    in_open_interval(0, 1, eta=eta)
    return float((math.log(4 / eta) * b + np.sqrt(math.log(8 / eta) / (2 * n))).sum())


def _sizes_and_scales(sizes: Sequence[int], epsilons: Sequence[float]) -> tuple[Floats, Floats]:
    """The two sizes and the scales 1 / (n epsilon) of the noise in the rates."""
    n, epsilon = np.array(sizes, dtype=np.float64), np.array(epsilons, dtype=np.float64)
    if n.shape != (2,) or epsilon.shape != (2,):
        raise InputError("Expected the sizes and epsilons of two groups.")
    if not (np.all(n >= 1) and np.all(epsilon > 0)):
        raise InputError(f"Expected sizes >= 1 and epsilons > 0, got {sizes} and {epsilons}.")
    return n, 1 / (n * epsilon)


def _clipped_rates(p: float, n: int, noise: float) -> tuple[Floats, Floats]:
    """Distribution of clip((C + Z) / n, 0, 1): points and their probabilities."""
    counts, weights = binomial_window(n, p)
    reach = math.ceil(25 / noise)  # e^-25 is about 1e-11
    laplace = np.exp(-np.abs(np.arange(-reach, reach + 1.0)) * min(noise, 1e3))
    mass = signal.fftconvolve(weights, laplace / laplace.sum())
    values = np.clip(counts[0] - reach + np.arange(len(mass)), 0, n).astype(np.int64)
    folded = np.zeros(int(values[-1] - values[0]) + 1)
    np.add.at(folded, values - values[0], mass)
    used = folded > 1e-15  # also drops the rounding errors of the transform
    rates: Floats = (values[0] + np.flatnonzero(used)) / n
    return rates, folded[used]


def _check_groups(rates: Sequence[NoisyRate], rule: Rule) -> None:
    if len(rates) < 2 or rule.accept.shape != (len(rates), 2):
        raise InputError(
            f"Expected a rule with 2 cells for at least 2 groups, one rate per group, "
            f"got a table of shape {rule.accept.shape} and {len(rates)} rates."
        )


def _error(confidence: float) -> float:
    in_open_interval(0, 1, confidence=confidence)
    return 1 - confidence
