"""``dpfair report``: a model's certificate and account as one offline page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dpfair.cli.options import AsJson, ModelFile
from dpfair.cli.output import print_json


def report(
    model: ModelFile,
    out: Annotated[Path, typer.Option(help="The HTML file to write.")] = Path("report.html"),
    as_json: AsJson = False,
) -> None:
    """Write the report of MODEL to an HTML file."""
    from dpfair.errors import InputError
    from dpfair.model_file import load_model
    from dpfair.report import write_report

    fitted = load_model(model)
    if not out.parent.is_dir():
        raise InputError(f"There is no directory {out.parent} to write {out.name} to.")
    write_report(fitted, out)
    if as_json:
        print_json({"report": str(out)})
    else:
        print(f"Report: {out}")
