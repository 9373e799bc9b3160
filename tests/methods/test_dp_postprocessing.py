"""DP-postprocessing: its slack, its linear program, and what it protects."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sample_tables import LOANS, make_loans
from scipy.optimize import linprog

from dpfair import LogisticLearner, Schema
from dpfair.fairness.notions import NOTIONS
from dpfair.fairness.release import HALF, Release
from dpfair.methods.dp_postprocessing import DPPostprocessing, noise_slack
from dpfair.methods.fitted import Fitted

ODDS = NOTIONS["equalized_odds"]
QUICK = LogisticLearner(steps=20)
# By group and label: how many are rejected and accepted.
TABLES = {
    "better for one group": [[[900, 100], [200, 800]], [[700, 300], [400, 600]]],
    "as good, other rates": [[[950, 50], [300, 700]], [[600, 400], [50, 950]]],
    "rare in one group": [[[90, 10], [20, 80]], [[4000, 1000], [900, 4100]]],
}


def released(counts, noise=1e6):
    return Release(("f", "m"), HALF, np.array(counts), (noise, noise), None, "")


def chosen(counts, schema, **rule):
    model = DPPostprocessing(3, schema=schema, rule=rule)
    model.schema_ = schema
    return model.choose(Fitted(scorer=None, releases={"count": released(counts)}))


def test_the_slack_is_the_published_one():
    """4 ln(4K / beta) / (n eps - 4 ln(4K / beta)) for noise of scale 2 / eps on the counts."""
    counts, epsilon, beta = TABLES["rare in one group"], 0.8, 0.05
    error = 4 * math.log(8 / beta)
    expected = error / (100 * epsilon - error)  # the smallest cell of a group and a label has 100
    assert noise_slack(released(counts, epsilon / 2), ODDS, beta) == pytest.approx(expected)
    assert noise_slack(released(counts, 0.01), ODDS, beta) == 1.0  # more noise than records


def fewest_errors(counts, tolerance):
    """The program as it was published: any flips, also such that reverse a decision."""
    counts = np.array(counts, dtype=float)
    rates = counts[:, :, 1] / counts.sum(axis=2)  # of group and label
    cost = np.concatenate([counts[a, 0] - counts[a, 1] for a in (0, 1)]) / counts.sum()
    rows = []
    for y in (0, 1):
        row = [1 - rates[0, y], rates[0, y], rates[1, y] - 1, -rates[1, y]]
        rows += [row, [-value for value in row]]
    found = linprog(cost, A_ub=rows, b_ub=[tolerance] * 4, bounds=(0, 1))
    return found.fun + counts[:, 1].sum() / counts.sum()


@pytest.mark.parametrize("tolerance", [0.0, 0.05, 0.2])
@pytest.mark.parametrize("name", TABLES)
def test_the_flips_make_as_few_errors_as_the_published_program(name, tolerance, loan_schema):
    counts = TABLES[name]
    fitted = chosen(counts, loan_schema, tolerance=tolerance)
    assert 1 - fitted.chosen.accuracy == pytest.approx(fewest_errors(counts, tolerance), abs=1e-4)
    assert ODDS.gap(fitted.chosen.values) <= tolerance + 1e-4


def test_a_fit_is_certified_within_its_bound():
    X, y = make_loans(20_000)
    schema = Schema.from_dict(LOANS | {"rows": 20_000})
    model = DPPostprocessing(3, schema=schema, learner=QUICK, random_state=0).fit(X, y)
    fresh, labels = make_loans(50_000, seed=9)
    accept, male = model.predict_proba(fresh)[:, 1], (fresh["sex"] == "m").to_numpy()
    gaps = [
        abs(accept[male & (labels == label)].mean() - accept[~male & (labels == label)].mean())
        for label in ("no", "yes")
    ]
    claim = model.certificate_.fairness
    assert claim.certified
    assert claim.notion == "equalized_odds"
    assert max(gaps) <= claim.gap_bound < 0.2
    spent = {entry.scope: entry.epsilon for entry in model.ledger_.entries}
    assert spent["release"] == 3
    assert spent["train"] <= 3


def test_settings_of_the_rule_keep_equalized_odds():
    assert DPPostprocessing(rule={"tolerance": 0.1}).rule_settings.notion == "equalized_odds"
    other = DPPostprocessing(rule={"notion": "demographic_parity"})
    assert other.rule_settings.notion == "demographic_parity"
