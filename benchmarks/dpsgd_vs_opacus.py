"""CPU time of one DP-SGD step: dpfair against Opacus, same model and batch size, in one run.

    python benchmarks/dpsgd_vs_opacus.py [--rounds 5] [--seed 0]

Adult with the paper's features, half of the rows, Poisson batches of 1024 expected rows, logistic
loss, clipping at 1.5. dpfair runs its real path: a paid receipt per step, Poisson sampling and
noise from the secure source, with the ``fast`` extra and without it. Opacus runs in four settings:

* no loader: the paper's network (a linear layer with bias, a sigmoid, cross entropy) with batches
  sampled by a mask and gathered;
* no loader, no bias: the constant is a column and the loss takes logits, which spares Opacus a
  parameter and a layer;
* the same on prepared batches: it neither samples nor gathers rows, which dpfair does;
* standard: the paper's network with the PrivacyEngine and its own loader.

One thread. The settings take turns in every round, and a ratio is the median over the rounds,
because other programs may slow down all of them.
"""

# ruff: noqa: E402 (the number of threads must be set before numpy is imported)
from __future__ import annotations

import os

for _library in ("OMP", "OPENBLAS", "MKL"):
    os.environ[f"{_library}_NUM_THREADS"] = "1"

import argparse
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from dpfair import load_adult
from dpfair.data.encode import encode, level_codes
from dpfair.learners.compiled import available
from dpfair.learners.descent import (
    Batch,
    Descent,
    FlatClip,
    GradientDescent,
    LogisticLoss,
    clipped_sum,
    descend,
)
from dpfair.learners.design import Design
from dpfair.learners.features import design
from dpfair.privacy.ledger import Receipt
from dpfair.privacy.noise import Noise

try:
    import opacus
    import torch
    from opacus import GradSampleModule, PrivacyEngine
    from opacus.optimizers import DPOptimizer
except ImportError:
    sys.exit("This benchmark needs torch and opacus: pip install 'dpfair[torch]'.")

BATCH, STEPS, CLIP, MULTIPLIER, RATE = 1024, 1150, 1.5, 2.09, 0.01
OPACUS_STEPS, STANDARD_STEPS = 200, 66


def main() -> None:
    """Check that both sides compute the same sum, then time them in turns."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")  # of torch, about hooks
    torch.set_num_threads(1)
    torch.manual_seed(arguments.seed)
    rows, labels, groups = adult_half(arguments.seed)
    if not available():
        sys.exit("This benchmark needs numba: pip install 'dpfair[fast]'.")
    print(
        f"Adult: {len(rows)} rows x {rows.width} features, batch {BATCH}, clip {CLIP}, "
        f"noise multiplier {MULTIPLIER}, learning rate {RATE}, seed {arguments.seed}, 1 thread\n"
        f"numpy {np.__version__}, torch {torch.__version__}, opacus {opacus.__version__}; "
        f"steps per round: dpfair {STEPS}, Opacus {OPACUS_STEPS}, standard {STANDARD_STEPS}"
    )
    check_same_sum(rows, labels, arguments.seed)
    settings = {
        "dpfair": (dpfair_run(rows, labels, groups, compiled=True), STEPS),
        "dpfair without numba": (dpfair_run(rows, labels, groups, compiled=False), STEPS),
        **opacus_runs(rows, labels),
    }
    show(measure(settings, arguments.rounds))


def adult_half(seed: int) -> tuple[Design, Any, Any]:
    """A random half of Adult, as the paper's training split, in the paper's features."""
    data = load_adult()
    assert data.schema.label is not None
    records = encode(data.X, data.schema)
    labels = np.maximum(level_codes(data.y, data.schema.label), 0)
    half = np.flatnonzero(np.random.default_rng(seed).random(len(records)) < 0.5)
    records = records.take(half)
    rows = design("standardised", data.schema, records, at_once=BATCH)
    return rows, labels[half], records.groups


def dpfair_run(rows: Design, labels: Any, groups: Any, *, compiled: bool) -> Callable[[], None]:
    """Ours: pay, then descend."""
    plan = Descent(STEPS, BATCH / len(rows), MULTIPLIER, FlatClip(CLIP), divisor=BATCH)

    def run() -> None:
        descend(
            plan,
            rows,
            labels,
            groups,
            objective=LogisticLoss(),
            optimizer=GradientDescent(RATE),
            receipt=Receipt(plan.event, Noise()),
            compiled=compiled,
        )

    return run


def opacus_runs(rows: Design, labels: Any) -> dict[str, tuple[Callable[[], None], int]]:
    """The four settings of Opacus, each with its number of steps."""
    x, y = torch.from_numpy(rows.matrix()), torch.from_numpy(labels.astype(np.float32))
    features = x[:, x.std(dim=0) > 0].contiguous()  # without the constant
    rate = BATCH / len(rows)

    def sampled(table: Any, steps: int) -> Iterator[tuple[Any, Any]]:
        for _ in range(steps):
            chosen = (torch.rand(len(table)) < rate).nonzero().squeeze(1)
            yield table[chosen], y[chosen]

    paper = made_private(paper_network(features.shape[1]))
    folded = made_private(torch.nn.Linear(x.shape[1], 1, bias=False))
    entropy, logit_entropy = torch.nn.BCELoss(), torch.nn.BCEWithLogitsLoss()
    prepared = list(sampled(x, OPACUS_STEPS))
    network = paper_network(features.shape[1])
    standard_model, standard_optimizer, loader = PrivacyEngine().make_private(
        module=network,
        optimizer=torch.optim.SGD(network.parameters(), lr=RATE),
        data_loader=torch.utils.data.DataLoader(
            torch.utils.data.TensorDataset(features, y), batch_size=BATCH
        ),
        noise_multiplier=MULTIPLIER,
        max_grad_norm=CLIP,
    )
    epochs = STANDARD_STEPS // len(loader)

    def standard() -> None:
        for _ in range(epochs):
            train(standard_model, standard_optimizer, entropy, loader)

    return {
        "Opacus, no loader": (
            lambda: train(*paper, entropy, sampled(features, OPACUS_STEPS)),
            OPACUS_STEPS,
        ),
        "  and no bias": (
            lambda: train(*folded, logit_entropy, sampled(x, OPACUS_STEPS)),
            OPACUS_STEPS,
        ),
        "  and prepared batches": (
            lambda: train(*folded, logit_entropy, prepared),
            OPACUS_STEPS,
        ),
        "Opacus, standard": (standard, epochs * len(loader)),
    }


def paper_network(width: int) -> Any:
    """Logistic regression as the paper's experiments write it."""
    return torch.nn.Sequential(torch.nn.Linear(width, 1), torch.nn.Sigmoid())


def made_private(network: Any) -> tuple[Any, Any]:
    """Opacus' hooks and optimizer around a network, without its engine."""
    model = GradSampleModule(network)
    optimizer = DPOptimizer(
        torch.optim.SGD(model.parameters(), lr=RATE),
        noise_multiplier=MULTIPLIER,
        max_grad_norm=CLIP,
        expected_batch_size=BATCH,
    )
    return model, optimizer


def train(model: Any, optimizer: Any, loss: Any, batches: Iterable[tuple[Any, Any]]) -> None:
    """One step of Opacus per batch."""
    for x, y in batches:
        optimizer.zero_grad()
        loss(model(x).squeeze(1), y).backward()
        optimizer.step()


def check_same_sum(rows: Design, labels: Any, seed: int) -> None:
    """Both sides sum the same clipped gradients of one fixed batch."""
    generator = np.random.default_rng(seed)
    chosen = np.sort(generator.choice(len(rows), BATCH, replace=False))
    theta = generator.normal(size=rows.width).astype(np.float32)
    part, y = rows.take(chosen), labels[chosen].astype(np.float32)
    batch = Batch(part.scores(theta), y, np.zeros(BATCH, dtype=np.int64))
    coefficients, extra = LogisticLoss().gradients(batch, np.empty(0), ())
    ours, _ = clipped_sum(FlatClip(CLIP), part, batch, (), coefficients, extra)

    model, optimizer = made_private(torch.nn.Linear(rows.width, 1, bias=False))
    with torch.no_grad():
        model._module.weight.copy_(torch.from_numpy(theta))
    x = torch.from_numpy(part.matrix())
    torch.nn.BCEWithLogitsLoss()(model(x).squeeze(1), torch.from_numpy(y)).backward()
    clipped = int((np.abs(coefficients) * part.norms > CLIP).sum())
    optimizer.clip_and_accumulate()
    theirs = model._module.weight.summed_grad.numpy().reshape(-1)
    difference = np.abs(ours - theirs).max()
    print(
        f"clipped gradient sum of one batch ({clipped} of {BATCH} clipped): "
        f"max abs difference {difference:.2g}, largest entry {np.abs(theirs).max():.4g}"
    )
    if difference > 1e-4 * np.abs(theirs).max():
        sys.exit("The two sides do not compute the same sum: the comparison would mean nothing.")


def measure(
    settings: dict[str, tuple[Callable[[], None], int]], rounds: int
) -> dict[str, list[float]]:
    """Microseconds of CPU time per step, of every setting in every round."""
    times: dict[str, list[float]] = {name: [] for name in settings}
    for turn in range(rounds + 1):
        for name, (run, steps) in settings.items():
            start = time.process_time()
            run()
            if turn > 0:  # the first round warms up
                times[name].append((time.process_time() - start) / steps * 1e6)
    return times


def show(times: dict[str, list[float]]) -> None:
    """A table of times and of ratios to the first setting."""
    ours = next(iter(times.values()))
    print(f"\n{'':24}{'us/step, best':>14}{'median':>9}{'x dpfair, median':>18}{'range':>15}")
    for name, values in times.items():
        ratios = [value / own for value, own in zip(values, ours, strict=True)]
        print(
            f"{name:24}{min(values):14.0f}{statistics.median(values):9.0f}"
            f"{statistics.median(ratios):18.1f}{min(ratios):9.1f} -{max(ratios):5.1f}"
        )


if __name__ == "__main__":
    main()
