"""Noise that is too small to account for is refused wherever it is."""

import pytest
from privacy.accountants.references import spent

from dpfair.errors import InputError
from dpfair.privacy.events import OneOfDpEvent, compose, gaussian_steps, noisy_table


def test_hopeless_noise_cannot_hide_in_a_choice():
    count = noisy_table("3/2", "add_remove")
    with pytest.raises(InputError, match="protects nothing"):
        spent(OneOfDpEvent((gaussian_steps(0.01, 1.0, 9), count)))
    one = gaussian_steps(0.1, 1.0, 20)  # alone it would do
    with pytest.raises(InputError, match="protects nothing"):
        spent(compose([OneOfDpEvent((one, count))] * 2))
