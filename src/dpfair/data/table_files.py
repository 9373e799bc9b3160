"""Tables in one file or several, read some rows at a time."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpfair import validate
from dpfair.data.file_form import USUAL_FILE, FileForm
from dpfair.data.lines import header_names, line_pieces
from dpfair.data.read import (
    PARQUET,
    check_readable,
    is_text_file,
    parquet_pieces,
    parquet_types,
    read_rows,
)
from dpfair.data.schema import Schema
from dpfair.errors import InputError
from dpfair.files import reading

if TYPE_CHECKING:
    import polars as pl

__all__ = ["MEMORY", "TableFiles", "is_table", "other_files"]

MEMORY = 1 << 29
"""How many bytes the rows that are looked at together may take, unless it is stated."""

# What a cell takes while it is read and encoded; and how many times a CSV file grows by that.
_CELL, _GROWTH = 32, 8

_FEWEST_BYTES = 1 << 16

_READABLE = (".csv", ".csv.gz", ".parquet", ".pq", ".arrow", ".feather", ".ipc")
_LISTED = f"{', '.join(_READABLE[:-1])} or {_READABLE[-1]}"


@dataclass(frozen=True)
class TableFiles:
    """The rows of some files, in their order: a table that need not fit into memory.

    ``fit`` takes it instead of a table, and reads the labels from the column that the schema names.

    Parameters
    ----------
    paths
        The files: CSV, Parquet or Arrow, with the same columns.
    file
        The form of CSV files; None for that of the schema which they are read by.
    memory
        About how many bytes the rows may take that are looked at together.

    Examples
    --------
    >>> import tempfile
    >>> from dpfair import load_adult
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = Path(folder.name) / "adult.parquet"
    >>> load_adult().X[:3000].write_parquet(path)
    >>> files = TableFiles.named(folder.name, memory=1 << 16)
    >>> [frame.height for frame in files.frames(["age", "sex"])]
    [1024, 1024, 952]
    """

    paths: tuple[Path, ...]
    file: FileForm | None = None
    memory: int = MEMORY

    def __post_init__(self) -> None:
        if isinstance(self.memory, bool) or not isinstance(self.memory, Real):
            raise InputError(f"Expected memory to be a number of bytes, got {self.memory!r}.")
        validate.at_least(1, memory=self.memory)
        object.__setattr__(self, "memory", int(self.memory))
        if isinstance(self.paths, (str, Path)) or not isinstance(self.paths, Iterable):
            raise InputError("Expected several paths; TableFiles.named takes one name.")
        object.__setattr__(self, "paths", tuple(map(Path, self.paths)))
        if not self.paths:
            raise InputError("Expected the path of a file.")
        _check_distinct(self.paths)

    def read_by(self, schema: Schema) -> TableFiles:
        """The same files, in the form that a schema states unless it was given."""
        return replace(self, file=schema.file) if self.file is None else self

    @property
    def form(self) -> FileForm:
        """The form of CSV files."""
        return USUAL_FILE if self.file is None else self.file

    @classmethod
    def named(cls, name: str | Path, **how: Any) -> TableFiles:
        """The files that a path, a pattern or a directory names, in alphabetical order.

        Of a directory these are the files whose names end like those of tables, but neither those
        of its directories nor hidden ones. A link that leads nowhere is refused when it is read.
        """
        if not isinstance(name, (str, os.PathLike)):
            raise InputError(f"Expected the name of a file, directory or pattern, got {name!r}.")
        if not str(name):  # Path("") is the current directory
            raise InputError("The name of the table is empty: name a file, directory or pattern.")
        # Path.is_dir and Path.exists raise errors for a name that is too long.
        path, found = Path(name), list[Path]()
        if os.path.isdir(path):
            with reading(path):
                found = [f for f in path.iterdir() if is_table(f)]
            if not found:
                raise InputError(f"The directory {name} has no file that ends in {_LISTED}.")
        elif os.path.exists(path) or not glob.has_magic(str(name)):
            found = [path]
        else:
            found = [Path(match) for match in glob.glob(str(name), recursive=True)]
            if not found:
                raise InputError(f"No file has a name of the pattern {name}.")
        return cls(tuple(sorted(set(found))), **how)

    @property
    def columns(self) -> list[str]:
        """The names of the columns of the first file."""
        path = self.paths[0]
        found = self._columns_of(path)
        return read_rows(path, self.form).columns if found is None else found

    def check(self, names: Iterable[str]) -> None:
        """Raise ``InputError`` for a file that lacks one of these columns; reads no record."""
        for path in self.paths:
            if (found := self._columns_of(path)) is not None:
                _check_columns(path, names, found)

    def check_truth_values(self, schema: Schema) -> None:
        """Refuse a Parquet file of which no record can have a declared label or group.

        Its columns are Boolean and the schema declares other values. No record is read.
        """
        groups = () if schema.sensitive is None else schema.sensitive.parts or (schema.sensitive,)
        for path in self.paths:
            types = parquet_types(path) if path.suffix.lower() in PARQUET else {}
            for levels in (schema.label, *groups):
                boolean = str(types.get(levels.name)) == "Boolean"
                if boolean and not {"true", "false"} & {*levels.values}:
                    raise InputError(
                        f"In the file {path}, {levels.name!r} has the values true and false; write "
                        f"those that the schema declares: {', '.join(levels.values)}."
                    )

    @property
    def cells(self) -> int:
        """How many cells are read at once."""
        return self.memory // _CELL

    @property
    def size(self) -> int:
        """How many bytes of a CSV file are read at once."""
        return max(self.memory // _GROWTH, _FEWEST_BYTES)

    def frames(self, names: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Some rows after the others, with the columns of these names."""
        names = [*dict.fromkeys(names)]
        self.check(names)
        some = False
        for path in self.paths:
            for frame in self._frames_of(path, names):
                _check_columns(path, names, frame.columns)
                if frame.height:
                    some = True
                    yield frame.select(names)
        if not some:
            several = "Each of the files" if len(self.paths) > 1 else f"The file {self.paths[0]}"
            raise InputError(f"{several} has no rows.")

    def _columns_of(self, path: Path) -> list[str] | None:
        """The names of the columns; None if they are not known before records are read."""
        if path.suffix.lower() in PARQUET:
            return [*parquet_types(path)]
        return header_names(check_readable(path), self.form) if is_text_file(path) else None

    def _frames_of(self, path: Path, names: Sequence[str]) -> Iterator[pl.DataFrame]:
        if path.suffix.lower() in PARQUET:
            yield from parquet_pieces(path, names, self.cells)
        elif is_text_file(path):
            yield from line_pieces(check_readable(path), self.form, self.size)
        else:
            frame = read_rows(path, self.form)
            yield frame.clear()  # so that its columns are checked, also if it has no rows
            yield from frame.iter_slices(max(self.memory // _CELL // max(frame.width, 1), 1))


def other_files(folder: Path) -> list[str]:
    """The files of a directory that it does not stand for; those that programs hide are left out.

    Names such as ``_SUCCESS`` are of programs that write tables in parts.
    """
    with reading(folder):
        found = [f for f in folder.iterdir() if not f.name.startswith((".", "_"))]
    return sorted(f.name for f in found if not is_table(f) and not os.path.isdir(f))


def is_table(path: Path) -> bool:
    """Whether a directory with this file stands for it, too."""
    name = path.name.lower()
    return name.endswith(_READABLE) and not name.startswith(".") and not os.path.isdir(path)


def _check_distinct(paths: Iterable[Path]) -> None:
    """Refuse a file under two names: a record that counts twice would get half of its privacy."""
    names = dict[tuple[int, int], Path]()
    for path in paths:
        try:
            status = os.stat(path)
        except (OSError, ValueError):  # it is refused when it is read
            continue
        file = (status.st_dev, status.st_ino)
        if status.st_ino and file in names:
            raise InputError(
                f"{names[file]} and {path} are one file, whose records would count twice: leave "
                "out one of the names."
            )
        names[file] = path


def _check_columns(path: Path, names: Iterable[str], found: Sequence[str]) -> None:
    from dpfair.data.containers import missing_column

    missing = [name for name in names if name not in found]
    if missing:
        raise missing_column(missing[0], found, f"The file {path}")
