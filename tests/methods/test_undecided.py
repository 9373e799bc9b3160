"""What is remembered of records without a decision."""

from __future__ import annotations

import numpy as np
import polars as pl

from dpfair.data.columns import Levels
from dpfair.methods import undecided
from dpfair.methods.undecided import Undecided


def test_very_many_groups_are_counted_but_not_remembered(monkeypatch):
    monkeypatch.setattr(undecided, "_MOST_WORDS", 50)
    found = Undecided(Levels("sex", ("f", "m")))
    for start in range(0, 1000, 40):
        texts = [f"group {number}" for number in range(start, start + 39)]
        found.add(pl.DataFrame({"sex": ["often", *texts]}), np.ones(40, bool))
    assert (found.rows, found.other, found.blank) == (1000, 1000, 0)
    assert len(found.groups[0]) < 100
    assert "such as 'often'" in str(found)
