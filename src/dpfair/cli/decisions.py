"""The table of decisions that ``dpfair predict`` writes: CSV, Parquet or JSON lines."""

from __future__ import annotations

import io
from collections.abc import Sequence, Set
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from dpfair.errors import InputError
from dpfair.files import writing

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "FORMATS",
    "are_plain",
    "check_format",
    "check_ids",
    "decisions_json",
    "id_type",
    "write_decisions",
]

FORMATS = ("csv", "parquet", "jsonl")

_OUTPUT = ("decision", "accepted", "acceptance_probability", "score", "reason")
_PLAIN = r"^(0|-?[1-9][0-9]{0,17})$"

# So many rows of decisions are few bytes. In one part, the file is the same however they were read.
_WHOLE = 1 << 22


def check_format(out: Path | None, given: str | None, *, as_json: bool) -> str:
    """The format of the output: as given, or else by the end of the file's name, or else CSV.

    >>> check_format(Path("decisions.PARQUET"), None, as_json=False)
    'parquet'
    """
    if out is None:
        if given is not None and as_json:
            raise InputError("Without --out, give either --json or --format.")
        if given == "parquet":
            raise InputError("Parquet is binary: give --out, such as --out decisions.parquet.")
        return given or "csv"
    suffix = out.suffix.lower().removeprefix(".") or "csv"
    if given is None and suffix not in FORMATS:
        raise InputError(
            f"Expected --out to end in .csv, .parquet or .jsonl, got {out}; or name one of these "
            "with --format."
        )
    return given or suffix


def check_ids(ids: pl.Series) -> None:
    """Refuse a column that cannot be the first one of the output."""
    import polars as pl

    if ids.name in _OUTPUT:
        raise InputError(f"--id cannot be {ids.name!r}, which is a column of the output.")
    if ids.dtype.is_nested() or ids.dtype in (pl.Binary, pl.Duration):
        raise InputError(f"Expected --id to be a column of plain values; {ids.name!r} is not.")


def are_plain(ids: pl.Series) -> bool:
    """Whether ids are texts that all are plain integers, which become integers.

    A file of text has no types. Leading zeros, signs and spaces would be lost in a number, so that
    one such value keeps all of them texts.

    >>> import polars as pl
    >>> [are_plain(pl.Series(texts)) for texts in (["7", None], ["07", "7"], [7])]
    [True, False, False]
    """
    import polars as pl

    return ids.dtype == pl.String and bool(ids.str.contains(_PLAIN).all())


def id_type(types: Set[pl.DataType], *, plain: bool) -> pl.DataType | None:
    """The type of ids that some files have in these types; None if it is not known.

    ``plain`` says that all texts are plain integers. Other types become text: to polars, the type
    that holds a whole number and a float rounds, and a date is a number of days.

    >>> import polars as pl
    >>> [id_type(types, plain=True) for types in ({pl.Int32, pl.String}, {pl.Int64, pl.Date})]
    [Int64, String]
    """
    import polars as pl

    known = {pl.Int64() if plain and one == pl.String else one for one in types}
    if len(known) <= 1:
        return next(iter(known), None)
    small = (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32)
    return pl.Int64() if all(one in small for one in known) else pl.String()


def write_decisions(pieces: Sequence[pl.LazyFrame], rows: int, out: Path | None, form: str) -> None:
    """Write the decisions to a file, or print them: some rows at a time."""
    import polars as pl

    if out is None:
        for number, piece in enumerate(pieces):
            content = io.BytesIO()
            _write_lines(piece, content, form, first=not number)
            print(content.getvalue().decode(), end="")
        return
    with writing(out) as draft:
        if form == "parquet":
            table = pl.concat(pieces)
            if rows <= _WHOLE:
                table = table.collect().rechunk().lazy()
            try:
                table.sink_parquet(draft)
            except pl.exceptions.ComputeError as error:
                *_, reason = str(error).split(": ")
                raise (OSError(reason) if "os error" in reason else error) from None
            return
        with draft.open("wb") as file:
            for number, piece in enumerate(pieces):
                _write_lines(piece, file, form, first=not number)


def _write_lines(piece: pl.LazyFrame, file: IO[bytes], form: str, *, first: bool) -> None:
    if form == "csv":
        piece.collect().write_csv(file, include_header=first)
    else:
        piece.collect().write_ndjson(file)


def decisions_json(pieces: Sequence[pl.LazyFrame]) -> dict[str, list[Any]]:
    """The columns as plain data; dates and the like, which JSON does not have, as text."""
    import polars as pl

    decisions = pl.concat(pieces).collect()
    plain = (pl.String, pl.Boolean)
    odd = [
        column.name
        for column in decisions
        if not (column.dtype in plain or column.dtype.is_integer() or column.dtype.is_float())
    ]
    columns: dict[str, list[Any]] = decisions.cast(dict.fromkeys(odd, pl.String)).to_dict(
        as_series=False
    )
    return columns
