"""Files that are read some rows at a time have the rows of the same files read whole."""

from __future__ import annotations

import errno
import gzip
import os
import re
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from dpfair import InputError, TableFiles
from dpfair.data import read, table_files
from dpfair.data.file_form import FileForm
from dpfair.data.file_pieces import file_pieces
from dpfair.data.lines import header_names, line_pieces, read_lines
from dpfair.data.read import read_table

MARK = b"\xef\xbb\xbf"
odd = st.lists(
    st.sampled_from([b"a", b"1", b",", b'"', b"\r", b"\n", b"\r\n", b"\0", b"\xff", b"\xe9", MARK])
).map(b"".join)

quick = settings(
    max_examples=200,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@quick
@given(odd, st.booleans(), st.sampled_from(["utf-8", "cp1252"]), st.integers(1, 30))
@example(b'"a,\nb"\n', False, "utf-8", 4)
@example(MARK + b"1,2\n" + MARK + b"1,2", True, "utf-8", 1)
def test_pieces_of_odd_lines_are_those_of_the_whole_file(tmp_path, body, marked, encoding, size):
    path, file = tmp_path / "t.csv", FileForm(encoding=encoding)
    path.write_bytes(MARK * (marked and encoding == "utf-8") + b"x,y\n" + body)
    pieces = [*line_pieces(path, file, size)]
    if not body:
        assert not pieces
        return
    whole = read_lines(path, file)
    assert pl.concat(pieces).equals(whole)
    assert header_names(path, file) == whole.columns
    assert len(pieces) > 1 or len(body) <= size + max(map(len, body.split(b"\n")))


@pytest.mark.parametrize("form", ["utf-8", "utf-16", "utf-16-le", "gz"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("last", [True, False])
def test_forms_of_files(form, end, last, tmp_path):
    lines = ["x;y", *(f'{i};"a;{i}"' for i in range(50)), "é;" + "long" * 100]
    text = end.join(lines) + end * last
    path, file = tmp_path / "t.csv", FileForm()
    if form == "gz":
        path = tmp_path / "t.csv.gz"
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_bytes(text.encode(form))
        file = FileForm(encoding=form)
    pieces = [*line_pieces(path, file, 20)]
    assert pl.concat(pieces).equals(read_lines(path, file))
    assert pieces[0].height < 50 or form.startswith("utf-16")
    assert header_names(path, file) == ["x", "y"]


@pytest.fixture
def tiny(monkeypatch):
    """Pieces may have one row."""
    monkeypatch.setattr(read, "_FEWEST_ROWS", 1)
    monkeypatch.setattr(table_files, "_FEWEST_BYTES", 1)


def write(frame, path):
    {
        ".csv": frame.write_csv,
        ".parquet": frame.write_parquet,
        ".arrow": frame.write_ipc,
        ".feather": frame.write_ipc_stream,
    }[path.suffix](path)


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow", "feather"])
@settings(quick, max_examples=40)
@given(
    st.lists(st.tuples(st.integers(-9, 9) | st.none(), st.text(max_size=3)), min_size=1),
    st.integers(1, 2000),
    st.integers(1, 4),
)
def test_rows_are_those_of_the_files(tmp_path, tiny, kind, rows, memory, count):
    whole = pl.DataFrame(rows, schema={"n": pl.Int64, "t": pl.String}, orient="row")
    for old in tmp_path.iterdir():
        old.unlink()
    size = -(-len(rows) // count)
    for i in range(0, len(rows), size):
        write(whole[i : i + size], tmp_path / f"{i:04}.{kind}")
    files = TableFiles.named(tmp_path, memory=memory)
    frames = [*files.frames(["t", "n"])]
    wanted = pl.concat([read_table(path) for path in files.paths]).select("t", "n")
    assert pl.concat(frames).equals(wanted)
    if kind != "csv":
        assert max(frame.height for frame in frames) <= max(memory // table_files._CELL // 2, 1)


def test_a_name_with_marks_of_a_pattern_is_a_file(tmp_path):
    frame = pl.DataFrame({"a": [1, 2]})
    for name in ("t[1].parquet", "t1.parquet"):
        frame.write_parquet(tmp_path / name)
        frame += 10
    [found] = TableFiles.named(tmp_path / "t[1].parquet").frames(["a"])
    assert found["a"].to_list() == [1, 2]
    [found] = TableFiles.named(tmp_path / "t[1-9].parquet").frames(["a"])
    assert found["a"].to_list() == [11, 12]


def test_files_of_a_directory_or_pattern_are_in_order_and_once(tmp_path):
    for name in ("b.csv", "a.parquet", "c/d.csv"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        write(pl.DataFrame({"a": [1]}), path)
    for name in (".a.csv", "_SUCCESS", "notes.txt"):
        (tmp_path / name).touch()
    named = TableFiles.named(tmp_path).paths
    assert [path.name for path in named] == ["a.parquet", "b.csv"]
    everywhere = TableFiles.named(tmp_path / "**" / "**" / "*.csv").paths
    assert [path.name for path in everywhere] == ["b.csv", "d.csv"]


def test_a_missing_column_is_noticed_before_any_row(tmp_path):
    write(pl.DataFrame({"a": [1], "b": [2]}), tmp_path / "1.csv")
    for name in ("2.csv", "2.parquet"):
        write(pl.DataFrame({"A": [1], "b": [2]}), tmp_path / name)
        with pytest.raises(InputError, match=rf"{name} has no column 'a'; it has A, b. Did you me"):
            TableFiles.named(tmp_path).check(["a", "b"])
        with pytest.raises(InputError, match=name):
            next(TableFiles.named(tmp_path).frames(["b", "a"]))
        (tmp_path / name).unlink()
    write(pl.DataFrame({"b": [2]}), tmp_path / "2.arrow")
    with pytest.raises(InputError, match=r"2\.arrow has no column 'a'"):
        [*TableFiles.named(tmp_path).frames(["a"])]


def test_files_without_rows_add_none(tmp_path):
    empty = pl.DataFrame(schema={"a": pl.Int64})
    for name in ("1.csv", "2.parquet"):
        write(empty, tmp_path / name)
    with pytest.raises(InputError, match="Each of the files has no rows"):
        [*TableFiles.named(tmp_path).frames(["a"])]
    with pytest.raises(InputError, match=r"The file .*1\.csv has no rows"):
        [*TableFiles.named(tmp_path / "1.csv").frames(["a"])]
    write(pl.DataFrame({"a": [5]}), tmp_path / "3.parquet")
    assert [frame["a"].to_list() for frame in TableFiles.named(tmp_path).frames(["a"])] == [[5]]


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "utf-16.csv", "parquet", "arrow", "feather"])
@pytest.mark.parametrize("last", ["\n", ""])
def test_a_file_of_any_kind_may_have_no_rows_but_not_the_table(kind, last, tmp_path):
    """Or else whether there is an error would depend on the only record of a file."""
    path, full = tmp_path / f"1.{kind}", tmp_path / "2.parquet"
    if path.suffix in (".parquet", ".arrow", ".feather"):
        write(pl.DataFrame(schema={"a": pl.Int64, "b": pl.Int64}), path)
    else:
        text = f"a,b{last}".encode("utf-16" if "utf" in kind else "utf-8")
        path.write_bytes(gzip.compress(text) if kind == "csv.gz" else text)
    write(pl.DataFrame({"a": [5], "b": [6]}), full)
    alone, both = TableFiles((path,)), TableFiles((path, full))
    [frame] = both.frames(["b"])
    assert frame["b"].to_list() == [6]
    assert [row for piece in file_pieces(both, 1) for row in piece.read(["b"]).rows()] == [(6,)]
    assert both.columns == ["a", "b"]
    for refuse in (lambda: [*alone.frames(["b"])], lambda: read_table(path)):
        with pytest.raises(InputError, match=r"The file .* has no rows"):
            refuse()
    assert not any(piece.read(["b"]).height for piece in file_pieces(alone, 1))
    with pytest.raises(InputError, match="no column 'c'"):
        [*alone.frames(["c"])]


@pytest.mark.parametrize("name", ["", 5, None])
def test_what_names_no_table_is_refused(name, tmp_path, monkeypatch):
    write(pl.DataFrame({"a": [1]}), tmp_path / "1.csv")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"name of the table is empty|Expected the name of a file"):
        TableFiles.named(name)
    assert len(TableFiles.named(".").paths) == 1


@pytest.mark.parametrize("link", ["symlink_to", "hardlink_to"])
@pytest.mark.skipif(os.name == "nt", reason="links need a privilege")
def test_a_file_under_two_names_is_refused(link, tmp_path):
    write(pl.DataFrame({"a": [1]}), tmp_path / "2025.parquet")
    getattr(tmp_path / "latest.parquet", link)(tmp_path / "2025.parquet")
    for name in (tmp_path, tmp_path / "*.parquet"):
        with pytest.raises(InputError, match=r"2025.* and .*latest.* are one file"):
            TableFiles.named(name)
    path = tmp_path / "2025.parquet"
    with pytest.raises(InputError, match="are one file"):
        TableFiles((path, path))


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege")
def test_a_link_that_leads_nowhere_is_refused(tmp_path):
    write(pl.DataFrame({"a": [1]}), tmp_path / "1.csv")
    (tmp_path / "2.csv").symlink_to(tmp_path / "gone.csv")
    (tmp_path / "folder.csv").mkdir()
    for name in (tmp_path, tmp_path / "[0-9].csv"):
        with pytest.raises(InputError, match=r"There is no file .*2\.csv"):
            TableFiles.named(name).check(["a"])


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet", "arrow"])
def test_what_may_not_be_read_is_named_with_the_reason(kind, tmp_path):
    path, folder = tmp_path / f"t.{kind}", tmp_path / "folder"
    path.touch()
    folder.mkdir()
    (folder / "t.csv").write_text("a\n1\n")
    for closed, name in ((path, path), (folder, folder), (folder, folder / "t.csv")):
        closed.chmod(0)
        try:
            if os.access(closed, os.R_OK):
                pytest.skip("this user may read everything")
            with pytest.raises(
                InputError, match=re.escape(f"{name} cannot be read: Permission denied")
            ):
                [*TableFiles.named(name).frames(["a"])]
            if name != folder:
                with pytest.raises(
                    InputError, match=re.escape(f"{name} cannot be read: Permission denied")
                ):
                    read_table(name)
        finally:
            closed.chmod(0o700)


def test_an_error_while_reading_is_one_of_the_file(tmp_path, monkeypatch):
    """As a disk or a network makes it, whatever the file holds."""

    def fails(path, *given, **how):
        raise OSError(errno.EIO, "Input/output error")

    (tmp_path / "t.csv").write_text("a\n1\n")
    for target, name, place in (
        (Path, "open", tmp_path / "t.csv"),
        (Path, "iterdir", tmp_path),
    ):
        with monkeypatch.context() as patched:
            patched.setattr(target, name, fails)
            with pytest.raises(
                InputError, match=re.escape(f"{place} cannot be read: Input/output error")
            ):
                [*TableFiles.named(place).frames(["a"])]


def test_a_name_that_is_too_long_is_no_file():
    with pytest.raises(InputError, match="There is no file xx"):
        TableFiles.named("x" * 300).check(["a"])


@pytest.mark.parametrize("memory", ["1GB", None, True, 0, 1.5, float("nan")])
def test_a_memory_that_is_no_number_of_bytes_is_refused(memory, tmp_path):
    with pytest.raises(InputError, match="Expected memory to be"):
        TableFiles.named(tmp_path / "t.csv", memory=memory)
    assert TableFiles.named(tmp_path / "t.csv", memory=2e9).memory == 2 * 10**9
