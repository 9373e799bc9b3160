"""The claim of random flips has every bound that exists for its release."""

from __future__ import annotations

import pytest
from certificate.claims import COUNTS, flipped_claim, score_release

from dpfair.fairness.bounds.paper import combined_gap_bound, interval_gap_bound
from dpfair.fairness.release import HALF, Release
from dpfair.fairness.rules import Rule

FLIPS = ((0.2, 1.0), (0.0, 0.6))


def test_the_certified_bound_is_the_combined_one():
    release, rule = score_release(), Rule(FLIPS)
    claim = flipped_claim(release, FLIPS)
    best = combined_gap_bound(release.rates, rule, 0.95)
    assert claim.gap_bound == claim.bounds["C3"] == best.bound
    assert claim.bounds["C2"] == interval_gap_bound(release.rates, rule, 0.95).bound
    assert claim.pairs == (("f", "m", best.bound),)
    assert claim.after == claim.intervals["acceptance rate"] == best.after
    flips = zip(FLIPS, claim.rates_before, strict=True)
    estimates = [lift + (keep - lift) * rate for (lift, keep), rate in flips]
    assert claim.rates_after == pytest.approx(estimates)
    assert claim.gap_estimate == pytest.approx(abs(estimates[0] - estimates[1]))
    assert set(claim.undeclared) == {"group", "label"}


def test_public_sizes_have_the_bounds_of_the_paper():
    accepted = [[[n - c, c]] for n, c in ((1500, 400), (1200, 700))]
    public = Release(("f", "m"), HALF, accepted, (1.0, 1.0), (1500, 1200), "")
    claim = flipped_claim(public)
    assert {"C1", "paper theorem", "paper theorem, utility"} <= set(claim.bounds)
    assert sum("(mean)" in name for name in claim.bounds) == 2
    exact = Release(("f", "m"), HALF, accepted, (float("inf"),) * 2, (1500, 1200), "")
    assert set(flipped_claim(exact).bounds) == {"C2", "C3"}


def test_dependent_records_certify_nothing():
    claim = flipped_claim(score_release(dependence="the records depend on each other"))
    assert claim.reason == "the records depend on each other"
    assert not claim.certified
    assert claim.gap_bound is None
    assert claim.pairs == ()
    assert claim.bounds  # without a promise


def test_one_group_has_rates_and_no_gap():
    claim = flipped_claim(score_release(1), [[0.0, 1.0]])
    assert not claim.certified
    assert "no sensitive column" in claim.reason
    share = sum(row[1] for row in COUNTS[0]) / 1500
    assert claim.rates_after == pytest.approx((share,))
    assert claim.before == claim.after == claim.intervals["acceptance rate"]
