"""Bugs that other libraries for differential privacy had, and why dpfair cannot have them.

Every test is named after a public issue or pull request; its first line says what went wrong
there. What is tested is the property that would have prevented it, in dpfair.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from dp_accounting.dp_event import ComposedDpEvent, LaplaceDpEvent
from record_arrays import numbers_in
from sample_tables import LOANS, make_loans
from scipy.optimize import brentq
from scipy.stats import norm

from dpfair import (
    BudgetError,
    FairPostProcessor,
    InputError,
    Ledger,
    LogisticLearner,
    Noise,
    PrivacyLeakWarning,
    PrivateFairClassifier,
    PrivateLogisticRegression,
    PrivateSearchCV,
    Schema,
    calibrate,
    epsilons,
)
from dpfair.audit.tape import Session
from dpfair.certificate.text import round_down, round_up
from dpfair.data.columns import Categorical, Levels, Numeric
from dpfair.data.encode import encode
from dpfair.errors import ReceiptError, SchemaError
from dpfair.fairness.counting import exact_counts, release_table, table_plan
from dpfair.fairness.laplace_sums import noise_masses, noise_quantile
from dpfair.fairness.rules import Rule
from dpfair.learners.features import design
from dpfair.methods.algorithm2 import Algorithm2
from dpfair.methods.training import TRAIN
from dpfair.privacy.accountants import epsilon
from dpfair.privacy.events import gaussian_steps, noisy_table, step_event
from dpfair.privacy.noise import noise_from
from dpfair.privacy.plan import Budget
from dpfair.privacy.split import coin_split

SCHEMA = Schema.from_dict(LOANS)
EXTREME = {"age": 90, "income": 100.0, "job": "nurse", "sex": "m"}


def loans(n=60):
    return make_loans(n)


def with_rows(X, y, rows, label="yes"):
    added = pl.DataFrame(rows, schema=X.schema)
    return pl.concat([X, added]), np.append(y, [label] * len(rows))


def asked(model, X, y, seed=0, script=None):
    """All that a fit asked of the noise: exact values and what was promised about them."""
    session = Session(seed, script)
    with noise_from(session):
        model.fit(X, y)
    return session.heard


def sums(heard):
    """The sums of gradients among what was asked: (question, exact, noisy), in plain numbers."""
    found = []
    for h in heard:
        if h.question.kind in ("gaussian", "grid"):
            units = 1.0 if h.question.units is None else h.question.units
            found.append((h.question, h.question.value * units, np.asarray(h.answer) * units))
    return found


def first_sum(model, X, y):
    """The first sum of gradients, before anything released can differ, and what it promises."""
    question, exact, _ = sums(asked(model, X, y))[0]
    return exact, question.sensitivity


def one_step(**settings):
    settings = {"schema": SCHEMA, "steps": 1, "noise_multiplier": 50.0} | settings
    return PrivateLogisticRegression(1, **settings)


def fair(epsilon=1, method=PrivateFairClassifier, **settings):
    settings = {"schema": SCHEMA, "learner": LogisticLearner(steps=3)} | settings
    return method(epsilon, **settings)


# Sensitivity


@pytest.mark.parametrize("bounds", [(0, 100), (-100, 0), (-1, 1000)])
def test_diffprivlib_105_sensitivity_from_one_bound_only(bounds):
    """The largest feature value was taken from the lower bound twice: zero for bounds (0, 100)."""
    schema = Schema((Numeric("x", bounds, center=0.0, scale=1.0),), Levels("y", ("0", "1")))
    model = one_step(schema=schema, features="standardised", clip=0.7)

    def table(values):
        return pl.DataFrame({"x": [float(v) for v in values]})

    for extreme in bounds:
        rows = [0.0] * 9
        without, _ = first_sum(model, table(rows), ["0"] * 9)
        value, sensitivity = first_sum(model, table([*rows, extreme]), ["0"] * 9 + ["1"])
        assert sensitivity == 0.7
        moved = np.linalg.norm(value - without)
        assert moved <= sensitivity * (1 + 1e-6)
        assert moved > 0.3  # it does reach about the bound that is claimed


def test_smartnoise_core_356_sensitivity_from_the_present_size():
    """Under add/remove the size of the present data was used in the sensitivity of a mean."""
    small, large = (
        [h.question for h in asked(fair(rule={"notion": "equalized_odds"}), *loans(n))]
        for n in (8, 800)
    )
    promised = [(q.kind, q.sensitivity, q.noise_multiplier, q.event) for q in small]
    assert promised == [(q.kind, q.sensitivity, q.noise_multiplier, q.event) for q in large]


def test_mlforhealthlabpub_36_scale_is_one_over_epsilon():
    """Laplace noise was drawn with the scale lambda where 1 / lambda was meant."""
    for t in (Fraction(1, 10), Fraction(2)):
        drawn = np.abs(Noise(seed=1).discrete_laplace(t, 4000))
        mean = 1 / math.sinh(t)  # of |z| with probability proportional to exp(-t |z|)
        assert abs(drawn.mean() - mean) < 5 * drawn.std() / math.sqrt(4000)


def test_pysyft_6914_less_noise_costs_less():
    """A release with less noise was charged less of the budget."""
    costs = [epsilons(gaussian_steps(s, 0.1, 50), 1e-5) for s in (0.8, 1.0, 2.0, 8.0)]
    for name in costs[0]:
        found = [cost[name].epsilon for cost in costs]
        assert found == sorted(found, reverse=True)
        assert len(set(found)) == len(found)
    tables = [
        Ledger(9, 1e-5).charge(noisy_table(e, "add_remove"), scope="", purpose="p") for e in (1, 2)
    ]
    wide, narrow = (
        np.abs(t.draw(noisy_table(e, "add_remove")).discrete_laplace([0] * 3000)).mean()
        for t, e in zip(tables, (1, 2), strict=True)
    )
    assert wide > narrow


# Clipping


@pytest.mark.parametrize("arithmetic", ["exact", "float64"])
@pytest.mark.parametrize("solver", ["full_batch", "sgd"])
def test_opacus_664_the_clip_argument_is_ignored(solver, arithmetic):
    """The engine did not pass max_grad_norm on: gradients were clipped to another norm."""
    X, y = loans()
    for clip in (0.05, 0.3, 7.0):
        model = one_step(solver=solver, clip=clip, batch_size=10**6, arithmetic=arithmetic)
        without, _ = first_sum(model, X, y)
        value, sensitivity = first_sum(model, *with_rows(X, y, [EXTREME]))
        assert sensitivity == clip
        assert np.linalg.norm(value - without) <= clip * (1 + 1e-6)


def test_tensorflow_privacy_81_records_are_clipped_together():
    """Microbatches clip the mean of several gradients, so that one record counts double or not."""
    X, y = loans(1)
    model = one_step(clip=0.1)
    alone, _ = first_sum(model, X, y)
    assert 0.09 < np.linalg.norm(alone) <= 0.1
    for copies in (2, 5, 9):
        together, _ = first_sum(model, pl.concat([X] * copies), np.repeat(y, copies))
        np.testing.assert_allclose(together, copies * alone, rtol=1e-12)


def test_dpwgan_2_weights_are_clipped_instead_of_gradients():
    """Weights were clipped after the step, and gradients never: noise protected nothing."""
    X, y = with_rows(*loans(), [EXTREME] * 40)
    model = one_step(clip=0.01, learning_rate=50.0, features="standardised", steps=3)
    for _, exact, _ in sums(asked(model, X, y)):
        assert np.linalg.norm(exact) <= 0.01 * len(y)
    assert np.abs(model.scorer_.weights).max() > 0.01  # nothing clips these


# What must not come from the data


def test_synthcity_278_bounds_come_from_the_data():
    """Minimum and maximum of the private records became the public range of the model."""
    X, y = loans()
    outlier = EXTREME | {"income": 10.0**9}
    model, other = fair(mode="reuse"), fair(mode="reuse")
    asked(model, X, y)
    asked(other, *with_rows(X, y, [outlier]))
    assert model.schema_.declared() == other.schema_.declared() == SCHEMA
    before = design("standardised", SCHEMA, encode(X, SCHEMA)).matrix()
    records = encode(with_rows(X, y, [outlier])[0], SCHEMA)
    assert numbers_in(records)[-1].tolist() == [90, 100]  # the declared bounds
    after = design("standardised", SCHEMA, records).matrix()
    np.testing.assert_array_equal(after[:-1], before)


def test_diffprivlib_106_the_label_set_is_inferred():
    """Classes were np.unique(y): without the last record of a class there was another model."""
    X, _ = loans()
    rare = np.array(["no"] * 59 + ["yes"])
    found = []
    for labels in (rare, rare == "no", rare == "yes", np.zeros(60), np.array(["maybe"] * 60)):
        model = fair(mode="reuse")
        shapes = [h.question.value.shape for h in asked(model, X, labels)]
        found.append((model.classes_.tolist(), shapes, model.scorer_.weights.shape))
    assert all(one == found[0] for one in found)
    assert found[0][0] == ["no", "yes"]


def test_borealis_12_the_data_is_scaled_by_itself():
    """Records were scaled by their own minimum and maximum before a private model saw them."""
    schema = Schema((Numeric("x", (0, 10)), Categorical("k", ("a", "b"))), Levels("y", ("0", "1")))
    one = encode(pl.DataFrame({"x": [5.0], "k": ["a"]}), schema)
    among = encode(pl.DataFrame({"x": [5.0, 1e300, -1e300, 2], "k": ["a", "c", None, "b"]}), schema)
    for features in ("binned", "standardised"):
        alone, first = (design(features, schema, r).matrix()[0] for r in (one, among))
        np.testing.assert_array_equal(alone, first)


def test_diffprivlib_90_bounds_are_read_off_the_data_with_a_warning():
    """Missing bounds were taken from the data, and only a warning told that it is not private."""
    X, y = loans()
    with pytest.warns(PrivacyLeakWarning):
        model = fair(schema=None, sensitive="sex").fit(X, y)
    assert not model.certificate_.privacy.private
    assert any("read off" in leak for leak in model.certificate_.privacy.leaks)
    with pytest.raises(SchemaError, match="not private"):
        fair(schema=None, sensitive="sex", strict=True).fit(X, y)


# Floating point


def test_diffprivlib_19_float_noise_has_holes():
    """Floating-point Laplace noise reaches some outputs from one neighbour and not the other."""
    event = noisy_table("0.3", "add_remove")
    seen = []
    for count in (0, 1):
        ledger = Ledger(1, 1e-5, noise=Noise(seed=7))
        noisy = ledger.charge(event, scope="", purpose="p").draw(event)
        values = noisy.discrete_laplace([count] * 3000)
        assert all(type(value) is int for value in values)
        seen.append(set(values))
    # Every integer in the middle is reached from both.
    assert set(range(-8, 9)) <= seen[0] & seen[1]


def test_smartnoise_core_242_laplace_from_a_library():
    """Laplace noise was one call of a statistics library: floats, and no private mechanism."""
    model = fair(method=Algorithm2, public_sizes=True, composition="basic")
    for heard in asked(model, *loans()):
        if heard.question.kind == "counts":
            assert heard.question.value.dtype == np.int64
            assert all(type(value) is int for value in heard.answer)
    assert model.release_.counts.dtype.kind == "i"


def test_opacus_616_secure_mode_is_float_all_the_same():
    """A mode that promised safety from floating-point attacks added up floats all the same."""
    X, y = loans()
    exact = asked(one_step(steps=2), X, y)
    assert [h.question.kind for h in exact] == ["grid", "grid"]
    for heard in exact:
        assert heard.question.value.dtype.kind == "i"
        assert np.asarray(heard.answer).dtype.kind == "i"
    for arithmetic in ("exact", "float64"):  # what is not exact says so
        model = fair(learner=LogisticLearner(steps=3, arithmetic=arithmetic)).fit(X, y)
        assert ("float" in model.certificate_.privacy.arithmetic) == (arithmetic == "float64")


def test_google_126_a_sum_depends_on_the_order():
    """Rounding makes the sum of floats depend on their order, beyond the claimed sensitivity."""
    X, y = loans(300)
    order = np.random.default_rng(0).permutation(300)
    model = one_step(clip=0.3)
    (straight, _), (shuffled, _) = first_sum(model, X, y), first_sum(model, X[order], y[order])
    np.testing.assert_array_equal(straight, shuffled)
    scores, groups = np.random.default_rng(1).random(300), np.arange(300) % 2
    counts = exact_counts(scores, groups, None, 2, (0.5,))
    np.testing.assert_array_equal(
        counts, exact_counts(scores[order], groups[order], None, 2, (0.5,))
    )


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


# Accountants


def exact_gaussian_epsilon(sigma, delta):
    """Balle and Wang (2018): the exact epsilon of one Gaussian mechanism."""

    def excess(eps):
        a, b = 1 / (2 * sigma) - eps * sigma, -1 / (2 * sigma) - eps * sigma
        return norm.cdf(a) - math.exp(eps + norm.logcdf(b)) - delta

    return brentq(excess, 0, 1000)


def test_synthcity_276_the_accountant_underestimates():
    """An index in the moments accountant was one too low, and so was every epsilon."""
    for sigma in (1.0, 3.0, 20.0):
        for steps in (1, 25):
            exact = exact_gaussian_epsilon(sigma / math.sqrt(steps), 1e-5)
            for name, found in epsilons(gaussian_steps(sigma, 1.0, steps), 1e-5).items():
                if found.is_bound:
                    assert found.epsilon >= exact, name
            assert epsilon(gaussian_steps(sigma, 1.0, steps), 1e-5).epsilon <= exact * 1.02


def test_opacus_384_gdp_underestimates():
    """The central limit theorem gives no upper bound, but its epsilon was reported as one."""
    found = epsilons(gaussian_steps(0.6, 0.001, 400), 1e-5)
    assert found["gdp"].epsilon < found["pld"].epsilon
    assert not found["gdp"].is_bound
    ledger = Ledger(10, 1e-5)
    ledger.charge(gaussian_steps(0.6, 0.001, 400), scope="", purpose="p")
    assert ledger.spent >= found["pld"].epsilon > found["gdp"].epsilon


def test_opacus_585_a_negative_epsilon():
    """With much noise the accountant answered with an epsilon below zero."""
    for sigma in (1e2, 1e4, 1e6):
        for found in epsilons(gaussian_steps(sigma, 0.001, 3), 1e-5).values():
            assert found.epsilon >= 0
        ledger = Ledger(1, 1e-5)
        ledger.charge(gaussian_steps(sigma, 0.001, 3), scope="", purpose="p")
        assert ledger.spent > 0


def test_tensorflow_privacy_166_small_is_not_zero():
    """At an order near one a small divergence was rounded to an epsilon of exactly zero."""
    few, more = (epsilon(gaussian_steps(1.0, 0.00105, s), 1e-3).epsilon for s in (1, 300))
    assert 0 < few < more


@pytest.mark.parametrize("event", [(0.2, 1.0, 10), (0.05, 0.7, 400), (0.3, 1.2, 60)])
def test_prv_accountant_36_no_answer_near_epsilon_seven(event):
    """The discretised mean was off for ordinary parameters, and the accountant gave up."""
    rate, sigma, steps = event
    pld = epsilon(gaussian_steps(sigma, rate, steps), 1e-5).epsilon
    rdp = epsilon(gaussian_steps(sigma, rate, steps), 1e-5, accountant="rdp").epsilon
    assert 2 < pld <= rdp < 2 * pld


def test_prv_accountant_17_a_tiny_delta():
    """Between delta = 1.13e-18 and 1.1e-18 the answer fell from 3.8 to 0.056."""
    answers = []
    for delta in (1e-6, 1e-10, 1.13e-18, 1.1e-18):
        try:
            answers.append(epsilon(gaussian_steps(4.0, 0.00033, 10_000), delta).epsilon)
        except InputError:
            answers.append(math.inf)  # no answer is an honest one
    assert answers == sorted(answers)
    assert answers[0] > 0


def test_opacus_535_asking_takes_away():
    """Asking for epsilon popped a step from the history, so the next answer was smaller."""
    ledger = Ledger(3, 1e-5)
    ledger.charge(gaussian_steps(2.0, 0.1, 30), scope="", purpose="p")
    ledger.charge(noisy_table("0.2", "add_remove"), scope="", purpose="q")
    answers = {(ledger.spent, len(ledger.entries), str(ledger.to_json())) for _ in range(3)}
    assert len(answers) == 1


# NaN, infinity, zero


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


# Budgets


def test_opendp_2789_float_budget_drift():
    """Sums of floats drifted: 0.024499999999999997 did not fit into 0.024499999999999987."""
    parts, cost = 49, Fraction(1, 2000)
    ledger = Ledger(parts * cost, 1e-5)
    for i in range(parts):
        ledger.charge(noisy_table(cost, "add_remove"), scope="", purpose=f"part {i}")
    assert Fraction(ledger.spent) <= parts * cost
    with pytest.raises(BudgetError):
        ledger.charge(noisy_table(cost / 100, "add_remove"), scope="", purpose="one more")


def test_opendp_2131_tenths_that_exceed_one():
    """0.1 + 0.9 was more than the budget of 1.0, which could not be spent to the end."""
    ledger = Ledger("1.0", 1e-5)
    for amount in ("0.1", "0.9"):
        ledger.charge(noisy_table(amount, "add_remove"), scope="", purpose=amount)
    assert ledger.spent == pytest.approx(1.0, abs=1e-15)


def test_smartnoise_sdk_424_the_last_step_is_not_paid_for():
    """The budget was checked after a step had run, so the last step was free."""
    too_little = LogisticLearner(steps=3, noise_multiplier=0.5)
    session = Session(0)
    with noise_from(session), pytest.raises(BudgetError, match="nothing was charged"):
        fair(learner=too_little).fit(*loans())
    assert session.heard == []
    ledger = Ledger(1, 1e-5)
    receipt = ledger.charge(gaussian_steps(8.0, 1.0, 3), scope="", purpose="three steps")
    for _ in range(3):
        receipt.draw(step_event(8.0, 1.0))
    with pytest.raises(ReceiptError, match="Nothing is left"):
        receipt.draw(step_event(8.0, 1.0))


def test_opendp_1908_no_cost_but_an_answer():
    """The privacy map failed, and the measurement could be run on the data all the same."""
    unknown = [LaplaceDpEvent(1.0), ComposedDpEvent([]), step_event(1e-9, 1.0)]
    for event in unknown:
        ledger = Ledger(100, 1e-5)
        with pytest.raises(InputError):
            ledger.charge(event, scope="", purpose="p")
        assert ledger.entries == ()
    session = Session(0)
    with noise_from(session), pytest.raises(InputError):
        one_step(noise_multiplier=1e-3).fit(*loans())
    assert session.heard == []


def test_diffprivlib_104_two_releases_share_one_budget():
    """X and y were centred with noise for one slice of the budget, which was charged once."""
    event = noisy_table("0.5", "add_remove")
    receipt = Ledger(1, 1e-5).charge(event, scope="", purpose="X")
    receipt.draw(event).discrete_laplace([1, 2])
    with pytest.raises(ReceiptError):
        receipt.draw(event)
    for settings in ({}, {"mode": "reuse"}, {"method": Algorithm2, "public_sizes": True}):
        model = fair(**settings)
        planned = model.plan().charges
        heard = asked(model, *loans(300))
        assert [(e.scope, e.event) for e in model.ledger_.entries] == planned
        tables = [h for h in heard if h.question.kind == "counts"]
        assert len(tables) == sum(
            event.__class__.__name__ == "DiscreteLaplaceDpEvent" for _, event in planned
        )


def test_privcount_360_noise_is_weighed_and_never_added():
    """The weight of the noise was looked up, and the counters went out without it."""
    X, y = loans()
    tables = []
    for seed in range(6):
        for heard in asked(fair(0.5, mode="reuse"), X, y, seed=seed):
            exact, noisy = np.ravel(heard.question.value), np.ravel(heard.answer)
            assert (noisy != exact).mean() > 0.5
            tables.append(noisy.tobytes())
    assert len(set(tables)) == len(tables)


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


# The noise meets the right numbers


def test_nvflare_343_noise_on_the_wrong_index():
    """Noise went to a subset drawn twice, and the values that were in neither passed unchanged."""
    event, cells = noisy_table("0.05", "add_remove"), 64
    differences = []
    for seed in range(40):
        ledger = Ledger(1, 1e-5, noise=Noise(seed=seed))
        draw = ledger.charge(event, scope="", purpose="p").draw(event)
        differences.append(np.array(draw.discrete_laplace(list(range(cells)))) - np.arange(cells))
    noise = np.array(differences)
    assert (noise != 0).mean() > 0.95
    assert (noise.std(axis=0) > 10).all()  # every cell, in every position
    correlations = np.corrcoef(noise.T) - np.eye(cells)
    assert np.abs(correlations).max() < 0.75
    assert np.abs(correlations.mean()) < 0.02
    ledger, step = Ledger(9, 1e-5, noise=Noise(seed=1)), step_event(2.0, 1.0)
    noisy = ledger.charge(step, scope="", purpose="p").draw(step).gaussian(np.zeros(500), 1.0)
    assert len(set(noisy.tolist())) == 500
    assert noisy.std() == pytest.approx(2.0, rel=0.15)


def test_optax_337_noise_after_the_learning_rate():
    """Noise came after scaling by the learning rate, which thereby changed what it protects."""
    X, y = loans()
    asked_at = {}
    for rate in (0.001, 10.0):
        for question, exact, noisy in sums(asked(one_step(learning_rate=rate, steps=2), X, y)):
            asked_at[rate] = (question.noise_multiplier, question.sensitivity)
            assert np.std(noisy - exact) == pytest.approx(50.0 * question.sensitivity, rel=0.5)
    assert len(set(asked_at.values())) == 1


def test_optax_527_noise_for_every_part_of_a_batch():
    """Gradients were accumulated after their noise: a step had more noise than was reported."""
    X, y = loans(700)
    found = sums(asked(one_step(steps=5), X, y))
    assert len(found) == 5  # one sum and one noise per step, whatever the number of records
    assert {question.event for question, _, _ in found} == {step_event(50.0, 1.0, exact=True)}


# Thresholds and rounding


def test_google_pr101_a_threshold_is_truncated():
    """A threshold of 37.3 became the integer 37, and a count of 37 was let through."""
    for t in (0.05, 0.3, 1.0, 2.5):
        for cells in (1, 7):
            masses = noise_masses(t, cells)
            above = np.cumsum(masses[::-1])[::-1]
            middle = len(masses) // 2
            for level in (0.2, 0.01, 1e-5):
                k = noise_quantile(t, cells, level)
                assert above[middle + k + 1 :][:1].sum() <= level
                assert above[middle + k] > level * (1 - 1e-6)
    for amount in (0.1, Fraction(1, 3), "0.7", 2.3):
        table = noisy_table(amount, "replace_one")
        assert 2 * Fraction(table.event.noise_parameter) <= Fraction(amount)  # rounded down
    for gap in (0.03141, 0.0301000001, 0.5, 1e-9):
        assert float(round_up(gap)) >= gap >= float(round_down(gap))


def test_smartnoise_sdk_204_a_laplace_threshold_for_gaussian_noise():
    """Tau was computed by the formula of one noise while another noise was added."""
    t, cells = 0.2, 5
    drawn = np.array(Noise(seed=5).discrete_laplace(Fraction(1, 5), 4000 * cells))
    sums = drawn.reshape(4000, cells).sum(axis=1)
    for level in (0.2, 0.05, 0.01):
        share = (sums > noise_quantile(t, cells, level)).mean()
        assert share <= level + 4 * math.sqrt(level / 4000)
        assert share >= level / 2 - 4 * math.sqrt(level / 4000)  # and not by another, wider law


def test_opendp_2922_the_value_at_the_threshold():
    """Counts equal to the threshold were released, but delta was computed without them."""
    edges = (0.25, 0.5, 0.75)
    scores, groups = np.array([0.25, 0.5, 0.75, 0.4999999]), np.zeros(4, dtype=np.int64)
    counts = exact_counts(scores, groups, None, 1, edges)[0, 0]
    for j, edge in enumerate(edges):
        rule = Rule(np.array([[0.0, 1.0]]), np.array([[edge]]))
        accepted = rule.probabilities(groups, scores).sum()
        assert accepted == counts[j + 1 :].sum()  # what is counted above a cut is what is accepted


def test_smartnoise_core_362_a_size_that_neighbours_share():
    """Under replacement all neighbours have one size; costs for add/remove were mixed with it."""
    budget = Budget(Fraction(1), 1e-5, "replace_one")
    run = table_plan(budget, "count", 2).open(Noise(seed=1))
    release = release_table(
        np.array([0.2, 0.9]), np.array([0, 1]), ("a", "b"), receipt=run["count"], dependence=""
    )
    assert release.noise == (0.5, 0.5)  # a replaced record moves two cells by one
    assert run.ledger.spent == 1
