"""Any bytes as a CSV file: as many records as lines, and no line changes another record."""

from __future__ import annotations

import random

import polars as pl
import pytest
from sample_tables import LOANS, make_loans
from trust.fuzz_lines import fuzz_lines, random_lines
from trust.watching import decent, watch

from dpfair import Schema
from dpfair.cli import run


def test_any_lines():
    found = fuzz_lines(600)
    assert min(found["with quotes"], found["without quotes"]) > 50


@pytest.mark.slow
def test_twenty_thousand_files():
    assert fuzz_lines(20_000, 1).total() == 20_000


SPOILT = {
    "no quotes": {},
    "one open quote": {100: b'"abc'},
    "two lone quotes": {50: b'"', 150: b'"'},
    "too many cells": {0: b"nurse,,,,,", 199: b'"nurse","x'},
    "no text": {3: b"\xff\0\r\r"},
}


@pytest.mark.parametrize("name", SPOILT)
def test_a_cell_changes_neither_the_exit_code_nor_the_number_of_rows(name, tmp_path):
    X, y = make_loans(200)
    frame = X.with_columns(repaid=pl.Series(y)).select("age", "income", "sex", "repaid", "job")
    header, *lines = frame.write_csv().encode().splitlines()
    for place, cell in SPOILT[name].items():
        lines[place] = lines[place].rpartition(b",")[0] + b"," + cell
    data, out = tmp_path / "loans.csv", tmp_path / "m.dpfair"
    data.write_bytes(b"\n".join([header, *lines]) + b"\n")
    assert _fit(tmp_path, data, out) == 0
    decisions = tmp_path / "decisions.csv"
    assert run(["predict", str(out), str(data), "--out", str(decisions)]) == 0
    assert pl.read_csv(decisions).height == 200


@pytest.mark.parametrize("seed", range(15))
def test_any_lines_can_be_fitted(seed, tmp_path):
    rng = random.Random(seed)
    names = rng.sample(["age", "income", "job", "sex", "repaid"], 5)
    data = tmp_path / "loans.csv"
    data.write_bytes(b"\n".join([",".join(names).encode(), *random_lines(rng)[0], b""]))
    code, seen = watch(lambda: _fit(tmp_path, data, tmp_path / "m.dpfair"))
    decent(seen)
    # A file whose labels or groups are all undeclared gives a model of no use.
    assert code == ("OF NO USE" in seen.text), seen.text


def _fit(folder, data, out, *more):
    schema = folder / "schema.toml"
    schema.write_text(Schema.from_dict(LOANS).to_toml())
    asked = ["--schema", str(schema), "--epsilon", "1", "--mode", "reuse", "--out", str(out)]
    return run(["fit", str(data), *asked, *more])
