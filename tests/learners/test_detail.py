"""How fine blocks are follows from the noise, within limits."""

from __future__ import annotations

import math

import pytest

from dpfair.learners.detail import MOST, Detail


@pytest.mark.parametrize("ratio", [-5.0, 0.0, 1.0, 100.0, 300.0, 700.0, 5000.0, 1e300, math.inf])
def test_less_noise_never_means_less_detail(ratio):
    one, other = Detail.of(ratio), Detail.of(2 * ratio + 1)
    for name in ("pair_groups", "triple_groups", "pairs", "triples"):
        least, most = getattr(Detail.of(0.0), name), getattr(MOST, name)
        assert least <= getattr(one, name) <= getattr(other, name) <= most


@pytest.mark.parametrize("ratio", [200.0, 340.0, 600.0])
def test_a_cell_holds_some_deviations_of_the_noise_on_average(ratio):
    detail = Detail.of(ratio)
    assert ratio / detail.pair_groups**2 >= 5
    assert ratio / detail.triple_groups**3 >= 3
    assert Detail.of(1e6) == MOST
