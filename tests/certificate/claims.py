"""Releases and claims that the tests of this folder share."""

from __future__ import annotations

from dpfair.certificate import FairnessClaim, PrivacyClaim, parity_claim, rule_claim
from dpfair.fairness.choice import best_rule
from dpfair.fairness.goal import Goal
from dpfair.fairness.notions import NOTIONS
from dpfair.fairness.release import HALF, Release
from dpfair.fairness.rules import Rule
from dpfair.privacy.ledger import Ledger

COUNTS = [[[900, 100], [200, 300]], [[400, 200], [100, 500]]]


def score_release(groups=2, dependence="", noise=1.0) -> Release:
    """Decisions of a scorer by label, with a few records of no declared label."""
    return Release(
        ("f", "m")[:groups],
        HALF,
        COUNTS[:groups],
        (noise,) * groups,
        None,
        dependence,
        undeclared={"group": 0, "label": 3},
    )


def chosen_claim(release=None, notion="demographic_parity", **goal) -> FairnessClaim:
    """The claim of the best rule by a release."""
    release = score_release() if release is None else release
    aim = Goal(NOTIONS[notion], **goal)
    found = best_rule(release, aim, smallest=0, small_groups="merge")
    return rule_claim(release, found, aim, 0.95)


def flipped_claim(release=None, flips=((0.2, 1.0), (0.0, 0.6))) -> FairnessClaim:
    """The claim of random flips."""
    return parity_claim(score_release() if release is None else release, Rule(flips), 0.95)


def privacy_claim(**how) -> PrivacyClaim:
    """The claim of an empty ledger."""
    given = {"unit": "every record", "arithmetic": "exact integers", "records": 6000}
    public = {"assumed_public": ["the schema"], "leaks": ()}
    return PrivacyClaim.from_ledger(Ledger(1, 1e-5), **given | public | how)
