"""The published code of DP-FERMI: the noise that it states, and what it may claim."""

from __future__ import annotations

import pytest

from dpfair import DPFermi
from dpfair.methods.dp_fermi.reference import StatedNoise


def test_stated_noise_of_the_published_adult_run():
    noise = StatedNoise.for_budget(
        3, 1e-5, steps=2250, rows=45243, smallest_share=0.325, clip=5, radius=5
    )
    assert noise.theta == pytest.approx(1.73, abs=0.01)
    assert noise.dual == pytest.approx(0.0355, abs=0.001)


def test_the_reference_says_that_it_is_not_private(loans, loan_schema):
    model = DPFermi(2, variant="reference", schema=loan_schema, epochs=1).fit(*loans)
    assert not model.certificate_.privacy.private
    assert "never clips" in str(model.certificate_)
    assert "the group of the first record" in str(model.certificate_)
    assert model.ledger_.entries == ()
