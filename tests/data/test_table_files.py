"""Files that are read some rows at a time have the rows of the same files read whole."""

from __future__ import annotations

import gzip

import polars as pl
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from dpfair import InputError, TableFiles
from dpfair.data import read, table_files
from dpfair.data.file_form import FileForm
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
