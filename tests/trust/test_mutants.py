"""Every deliberately broken variant of the library is caught.

Those that are found by sampling, or by replaying many fits, are slow tests: they ask whether the
audits would find such a defect. ``make audit`` asks this of all variants.
"""

from __future__ import annotations

import pytest
from trust.detectors import detect
from trust.mutants import MUTANTS

SLOW = ("audit ", "replay ")

CASES = [
    pytest.param(
        mutant,
        name,
        id=f"{mutant.name}: {name}",
        marks=[pytest.mark.slow] if name.startswith(SLOW) else [],
    )
    for mutant in MUTANTS
    for name in mutant.caught_by
]
CONTRACTS = sorted(
    {name for mutant in MUTANTS for name in mutant.caught_by if not name.startswith(SLOW)}
)


def test_there_are_many_mutants():
    assert len(MUTANTS) >= 90
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)


@pytest.mark.parametrize(("mutant", "name"), CASES)
def test_a_broken_variant_is_caught(mutant, name):
    with mutant.broken():
        assert detect(name, seed=0)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("name", CONTRACTS)
def test_a_contract_says_nothing_about_sound_code(name, seed):
    assert detect(name, seed) == []
