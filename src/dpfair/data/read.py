"""Read a table from a file."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from dpfair.data.file_form import USUAL_FILE, FileForm
from dpfair.data.lines import read_lines
from dpfair.errors import InputError
from dpfair.files import reading

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "FILE_KINDS",
    "PARQUET",
    "check_readable",
    "is_text_file",
    "parquet_pieces",
    "parquet_ranges",
    "parquet_rows",
    "parquet_types",
    "read_rows",
    "read_table",
]

PARQUET = {".parquet", ".pq"}
_ARROW = {".arrow", ".ipc", ".feather"}
_EXCEL = {".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"}
# Files that are no text; to read them as lines would give nonsense.
_OTHERS = {
    *(".json", ".jsonl", ".zip", ".bz2", ".xz", ".zst", ".7z", ".tar", ".db", ".sqlite", ".pkl"),
    *(".dta", ".sav", ".por", ".sas7bdat", ".xpt", ".rds", ".rda", ".rdata", ".avro", ".orc"),
    *(".npy", ".npz", ".h5", ".hdf5", ".mat", ".pdf", ".numbers", ".arff"),
}
_FEWEST_ROWS = 1 << 10
# The most bytes that a safetensors file may state for its header.
_LONGEST_HEADER = 100_000_000

FILE_KINDS = "CSV (also .csv.gz), Parquet, Arrow/Feather or Excel"


def read_table(path: str | Path, file: FileForm = USUAL_FILE) -> pl.DataFrame:
    """Read a CSV file (every value as text, every line as one record), Parquet, Arrow or Excel.

    ``file`` has the facts of the schema about the form of CSV files. Of an Excel file the first
    sheet is read, every value as text.
    """
    frame = read_rows(path, file)
    if frame.height == 0:
        raise InputError(f"The file {path} has no rows.")
    return frame


def read_rows(path: str | Path, file: FileForm = USUAL_FILE) -> pl.DataFrame:
    """The same; a file of a larger table may have no rows."""
    import polars as pl

    path = check_readable(path)
    suffix = path.suffix.lower()
    try:
        if suffix in _EXCEL:
            return _as_written(_read_excel(path), file)
        if suffix in PARQUET:
            return pl.read_parquet(path)
        if suffix in _ARROW:
            return _read_arrow(path)
        return read_lines(path, file)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
        # Without its cause, which may quote a record.
        raise InputError(f"The file {path} is not a readable table.") from None


def check_readable(path: str | Path) -> Path:
    """The path of a file that may hold a table."""
    if not str(path):
        raise InputError(f"The name of the file is empty: name a file of {FILE_KINDS}.")
    path = Path(path)
    with reading(path):
        try:
            mode = os.stat(path).st_mode
        except PermissionError:
            raise
        except (OSError, ValueError):  # also a name that is too long, or that no file can have
            mode = 0
    if stat.S_ISDIR(mode):
        raise InputError(f"{path} is a directory: name a file of {FILE_KINDS}.")
    if not stat.S_ISREG(mode):
        raise InputError(f"There is no file {path}.")
    with reading(path):
        is_model = _is_model(path)
    if is_model:
        raise InputError(f"{path} is a model of dpfair, not a table.")
    if path.suffix.lower() in _OTHERS:
        raise InputError(f"Cannot read {path}: expected a file of {FILE_KINDS}; export the table.")
    return path


def parquet_pieces(path: Path, names: Sequence[str], cells: int) -> Iterator[pl.DataFrame]:
    """About so many cells of a Parquet file after the others; only of the named columns."""
    for start, stop in parquet_ranges(path, len(names), cells):
        yield parquet_rows(path, names, start, stop)


def parquet_ranges(path: Path, columns: int, cells: int) -> list[tuple[int, int]]:
    """Ranges of rows with about so many cells in so many columns; none without rows."""
    import polars as pl

    with _parquet(path) as table:
        height = table.select(pl.len()).collect().item()
    rows = max(cells // max(columns, 1), _FEWEST_ROWS)
    return [(at, min(at + rows, height)) for at in range(0, height, rows)]


def parquet_rows(path: Path, names: Sequence[str], start: int, stop: int) -> pl.DataFrame:
    """These rows of a Parquet file; only the named columns."""
    with _parquet(path) as table:
        return table.select(names).slice(start, stop - start).collect()


def parquet_types(path: Path) -> dict[str, pl.DataType]:
    """The names of the columns of a Parquet file, with their types."""
    with _parquet(path) as table:
        return dict(table.collect_schema())


@contextmanager
def _parquet(path: Path) -> Iterator[pl.LazyFrame]:
    import polars as pl

    try:
        yield pl.scan_parquet(check_readable(path), glob=False)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
        # Without its cause, which may quote a record.
        raise InputError(f"The file {path} is not a readable table.") from None


def is_text_file(path: str | Path) -> bool:
    """Whether a file is read line by line."""
    return Path(path).suffix.lower() not in PARQUET | _ARROW | _EXCEL | _OTHERS


def _is_model(path: Path) -> bool:
    """Whether the first entry of a safetensors file names dpfair's format.

    Such a file begins with the length of its header. The first bytes of a text of two columns are
    a larger number, so the answer depends on no record of it.
    """
    with path.open("rb") as file:
        start = file.read(64)
    length = int.from_bytes(start[:8], "little")
    return length <= _LONGEST_HEADER and start[8:9] == b"{" and b'"dpfair-model"' in start


def _read_arrow(path: Path) -> pl.DataFrame:
    import polars as pl

    content = path.read_bytes()
    try:
        return pl.read_ipc(content)
    except pl.exceptions.PolarsError:  # a stream has the same suffix as a file, but another form
        return pl.read_ipc_stream(content)


def _as_written(frame: pl.DataFrame, file: FileForm) -> pl.DataFrame:
    """Numbers of cells as the files of the schema write them, cell by cell.

    Excel stores numbers, not their text, which here always has a decimal point.
    """
    import polars as pl

    if file.decimal == ".":
        return frame
    number = r"^(-?[0-9]+)\.([0-9]+(?:[eE][+-]?[0-9]+)?)$"
    return frame.with_columns(pl.col(pl.String).str.replace(number, f"${{1}}{file.decimal}${{2}}"))


def _read_excel(path: Path) -> pl.DataFrame:
    """All cells of the first sheet as text: the type of a column would depend on all records."""
    import polars as pl

    try:
        return pl.read_excel(
            path,
            engine="calamine",
            infer_schema_length=0,
            drop_empty_cols=False,  # it would depend on all records
            raise_if_empty=False,
        )
    except ModuleNotFoundError:
        raise InputError(
            f"Reading {path} needs an additional package: pip install 'dpfair[excel]', or save "
            "the table as CSV."
        ) from None
    except pl.exceptions.PolarsError:
        raise
    except Exception:  # of the reader, whose messages may quote a cell
        raise InputError(f"The file {path} is not a readable Excel file.") from None
