"""A folder with a table, a schema and models of it."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from cli.fitting import fit_options
from sample_tables import LOANS, make_loans

from dpfair import Schema, cli


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A CSV file, a Parquet file, a schema and a model."""
    path = tmp_path_factory.mktemp("cli")
    X, y = make_loans(2000)
    frame = X.with_columns(repaid=pl.Series(y), person=pl.Series(np.arange(2000) // 2))
    frame.write_csv(path / "loans.csv")
    frame.write_parquet(path / "loans.parquet")
    (path / "schema.toml").write_text(Schema.from_dict(LOANS).to_toml())
    for name, options in {
        "m": [],
        "odds": ["--notion", "equalized_odds", "--tolerance", "0.02"],
        "paper": ["--method", "algorithm2"],
        "plain": ["--method", "logistic"],
    }.items():
        out = ["--out", str(path / f"{name}.dpfair"), "--seed", "1"]
        assert cli.run(["fit", *fit_options(path), *out, *options]) == 0
    return path
