"""Scores of a linear model with blocks, and what a file may hold."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from dpfair import InputError
from dpfair.data.encode import encode
from dpfair.learners.block_scorer import BlockScorer
from dpfair.learners.detail import MAX_BLOCKS
from dpfair.learners.features import coarse_codes, coarse_sizes, feature_count
from dpfair.learners.grouping import Grouping
from dpfair.learners.scorer import LinearScorer


@pytest.fixture
def scorer(loan_schema):
    rng = np.random.default_rng(0)
    sizes = [*coarse_sizes(loan_schema).values()]
    grouping = Grouping.by_mass(
        loan_schema, [np.ones(s) for s in sizes], [np.ones(s) for s in sizes]
    )
    blocks = ((0, 1), (1, 3), (0, 2, 3))
    weights = rng.normal(size=feature_count("binned", loan_schema))
    values = tuple(rng.normal(size=grouping.size(block)) for block in blocks)
    return BlockScorer(LinearScorer(loan_schema, "binned", weights), grouping, blocks, values)


def restored(scorer, **changes):
    tensors = dict(scorer.tensors()) | changes
    kept = {name: tensor for name, tensor in tensors.items() if tensor is not None}
    return BlockScorer.from_tensors(scorer.linear.schema, "binned", kept)


def test_the_score_adds_a_number_per_block(scorer, loans, loan_schema):
    records = encode(loans[0], loan_schema)
    bins, odds = [*coarse_codes(loan_schema, records).values()], scorer.linear.log_odds(records)
    for row in (0, 17, 2999):
        total = odds[row]
        for block, values in zip(scorer.blocks, scorer.values, strict=True):
            by = scorer.grouping.pairs if len(block) == 2 else scorer.grouping.triples
            place = tuple(by[column][bins[column][row]] for column in block)
            total += values.reshape(scorer.grouping.shape(block))[place]
        assert scorer.scores(records)[row] == pytest.approx(expit(total), abs=1e-12)


def test_a_score_depends_on_its_own_record_only(scorer, loans, loan_schema):
    records = encode(loans[0], loan_schema)
    alone = [scorer.scores(records.take(np.array([row])))[0] for row in (0, 17, 2999)]
    assert (scorer.scores(records)[[0, 17, 2999]] == alone).all()


def test_without_blocks_it_is_the_linear_model(scorer, loans, loan_schema):
    records, linear = encode(loans[0], loan_schema), BlockScorer(scorer.linear)
    assert set(linear.tensors()) == {"weights"}
    np.testing.assert_array_equal(linear.scores(records), scorer.linear.scores(records))
    assert restored(linear).grouping is None


def test_tensors_are_read_back(scorer, loans, loan_schema):
    again, records = restored(scorer), encode(loans[0], loan_schema)
    assert again.blocks == scorer.blocks
    np.testing.assert_array_equal(again.scores(records), scorer.scores(records))


BAD = {
    "no groups in pairs": lambda t: {"pair_groups": None},
    "no groups in triples": lambda t: {"triple_groups": None},
    "no cells": lambda t: {"cells": None},
    "a group too many": lambda t: {"pair_groups": np.append(t["pair_groups"], 0)},
    "a ninth group": lambda t: {"triple_groups": np.append(t["triple_groups"][:-1], 8)},
    "a thirteenth group": lambda t: {"pair_groups": np.append(t["pair_groups"][:-1], 12)},
    "a negative group": lambda t: {"triple_groups": np.append(t["triple_groups"][:-1], -1)},
    "half a group": lambda t: {"pair_groups": np.append(t["pair_groups"][:-1], 0.5)},
    "no group at all": lambda t: {"triple_groups": t["triple_groups"] * np.nan},
    "an unknown column": lambda t: {"blocks": t["blocks"] + [[0, 4, 0]]},
    "a huge column": lambda t: {"blocks": t["blocks"] + [[0, 0, 1e300]]},
    "a negative column": lambda t: {"blocks": t["blocks"] - [[2, 0, 0]]},
    "no first column": lambda t: {"blocks": np.array([[-1.0, 0, 1]]), "cells": np.zeros(72)},
    "half a column": lambda t: {"blocks": t["blocks"] + [[0.5, 0, 0]]},
    "columns in another order": lambda t: {"blocks": t["blocks"][:, [1, 0, 2]]},
    "a column twice": lambda t: {"blocks": t["blocks"][:, [0, 0, 2]]},
    "a fourth column": lambda t: {"blocks": np.hstack([t["blocks"], t["blocks"][:, :1]])},
    "no blocks": lambda t: {"blocks": t["blocks"][:0], "cells": t["cells"][:0]},
    "too many blocks": lambda t: {
        "blocks": np.tile(t["blocks"][:1], (MAX_BLOCKS + 1, 1)),
        "cells": np.zeros(36 * (MAX_BLOCKS + 1)),
    },
    "a number of no block": lambda t: {"cells": np.append(t["cells"], 0)},
    "a cell that is no number": lambda t: {"cells": t["cells"] * np.nan},
    "cells in a row of rows": lambda t: {"cells": t["cells"][None]},
    "a weight less": lambda t: {"weights": t["weights"][1:]},
    "something else": lambda t: {"leaves": t["weights"]},
}


@pytest.mark.parametrize("bad", BAD)
def test_tensors_that_do_not_fit_are_refused(bad, scorer):
    with pytest.raises(InputError):
        restored(scorer, **BAD[bad](scorer.tensors()))
