"""DP-FERMI: its gradients, its sensitivity, its variants and what they may claim."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

from dpfair import InputError
from dpfair.learners.descent import Batch
from dpfair.methods.dp_fermi.method import DPFermi, _DualQuery
from dpfair.methods.dp_fermi.penalty import FermiPenalty, project
from dpfair.methods.dp_fermi.reference import StatedNoise

SHARES = {
    "demographic parity": (np.array([[0.3, 0.7]]), np.ones(1)),
    "equalized odds": (np.array([[0.4, 0.6], [0.2, 0.8]]), np.array([0.75, 0.25])),
}


def batch(n=200, seed=0):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=n).astype(np.float32)
    labels = (rng.random(n) < 0.4).astype(np.float32)
    return Batch(scores, labels, rng.integers(0, 2, n))


def psi(penalty, data, scores, dual):
    """The definition, record by record."""
    values = []
    w_all = dual.reshape(penalty.shape)
    for s, y, g in zip(scores, data.labels.astype(int), data.groups, strict=True):
        label = y if penalty.shape[0] > 1 else 0
        w, p = w_all[label], expit(s)
        f = [p] if penalty.shape[2] == 1 else [1 - p, p]
        total = -1.0
        for j, f_j in enumerate(f):
            total -= (w[:, j] ** 2).sum() * f_j
            root = math.sqrt(penalty.shares[label, g])
            if penalty.only_group is None:
                total += 2 / root * w[g, j] * f_j
            elif g == penalty.only_group:
                total += 2 / root * w[0, j] * f_j
        values.append(total / penalty.label_shares[label])
    return np.array(values)


@pytest.mark.parametrize("only", [None, 0, 1])
@pytest.mark.parametrize("notion", SHARES)
def test_gradients_are_the_derivatives_of_the_definition(notion, only):
    penalty = FermiPenalty(*SHARES[notion], only)
    data, dual = batch(40), np.random.default_rng(1).normal(size=penalty.size)
    by_score, by_dual = penalty.gradients(data, dual)
    scores, h = data.scores.astype(np.float64), 1e-5
    numeric = (psi(penalty, data, scores + h, dual) - psi(penalty, data, scores - h, dual)) / (
        2 * h
    )
    np.testing.assert_allclose(by_score, numeric, atol=2e-4)
    for k in range(penalty.size):
        step = np.zeros(penalty.size)
        step[k] = h
        change = psi(penalty, data, scores, dual + step) - psi(penalty, data, scores, dual - step)
        np.testing.assert_allclose(by_dual[:, k], change / (2 * h), atol=2e-3)


def test_the_maximum_over_w_is_the_chi_square_between_decision_and_group():
    data = batch(4000, 3)
    shares = np.bincount(data.groups)[None, :] / 4000
    penalty = FermiPenalty(shares, np.ones(1))
    p = expit(data.scores)
    joint = np.array([[(1 - p)[data.groups == g].sum(), p[data.groups == g].sum()] for g in (0, 1)])
    joint /= 4000
    chi_square = (joint**2 / joint.sum(0) / joint.sum(1, keepdims=True)).sum() - 1
    best = (joint / joint.sum(0) / np.sqrt(shares.T)).ravel()
    assert psi(penalty, data, data.scores, best).mean() == pytest.approx(chi_square, abs=1e-5)


@pytest.mark.parametrize("notion", SHARES)
def test_one_record_never_exceeds_the_stated_sensitivity(notion):
    penalty = FermiPenalty(*SHARES[notion])
    rng = np.random.default_rng(2)
    for _ in range(50):
        dual = rng.normal(size=penalty.size)
        dual *= 5 / np.linalg.norm(dual)
        query = _DualQuery(penalty, 1.0, 0.01, 5.0, 1024, 0.1, dual)
        _, by_dual = penalty.gradients(batch(100, int(rng.integers(1e6))), dual)
        assert np.linalg.norm(by_dual, axis=1).max() <= query.sensitivity


@pytest.mark.parametrize("radius", [0.7, 5.0])
def test_the_worst_record_in_float32_stays_within_the_stated_sensitivity(radius):
    """The smallest group, accepted for sure, with W on the sphere and against it."""
    rng, reached = np.random.default_rng(3), []
    for _ in range(300):
        shares = rng.dirichlet([3.0, 3.0])[None, :]
        group = int(shares.argmin())
        dual = np.zeros((1, 2, 2))
        dual[0, group, 1] = -2 * radius
        query = _DualQuery(
            FermiPenalty(shares, np.ones(1)),
            1.0,
            0.01,
            radius,
            8,
            0.1,
            project(dual.ravel(), radius),
        )
        one = Batch(np.float32([40]), np.float32([1]), np.array([group]))
        reached.append(np.linalg.norm(query(one)) / query.sensitivity)
    assert 1 - 1e-5 < max(reached) <= 1


def test_stated_noise_of_the_published_adult_run():
    noise = StatedNoise.for_budget(
        3, 1e-5, steps=2250, rows=45243, smallest_share=0.325, clip=5, radius=5
    )
    assert noise.theta == pytest.approx(1.73, abs=0.01)
    assert noise.dual == pytest.approx(0.0355, abs=0.001)


@pytest.mark.parametrize("variant", ["tight", "paper"])
@pytest.mark.parametrize("notion", ["demographic_parity", "equalized_odds"])
def test_sound_variants_pay_and_stay_within_the_budget(variant, notion, loans, loan_schema):
    X, y = loans
    model = DPFermi(
        2, weight=1.0, variant=variant, notion=notion, schema=loan_schema, epochs=3, batch_size=300
    ).fit(X, y)
    assert 0 < model.ledger_.spent <= 2
    assert model.certificate_.privacy.private
    assert not model.certificate_.fairness.certified


@pytest.mark.parametrize("variant", ["tight", "paper", "reference"])
@pytest.mark.parametrize(
    ("notion", "counted"),
    [("demographic_parity", "group"), ("equalized_odds", "group and label")],
)
def test_the_certificate_lists_the_exact_counts_that_each_notion_uses(
    variant, notion, counted, loans, loan_schema
):
    """That of equalized odds once listed the shares of the groups only, and not of labels."""
    for rows, size in ((None, ["the number of records"]), (700, [])):
        schema = replace(loan_schema, rows=rows)
        model = DPFermi(2, variant=variant, notion=notion, schema=schema, epochs=1, batch_size=600)
        declared = [] if rows is None else ["the size of the data set (700 rows)"]
        assert model.fit(*loans).certificate_.privacy.assumed_public == (
            "the schema (bounds, categories, label values, groups)",
            *declared,
            f"the number of records of each {counted}",
            *size,
        )


def test_the_reference_says_that_it_is_not_private(loans, loan_schema):
    model = DPFermi(2, variant="reference", schema=loan_schema, epochs=1).fit(*loans)
    assert not model.certificate_.privacy.private
    assert "never clips" in str(model.certificate_)
    assert "the group of the first record" in str(model.certificate_)
    assert model.ledger_.entries == ()


def test_a_penalty_makes_the_model_fairer(loans, loan_schema):
    X, y = loans
    gaps = []
    for weight in (0.0, 20.0):
        model = DPFermi(
            50, weight=weight, schema=loan_schema, epochs=60, batch_size=300, theta_rate=0.3,
            dual_rate=0.3, random_state=0,
        ).fit(X, y)  # fmt: skip
        yes = model.predict(X) == "yes"
        male = (X["sex"] == "m").to_numpy()
        gaps.append(abs(yes[male].mean() - yes[~male].mean()))
    assert gaps[1] < gaps[0] / 2


def test_weight_zero_is_plain_logistic_regression(loans, loan_schema):
    """Without a penalty the groups cannot matter."""
    import polars as pl

    X, y = loans
    swapped = X.with_columns(
        sex=pl.when(pl.col("sex") == "f").then(pl.lit("m")).otherwise(pl.lit("f"))
    )
    weights = [
        DPFermi(
            5, weight=0.0, only_group="m", schema=loan_schema, epochs=2, random_state=4
        ).fit(table, y).scorer_.weights
        for table in (X, swapped)
    ]  # fmt: skip
    np.testing.assert_allclose(weights[0], weights[1], atol=1e-6)


@pytest.mark.parametrize(
    "settings", [{"variant": "x"}, {"notion": "x"}, {"weight": -1.0}, {"epochs": 0}, {"clip": 0.0}]
)
def test_bad_settings_are_refused(settings, loans, loan_schema):
    with pytest.raises(InputError):
        DPFermi(1, schema=loan_schema, **settings).fit(*loans)


def test_an_empty_batch_has_a_gradient_of_the_usual_shape():
    penalty = FermiPenalty(np.full((1, 2), 0.5), np.ones(1))
    none = np.empty(0, np.float32)
    by_score, by_dual = penalty.gradients(Batch(none, none, none.astype(np.int64)), np.ones(4))
    assert by_score.shape == (0,)
    assert by_dual.shape == (0, 4)


def test_an_empty_batch_gets_its_noise_like_any_other(loan_schema):
    from sample_tables import make_loans

    schema = replace(loan_schema, rows=200)  # so that batches of three records are mostly empty
    model = DPFermi(2, schema=schema, epochs=1, batch_size=10, random_state=0)
    assert np.isfinite(model.fit(*make_loans(3)).scorer_.weights).all()
