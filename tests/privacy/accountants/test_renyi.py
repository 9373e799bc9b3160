"""Renyi DP: a looser bound, and the only one for a search."""

import numpy as np
import pytest
from privacy.accountants.references import spent

from dpfair.privacy.accountants import renyi_curve
from dpfair.privacy.events import OneOfDpEvent, gaussian_steps, noisy_table

GRID = [(s, q, t) for s in (0.8, 2.0, 6.0) for q in (0.005, 0.1, 1.0) for t in (20,)]


@pytest.mark.parametrize(("sigma", "q", "steps"), GRID)
def test_renyi_is_above_pld(sigma, q, steps):
    event = gaussian_steps(sigma, q, steps)
    assert spent(event, accountant="rdp") >= spent(event)


def test_renyi_takes_the_worst_alternative_at_every_order():
    fit = OneOfDpEvent((gaussian_steps(4.0, 0.1, 50), noisy_table("3/2", "add_remove")))
    one, other = (renyi_curve(event, "add_remove") for event in fit.events)
    assert (one > other).any()
    assert (one < other).any()
    assert (renyi_curve(fit, "add_remove") == np.maximum(one, other)).all()
