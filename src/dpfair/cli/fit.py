"""``dpfair fit``: from a table to a certified model."""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpfair import validate
from dpfair.cli.options import (
    AsJson,
    Data,
    Delta,
    LedgerKey,
    LedgerPath,
    LedgerScope,
    NewScope,
    Seed,
    charge_to,
    numbers,
)
from dpfair.cli.output import (
    account_lines,
    amount,
    check_writable,
    fit_summary,
    interactive,
    print_json,
    say,
)
from dpfair.cli.tables import data_file, needed_columns, read_data, shipped_schema
from dpfair.data.schema import Schema
from dpfair.data.table import column_names
from dpfair.errors import InputError, LedgerFileError, SchemaError

if TYPE_CHECKING:
    import polars as pl

    from dpfair.methods.fair_classifier import PrivateFairClassifier
    from dpfair.privacy.payment import ChargeTo


def fit(
    data: Data,
    epsilon: Annotated[float, typer.Option(help="The privacy budget.")],
    delta: Delta = 1e-5,
    label: Annotated[str | None, typer.Option(help="The column to predict.")] = None,
    sensitive: Annotated[
        str | None, typer.Option(help="The column with the groups; a,b for all combinations.")
    ] = None,
    schema: Annotated[Path | None, typer.Option(help="A TOML or JSON schema file.")] = None,
    infer_schema: Annotated[
        bool, typer.Option("--infer-schema", help="Read the schema off the data: NOT private.")
    ] = False,
    unit: Annotated[str | None, typer.Option(help="The column that identifies a person.")] = None,
    rows_per_unit: Annotated[int, typer.Option(help="Records used per person at most.")] = 1,
    rule: Annotated[str, typer.Option(help="optimal or algorithm2 (the paper's).")] = "optimal",
    mode: Annotated[
        str, typer.Option(help="certified, or reuse: more accurate, but not certified.")
    ] = "certified",
    values_epsilon: Annotated[
        float | None,
        typer.Option(help="Also count records with irregular feature values, at this cost."),
    ] = None,
    check_share: Annotated[
        float, typer.Option(help="Share of records that certify a rule found with --mode reuse.")
    ] = 0.0,
    notion: Annotated[
        str,
        typer.Option(
            help="demographic_parity, equal_opportunity, equalized_odds, accuracy_parity "
            "or parity_ratio."
        ),
    ] = "demographic_parity",
    tolerance: Annotated[float, typer.Option(help="The largest gap that is allowed.")] = 0.0,
    target: Annotated[
        str | None,
        typer.Option(help="Share to accept; for algorithm2 also midpoint, lower, upper, majority."),
    ] = None,
    capacity: Annotated[float | None, typer.Option(help="Share to accept at most.")] = None,
    costs: Annotated[
        str, typer.Option(help="Cost of a wrong acceptance and of a wrong rejection, as A,B.")
    ] = "1,1",
    arithmetic: Annotated[
        str, typer.Option(help="exact, or float64: noisy gradients in floating point.")
    ] = "exact",
    relation: Annotated[str, typer.Option(help="add_remove or replace_one.")] = "add_remove",
    composition: Annotated[str, typer.Option(help="tight or basic (the paper's sum).")] = "tight",
    ledger: LedgerPath = None,
    scope: LedgerScope = "",
    new_scope: NewScope = False,
    key: LedgerKey = None,
    seed: Seed = None,
    out: Annotated[Path | None, typer.Option(help="Write the model to this file.")] = None,
    report: Annotated[Path | None, typer.Option(help="Write an HTML report to this file.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the cost and stop; no record is read.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Train a private classifier, make it fair, certify it."""
    validate.positive(epsilon=epsilon)
    validate.in_open_interval(0, 1, delta=delta)
    check_writable(out, report, inputs=[ledger, schema, data_file(data)])
    payer = charge_to(ledger, scope, key, new_scope)
    if dry_run and infer_schema:
        raise InputError("--dry-run reads no record, and --infer-schema would have to.")
    frame = None
    declared = Schema.load(schema) if schema is not None else shipped_schema(data)
    if declared is None:
        frame = read_data(data)
        declared = _inferred(frame, label, sensitive, unit)
        if not infer_schema:
            _propose(declared, frame, as_json=as_json)
        say("dpfair: warning: the schema was read off the data, which is not private.")
    declared = _with_columns(declared, label, sensitive)

    from dpfair.learners.logistic import PrivateLogisticRegression
    from dpfair.methods.fair_classifier import PrivateFairClassifier

    model = PrivateFairClassifier(
        epsilon,
        delta,
        schema=declared,
        rule=rule,
        mode=mode,
        check_share=check_share,
        values_epsilon=values_epsilon,
        notion=notion,
        tolerance=tolerance,
        target=_target(target),
        capacity=capacity,
        costs=_costs(costs),
        learner=PrivateLogisticRegression(arithmetic=arithmetic),
        relation=relation,
        ledger=payer,
        composition=composition,
        unit=unit,
        rows_per_unit=rows_per_unit,
        verbose=interactive(),
        random_state=seed,
    )
    model.check_plan(declared)
    if dry_run:
        _show_plan(model, declared, as_json=as_json)
        return
    earlier = _earlier(payer, model, declared)
    if earlier is not None:
        model = earlier
    elif payer is not None and out is None and key is None:
        raise InputError("With --ledger, give --out or --key, or what is paid for would be lost.")
    else:
        _fit(model, declared, data, frame, payer)
    _write(model, out, report)
    if as_json:
        print_json(fit_summary(model))
        return
    outcome = model.schema_.label
    print(f"Accepted means {outcome.name} = {outcome.values[1]}, the second of its two values.")
    print(model.certificate_)
    print("\n".join(["", *account_lines(model)]))
    for what, path in (("Model", out), ("Report", report)):
        if path is not None:
            print(f"{what}: {path}")
    if payer is not None:
        print(f"Ledger: {payer.path} ({_left(payer)})")


def _earlier(
    payer: ChargeTo | None, model: PrivateFairClassifier, schema: Schema
) -> PrivateFairClassifier | None:
    if payer is None:
        return None
    from dpfair.cli.paying import kept_model

    return kept_model(payer, lambda: model.check_budget(schema))


def _fit(
    model: PrivateFairClassifier,
    schema: Schema,
    data: str,
    frame: pl.DataFrame | None,
    payer: ChargeTo | None,
) -> None:
    frame = read_data(data) if frame is None else frame
    if schema.label.name not in column_names(frame):
        raise SchemaError(f"The table has no column {schema.label.name!r}.")
    unit = None if model.unit is None else str(model.unit)
    model.fit(needed_columns(frame, schema, unit), frame[schema.label.name])
    if payer is not None:
        from dpfair.cli.paying import keep_model

        try:
            keep_model(payer, model)
        except LedgerFileError as error:
            raise _rescued(model, error) from error


def _left(payer: ChargeTo) -> str:
    from dpfair.privacy.ledger_file.file import LedgerFile

    file = LedgerFile(payer.path)
    return f"{amount(file.spent)} of {file.epsilon:g} spent by {len(file.entries)} charges"


def _target(text: str | None) -> float | str | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return text


def _costs(text: str) -> tuple[float, float]:
    found = numbers(text, "--costs")
    if len(found) != 2:
        raise InputError(f"Expected --costs to be two numbers such as 1,5, got {text!r}.")
    return found[0], found[1]


def _inferred(
    frame: pl.DataFrame, label: str | None, sensitive: str | None, unit: str | None
) -> Schema:
    from dpfair.data.infer import infer_levels, infer_schema
    from dpfair.data.tabular import MAX_GROUPS

    for given, option in ((label, "--label"), (sensitive, "--sensitive")):
        if given is None:
            raise InputError(f"Without a schema, {option} must name a column.")
    assert label is not None
    assert sensitive is not None
    columns = _group_columns(sensitive, frame.columns)
    for name in (label, *columns):
        if name not in frame.columns:
            listed = ", ".join(frame.columns[:20])
            raise SchemaError(f"The table has no column {name!r}; it has {listed}.")
    outcome = infer_levels(label, frame[label], what="label", most=2)
    leave_out = frozenset() if unit is None else frozenset([unit])
    if len(columns) > 1:
        return infer_schema(frame, outcome, None, leave_out=leave_out).with_sensitive(columns)
    [name] = columns
    groups = infer_levels(name, frame[name], what="sensitive column", most=MAX_GROUPS)
    return infer_schema(frame, outcome, groups, leave_out=leave_out)


def _group_columns(text: str, known: Sequence[str]) -> list[str]:
    """One column, or several with commas between them."""
    return [text] if text in known else [name.strip() for name in text.split(",")]


def _propose(schema: Schema, frame: pl.DataFrame, *, as_json: bool) -> None:
    """Print the draft and stop: a person has to look at it."""
    if not as_json:
        print(schema.to_toml())
    known = {c.name for c in schema.columns} | {schema.label.name}
    known |= set(schema.sensitive.column_names) if schema.sensitive else set()
    left = [c for c in frame.columns if c not in known]
    if left:
        say(f"dpfair: left out (constant, or like an identifier): {', '.join(left)}.")
    raise InputError(
        "No schema given. The proposed one was read off the data, which is not private: correct it "
        "by what you know, delete the line 'inferred = true', save it and pass it with --schema, "
        "or accept the leak with --infer-schema."
    )


def _with_columns(schema: Schema, label: str | None, sensitive: str | None) -> Schema:
    """The schema with the groups where the options say."""
    if label is not None and label != schema.label.name:
        raise SchemaError(
            f"The schema declares the label in {schema.label.name!r}, not in {label!r}."
        )
    if sensitive is not None:
        known = [column.name for column in schema.columns]
        known += schema.sensitive.column_names if schema.sensitive else ()
        columns = _group_columns(sensitive, known)
        schema = schema.with_sensitive(columns if len(columns) > 1 else columns[0])
    if schema.sensitive is None:
        raise SchemaError("The schema declares no sensitive column; name one with --sensitive.")
    return schema


def _show_plan(model: PrivateFairClassifier, schema: Schema, *, as_json: bool) -> None:
    from dpfair.certificate.judgement import delta_warning
    from dpfair.privacy.events import event_to_json

    model.check_budget(schema)
    ledger = model.rehearse(schema)
    if model.unit is None and (weak := delta_warning(ledger.delta, schema.rows)):
        say(f"dpfair: warning: {weak}")
    if as_json:
        entries: list[dict[str, Any]] = [
            {"scope": e.scope, "purpose": e.purpose, "event": event_to_json(e.event)}
            for e in ledger.entries
        ]
        print_json(
            {
                "dry_run": True,
                "rule": model.rule,
                "mode": model.mode,
                "notion": model.notion,
                "tolerance": model.tolerance,
                "groups": list(schema.groups),
                "epsilon": ledger.epsilon,
                "delta": ledger.delta,
                "spent": ledger.spent,
                "ledger": entries,
            }
        )
        return
    print(_plan_words(model, schema))
    print("A fit would charge:")
    for entry in ledger.entries:
        scope = entry.scope or "all"
        print(f"  {scope:<8} {entry.purpose:<38} epsilon {amount(entry.epsilon)}")
    spent = amount(ledger.spent)
    print(f"  in all (epsilon, delta) = ({spent}, {ledger.delta:g}); nothing was read.")


def _plan_words(model: PrivateFairClassifier, schema: Schema) -> str:
    from dpfair.fairness.notions import notion_of

    notion = notion_of(model.notion)
    rule = "Algorithm 2" if model.rule == "algorithm2" else f"Score thresholds, {model.mode}"
    said = [rule, f"{notion.title} within {model.tolerance:g} between {len(schema.groups)} groups"]
    said += [f"target {model.target}"] if model.target is not None else []
    said += [f"capacity {model.capacity:g}"] if model.capacity is not None else []
    if tuple(model.costs) != (1, 1):
        said.append(f"costs {model.costs[0]:g} and {model.costs[1]:g}")
    if model.check_share:
        said.append(f"checked on {model.check_share:.4g} of the records")
    return f"{'; '.join(said)}."


def _write(model: PrivateFairClassifier, out: Path | None, report: Path | None) -> None:
    """Write what was asked for; a model that was paid for is not lost when that fails."""
    if out is not None:
        from dpfair.models.file import model_bytes, write_model

        content = model_bytes(model)
        try:
            write_model(content, out)
        except InputError as error:
            raise _rescued(model, error) from error
    if report is not None:
        from dpfair.report import write_report

        try:
            write_report(model, report)
        except InputError as error:
            if out is not None:
                raise
            raise _rescued(model, error) from error


def _rescued(model: PrivateFairClassifier, error: InputError) -> InputError:
    """The error, with the place where the model is now; nobody can pay for the same one again."""
    from dpfair.models.file import model_bytes, write_model

    content, name = model_bytes(model), f"rescued-{secrets.token_hex(8)}.dpfair"
    for folder in (Path.cwd(), Path(tempfile.gettempdir())):
        try:
            place = write_model(content, folder / name)
        except InputError:
            continue
        return InputError(f"{error} The model was written to {place} instead.")
    return error
