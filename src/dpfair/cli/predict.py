"""``dpfair predict``: decisions for new records."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpfair.cli.models import deciding_model
from dpfair.cli.options import AsJson, Data, ModelFile
from dpfair.cli.output import check_writable, print_json, say
from dpfair.cli.tables import data_file, needed_columns, read_data
from dpfair.errors import InputError
from dpfair.files import write_file

if TYPE_CHECKING:
    from dpfair.fairness.batch import BatchDecisions


def predict(
    model: ModelFile,
    data: Data,
    out: Annotated[Path | None, typer.Option(help="Write a CSV file instead.")] = None,
    batch: Annotated[
        bool, typer.Option("--batch", help="Decide all records together: equal rates among them.")
    ] = False,
    batch_epsilon: Annotated[
        float | None, typer.Option(help="Protect the people of the batch with this epsilon.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Decide every record of DATA: its decision and the probability of acceptance."""
    import polars as pl

    from dpfair.cli.settings import methods_with

    check_writable(out, inputs=[model, data_file(data)])
    if batch_epsilon is not None and not batch:
        raise InputError("--batch-epsilon needs --batch.")
    fitted = deciding_model(model)
    unit = None if fitted.unit is None else str(fitted.unit)
    table = needed_columns(read_data(data, fitted.schema_.file), fitted.schema_, unit)
    about: dict[str, Any] = {}
    if batch:
        if not hasattr(fitted, "decide_batch"):
            raise InputError(
                f"This model ({fitted.title}) cannot choose thresholds for a batch; --batch "
                f"needs one of the method {methods_with('decide_batch')}."
            )
        decided = fitted.decide_batch(table, epsilon=batch_epsilon)
        decisions = pl.DataFrame({"decision": decided.decisions})
        about = {
            "gap_bound": decided.gap_bound,
            "confidence": decided.confidence,
            "protects": decided.protects,
        }
        say(f"dpfair: this batch protects {decided.protects}.")
        say(f"dpfair: acceptance rates in this batch differ by {_most(decided)}.")
    else:
        labels, chances = fitted.decide_all(table)
        decisions = pl.DataFrame({"decision": labels, "acceptance_probability": chances})
    if out is not None:
        write_file(out, decisions.write_csv().encode())
        say(f"dpfair: {decisions.height} decisions written to {out}.")
    if as_json:
        print_json({"n": decisions.height, **about, **decisions.to_dict(as_series=False)})
    elif out is None:
        print(decisions.write_csv(), end="")


def _most(decided: BatchDecisions) -> str:
    from dpfair.certificate.text import round_up

    bound = f"at most {round_up(decided.gap_bound)}"
    if decided.confidence == 1:
        return bound
    return f"{bound} with {100 * decided.confidence:.10g}% confidence"
