"""CSV files: one line is one record, and no line changes the record of another."""

from __future__ import annotations

import csv

import polars as pl
import pytest

from dpfair import InputError
from dpfair.data import lines
from dpfair.data.file_form import FileForm
from dpfair.data.lines import count_lines, line_widths
from dpfair.data.read import read_table

SECRET = "Xq7secret"


def rows(path, content):
    path = path / "table.csv"
    path.write_bytes(content)
    return read_table(path).rows()


@pytest.mark.parametrize(
    ("line", "cells"),
    [
        (b"", (None, None)),
        (b"\r", (None, None)),
        (b" ", (" ", None)),
        (b"1", ("1", None)),
        (b"1,2,3", ("1", "2")),
        (b",", (None, None)),
        (b'"a, b",2', ("a, b", "2")),
        (b'"say ""x""",""', ('say "x"', "")),
        (b'"1","2"\r', ("1", "2")),
        (b'"1,2', (None, "2")),
        (b'1,"', ("1", None)),
        (b'"1"x,2', (None, "2")),
        (b'5" disk,2', (None, "2")),
        (b'1, "2, 3"', ("1", None)),
        (b'"a,b,"c"', (None, "b")),
        (b"a\rb,2\r\r", ("a\rb", "2\r")),
        (b"\0,2", ("\0", "2")),
        (b"\xff,\xe2\x80", ("\ufffd", "\ufffd")),
        ("\u2028,\u0085\x0b\x0c\x1c".encode(), ("\u2028", "\u0085\x0b\x0c\x1c")),
        (b"\xef\xbb\xbf1,2", ("\ufeff1", "2")),
        (b"#1,null", ("#1", "null")),
    ],
)
def test_a_line_is_one_record_whatever_it_contains(line, cells, tmp_path):
    first, last = ("first", 'a "quote"'), ("last", None)
    around = [b'first,"a ""quote"""', line, b"last,"]
    assert rows(tmp_path, b"a,b\n" + b"\n".join(around)) == [first, cells, last]
    assert rows(tmp_path, b"a,b\r\n" + b"\n".join(around) + b"\n") == [first, cells, last]
    assert rows(tmp_path, b"a,b\nfirst,1\n" + line + b"\nlast,\n") == [("first", "1"), cells, last]
    if line:
        assert rows(tmp_path, b"a,b\nfirst,1\n" + line) == [("first", "1"), cells]


@pytest.mark.parametrize(
    ("content", "count"),
    [(b"", 0), (b"\n", 1), (b"a", 1), (b"a\n", 1), (b"a\n\n", 2), (b"\n\na", 3), (b"a\rb\r", 1)],
)
def test_a_newline_at_the_end_starts_no_line(content, count, tmp_path):
    assert count_lines(content) == count
    if count:
        assert len(rows(tmp_path, b"c\n" + content)) == count


@pytest.mark.parametrize("pieces", [(1 << 20, 1 << 15), (40, 10), (1, 1)])
def test_pieces_do_not_matter(pieces, tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "_PIECES", pieces)
    many = [b"%d,x" % i for i in range(50)]
    many[7], many[20], many[33] = b'"7,x', b'20,"a,b"', b'"33","'
    expected = [(str(i), "x") for i in range(50)]
    expected[7], expected[20], expected[33] = (None, "x"), ("20", "a,b"), ("33", None)
    assert rows(tmp_path, b"a,b\n" + b"\n".join(many)) == expected


@pytest.mark.parametrize(
    "header", [b'"a, b","say ""x"""', b'\xef\xbb\xbf"a, b","say ""x"""', b'"a, b","say ""x"""\r']
)
def test_names_may_be_quoted(header, tmp_path):
    (tmp_path / "t.csv").write_bytes(header + b"\n1,2\n")
    assert read_table(tmp_path / "t.csv").to_dicts() == [{"a, b": "1", 'say "x"': "2"}]


def test_columns_without_a_name_are_numbered(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"a,,b,\n1,2,3,4\n")
    names = ["a", "", "b", "_duplicated_0"]
    assert read_table(tmp_path / "t.csv").to_dicts() == [dict(zip(names, "1234", strict=True))]


@pytest.mark.parametrize("header", [b"", b"\r", b'"a', b'a"b,c', b'"a"b,c', b"a\rb,c"])
def test_a_header_that_is_none_is_refused(header, tmp_path):
    with pytest.raises(InputError, match="is not the header") as caught:
        rows(tmp_path, header + b"\n" + SECRET.encode() + b',2\n"3,4\n')
    assert SECRET not in str(caught.value)


def test_large_files_agree_with_the_csv_module(tmp_path):
    """So large that they are read in parts."""
    frame = pl.DataFrame(
        {
            "number": [str(i) for i in range(60_000)],
            "word": ["a, b", 'say "x"', "plain", ""] * 15_000,
            "long": ["x" * (i % 90) for i in range(60_000)],
        }
    )
    path = tmp_path / "t.csv"
    for style in ("necessary", "always", "non_numeric"):
        frame.write_csv(path, quote_style=style)
        with path.open(newline="") as file:
            usual = list(csv.reader(file))[1:]
        ours = read_table(path).with_columns(pl.all().fill_null("")).rows()
        assert ours == list(map(tuple, usual))


def test_a_reader_that_loses_lines_is_noticed(tmp_path, monkeypatch):
    real = pl.read_csv
    monkeypatch.setattr(pl, "read_csv", lambda *given, **how: real(*given, **how)[1:])
    with pytest.raises(InputError, match="not a readable table"):
        rows(tmp_path, b"a\n1\n2\n")


@pytest.mark.parametrize("mark", [";", "\t", "|", ":", "^", " ", "~", "#"])
def test_other_delimiters(mark, tmp_path):
    """Found in the header if they are usual, else stated; a comma is then text."""
    file = FileForm(delimiter=mark) if mark in ":^ ~#" else FileForm()
    path = tmp_path / "t.csv"
    lines = ["a@b", '"x@y"@1,5', '2"@3', '"@4', "5", "6@7@8", ""]
    path.write_bytes("\n".join(lines).replace("@", mark).encode())
    expected = [(f"x{mark}y", "1,5"), (None, "3"), (None, "4"), ("5", None), ("6", "7")]
    frame = read_table(path, file)
    assert frame.columns == ["a", "b"]
    assert frame.rows() == expected


def test_the_delimiter_does_not_depend_on_records(tmp_path):
    header = b"a,b\n"
    for line in (b"1;2;3;4;5", b"1|2", b"1\t2"):
        assert rows(tmp_path, header + b"1,2\n" + line * 50)[0] == ("1", "2")


def test_a_stated_delimiter_wins(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"a;b;c,d\n1;2;3,4\n")
    assert read_table(path).columns == ["a", "b", "c,d"]
    assert read_table(path, FileForm(delimiter=",")).rows() == [("1;2;3", "4")]


def test_widths_of_lines(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b'a;b\n1;2\n1\n"1;1";2;3\n\n"1;2')
    assert line_widths(path) == (2, [2, 1, 3, 1, 2])
