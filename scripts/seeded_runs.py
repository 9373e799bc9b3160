"""Seeded fits of every method and mode on Adult and Credit Card: write the results, or compare.

    python scripts/seeded_runs.py write FILE       # decisions, certificates and charges as JSON
    python scripts/seeded_runs.py compare FILE     # the present code against such a file

Either takes one to three minutes. ``compare`` prints every difference and the number of runs that
have one; the exit code is 1 if there is any. Decisions and probabilities are stored as hashes. A
file of an older version can be compared, too: renamed fields have their present names, and fields
that the file does not have are listed but are no difference.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import warnings
from collections.abc import Iterator
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from dpfair import (
    Algorithm1,
    Algorithm2,
    BoostingLearner,
    DpfairError,
    DPFermi,
    FairPostProcessor,
    LogisticLearner,
    PrivateBoosting,
    PrivateFairClassifier,
    PrivateLogisticRegression,
    PrivateSearchCV,
)
from dpfair.datasets import DATASETS
from dpfair.datasets.dataset import Dataset
from dpfair.evaluation import evaluate_privately
from dpfair.methods import METHODS
from dpfair.methods.algorithm2 import paper_algorithm2
from dpfair.privacy.event_json import event_to_json

SEED = 7
RENAMED = {"other_aim": "other_goal"}
PAPER = {"solver": "sgd", "features": "standardised"}
SHOWN = 200

Runs = Iterator[tuple[str, Any]]


def main() -> int:
    """Write or compare."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("action", choices=("write", "compare"))
    parser.add_argument("file", type=Path)
    arguments = parser.parse_args()
    earlier = None
    if arguments.action == "compare":
        earlier = json.loads(arguments.file.read_text(encoding="utf-8"))
    warnings.simplefilter("ignore")
    found = {}
    for name, result in results():
        found[name] = json.loads(json.dumps(result, default=lambda value: value.tolist()))
        print(name, file=sys.stderr, flush=True)
    if earlier is None:
        text = json.dumps(found, indent=1, sort_keys=True)
        arguments.file.write_text(text + "\n", encoding="utf-8")
        print(f"{len(found)} runs written to {arguments.file}")
        return 0
    return 1 if compare(earlier, found) else 0


def results() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every run with what it gives, by the name of the data set and of the run."""
    for shipped in DATASETS.values():
        data = shipped.load()
        for name, model in runs(data):
            key = f"{data.name}: {name}"
            try:
                model.fit(data.X, data.y)
            except DpfairError as error:
                yield key, {"error": f"{type(error).__name__}: {error}"}
                continue
            yield key, seen(model, data.X)
            if name in ("certified 3", "reuse 3"):
                for what, result in afterwards(model, data):
                    yield f"{key} {what}", result
        persons = data.X.with_columns(pl.Series("person", np.arange(data.X.height) // 2))
        model = fair(data, mode="reuse", unit="person", rows_per_unit=2).fit(persons, data.y)
        yield f"{data.name}: persons", seen(model, persons)
        groups, rest = data.X[data.sensitive], data.X.drop(data.sensitive)
        model = fair(data).fit(rest, data.y, sensitive_features=groups)
        decisions = model.predict(rest[:3000], sensitive_features=groups[:3000])
        yield f"{data.name}: groups apart", {"decisions": digest(decisions)}


def runs(data: Dataset) -> Runs:
    """Unfitted models: of each method at least one."""
    missing = dict(METHODS)
    for of_a_kind in (fair_runs, algorithm2_runs, training_runs, fermi_runs, post_runs):
        for name, model in of_a_kind(data):
            missing = {n: kind for n, kind in missing.items() if type(model) is not kind}
            yield name, model
    yield from search_runs(data)
    for name, kind in missing.items():
        yield f"method {name}", kind(3, schema=data.schema, random_state=SEED)


def fair(data: Dataset, epsilon: float = 3, **settings: Any) -> PrivateFairClassifier:
    """A fair classifier; settings of its rule and its division are given by their short names.

    The learner is the linear one, which was the default of the version to compare with.
    """
    linear = LogisticLearner()
    model = PrivateFairClassifier(epsilon, schema=data.schema, learner=linear, random_state=SEED)
    known = list(model.get_params())
    for name, value in settings.items():
        full = next(key for key in known if key == name or key.endswith(f"__{name}"))
        model.set_params(**{full: value})
    return model


def fair_runs(data: Dataset) -> Runs:
    """Every mode and notion, and what else changes the path of a fit."""
    unknown = replace(data.schema, rows=None)
    yield "certified 3", fair(data)
    yield "certified 1", fair(data, 1)
    yield "certified .3", fair(data, 0.3)
    yield "certified replace_one", fair(data, relation="replace_one")
    yield "certified undeclared rows", fair(data, schema=unknown)
    yield (
        "certified release settings",
        fair(data, release_epsilon=1.5, release_share=0.4, confidence=0.9),
    )
    yield "certified values", fair(data, values_epsilon=0.2)
    yield "reuse 3", fair(data, mode="reuse")
    yield "reuse .3", fair(data, 0.3, mode="reuse")
    yield "reuse check", fair(data, mode="reuse", check_share=0.2)
    yield "reuse values", fair(data, mode="reuse", values_epsilon=0.1)
    for notion in ("equal_opportunity", "equalized_odds", "accuracy_parity", "parity_ratio"):
        tolerance = 0.2 if notion == "parity_ratio" else 0.02
        for mode in ("certified", "reuse"):
            yield f"{mode} {notion}", fair(data, mode=mode, notion=notion, tolerance=tolerance)
    yield "target", fair(data, target=0.3)
    yield "capacity costs", fair(data, capacity=0.2, costs=(1.0, 3.0))
    yield "fresh settings", fair(data, small_groups="merge", smallest_group=200)
    boosting = BoostingLearner(trees=40, depth=4)
    yield "boosting learner", fair(data, mode="reuse", learner=boosting)
    yield "sgd learner", fair(data, learner=LogisticLearner(epochs=3, **PAPER))
    yield "float learner", fair(data, learner=LogisticLearner(arithmetic="float64", steps=50))
    if data.name == "adult":
        yield "race", fair(data, sensitive="race")
        yield "intersection", fair(data, sensitive=["sex", "race"], tolerance=0.05)


def algorithm2_runs(data: Dataset) -> Runs:
    """The paper's method, with our learner and with its own."""

    def make(epsilon: float = 3, **settings: Any) -> Algorithm2:
        return Algorithm2(epsilon, schema=data.schema, random_state=SEED, **settings)

    yield "algorithm2", make()
    yield "algorithm2 .3 basic", make(0.3, composition="basic")
    yield "algorithm2 sizes", make(public_sizes=True, target="upper")
    yield "algorithm2 target", make(target=0.3)
    how: dict[str, Any] = {"release_epsilon": 0.05, "epochs": 3, "random_state": SEED}
    yield "algorithm2 paper", paper_algorithm2(3, 1e-5, schema=data.schema, **how)


def training_runs(data: Dataset) -> Runs:
    """Methods that only train."""

    def make(epsilon: float, **settings: Any) -> PrivateLogisticRegression:
        return PrivateLogisticRegression(epsilon, schema=data.schema, random_state=SEED, **settings)

    yield "logistic 3", make(3)
    yield "logistic sgd", make(3, epochs=2, arithmetic="float64", **PAPER)
    yield "logistic replace", make(1, relation="replace_one", steps=40)
    few = {"trees": 40, "depth": 4}
    yield "boosting", PrivateBoosting(9, schema=data.schema, random_state=SEED, **few)


def fermi_runs(data: Dataset) -> Runs:
    """Every variant of DP-FERMI."""

    def make(epsilon: float = 3, **settings: Any) -> DPFermi:
        return DPFermi(epsilon, random_state=SEED, **{"schema": data.schema} | settings)

    for variant in ("tight", "paper", "reference"):
        for notion in ("demographic_parity", "equalized_odds"):
            yield f"fermi {variant} {notion}", make(variant=variant, notion=notion, epochs=3)
    yield "fermi paper .2", make(0.2, variant="paper", epochs=2, batch_size=512)
    yield "fermi undeclared rows", make(schema=replace(data.schema, rows=None), epochs=2)
    second = data.schema.groups[1]
    yield "fermi only group", make(variant="reference", only_group=second, epochs=2)


def post_runs(data: Dataset) -> Runs:
    """Algorithms 1 and 2 on top of a function, of decoupled ones, and of an estimator."""
    groups = list(data.schema.groups)
    pipeline = make_pipeline(
        OneHotEncoder(handle_unknown="ignore"), LogisticRegression(max_iter=20)
    )

    def make(classifier: Any, epsilon: float | None = None, **settings: Any) -> FairPostProcessor:
        shared: dict[str, Any] = {"sensitive": data.sensitive, "random_state": SEED}
        return FairPostProcessor(classifier, epsilon, **shared | settings)

    algorithm1 = Algorithm1(first_number, sensitive=data.sensitive, random_state=SEED)
    yield "algorithm1", algorithm1
    yield "post 1", make(first_number, groups=groups, held_out=True)
    yield "post 2", make(first_number, 1.0, groups=groups, held_out=True)
    yield "post 2 sizes", make(first_number, 1.0, groups=groups, held_out=True, public_sizes=True)
    yield "post decoupled", make(dict.fromkeys(groups, first_number), 0.5, groups=groups)
    yield "post unfitted", make(pipeline, 1.0, groups=groups)
    yield "post unfitted 1", make(pipeline)


def first_number(X: Any) -> NDArray[np.int64]:
    """A classifier that needs no training."""
    column = np.asarray(X[X.columns[0]].to_numpy(), dtype=float)
    return (column > 38).astype(np.int64)


def search_runs(data: Dataset) -> Runs:
    """Searches over settings that cost the same, and over ones that do not."""

    def search(template: Any, grid: Any) -> PrivateSearchCV:
        how: dict[str, Any] = {"schema": data.schema, "random_state": SEED}
        return PrivateSearchCV(template, grid, epsilon=3, mean_runs=3, **how)

    yield (
        "search logistic",
        search(
            PrivateLogisticRegression(steps=30),
            {"learning_rate": [0.05, 0.3], "clip": [0.3, 1.0]},
        ),
    )
    pairs = [(c, m) for c in ((1, 1), (1, 2)) for m in ("certified", "reuse")]
    grid = [{"rule__costs": [costs], "mode": [mode]} for costs, mode in pairs]
    yield "search fair", search(PrivateFairClassifier(learner=LogisticLearner(steps=30)), grid)


def afterwards(model: PrivateFairClassifier, data: Dataset) -> Iterator[tuple[str, dict[str, Any]]]:
    """What follows from a fitted model."""
    X, y = data.X, data.y
    yield "with_rule", seen(model.with_rule(notion="equalized_odds", tolerance=0.05), X)
    points = model.frontier("equal_opportunity")
    yield "frontier", {"points": [[p.tolerance, p.accuracy, p.gap_bound] for p in points]}
    noisy, exact = (model.decide_batch(X[:3000], epsilon=e).decisions for e in (1.0, None))
    yield "batch", {"decisions": digest(noisy), "quotas": digest(exact)}
    paid = evaluate_privately(model, X[:5000], y[:5000], epsilon=0.5, random_state=3)
    yield "evaluate", paid.to_json()


def seen(model: Any, X: pl.DataFrame) -> dict[str, Any]:
    """All that a fitted model shows."""
    certificate, ledger, head = model.certificate_, model.ledger_, X[:8000]
    return {
        "decisions": digest(model.predict(head)),
        "probabilities": digest(model.predict_proba(head)),
        "certificate": certificate.to_json(),
        "sentences": str(certificate),
        "charges": [
            [e.scope, e.purpose, event_to_json(e.event), e.epsilon, e.delta] for e in ledger.entries
        ],
        "spent": ledger.spent,
    }


def digest(values: NDArray[Any]) -> str:
    """A hash of an array."""
    values = np.ascontiguousarray(values)
    if values.dtype.kind in "OU":
        values = values.astype("U32")
    return hashlib.sha256(values.tobytes()).hexdigest()[:24]


def compare(earlier: dict[str, Any], found: dict[str, Any]) -> int:
    """Print every difference; how many runs have one. What the file does not have is only said."""
    wrong, new = 0, {f"the run {name}" for name in found.keys() - earlier.keys()}
    for name in sorted(earlier):
        lines = [": missing"]
        if name in found:
            before = renamed(comparable(earlier[name]))
            lines = list(differences(before, found[name]))
            new |= {f"the field{path}" for path in added(before, found[name])}
        for line in lines:
            print(f"{name}{line}")
        wrong += bool(lines)
    for what in sorted(new):
        print(f"not in the file: {what}")
    print(f"{len(earlier)} runs compared, {wrong} with differences")
    return wrong


def comparable(run: dict[str, Any]) -> dict[str, Any]:
    """A run of an older version, without what it had not, in the form of this one."""
    if "charges" in run and run["charges"] is None:  # Algorithm 1 had no ledger
        run = run | {"charges": [], "spent": 0.0}
    missing = {key for key in ("certificate", "sentences") if run.get(key, "") is None}
    return {key: value for key, value in run.items() if key not in missing}


def renamed(data: Any) -> Any:
    """With the present names of fields."""
    if isinstance(data, dict):
        return {RENAMED.get(key, key): renamed(value) for key, value in data.items()}
    return [renamed(value) for value in data] if isinstance(data, list) else data


def differences(one: Any, other: Any, path: str = "") -> Iterator[str]:
    """Each part that is missing or not the same; of texts, each line."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key, value in one.items():
            if key in other:
                yield from differences(value, other[key], f"{path}: {key}")
            else:
                yield f"{path}: {key}: missing"
    elif one != other:
        pairs = [(one, other)]
        if isinstance(one, str) and isinstance(other, str):
            pairs = list(zip_longest(one.split("\n"), other.split("\n")))
        yield from (f"{path}: {short(a)} -> {short(b)}" for a, b in pairs if a != b)


def added(one: Any, other: Any, path: str = "") -> Iterator[str]:
    """The fields that only the second has."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key, value in other.items():
            if key in one:
                yield from added(one[key], value, f"{path}: {key}")
            else:
                yield f"{path}: {key}"


def short(value: Any) -> str:
    """A value in print."""
    text = json.dumps(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


if __name__ == "__main__":
    sys.exit(main())
