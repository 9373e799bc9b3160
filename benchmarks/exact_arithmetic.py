"""What exact arithmetic costs: accuracy, gap, noise and time of a fair classifier on Adult.

    python benchmarks/exact_arithmetic.py [--seeds 0-9] [--epsilons 1 3]

Every seed makes one split of 75 % for the fit and 25 % for the test, by a coin per record, and one
fit in either arithmetic, in turns. Standard errors are over seeds. A ratio of times is the median
over seeds of the two fits beside each other, because other programs slow down both. `renyi` is how
much more noise the steps of training would need if only Renyi divergences of whole orders were
known for noise on a grid.
"""

# ruff: noqa: E402 (the number of threads must be set before numpy is imported)
from __future__ import annotations

import os

for _library in ("OMP", "OPENBLAS", "MKL"):
    os.environ[f"{_library}_NUM_THREADS"] = "1"

import argparse
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from dp_accounting.rdp import RdpAccountant
from scipy.optimize import brentq

from dpfair import LogisticLearner, Noise, PrivateFairClassifier, load_adult
from dpfair.evaluation import evaluate
from dpfair.learners.descent import ARITHMETICS
from dpfair.learners.logistic import PAPER_SETTINGS
from dpfair.privacy.accountants import calibrate
from dpfair.privacy.events import gaussian_steps
from dpfair.privacy.split import coin_split

DELTA = 1e-5
SETTINGS: dict[str, tuple[str, dict[str, Any]]] = {
    "certified": ("certified", {}),
    "reuse": ("reuse", {}),
    "reuse, paper's learner": ("reuse", PAPER_SETTINGS),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", default="0-9")
    parser.add_argument("--epsilons", type=float, nargs="+", default=[1.0, 3.0])
    arguments = parser.parse_args()
    first, last = map(int, arguments.seeds.split("-"))
    print(f"Adult, delta = {DELTA:g}, seeds {arguments.seeds}, seeded noise")
    titles = ("accuracy", "gap", "fit, s", "ratio", "renyi")
    print(f"{'':44}" + "".join(t.rjust(w) for t, w in zip(titles, (18, 18, 9, 8, 8), strict=True)))
    for epsilon in arguments.epsilons:
        for name in SETTINGS:
            list(run(name, epsilon, first))  # compiles and calibrates
            rows = [r for seed in range(first, last + 1) for r in run(name, epsilon, seed)]
            for line in summary(f"epsilon {epsilon:g}, {name}", epsilon, rows):
                print(line, flush=True)


def run(name: str, epsilon: float, seed: int) -> Iterator[dict[str, Any]]:
    mode, settings = SETTINGS[name]
    data = load_adult()
    parts = coin_split(len(data.y), {"fit": 0.75, "test": 0.25}, Noise(10**6 + seed))
    for arithmetic in ARITHMETICS if seed % 2 else ARITHMETICS[::-1]:
        model = PrivateFairClassifier(
            epsilon,
            DELTA,
            schema=data.schema,
            mode=mode,
            learner=LogisticLearner(**settings | {"arithmetic": arithmetic}),
            random_state=seed,
        )
        start = time.process_time()
        model.fit(data.X[parts["fit"]], data.y[parts["fit"]])
        seconds = time.process_time() - start
        result = evaluate(model, data.X[parts["test"]], data.y[parts["test"]])
        step = model.ledger_.entries[0].event
        yield {**result, "arithmetic": arithmetic, "seconds": seconds, "event": step}


def summary(title: str, epsilon: float, rows: list[dict[str, Any]]) -> Iterator[str]:
    times = {a: [r["seconds"] for r in rows if r["arithmetic"] == a] for a in ARITHMETICS}
    ratio = np.median(np.divide(times["exact"], times["float64"]))
    for arithmetic in ARITHMETICS:
        chosen = [r for r in rows if r["arithmetic"] == arithmetic]
        more = f"{ratio:8.2f}{renyi_ratio(epsilon, chosen[0]['event']):8.3f}"
        yield (
            f"{title + ', ' + arithmetic:44}{spread(chosen, 'accuracy')}{spread(chosen, 'gap')}"
            f"{np.median(times[arithmetic]):9.2f}{more if arithmetic == 'exact' else ''}"
        )


def renyi_ratio(epsilon: float, event: Any) -> float:
    """The multiplier by Renyi divergences of whole orders, relative to ours, for training alone."""
    rate = getattr(event.event, "sampling_probability", 1.0)
    orders = np.arange(2, 257)

    def excess(multiplier: float) -> float:
        steps = gaussian_steps(multiplier, rate, event.count)
        return float(RdpAccountant(orders).compose(steps).get_epsilon(DELTA)) - epsilon

    ours = calibrate(epsilon, DELTA, rate, event.count)
    return float(brentq(excess, ours * 0.9, ours * 2, rtol=1e-4)) / ours


def spread(rows: list[dict[str, Any]], key: str) -> str:
    values = np.array([r[key] for r in rows])
    return f"{values.mean():>9.4f} ±{values.std(ddof=1) / np.sqrt(len(values)):.4f}".rjust(18)


if __name__ == "__main__":
    main()
