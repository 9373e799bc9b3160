"""The central limit theorem: exact for full batches, too low for sampled ones."""

import pytest
from privacy.accountants.references import DELTA, PUBLISHED, exact_gaussian, spent

from dpfair.privacy.accountants import epsilon
from dpfair.privacy.events import gaussian_steps


@pytest.mark.parametrize(("std", "q", "steps", "expected"), PUBLISHED)
def test_central_limit_accountant_is_no_bound_and_says_so(std, q, steps, expected):
    event = gaussian_steps(std / 1.5, q, steps)
    limit = epsilon(event, DELTA, accountant="gdp")
    assert not limit.is_bound
    assert limit.epsilon < spent(event)
    assert epsilon(event, DELTA).is_bound


def test_central_limit_accountant_is_exact_for_full_batches():
    event = gaussian_steps(20.0, 1.0, 100)
    assert spent(event, accountant="gdp") == pytest.approx(exact_gaussian(0.5, DELTA), rel=1e-6)
