"""Adult and Credit Card with no more than the kinds of their columns in the schema.

    python -m scripts.panel.kinds_only --seeds 100-103

The splits are those of docs/results.md for the same seeds. The schema has the kinds of the columns,
the label and the groups: no bounds, categories, edges, usual values, spiky columns or crosses, and
no number of records. Finished runs are kept in ``.panel/kinds_only``; the table is printed.
"""

from __future__ import annotations

import argparse
import json
import statistics
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from dpfair.cli.cluster import runs_on
from dpfair.data.encode import encode, level_codes
from dpfair.datasets import DATASETS
from dpfair.errors import FairnessWarning
from dpfair.experiments.benchmark import load_dataset, parse_seeds, split
from dpfair.experiments.runner import run_all
from dpfair.fairness.metrics import accuracy, parity_gap
from dpfair.learners import LEARNERS
from dpfair.methods.fair_classifier import PrivateFairClassifier
from scripts.panel.cells import digits, header, row, with_error
from scripts.panel.contenders import BUDGETS, MODES
from scripts.panel.digest import library_digest
from scripts.panel.run import CACHE, JOBS, WHERE, reporter
from scripts.panel.schemas import SHIPPED_FACTS, stated
from scripts.panel.summary import mean_of

__all__ = ["KindsRun", "execute", "lines", "main"]

DEFAULT = "default"
DELTA = 1e-5


@dataclass(frozen=True)
class KindsRun:
    """Everything that a result depends on."""

    dataset: str
    facts: str
    learner: str
    mode: str
    epsilon: float
    seed: int

    @property
    def key(self) -> str:
        """A name of the run, for a file of finished runs."""
        return json.dumps([asdict(self), library_digest()], sort_keys=True)

    def classifier(self) -> PrivateFairClassifier:
        """The model; all that is not said here is a default of the library."""
        return PrivateFairClassifier(
            self.epsilon,
            DELTA,
            schema=stated(DATASETS[self.dataset].schema, self.facts),
            mode=self.mode,
            learner=None if self.learner == DEFAULT else LEARNERS[self.learner](),
            random_state=self.seed,
        )


def main() -> None:
    """Run what is missing and print the table."""
    summary = (__doc__ or "").splitlines()[0]
    parser = argparse.ArgumentParser(description=summary, parents=[WHERE])
    parser.add_argument("--seeds", type=parse_seeds, required=True, metavar="A-B")
    parser.add_argument("--facts", choices=SHIPPED_FACTS, default=SHIPPED_FACTS[-1])
    parser.add_argument("--learner", choices=[DEFAULT, *LEARNERS], default=DEFAULT)
    given = parser.parse_args()
    runs = [
        KindsRun(dataset, given.facts, given.learner, mode, epsilon, seed)
        for dataset in DATASETS
        for mode in MODES
        for epsilon in BUDGETS
        for seed in given.seeds
    ]
    folder = CACHE / "kinds_only"
    with runs_on(given.dask):
        found = run_all(runs, folder, jobs=JOBS, progress=reporter(len(runs)), execute=execute)
    print("\n".join(lines(runs, found)))


def execute(run: KindsRun) -> dict[str, Any]:
    """Fit on three quarters of the records and measure on the rest."""
    data = load_dataset(run.dataset)
    rest, test = split(len(data.y), run.seed)
    model = run.classifier()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairnessWarning)
        model.fit(data.X[rest], data.y[rest])
    accepted = model.predict(data.X[test]) == model.classes_[1]
    labels = level_codes(data.y[test], data.schema.label)
    return {
        "accuracy": accuracy(accepted, labels),
        "gap": parity_gap(accepted, encode(data.X[test], data.schema).groups, 2),
        "gap_bound": model.certificate_.fairness.gap_bound,
    }


def lines(runs: Sequence[KindsRun], found: dict[str, dict[str, Any]]) -> Iterator[str]:
    """A table with accuracy, gap and in certified mode the mean certified gap."""
    yield from header("", [f"epsilon {epsilon:g}" for epsilon in BUDGETS])
    for dataset, mode in dict.fromkeys((run.dataset, run.mode) for run in runs):
        own = [run for run in runs if (run.dataset, run.mode) == (dataset, mode)]
        by_budget = [[found[r.key] for r in own if r.epsilon == epsilon] for epsilon in BUDGETS]
        yield row(f"{DATASETS[dataset].title}, {mode}", [_both(results) for results in by_budget])
        bounds = [[result["gap_bound"] for result in results] for results in by_budget]
        if all(bound is not None for each in bounds for bound in each):
            cells = [digits(statistics.fmean(each)) for each in bounds]
            yield row(f"{DATASETS[dataset].title}, {mode}: certified gap", cells)


def _both(results: Sequence[dict[str, Any]]) -> str:
    means = [mean_of([result[what] for result in results]) for what in ("accuracy", "gap")]
    return " / ".join(map(with_error, means))


if __name__ == "__main__":
    main()
