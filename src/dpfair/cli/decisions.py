"""The table of decisions that ``dpfair predict`` writes: CSV, Parquet or JSON lines."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpfair.errors import InputError
from dpfair.files import write_file

if TYPE_CHECKING:
    import polars as pl

__all__ = ["FORMATS", "check_format", "decisions_json", "plain_ids", "write_decisions"]

FORMATS = ("csv", "parquet", "jsonl")


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


def plain_ids(ids: pl.Series) -> pl.Series:
    """The column that --id names. Texts that all are plain integers become integers.

    A file of text has no types. Leading zeros, signs and spaces would be lost in a number, so that
    one such value keeps all of them texts.

    >>> import polars as pl
    >>> [plain_ids(pl.Series(texts)).dtype for texts in (["7", None], ["07", "7"])]
    [Int64, String]
    """
    import polars as pl

    if ids.dtype != pl.String or not ids.str.contains(r"^(0|-?[1-9][0-9]{0,17})$").all():
        return ids
    return ids.cast(pl.Int64)


def write_decisions(decisions: pl.DataFrame, out: Path | None, form: str) -> None:
    """Write the decisions to a file, or print them."""
    content = io.BytesIO()
    if form == "csv":
        decisions.write_csv(content)
    elif form == "jsonl":
        decisions.write_ndjson(content)
    else:
        decisions.write_parquet(content)
    if out is None:
        print(content.getvalue().decode(), end="")
    else:
        write_file(out, content.getvalue())


def decisions_json(decisions: pl.DataFrame) -> dict[str, list[Any]]:
    """The columns as plain data; dates and the like, which JSON does not have, as text."""
    import polars as pl

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
