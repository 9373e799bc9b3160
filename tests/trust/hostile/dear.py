"""Large files in which everything follows: their limits bound what they cost to read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sample_models import fitted, rewritten
from sklearn.base import clone

from dpfair import Schema
from dpfair.fairness.counting import cell_noise
from dpfair.fairness.dither import GRAIN
from dpfair.fairness.release import HALF, Release
from dpfair.learners.features import feature_count
from dpfair.learners.scorer import LinearScorer
from dpfair.methods.base import PrivateClassifier
from dpfair.models.content import write_content
from dpfair.models.header import header_of
from dpfair.privacy.assumptions import GROUP_SIZES, NO_FACTS

__all__ = ["DEAR", "sized"]


def _large(kind: str, groups: int, count: int, bins: int | None = None, **settings: Any) -> bytes:
    """The file of a model with this many groups, bins and records in every cell.

    Without ``bins`` the scores are counted as planned; otherwise thresholds are placed.
    """
    model = _replanned(kind, groups, settings)
    plan, labels = model.plan_, 2 if model.counts_labels else 1
    exact = "count" not in plan
    edges = HALF if exact else plan["count"].how
    edges = edges if bins is None else (np.arange(bins - 1) + 1) / bins
    # Records of the positive label have higher scores, and so have those of the first groups.
    slope = np.linspace(0.5, 1.5, len(edges) + 1)
    tilt = np.linspace(1, 0.5, groups)[:, None, None]
    shares = np.stack([slope[::-1], slope][-labels:]) ** tilt
    counts = (count * shares).astype(np.int64)
    sizes = counts.sum(axis=(1, 2))
    release = Release(
        groups=model.schema_.groups,
        edges=edges,
        counts=counts,
        noise=(np.inf if exact else cell_noise(plan["count"].event),) * groups,
        sizes=tuple(sizes.tolist()) if exact or model.public_sizes else None,
        dependence=model.dependence("count"),
        grain=None if bins is None else GRAIN,
        undeclared={} if exact or model.public_sizes else dict.fromkeys(model.counts_undeclared, 0),
    )
    if model.public_sizes:
        model.ledger_.assume(GROUP_SIZES, sizes)
    start = fitted(kind).fitted_
    rates = None if start.rates is None else tuple(np.linspace(0.1, 0.9, groups).tolist())
    start = replace(start, scorer=_scorer(model), releases={"count": release}, rates=rates)
    model.fitted_ = model.choose(start)
    return write_content(header_of(model), model.scorer_.tensors())


def sized(*size: Any, **settings: Any) -> Callable[[Any], bytes]:
    """A file of this size, when it is asked for."""
    return lambda honest: _large(*size, **settings)


def _replanned(kind: str, groups: int, settings: dict[str, Any]) -> PrivateClassifier:
    """An unfitted model of this kind with other groups and settings, and its plan."""
    base, names = fitted(kind), [f"g{i}" for i in range(groups)]
    sensitive = {"sensitive": {"name": "sex", "values": names}}
    schema = Schema.from_dict(base.schema_.to_dict() | sensitive)
    own = {"schema": schema, "groups": names, "rule__smallest_group": 0}
    own = {name: value for name, value in own.items() if name in base.get_params()}
    model = clone(base).set_params(**own | settings)
    model.schema_, model.classes_ = schema, base.classes_
    facts = {GROUP_SIZES: np.zeros(groups, dtype=np.int64)} if model.public_sizes else NO_FACTS
    model.plan_ = model.replan(facts, notion=base.fitted_.notion)
    model.ledger_ = model.plan_.total()
    model.ledger_.mark(seeded=True, row=None)
    return model


def _scorer(model: PrivateClassifier) -> Any:
    if not hasattr(model, "learner"):
        return fitted("rates").scorer_
    return LinearScorer(model.schema_, "binned", np.zeros(feature_count("binned", model.schema_)))


def _many_steps(honest: Any, epsilon: str = "2") -> bytes:
    """A descent of as many steps on samples as a file may have."""

    def change(header: dict[str, Any]) -> None:
        header["settings"].update(solver="sgd", steps=2_000_000, batch_size=1000)
        header["settings"]["noise_multiplier"] = 3.0
        header["schema"]["rows"] = 1_000_000
        noise = {"kind": "GridGaussian", "noise_multiplier": 3.0}
        sample = {"kind": "PoissonSampled", "sampling_rate": 0.001, "event": noise}
        event = {"kind": "Repeated", "count": 2_000_000, "event": sample}
        header["plan"]["steps"][0]["event"] = event
        header["plan"]["epsilon"] = epsilon

    return rewritten(honest["logistic, noise given"], change)


def _many_runs(honest: Any) -> bytes:
    """A search among as many runs as a file may have."""

    def change(header: dict[str, Any]) -> None:
        header["search"]["steps"][0]["event"]["one_of"] += [
            {"kind": "GridGaussian", "noise_multiplier": 1e3 + i} for i in range(4990)
        ]

    return rewritten(honest["search"], change)


DEAR: dict[str, Callable[[Any], bytes]] = {
    "many steps": _many_steps,
    "many steps beyond the budget": partial(_many_steps, epsilon="1/100"),
    "many runs": _many_runs,
}
"""Files of which each takes a reader as long as any of its kind; most of them can be read."""

for _size, _settings in (
    (("placed", 20, 50, 744), {"division__release_epsilon": 1.77}),
    (("placed", 20, 15_000, 744), {"division__release_epsilon": 1.77}),
    (("placed", 20, 10**4, 399), {"division__release_epsilon": 1}),
    (("placed", 5, 10**5, 200), {}),
    (("bands", 20, 9, 999), {}),
    (("bands", 20, 10**4, 999), {}),
    (("other rule", 100, 9), {}),
    (("other rule", 100, 5000), {}),
    (("other rule", 100, 1000), {"division__release_epsilon": 0.05}),
    (("flips", 100, 4 * 10**5), {}),
    (("public sizes", 100, 2000), {}),
    (("exact rates", 100, 4 * 10**5), {}),
    (("rates", 100, 10**4), {"epsilon": 0.05}),
    (("rates", 2, 10**4), {"epsilon": 2.1e-4}),
):
    DEAR[f"{_size} {[*_settings.values()]}"] = sized(*_size, **_settings)
