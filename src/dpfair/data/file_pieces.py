"""Pieces of table files that can be read apart from each other, in any order and place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dpfair.data.containers import missing_column
from dpfair.data.file_form import FileForm
from dpfair.data.lines import line_ranges, lines_between
from dpfair.data.read import (
    PARQUET,
    check_readable,
    is_text_file,
    parquet_ranges,
    parquet_rows,
    read_rows,
)
from dpfair.data.table_files import TableFiles

if TYPE_CHECKING:
    import polars as pl

__all__ = ["FilePiece", "file_pieces"]


@dataclass(frozen=True)
class FilePiece:
    """Some rows of a file: a range of rows of Parquet or of bytes of text, None for all."""

    path: Path
    file: FileForm
    start: int | None = None
    stop: int = 0

    def read(self, names: Sequence[str]) -> pl.DataFrame:
        """The rows, with the columns of these names."""
        if self.start is None:
            frame = read_rows(self.path, self.file)
        elif self.path.suffix.lower() in PARQUET:
            frame = parquet_rows(self.path, names, self.start, self.stop)
        else:
            frame = lines_between(self.path, self.file, self.start, self.stop)
        for name in names:
            if name not in frame.columns:
                raise missing_column(name, frame.columns, f"The file {self.path}")
        return frame.select(names)


def file_pieces(files: TableFiles, columns: int) -> list[FilePiece]:
    """The pieces of all files, in the order of their rows, of which so many columns are read."""
    return [piece for path in files.paths for piece in _pieces_of(path, files, columns)]


def _pieces_of(path: Path, files: TableFiles, columns: int) -> list[FilePiece]:
    ranges = None
    if path.suffix.lower() in PARQUET:
        ranges = parquet_ranges(path, columns, files.cells)
    elif is_text_file(path):
        ranges = line_ranges(check_readable(path), files.form, files.size)
    if ranges is None:
        return [FilePiece(path, files.form)]
    return [FilePiece(path, files.form, *rows) for rows in ranges]
