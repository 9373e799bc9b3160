"""What the certificate of a fair model promises, and when there is none."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sample_tables import LOANS

from dpfair import PrivateFairClassifier, Schema, load_model, save_model
from dpfair.certificate import Certificate
from dpfair.data.schema import EarlierCost
from dpfair.errors import WeakPrivacyWarning
from dpfair.fairness.metrics import group_values
from dpfair.fairness.notions import NOTIONS
from dpfair.fairness.release import REUSED


def test_the_printed_confidence_is_not_rounded_up(loans, loan_schema):
    model = PrivateFairClassifier(2, schema=loan_schema, confidence=0.995).fit(*loans)
    assert "with 99.5% confidence" in str(model.certificate_)


def test_a_number_of_rows_that_the_counts_contradict_judges_nothing(loans, tmp_path):
    """A schema that was drafted from one of several files declares the rows of that file."""
    small = replace(Schema.from_dict(LOANS | {"rows": 300}), discovery=EarlierCost(0.1, 1e-6))
    with pytest.warns(WeakPrivacyWarning, match="declares rows = 300, and the noisy counts show"):
        model = PrivateFairClassifier(4, delta=1e-3, schema=small).fit(*loans)
    privacy = model.certificate_.privacy
    assert privacy.records == pytest.approx(3000, abs=300)
    assert privacy.judgement.grade == "weak"
    assert "300 rows), although the counts show about" in str(model.certificate_)
    loaded = load_model(save_model(model, tmp_path / "m.dpfair"))
    assert str(loaded.certificate_) == str(model.certificate_)
    right = Schema.from_dict(LOANS | {"rows": 3000})
    privacy = PrivateFairClassifier(4, delta=1e-4, schema=right).fit(*loans).certificate_.privacy
    assert (privacy.records, privacy.records_error) == (3000, 0)
    whole = Schema.from_dict(LOANS | {"rows": 4000})  # of which a part is fitted
    certificate = PrivateFairClassifier(4, delta=1e-4, schema=whole).fit(*loans).certificate_
    assert certificate.privacy.records == 4000
    assert "although" not in str(certificate)


def test_the_certificate_survives_json(fitted):
    import json

    data = json.loads(json.dumps(fitted.certificate_.to_json()))
    assert Certificate.from_json(data) == fitted.certificate_


def test_parity_holds_on_adult_and_the_certificate_covers_it(adult):
    parity = PrivateFairClassifier(3, schema=adult.schema, random_state=11)
    parity.fit(adult.X[:30000], adult.y[:30000])
    test, sex = adult.X[30000:], (adult.X["sex"][30000:] == "Male").to_numpy()
    accepted = parity.predict_proba(test)[:, 1]
    gap = abs(accepted[sex].mean() - accepted[~sex].mean())
    assert gap < parity.certificate_.fairness.gap_bound < 0.02
    accuracy = parity.score(test, adult.y[30000:])
    assert accuracy > 0.82
    assert accuracy > parity.certificate_.fairness.accuracy_bound > 0.8


def test_reuse_is_not_certified_unless_records_are_set_aside(loans, loan_schema):
    reuse = PrivateFairClassifier(2, schema=loan_schema, mode="reuse", random_state=1).fit(*loans)
    fairness = reuse.certificate_.fairness
    assert (fairness.certified, fairness.gap_bound, fairness.accuracy_bound) == (False, None, None)
    assert fairness.reason == reuse.release_.dependence == REUSED
    assert "NOT CERTIFIED" in str(reuse.certificate_)
    assert reuse.ledger_.spent <= 2
    checked = PrivateFairClassifier(
        2, schema=loan_schema, mode="reuse", random_state=1, division={"check_share": 0.3}
    ).fit(*loans)
    fairness = checked.certificate_.fairness
    assert fairness.certified
    assert list(fairness.bounds) == ["fixed"]
    assert checked.fitted_.releases["check"].counts.sum() == pytest.approx(900, abs=90)
    assert checked.release_.dependence == REUSED
    accepted = checked.predict_proba(loans[0])[:, 1]
    men = (loans[0]["sex"] == "m").to_numpy()
    assert abs(accepted[men].mean() - accepted[~men].mean()) < fairness.gap_bound
    assert checked.score(*loans) > fairness.accuracy_bound


def test_estimates_and_bounds_of_a_check_come_from_the_same_table(loans, loan_schema):
    """A bound above its own estimate would contradict itself."""
    model = PrivateFairClassifier(
        2, schema=loan_schema, mode="reuse", random_state=1, division={"check_share": 0.1}
    ).fit(*loans)
    fairness, check = model.certificate_.fairness, model.fitted_.releases["check"]
    right = check.right_rate([0, 1], [1, 1])
    assert fairness.accuracy_estimate == pytest.approx(right.estimate)
    assert fairness.rates_after == pytest.approx([check.rate(a, 1).estimate for a in (0, 1)])
    assert fairness.accuracy_bound <= fairness.accuracy_estimate
    for value, (low, high) in zip(fairness.rates_after, fairness.after, strict=True):
        assert low <= value <= high


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"mode": "reuse"}, "also trained"),
        ({"unit": "age", "rows_per_unit": 2}, "several records of one person"),
        (
            {
                "unit": "age",
                "rows_per_unit": 2,
                "mode": "reuse",
                "division": {"check_share": 0.3},
            },
            "several",
        ),
        ({"schema": None, "sensitive": "sex"}, "schema was read off"),
    ],
)
@pytest.mark.filterwarnings("ignore::dpfair.errors.PrivacyLeakWarning")
def test_a_certificate_says_why_there_is_none(settings, reason, loans, loan_schema):
    model = PrivateFairClassifier(2, **{"schema": loan_schema, **settings}).fit(*loans)
    assert not model.certificate_.fairness.certified
    assert reason in model.certificate_.fairness.reason
    for point in model.frontier(tolerances=[0.0, 0.1]):
        assert (point.gap_bound, point.accuracy_bound) == (None, None)
    other = model.with_rule(tolerance=0.1)
    assert not other.certificate_.fairness.certified


def test_counts_of_the_training_records_never_certify(loans, loan_schema):
    """Whatever a method calls itself: if both steps use one scope, the release says so."""

    class Sneaky(PrivateFairClassifier):
        def make_plan(self, schema, budget, facts):
            return PrivateFairClassifier(mode="reuse").make_plan(schema, budget, facts)

    model = Sneaky(2, schema=loan_schema, mode="certified").fit(*loans)
    assert model.release_.dependence == REUSED
    assert not model.certificate_.fairness.certified


@pytest.mark.parametrize(
    "notion",
    ["demographic_parity", "equal_opportunity", "equalized_odds", "accuracy_parity"],
)
def test_every_notion_is_met_where_it_is_certified(notion, adult):
    model = PrivateFairClassifier(
        3, schema=adult.schema, random_state=3, rule={"notion": notion, "tolerance": 0.02}
    ).fit(adult.X[:30000], adult.y[:30000])
    records = model.new_records(adult.X[30000:])
    accepted = model.predict_proba(adult.X[30000:])[:, 1]
    labels = (adult.y[30000:] == model.classes_[1]).astype(int)
    values = group_values(NOTIONS[notion], accepted, records.groups, labels, 2)
    fairness = model.certificate_.fairness
    assert fairness.notion == notion
    assert NOTIONS[notion].gap(values) < fairness.gap_bound < 0.2
    unfair = model.with_rule(tolerance=1.0)
    lopsided = unfair.predict_proba(adult.X[30000:])[:, 1]
    gap = NOTIONS[notion].gap(group_values(NOTIONS[notion], lopsided, records.groups, labels, 2))
    assert gap > fairness.gap_estimate + 0.01, "the tolerance must matter"
