"""Block after block: all draws are used, and corrections add up."""

from __future__ import annotations

import numpy as np
import pytest
from sample_tables import make_loans

from dpfair.data.encode import encode
from dpfair.learners.block_fit import BlockFit
from dpfair.learners.features import coarse_sizes, feature_count
from dpfair.learners.grouping import Grouping
from dpfair.learners.scorer import LinearScorer
from dpfair.privacy.events import gaussian_steps
from dpfair.privacy.ledger import Ledger
from dpfair.privacy.noise import Noise

MULTIPLIER = 20.0


@pytest.fixture
def started(loan_schema):
    """A fit of the loans from a model without weights, with as many draws as asked for."""
    X, y = make_loans()
    records = encode(X, loan_schema).with_labels((y == "yes").astype(np.int64))
    masses = [np.ones(size) for size in coarse_sizes(loan_schema).values()]
    weights = np.zeros(feature_count("binned", loan_schema))

    def start(draws):
        event = gaussian_steps(MULTIPLIER, 1.0, draws, exact=True)
        receipt = Ledger(50, 1e-5, noise=Noise(0)).charge(event, scope="", purpose="train")
        linear = LinearScorer(loan_schema, "binned", weights)
        grouping = Grouping.by_mass(loan_schema, masses, masses)
        return BlockFit(linear, grouping, records, receipt), receipt, records

    return start


BLOCKS = [(0, 1), (0, 2), (1, 2), (0, 1, 2), (1, 2, 3)]


@pytest.mark.parametrize("draws", [1, 3, 5, 7, 30, 33, 100])
@pytest.mark.parametrize("blocks", [BLOCKS[:1], BLOCKS])
def test_exactly_the_paid_draws_are_used(draws, blocks, started):
    fit, receipt, _ = started(draws)
    fit.visit_all(blocks, draws, MULTIPLIER)
    assert receipt.used_up
    assert set(fit.values) == set(blocks[:draws])


def test_a_screen_draws_once_per_pair_and_moves_carefully(started):
    fit, receipt, records = started(3)
    fit.screen(BLOCKS[:3], MULTIPLIER)
    assert receipt.used_up
    assert list(fit.found) == BLOCKS[:3]
    scores = fit.scorer().scores(records)
    assert 0.005 < np.abs(scores - 0.5).mean() < 0.3


def test_visits_of_one_block_add_up(started):
    fit, _, records = started(4)
    fit.screen([(0, 1)], MULTIPLIER)
    first = fit.values[0, 1].copy()
    fit.visit_all([(0, 1)], 3, MULTIPLIER)
    assert len(fit.scorer().blocks) == 1
    assert not np.allclose(fit.values[0, 1], first)
    assert fit.scorer().values[0].shape == first.shape
    accuracy = np.mean((fit.scorer().scores(records) > 0.5) == records.labels)
    assert accuracy > 0.75


def test_later_visits_know_earlier_corrections(started):
    """A block that was visited with little noise has nothing left to correct."""
    fit, _, _ = started(202)
    fit.visit_all([(0, 1)], 200, MULTIPLIER)
    settled = fit.values[0, 1].copy()
    fit.visit_all([(0, 1)], 2, MULTIPLIER)
    assert np.abs(fit.values[0, 1] - settled).mean() < 0.1 * np.abs(settled).mean()
