"""DP-SGD steps of Opacus, on the same rows and batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import torch
from opacus import GradSampleModule, PrivacyEngine
from opacus.grad_sample.gsm_exp_weights import GradSampleModuleExpandedWeights
from opacus.optimizers import DPOptimizer

from benchmarks.bench.contenders.descent_steps import BATCH, CLIP, MULTIPLIER, RATE, adult_half
from benchmarks.bench.inputs import SEED, Inputs
from benchmarks.bench.task import Call
from dpfair.learners.descent import Batch, FlatClip, LogisticLoss, clipped_sum
from dpfair.learners.design import Design

STEPS, STANDARD_STEPS = 400, 220

Batches = Iterable[tuple[Any, Any]]


def standard(inputs: Inputs) -> Call:
    """The paper's network with the PrivacyEngine and its loader."""
    x, y = tensors()
    network = paper_network(x.shape[1])
    model, optimizer, loader = PrivacyEngine().make_private(
        module=network,
        optimizer=torch.optim.SGD(network.parameters(), lr=RATE),
        data_loader=torch.utils.data.DataLoader(
            torch.utils.data.TensorDataset(x, y), batch_size=BATCH
        ),
        noise_multiplier=MULTIPLIER,
        max_grad_norm=CLIP,
    )
    epochs = STANDARD_STEPS // len(loader)

    def run() -> None:
        for _ in range(epochs):
            train(model, optimizer, torch.nn.BCELoss(), loader)

    return Call(run, epochs * len(loader))


def no_loader(inputs: Inputs) -> Call:
    """The paper's network; batches are sampled by a mask and gathered."""
    x, y = tensors()
    private, entropy = made_private(paper_network(x.shape[1])), torch.nn.BCELoss()
    return steps(lambda count: train(*private, entropy, sampled(x, y, count)))


def folded(inputs: Inputs) -> Call:
    """No bias and no sigmoid: the constant is a column, and the loss takes logits."""
    private, x, y = folded_network()
    return steps(lambda count: train(*private, logit_entropy(), sampled(x, y, count)))


def folded_expanded(inputs: Inputs) -> Call:
    """The same with PyTorch's gradients per sample instead of hooks."""
    private, x, y = folded_network(GradSampleModuleExpandedWeights)
    return steps(lambda count: train(*private, logit_entropy(), sampled(x, y, count)))


def prepared(inputs: Inputs) -> Call:
    """The same on prepared batches: rows are neither sampled nor gathered, as ours are."""
    private, x, y = folded_network()
    batches = list(sampled(x, y, STEPS))
    return steps(lambda count: train(*private, logit_entropy(), batches[:count]))


def compact(inputs: Inputs) -> Call:
    """Rows are numbers and positions, and an embedding looks up the weights of the positions."""
    torch.manual_seed(SEED)
    rows, labels, _ = adult_half()
    numbers, y = torch.from_numpy(rows.dense), torch.from_numpy(labels.astype(np.float32))
    cells = torch.from_numpy(rows.matrix()[:, rows.dense.shape[1] :])
    places = cells.nonzero()[:, 1].reshape(len(rows), -1)  # as many ones in every row
    private = made_private(LookUpNetwork(numbers.shape[1], rows.cells))

    def batches(count: int) -> Iterator[tuple[Any, Any]]:
        for chosen in masks(len(rows), count):
            some = (numbers.index_select(0, chosen), places.index_select(0, chosen))
            yield some, y.index_select(0, chosen)

    return steps(lambda count: train(*private, logit_entropy(), batches(count)))


class LookUpNetwork(torch.nn.Module):
    """Logistic regression on numbers and on the positions of ones."""

    def __init__(self, numbers: int, cells: int) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(numbers, 1)
        self.weights = torch.nn.Embedding(cells, 1)

    def forward(self, rows: tuple[Any, Any]) -> Any:
        """The logits."""
        return self.linear(rows[0]) + self.weights(rows[1]).sum(dim=1)


def steps(run: Callable[[int], None]) -> Call:
    """So many steps, after two that load what they need."""
    run(2)
    return Call(lambda: run(STEPS), STEPS)


def tensors() -> tuple[Any, Any]:
    """Half of Adult as tensors, without the constant column."""
    torch.manual_seed(SEED)
    rows, labels, _ = adult_half()
    x, y = torch.from_numpy(rows.matrix()), torch.from_numpy(labels.astype(np.float32))
    return x[:, x.std(dim=0) > 0].contiguous(), y


def folded_network(how: type = GradSampleModule) -> tuple[tuple[Any, Any], Any, Any]:
    """One private layer without a bias, and rows with a constant."""
    torch.manual_seed(SEED)
    rows, labels, _ = adult_half()
    check_same_sum(rows, labels, how)
    x, y = torch.from_numpy(rows.matrix()), torch.from_numpy(labels.astype(np.float32))
    return made_private(torch.nn.Linear(x.shape[1], 1, bias=False), how), x, y


def paper_network(width: int) -> Any:
    """Logistic regression as the paper's experiments write it."""
    return torch.nn.Sequential(torch.nn.Linear(width, 1), torch.nn.Sigmoid())


def logit_entropy() -> Any:
    """Cross entropy of logits."""
    return torch.nn.BCEWithLogitsLoss()


def made_private(network: Any, how: type = GradSampleModule) -> tuple[Any, Any]:
    """Opacus' gradients per sample and optimizer around a network, without its engine."""
    model = how(network)
    optimizer = DPOptimizer(
        torch.optim.SGD(model.parameters(), lr=RATE),
        noise_multiplier=MULTIPLIER,
        max_grad_norm=CLIP,
        expected_batch_size=BATCH,
    )
    return model, optimizer


def masks(rows: int, count: int) -> Iterator[Any]:
    """Poisson batches, as positions."""
    for _ in range(count):
        yield (torch.rand(rows) < BATCH / rows).nonzero().squeeze(1)


def sampled(x: Any, y: Any, count: int) -> Iterator[tuple[Any, Any]]:
    """Poisson batches of dense rows."""
    for chosen in masks(len(x), count):
        yield x.index_select(0, chosen), y.index_select(0, chosen)  # faster than x[chosen]


def train(model: Any, optimizer: Any, loss: Any, batches: Batches) -> None:
    """One step of Opacus per batch."""
    for x, y in batches:
        optimizer.zero_grad()
        loss(model(x).squeeze(1), y).backward()
        optimizer.step()


def check_same_sum(rows: Design, labels: Any, how: type) -> None:
    """Both sides sum the same clipped gradients of one batch, or the times mean nothing."""
    generator = np.random.default_rng(SEED)
    chosen = np.sort(generator.choice(len(rows), BATCH, replace=False))
    theta = generator.normal(size=rows.width).astype(np.float32)
    part, y = rows.take(chosen), labels[chosen].astype(np.float32)
    batch = Batch(part.scores(theta), y, np.zeros(BATCH, dtype=np.int64))
    coefficients, extra = LogisticLoss().gradients(batch, np.empty(0), ())
    ours, _ = clipped_sum(FlatClip(CLIP), part, batch, (), coefficients, extra)

    model, optimizer = made_private(torch.nn.Linear(rows.width, 1, bias=False), how)
    with torch.no_grad():
        model._module.weight.copy_(torch.from_numpy(theta))
    x = torch.from_numpy(part.matrix())
    logit_entropy()(model(x).squeeze(1), torch.from_numpy(y)).backward()
    optimizer.clip_and_accumulate()
    theirs = model._module.weight.summed_grad.numpy().reshape(-1)
    assert np.abs(ours - theirs).max() <= 1e-4 * np.abs(theirs).max(), "the sums differ"
