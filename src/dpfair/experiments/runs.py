"""One run of one method with one seed: what identifies it, and what it measures."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpfair.data.columns import Categorical, Levels, Numeric
from dpfair.data.encode import level_codes
from dpfair.data.words import as_words
from dpfair.datasets import DATASETS, load_adult
from dpfair.datasets.dataset import Dataset
from dpfair.errors import InputError
from dpfair.fairness.metrics import accuracy, parity_gap
from dpfair.learners.logistic import PAPER_SETTINGS
from dpfair.methods.algorithm2 import paper_algorithm2
from dpfair.methods.dp_fermi.method import DPFermi
from dpfair.privacy.accountants import epsilon_of
from dpfair.privacy.events import gaussian_steps
from dpfair.privacy.noise import Noise
from dpfair.privacy.split import coin_split

if TYPE_CHECKING:
    import polars as pl

__all__ = ["DATA", "DELTA", "Run", "Split", "execute", "load_split", "training_event"]

DATA = ("paper", "honest")
DELTA = 1e-5
BATCH = PAPER_SETTINGS["batch_size"]
CLIP = PAPER_SETTINGS["clip"]


@dataclass(frozen=True)
class Run:
    """Everything that a result depends on, so that equal runs have equal results."""

    method: str
    dataset: str
    data: str
    epsilon: float
    epochs: int
    seed: int
    weight: float = 0.0
    variant: str = ""
    noise_std: float | None = None
    release_epsilon: float = 0.0
    only_group: str = ""

    @property
    def key(self) -> str:
        """A name of the run, for a file of finished runs."""
        return "|".join(f"{name}={value}" for name, value in asdict(self).items())


@dataclass(frozen=True)
class Split:
    """A data set cut in a part to fit and a part to test, with the schema for the fit."""

    dataset: Dataset
    fit: NDArray[np.int64]
    test: NDArray[np.int64]

    @property
    def majority(self) -> float:
        """The accuracy of always saying no, on the test part."""
        return float(np.mean(self.labels(self.test) == 0))

    def labels(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Label codes of some rows."""
        return level_codes(self.dataset.y[rows], self.dataset.schema.label)

    def groups(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Group codes of some rows."""
        sensitive = self.dataset.schema.sensitive
        assert sensitive is not None
        return level_codes(self.dataset.X[sensitive.name][rows], sensitive)


@lru_cache(maxsize=4)
def load_split(dataset: str, data: str, seed: int) -> Split:
    """The authors' one fixed split, or a fresh honest one per seed.

    ``"paper"``: for Adult the doubled file; 75 % to fit, drawn by NumPy's legacy generator with
    seed 100 as pandas does, whatever the seed; groups coded by first appearance in the fit part,
    numbers standardised by its means (which is not private, and is what was published).
    ``"honest"``: distinct records, a coin per record, groups as in the schema.
    """
    if data == "honest":
        loaded = DATASETS[dataset].load()
        parts = coin_split(len(loaded.y), {"fit": 0.75, "test": 0.25}, Noise(10**6 + seed))
        return _with_rows(Split(loaded, parts["fit"], parts["test"]))
    loaded = load_adult("paper") if dataset == "adult" else DATASETS[dataset].load()
    n = len(loaded.y)
    fit = np.random.RandomState(100).choice(n, size=round(0.75 * n), replace=False)
    sensitive = loaded.schema.sensitive
    assert sensitive is not None
    first = as_words(loaded.X[sensitive.name][fit[:1]]).texts()[0]
    order = sorted(sensitive.values, key=lambda value: value != first)
    schema = replace(
        loaded.schema,
        sensitive=Levels(sensitive.name, tuple(order)),
        columns=tuple(_standardised_by(loaded.X[fit], column) for column in loaded.schema.columns),
    )
    split = Split(replace(loaded, schema=schema), fit, np.setdiff1d(np.arange(n), fit))
    return _with_rows(split)


def _standardised_by(frame: pl.DataFrame, column: Numeric | Categorical) -> Numeric | Categorical:
    if isinstance(column, Categorical):
        return column
    values = frame[column.name].to_numpy()
    return replace(column, center=float(values.mean()), scale=float(values.std(ddof=1)))


def _with_rows(split: Split) -> Split:
    """Sizes are public in these experiments."""
    schema = replace(split.dataset.schema, rows=len(split.fit))
    return replace(split, dataset=replace(split.dataset, schema=schema))


def training_event(run: Run, rows: int) -> Any:
    """The cost of Algorithm 2's DP-SGD with the published noise on two thirds of the rows."""
    assert run.noise_std is not None
    train = rows * (1 - 1 / 3)
    steps = run.epochs * math.ceil(train / BATCH)
    return gaussian_steps(run.noise_std / CLIP, BATCH / train, steps)


def execute(run: Run) -> dict[str, Any]:
    """Fit, decide the test part, and measure."""
    split = load_split(run.dataset, run.data, run.seed if run.data == "honest" else 0)
    model = _model(run, split)
    model.fit(split.dataset.X[split.fit], split.dataset.y[split.fit])
    decisions = level_codes(model.predict(split.dataset.X[split.test]), split.dataset.schema.label)
    groups = split.groups(split.test)
    return {
        **asdict(run),
        "accuracy": accuracy(decisions, split.labels(split.test)),
        "gap": parity_gap(decisions, groups, 2),
        "accepted": float(decisions.mean()),
        "majority": split.majority,
        "spent": model.ledger_.spent,
    }


def _model(run: Run, split: Split) -> Any:
    schema = split.dataset.schema
    assert schema.rows is not None
    if run.method == "dp_fermi":
        # The first group of the authors' training file, in either coding of the groups.
        only = run.only_group or {"adult": "Male", "credit": "male"}[run.dataset]
        return DPFermi(
            run.epsilon,
            DELTA,
            weight=run.weight,
            variant=run.variant,
            only_group=None if run.variant == "paper" else only,
            schema=schema,
            epochs=run.epochs,
            random_state=run.seed,
        )
    if run.method != "algorithm2":
        raise InputError(f"There is no method {run.method!r} to run.")
    budget, multiplier = run.epsilon, None
    if run.noise_std is not None:
        # The published noise may cost more than the published epsilon; the ledger must know.
        multiplier = run.noise_std / CLIP
        cost = epsilon_of(training_event(run, schema.rows), DELTA, "add_remove")
        budget = cost + 2 * run.release_epsilon + 1e-6
    return paper_algorithm2(
        budget,
        DELTA,
        schema=schema,
        release_epsilon=run.release_epsilon,
        epochs=run.epochs,
        noise_multiplier=multiplier,
        random_state=run.seed,
    )
