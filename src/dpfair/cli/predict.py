"""``dpfair predict``: decisions for new records."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dpfair.cli.options import AsJson, Data, ModelFile
from dpfair.cli.output import check_writable, print_json, say
from dpfair.cli.tables import needed_columns, read_data


def predict(
    model: ModelFile,
    data: Data,
    out: Annotated[Path | None, typer.Option(help="Write a CSV file instead.")] = None,
    as_json: AsJson = False,
) -> None:
    """Decide every record of DATA: its decision and the probability of acceptance."""
    import polars as pl

    from dpfair.model_file import load_model

    check_writable(out)
    fitted = load_model(model)
    unit = None if fitted.unit is None else str(fitted.unit)
    table = needed_columns(read_data(data), fitted.schema_, unit)
    decisions = pl.DataFrame(
        {
            "decision": fitted.predict(table),
            "acceptance_probability": fitted.predict_proba(table)[:, 1],
        }
    )
    if out is not None:
        decisions.write_csv(out)
        say(f"dpfair: {decisions.height} decisions written to {out}.")
    if as_json:
        print_json({"n": decisions.height, **decisions.to_dict(as_series=False)})
    elif out is None:
        print(decisions.write_csv(), end="")
