"""Write docs/interactions.md: the learners on made tables whose columns act jointly.

A seed draws the rules of a table and its records. Seeds 0-59 served to develop the learner of
blocks, and earlier forms of the page reported seeds 200-204, which led to its last change; the page
reports others. For the data sets of the package, both the development and the page used the splits
100-104.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier

from dpfair.data.encode import encode, level_codes
from dpfair.data.records import Records
from dpfair.data.schema import Schema
from dpfair.experiments.benchmark import load_dataset, split
from dpfair.learners import LEARNERS
from dpfair.learners.features import coarse_codes
from dpfair.learners.protocols import TrainingBudget
from dpfair.privacy.ledger import Ledger
from dpfair.privacy.noise import Noise

__all__ = ["SHAPES", "Shape", "Split", "made", "page", "shipped", "test_accuracy"]

PAGE = Path(__file__).parents[1] / "docs" / "interactions.md"
DELTA = 1e-5
TEST_ROWS = 20_000
SHIPPED = ("adult", "credit")
SEEDS, SHIPPED_SEEDS = range(400, 410), range(100, 105)
TEXT = """\
# Columns that act jointly

A linear score adds up its columns. It cannot express that two columns matter together, such as
"income counts only for employees". `BoostingLearner` and `BlockLearner` can. This page compares
them on made tables and on the data sets of the package. The figures are accuracies (mean ± standard
error) on records that were not trained on, without fairness: the learner has the whole budget, and
decides at one half. `python scripts/interaction_tables.py` writes the page.

## Made tables

Eight to ten columns with two to twelve categories (in `mixed`, four of nine are numeric, with
default bins). The log-odds of a label are sums of random effects: of pairs (`pairs`, 20,000
records), of pairs and triples (`triples`, 50,000 records; `mixed` and `small`, 10,000 records), of
conjunctions of two or three conditions (`rules`, 30,000 records), and of single columns. Seeds
{seeds}; other seeds served to develop `BlockLearner`. The last column is the part of the distance
between the linear learner and boosting without privacy that `BlockLearner` closes.

{made}

## Data sets of the package

Their labels hardly depend on columns jointly. `BlockLearner` mostly notices this and trains a
linear score with four fifths of the budget. Splits 100-104, which also served to develop it.

{shipped}

The last column is scikit-learn's `HistGradientBoostingClassifier` on the same columns, without
privacy. Delta is 1e-5.
"""


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
    "small": Shape(10_000, (2, 3, 3, 4, 4, 5, 6, 8), pairs=4, triples=1, main=0.6),
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
    labels = level_codes(data.y, data.schema.label)
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
    return np.column_stack([*(c.floats for c in records.numeric), *words, records.groups])


def page(epsilons: list[float], seeds: range) -> str:
    """The text of docs/interactions.md."""
    return TEXT.format(
        seeds=f"{seeds[0]}-{seeds[-1]}",
        made="\n".join(_rows([*SHAPES], epsilons, seeds)),
        shipped="\n".join(_rows([*SHIPPED], epsilons, SHIPPED_SEEDS)),
    )


def _rows(tables: list[str], epsilons: list[float], seeds: range) -> Iterator[str]:
    # Where hardly any distance is to be closed, a part of it says nothing.
    closing = tables == [*SHAPES]
    yield f"| table | epsilon | {' | '.join(LEARNERS)} | *not private* |{' closed |' * closing}"
    yield "|---" * (len(LEARNERS) + 3 + closing) + "|"
    for name in tables:
        splits = {s: shipped(name, s) if name in SHIPPED else made(name, s) for s in seeds}
        best = [ceiling(table, s) for s, table in splits.items()]
        for epsilon in epsilons:
            found = {
                learner: [test_accuracy(table, kind(), epsilon, s) for s, table in splits.items()]
                for learner, kind in LEARNERS.items()
            }
            cells = [_mean(accuracies) for accuracies in (*found.values(), best)]
            if closing:
                cells.append(f"{_closed(found['logistic'], found['blocks'], best):.0%}")
            yield f"| {name} | {epsilon:g} | {' | '.join(cells)} |"
            print(name, epsilon, *cells, flush=True)


def _closed(linear: list[float], blocks: list[float], best: list[float]) -> float:
    """The part of the distance from the linear learner to the best that blocks close."""
    return float((np.mean(blocks) - np.mean(linear)) / (np.mean(best) - np.mean(linear)))


def _mean(accuracies: list[float]) -> str:
    error = np.std(accuracies, ddof=1) / np.sqrt(len(accuracies))
    return f"{np.mean(accuracies):.4f} ± {error:.4f}".replace("0.", ".")


if __name__ == "__main__":
    PAGE.write_text(page([0.3, 1.0, 3.0], SEEDS), encoding="utf-8")
