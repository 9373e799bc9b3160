"""The fairness claim: what it keeps, and what it is judged by."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import pytest
from certificate.claims import chosen_claim, flipped_claim, score_release

from dpfair.certificate import FairnessClaim
from dpfair.certificate.fairness import named_pairs


def test_nothing_is_promised_for_a_reason():
    claim = FairnessClaim.nothing(("f", "m"), "why", 0.9)
    assert (claim.reason, claim.certified, claim.confidence) == ("why", False, 0.9)
    assert claim.gap_judgement is claim.accuracy_judgement is claim.gap_bound is None


def test_pairs_are_named_by_their_groups():
    assert named_pairs(("f", "m", "x"), {(0, 2): 0.5}) == (("f", "x", 0.5),)


@pytest.mark.parametrize(
    "claim",
    [
        chosen_claim(),
        chosen_claim(notion="equalized_odds", tolerance=0.1),
        flipped_claim(),
        flipped_claim(score_release(1), [[0.0, 1.0]]),
        replace(chosen_claim(), irregular=(0.1, (0.05, 0.2))),
        replace(chosen_claim(), irregular=(0.1, None)),
        FairnessClaim.nothing(("f",), "why"),
    ],
)
def test_a_claim_survives_plain_data(claim):
    assert FairnessClaim.from_json(json.loads(json.dumps(asdict(claim)))) == claim


def test_the_gap_is_judged_against_the_scorer_alone():
    claim = chosen_claim()
    own = max(claim.rates_before) - min(claim.rates_before)
    worse = replace(claim, gap_bound=own + 0.001, values={"acceptance rate": (0.5, 0.5)})
    assert worse.gap_judgement.grade == "vacuous"
    assert f"{own:.4f}" in worse.gap_judgement.rule
    other = replace(worse, other_goal="something else")
    assert other.gap_judgement.grade == "weak"
    assert replace(worse, notion="equal_opportunity").gap_judgement.grade == "weak"


def test_a_ratio_is_judged_as_a_ratio():
    claim = replace(chosen_claim(notion="parity_ratio"), gap_bound=0.15, rates_before=())
    assert claim.gap_judgement.rule == "at least 0.8 (the four-fifths rule)"
