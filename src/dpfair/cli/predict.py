"""``dpfair predict``: decisions for new records."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpfair import validate
from dpfair.cli.decisions import FORMATS, check_format, decisions_json, write_decisions
from dpfair.cli.models import deciding_model
from dpfair.cli.options import AsJson, Data, ModelFile, OwnLearner
from dpfair.cli.output import check_writable, print_json, say
from dpfair.cli.progress import working
from dpfair.cli.tables import data_file, needed_columns, read_data
from dpfair.errors import InputError

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from dpfair.fairness.batch import BatchDecisions

MOST_ROWS = 5
"""So many rows without a decision are listed by number."""


def predict(
    model: ModelFile,
    data: Data,
    out: Annotated[
        Path | None, typer.Option(help="Write a .csv, .parquet or .jsonl file instead.")
    ] = None,
    output_format: Annotated[
        str | None,
        typer.Option("--format", help="csv, parquet or jsonl. Default: by the end of --out."),
    ] = None,
    id_column: Annotated[
        str | None,
        typer.Option("--id", help="A column of DATA that becomes the first one of the output."),
    ] = None,
    strict: Annotated[
        bool,
        typer.Option("--strict", help="Refuse DATA if a record has no decision; write nothing."),
    ] = False,
    batch: Annotated[
        bool, typer.Option("--batch", help="Decide all records together: equal rates among them.")
    ] = False,
    batch_epsilon: Annotated[
        float | None, typer.Option(help="Protect the people of the batch with this epsilon.")
    ] = None,
    learner: OwnLearner = None,
    as_json: AsJson = False,
) -> None:
    """Decide every record of DATA.

    Prints each decision with its probability of acceptance; or with its score, if the method
    accepts all scores above one half. A record of a blank or undeclared group has an empty
    decision, and a reason beside it.
    """
    import numpy as np

    if output_format is not None:
        validate.one_of(FORMATS, format=output_format)
    check_writable(out, inputs=[model, data_file(data)])
    form = check_format(out, output_format, as_json=as_json)
    if batch_epsilon is not None and not batch:
        raise InputError("--batch-epsilon needs --batch.")
    with working("reading the model"):
        fitted = deciding_model(model, learner)
    _check_batch(fitted, batch=batch)
    with working("reading the records"):
        frame = read_data(data, fitted.schema_.file)
    if id_column is not None and id_column not in frame.columns:
        guess = validate.did_you_mean(id_column, frame.columns)
        raise InputError(f"The table has no column {id_column!r} for --id{guess}.")
    unit = None if fitted.unit is None else str(fitted.unit)
    table = needed_columns(frame, fitted.schema_, unit)
    with working("deciding"):
        reasons = fitted.undecided(table)
        if strict and (reasons != "").any():
            from dpfair.methods.undecided import refuse_undecided

            refuse_undecided(reasons, fitted.schema_.sensitive)
        decidable = np.flatnonzero(reasons == "")
        columns, about = _decided(fitted, table, decidable, batch=batch, epsilon=batch_epsilon)
    _report_undecided(reasons)
    if fitted.rule_ is None:
        say("dpfair: this model decides without a lottery: scores above 0.5 are accepted.")
    ids = None if id_column is None else frame[id_column]
    decisions = _all_rows(columns, decidable, reasons, ids)
    if about:
        say(f"dpfair: this batch protects {about['protects']}.")
        say(f"dpfair: acceptance rates in this batch differ by {about.pop('text')}.")
    if out is not None or not as_json:
        write_decisions(decisions, out, form)
    if out is not None:
        say(f"dpfair: {len(decidable)} decisions written to {out}.")
    if as_json:
        print_json({"n": decisions.height, **about, **decisions_json(decisions)})


def _check_batch(fitted: Any, *, batch: bool) -> None:
    from dpfair.cli.settings import methods_with

    if batch and not hasattr(fitted, "decide_batch"):
        raise InputError(
            f"This model ({fitted.title}) cannot choose thresholds for a batch; --batch "
            f"needs one of the method {methods_with('decide_batch')}."
        )


def _decided(
    fitted: Any,
    table: pl.DataFrame,
    rows: NDArray[Any],
    *,
    batch: bool,
    epsilon: float | None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The columns of the decisions about some rows and, of a batch, what is known about it."""
    chosen = table if len(rows) == table.height else table[rows]
    if not batch:
        labels, chances = fitted.classes_[:0], []
        if len(rows):
            labels, chances = fitted.decide_all(chosen)
        name = "score" if fitted.rule_ is None else "acceptance_probability"
        return {"decision": _column(labels, fitted.classes_), name: chances}, {}
    if not len(rows):
        raise InputError("No record of the batch has a group that the schema declares.")
    decided = fitted.decide_batch(chosen, epsilon=epsilon)
    about = {
        "gap_bound": decided.gap_bound,
        "confidence": decided.confidence,
        "protects": decided.protects,
        "text": _most(decided),
    }
    return {"decision": _column(decided.decisions, fitted.classes_)}, about


def _column(labels: NDArray[Any], classes: NDArray[Any]) -> pl.Series:
    """The labels as a column, without a Python object for each of them."""
    import polars as pl

    return pl.Series(classes).gather(pl.Series(labels == classes[1]).cast(pl.UInt32))


def _all_rows(
    columns: dict[str, Any], rows: NDArray[Any], reasons: NDArray[Any], ids: pl.Series | None
) -> pl.DataFrame:
    """One row for every record, in the order of the table; ids first, reasons last."""
    import polars as pl

    frame = pl.DataFrame(columns)
    if len(rows) < len(reasons):
        decided = frame.with_columns(__row=pl.Series(rows, dtype=pl.Int64))
        everyone = pl.DataFrame({"__row": pl.arange(len(reasons), dtype=pl.Int64, eager=True)})
        frame = everyone.join(decided, on="__row", how="left", maintain_order="left").drop("__row")
        frame = frame.with_columns(reason=pl.Series([reason or None for reason in reasons]))
    if ids is None:
        return frame
    if ids.name in frame.columns:
        raise InputError(f"--id cannot be {ids.name!r}, which is a column of the output.")
    if ids.dtype.is_nested() or ids.dtype == pl.Binary:
        raise InputError(f"Expected --id to be a column of plain values; {ids.name!r} is not.")
    return frame.insert_column(0, ids)


def _report_undecided(reasons: NDArray[Any]) -> None:
    """Which rows have no decision; the records are those of whoever asks."""
    from dpfair.methods.undecided import BLANK

    rows = ((reasons != "").nonzero()[0] + 1).tolist()
    if not rows:
        return
    listed = ", ".join(map(str, rows[:MOST_ROWS])) + (", ..." if len(rows) > MOST_ROWS else "")
    blank = int((reasons == BLANK).sum())
    say(
        f"dpfair: warning: {len(rows)} of {len(reasons)} records have no decision (rows {listed}): "
        f"of their groups {blank} are blank and {len(rows) - blank} are not declared. Rows are "
        "counted from 1, without the header; --strict refuses such a table."
    )


def _most(decided: BatchDecisions) -> str:
    from dpfair.certificate.text import round_up

    bound = f"at most {round_up(decided.gap_bound)}"
    if decided.confidence == 1:
        return bound
    return f"{bound} with {100 * decided.confidence:.10g}% confidence"
