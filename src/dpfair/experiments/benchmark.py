"""Our classifier on fresh splits of public data: accuracy and gap, with their precision."""

from __future__ import annotations

import math
import statistics
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpfair import validate
from dpfair.data.columns import Numeric
from dpfair.data.encode import encode, level_codes
from dpfair.data.records import Records
from dpfair.data.schema import Schema
from dpfair.datasets import DATASETS
from dpfair.datasets.dataset import Dataset
from dpfair.errors import FairnessWarning, InputError
from dpfair.fairness.metrics import accuracy, group_values, sampling_floor
from dpfair.fairness.notions import notion_of
from dpfair.learners.boosting import BoostingLearner
from dpfair.learners.logistic import LogisticLearner
from dpfair.methods import METHODS
from dpfair.methods.base import PrivateClassifier
from dpfair.privacy.noise import Noise

__all__ = [
    "BENCHMARKED",
    "BENCHMARK_MODES",
    "FACTS",
    "Setting",
    "fit_split",
    "load_dataset",
    "measured",
    "parse_seeds",
    "run_benchmark",
    "run_split",
    "split",
    "summary",
]

BENCHMARKED = [n for n, kind in METHODS.items() if "classifier" not in kind().get_params()]
BENCHMARK_MODES = ("certified", "reuse", "batch")
FACTS = ("all", "not spiky", "bounds")
TEST_SHARE = 0.25

# The split has coins of its own, far from those of any model's seed.
_SPLIT_SEED = 10**9


@dataclass(frozen=True)
class Setting:
    """One row of a benchmark.

    ``method`` is one of ``METHODS`` that is trained from a table. ``mode`` is that of the fair
    classifier; ``batch`` is ``reuse`` with thresholds found anew on the test batch, at the same
    epsilon. ``trees`` puts boosted trees on top of the linear learner. ``facts`` says what of the
    shipped schema is used: ``all``, ``not spiky`` (no column has meaningful single values) or
    ``bounds`` (bounds and categories only, with bins of equal width).
    """

    dataset: str
    epsilon: float
    mode: str = "certified"
    notion: str = "demographic_parity"
    tolerance: float = 0.0
    method: str = "fair"
    sensitive: tuple[str, ...] = ()
    trees: bool = False
    delta: float = 1e-5
    facts: str = "all"

    def __post_init__(self) -> None:
        validate.one_of(DATASETS, dataset=self.dataset)
        validate.one_of(BENCHMARKED, method=self.method)
        validate.one_of(BENCHMARK_MODES, mode=self.mode)
        validate.one_of(FACTS, facts=self.facts)
        notion_of(self.notion)
        if self.mode == "batch" and notion_of(self.notion).needs_labels:
            raise InputError("Batch mode equalises acceptance rates, not rates by label.")
        self.classifier(seed=0).check_parameters()

    def classifier(self, seed: int) -> PrivateClassifier:
        """The model of one run; hyper-parameters are the library's defaults.

        Arithmetic is float64, in which all published runs were made.
        """
        learner = BoostingLearner if self.trees else LogisticLearner
        grouped = self.sensitive if len(self.sensitive) > 1 else (self.sensitive or (None,))[0]
        wanted: dict[str, Any] = {
            "schema": _with_facts(load_dataset(self.dataset).schema, self.facts),
            "sensitive": grouped,
            "learner": learner(arithmetic="float64"),
            "arithmetic": "float64",
            "rule": {"notion": self.notion, "tolerance": self.tolerance},
            "mode": "certified" if self.mode == "certified" else "reuse",
            "random_state": seed,
        }
        model = METHODS[self.method](self.epsilon, self.delta)
        own = model.get_params(deep=False)
        if "mode" not in own and self.mode != "certified":
            raise InputError(f"The method {self.method} has no modes: leave {self.mode!r} out.")
        if "learner" not in own and self.trees:
            raise InputError(f"The method {self.method} has no learner to put trees on.")
        model.set_params(**{name: value for name, value in wanted.items() if name in own})
        return model


def parse_seeds(text: str) -> range:
    """Seeds written as ``A-B`` (both included) or as one number.

    >>> len(parse_seeds("1000-1049"))
    50
    """
    first, dash, last = text.partition("-")
    try:
        seeds = range(int(first), int(last if dash else first) + 1)
    except ValueError:
        raise InputError(f"Expected seeds such as 1000-1049, got {text!r}.") from None
    if not seeds or seeds.start < 0:
        raise InputError(f"Expected seeds such as 1000-1049, got {text!r}.")
    return seeds


def split(n: int, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Positions of the records to fit and to test on: three quarters and one."""
    order = np.argsort(Noise(_SPLIT_SEED + seed).uniforms(n), kind="stable")
    n_test = int(n * TEST_SHARE)
    return np.sort(order[n_test:]), np.sort(order[:n_test])


def fit_split(setting: Setting, seed: int) -> tuple[Any, Records, Records]:
    """The model of one split, and its two sets of records."""
    data = load_dataset(setting.dataset)
    rest, test = split(len(data.y), seed)
    model = setting.classifier(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairnessWarning)
        model.fit(data.X[rest], data.y[rest])
    records = encode(data.X, model.schema_)
    records = records.with_labels(level_codes(data.y, model.schema_.label))
    return model, records.take(rest), records.take(test)


def run_split(setting: Setting, seed: int) -> dict[str, Any]:
    """Fit on three quarters of the records and test on the rest."""
    data = load_dataset(setting.dataset)
    model, rest, test = fit_split(setting, seed)
    rows = split(len(data.y), seed)[1]
    if setting.mode == "batch":
        decided = model.decide_batch(data.X[rows], epsilon=setting.epsilon)
        decisions = decided.decisions
        bound: float | None = decided.gap_bound
    else:
        decisions = model.predict(data.X[rows])
        bound = model.certificate_.fairness.gap_bound
    assert test.labels is not None
    accepted = decisions == model.classes_[1]
    return {
        "seed": seed,
        "n_test": len(test),
        **measured(setting, accepted, test.labels, test.groups, len(model.schema_.groups)),
        "certified_gap": bound,
        "certified_accuracy": model.certificate_.fairness.accuracy_bound,
        "counted": _counted(setting, model, len(rest)),
    }


def measured(
    setting: Setting,
    accepted: NDArray[np.bool_],
    labels: NDArray[np.integer[Any]],
    groups: NDArray[np.integer[Any]],
    k: int,
) -> dict[str, Any]:
    """Accuracy, gap, signed gap of the first statistic, and the floor of the gap."""
    notion = notion_of(setting.notion)
    values = group_values(notion, accepted, groups, labels, k)
    floors = []
    for statistic, row in zip(notion.statistics, values, strict=True):
        chosen = np.isin(labels, statistic.labels)
        sizes = np.bincount(groups[chosen], minlength=k)
        present = sizes > 0
        common = float(np.average(row[present], weights=sizes[present]))
        floors.append(sampling_floor(common, sizes[present].tolist()))
    return {
        "accuracy": accuracy(accepted, labels),
        "gap": notion.gap(values),
        "signed_gap": float(values[0, 0] - values[0, 1]) if k == 2 else None,
        "floor": max(floors) if not notion.ratio else None,
        "acceptance": float(np.mean(accepted)),
    }


def run_benchmark(
    setting: Setting,
    seeds: Sequence[int],
    *,
    jobs: int = 1,
    progress: Callable[[int], None] | None = None,
) -> list[dict[str, Any]]:
    """All splits, in the order of the seeds."""
    from joblib import Parallel, delayed

    found = []
    parallel = Parallel(n_jobs=jobs, return_as="generator")
    for result in parallel(delayed(run_split)(setting, seed) for seed in seeds):
        found.append(result)
        if progress is not None:
            progress(1)
    return found


def summary(setting: Setting, runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Mean and standard error over the splits.

    The mean floor is what a rule that is fair in the population would show, both on the test
    records and because its thresholds came from ``counted`` records (not for batches, which count
    the test records themselves).
    """
    result: dict[str, Any] = {**asdict(setting), "splits": len(runs)}
    for name in (
        "accuracy",
        "gap",
        "signed_gap",
        "acceptance",
        "certified_gap",
        "certified_accuracy",
    ):
        values = [run[name] for run in runs if run[name] is not None]
        result[name] = statistics.fmean(values) if len(values) == len(runs) else None
        error = statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else None
        result[f"{name}_error"] = error if result[name] is not None else None
    floors = [run["floor"] for run in runs if run["floor"] is not None]
    result["test_floor"] = statistics.fmean(floors) if floors else None
    result["floor"] = None
    if floors:
        spread = [_spread(run["n_test"], run["counted"]) for run in runs]
        result["floor"] = statistics.fmean(f * s for f, s in zip(floors, spread, strict=True))
    return result


def _counted(setting: Setting, model: PrivateClassifier, n: int) -> int | None:
    """How many records the thresholds came from, about; no others for a batch, None for a half."""
    if setting.mode == "batch":
        return 0
    if "count" not in model.plan_:
        return None
    return n if setting.mode == "reuse" else round(n * model.plan_.share("count"))


def _spread(tested: int, counted: int | None) -> float:
    """How much larger the floor is because the thresholds were estimated."""
    if counted is None:
        return 1.0
    return math.sqrt(1 + tested / counted) if counted else 0.0


def _with_facts(schema: Schema, facts: str) -> Schema:
    if facts == "all":
        return schema
    if facts == "not spiky":
        plain = [replace(c, spiky=False) if isinstance(c, Numeric) else c for c in schema.columns]
        return replace(schema, columns=tuple(plain))
    # Bins of equal width are stated, so that none are found.
    columns = [
        replace(c.with_bounds_only(), edges=c.with_bounds_only().cuts)
        if isinstance(c, Numeric)
        else replace(c, usual=None)
        for c in schema.columns
    ]
    return replace(schema, columns=tuple(columns), crosses=())


def load_dataset(name: str) -> Dataset:
    """A shipped data set by its name."""
    return DATASETS[name].load()
