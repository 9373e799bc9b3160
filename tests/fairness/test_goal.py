"""Goals that no rule can reach are refused."""

import numpy as np
import pytest

from dpfair.errors import InputError
from dpfair.fairness.goal import Goal
from dpfair.fairness.notions import NOTIONS

PARITY = NOTIONS["demographic_parity"]


@pytest.mark.parametrize(
    "goal",
    [
        {"tolerance": -0.1}, {"tolerance": 1.1}, {"tolerance": np.nan}, {"costs": (1.0,)},
        {"costs": (0.0, 1.0)}, {"costs": (1.0, np.inf)}, {"acceptance": 1.2}, {"capacity": -0.1},
        {"capacity": np.nan},
    ],
)  # fmt: skip
def test_impossible_goals_are_refused(goal):
    with pytest.raises(InputError, match="Expected"):
        Goal(PARITY, **goal)


def test_a_goal_says_what_it_asks_for_besides_accuracy():
    assert Goal(PARITY, 0.1).other_goal == ""
    assert "costs" in Goal(PARITY, costs=(1, 2)).other_goal
    assert "acceptance" in Goal(PARITY, acceptance=0.2).other_goal
    assert "acceptance" in Goal(PARITY, capacity=0.2).other_goal
