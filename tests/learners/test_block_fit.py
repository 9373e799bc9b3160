"""Block after block: all draws are used, and corrections add up."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
import pytest
from sample_tables import make_loans

from dpfair.data.dask_parts import _total
from dpfair.data.encode import encode
from dpfair.data.records import Records
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


def once(records, measure):
    return records.total(measure)


def twice(records, measure):
    records.total(measure)
    return records.total(measure)


def after_a_later_one(records, measure):
    block, moved = measure.block, np.ones(measure.grouping.size(measure.block))
    records.total(replace(measure, moves=(*measure.moves, (block, moved))))
    return records.total(measure)


def by_another(kind, measure):
    of = measure.grouping
    return replace(measure, grouping=kind(of.schema, of.pairs, of.triples))


def after_a_failure(records, measure):
    class Failing(Grouping):
        def cells(self, block, records):
            raise MemoryError  # when the first moves were applied

    with suppress(MemoryError):
        records.total(by_another(Failing, measure))
    return records.total(measure)


def in_another_process(records, measure):
    return copy.deepcopy(records).total(measure)


def by_threads(records, measure):
    class Slow(Grouping):
        def cells(self, block, records):
            time.sleep(0.001)  # lets another thread go on
            return super().cells(block, records)

    measure = by_another(Slow, measure)
    with ThreadPoolExecutor(4) as threads:
        *_, last = threads.map(lambda _: _total(measure, records), range(4))
    return last


@pytest.mark.parametrize(
    "ask", [twice, after_a_later_one, after_a_failure, in_another_process, by_threads]
)
def test_no_correction_is_applied_twice(ask, started):
    fits = []
    for how in (once, ask):
        fit, _, records = started(0, 33)
        fit._records = Asked(records, how)
        fit.visit_all(BLOCKS)
        fits.append(fit.scorer().tensors())
    assert all((fits[0][name] == fits[1][name]).all() for name in fits[0])


@dataclass
class Asked:
    """Records that answer in another way."""

    records: Records
    how: Callable

    def total(self, measure):
        return self.how(self.records, measure)
