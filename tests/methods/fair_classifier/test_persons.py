"""Persons with several records: one scope, one coin, and a cost for every row."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from sample_tables import make_loans

from dpfair import LogisticLearner, PrivateFairClassifier
from dpfair.privacy.events import pure_epsilon
from dpfair.privacy.ledger import Ledger


def test_a_person_is_in_one_scope_and_gives_a_bounded_number_of_rows(loan_schema):
    X, y = make_loans(1200)
    X = X.with_columns(person=pl.Series(np.arange(1200) // 4))
    seen = {}

    class Spy(LogisticLearner):
        """Sees the training records; its scorer, last of all, the counted ones."""

        def train(self, plan, records, *rest):
            seen["train"] = records
            self.scorer = super().train(plan, records, *rest)
            return self

        def scores(self, records):
            seen["release"] = records
            return self.scorer.scores(records)

    PrivateFairClassifier(
        2, schema=loan_schema, unit="person", rows_per_unit=3, learner=Spy(), random_state=0
    ).fit(X, y)
    assert len(seen["train"]) + len(seen["release"]) == 900
    incomes = X["income"].to_list()
    owner = {v: i // 4 for i, v in enumerate(incomes) if incomes.count(v) == 1}
    people = {
        scope: {owner[v] for v in records.numeric[1].floats.tolist() if v in owner}
        for scope, records in seen.items()
    }
    assert len(people["train"]) > 100
    assert not people["train"] & people["release"]


def test_k_rows_per_person_cost_k_times_as_much(loan_schema):
    one = PrivateFairClassifier(2, schema=loan_schema, unit="p")
    three = PrivateFairClassifier(2, schema=loan_schema, unit="p", rows_per_unit=3)
    release = [pure_epsilon(m.plan()["count"].event) for m in (one, three)]
    assert float(release[0] / release[1]) == pytest.approx(3)
    ledger = Ledger(2, 1e-5, rows_per_unit=3)
    assert ledger.row_budget[1] == pytest.approx(1e-5 / (3 * np.exp(2 * 2 / 3)))


def test_several_rows_per_person_are_not_certified(loans, loan_schema):
    model = PrivateFairClassifier(2, schema=loan_schema, unit="age", rows_per_unit=2).fit(*loans)
    assert not model.certificate_.fairness.certified
    assert model.certificate_.fairness.gap_bound is None
    assert "NOT CERTIFIED" in str(model.certificate_)


@pytest.mark.parametrize("mode", ["certified", "reuse"])
def test_with_a_unit_all_records_of_a_person_share_their_coin(mode, loans, loan_schema):
    X, y = loans
    X = X.with_columns(person=pl.Series([f"p{i}" for i in range(len(y))]))
    model = PrivateFairClassifier(
        2,
        schema=loan_schema,
        unit="person",
        mode=mode,
        random_state=4,
        rule={"notion": "equalized_odds"},
    ).fit(X, y)
    assert "every person" in str(model.certificate_)
    chance = model.predict_proba(X)[:, 1]
    unsure = np.flatnonzero((chance > 0.05) & (chance < 0.95))
    assert len(unsure) > 20
    one = X[unsure].with_columns(person=pl.lit("p1"))
    accepted, chances = model.predict(one) == "yes", chance[unsure]
    assert chances[accepted].min(initial=1) >= chances[~accepted].max(initial=0)
