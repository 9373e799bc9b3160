"""From runs to rows: our mean and error next to the published number, and a verdict."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from dpfair.experiments.runner import run_of
from dpfair.experiments.runs import BATCH, CLIP, DELTA, Run, load_split, training_event
from dpfair.experiments.tables import Table
from dpfair.privacy.accountants import epsilons

__all__ = ["RowResult", "TableResult", "person_epsilon", "summarise"]


@dataclass(frozen=True)
class RowResult:
    """One row of a table, ours and published."""

    table: str
    dataset: str
    epsilon: float
    accountant: str
    method: str
    weight: float
    seeds: int
    accuracy: float
    accuracy_se: float
    gap: float
    gap_se: float
    published_accuracy: float
    published_gap: float
    accuracy_errors: float
    gap_errors: float
    verdict: str

    def to_json(self) -> dict[str, Any]:
        """The row as plain data; ``lambda`` is the paper's name of the weight."""
        data = asdict(self)
        data["lambda"] = data.pop("weight")
        return data


@dataclass(frozen=True)
class TableResult:
    """A table with what its noise costs by every accountant."""

    table: Table
    rows: tuple[RowResult, ...]
    majority: float
    noise_epsilons: Mapping[str, float]
    person_epsilon: float | None


def summarise(
    tables: Sequence[Table],
    results: Mapping[str, Mapping[str, Any]],
    data: str,
    seeds: Iterable[int],
    variant: str,
) -> list[TableResult]:
    """The rows of every table."""
    seeds = list(seeds)
    summaries = []
    for table in tables:
        found = [
            [results[run_of(table, r.method, r.weight, data, s, variant).key] for s in seeds]
            for r in table.rows
        ]
        rows = tuple(
            _row(table, row.method, row.weight, row.accuracy, row.gap, runs)
            for row, runs in zip(table.rows, found, strict=True)
        )
        example = run_of(table, "algorithm2", 0, data, seeds[0], variant)
        summaries.append(
            TableResult(
                table=table,
                rows=rows,
                majority=float(np.mean([run["majority"] for run in found[0]])),
                noise_epsilons=_noise_epsilons(example) if data == "paper" else {},
                person_epsilon=_person(example) if data == "paper" else None,
            )
        )
    return summaries


def person_epsilon(noise_multiplier: float, sampling_rate: float, steps: int) -> float:
    """The epsilon of a person who owns two rows, each sampled on its own.

    Removing the person removes 0, 1 or 2 gradients from a batch: a mixture of Gaussians.

    Examples
    --------
    >>> round(person_epsilon(3.13 / 1.5, 1024 / 30162, 1500), 1)
    6.3
    """
    from dp_accounting.pld import privacy_loss_distribution as pld

    q = sampling_rate
    distribution = pld.from_mixture_gaussian_mechanism(
        standard_deviation=noise_multiplier,
        sensitivities=[0, 1, 2],
        sampling_probs=[(1 - q) ** 2, 2 * q * (1 - q), q * q],
        value_discretization_interval=1e-3,
    ).self_compose(steps)
    return float(distribution.get_epsilon_for_delta(DELTA))


def _row(
    table: Table,
    method: str,
    weight: float,
    published_accuracy: float,
    published_gap: float,
    runs: Sequence[Mapping[str, Any]],
) -> RowResult:
    accuracy, accuracy_se = _mean([run["accuracy"] for run in runs])
    gap, gap_se = _mean([run["gap"] for run in runs])
    accuracy_errors = _errors(accuracy - published_accuracy, accuracy_se)
    gap_errors = _errors(gap - published_gap, gap_se)
    close = abs(accuracy_errors) <= 2 and abs(gap_errors) <= 2
    return RowResult(
        table=table.name,
        dataset=table.dataset,
        epsilon=table.epsilon,
        accountant=table.accountant,
        method=method,
        weight=weight,
        seeds=len(runs),
        accuracy=accuracy,
        accuracy_se=accuracy_se,
        gap=gap,
        gap_se=gap_se,
        published_accuracy=published_accuracy,
        published_gap=published_gap,
        accuracy_errors=accuracy_errors,
        gap_errors=gap_errors,
        verdict="reproduces" if close else "differs",
    )


def _mean(values: Sequence[float]) -> tuple[float, float]:
    array = np.array(values)
    if len(array) < 2:
        return float(array.mean()), math.inf
    return float(array.mean()), float(array.std(ddof=1) / math.sqrt(len(array)))


def _errors(difference: float, error: float) -> float:
    """In standard errors of a difference: the published mean of ten runs has an error like ours."""
    if difference == 0 or math.isinf(error):
        return 0.0
    return difference / (math.sqrt(2) * max(error, 1e-6))


def _noise_epsilons(run: Run) -> dict[str, float]:
    rows = load_split(run.dataset, run.data, 0).dataset.schema.rows
    assert rows is not None
    event = training_event(run, rows)
    return {name: answer.epsilon for name, answer in epsilons(event, DELTA).items()}


def _person(run: Run) -> float | None:
    """Only the Adult file holds every record twice."""
    if run.dataset != "adult":
        return None
    rows = load_split(run.dataset, run.data, 0).dataset.schema.rows
    assert rows is not None
    assert run.noise_std is not None
    train = rows * (1 - 1 / 3)
    steps = run.epochs * math.ceil(train / BATCH)
    return person_epsilon(run.noise_std / CLIP, BATCH / train, steps)
