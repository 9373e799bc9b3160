"""Read a table from a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dpfair.data.lines import read_lines
from dpfair.errors import InputError

if TYPE_CHECKING:
    import polars as pl

__all__ = ["read_table"]


def read_table(path: str | Path) -> pl.DataFrame:
    """Read a CSV file (every value as text, every line as one record) or Parquet."""
    import polars as pl

    path = Path(path)
    if not path.is_file():
        raise InputError(f"There is no file {path}.")
    try:
        if path.suffix.lower() not in {".parquet", ".pq"}:
            return read_lines(path)
        frame = pl.read_parquet(path)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
        # Without its cause, which may quote a record.
        raise InputError(f"The file {path} is not a readable table.") from None
    if frame.height == 0:
        raise InputError(f"The file {path} has no rows.")
    return frame
