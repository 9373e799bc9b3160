"""Counting records: every record is in one cell, and every cell has the noise that was paid."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from dpfair.errors import BudgetError, InputError, ReceiptError
from dpfair.fairness.counting import (
    release_accepted,
    release_exact,
    release_table,
    table_events,
    table_plan,
)
from dpfair.fairness.release import HALF, UNDECLARED, Release, score_grid
from dpfair.privacy.assumptions import Assumption
from dpfair.privacy.events import pure_epsilon
from dpfair.privacy.ledger import Ledger, Receipt
from dpfair.privacy.noise import Noise
from dpfair.privacy.plan import Budget

NAMES = ("f", "m")


def open_ledger(epsilon=1000.0, relation="add_remove", seed=0) -> Ledger:
    return Ledger(epsilon, 1e-5, relation=relation, noise=Noise(seed))


def paid(ledger, epsilon) -> Receipt:
    [event] = table_events(epsilon, 1, ledger.relation, public_sizes=False)
    return ledger.charge(event, scope="a", purpose="count")


def counted(scores, groups, labels=None, edges=HALF, epsilon=900, **options) -> Release:
    """With an enormous epsilon the noise vanishes."""
    return release_table(
        np.array(scores, dtype=float),
        np.array(groups),
        NAMES,
        labels=None if labels is None else np.array(labels),
        edges=edges,
        receipt=paid(open_ledger(), epsilon),
        dependence="",
        **options,
    )


def test_every_record_is_in_one_cell():
    release = counted([0.1, 0.5, 0.7, 0.2], [0, 0, 1, 1], [1, 0, 1, 0], edges=(0.2, 0.5))
    expected = np.zeros((2, 2, 3), dtype=int)
    expected[0, 1, 0] = expected[0, 0, 2] = expected[1, 1, 2] = expected[1, 0, 1] = 1
    assert release.counts.tolist() == expected.tolist()  # an edge belongs to the bin above
    assert release.labelled
    assert not counted([0.1], [0]).labelled


def test_groups_may_have_edges_of_their_own():
    release = counted([0.3, 0.3], [0, 1], edges=[[0.2, 0.5], [0.4, 0.5]])
    assert release.counts[:, 0].tolist() == [[0, 1, 0], [1, 0, 0]]


def test_undeclared_records_have_cells_of_their_own():
    """A record without a declared group is counted there, whatever its label."""
    release = counted([0.1, 0.9, 0.9, 0.9, 0.2], [0, -1, 1, -1, 1], [1, 0, -1, -1, 0])
    assert release.undeclared == {"group": 2, "label": 1}
    assert release.counts.tolist() == [[[0, 0], [1, 0]], [[1, 0], [0, 0]]]
    assert release.total == 5
    unlabelled = counted([0.1, 0.9], [0, -1])
    assert unlabelled.undeclared == {"group": 1}
    apart = counted([0.1, 0.9], [0, 1], [1, -1], by_label=False)
    assert apart.undeclared == {"group": 0, "label": 1}
    assert apart.counts.shape == (2, 1, 2)


def test_one_undeclared_record_moves_one_cell_by_one():
    groups, labels = np.array([0, -1, 1]), np.array([0, 1, -1])
    whole = counted([0.1, 0.6, 0.9], groups, labels)
    for i in range(3):
        kept = np.arange(3) != i
        fewer = counted(np.array([0.1, 0.6, 0.9])[kept], groups[kept], labels[kept])
        moved = np.abs(whole.counts - fewer.counts).sum()
        moved += sum(abs(whole.undeclared[kind] - fewer.undeclared[kind]) for kind in UNDECLARED)
        assert moved == 1


def test_undeclared_cells_are_noisy():
    shares = []
    for seed in range(200):
        release = release_table(
            np.zeros(3),
            np.array([-1, 0, 1]),
            NAMES,
            labels=np.array([0, -1, 1]),
            receipt=paid(open_ledger(1.0, seed=seed), 1),
            dependence="",
        )
        shares.append(release.undeclared.values())
    drawn = np.array([[*row] for row in shares])
    variance = 2 * math.exp(-1) / math.expm1(-1) ** 2
    assert drawn.var(axis=0) == pytest.approx([variance] * 2, rel=0.5)
    assert drawn.mean(axis=0) == pytest.approx([1, 1], abs=0.5)


def test_extreme_scores_have_a_place():
    release = counted([-5, 1.5, math.inf, -math.inf], [0, 0, 1, 1])
    assert release.counts[:, 0].tolist() == [[1, 1], [1, 1]]


@pytest.mark.parametrize(("relation", "share"), [("add_remove", 1), ("replace_one", 2)])
def test_the_noise_is_the_paid_one(relation, share):
    ledger = open_ledger(1.0, relation)
    release = release_table(
        np.zeros(50_000),
        np.zeros(50_000, dtype=int),
        ("all",),
        edges=np.arange(1, 999) / 999,
        receipt=paid(ledger, Fraction(1, 2)),
        dependence="",
    )
    assert release.noise == (pytest.approx(0.5 / share),)
    t = 0.5 / share
    variance = 2 * math.exp(-t) / math.expm1(-t) ** 2
    assert release.counts[0, 0, 1:].var() == pytest.approx(variance, rel=0.25)
    [entry] = ledger.entries
    assert pure_epsilon(entry.event) == Fraction(1, 2)
    assert ledger.spent == pytest.approx(0.5)


def test_nothing_is_counted_that_is_not_paid():
    ledger = open_ledger(1.0)
    with pytest.raises(BudgetError):
        paid(ledger, 2)
    assert ledger.entries == ()
    receipt = paid(ledger, 1)
    one = {"receipt": receipt, "dependence": ""}
    release_table(np.zeros(2), np.zeros(2, dtype=int), NAMES, **one)
    with pytest.raises(ReceiptError, match="Nothing is left"):  # a receipt pays for one table
        release_table(np.zeros(2), np.zeros(2, dtype=int), NAMES, **one)


def test_one_record_moves_one_cell_by_one():
    scores, groups, labels = np.array([0.1, 0.6, 0.9]), np.array([0, 1, 1]), np.array([0, 1, 0])
    whole = counted(scores, groups, labels, edges=score_grid(3.0)).counts
    for i in range(3):
        kept = np.arange(3) != i
        fewer = counted(scores[kept], groups[kept], labels[kept], edges=score_grid(3.0)).counts
        assert np.abs(whole - fewer).sum() == 1


def test_public_sizes_cost_a_count_per_group():
    assert len(table_events(0.1, 5, "add_remove", public_sizes=True)) == 5
    assert len(table_events(0.1, 5, "replace_one", public_sizes=False)) == 1
    ledger = open_ledger(10.0)
    events = table_events(5, 2, "add_remove", public_sizes=True)
    release = release_accepted(
        np.array([0.9, 0.1, 0.8]),
        np.array([0, 0, 1]),
        NAMES,
        receipts=[ledger.charge(event, scope="a", purpose="count") for event in events],
        assume=ledger.assume,
        dependence="",
    )
    assert ledger.assumptions == (Assumption(("group",), "a"),)
    assert release.sizes == (2, 1)
    assert release.counts.sum(axis=(1, 2)).tolist() == [2, 1]
    assert len(ledger.entries) == 2
    assert [rate.size for rate in release.rates] == [2, 1]


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_a_plan_of_one_table_spends_its_whole_budget(relation):
    budget = Budget(Fraction(3), 1e-9, relation, rows_per_unit=2)
    plan = table_plan(budget, "count decisions", groups=5)
    [step] = plan.steps
    assert (step.name, step.scope, step.purpose) == ("count", "", "count decisions")
    assert pure_epsilon(step.event) == Fraction(3, 2)
    assert plan.total().spent == 3


def test_exact_counts():
    release = release_exact(np.array([0.9, 0.1, 0.8]), np.array([0, 0, 1]), NAMES, dependence="no")
    assert release.counts.tolist() == [[[1, 1]], [[0, 1]]]
    assert release.noise == (math.inf, math.inf)
    with pytest.raises(InputError, match="no records"):
        release_exact(np.array([0.9]), np.array([0]), NAMES, dependence="")
