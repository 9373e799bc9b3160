"""The winner of a search has the privacy of the search, and bounds that hold for a winner."""

from __future__ import annotations

from dataclasses import replace

import pytest
from certificate.claims import chosen_claim, privacy_claim

from dpfair import Ledger, Noise
from dpfair.certificate import Certificate
from dpfair.certificate.search import search_of, winners_certificate
from dpfair.privacy.events import best_of_runs, compose, gaussian_steps, noisy_table

RUN = compose([gaussian_steps(20.0, 1.0, 2, exact=True), noisy_table(0.1, "add_remove")])


def paid(mean, noise=None) -> Ledger:
    ledger = Ledger(50, 1e-5, noise=noise)
    ledger.charge(best_of_runs([RUN], mean, 0), scope="all", purpose="search")
    return ledger


@pytest.fixture
def own() -> Certificate:
    fairness = replace(chosen_claim(), bounds={"C3": 0.1, "paper proposition (mean)": 0.01})
    return Certificate("a method", privacy_claim(), fairness)


def test_a_ledger_without_a_search_changes_nothing(own):
    ledger = Ledger(1, 1e-5)
    assert search_of(ledger) is None
    assert winners_certificate(own, ledger) is own


def test_a_winner_has_the_privacy_of_the_search(own):
    ledger = paid(4)
    privacy = winners_certificate(own, ledger).privacy
    assert (privacy.epsilon, privacy.spent) == (ledger.epsilon, ledger.spent)
    assert privacy.assumed_public == ("the schema", "the candidates of the search")
    assert privacy.arithmetic.startswith("exact integers everywhere: discrete Laplace noise on")
    assert privacy.private
    seeded = winners_certificate(own, paid(4, Noise(0))).privacy
    assert len(seeded.leaks) == 1
    assert winners_certificate(replace(own, privacy=seeded), paid(4, Noise(0))).privacy.leaks == (
        seeded.leaks
    )


def test_a_winner_may_fail_as_often_as_all_its_rivals(own):
    fairness = winners_certificate(own, paid(4)).fairness
    assert fairness.confidence == pytest.approx(0.8)
    assert fairness.bounds == {"C3": 0.1}  # a mean over runs is not about the winner
    assert fairness.gap_bound == own.fairness.gap_bound
    assert "best of a private search" in winners_certificate(own, paid(4)).method


def test_too_many_runs_leave_no_confidence(own):
    fairness = winners_certificate(own, paid(20)).fairness
    assert not fairness.certified
    assert fairness.gap_bound is fairness.accuracy_bound is None
    assert fairness.bounds == {}
    assert "so many runs" in fairness.reason
