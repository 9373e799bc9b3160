"""``dpfair predict``: decisions for new records."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpfair import validate
from dpfair.cli.decisions import (
    FORMATS,
    check_format,
    decisions_json,
    write_decisions,
)
from dpfair.cli.models import deciding_model
from dpfair.cli.options import AsJson, DataFiles, ModelFile, OwnLearner
from dpfair.cli.output import check_writable, print_json, say
from dpfair.cli.progress import counting_rows, working
from dpfair.cli.tables import (
    check_apart,
    inputs_of,
    names_several,
    needed_names,
    some_rows_at_a_time,
)
from dpfair.errors import InputError

if TYPE_CHECKING:
    import polars as pl

    from dpfair.cli.deciding import Decisions
    from dpfair.fairness.batch import BatchDecisions


def predict(
    model: ModelFile,
    data: DataFiles,
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
            help="Refuse DATA if a record has no decision, or if half of a column is missing, "
            "cannot be read or is outside of its bounds; write nothing.",
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
    if output_format is not None:
        validate.one_of(FORMATS, format=output_format)
    check_writable(out, inputs=[model, *inputs_of(data)])
    check_apart(out, data)
    form = check_format(out, output_format, as_json=as_json)
    if batch_epsilon is not None and not batch:
        raise InputError("--batch-epsilon needs --batch.")
    if batch and names_several(data):
        raise InputError("--batch decides all records together, in memory: give one file.")
    from dpfair.cli.deciding import Decisions, in_background

    with working("reading the model"):
        fitted = deciding_model(model, learner, whole=batch)
    _check_batch(fitted, batch=batch)
    table = some_rows_at_a_time(data, fitted.schema_.file)
    if id_column is not None and id_column not in table.columns:
        guess = validate.did_you_mean(id_column, table.columns)
        raise InputError(f"The table has no column {id_column!r} for --id{guess}.")
    needed = needed_names(fitted.schema_, None if fitted.unit is None else str(fitted.unit))
    decisions, about = Decisions(fitted, needed, id_column), dict[str, Any]()
    frames = table.frames([*needed, *([] if id_column is None else [id_column])])

    def decide(frame: pl.DataFrame) -> None:
        decisions.decide(decisions.look(frame))
        done(len(frame))

    with counting_rows("deciding") as done:
        if batch:
            about = _decide_together(decisions, frames, batch_epsilon)
        else:
            in_background(decide, frames)
        if strict:
            decisions.refuse()
    for sentence in decisions.unread.sentences(quoting=True):
        say(f"dpfair: warning: {sentence} --strict refuses such a table.")
    if decisions.undecided.count:
        say(f"dpfair: warning: {decisions.undecided} --strict refuses such a table.")
    if fitted.rule_ is None:
        say("dpfair: this model decides without a lottery: scores above 0.5 are accepted.")
    if about:
        say(f"dpfair: this batch protects {about['protects']}.")
        say(f"dpfair: acceptance rates in this batch differ by {about.pop('text')}.")
    pieces = decisions.pieces()
    if out is not None or not as_json:
        write_decisions(pieces, decisions.rows, out, form)
    label = fitted.schema_.label
    say(f"dpfair: accepted means {label.name} = {label.values[1]}.")
    if out is not None:
        decided = decisions.rows - decisions.undecided.count
        say(f"dpfair: {decided} decisions written to {out}.")
    if as_json:
        print_json({"n": decisions.rows, **about, **decisions_json(pieces)})


def _check_batch(fitted: Any, *, batch: bool) -> None:
    from dpfair.cli.settings import methods_with

    if batch and not hasattr(fitted, "decide_batch"):
        raise InputError(
            f"This model ({fitted.title}) cannot choose thresholds for a batch; --batch "
            f"needs one of the method {methods_with('decide_batch')}."
        )


def _decide_together(
    decisions: Decisions, frames: Iterator[pl.DataFrame], epsilon: float | None
) -> dict[str, Any]:
    """Decide all rows as one batch; what is known about it."""
    import polars as pl

    piece = decisions.look(pl.concat(frames))
    if not len(piece.decidable):
        raise InputError("No record of the batch has a group that the schema declares.")
    chosen = piece.table if piece.known is None else piece.table[piece.decidable]
    decided = decisions.fitted.decide_batch(chosen, epsilon=epsilon)
    decisions.keep(piece, {"accepted": decided.decisions == decisions.fitted.classes_[1]})
    return {
        "gap_bound": decided.gap_bound,
        "confidence": decided.confidence,
        "protects": decided.protects,
        "text": _most(decided),
    }


def _most(decided: BatchDecisions) -> str:
    from dpfair.certificate.text import round_up

    bound = f"at most {round_up(decided.gap_bound)}"
    if decided.confidence == 1:
        return bound
    return f"{bound} with {100 * decided.confidence:.10g}% confidence"
