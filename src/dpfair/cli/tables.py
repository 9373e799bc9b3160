"""Where a command's DATA comes from: files, or one of the shipped data sets."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from glob import has_magic
from pathlib import Path
from typing import TYPE_CHECKING

from dpfair.cli.output import say
from dpfair.errors import InputError

if TYPE_CHECKING:
    import polars as pl

    from dpfair.data.file_form import FileForm
    from dpfair.data.schema import Schema
    from dpfair.data.table_files import TableFiles

__all__ = [
    "check_apart",
    "data_files",
    "files_in_parts",
    "inputs_of",
    "memory_size",
    "names_several",
    "needed_names",
    "one_file",
    "read_data",
    "shipped_schema",
    "some_rows_at_a_time",
    "table_and_labels",
]

LARGE = 256 << 20
"""A file of more bytes is read some rows at a time. As a table it would take several times that."""

PIECE = 128 << 20
"""What the rows may take that are decided together: they should stay near the processor."""

_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?([kmgt])(i?)b", re.IGNORECASE)
_LEAST_MEMORY = 10**6


def data_files(data: str) -> tuple[Path, ...]:
    """The files that DATA is read from; none of a shipped data set."""
    from dpfair.data.table_files import TableFiles
    from dpfair.datasets import DATASETS

    return () if data in DATASETS else TableFiles.named(data).paths


def inputs_of(data: str) -> tuple[Path, ...]:
    """The same, if they are there; a job that was done before does not need them."""
    try:
        return data_files(data)
    except InputError:
        return ()


def check_apart(out: Path | None, data: str) -> None:
    """Refuse an output that would be one of the files of DATA from then on."""
    if out is None or not names_several(data):
        return
    from dpfair.data.table_files import is_table

    inside = Path(data).is_dir() and out.resolve().parent == Path(data).resolve()
    if is_table(out) and (inside or fnmatch(str(out), data)):
        raise InputError(
            f"{out} cannot be written: it would be one of the files of {data} from then on."
        )


def one_file(data: str) -> str:
    """A file of DATA, for commands that read one."""
    return str(data_files(data)[0]) if names_several(data) else data


def names_several(data: str) -> bool:
    """Whether DATA is a directory or a pattern."""
    from dpfair.datasets import DATASETS

    if data in DATASETS:
        return False
    # Path.is_dir and Path.exists raise errors for a name that is too long.
    return os.path.isdir(data) or (has_magic(data) and not os.path.exists(data))


def memory_size(text: str | None) -> int | None:
    """The bytes that ``--memory`` states.

    >>> memory_size("1.5GB"), memory_size("2MiB")
    (1500000000, 2097152)
    """
    if text is None:
        return None
    found = _SIZE.fullmatch(text.strip())
    size = 0
    if found:
        base = 1024 if found[3] else 1000
        size = int(float(found[1]) * base ** (1 + "kmgt".index(found[2].lower())))
    if size < _LEAST_MEMORY:
        raise InputError(
            f"Expected --memory to be a size such as 500MB or 2GB, at least 1MB, got {text!r}."
        )
    return size


def files_in_parts(
    data: str, memory: int | None, file: FileForm | None = None, *, why_whole: str = ""
) -> TableFiles | None:
    """The files of DATA, to be read some rows at a time; None if it is read as one table.

    ``why_whole`` says why all records have to be in memory, if so.
    """
    from dpfair.data.file_form import USUAL_FILE
    from dpfair.data.table_files import MEMORY, TableFiles

    several = names_several(data)
    if why_whole and (several or memory is not None):
        without = "" if memory is None else ", and leave out --memory"
        raise InputError(f"{why_whole}: give one file{without}.")
    paths = data_files(data)
    if memory is not None and not paths:
        raise InputError(f"--memory is for files, and {data} is none: leave it out.")
    if why_whole or not (several or memory or any(map(_is_large, paths))):
        return None
    _say_unread(data)
    return TableFiles(
        paths, USUAL_FILE if file is None else file, MEMORY if memory is None else memory
    )


def _say_unread(data: str) -> None:
    """Name the files of a directory that are not read."""
    from dpfair.data.facts import listing
    from dpfair.data.table_files import other_files

    if names_several(data) and os.path.isdir(data) and (others := other_files(Path(data))):
        say(
            f"dpfair: warning: by their endings, files of {data} are no tables and are not read: "
            f"{listing(others, most=3)}."
        )


def _is_large(path: Path) -> bool:
    return os.path.isfile(path) and os.path.getsize(path) > LARGE


def read_data(data: str, file: FileForm | None = None) -> pl.DataFrame:
    """All rows and columns, the label included, of a file of the form that the schema states."""
    import polars as pl

    from dpfair.data.file_form import USUAL_FILE
    from dpfair.data.read import read_table
    from dpfair.datasets import DATASETS

    if data not in DATASETS:
        return read_table(data, USUAL_FILE if file is None else file)

    dataset = DATASETS[data].load()
    label = pl.Series(dataset.schema.label.name, dataset.y)
    return dataset.X.with_columns(label)


@dataclass(frozen=True)
class _InMemory:
    """A table that is there, as one that is read some rows at a time."""

    frame: pl.DataFrame

    @property
    def columns(self) -> list[str]:
        return self.frame.columns

    def frames(self, names: Sequence[str]) -> Iterator[pl.DataFrame]:
        yield self.frame.select([*dict.fromkeys(names)])


def some_rows_at_a_time(data: str, file: FileForm) -> TableFiles | _InMemory:
    """DATA for a command that looks at every row once."""
    from dpfair.data.table_files import TableFiles

    paths = data_files(data)
    _say_unread(data)
    return TableFiles(paths, file, PIECE) if paths else _InMemory(read_data(data))


def shipped_schema(data: str) -> Schema | None:
    """The schema that comes with a shipped data set; it is read without reading records."""
    from dpfair.datasets import DATASETS

    return DATASETS[data].schema if data in DATASETS else None


def needed_names(schema: Schema, unit: str | None = None) -> list[str]:
    """The columns that a model reads, in the order of the schema."""
    return [*dict.fromkeys([*schema.names, *([] if unit is None else [unit])])]


def table_and_labels(
    frame: pl.DataFrame, schema: Schema, unit: str | None = None
) -> tuple[pl.DataFrame, pl.Series]:
    """What a model reads of a table, and the labels."""
    names, label = needed_names(schema, unit), schema.label.name
    missing = [name for name in (label, *names) if name not in frame.columns]
    if missing:
        from dpfair.data.containers import missing_column

        raise missing_column(missing[0], frame.columns)
    return frame.select(names), frame[label]
