"""What catches broken naming of values that are not known beforehand."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from scipy.stats import binomtest
from trust.registry import detector

from dpfair.errors import InputError
from dpfair.privacy.accountants import epsilon_of
from dpfair.privacy.events import ThresholdedDpEvent, step_event
from dpfair.privacy.ledger import Ledger
from dpfair.privacy.noise import Noise


@detector("naming threshold")
def _threshold(seed: int) -> Iterator[str]:
    """A value of a single record is named as rarely as the event says, and common ones always."""
    tables, trials, delta = 4, 20_000, 0.04
    event = ThresholdedDpEvent(20.0, delta)
    receipt = Ledger(100, 0.1, noise=Noise(seed)).charge(event, scope="", purpose="name")
    single = {f"word {i}": 1 for i in range(trials)}
    found = receipt.draw(event).named_counts([single, {"common": 10**6}, {}, {}], 4)
    if "common" not in found[1]:
        yield "A value of a million records is not named."
    if binomtest(len(found[0]), trials, delta / tables, "greater").pvalue < 1e-6:
        yield f"{len(found[0])} of {trials} single records are named, {delta / tables:g} is paid."


@detector("naming account")
def _account(seed: int) -> Iterator[str]:
    """The delta of naming is part of every account, twice if a record is replaced."""
    delta = 10.0 ** -(5 + seed % 3)
    gaussian, named = step_event(3.0, 1.0, exact=True), ThresholdedDpEvent(3.0, delta / 10)
    for relation, moved in (("add_remove", 1), ("replace_one", 2)):
        least = epsilon_of(gaussian, delta * (1 - moved / 10), relation)
        if not epsilon_of(named, delta, relation) >= least * (1 - 1e-6):
            yield f"Naming is not paid for ({relation})."
        try:
            free = epsilon_of(named, delta / 20, relation)
        except InputError:
            continue
        if math.isfinite(free):
            yield f"Naming has a finite cost at a smaller delta ({relation})."
    assert np.isfinite(least)
