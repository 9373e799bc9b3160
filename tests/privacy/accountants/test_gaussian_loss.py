"""Losses that are made by arrays are those that dp_accounting makes point by point."""

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld

from dpfair.privacy.accountants import gaussian_loss as made
from dpfair.privacy.accountants.gaussian_loss import gaussian_loss
from dpfair.privacy.events import RELATIONS

STEPS = [
    *(
        (0.05, 0.01, 1e-2),
        (0.1, 0.01, 1e-3),
        (0.7, 0.3, 1e-3),
        (1.0907, 0.045, 1e-3),
        (17.3, 0.045, 3e-4),
    ),
    *((3.0, 1 - 1e-12, 1e-3), (300.0, 1e-3, 1e-4), (1e5, 0.3, 1e-4), (5.0, 1e-9, 1e-4)),
    *((0.02, 1.0, 1e-2), (0.3, 1.0, 1e-3), (9.0, 1.0, 1e-3), (200.0, 1.0, 1e-4)),
]


def differences(noise, rate, interval, relation):
    """How much the chances differ, for either direction."""
    own = gaussian_loss(noise, rate, interval, relation)
    other = pld.from_gaussian_mechanism(
        noise,
        value_discretization_interval=interval,
        sampling_prob=rate,
        neighboring_relation=relation,
    )
    assert own._symmetric == other._symmetric
    for direction in ("_pmf_remove", "_pmf_add"):
        one, two = (getattr(each, direction).to_dense_pmf() for each in (own, other))
        assert (one._lower_loss, one.size) == (two._lower_loss, two.size)
        assert one._pessimistic_estimate is two._pessimistic_estimate is True
        yield abs(float(one._infinity_mass - two._infinity_mass))
        yield float(np.max(np.abs(one._probs - two._probs)))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("relation", RELATIONS.values())
@pytest.mark.parametrize(("noise", "rate", "interval"), STEPS)
def test_the_same_chances_on_the_same_grid(noise, rate, interval, relation):
    assert max(differences(noise, rate, interval, relation)) <= (1e-11 if rate < 1 else 0)


@pytest.mark.parametrize("relation", RELATIONS.values())
def test_a_loss_that_is_inverted_wrongly_is_noticed(monkeypatch, relation):
    right = made._outcomes
    monkeypatch.setattr(made, "_outcomes", lambda *how: right(*how) + 1e-3)
    assert max(differences(1.0, 0.05, 1e-3, relation)) > 1e-11
