"""DP-SGD as the paper's published code loops over it, written again by us in plain PyTorch.

Every record of a batch has its own backward pass, after which its gradient is clipped and added.
"""

from __future__ import annotations

from typing import Any

import torch

from benchmarks.bench.contenders.descent_steps import BATCH, CLIP, MULTIPLIER, RATE
from benchmarks.bench.contenders.opacus_steps import paper_network, sampled, tensors
from benchmarks.bench.inputs import Inputs
from benchmarks.bench.task import Call

STEPS = 5


def loop(inputs: Inputs) -> Call:
    """Steps of the loop on Poisson batches."""
    x, y = tensors()
    network = paper_network(x.shape[1])
    optimizer, loss = torch.optim.SGD(network.parameters(), lr=RATE), torch.nn.BCELoss()

    def step(features: Any, labels: Any) -> None:
        sums = [torch.zeros_like(p) for p in network.parameters()]
        for row, label in zip(features, labels, strict=True):
            optimizer.zero_grad()
            loss(network(row), label[None]).backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), CLIP)
            for total, parameter in zip(sums, network.parameters(), strict=True):
                total += parameter.grad
        for total, parameter in zip(sums, network.parameters(), strict=True):
            parameter.grad = (total + CLIP * MULTIPLIER * torch.randn_like(total)) / BATCH
        optimizer.step()

    def run(count: int) -> None:
        for batch in sampled(x, y, count):
            step(*batch)

    run(1)
    return Call(lambda: run(STEPS), STEPS)
