"""Do printed bounds hold as often as they say? Releases are drawn from known populations.

No model is trained: counts are multinomial, their noise is drawn by numpy, and what is true about a
rule follows from the population's cells.
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import polars as pl
from sample_tables import LOANS, make_loans
from scipy.stats import binom

from dpfair import PrivateFairClassifier, Schema
from dpfair.certificate import FairnessClaim, parity_claim, rule_claim
from dpfair.evaluation import evaluate_privately
from dpfair.fairness.choice import best_rule, corrected_rule, placed_rule
from dpfair.fairness.dither import GRAIN
from dpfair.fairness.goal import Goal
from dpfair.fairness.notions import NOTIONS
from dpfair.fairness.release import Release
from dpfair.fairness.rules import Rule, parity_rule

__all__ = ["KINDS", "POPULATIONS", "STRUCTURES", "Held", "evaluation_held", "fit_held"]

CONFIDENCE = 0.95
BINS = 6
# A sound bound is suspected once in a hundred thousand coverages.
SUSPICION = 1e-5


class Held:
    """How often each kind of statement was made, and was true."""

    def __init__(self) -> None:
        self.made, self.true = Counter[str](), Counter[str]()

    def add(self, what: str, true: bool) -> None:
        """One more statement."""
        self.made[what] += 1
        self.true[what] += bool(true)

    def failures(self) -> list[str]:
        """The statements that fail more often than chance explains."""
        return [
            f"{what} holds {self.true[what]} times of {made}"
            for what, made in self.made.items()
            if self.true[what] < binom.ppf(SUSPICION, made, CONFIDENCE)
        ]

    def __str__(self) -> str:
        shares = (f"{what} {self.true[what] / made:.3f}" for what, made in self.made.items())
        return ", ".join(shares) or "no bound"


# --- what a fit certifies -------------------------------------------------------------------


@dataclass(frozen=True)
class Population:
    """A population: P(group), P(label, bin | group), and the shares of undeclared values."""

    records: int
    shares: tuple[float, ...]
    positive: float
    noise: float = 1.0
    undeclared: tuple[float, float] = (0.03, 0.01)

    def cells(self, bins: int) -> np.ndarray:
        """P(group, label, bin) of declared records."""
        middle = (np.arange(bins) + 0.5) / bins
        tables = []
        for a, share in enumerate(self.shares):
            mass = middle ** (0.5 + 0.3 * a) * (1 - middle) ** 0.7
            label = np.minimum(2 * self.positive * middle, 1.0)
            table = np.stack([mass * (1 - label), mass * label])
            tables.append(share * table / table.sum())
        return (1 - sum(self.undeclared)) * np.array(tables) / sum(self.shares)

    def release(self, rng: np.random.Generator, bins: int, *, labelled: bool = True) -> Release:
        """A noisy table of independent records."""
        cells = self.cells(bins)
        chances = [*cells.ravel(), *self.undeclared]
        counts = rng.multinomial(self.records, chances)
        shape, extra = cells.shape, counts[cells.size :]
        table = counts[: cells.size].reshape(shape)
        if not labelled:
            table = table.sum(axis=1, keepdims=True)
        noisy, others = (c + _laplace(rng, self.noise, c.shape) for c in (table, extra))
        return Release(
            groups=tuple("abcdef"[: len(cells)]),
            edges=np.arange(1, bins) / bins,
            counts=noisy,
            noise=(self.noise,) * len(cells),
            sizes=None,
            dependence="",
            grain=GRAIN if bins == BINS else None,
            undeclared=dict(zip(("group", "label"), others.tolist(), strict=True)),
        )


def _laplace(rng: np.random.Generator, t: float, shape: tuple[int, ...]) -> np.ndarray:
    p = -math.expm1(-t)
    return rng.geometric(p, shape) - rng.geometric(p, shape)


POPULATIONS = {
    "plain": Population(1500, (0.4, 0.6), 0.4),
    "rare labels": Population(3000, (0.4, 0.6), 0.02),
    "a tiny group": Population(800, (0.02, 0.98), 0.4, noise=2.0),
    "three groups": Population(1500, (0.2, 0.3, 0.5), 0.4),
    "much noise": Population(1000, (0.4, 0.6), 0.4, noise=0.2),
}

Drawn = tuple[FairnessClaim, np.ndarray, np.ndarray]


def _band(population: Population, rng: np.random.Generator) -> Drawn:
    goal, release = Goal(NOTIONS["equalized_odds"], 0.05), population.release(rng, BINS)
    decision = best_rule(release, goal, smallest=1, small_groups="merge")
    claim = rule_claim(release, decision, goal, CONFIDENCE)
    return claim, decision.lottery, population.cells(BINS)


def _placed(population: Population, rng: np.random.Generator) -> Drawn:
    goal, release = Goal(NOTIONS["demographic_parity"]), population.release(rng, BINS)
    decision = placed_rule(release, goal, (0.35,) * len(population.shares))
    claim = rule_claim(release, decision, goal, CONFIDENCE)
    return claim, decision.lottery, population.cells(BINS)


def _corrected(notion: str) -> Callable[[Population, np.random.Generator], Drawn]:
    def drawn(population: Population, rng: np.random.Generator) -> Drawn:
        goal, decisions = Goal(NOTIONS[notion]), population.release(rng, 2)
        planned = Rule(np.tile([0.0, 1.0], (len(population.shares), 1)))
        how = {"smallest": 1, "small_groups": "merge"}
        decision = corrected_rule(planned, decisions, goal, **how)
        claim = rule_claim(decisions, decision, goal, CONFIDENCE)
        return claim, decision.lottery, population.cells(2)

    return drawn


def _fixed(population: Population, rng: np.random.Generator) -> Drawn:
    goal, check = Goal(NOTIONS["equal_opportunity"]), population.release(rng, 2)
    found = best_rule(check, goal, smallest=1, small_groups="merge")
    decision = replace(found, rule=Rule(np.tile([0.0, 1.0], (len(population.shares), 1))))
    claim = rule_claim(check, decision, goal, CONFIDENCE, check=check)
    return claim, np.tile([0.0, 1.0, 0.0], (len(population.shares), 1)), population.cells(2)


def _flips(population: Population, rng: np.random.Generator) -> Drawn:
    release = population.release(rng, 2, labelled=False)
    rule = parity_rule([rate.estimate for rate in release.rates])
    claim = parity_claim(release, rule, CONFIDENCE)
    lift, keep = rule.accept.T
    return claim, np.stack([lift, keep - lift, 1 - keep], axis=1), population.cells(2)


KINDS = {
    "band": _band,
    "placed": _placed,
    "corrected": _corrected("equal_opportunity"),
    "corrected accuracies": _corrected("accuracy_parity"),
    "fixed": _fixed,
    "flips": _flips,
}


def fit_held(kind: str, population: Population, trials: int, seed: int = 0) -> Held:
    """Draw releases, certify them, and compare every statement with the truth."""
    rng, held = np.random.default_rng(seed), Held()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(trials):
            claim, lottery, cells = KINDS[kind](population, rng)
            for what, true in _statements(claim, lottery, cells, population):
                held.add(what, true)
    return held


def _statements(
    claim: FairnessClaim, lottery: np.ndarray, cells: np.ndarray, population: Population
) -> Iterator[tuple[str, bool]]:
    notion = NOTIONS[claim.notion]
    tails = np.pad(np.cumsum(cells[..., ::-1], axis=-1)[..., ::-1], ((0, 0), (0, 0), (0, 1)))
    right = tails[:, 1] + tails[:, 0, :1] - tails[:, 0]
    values = []
    for statistic in notion.statistics:
        rows = list(statistic.labels)
        hits = right if statistic.correct else tails[:, rows].sum(axis=1)
        values.append((lottery * hits).sum(axis=1) / cells[:, rows].sum(axis=(1, 2)))
    yield "gap", notion.gap(values) <= claim.gap_bound + 1e-9
    names = {name: a for a, name in enumerate(claim.groups)}
    pairs = [
        notion.gap([[row[names[a]], row[names[b]]] for row in values]) <= bound + 1e-9
        for a, b, bound in claim.pairs
    ]
    yield "pairs", all(pairs)
    ends = [claim.intervals[statistic.name] for statistic in notion.statistics]
    inside = np.array(ends)[..., 0] - 1e-9 <= values
    yield "intervals", bool((inside & (values <= np.array(ends)[..., 1] + 1e-9)).all())
    accuracy = float((lottery * right).sum())
    if claim.accuracy_bound is not None:
        yield "accuracy", accuracy >= claim.accuracy_bound - 1e-9
        constants = cells.sum(axis=(0, 2))
        yield "constants", not claim.beats_constant or accuracy > constants.max()
    shares = zip(population.undeclared, claim.undeclared.values(), strict=True)
    yield "undeclared", all(low <= share <= high for share, (_, (low, high)) in shares)


# --- what a private evaluation prints -------------------------------------------------------

PERSON = "person"
STRUCTURES = {
    "one record each": (1, lambda rng, drawn: drawn),
    "equal records": (5, lambda rng, drawn: np.repeat(drawn, 5)),
    "records of one group and label": (5, lambda rng, drawn: _alike(rng, drawn)),
}


def evaluation_held(
    structure: str, *, persons: int, epsilon: float, trials: int, seed: int = 0
) -> Held:
    """Evaluate a model privately on records of many persons; its bounds are about new ones."""
    rows, records_of = STRUCTURES[structure]
    model, truth = _evaluated(rows)
    table, labels = _population()
    rng, held = np.random.default_rng(seed), Held()
    for trial in range(trials):
        chosen = records_of(rng, rng.integers(0, len(labels), persons))
        # Nobody is drawn twice: a person keeps the coin that decides.
        ids = np.repeat(trial * persons + np.arange(persons), rows).astype(str)
        X = table[chosen.tolist()].with_columns(pl.Series(PERSON, ids))
        paid = evaluate_privately(model, X, labels[chosen], epsilon=epsilon)
        if paid.gap_bound is not None:
            held.add("gap", truth["gap"] <= paid.gap_bound)
        if paid.accuracy_bound is not None:
            held.add("accuracy", truth["accuracy"] >= paid.accuracy_bound)
    return held


@cache
def _population() -> tuple[pl.DataFrame, np.ndarray]:
    return make_loans(20_000, seed=9)


def _alike(rng: np.random.Generator, drawn: np.ndarray) -> np.ndarray:
    """Five records of each person, who keeps the group and the label."""
    X, y = _population()
    kinds = 2 * (X["sex"].to_numpy() == "m") + (y == "yes")
    chosen = np.empty((len(drawn), 5), dtype=np.int64)
    for kind in range(4):
        own = kinds[drawn] == kind
        chosen[own] = rng.choice(np.flatnonzero(kinds == kind), (int(own.sum()), 5))
    return chosen.ravel()


@cache
def _evaluated(rows: int) -> tuple[PrivateFairClassifier, dict[str, float]]:
    """A model, and how it does on the population, on average over its coins."""
    X, y = _population()
    people = X.with_columns(pl.Series(PERSON, np.arange(len(y)).astype(str)))
    settings = {"unit": PERSON, "rows_per_unit": rows, "mode": "reuse", "random_state": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = PrivateFairClassifier(
            8, schema=Schema.from_dict(LOANS), confidence=CONFIDENCE, **settings
        ).fit(people[:3000], y[:3000])
    accept = model.predict_proba(people)[:, 1]
    rates = [float(accept[(X["sex"] == sex).to_numpy()].mean()) for sex in ("f", "m")]
    right = np.where(y == "yes", accept, 1 - accept)
    return model, {"gap": abs(rates[0] - rates[1]), "accuracy": float(right.mean())}
