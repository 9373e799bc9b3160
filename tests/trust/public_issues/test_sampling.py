"""Bugs of batches, of their sizes and of parts of the data."""

from __future__ import annotations

import numpy as np
import pytest
from trust.public_issues.asking import (
    EXTREME,
    SCHEMA,
    asked,
    fair,
    loans,
    one_step,
    sums,
    with_rows,
)

from dpfair import Ledger, Noise, PrivateLogisticRegression
from dpfair.methods.training import TRAIN
from dpfair.privacy.events import gaussian_steps, step_event
from dpfair.privacy.split import coin_split

# Sampling and normalising


@pytest.mark.parametrize("solver", ["full_batch", "sgd"])
def test_opacus_571_division_by_the_true_batch_size(solver):
    """The noisy sum was divided by a size computed from the data, which neighbours do not share."""
    X, y = loans()
    settings = {"schema": SCHEMA, "steps": 4, "solver": solver}
    model, other = (PrivateLogisticRegression(1, **settings) for _ in range(2))
    script = asked(model, X, y)
    # The same noisy answers lead to the same model, however many records there are.
    asked(other, *with_rows(X, y, [EXTREME] * 500), script=script)
    np.testing.assert_array_equal(model.scorer_.weights, other.scorer_.weights)


def test_opacus_819_the_expected_batch_size_is_rounded_from_the_data():
    """The divisor int(n q) jumps between neighbours, and with it every coordinate at once."""
    descent = one_step(solver="sgd", batch_size=7).plan()[TRAIN].how.descent
    assert descent.divisor == 7
    assert descent.sampling_rate == 7 / SCHEMA.rows  # both public, whatever the table holds


def test_opacus_80_batches_of_constant_size():
    """Batches of a fixed size were accounted for as if every record had tossed its own coin."""
    event = step_event(5.0, 0.1)
    ledger = Ledger(10, 1e-5, noise=Noise(seed=3))
    receipt = ledger.charge(gaussian_steps(5.0, 0.1, 400), scope="", purpose="p")
    batches = [receipt.draw(event).batch(200) for _ in range(400)]
    sizes = np.array([len(batch) for batch in batches])
    assert sizes.var() == pytest.approx(200 * 0.1 * 0.9, rel=0.3)
    assert sizes.mean() == pytest.approx(20, rel=0.05)
    inside = np.zeros((400, 200))
    for row, batch in zip(inside, batches, strict=True):
        row[batch] = 1
    together = (inside[:, 0::2] * inside[:, 1::2]).mean()
    assert together == pytest.approx(0.01, rel=0.15)  # two records are independent


def test_opacus_161_an_empty_batch():
    """Poisson sampling may choose nobody: training crashed, or the step went without its noise."""
    X, y = loans(1)
    for arithmetic in ("exact", "float64"):
        model = one_step(solver="sgd", batch_size=100, steps=6, arithmetic=arithmetic)
        asked_for = sums(asked(model, X, y))
        assert len(asked_for) == 6
        empty = [noisy for _, exact, noisy in asked_for if not exact.any()]
        assert len(empty) >= 4
        assert all((noisy != 0).mean() > 0.99 for noisy in empty)


# Partitions


def test_synthcity_275_partition_reuse():
    """Every teacher drew a new random part of the data at each step, and so saw all of it."""
    X, y = loans(400)
    for notion in ("equalized_odds", "demographic_parity"):
        model = fair(rule={"notion": notion, "smallest_group": 0})
        heard = asked(model, X, y)
        counted = [h.question for h in heard if h.question.kind == "counts"]
        by_scope = {q.scope: int(q.value.sum()) for q in counted}
        assert {question.scope for question, _, _ in sums(heard)} == {"train"}
        assert by_scope["release"] + by_scope.get("train", 400 - by_scope["release"]) == 400
        assert 100 < by_scope["release"] < 300
    scopes = coin_split(400, {"train": 0.5, "release": 0.3, "check": 0.2}, Noise(seed=1))
    everybody = np.concatenate(list(scopes.values()))
    assert sorted(everybody.tolist()) == list(range(400))


def test_mlforhealthlabpub_29_the_first_part_for_everybody():
    """An index stayed at zero: every teacher was given the first part of the data."""
    scopes = coin_split(3000, {"a": 0.2, "b": 0.3, "c": 0.5}, Noise(seed=2))
    assert [len(rows) / 3000 for rows in scopes.values()] == pytest.approx(
        [0.2, 0.3, 0.5], abs=0.04
    )
    assert not set(scopes["a"].tolist()) & set(scopes["b"].tolist())
    # A person's records stay together, and another person's leaving moves nobody.
    units = [f"p{i // 3}" for i in range(300)]
    parts = coin_split(300, {"a": 0.5, "b": 0.5}, Noise(seed=3), units)
    fewer = coin_split(297, {"a": 0.5, "b": 0.5}, Noise(seed=3), units[:-3])
    for name, rows in parts.items():
        assert len({units[i] for i in rows.tolist()}) * 3 == len(rows)
        assert fewer[name].tolist() == [i for i in rows.tolist() if i < 297]
