"""The draws of a run: their number, their shares of the budget, and their cost."""

from __future__ import annotations

import pytest

from dpfair.learners.block_plan import BlockTraining
from dpfair.learners.logistic import LogisticLearner
from dpfair.privacy.events import has_floating_noise, parts


def planned(pairs, draws=100):
    def linear(multiplier):
        return LogisticLearner().full_batch(50, 0.4, 0.2, multiplier)

    return BlockTraining.of(3.0, linear, pairs, draws)


@pytest.mark.parametrize("pairs", [0, 1, 66])
def test_all_draws_together_are_as_informative_as_one_gaussian(pairs):
    plan = planned(pairs)
    leaves = parts(plan.event)
    assert sum(leaves.values()) == 50 + (1 + pairs if pairs else 0) + 100
    information = sum(n / leaf.noise_multiplier**2 for leaf, n in leaves.items())
    assert information == pytest.approx(1 / 3.0**2)
    assert not has_floating_noise(plan.event)


def test_the_stages_have_their_shares():
    plan = planned(28)
    stages = [
        (plan.first.descent.noise_multiplier, 50, 0.2),
        (plan.mass_multiplier, 1, 0.02),
        (plan.screen_multiplier, 28, 0.15),
        (plan.multiplier, 100, 0.63),
    ]
    for multiplier, draws, share in stages:
        assert draws * 3.0**2 / multiplier**2 == pytest.approx(share)


def test_further_steps_draw_the_last_noise_and_keep_the_length_of_the_first():
    plan = planned(28)
    further, first = plan.further(92), plan.first.descent
    assert (further.steps, further.noise_multiplier) == (92, plan.multiplier)
    assert (further.divisor, further.clip, further.arithmetic) == (
        *(first.divisor, first.clip, "exact"),
    )
