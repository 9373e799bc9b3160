"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpfair.errors import InputError

if TYPE_CHECKING:
    from dpfair.privacy.payment import ChargeTo

__all__ = [
    "AsJson",
    "Data",
    "DataFiles",
    "Delta",
    "LedgerKey",
    "LedgerPath",
    "LedgerScope",
    "Memory",
    "ModelFile",
    "NewScope",
    "OwnLearner",
    "Seed",
    "charge_to",
    "delta_of",
    "numbers",
]

Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA", help="A CSV, Parquet, Arrow or Excel file, or the word {datasets}."
    ),
]
DataFiles = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="A CSV, Parquet, Arrow or Excel file, or the word {datasets}. A directory stands for "
        "the tables in it, and a pattern such as 'data/*.parquet' (in quotes) for all files of "
        "such a name: one table, in alphabetical order.",
    ),
]
Memory = Annotated[
    str | None,
    typer.Option(
        "--memory",
        metavar="SIZE",
        help="Read DATA some rows at a time that take about this much, such as 500MB or 2GB, and "
        "keep codes of the records in the system's temporary folder (TMPDIR) during the fit. "
        "Default for a directory, a pattern or a large file: 500MB.",
    ),
]
ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="A model file written by fit.")]
OwnLearner = Annotated[
    str | None,
    typer.Option(
        "--learner",
        metavar="MODULE:CLASS",
        help="The learner of MODEL, if it is none of dpfair's. The module is imported: name only "
        "code that you trust.",
    ),
]
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
    typer.Option(
        help="A name for this job: run again, it returns the same result at no cost and does not "
        "read DATA. The ledger keeps the result, so that verify knows what it paid for."
    ),
]
NewScope = Annotated[
    bool,
    typer.Option(
        "--new-scope", help="Declare --scope with this job, if the ledger does not have it yet."
    ),
]


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


def delta_of(given: float | None, payer: ChargeTo | None, otherwise: float) -> float:
    """The delta of a job: as given, or else that of the ledger that pays.

    At another delta than its own, a ledger would state another cost than the job does.
    """
    if given is not None or payer is None:
        return otherwise if given is None else given
    from dpfair.privacy.ledger_file import LedgerFile

    return LedgerFile(payer.path).delta


def numbers(text: str, option: str) -> list[float]:
    """Numbers with commas between them.

    >>> numbers("0,0.05", "--tolerances")
    [0.0, 0.05]
    """
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"Expected {option} to be numbers such as 1,2, got {text!r}.") from None
