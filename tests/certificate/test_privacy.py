"""The privacy claim reads its ledger, and names the arithmetic that was paid for."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, replace

import pytest
from certificate.claims import privacy_claim

from dpfair import Ledger, Noise, PrivateFairClassifier
from dpfair.certificate import PrivacyClaim
from dpfair.certificate.privacy import arithmetic_of, counted_records
from dpfair.data.schema import EarlierCost
from dpfair.fairness.release import HALF, Release
from dpfair.privacy.events import best_of_runs, compose, gaussian_steps, noisy_table

TABLE = noisy_table(1, "add_remove")
FLOATS, EXACT = (gaussian_steps(2.0, rate, 3, exact=rate == 1.0) for rate in (0.5, 1.0))
SAMPLED = gaussian_steps(2.0, 0.5, 3, exact=True)
BOTH = (
    "exact integers everywhere: discrete Laplace noise on the counts, "
    "discrete Gaussian noise on the gradient sums"
)
MIXED = "exact integers for the counts, float64 Gaussian noise in training"


@pytest.mark.parametrize(
    ("events", "phrase"),
    [
        ([], "no noise"),
        ([TABLE], "exact integers"),
        ([FLOATS], "float64 Gaussian noise"),
        ([FLOATS, EXACT], "float64 Gaussian noise"),
        ([EXACT], "exact integers everywhere: discrete Gaussian noise on the gradient sums"),
        ([SAMPLED], "exact integers everywhere: discrete Gaussian noise on the gradient sums"),
        ([EXACT, TABLE], BOTH),
        ([SAMPLED, TABLE], BOTH),
        ([TABLE, FLOATS], MIXED),
        ([TABLE, FLOATS, EXACT], MIXED),
        ([best_of_runs([compose([EXACT, TABLE]), compose([SAMPLED, TABLE])], 2, 0)], BOTH),
        ([best_of_runs([compose([EXACT, TABLE]), compose([FLOATS, TABLE])], 2, 0)], MIXED),
    ],
)
def test_the_arithmetic_is_that_of_the_events(events, phrase):
    ledger = Ledger(50, 1e-5)
    for event in events:
        ledger.charge(event, scope="all", purpose="test")
    assert arithmetic_of(ledger) == phrase


def test_a_claim_reads_its_ledger():
    ledger = Ledger(3, 1e-5)
    ledger.charge(TABLE, scope="all", purpose="test")
    claim = PrivacyClaim.from_ledger(
        ledger, unit="every record", arithmetic="", assumed_public=["the schema"], leaks=[]
    )
    assert (claim.epsilon, claim.delta, claim.spent) == (3, 1e-5, 1)
    assert claim.assumed_public == ("the schema",)
    assert claim.private
    assert claim.judgement.grade == "moderate"
    assert "not known" in claim.judgement.rule


def test_noise_from_a_seed_is_a_leak():
    claim = PrivacyClaim.from_ledger(
        Ledger(1, 1e-5, noise=Noise(0)), unit="", arithmetic="", assumed_public=[], leaks=["b"]
    )
    assert len(claim.leaks) == 2
    assert "seed" in claim.leaks[0]
    assert not claim.private
    assert claim.judgement is None


def test_a_claim_survives_plain_data():
    claim = privacy_claim(leaks=("a leak",), records_error=7)
    data = vars(claim) | {"assumed_public": ["the schema"], "leaks": ["a leak"], "private": False}
    assert PrivacyClaim.from_json(data) == claim


def test_the_noisy_number_of_records_is_scaled_up_and_has_an_error():
    release = Release(("f", "m"), HALF, [[[900, 100]], [[600, 400]]], (0.5, 0.5), None, "")
    records, error = counted_records(release, 0.5, 1)
    assert records == 4000
    noise = 4 * 2 * math.exp(-0.5) / (1 - math.exp(-0.5)) ** 2
    assert error == math.ceil(3 * math.sqrt(noise + 1000) / 0.5)
    # There are between 2000 and 4000 persons, up to the noise: delta must be small for the most.
    persons, wide = counted_records(release, 0.5, 2)
    assert persons == 4000
    assert persons - wide == math.floor((4000 - 3 * math.sqrt(noise + 1000) / 0.5) / 2)


def test_facts_that_an_earlier_job_found_count_in_the_grade_and_in_plain_words(loans, loan_schema):
    cost = EarlierCost(0.75, 1e-6)
    model = PrivateFairClassifier(1, 1e-5, schema=replace(loan_schema, discovery=cost))
    claim = model.fit(*loans).certificate_.privacy
    assert claim.in_all == (pytest.approx(1.75), pytest.approx(1.1e-5))
    assert claim.judgement.grade == "moderate"
    assert claim.judgement.rule.startswith("with the earlier job that found facts, epsilon = 1.75")
    assert "5.76 times as likely" in str(model.certificate_)
    assert PrivacyClaim.from_json(json.loads(json.dumps(asdict(claim)))) == claim
