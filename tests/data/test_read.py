"""Tables from CSV and Parquet files."""

import polars as pl
import pytest
from sample_containers import AS_TEXT, COLUMNS, EXPECTED, records, same

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
    with pytest.raises(InputError, match="no file"):
        read_table(tmp_path)
