"""FairPostProcessor: Algorithms 1 and 2 on any classifier."""

from __future__ import annotations

import math

import numpy as np
import pytest
from methods.accepting import says, table
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dpfair import FairPostProcessor, InputError, Noise, PrivacyLeakWarning
from dpfair.privacy.events import pure_epsilon
from dpfair.privacy.noise import noise_from


@pytest.mark.parametrize("accepted", [(0, 0), (100, 100), (50, 50)])
def test_ties_leave_the_classifier_as_it_is(accepted):
    fair = FairPostProcessor(says, sensitive=0).fit(table(accepted))
    np.testing.assert_array_equal(fair.predict(table(accepted)), table(accepted)[:, 1])


def test_algorithm_2_with_public_sizes_has_the_papers_noise():
    """Independent noise of scale 1/(n eps_a) for each group."""
    X = table((300, 600), (1000, 1000))
    source, noise = Noise(4), []
    fair = FairPostProcessor(says, 1.0, sensitive=0, groups=["0", "1"], public_sizes=True)
    with noise_from(lambda seed: source):
        for _ in range(1000):
            counts = fair.fit(X).release_.counts
            noise.append([counts[0, 0, 1] - 300, counts[1, 0, 1] - 600])
    noise = np.array(noise)
    t = math.exp(-0.5)
    assert np.abs(noise.mean(axis=0)).max() < 5 * 2.8 / 1000**0.5
    np.testing.assert_allclose(noise.var(axis=0), 2 * t / (1 - t) ** 2, rtol=0.25)
    assert abs(np.corrcoef(noise.T)[0, 1]) < 0.15


def test_decoupled_classifiers_act_on_their_own_group():
    X = table((30, 60))
    fair = FairPostProcessor({"0": lambda X: 1 - X[:, 1], "1": says}, sensitive=0).fit(X)
    assert fair.release_.counts.tolist() == [[[30, 70]], [[40, 60]]]
    with pytest.raises(InputError, match="no classifier for group '1'"):
        FairPostProcessor({"0": says}, sensitive=0).fit(X)


def test_unfitted_estimators_are_trained_on_other_records_than_the_release(loans):
    X, y = loans
    numbers = X.select("age", "income").with_columns(m=(X["sex"] == "m").cast(int))
    single = make_pipeline(StandardScaler(), LogisticRegression())
    fair = FairPostProcessor(single, 1.0, sensitive="m", groups=["0", "1"]).fit(numbers, y)
    assert fair.certificate_.fairness.certified
    assert fair.release_.counts.sum() == pytest.approx(1000, abs=150)
    decoupled = FairPostProcessor({"0": single, "1": single}, sensitive="m").fit(numbers, y)
    assert decoupled.score(numbers, y) > 0.6


def test_a_classifier_trained_in_fit_is_not_private_and_a_clone_cannot_hide_it(loans):
    from sklearn.base import clone

    X, y = loans
    numbers = X.select("age", "income").to_numpy()
    fitted = LogisticRegression().fit(numbers, y)
    known = {"groups": ["f", "m"], "held_out": True}
    fair = FairPostProcessor(fitted, 1.0, **known).fit(numbers, sensitive_features=X["sex"])
    assert fair.certificate_.privacy.private
    with pytest.raises(InputError, match="FrozenEstimator"):
        clone(fair).fit(numbers, y, sensitive_features=X["sex"])
    trained = FairPostProcessor(LogisticRegression(), 1.0, groups=["f", "m"])
    trained.fit(numbers, y, sensitive_features=X["sex"])
    assert not trained.certificate_.privacy.private


def test_groups_of_the_wrong_length_are_refused():
    with pytest.raises(InputError, match="groups"):
        FairPostProcessor(says).fit(table(), sensitive_features=["0", "1"])


def test_decoupled_classifiers_must_agree_on_the_classes(loans):
    X, y = loans
    numbers = X.select("age", "income").to_numpy()
    parts = {
        "f": LogisticRegression().fit(numbers, y),
        "m": LogisticRegression().fit(numbers, (y == "yes").astype(int)),
    }
    with pytest.raises(InputError, match="other classes"):
        FairPostProcessor(parts).fit(numbers, sensitive_features=X["sex"])


def test_a_fitted_classifier_is_certified_only_on_records_said_to_be_held_out(loans):
    X, y = loans
    numbers = X.select("age", "income")
    fitted = LogisticRegression().fit(numbers.to_numpy(), y)
    for held_out in (False, True):
        fair = FairPostProcessor(FrozenEstimator(fitted), held_out=held_out)
        fair.fit(numbers.to_numpy(), sensitive_features=X["sex"])
        assert fair.certificate_.fairness.certified is held_out
        assert (fair.certificate_.fairness.gap_bound is not None) is held_out


def test_a_classifier_trained_without_the_sensitive_column_gets_its_own_columns(loans):
    X, y = loans
    frame = X.to_pandas()
    fitted = LogisticRegression().fit(frame[["age", "income"]], y)
    fair = FairPostProcessor(fitted, sensitive="sex").fit(frame[["age", "income", "sex"]])
    assert set(fair.predict(frame[["age", "income", "sex"]])) == {"no", "yes"}


def test_the_coin_of_a_record_depends_on_the_classifiers_columns_only(loans):
    """Otherwise whoever adds a column draws the lottery again."""
    X, y = loans
    frame = X.to_pandas()[["age", "income", "sex"]]
    fitted = LogisticRegression().fit(frame[["age", "income"]], y)
    fair = FairPostProcessor(fitted, sensitive="sex").fit(frame)
    decided = fair.predict(frame)
    assert (fair.predict(frame.assign(number=range(len(frame)))) == decided).all()
    assert (fair.predict(frame[["sex", "income", "age"]]) == decided).all()


def test_scores_are_thresholded_and_nan_is_refused():
    X = table()
    fair = FairPostProcessor(lambda X: 0.2 + 0.6 * X[:, 1], sensitive=0).fit(X)
    assert fair.release_.counts.tolist() == [[[70, 30]], [[40, 60]]]
    with pytest.raises(InputError, match="NaN"):
        FairPostProcessor(lambda X: np.full(len(X), np.nan), 1.0, sensitive=0).fit(X)


def test_groups_read_off_the_data_are_declared_as_a_leak():
    with pytest.warns(PrivacyLeakWarning):
        fair = FairPostProcessor(says, 1.0, sensitive=0).fit(table())
    assert any("read off the data" in leak for leak in fair.certificate_.privacy.leaks)
    with pytest.raises(InputError):
        FairPostProcessor(says, 1.0, sensitive=0, strict=True).fit(table())


def test_an_empty_declared_group_is_refused_when_sizes_are_known():
    with pytest.raises(InputError, match="no records"):
        FairPostProcessor(says, sensitive=0, groups=["0", "1", "2"]).fit(table())


@pytest.mark.parametrize("classifier", [None, 7, "tree"])
def test_what_is_not_a_classifier_is_refused(classifier):
    with pytest.raises(InputError, match="Expected a classifier"):
        FairPostProcessor(classifier, sensitive=0).fit(table())


def test_the_cost_is_planned_before_records_are_read():
    fair = FairPostProcessor(says, 1.0, sensitive=0, groups=["0", "1"])
    [step] = fair.plan().steps
    assert (step.name, step.scope, pure_epsilon(step.event)) == ("count", "release", 1)
    assert fair.fit(table()).plan_ == fair.plan()
    public = FairPostProcessor(says, 1.0, sensitive=0, groups=["0", "1", "2"], public_sizes=True)
    events = [step.event for step in public.plan().steps]
    assert [step.name for step in public.plan().steps] == ["count", "count 2", "count 3"]
    assert sum(map(pure_epsilon, events)) <= 1
    undeclared = FairPostProcessor(says, 1.0, sensitive=0)
    with pytest.raises(InputError, match="only if its schema is declared"):
        undeclared.plan()


def test_an_unfitted_classifier_divides_the_records():
    fair = FairPostProcessor(LogisticRegression(), 1.0, sensitive=0, groups=["0", "1"])
    assert fair.plan().shares == {"train": pytest.approx(2 / 3), "release": pytest.approx(1 / 3)}
    whole = FairPostProcessor(says, 1.0, sensitive=0, groups=["0", "1"])
    assert whole.plan().shares == {"release": 1}


def test_records_of_an_undeclared_group_are_neither_counted_nor_decided():
    X = table((30, 60))
    X[::10, 0] = 7
    fair = FairPostProcessor(says, sensitive=0, groups=["0", "1"]).fit(X)
    assert fair.release_.counts.sum() == (X[:, 0] != 7).sum()
    with pytest.raises(InputError, match=r"20 of [0-9]+ records have a group"):
        fair.predict(X)
