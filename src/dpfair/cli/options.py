"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dpfair.errors import InputError

__all__ = ["AsJson", "Data", "Delta", "ModelFile", "Seed", "numbers"]

Data = Annotated[
    str, typer.Argument(metavar="DATA", help="A CSV or Parquet file, or the word adult or credit.")
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


def numbers(text: str, option: str) -> list[float]:
    """Numbers with commas between them.

    >>> numbers("0,0.05", "--tolerances")
    [0.0, 0.05]
    """
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"Expected {option} to be numbers such as 1,2, got {text!r}.") from None
