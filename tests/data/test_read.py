"""Tables from CSV and Parquet files."""

import datetime as dt
import gzip
import sys

import polars as pl
import pytest
from sample_containers import AS_TEXT, COLUMNS, EXPECTED, records, same
from sample_tables import LOANS, make_loans

from dpfair import PrivateLogisticRegression, Schema, load_model, save_model
from dpfair.data.file_form import FileForm
from dpfair.data.numbers import numbers
from dpfair.data.read import read_table
from dpfair.errors import InputError


def test_a_byte_that_is_not_text_spoils_its_value_only(tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes(b"age,job\n1,a\xff\n2,b\n")
    assert read_table(path)["age"].to_list() == ["1", "2"]


def test_files(tmp_path):
    csv, parquet = tmp_path / "t.csv", tmp_path / "t.parquet"
    pl.DataFrame(AS_TEXT).write_csv(csv)
    pl.DataFrame(COLUMNS).write_parquet(parquet)
    assert same(records(read_table(csv)), EXPECTED)
    assert same(records(read_table(str(parquet))), EXPECTED)
    assert set(read_table(csv).dtypes) == {pl.String}
    for name, content in (("empty.csv", b""), ("header.csv", b"a,b\n"), ("bad.parquet", b"PAR1")):
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(InputError, match=name):
            read_table(path)
    with pytest.raises(InputError, match="no file"):
        read_table(tmp_path / "missing.csv")


def test_arrow_files_and_streams(tmp_path):
    frame = pl.DataFrame(COLUMNS)
    for name in ("t.arrow", "t.ipc", "t.feather"):
        frame.write_ipc(tmp_path / name)
        assert same(records(read_table(tmp_path / name)), EXPECTED)
    frame.write_ipc_stream(tmp_path / "s.arrow")
    assert same(records(read_table(tmp_path / "s.arrow")), EXPECTED)


def test_compressed_csv_files(tmp_path):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(pl.DataFrame(AS_TEXT).write_csv(separator=";").encode()))
    assert same(records(read_table(path)), EXPECTED)
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(InputError, match="not a readable gzip file"):
        read_table(path)


def test_excel_files_are_read_as_text(tmp_path):
    path = tmp_path / "t.xlsx"
    days = [dt.date(2020, 2, 29)] * 4
    pl.DataFrame(COLUMNS).with_columns(pl.Series("day", days)).write_excel(path)
    frame = read_table(path)
    assert set(frame.dtypes) == {pl.String}
    assert same(records(frame), EXPECTED)
    assert frame["day"][0].startswith("2020-02-29")
    path.write_bytes(b"PK no workbook")
    with pytest.raises(InputError, match="not a readable Excel file"):
        read_table(path)


def test_numbers_of_excel_have_the_decimal_mark_of_the_schema(tmp_path):
    path = tmp_path / "t.xlsx"
    pl.DataFrame({"a": [0.5, -12.25, 3.0], "b": ["x.5", "1,5", "12.05.2020"]}).write_excel(path)
    frame = read_table(path, FileForm(decimal=","))
    assert frame["b"].to_list() == ["x.5", "1,5", "12.05.2020"]
    assert numbers(frame["a"], FileForm(decimal=",")).tolist() == [0.5, -12.25, 3]


def test_excel_without_its_package_says_what_to_install(tmp_path, monkeypatch):
    path = tmp_path / "t.xlsx"
    pl.DataFrame(COLUMNS).write_excel(path)
    monkeypatch.setitem(sys.modules, "fastexcel", None)
    with pytest.raises(InputError, match=r"pip install 'dpfair\[excel\]'"):
        read_table(path)


@pytest.mark.parametrize("name", ["t.sav", "t.json", "t.RDS", "t.zip"])
def test_other_files_are_refused_with_what_can_be_read(name, tmp_path):
    (tmp_path / name).write_bytes(b"a,b\n1,2\n")
    with pytest.raises(InputError, match=r"CSV .*Parquet.*export the table"):
        read_table(tmp_path / name)


def test_the_encoding_of_a_file_is_a_fact(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("größe;a\nä;1\n".encode("cp1252"))
    assert read_table(path, FileForm(encoding="cp1252")).to_dicts() == [{"größe": "ä", "a": "1"}]
    path.write_bytes("größe;a\nä;1\n".encode("utf-16"))
    assert read_table(path).to_dicts() == [{"größe": "ä", "a": "1"}]


def test_what_is_no_table_is_called_by_its_name(tmp_path):
    with pytest.raises(InputError, match="is a directory: name a file"):
        read_table(tmp_path)
    X, y = make_loans(300)
    model = PrivateLogisticRegression(1, schema=Schema.from_dict(LOANS), steps=5).fit(X, y)
    save_model(model, tmp_path / "m.dpfair")
    with pytest.raises(InputError, match="is a model of dpfair, not a table"):
        read_table(tmp_path / "m.dpfair")
    with pytest.raises(InputError, match="is a directory: name a model file"):
        load_model(tmp_path)


@pytest.mark.parametrize("kind", ["csv", "csv.gz"])
def test_no_record_makes_a_table_a_model(kind, tmp_path):
    """Whatever the first cell is: the name of the format at the place where a model has it."""
    path, write = tmp_path / f"t.{kind}", gzip.compress if kind == "csv.gz" else bytes
    for header, start in (("age,sex", ""), ("a,b", "\0\0\0\0"), ("a,b", "    ")):
        path.write_bytes(write(f'{header}\n{start}{{"dpfair-model",1\n'.encode()))
        assert read_table(path).height == 1
