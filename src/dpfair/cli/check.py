"""``dpfair check``: compare a table with its schema, before a fit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpfair.cli.options import AsJson
from dpfair.cli.output import print_json

if TYPE_CHECKING:
    from dpfair.data.check import LevelsCheck, TableCheck
    from dpfair.data.check_columns import ColumnCheck

__all__ = ["check"]

WARNING = "NOT PRIVATE: these are exact numbers about records. Keep them internal."
_LISTED = 10
# A table of more columns is shown without those that have nothing to report.
_MANY = 60


def check(
    file: Annotated[Path, typer.Argument(help="A CSV, Parquet, Arrow or Excel file.")],
    schema: Annotated[Path, typer.Option(help="A TOML or JSON schema file.")],
    as_json: AsJson = False,
) -> None:
    """Compare FILE with its schema; exit 1 if something would spoil a fit. This is NOT private."""
    from dpfair.data.check import check_table
    from dpfair.data.lines import line_widths
    from dpfair.data.read import is_text_file, read_table
    from dpfair.data.schema import Schema

    declared = Schema.load(schema)
    frame = read_table(file, declared.file)
    widths = line_widths(file, declared.file) if is_text_file(file) else None
    found = check_table(frame, declared, widths)
    if as_json:
        print_json({"private": False, "passed": not found.spoilt, **asdict(found)})
    else:
        print("\n".join(_lines(found)))
    if found.spoilt:
        raise typer.Exit(1)


def _lines(found: TableCheck) -> Iterator[str]:
    yield WARNING
    yield ""
    yield f"Records     {found.rows:,}"
    yield f"Duplicates  {found.duplicates:,}"
    if found.lines is not None:
        short, long = found.lines
        yield f"Lines       {short:,} with too few cells, {long:,} with too many"
    for what, levels in (("Label", found.label), ("Groups", found.groups)):
        if levels is not None:
            yield from _levels_lines(what, levels)
    width = max([len(column.name) for column in found.columns] + [6])
    yield ""
    yield f"{'column':<{width}}  {'kind':<11}  {'missing':>7}  {'outside':>7}  {'unknown':>7}"
    shown = [c for c in found.columns if len(found.columns) <= _MANY or any(_shares(c))]
    for c in shown:
        shares = "  ".join(f"{share:>7.1%}" for share in _shares(c))
        yield f"{c.name:<{width}}  {c.kind:<11}  {shares}"
    if len(shown) < len(found.columns):
        yield f"and {len(found.columns) - len(shown)} columns without such values"
    yield ""
    for problem in sorted(found.problems, key=lambda p: not p.serious):
        yield f"{'PROBLEM' if problem.serious else 'look at'}  {problem.text}"
    yield "This would spoil a fit." if found.spoilt else "Nothing here would spoil a fit."


def _shares(column: ColumnCheck) -> tuple[float, float, float]:
    return column.missing, column.outside, column.unknown


def _levels_lines(what: str, levels: LevelsCheck) -> Iterator[str]:
    declared = ", ".join(f"{value} {count:,}" for value, count in levels.declared.items())
    yield f"{what:<10}  {levels.name}: {declared}"
    if levels.undeclared:
        shown = [f"{v} {n:,}" for v, n in list(levels.undeclared.items())[:_LISTED]]
        more = ", ..." if len(levels.undeclared) > _LISTED else ""
        share = f"{levels.undeclared_share:.1%}"
        yield f"{'':<10}  undeclared ({share} of the records): {', '.join(shown)}{more}"
