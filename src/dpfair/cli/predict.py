"""``dpfair predict``: decisions for new records."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpfair import validate
from dpfair.cli.decisions import (
    FORMATS,
    check_format,
    decisions_json,
    plain_ids,
    write_decisions,
)
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
        typer.Option(
            "--strict",
            help="Refuse DATA if a record has no decision, or if half of a column is missing or "
            "cannot be read; write nothing.",
        ),
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

    Prints each decision: the value of the label, whether that means accepted, and the probability
    of acceptance; or the score, if the method accepts all scores above one half. A record of a
    blank or undeclared group has an empty decision, and a reason beside it.
    """
    import numpy as np

    from dpfair.data.unread import unread_columns
    from dpfair.methods.undecided import undeclared_groups

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
    unit = None if fitted.unit is None else str(fitted.unit_name)
    table = needed_columns(frame, fitted.schema_, unit)
    with working("deciding"):
        reasons = fitted.undecided(table)
        if strict and (reasons != "").any():
            from dpfair.methods.undecided import refuse_undecided

            refuse_undecided(reasons, fitted.schema_.sensitive)
        records = fitted.new_records(table, known=False)
        unread = unread_columns(table, fitted.schema_, records, quoting=not strict)
        if strict and unread:
            raise InputError(" ".join(unread))
        decidable = np.flatnonzero(reasons == "")
        if batch:
            columns, about = _decided_together(fitted, table, decidable, batch_epsilon)
        else:
            columns, about = _decided(fitted, records, decidable), {}
    for sentence in unread:
        say(f"dpfair: warning: {sentence} --strict refuses such a table.")
    if (reasons != "").any():
        _report_undecided(reasons, undeclared_groups(table, fitted.schema_.sensitive))
    if fitted.rule_ is None:
        say("dpfair: this model decides without a lottery: scores above 0.5 are accepted.")
    ids = None if id_column is None else plain_ids(frame[id_column])
    decisions = _all_rows(columns, decidable, reasons, ids)
    if about:
        say(f"dpfair: this batch protects {about['protects']}.")
        say(f"dpfair: acceptance rates in this batch differ by {about.pop('text')}.")
    if out is not None or not as_json:
        write_decisions(decisions, out, form)
    label = fitted.schema_.label
    say(f"dpfair: accepted means {label.name} = {label.values[1]}.")
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


def _decided(fitted: Any, records: Any, rows: NDArray[Any]) -> dict[str, Any]:
    """The columns of the decisions about some rows."""
    labels, chances = fitted.classes_[:0], []
    if len(rows):
        labels, chances = fitted.decide_records(records.take(rows))
    name = "score" if fitted.rule_ is None else "acceptance_probability"
    return _named(fitted, labels) | {name: chances}


def _decided_together(
    fitted: Any, table: pl.DataFrame, rows: NDArray[Any], epsilon: float | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The columns of the decisions about a batch, and what is known about it."""
    if not len(rows):
        raise InputError("No record of the batch has a group that the schema declares.")
    chosen = table if len(rows) == table.height else table[rows]
    decided = fitted.decide_batch(chosen, epsilon=epsilon)
    about = {
        "gap_bound": decided.gap_bound,
        "confidence": decided.confidence,
        "protects": decided.protects,
        "text": _most(decided),
    }
    return _named(fitted, decided.decisions), about


def _named(fitted: Any, labels: NDArray[Any]) -> dict[str, Any]:
    """A decision is a value of the label, which alone does not say what is good."""
    import polars as pl

    accepted = pl.Series(labels == fitted.classes_[1])
    # Without a Python object for each of them.
    decisions = pl.Series(fitted.classes_).gather(accepted.cast(pl.UInt32))
    return {"decision": decisions, "accepted": accepted}


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


def _report_undecided(reasons: NDArray[Any], groups: list[str]) -> None:
    """Which rows have no decision; the records are those of whoever asks."""
    from dpfair.methods.undecided import BLANK

    rows = ((reasons != "").nonzero()[0] + 1).tolist()
    listed = ", ".join(map(str, rows[:MOST_ROWS])) + (", ..." if len(rows) > MOST_ROWS else "")
    blank = int((reasons == BLANK).sum())
    such = f", such as {', '.join(map(repr, groups))}" if groups else ""
    say(
        f"dpfair: warning: {len(rows)} of {len(reasons)} records have no decision (rows {listed}): "
        f"of their groups {blank} are blank and {len(rows) - blank} are not declared{such}. Rows "
        "are counted from 1, without the header; --strict refuses such a table."
    )


def _most(decided: BatchDecisions) -> str:
    from dpfair.certificate.text import round_up

    bound = f"at most {round_up(decided.gap_bound)}"
    if decided.confidence == 1:
        return bound
    return f"{bound} with {100 * decided.confidence:.10g}% confidence"
