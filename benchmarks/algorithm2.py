"""Algorithm 2 on the shipped data: the paper's learner and ours, over fresh splits.

    python benchmarks/algorithm2.py [--dataset adult] [--epsilon 3] [--seeds 1000-1049]

Each seed makes one split of 50 % training, 25 % release and 25 % test (a coin per record) and one
fit. The seeds were not used to choose any setting. Standard errors are over seeds; `floor` is the
mean gap that a perfectly fair rule would show on as many test records.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from dpfair import Algorithm2, Noise
from dpfair.datasets import DATASETS
from dpfair.evaluation import evaluate
from dpfair.methods.algorithm2 import paper_algorithm2
from dpfair.privacy.split import coin_split

RELEASE_EPSILON = {"adult": 0.05, "credit": 0.1}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dataset", choices=RELEASE_EPSILON, default="adult")
    parser.add_argument("--epsilon", type=float, default=3.0)
    parser.add_argument("--seeds", default="1000-1049")
    arguments = parser.parse_args()
    first, last = map(int, arguments.seeds.split("-"))
    rows = [r for s in range(first, last + 1) for r in run(arguments.dataset, arguments.epsilon, s)]
    print(
        f"{arguments.dataset}, epsilon = {arguments.epsilon:g}, delta = 1e-5, "
        f"seeds {arguments.seeds}, seeded noise"
    )
    print(f"{'':34}{'accuracy':>18}{'gap':>18}{'floor':>8}{'C2':>8}{'C3':>8}{'paper':>8}")
    for name in dict.fromkeys(r["name"] for r in rows):
        chosen = [r for r in rows if r["name"] == name]
        print(
            f"{name:34}{spread(chosen, 'accuracy')}{spread(chosen, 'gap')}"
            + "".join(mean(chosen, key) for key in ("floor", "C2", "C3", "paper theorem"))
        )


def run(dataset: str, epsilon: float, seed: int) -> Iterator[dict[str, object]]:
    data = DATASETS[dataset].load()
    parts = coin_split(len(data.y), {"fit": 0.75, "test": 0.25}, Noise(10**6 + seed))
    schema = replace(data.schema, rows=round(0.75 * len(data.y)))
    methods = {
        "paper's learner, basic composition": paper_algorithm2(
            epsilon,
            1e-5,
            schema=schema,
            release_epsilon=RELEASE_EPSILON[dataset],
            epochs=100 if dataset == "credit" and epsilon > 3 else 50,
            random_state=seed,
        ),
        "our learner, tight composition": Algorithm2(
            epsilon, 1e-5, schema=schema, random_state=seed
        ),
    }
    for name, model in methods.items():
        model.fit(data.X[parts["fit"]], data.y[parts["fit"]])
        result = evaluate(model, data.X[parts["test"]], data.y[parts["test"]])
        yield {"name": name, **result, **model.certificate_.fairness.bounds}


def spread(rows: list[dict[str, object]], key: str) -> str:
    values = np.array([r[key] for r in rows])
    return f"{values.mean():>9.4f} ±{values.std(ddof=1) / np.sqrt(len(values)):.4f}".rjust(18)


def mean(rows: list[dict[str, object]], key: str) -> str:
    values = [r[key] for r in rows if key in r]
    return (f"{np.mean(values):.4f}" if values else "-").rjust(8)


if __name__ == "__main__":
    main()
