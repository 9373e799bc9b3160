"""A file of another kind is named as what it is, not as a broken model."""

from __future__ import annotations

import polars as pl
import pytest
from sample_tables import LOANS, make_loans

from dpfair import LedgerFile, Schema, load_model
from dpfair.errors import ModelFileError


def a_ledger(path):
    LedgerFile.create(path, 1, 1e-5).close()


FILES = {
    "table.csv": (lambda path: make_loans(20)[0].write_csv(path), "a CSV table"),
    "table.txt": (lambda path: make_loans(20)[0].write_csv(path), "a CSV table"),
    "table.parquet": (lambda path: make_loans(20)[0].write_parquet(path), "a Parquet table"),
    "loans.toml": (
        lambda path: path.write_text(Schema.from_dict(LOANS).to_toml()),
        "a schema file",
    ),
    "loans.json": (lambda path: path.write_text('{"label": 1}'), "JSON text"),
    "loans.ledger": (a_ledger, "a ledger file"),
    "report.html": (lambda path: path.write_text("<!doctype html><html></html>"), "an HTML"),
    "model.pkl": (
        lambda path: path.write_bytes(b"\x80\x04\x95" + bytes(20)),
        "a saved Python object",
    ),
    "model.pt": (lambda path: path.write_bytes(b"PK\x03\x04" + bytes(20)), "a zip archive"),
    "notes": (lambda path: path.write_text("Nothing in particular.\n"), "plain text"),
    "picture": (lambda path: path.write_bytes(b"\x89PNG\r\n" + bytes(20)), "binary data"),
    "nothing": (lambda path: path.write_bytes(b""), "an empty file"),
}


@pytest.mark.parametrize("name", FILES)
def test_another_file_is_named_as_what_it_is(name, tmp_path):
    write, phrase = FILES[name]
    write(tmp_path / name)
    with pytest.raises(ModelFileError, match=f"is not a model file: it looks like {phrase}"):
        load_model(tmp_path / name)


def test_no_cell_of_a_table_is_repeated(tmp_path):
    pl.DataFrame({"secret": ["Miller"] * 3, "b": [1, 2, 3]}).write_csv(tmp_path / "m.dpfair")
    with pytest.raises(ModelFileError) as caught:
        load_model(tmp_path / "m.dpfair")
    assert "Miller" not in str(caught.value)
    assert "secret" not in str(caught.value)
