"""How a model does on labelled records: internal numbers, or a release that pays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from dpfair import validate
from dpfair.data.containers import column_name
from dpfair.data.encode import level_codes
from dpfair.data.table_files import TableFiles
from dpfair.errors import InputError
from dpfair.fairness.bounds.bands import fixed_accuracy, fixed_bound
from dpfair.fairness.counting import release_cells, table_cells, table_plan
from dpfair.fairness.metrics import gap_of, sampling_floor
from dpfair.fairness.notions import Notion, Statistic, notion_of
from dpfair.fairness.rates import Interval
from dpfair.fairness.release import HALF, Release, dependence_of
from dpfair.fairness.undeclared import undeclared_shares
from dpfair.methods.base import PrivateClassifier
from dpfair.methods.divided import refuse_apart
from dpfair.methods.inputs import inside_labels, label_column
from dpfair.methods.limits import round_up_digits
from dpfair.models.file import model_digest
from dpfair.privacy.accountants import MAX_EPSILON
from dpfair.privacy.events import exact_epsilon
from dpfair.privacy.ledger import Ledger
from dpfair.privacy.noise import Noise, noise_source
from dpfair.privacy.payment import ChargeTo, Payment
from dpfair.privacy.plan import UNUSED_DELTA, Budget, FitPlan
from dpfair.privacy.split import bound_units

__all__ = ["DecisionCounts", "PrivateMetrics", "check_budget", "evaluate", "evaluate_privately"]

MEASURING = "count decisions by group and label"
# Of one cell. Bounds on rates need tables of the noise, which grow as one over it; they would still
# take half of this.
MIN_NOISE = 2e-5


def evaluate(
    model: PrivateClassifier,
    X: Any,
    y: Any = None,
    sensitive_features: Any = None,
    *,
    strict: bool = False,
) -> dict[str, Any]:
    """Accuracy, gap and group rates of a fitted model's decisions on a table.

    These numbers read the records without paying. On private records they are for internal eyes
    only. ``gap`` is the parity gap, ``notion_gap`` that of the model's own notion if it is another
    one; ``floor`` is the mean parity gap that a perfectly fair rule would show on as many records.
    Records of an undeclared group or label are left out and counted; ``strict`` refuses them.

    ``X`` may be a :class:`~dpfair.data.table_files.TableFiles`. Without ``y``, labels are read from
    the column of the schema.
    """
    check_is_fitted(model)
    counts = DecisionCounts(model)
    for records, labels in _labelled(model, X, y, sensitive_features):
        counts.add(records, labels)
    return counts.metrics(strict=strict)


def _labelled(
    model: PrivateClassifier, X: Any, y: Any, sensitive_features: Any
) -> Iterator[tuple[Any, Any]]:
    """Records with their labels; those of files some after the others."""
    label = model.schema_.label.name
    if not isinstance(X, TableFiles):
        records = model.records_of(X, sensitive_features)
        yield records, inside_labels(X, label) if y is None else y
        return
    refuse_apart(X, y, sensitive_features)
    X.check_truth_values(model.schema_)
    for table in model.tables_of(X, label):
        yield model.records_of(table), table[label]


class DecisionCounts:
    """Records of a table by label, group and decision: what all internal metrics follow from."""

    def __init__(self, model: PrivateClassifier) -> None:
        self.model, self.rows = model, 0
        self.left_out = {"group": 0, "label": 0}
        self._cells = np.zeros((2, len(model.schema_.groups), 2), dtype=np.int64)

    def add(self, records: Any, y: Any) -> None:
        """Count records that follow, with their labels."""
        labels = level_codes(label_column(y, len(records)), self.model.schema_.label)
        known = (records.groups >= 0) & (labels >= 0)
        self.rows += len(records)
        self.left_out["group"] += int((records.groups < 0).sum())
        self.left_out["label"] += int((labels < 0).sum())
        if not known.all():
            records, labels = records.take(np.flatnonzero(known)), labels[known]
        if len(records):
            cells = (labels, records.groups.astype(np.intp), self.model.decide(records))
            places = np.ravel_multi_index(cells, self._cells.shape)
            found = np.bincount(places, minlength=self._cells.size)
            self._cells += found.reshape(self._cells.shape)

    def metrics(self, *, strict: bool) -> dict[str, Any]:
        """The numbers; ``strict`` refuses records of an undeclared group or label."""
        used, names = int(self._cells.sum()), self.model.schema_.groups
        if not used or (strict and used < self.rows):
            raise InputError(
                f"Of {self.rows} records, {self.left_out['group']} have a group and "
                f"{self.left_out['label']} have a label that the schema does not declare."
            )
        sizes, accepted = self._cells.sum(axis=(0, 2)), self._cells[:, :, 1].sum(axis=0)
        rates = _rates(accepted, sizes)
        result = {
            "n": used,
            "left_out": self.left_out,
            "accuracy": float(sum(self._cells[label, :, label].sum() for label in (0, 1)) / used),
            "gap": gap_of(rates),
            "group_rates": {n: float(r) for n, r in zip(names, rates, strict=True)},
            "group_sizes": {n: int(s) for n, s in zip(names, sizes, strict=True)},
            "internal": True,
        }
        notion = notion_of(self.model.certificate_.fairness.notion)
        if notion.name != "demographic_parity":
            values = np.stack([self._statistic(statistic) for statistic in notion.statistics])
            result |= {"notion": notion.name, "notion_gap": notion.gap(values)}
        if len(names) == 2 and sizes.min() > 0:
            result["floor"] = sampling_floor(float(accepted.sum() / used), sizes.tolist())
        return result

    def _statistic(self, statistic: Statistic) -> NDArray[np.float64]:
        """Its value in every group: a share of the records of its labels."""
        labels = list(statistic.labels)
        hits = [self._cells[y, :, y if statistic.correct else 1] for y in labels]
        return _rates(np.sum(hits, axis=0), self._cells[labels].sum(axis=(0, 2)))


def _rates(hits: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.float64]:
    """The shares, NaN where there are no records."""
    shares = np.full(len(sizes), np.nan)
    np.divide(hits, sizes, out=shares, where=sizes > 0)
    return shares


@dataclass(frozen=True)
class PrivateMetrics:
    """How a model does, as a release: noisy counts and what follows from them.

    ``gap`` is that of the model's own notion. The bounds are about new records. Each holds with
    the stated confidence, and needs records that took no part in training. Records that depend on
    each other give no bound: both are then None, for the stated ``reason``. ``undeclared`` are the
    shares of records whose group or label the schema does not declare, as in a certificate; no
    decision about them is right.
    """

    n: int
    accuracy: float
    accuracy_bound: float | None
    notion: str
    gap: float
    gap_bound: float | None
    confidence: float
    reason: str
    undeclared: dict[str, tuple[float, Interval | None]]
    group_rates: dict[str, float]
    epsilon: float
    private: bool
    release: Release
    ledger: Ledger

    def to_json(self) -> dict[str, Any]:
        """The metrics as plain data."""
        left_out = ("release", "ledger")
        plain = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in left_out}
        return plain | {"internal": False, "counts": self.release.counts.tolist()}


def evaluate_privately(
    model: PrivateClassifier,
    X: Any,
    y: Any = None,
    sensitive_features: Any = None,
    *,
    epsilon: float,
    ledger: ChargeTo | str | Path | None = None,
    random_state: int | None = None,
) -> PrivateMetrics:
    """Accuracy, gap and group rates on private records, for publication.

    Privacy
    -------
    One table counts the records by group, label and decision, with discrete Laplace noise: it
    costs ``epsilon`` per record (per person, with the model's ``unit``), under the model's
    relation, and is charged to ``ledger``. Records of an undeclared group or label have cells of
    their own. Everything else follows from the table.
    """
    check_is_fitted(model)
    plan, unit = _plan(model, epsilon), None
    if model.unit is not None:
        if isinstance(X, TableFiles):
            raise InputError("With unit, the records of a person are looked for in all of a table.")
        unit = column_name(X, model.unit)
    payment = _payment(model, plan, noise_source(random_state), ledger, unit)
    pieces = _labelled(model, X, y, sensitive_features)
    exact = np.sum([_cells(model, *labelled) for labelled in pieces], axis=0)
    run = payment.pay()
    release = release_cells(
        lambda: exact,
        model.schema_.groups,
        labelled=True,
        by_label=True,
        edges=HALF,
        receipt=run["count"],
        # A schema that was read off the training records does not depend on these.
        dependence=dependence_of(inferred=False, rows_per_unit=model.rows_per_unit),
    )
    return _private_metrics(model, release, run.ledger)


def _cells(model: PrivateClassifier, records: Any, y: Any) -> NDArray[np.int64]:
    """The exact cells of the table: private until noise is added."""
    labels = level_codes(label_column(y, len(records)), model.schema_.label)
    counted = records.with_labels(labels)
    if counted.units is not None:
        counted = counted.take(bound_units(counted.units.tolist(), model.rows_per_unit))
    accepted = model.decide(counted.in_first_group())
    return table_cells(accepted, counted.groups, counted.labels, len(model.schema_.groups), HALF)


def check_budget(
    model: PrivateClassifier, *, epsilon: float, ledger: ChargeTo | str | Path | None
) -> None:
    """Raise what speaks against an evaluation that pays, before any record is read."""
    unit = None if model.unit is None else str(model.unit_name)
    _payment(model, _plan(model, epsilon), Noise(), ledger, unit)


def _plan(model: PrivateClassifier, epsilon: float) -> FitPlan:
    """One table, by which everything else is estimated."""
    validate.positive(epsilon=epsilon)
    if epsilon > MAX_EPSILON:
        raise InputError(
            f"Expected epsilon <= {MAX_EPSILON}, got {epsilon:g}: it protects nothing."
        )
    # A replaced record moves two cells, and a person as many more as there are records.
    least = MIN_NOISE * model.rows_per_unit * (2 if model.relation == "replace_one" else 1)
    if epsilon < least:
        raise InputError(
            "The counts would have too much noise to be useful; the smallest epsilon that works "
            f"is {round_up_digits(least)}."
        )
    budget = Budget(
        exact_epsilon(epsilon),
        UNUSED_DELTA,
        relation=model.relation,
        rows_per_unit=model.rows_per_unit,
    )
    return table_plan(budget, MEASURING, len(model.schema_.groups))


def _payment(
    model: PrivateClassifier,
    plan: FitPlan,
    noise: Noise,
    ledger: ChargeTo | str | Path | None,
    unit: str | None,
) -> Payment:
    return Payment(
        ledger,
        plan,
        noise,
        purpose="evaluate a model",
        settings={"epsilon": float(plan.budget.epsilon), "model": model_digest(model)},
        unit=unit,
        plan_at=lambda other: _plan(model, other).event,
    )


def _private_metrics(model: PrivateClassifier, release: Release, ledger: Ledger) -> PrivateMetrics:
    notion, k = notion_of(model.certificate_.fairness.notion), len(release.groups)
    independent = not release.dependence
    several = k > 1
    rates = [release.rate(a, 1).estimate for a in range(k)]
    return PrivateMetrics(
        n=max(release.total, 0),
        accuracy=release.right_rate(range(k), [1] * k).estimate,
        accuracy_bound=fixed_accuracy(release, model.confidence) if independent else None,
        notion=notion.name,
        gap=notion.gap(_estimates(release, notion)) if several else 0.0,
        gap_bound=fixed_bound(release, notion, model.confidence).bound if independent else None,
        confidence=model.confidence,
        reason=release.dependence,
        undeclared=undeclared_shares(release, model.confidence),
        group_rates=dict(zip(release.groups, rates, strict=True)),
        epsilon=ledger.epsilon,
        private=ledger.private,
        release=release,
        ledger=ledger,
    )


def _estimates(release: Release, notion: Notion) -> NDArray[np.float64]:
    return np.array(
        [
            [
                release.rate(a, 1, statistic.labels, correct=statistic.correct).estimate
                for a in range(len(release.groups))
            ]
            for statistic in notion.statistics
        ]
    )
