"""``dpfair check``: compare a table with its schema, before a fit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpfair.cli.models import read_model
from dpfair.cli.options import AsJson, OwnLearner
from dpfair.cli.output import print_json
from dpfair.errors import InputError

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
    schema: Annotated[Path | None, typer.Option(help="A TOML or JSON schema file.")] = None,
    model: Annotated[
        Path | None,
        typer.Option(help="Or a model: its schema, with the facts that its fit found."),
    ] = None,
    learner: OwnLearner = None,
    as_json: AsJson = False,
) -> None:
    """Compare FILE with its schema; exit 1 if something would spoil a fit. This is NOT private.

    Errors of units are noticed where the schema declares bounds, or with --model.
    """
    from dpfair.data.check import check_table
    from dpfair.data.lines import line_widths
    from dpfair.data.read import is_text_file, read_table
    from dpfair.data.schema import Schema

    if schema is not None and model is None:
        declared = Schema.load(schema)
    elif model is not None and schema is None:
        declared = read_model(model, learner).schema_
    else:
        raise InputError("Give either --schema or --model: what FILE is compared with.")
    frame = read_table(file, declared.file)
    widths = line_widths(file, declared.file) if is_text_file(file) else None
    found = check_table(frame, declared, widths, training=model is None)
    undeclared = [column.name for column in declared.columns if column.unbounded]
    if as_json:
        result = {"private": False, "passed": not found.spoilt, **asdict(found)}
        print_json(result | {"not_compared": undeclared})
    else:
        purpose = "a fit" if model is None else "the decisions of this model"
        print("\n".join([*_lines(found), *_verdict(found, undeclared, purpose)]))
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


def _verdict(found: TableCheck, undeclared: list[str], purpose: str) -> Iterator[str]:
    if undeclared:
        shown = ", ".join(undeclared[:_LISTED]) + (", ..." if len(undeclared) > _LISTED else "")
        yield (
            f"Not compared: the schema declares no bounds or categories of {shown}, so that other "
            "units or spellings there are not noticed."
        )
    if found.spoilt:
        yield f"This would spoil {purpose}."
    elif found.problems:
        yield "Nothing makes it impossible; look at the remarks above first."
    else:
        yield "No problem was found."


def _shares(column: ColumnCheck) -> tuple[float, float, float]:
    return column.missing, column.outside, column.unknown


def _levels_lines(what: str, levels: LevelsCheck) -> Iterator[str]:
    declared = ", ".join(f"{value} {count:,}" for value, count in levels.declared.items())
    yield f"{what:<10}  {levels.name}: {declared}"
    if levels.undeclared:
        shown = [f"{v!r} {n:,}" for v, n in list(levels.undeclared.items())[:_LISTED]]
        more = ", ..." if len(levels.undeclared) > _LISTED else ""
        share = f"{levels.undeclared_share:.1%}"
        yield f"{'':<10}  undeclared ({share} of the records): {', '.join(shown)}{more}"
