"""``dpfair report``: a model's certificate and account as one offline page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dpfair.cli.models import read_model
from dpfair.cli.options import AsJson, ModelFile, OwnLearner
from dpfair.cli.output import check_page, check_writable, print_json


def report(
    model: ModelFile,
    out: Annotated[Path, typer.Option(help="The HTML file to write.")] = Path("report.html"),
    learner: OwnLearner = None,
    as_json: AsJson = False,
) -> None:
    """Write the report of MODEL to an HTML file."""
    from dpfair.report import write_report

    check_writable(out, inputs=[model])
    check_page(out)
    fitted = read_model(model, learner)
    write_report(fitted, out)
    if as_json:
        print_json({"report": str(out)})
    else:
        print(f"Report: {out}")
