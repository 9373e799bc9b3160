"""Bugs of NaN, infinity and zero."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from trust.public_issues.asking import SCHEMA, fair, loans, one_step

from dpfair import (
    BudgetError,
    FairPostProcessor,
    InputError,
    Ledger,
    PrivateLogisticRegression,
    PrivateSearchCV,
    Schema,
    calibrate,
)
from dpfair.data.columns import Levels, Numeric
from dpfair.data.encode import encode
from dpfair.errors import ReceiptError, SchemaError
from dpfair.learners.features import design
from dpfair.privacy.events import gaussian_steps, noisy_table, step_event


def test_pysyft_6956_nan_epsilon():
    """One NaN made the cost of a release NaN, and the whole array was published."""
    X, y = loans()
    gaps = X.with_columns(age=pl.lit(None, pl.Int64), income=pl.lit(math.nan))
    model = fair(mode="reuse").fit(gaps, y)
    assert 0 < model.ledger_.spent <= 1
    assert np.isfinite(model.scorer_.weights).all()
    assert np.isfinite(model.predict_proba(gaps)).all()
    for bad in (math.nan, math.inf, -math.inf, "nan", -1.0):
        with pytest.raises(InputError):
            Ledger(bad, 1e-5)
        with pytest.raises(InputError):
            noisy_table(bad, "add_remove")


def test_nemo_safe_synthesizer_367_zero_epsilon_is_not_infinity():
    """``epsilon or inf`` turned a budget of zero into no limit at all."""
    X, y = loans()
    searched = PrivateSearchCV(
        PrivateLogisticRegression(), {"clip": [1.0]}, epsilon=0, schema=SCHEMA
    )
    for model in (
        fair(0),
        fair(division={"release_epsilon": 0}),
        fair(delta=0),
        PrivateLogisticRegression(0, schema=SCHEMA),
        FairPostProcessor(lambda t: t["income"] > 5, 0, sensitive="sex", groups=["f", "m"]),
        searched,
    ):
        with pytest.raises(InputError):
            model.fit(X, y)
    with pytest.raises(InputError):
        fair(mode="reuse").fit(X, y).decide_batch(X, epsilon=0)
    for call in (lambda: calibrate(0, 1e-5, 0.1, 10), lambda: calibrate(1, 0, 0.1, 10)):
        with pytest.raises(InputError):
            call()


def test_opendp_2935_nan_becomes_zero():
    """NaN was silently turned into 0 before the noise was added: a distinguishing event."""
    schema = Schema((Numeric("x", (0, 10)),), Levels("y", ("0", "1")))
    records = encode(pl.DataFrame({"x": [0.0, math.nan, None, math.inf]}), schema)
    zero, nan, missing, infinite = design("binned", schema, records).matrix()
    np.testing.assert_array_equal(nan, missing)  # a declared place of their own
    assert (nan != zero).any()
    assert (infinite != nan).any()
    norms = design("standardised", schema, records).norms
    assert np.isfinite(norms).all()


def test_mlforhealthlabpub_38_nan_ends_the_loop():
    """Epsilon became NaN, ``nan < budget`` was false, and training ended as if all was well."""
    for bad in (math.nan, -math.nan):
        for call in (
            lambda bad=bad: calibrate(bad, 1e-5, 0.1, 10),
            lambda bad=bad: calibrate(1, bad, 0.1, 10),
            lambda bad=bad: calibrate(1, 1e-5, bad, 10),
            lambda bad=bad: gaussian_steps(bad, 0.1, 10),
            lambda bad=bad: gaussian_steps(1.0, 0.1, bad),
            lambda bad=bad: Ledger(1, bad),
            lambda bad=bad: one_step(clip=bad).fit(*loans()),
            lambda bad=bad: one_step(noise_multiplier=bad).fit(*loans()),
        ):
            with pytest.raises(InputError):
                call()


def test_smartnoise_core_318_equal_bounds_mean_no_noise():
    """With min == max no sampling round was run, and the exact value came out."""
    with pytest.raises(SchemaError, match="low < high"):
        Numeric("x", (5, 5))
    event = noisy_table(1, "add_remove")
    receipt = Ledger(1, 1e-5).charge(event, scope="", purpose="p")
    assert any(receipt.draw(event).discrete_laplace([0] * 100))  # empty cells get noise, too
    gaussian = step_event(1.0, 1.0)
    draw = Ledger(9, 1e-5).charge(gaussian, scope="", purpose="p").draw(gaussian)
    with pytest.raises(ReceiptError):
        draw.gaussian(np.ones(2), sensitivity=0.0)


def test_openmed_2457_a_subnormal_charge_is_lost():
    """After the budget was spent, a charge too small for the sum was still granted."""
    ledger = Ledger("1", 1e-5)
    ledger.charge(noisy_table(1, "add_remove"), scope="", purpose="all of it")
    for tiny in (5e-324, 1e-300, Fraction(1, 10**300)):
        with pytest.raises(BudgetError):
            ledger.charge(noisy_table(tiny, "add_remove"), scope="", purpose="a little more")
    assert ledger.spent == 1
