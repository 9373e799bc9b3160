"""Groups that are too small for a threshold of their own share one."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from fairness.tables import EDGES, table

from dpfair.errors import FairnessWarning, InputError
from dpfair.fairness.choice import best_rule
from dpfair.fairness.goal import Goal
from dpfair.fairness.notions import NOTIONS
from dpfair.fairness.small_groups import merge_small

PARITY = Goal(NOTIONS["demographic_parity"])


def decided(release, goal=PARITY, *, smallest=50, small_groups="merge", families=None):
    return best_rule(release, goal, smallest=smallest, small_groups=small_groups, families=families)


def test_small_groups_share_a_threshold():
    release = table((3000, 40, 4000, 45))
    with pytest.warns(FairnessWarning, match="b, d"):
        found = decided(release)
    assert (found.lottery[1] == found.lottery[3]).all()
    assert (found.lottery[1] != found.lottery[2]).any()
    assert (found.rule.cuts[1] == found.rule.cuts[3]).all()
    with pytest.raises(InputError, match="Too few records of b, d"):
        decided(release, small_groups="refuse")
    with warnings.catch_warnings():
        warnings.simplefilter("error", FairnessWarning)
        decided(release, smallest=0)
        decided(table((3000, 4000)))


def test_too_few_for_a_pool_join_the_largest_group():
    """A pool of two groups has more noise than one: 65 records are below 50 times sqrt(2)."""
    with pytest.warns(FairnessWarning, match="b, d"):
        found = decided(table((3000, 20, 4000, 45)))
    for a in (1, 3):
        assert (found.lottery[a] == found.lottery[2]).all()


def test_small_groups_join_their_family():
    release = table((3000, 20, 4000, 25))
    with pytest.warns(FairnessWarning):
        found = decided(release, families=[0, 0, 1, 1])
    assert (found.lottery[1] == found.lottery[0]).all()
    assert (found.lottery[3] == found.lottery[2]).all()


def test_what_noise_hides_is_small():
    """A group of 200 cannot be told from none when the noise of its size has sd 130."""
    release = table((30_000, 200), noise=0.07)
    with pytest.warns(FairnessWarning):
        decided(release, smallest=0)


def test_groups_with_grids_of_their_own_are_not_merged():
    edges = np.stack([EDGES, EDGES + 0.001])
    found = decided(table((3000, 20), edges=edges))
    assert found.lottery.shape == (2, 21)


@pytest.mark.parametrize(
    ("sizes", "smallest", "families", "classes"),
    [
        ([900, 800], 100, None, [0, 1]),
        ([900, 70, 500, 80], 100, None, [0, 1, 2, 1]),
        ([900, 62, 500, 80], 100, None, [0, 1, 2, 1]),  # 142 of two groups: the noise is sqrt(2)
        ([900, 60, 500, 80], 100, None, [0, 0, 1, 0]),  # 140 are too few for a pool of two
        ([900, 30, 500, 80], 100, None, [0, 0, 1, 0]),
        ([500, 30, 900, 80], 100, None, [0, 1, 1, 1]),  # they join the largest
        ([900, 30, 500], 100, None, [0, 0, 1]),
        ([10, 20, 30], 100, None, [0, 0, 0]),
        ([10, 20, 300], 0, None, [0, 1, 2]),
        ([900, 30, 500, 80], 100, [0, 0, 1, 1], [0, 0, 1, 1]),
        ([30, 30, 500, 80, 70], 50, [0, 0, 1, 1, 1], [0, 0, 1, 2, 3]),
        ([30, 10, 500], 50, [0, 0, 1], [0, 0, 1]),  # never with another family
        ([50], 50, None, [0]),
    ],
)
def test_small_groups_are_pooled(sizes, smallest, families, classes):
    assert merge_small(sizes, smallest, families).tolist() == classes


def test_the_warning_names_who_shares_a_threshold_and_what_to_do():
    with pytest.warns(FairnessWarning) as caught:
        decided(table((3000, 40, 4000, 45)))
    text = str(caught[0].message)
    assert "These share one threshold: b and d." in text
    assert "may differ by more than the tolerance" in text
    for remedy in ("coarser groups", "smallest_group", 'small_groups="refuse"'):
        assert remedy in text
    with pytest.warns(FairnessWarning, match="one threshold: b, c and d"):
        decided(table((3000, 20, 4000, 45)))
