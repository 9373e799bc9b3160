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

    def start(screened, draws):
        event = gaussian_steps(MULTIPLIER, 1.0, screened + draws, exact=True)
        receipt = Ledger(50, 1e-5, noise=Noise(0)).charge(event, scope="", purpose="train")
        linear = LinearScorer(loan_schema, "binned", weights)
        grouping = Grouping.by_mass(loan_schema, masses, masses)
        return BlockFit(linear, grouping, records, receipt, draws, MULTIPLIER), receipt, records

    return start


BLOCKS = [(0, 1), (0, 2), (1, 2), (0, 1, 2), (1, 2, 3)]


@pytest.mark.parametrize("draws", [10, 30, 33, 100])
@pytest.mark.parametrize("blocks", [BLOCKS[:1], BLOCKS[:3], BLOCKS])
def test_exactly_the_paid_draws_are_used(draws, blocks, started):
    fit, receipt, _ = started(0, draws)
    fit.confirm([block for block in blocks if len(block) == 2])
    assert fit.left == draws - max(1, draws // 50) * min(3, len(blocks))
    fit.visit_all(blocks)
    assert fit.left == 0
    assert receipt.used_up
    assert set(fit.scorer().blocks) == set(blocks)


def test_few_draws_visit_the_first_blocks(started):
    fit, receipt, _ = started(0, 3)
    fit.visit_all(BLOCKS)
    assert receipt.used_up
    assert fit.scorer().blocks == tuple(BLOCKS[:3])


def test_a_screen_draws_once_per_pair_and_moves_carefully(started):
    fit, receipt, records = started(3, 0)
    fit.screen(BLOCKS[:3], MULTIPLIER)
    assert receipt.used_up
    assert list(fit.found) == BLOCKS[:3]
    scores = fit.scorer().scores(records)
    assert 0.005 < np.abs(scores - 0.5).mean() < 0.3


def test_the_second_answer_replaces_the_first(started):
    fit, _, _ = started(3, 100)
    fit.screen(BLOCKS[:3], MULTIPLIER)
    screened = fit.found
    fit.confirm([(0, 2), (1, 2)])
    assert list(fit.found) == [(0, 2), (1, 2)]
    assert all(fit.found[pair] != screened[pair] for pair in fit.found)


def test_visits_of_one_block_add_up(started):
    fit, _, records = started(1, 3)
    fit.screen([(0, 1)], MULTIPLIER)
    [first] = fit.scorer().values
    fit.visit_all([(0, 1)])
    [last] = fit.scorer().values
    assert fit.scorer().blocks == ((0, 1),)
    assert first.shape == last.shape
    assert not np.allclose(first, last)
    accuracy = np.mean((fit.scorer().scores(records) > 0.5) == records.labels)
    assert accuracy > 0.75


def test_later_visits_know_earlier_corrections(started):
    """With little noise, the scores of a cell end at the share of its positive labels."""
    fit, _, records = started(1, 400)
    fit.screen([(1, 2)], MULTIPLIER)
    fit.visit_all([(1, 2)])
    scores = fit.scorer().scores(records)
    for score in np.unique(scores):
        cell = records.labels[scores == score]
        assert len(cell) < 100 or cell.mean() == pytest.approx(score, abs=0.1)
    assert scores.max() > 0.9
    assert scores.min() < 0.2
