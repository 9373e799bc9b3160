"""The fairness claim: what it keeps, and what it is judged by."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import pytest
from certificate.claims import chosen_claim, flipped_claim, score_release

from dpfair.certificate import FairnessClaim
from dpfair.certificate.fairness import largest_gap, named_pairs


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
    most = largest_gap(claim.before, ratio=False)
    worse = replace(claim, gap_bound=most + 0.001, values={"acceptance rate": (0.5, 0.5)})
    assert worse.gap_judgement.grade == "vacuous"
    assert f"{most:.4f}" in worse.gap_judgement.rule
    other = replace(worse, other_goal="something else")
    assert other.gap_judgement.grade == "weak"
    assert replace(worse, notion="equal_opportunity").gap_judgement.grade == "weak"


def test_noise_in_the_scorers_gap_does_not_decide_whether_a_bound_is_vacuous():
    """A noisy estimate lies on either side of a bound by chance; the limits of the gap do not."""
    claim = replace(chosen_claim(), gap_bound=0.13, values={"acceptance rate": (0.5, 0.5)})
    for estimates in ((0.50, 0.51), (0.45, 0.60)):
        unsure = replace(claim, rates_before=estimates, before=((0.42, 0.55), (0.48, 0.63)))
        assert unsure.gap_judgement.grade == "weak"
    sure = replace(claim, rates_before=(0.50, 0.51), before=((0.49, 0.52), (0.50, 0.53)))
    assert sure.gap_judgement.grade == "vacuous"
    assert "at most 0.0400, by the same counts" in sure.gap_judgement.rule


def test_a_model_that_saw_hardly_any_declared_label_is_of_no_use():
    shares = {"group": (0.0, (0.0, 0.01)), "label": (0.99, (0.97, 1.0))}
    claim = replace(chosen_claim(), undeclared=shares, labels=("bad", "good"), column="sex")
    assert claim.mostly_undeclared == "label"
    assert claim.gap_judgement.grade == claim.accuracy_judgement.grade == "vacuous"
    some = replace(claim, undeclared={"label": (0.95, (0.85, 1.0))})
    assert some.mostly_undeclared == ""
    assert some.gap_judgement.grade == "weak"
    alone = replace(claim, groups=("all",), undeclared={"group": (1.0, (0.99, 1.0))})
    assert alone.mostly_undeclared == ""


def test_a_ratio_is_judged_as_a_ratio():
    claim = replace(chosen_claim(notion="parity_ratio"), gap_bound=0.15, rates_before=())
    assert claim.gap_judgement.rule == "at least 0.8 (the four-fifths rule)"
