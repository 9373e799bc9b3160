"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from dpfair.cli.tables import DATASET_NAMES
from dpfair.errors import InputError
from dpfair.fairness.notions import NOTIONS

if TYPE_CHECKING:
    from dpfair.privacy.payment import ChargeTo

__all__ = [
    "FIT_NOTE",
    "NOTION_NAMES",
    "AsJson",
    "Data",
    "Delta",
    "HelpFromTables",
    "LedgerKey",
    "LedgerPath",
    "LedgerScope",
    "ModelFile",
    "NewScope",
    "Seed",
    "charge_to",
    "numbers",
]

NOTION_NAMES = " or ".join(", ".join(NOTIONS).rsplit(", ", 1))
"""The notions of fairness, for help texts."""

Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA", help=f"A CSV, Parquet, Arrow or Excel file, or the word {DATASET_NAMES}."
    ),
]
ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="A model file written by fit.")]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print one JSON object on standard output, nothing else.")
]
Delta = Annotated[float, typer.Option(help="The delta of the guarantee.")]
Seed = Annotated[
    int | None,
    typer.Option(help="Make the run repeatable. The result is then NOT private."),
]
LedgerPath = Annotated[
    Path | None, typer.Option(help="The ledger file of the data set, which pays.")
]
LedgerScope = Annotated[
    str, typer.Option(help="The part of the ledger's data set that DATA is, such as 2025/north.")
]
LedgerKey = Annotated[
    str | None,
    typer.Option(help="A name for this job: run again, it returns the same result at no cost."),
]
NewScope = Annotated[
    bool,
    typer.Option(
        "--new-scope", help="Declare --scope with this job, if the ledger does not have it yet."
    ),
]


FIT_NOTE = (
    "--mode, --notion, --tolerance, --target, --capacity, --costs, --check-share, "
    "--values-epsilon, --arithmetic and --composition are short for --set; a method that has no "
    "such setting refuses them."
)


class HelpFromTables(TyperCommand):
    """A command whose help names the methods and learners of the tables.

    The tables are imported when the help is shown, because that takes longer than most commands.
    """

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Fill in the names."""
        from dpfair.cli.settings import either, methods_from_tables
        from dpfair.learners import LEARNERS

        names = {"methods": either(methods_from_tables()), "learners": either(LEARNERS)}
        for option in self.params:
            if text := getattr(option, "help", None):
                option.help = text.format(**names)  # type: ignore[attr-defined]
        super().format_help(ctx, formatter)


def charge_to(
    ledger: Path | None, scope: str, key: str | None, new_scope: bool = False
) -> ChargeTo | None:
    """Who pays, if anybody."""
    if ledger is None:
        if scope or key is not None or new_scope:
            raise InputError("--scope, --new-scope and --key belong to --ledger.")
        return None
    if new_scope and not scope:
        raise InputError("--new-scope belongs to --scope: the whole data set needs no declaration.")
    from dpfair.privacy.payment import ChargeTo

    return ChargeTo(ledger, scope, key, new_scope)


def numbers(text: str, option: str) -> list[float]:
    """Numbers with commas between them.

    >>> numbers("0,0.05", "--tolerances")
    [0.0, 0.05]
    """
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"Expected {option} to be numbers such as 1,2, got {text!r}.") from None
