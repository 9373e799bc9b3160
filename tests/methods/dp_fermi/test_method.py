"""DP-FERMI: its variants, what they cost and what they may claim."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from sample_tables import make_loans

from dpfair import DPFermi, InputError
from dpfair.privacy.assumptions import Assumption


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


def test_an_empty_batch_gets_its_noise_like_any_other(loan_schema):
    schema = replace(loan_schema, rows=200)  # so that batches of three records are mostly empty
    model = DPFermi(2, schema=schema, epochs=1, batch_size=10, random_state=0)
    assert np.isfinite(model.fit(*make_loans(3)).scorer_.weights).all()


def test_a_tight_fit_of_declared_size_is_planned_before_records_are_read(loans, loan_schema):
    model = DPFermi(2, schema=loan_schema, epochs=2, batch_size=300)
    plan = model.plan()
    [step] = plan.steps
    assert (step.name, step.scope, step.how.steps) == ("train", "", 20)
    assert model.fit(*loans).plan_ == plan


@pytest.mark.parametrize(
    ("variant", "rows", "needed"),
    [
        ("tight", None, "the number of records of each group and the number of records"),
        ("paper", 3000, "the number of records of each group"),
        ("paper", None, "the number of records of each group and the number of records"),
    ],
)
def test_other_fits_are_planned_by_the_facts_that_they_assume(
    variant, rows, needed, loans, loan_schema
):
    X, y = loans
    schema = replace(loan_schema, rows=rows)
    model = DPFermi(2, schema=schema, variant=variant, epochs=2, batch_size=300)
    with pytest.raises(InputError, match=f"it depends on {needed}\\."):
        model.plan()
    women = int((X["sex"] == "f").sum())
    facts = {
        Assumption(("group",)): np.array([women, 3000 - women]),
        Assumption(): np.array([3000]),
    }
    planned = model.plan(facts={fact: facts[fact] for fact in model.assumes(schema)})
    assert model.fit(X, y).plan_ == planned
    assert {fact: value.tolist() for fact, value in model.ledger_.facts.items()} == {
        fact: facts[fact].tolist() for fact in model.assumes(schema)
    }


def test_the_group_is_penalised_and_not_used(loans, loan_schema):
    X, y = loans
    model = DPFermi(2, schema=loan_schema, epochs=1, batch_size=300, random_state=0).fit(X, y)
    assert model.scorer_.schema.sensitive is None
    swapped = X.with_columns(sex=pl.lit("m"))
    np.testing.assert_array_equal(model.predict_proba(X), model.predict_proba(swapped))
    assert model.rule_ is None
