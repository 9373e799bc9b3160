"""docs/interactions.md has the text of its script and a row for every table and budget."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import numpy as np
import pytest
from record_arrays import codes_in

from dpfair.learners import LEARNERS

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def script():
    return runpy.run_path(str(ROOT / "scripts" / "interaction_tables.py"))


def test_the_page_has_the_text_and_the_rows_of_its_script(script):
    """``python scripts/interaction_tables.py`` writes it; that takes minutes."""
    page = (ROOT / "docs" / "interactions.md").read_text("utf-8")
    for part in re.split(r"\{\w+\}", script["TEXT"]):
        assert part in page
    rows = re.findall(r"^\| (\w+) \| ([\d.]+) \|(.*)\|$", page, re.M)
    tables = [*script["SHAPES"], *script["SHIPPED"]]
    assert [row[:2] for row in rows] == [(t, e) for t in tables for e in ("0.3", "1", "3")]
    made = set(script["SHAPES"])  # these rows say what part of a distance is closed, too
    assert all(len(r[2].split("|")) == len(LEARNERS) + 1 + (r[0] in made) for r in rows)
    assert page.count(f"| {' | '.join(LEARNERS)} |") == 2


def test_a_seed_draws_one_table(script):
    one, again, other = (script["made"]("mixed", seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(codes_in(one.train), codes_in(again.train))
    np.testing.assert_array_equal(one.train.labels, again.train.labels)
    assert (one.train.labels != other.train.labels).any()
    assert len(one.train) == one.schema.rows == 10_000
