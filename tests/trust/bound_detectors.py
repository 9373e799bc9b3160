"""What catches a broken bound: levels that add up to too much, tails that are too small."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from fractions import Fraction
from typing import Any

import numpy as np
from trust.coverage import evaluation_held
from trust.levels import asked
from trust.registry import detector

from dpfair.certificate import rule_claim, text
from dpfair.fairness.bounds import bands, deviations, paper, placement
from dpfair.fairness.bounds.tails import NoiseLaw, expected_chance, reaches
from dpfair.fairness.choice import ChosenRule
from dpfair.fairness.dither import GRAIN
from dpfair.fairness.goal import Goal
from dpfair.fairness.notions import NOTIONS
from dpfair.fairness.rates import NoisyRate
from dpfair.fairness.release import Release
from dpfair.fairness.rules import Rule

PARITY = NOTIONS["demographic_parity"]
ROUNDING = 1 + 1e-9


def table(seed: int, groups: int, bins: int, noise: float = 1.0) -> Release:
    """Counts that all differ, so that no two questions about them look like one."""
    rng = np.random.default_rng(seed)
    counts = rng.permutation(np.arange(200, 200 + 7 * groups * 2 * bins, 7))
    edges = np.arange(1, bins) / bins
    names, extra = tuple("abcdef"[:groups]), {"group": 11, "label": 17}
    shaped = counts.reshape(groups, 2, bins)
    return Release(names, edges, shaped, (noise,) * groups, None, "", undeclared=extra)


def _confidence(seed: int) -> float:
    return float(np.random.default_rng(seed).uniform(0.8, 0.99))


def _over(what: str, spent: float, eta: float) -> Iterator[str]:
    if spent > eta * ROUNDING:
        yield f"{what} fails with probability {spent:.6f}, and {eta:.6f} is promised."


@detector("rule levels")
def _rule_levels(seed: int) -> Iterator[str]:
    """Whatever rule is chosen, all that its bound may rest on fails with eta at most."""
    confidence = _confidence(seed)
    for (name, notion), k in itertools.product(NOTIONS.items(), (2, 3)):
        for kind, bins in (("band", 4), ("fixed", 2), ("corrected", 2)):
            release = table(seed, k, bins)
            with asked() as found:
                for lottery in np.eye(bins + 1):
                    chosen = np.tile(lottery, (k, 1))
                    if kind == "band":
                        bands.band_bound(release, chosen, notion, confidence)
                    elif kind == "corrected":
                        found.regions.clear()  # the same region holds for every lottery
                        bands.fixed_bound(release, notion, confidence, chosen)
                if kind == "fixed":
                    bands.fixed_bound(release, notion, confidence)
            spent = found.total("interval") + found.fisher(k)
            yield from _over(f"The {kind} bound of {name}, {k} groups,", spent, 1 - confidence)
    for private, k in itertools.product((False, True), (2, 3)):
        yield from _flips(seed, private, k, confidence)


def _flips(seed: int, private: bool, k: int, confidence: float) -> Iterator[str]:
    counts = table(seed, k, 2).counts[:, 0]
    groups = [
        NoisyRate(int(c[1]), int(c[0]) if private else None, None if private else int(c.sum()), 1.0)
        for c in counts
    ]
    rule = Rule(np.tile([0.0, 1.0], (k, 1)))
    with asked() as found:
        paper.combined_gap_bound(groups, rule, confidence)
    yield from _over("C3", found.fisher(k), 1 - confidence)
    with asked() as found:
        paper.interval_gap_bound(groups, rule, confidence)
    # The groups are independent.
    together = 1 - math.prod(1 - max(levels) for levels in found.limits.values())
    yield from _over("C2", together, 1 - confidence)


@detector("accuracy levels")
def _accuracy_levels(seed: int) -> Iterator[str]:
    """The limits of all rules that the counts may choose from fail with eta at most."""
    confidence, bins = _confidence(seed), 3
    for k in (1, 2, 3, 6):
        release = table(seed, k, bins)
        if k <= 3:
            choices: Any = itertools.product(range(bins + 1), repeat=k)
        else:  # too many combinations; each group's thresholds are added up
            choices = [(j,) * k for j in range(bins + 1)]
        with asked() as found:
            for choice in choices:
                bands.accuracy_bound(release, np.eye(bins + 1)[list(choice)], confidence)
        yield from _over(f"The accuracy of {k} groups", found.total("lower"), 1 - confidence)
    with asked() as found:
        bands.fixed_accuracy(table(seed, 2, 2), confidence)
    yield from _over("The accuracy of a finished rule", found.total("lower"), 1 - confidence)


@detector("placed levels")
def _placed_levels(seed: int) -> Iterator[str]:
    """Sizes, cells and deviations of placed thresholds fail with eta at most."""
    eta, bins = 1 - _confidence(seed), 6
    for notion, k in itertools.product((PARITY, NOTIONS["equal_opportunity"]), (1, 2, 3)):
        release = replace(table(seed, k, bins, math.inf), grain=GRAIN)
        with asked() as found:
            placement.placement_bound(release, notion, [0.3] * k, 1 - eta)
        # Every cell is wider than a grain, so each is judged by itself.
        others = found.total("sizes") + bins * found.total("upper", "interval")
        # First both ends of every interval, then for every ordered pair the top of the first group.
        one, top = max(found.quantiles[: 2 * k]), max(found.quantiles[2 * k :], default=0.0)
        pair = max(2 * one, *found.sums) if found.sums else 2 * one
        yield from _over(f"An interval of {k} groups", others + 2 * k * one, eta)
        yield from _over(f"A pair of {k} groups", others + k * top + k * (k - 1) * pair, eta)
        if len(found.quantiles) != 2 * k + k * (k - 1):
            yield "A bound for placed thresholds asks other questions than were counted."


@detector("claims")
def _claims(seed: int) -> Iterator[str]:
    """What a certificate says beside the gap fails with eta at most, each statement by itself."""
    confidence, k, bins = _confidence(seed), 2, 4
    eta, release = 1 - confidence, table(seed, k, bins)
    with asked() as found:
        for choice in itertools.product(range(bins + 1), repeat=k):
            lottery = np.eye(bins + 1)[list(choice)]
            nothing = np.zeros((1, k)), np.zeros(k)
            decision = ChosenRule(Rule([[0, 1]] * k), release, lottery, None, 0.5, *nothing)
            claim = rule_claim(release, decision, Goal(PARITY), confidence)
    shares = [found.limits["interval", release.undeclared_rate(kind)] for kind in claim.undeclared]
    yield from _over("A share of undeclared values", sum(map(max, shares)), eta)
    # The accuracy is asked for twice: for its own bound and, surer, against the constants.
    yield from _over("The accuracy", found.total("lower"), eta)
    spent = found.total("lower", surest=True) + found.total("upper")
    yield from _over("That a model beats every constant", spent, eta)


# --- one rate -------------------------------------------------------------------------------


def _laplace(noise: float, cells: int, reach: int = 60) -> np.ndarray:
    """P(Z = z) of a sum of discrete Laplace variables, by convolution, and never above it."""
    one = math.tanh(noise / 2) * np.exp(-noise * np.abs(np.arange(-reach, reach + 1)))
    total = np.ones(1)
    for _ in range(cells):
        total = np.convolve(total, one)
    return total


def _rate(seed: int, private: bool) -> NoisyRate:
    rng = np.random.default_rng(seed)
    size = int(rng.choice([12, 40]))
    accepted, cells = int(rng.integers(1, size)), rng.integers(1, 4, 2).tolist()
    rest = (size - accepted, None) if private else (None, size)
    return NoisyRate(accepted, *rest, float(rng.choice([0.7, 2.0])), *cells)


@detector("sizes")
def _sizes(seed: int) -> Iterator[str]:
    """A range of sizes holds the size as often as it says."""
    rate = _rate(seed, private=True)
    for eta in (0.2, 0.01, 1e-4):
        masses = _laplace(rate.noise, rate.accepted_cells + rate.rejected_cells)
        middle, total = len(masses) // 2, rate.accepted + (rate.rejected or 0)
        # The size is in the range if the noise is at most this much.
        low, high = rate.size_range(eta)
        up, down = total - low, high - total
        if low > 0:
            missed = masses[: middle - down].sum() + masses[middle + up + 1 :].sum()
            yield from _over("A range of sizes", missed, eta)


@detector("limits")
def _limits(seed: int) -> Iterator[str]:
    """What the ends of intervals exclude is excluded at levels that have been paid."""
    eta = 0.1 if seed % 2 else 0.003
    for private in (False, True):
        rate = _rate(seed, private)
        for kind, sides in (("interval", "lu"), ("lower_limit", "l"), ("upper_limit", "u")):
            ranges, found = _watched(rate, kind, eta)
            paid = sum(level for _, level in ranges) if private else 0.0
            ends = found if kind == "interval" else (found,)
            for end, side in zip(ends, sides, strict=True):
                tail = rate.upper_tail if side == "l" else rate.lower_tail
                if 0 < end < 1:
                    spent = paid + len(sides) * float(tail(end, ranges[-1][0]))
                    yield from _over(f"The end {end:.4f} of {kind}", spent, eta)
    rate, etas = _rate(seed, private=False), np.exp(-np.linspace(0, 6, 13))
    for ends, level in zip(rate.nested_intervals(etas, eta), etas.tolist(), strict=True):
        for end in ends.tolist():
            if 0 < end < 1:
                p_value = float(rate.p_value(end, eta))
                yield from _over(f"The end {end:.4f} of nested intervals", p_value, level)


class Watched(NoisyRate):
    """A rate that remembers the ranges of sizes that it was asked for, with their levels."""

    def size_range(self, eta: float) -> tuple[int, int]:
        sizes = super().size_range(eta)
        vars(self).setdefault("ranges", []).append((sizes, eta))
        return sizes


def _watched(rate: NoisyRate, kind: str, eta: float) -> tuple[list[Any], Any]:
    """The ranges of sizes that a limit rests on, with their levels, and the limit."""
    own = Watched(**{part.name: getattr(rate, part.name) for part in fields(rate)})
    found = getattr(own, kind)(eta)
    return vars(own)["ranges"], found


@detector("tails of rates")
def _tails(seed: int) -> Iterator[str]:
    """Tails are never below the exact ones, at any size of the range, nor by a last digit."""
    rng = np.random.default_rng(seed)
    n, law = 12, NoiseLaw(np.zeros(1), np.ones((1, 1)))
    for k, p in itertools.product((3, 7), (Fraction(1, 8), Fraction(5, 16), Fraction(3, 4))):
        exact = sum(math.comb(n, c) * p**c * (1 - p) ** (n - c) for c in range(k, n + 1))
        at = np.array([float(p)])
        for tail in (
            expected_chance(n, at, lambda counts, k=k: (counts >= k).astype(float)),
            reaches(n, at, law, k),
        ):
            if Fraction(float(tail[0])) < exact:
                yield f"A tail of {n} records at {p} is below the exact one."
                return
    rate = _rate(seed, private=True)
    size, points = rate.accepted + (rate.rejected or 0), rng.random(3)
    # In a wide range blocks of sizes hide which of them are looked at.
    for (side, tail), sizes in itertools.product(
        (("upper", rate.upper_tail), ("lower", rate.lower_tail)),
        (rate.size_range(0.3), (size, size + 1)),
    ):
        for p, chance in zip(points.tolist(), tail(points, sizes).tolist(), strict=True):
            for size in sizes:
                if chance < _exact_tail(rate, p, size, side) * (1 - 1e-12):
                    yield f"The {side} tail at the size {size} is below the exact one."
                    return


def _exact_tail(rate: NoisyRate, p: float, size: int, side: str) -> float:
    """P((1 - r) Y - r R beyond its observed value) for r next to p on the grid of the rate."""
    assert rate.rejected is not None
    m = rate.resolution
    if side == "lower":
        rate, p = rate.mirrored, 1 - p
    r = Fraction(int(np.rint(p * m)), m)
    noises = []
    for cells in (rate.accepted_cells, rate.rejected_cells):
        masses = _laplace(rate.noise, cells, 25)
        noises.append((masses, np.arange(len(masses)) - len(masses) // 2))
    (up, above), (down, below) = noises
    counts = np.arange(size + 1)
    binomial = np.array(
        [math.comb(size, c) * p**c * (1 - p) ** (size - c) for c in counts.tolist()]
    )
    i = int(r * m)
    # All in whole multiples of 1 / m: nothing is rounded in the comparison.
    noise = (m - i) * above[:, None] - i * below[None, :]
    chances = (up[:, None] * down[None, :]).ravel()
    order = np.argsort(noise.ravel())
    sorted_noise = noise.ravel()[order]
    from_top = np.append(np.cumsum(chances[order][::-1])[::-1], 0.0)
    needed = (m - i) * rate.accepted - i * (rate.rejected or 0) - (m * counts - i * size)
    return float(binomial @ from_top[np.searchsorted(sorted_noise, needed)])


# --- the law of the noise -------------------------------------------------------------------


def _survival(law: Any, column: int, points: Sequence[float]) -> np.ndarray:
    return np.array([law.masses[law.places >= z - 1e-12, column].sum() for z in points])


@detector("laws")
def _laws(seed: int) -> Iterator[str]:
    """The noise of a threshold, and the maximum of a walk, are never taken for smaller."""
    rng = np.random.default_rng(seed)
    noise, target, bins = float(rng.uniform(0.8, 2.0)), float(rng.uniform(0.1, 0.9)), 2
    found = deviations.shortfalls(noise, 1, bins, target)
    one, ends = _laplace(noise, 1, 20), np.arange(-20, 21)
    both = (one[:, None] * one[None, :]).ravel()
    for above, weights in enumerate(((target, target), (1 - target, target), (1 - target,) * 2)):
        places = (weights[0] * ends[:, None] + weights[1] * ends[None, :]).ravel()
        yield from _below("noise of a threshold", found, above, places, both)
    walks = np.array(list(itertools.product(ends, repeat=2)))
    highest = np.maximum(0, np.maximum(walks[:, 0], walks.sum(axis=1)))
    lift = deviations.lift(noise, 2, target)
    yield from _below("maximum of a walk", lift, 0, highest - target * walks.sum(axis=1), both)


def _below(
    what: str, law: Any, column: int, places: np.ndarray, chances: np.ndarray
) -> Iterator[str]:
    points = np.quantile(places, np.linspace(0.3, 1, 15))
    exact = np.array([chances[places >= z - 1e-12].sum() for z in points])
    seen = exact > 1e-6
    if np.any(_survival(law, column, points[seen]) < exact[seen] - 1e-9):
        yield f"The {what} is taken for smaller than it is."


@detector("cells")
def _cells(seed: int) -> Iterator[str]:
    """A rate knows how many noisy numbers each of its counts adds up."""
    release = table(seed, 2, 3)
    questions = {
        "right_rate": lambda r: r.right_rate([0, 1], [1, 2]),
        "right_rate of a group": lambda r: r.right_rate([1], [1]),
        "rate": lambda r: r.rate(0, 2),
        "rate by label": lambda r: r.rate(1, 1, (1,)),
        "rate of right decisions": lambda r: r.rate(1, 1, correct=True),
        "undeclared_rate": lambda r: r.undeclared_rate("label"),
    }
    for name, question in questions.items():
        rate, moved = question(release), [0, 0]
        for other_release in _one_more(release):
            other = question(other_release)
            moved[0] += other.accepted != rate.accepted
            moved[1] += other.rejected != rate.rejected
        if moved != [rate.accepted_cells, rate.rejected_cells]:
            yield f"{name} adds up {moved} cells and counts the noise of others."


def _one_more(release: Release) -> Iterator[Release]:
    """The release with one of its noisy numbers larger by one."""
    for cell in range(release.counts.size):
        counts = release.counts.copy()
        counts.ravel()[cell] += 1
        yield replace(release, counts=counts)
    for kind, count in release.undeclared.items():
        yield replace(release, undeclared={**release.undeclared, kind: count + 1})


@detector("print")
def _print(seed: int) -> Iterator[str]:
    """A bound in print promises no more than the number."""
    for bound in np.random.default_rng(seed).random(20).tolist():
        if float(text.round_up(bound)) < bound or float(text.round_down(bound)) > bound:
            yield f"{bound} is printed as a better bound."
            return


@detector("dependence")
def _dependence(seed: int) -> Iterator[str]:
    """A bound from several equal records of each person holds, or is not printed."""
    how = {"persons": 300, "epsilon": 20.0, "seed": seed}
    if evaluation_held("equal records", trials=1, **how).made:
        yield from evaluation_held("equal records", trials=100, **how).failures()
