"""Measure learners on made tables whose labels depend on columns jointly.

``python scripts/interaction_tables.py --epsilons 1 3 --seeds 100-102`` prints the mean accuracy on
records that were not trained on. Seeds 0-9 served to develop the learner `blocks`; figures are
reported for seeds from 100 on. A seed draws the rules of a table and its records.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier

from dpfair.data.encode import as_texts, encode, level_codes
from dpfair.data.records import Records
from dpfair.data.schema import Schema
from dpfair.experiments.benchmark import load_dataset, parse_seeds, split
from dpfair.learners import LEARNERS
from dpfair.learners.features import coarse_codes
from dpfair.learners.protocols import TrainingBudget
from dpfair.privacy.ledger import Ledger
from dpfair.privacy.noise import Noise

__all__ = ["SHAPES", "Shape", "Split", "made", "shipped", "test_accuracy"]

DELTA = 1e-5
TEST_ROWS = 20_000
SHIPPED = ("adult", "credit")


@dataclass(frozen=True)
class Shape:
    """How a table is made.

    Parameters
    ----------
    rows
        The number of records to train on.
    sizes
        The number of categories of each column; a numeric column, which is cut into this many
        equal parts to make labels, has a negative number.
    pairs, triples
        How many pairs and triples of columns have log-odds for every combination.
    rules
        How many conjunctions of two or three conditions add to the log-odds of their records.
    main
        The size of the log-odds of single columns, relative to that of the combinations.
    odds
        The standard deviation of the log-odds.
    """

    rows: int
    sizes: tuple[int, ...]
    pairs: int = 0
    triples: int = 0
    rules: int = 0
    main: float = 0.3
    odds: float = 4.0


SHAPES = {
    "pairs": Shape(20_000, (2, 3, 3, 4, 4, 5, 6, 8), pairs=6),
    "triples": Shape(50_000, (2, 2, 3, 3, 3, 4, 4, 4, 5, 6), pairs=2, triples=3),
    "rules": Shape(30_000, (2, 2, 3, 3, 4, 4, 5, 6), rules=14),
    "mixed": Shape(10_000, (2, 3, 4, 6, 12, -4, -5, -6, -10), pairs=4, triples=1, main=0.6),
}


@dataclass(frozen=True)
class Split:
    """Records to train and to test on, encoded and with labels."""

    schema: Schema
    train: Records
    test: Records


def made(name: str, seed: int) -> Split:
    """A table of one shape; the seed draws its rules and its records."""
    shape = SHAPES[name]
    rng = np.random.default_rng([list(SHAPES).index(name), seed])
    rows, sizes = shape.rows + TEST_ROWS, [abs(size) for size in shape.sizes]
    codes = np.stack([rng.choice(k, rows, p=rng.dirichlet([4.0] * k)) for k in sizes], axis=1)
    joint, alone = np.zeros(rows), np.zeros(rows)
    for width, count in ((2, shape.pairs), (3, shape.triples)):
        every = list(itertools.combinations(range(len(sizes)), width))
        for pick in rng.choice(len(every), count, replace=False):
            columns = list(every[pick])
            effects = rng.normal(size=[sizes[c] for c in columns])
            joint += effects[tuple(codes[:, columns].T)]
    for _ in range(shape.rules):
        met = np.ones(rows, dtype=bool)
        for c in rng.choice(len(sizes), rng.integers(2, 4), replace=False):
            met &= (rng.random(sizes[c]) < 0.5)[codes[:, c]]
        joint += rng.choice([-1.0, 1.0]) * met
    for c, size in enumerate(sizes):
        alone += rng.normal(size=size)[codes[:, c]]
    odds = _standard(joint) + shape.main * _standard(alone)
    odds = shape.odds * _standard(odds)
    labels = (rng.random(rows) < 1 / (1 + np.exp(-odds))).astype(np.int64)
    table: dict[str, Any] = {}
    for c, size in enumerate(shape.sizes):
        spread = (codes[:, c] + rng.random(rows)) / sizes[c]
        table[f"x{c}"] = spread if size < 0 else codes[:, c].astype(str)
    schema = _schema(shape)
    records = encode(_frame(table), schema).with_labels(labels)
    order = np.arange(rows)
    return Split(schema, records.take(order[: shape.rows]), records.take(order[shape.rows :]))


def _standard(values: NDArray[np.float64]) -> NDArray[np.float64]:
    result: NDArray[np.float64] = (values - values.mean()) / values.std()
    return result


def _frame(table: dict[str, Any]) -> Any:
    import polars as pl

    return pl.DataFrame(table)


def _schema(shape: Shape) -> Schema:
    columns = [
        {"name": f"x{c}", "kind": "numeric", "bounds": [0, 1]}
        if size < 0
        else {"name": f"x{c}", "kind": "categorical", "values": [*map(str, range(size))]}
        for c, size in enumerate(shape.sizes)
    ]
    label = {"name": "y", "values": [0, 1]}
    return Schema.from_dict({"label": label, "columns": columns, "rows": shape.rows})


def shipped(name: str, seed: int) -> Split:
    """A split of a data set of the package."""
    data = load_dataset(name)
    labels = level_codes(as_texts(data.y), data.schema.label)
    records = encode(data.X, data.schema).with_labels(labels)
    rest, test = split(len(data.y), seed)
    return Split(data.schema, records.take(rest), records.take(test))


def test_accuracy(table: Split, learner: Any, epsilon: float, seed: int) -> float:
    """The accuracy of a learner that has the whole budget, at the threshold one half."""
    plan = learner.plan(table.schema, TrainingBudget(epsilon, DELTA, "add_remove"))
    ledger = Ledger(epsilon, DELTA, noise=Noise(seed))
    receipt = ledger.charge(plan.event, scope="", purpose="train")
    scorer = learner.train(plan, table.train, table.schema, receipt)
    return float(np.mean((scorer.scores(table.test) > 0.5) == table.test.labels))


def ceiling(table: Split, seed: int) -> float:
    """The accuracy of gradient boosting without privacy."""
    train, test = (_numbers(table.schema, part) for part in (table.train, table.test))
    model = HistGradientBoostingClassifier(random_state=seed).fit(train, table.train.labels)
    return float(model.score(test, table.test.labels))


def _numbers(schema: Schema, records: Records) -> NDArray[np.float64]:
    codes = coarse_codes(schema, records)
    words = [codes[c.name] for c in schema.categorical]
    return np.column_stack([records.numeric, *words, records.groups])


def _measured(
    tables: list[str], learners: list[str], epsilons: list[float], seeds: range
) -> Iterator[str]:
    for name in tables:
        splits = {s: shipped(name, s) if name in SHIPPED else made(name, s) for s in seeds}
        best = np.mean([ceiling(table, s) for s, table in splits.items()])
        yield f"{name:8} not private: {best:.4f}"
        for epsilon in epsilons:
            cells = []
            for learner in learners:
                start = time.perf_counter()
                right = [
                    test_accuracy(table, LEARNERS[learner](), epsilon, s)
                    for s, table in splits.items()
                ]
                seconds = (time.perf_counter() - start) / len(splits)
                error = np.std(right, ddof=1) / np.sqrt(len(right)) if len(right) > 1 else 0.0
                cells.append(f"{learner} {np.mean(right):.4f} +- {error:.4f} ({seconds:.2f} s)")
            yield f"{name:8} epsilon {epsilon:<4g} {', '.join(cells)}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", nargs="+", default=[*SHAPES], choices=[*SHAPES, *SHIPPED])
    parser.add_argument("--learners", nargs="+", default=[*LEARNERS], choices=[*LEARNERS])
    parser.add_argument("--epsilons", nargs="+", type=float, default=[1.0, 3.0])
    parser.add_argument("--seeds", type=parse_seeds, default=range(100, 105))
    options = parser.parse_args()
    for line in _measured(options.tables, options.learners, options.epsilons, options.seeds):
        print(line, flush=True)
