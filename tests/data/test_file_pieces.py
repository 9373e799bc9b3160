"""Pieces of files: together they have the rows of the files, wherever they are cut."""

from __future__ import annotations

import gzip

import numpy as np
import polars as pl
import pytest

from dpfair import InputError, TableFiles
from dpfair.data.file_form import FileForm
from dpfair.data.file_pieces import file_pieces
from dpfair.data.lines import line_ranges, lines_between, read_lines
from dpfair.data.read import parquet_ranges, parquet_rows
from dpfair.errors import SchemaError

MARKS = [b"1", b",", b'"', b"\n", b"\n", b"\r", b" ", b"\xff", "é".encode(), b"\xef\xbb\xbf", b"\0"]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_ranges_of_bytes_have_the_lines_of_the_file(seed, encoding, tmp_path):
    path, file, rng = (
        tmp_path / "table.csv",
        FileForm(encoding=encoding),
        np.random.default_rng(seed),
    )
    for header in (b"a,b\n", b"\xef\xbb\xbfa,b\r\n", b'"a","b"\n'):
        lines = b"".join(rng.choice(np.array(MARKS, dtype=object), 80).tolist())
        path.write_bytes(header + lines)
        whole = read_lines(path, file)
        for size in (1, 2, 3, 7, 50, 1000):
            ranges = line_ranges(path, file, size)
            assert ranges[0][0] == len(header)
            pieces = [lines_between(path, file, *each) for each in ranges]
            assert pl.concat(pieces).rows() == whole.rows()


def test_a_piece_within_a_long_line_has_no_rows(tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes(b"a,b\n" + b"x" * 30 + b",1\n2,3")
    pieces = [lines_between(path, FileForm(), *r) for r in line_ranges(path, FileForm(), 10)]
    assert [piece.rows() for piece in pieces] == [[("x" * 30, "1")], [], [], [("2", "3")]]
    assert all(piece.columns == ["a", "b"] for piece in pieces)


def test_a_file_without_rows_has_no_pieces(tmp_path):
    path = tmp_path / "table.csv"
    for content in (b"a,b\n", b"a,b"):
        path.write_bytes(content)
        assert line_ranges(path, FileForm(), 10) == []


def test_what_cannot_be_cut_is_read_whole(tmp_path):
    wide, packed = tmp_path / "wide.csv", tmp_path / "packed.csv.gz"
    wide.write_bytes("a,b\n1,2\n3,4".encode("utf-16"))
    packed.write_bytes(gzip.compress(b"a,b\n1,2\n3,4"))
    arrow = tmp_path / "table.arrow"
    pl.DataFrame({"a": ["1", "3"], "b": ["2", "4"]}).write_ipc(arrow)
    for path in (wide, packed, arrow):
        [piece] = file_pieces(TableFiles((path,), memory=1), 2)
        assert piece.read(["b", "a"]).rows() == [("2", "1"), ("4", "3")]


def test_a_file_that_was_changed_is_refused(tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes("a,b\n1,2\n".encode("utf-16"))
    with pytest.raises(InputError, match="was changed"):
        lines_between(path, FileForm(), 4, 8)


def test_ranges_of_rows_of_parquet(tmp_path):
    path, frame = tmp_path / "table.parquet", pl.DataFrame({"a": range(2500), "b": range(2500)})
    frame.write_parquet(path)
    ranges = parquet_ranges(path, 2, cells=2 * 1100)
    assert ranges == [(0, 1100), (1100, 2200), (2200, 2500)]
    assert pl.concat([parquet_rows(path, ["b"], *r) for r in ranges]).equals(frame.select("b"))


def test_pieces_are_in_the_order_of_the_files(tmp_path):
    for number in range(2):
        pl.DataFrame({"a": [number]}).write_parquet(tmp_path / f"{number}.parquet")
        pl.DataFrame({"a": [number]}).write_csv(tmp_path / f"{number}.csv")
    pieces = file_pieces(TableFiles.named(tmp_path), 1)
    assert [piece.path.name for piece in pieces] == ["0.csv", "0.parquet", "1.csv", "1.parquet"]


def test_a_missing_column_is_named(tmp_path):
    path = tmp_path / "table.arrow"
    pl.DataFrame({"a": [1]}).write_ipc(path)
    [piece] = file_pieces(TableFiles((path,)), 1)
    with pytest.raises(SchemaError, match="'b'"):
        piece.read(["b"])
