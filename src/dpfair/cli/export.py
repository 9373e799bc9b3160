"""``dpfair schema export``: the schema of a model, with the facts that its fit found."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpfair.cli.models import read_model
from dpfair.cli.options import AsJson, ModelFile, OwnLearner
from dpfair.cli.output import check_writable, print_json, say
from dpfair.files import write_file

if TYPE_CHECKING:
    from dpfair.data.schema import Schema

__all__ = ["export", "exported"]


def export(
    model: ModelFile,
    out: Annotated[Path | None, typer.Option(help="Write the schema to this file.")] = None,
    learner: OwnLearner = None,
    as_json: AsJson = False,
) -> None:
    """Write the schema of MODEL, with the facts that its fit found and their cost.

    A fit with it need not find and pay for them again. Its gap is not certified if it uses the same
    records, because they were used before.
    """
    check_writable(out, inputs=[model])
    schema = exported(read_model(model, learner))
    if out is not None:
        write_file(out, schema.to_toml().encode())
        say(f"dpfair: written to {out}.")
    if as_json:
        print_json({"schema": schema.to_dict()})
    elif out is None:
        print(schema.to_toml())


def exported(model: Any) -> Schema:
    """The schema of a fitted model; facts that the fit found are marked with what they cost."""
    from dpfair.data.schema import EarlierCost
    from dpfair.methods.training import DISCOVERING

    schema: Schema = model.schema_
    paid = [entry for entry in model.ledger_.entries if entry.purpose == DISCOVERING]
    if schema.discovery is not None or not paid:
        return schema
    # The account of a person with several records is that of the whole fit.
    cost = paid[0] if model.rows_per_unit == 1 else model.ledger_
    found = EarlierCost(
        cost.epsilon,
        cost.delta,
        model.certificate_.privacy.private,
        model.relation,
        None if model.unit is None else str(model.unit_name),
    )
    return replace(schema, discovery=found)
