"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["AsJson", "Data", "Delta", "ModelFile", "Seed"]

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
