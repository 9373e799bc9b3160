"""``dpfair fit``: from a table to a certified model."""

from __future__ import annotations

import secrets
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpfair import validate
from dpfair.cli.cluster import DaskAddress, files_on_workers, workers
from dpfair.cli.dry_run import show_plan
from dpfair.cli.looks import print_facts
from dpfair.cli.next_steps import print_next_steps
from dpfair.cli.options import (
    AsJson,
    DataFiles,
    LedgerKey,
    LedgerPath,
    LedgerScope,
    Memory,
    NewScope,
    Seed,
    charge_to,
    delta_of,
)
from dpfair.cli.output import (
    check_page,
    check_writable,
    fit_summary,
    interactive,
    print_account,
    print_json,
    say,
    undeclared_hint,
)
from dpfair.cli.progress import working
from dpfair.cli.schemas import (
    inferred,
    proposed,
    refuse_parts,
    refuse_unreviewed,
    stop_with,
    with_columns,
)
from dpfair.cli.stopping import saying_what_is_left, what_is_left
from dpfair.cli.tables import (
    files_in_parts,
    inputs_of,
    memory_size,
    names_several,
    one_file,
    read_data,
    shipped_schema,
    table_and_labels,
)
from dpfair.errors import InputError, LedgerFileError

if TYPE_CHECKING:
    import polars as pl

    from dpfair.data.schema import Schema
    from dpfair.methods.base import PrivateClassifier
    from dpfair.privacy.payment import ChargeTo
    from dpfair.privacy.plan import FitPlan

DELTA = 1e-5
"""Of a fit that no ledger pays for."""

LONGEST_NAME = 40
"""Of a line of the certificate, such as "Found privately, within the budget"."""


def fit(
    data: DataFiles,
    epsilon: Annotated[float, typer.Option(help="The privacy budget.")],
    delta: Annotated[
        float | None,
        typer.Option(help="The delta of the guarantee. Default: that of --ledger, or else 1e-5."),
    ] = None,
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
    method: Annotated[str, typer.Option(help="{methods}.")] = "fair",
    learner: Annotated[str | None, typer.Option(help="What trains the scorer: {learners}.")] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="A setting of the method or its learner; dpfair methods lists them.",
        ),
    ] = None,
    mode: Annotated[
        str | None, typer.Option(help="certified, or reuse: more accurate, but not certified.")
    ] = None,
    notion: Annotated[str | None, typer.Option(help="{notions}.")] = None,
    tolerance: Annotated[str | None, typer.Option(help="The largest gap that is allowed.")] = None,
    target: Annotated[str | None, typer.Option(help="Share to accept.")] = None,
    capacity: Annotated[str | None, typer.Option(help="Share to accept at most.")] = None,
    costs: Annotated[
        str | None,
        typer.Option(help="Cost of a wrong acceptance and of a wrong rejection, as A,B."),
    ] = None,
    check_share: Annotated[
        str | None,
        typer.Option(help="Share of records that certify a rule found with --mode reuse."),
    ] = None,
    values_epsilon: Annotated[
        str | None,
        typer.Option(help="Also count records with irregular feature values, at this cost."),
    ] = None,
    arithmetic: Annotated[
        str | None, typer.Option(help="exact, or float64: noisy gradients in floating point.")
    ] = None,
    composition: Annotated[
        str | None, typer.Option(help="tight, or basic: costs are added up.")
    ] = None,
    relation: Annotated[str, typer.Option(help="add_remove or replace_one.")] = "add_remove",
    ledger: LedgerPath = None,
    scope: LedgerScope = "",
    new_scope: NewScope = False,
    key: LedgerKey = None,
    memory: Memory = None,
    dask: DaskAddress = None,
    seed: Seed = None,
    out: Annotated[Path | None, typer.Option(help="Write the model to this file.")] = None,
    report: Annotated[Path | None, typer.Option(help="Write an HTML report to this file.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the cost and stop; no record is read.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Train a private classifier, make it fair, certify it.

    Exit 1 if nearly no record has a declared label or group, so that the model is of no use.

    --mode, --notion, --tolerance, --target, --capacity, --costs, --check-share, --values-epsilon,
    --arithmetic and --composition are short for --set; a method that has no such setting refuses
    them.
    """

    validate.positive(epsilon=epsilon)
    if delta is not None:
        validate.in_open_interval(0, 1, delta=delta)
    from dpfair.privacy.events import RELATIONS

    validate.one_of(RELATIONS, relation=relation)
    validate.at_least(1, rows_per_unit=rows_per_unit)
    size = memory_size(memory)
    check_writable(out, report, inputs=[ledger, schema, *inputs_of(data)])
    check_page(report)
    payer = charge_to(ledger, scope, key, new_scope)
    if infer_schema and schema is not None:
        raise InputError("Give either --schema or --infer-schema, not both.")
    if infer_schema and shipped_schema(data) is not None:
        raise InputError(f"The data set {data} has a schema: leave out --infer-schema.")
    if dry_run and infer_schema:
        raise InputError("--dry-run reads no record, and --infer-schema would have to.")
    # The options are checked before a record is read, also where the schema is read off them.
    from dpfair.cli.settings import Given, given_pairs, make_model
    from dpfair.data.schema import Schema
    from dpfair.methods.limits import check_plan

    short_forms = {
        "mode": mode,
        "notion": notion,
        "tolerance": tolerance,
        "target": target,
        "capacity": capacity,
        "costs": costs,
        "check_share": check_share,
        "values_epsilon": values_epsilon,
        "arithmetic": arithmetic,
        "composition": composition,
    }
    given = [
        Given(name, text, f"--{name.replace('_', '-')}")
        for name, text in short_forms.items()
        if text is not None
    ]
    model = make_model(
        method,
        learner,
        [*given, *given_pairs(settings or ())],
        epsilon=epsilon,
        delta=delta_of(delta, payer, DELTA),
        relation=relation,
        ledger=payer,
        unit=unit,
        rows_per_unit=rows_per_unit,
        verbose=interactive(),
        random_state=seed,
    )
    model.check_parameters()
    frame = None
    declared = Schema.load(schema) if schema is not None else shipped_schema(data)
    if declared is None:
        if dry_run:
            raise InputError("A dry run needs --schema: without one, records would be read.")
        if size is not None or dask is not None or names_several(data):
            refuse_parts(one_file(data), inferring=infer_schema)
        with working("reading the records"):
            frame = read_data(data)
        proposal = proposed(frame, label, sensitive, unit=unit)
        if not infer_schema:
            stop_with(proposal, data, as_json=as_json)
        declared = inferred(proposal)
    if payer is not None:
        refuse_unreviewed(declared, schema)
    declared = with_columns(declared, label, sensitive)
    model.set_params(schema=declared)
    # What a method assumes about the records is known only when they are read.
    unknown = bool(model.assumes(declared)) and payer is None and not dry_run
    with working("planning"):
        plan = None if unknown else model.plan(declared)
    if plan is not None:
        check_plan(plan, declared, labelled=model.counts_labels)
    if dry_run:
        assert plan is not None
        show_plan(model, plan, declared, data, payer, as_json=as_json)
        return
    earlier = _earlier(payer, model, plan, declared)
    if earlier is not None:
        model = earlier
    elif payer is not None and out is None and key is None:
        raise InputError("With --ledger, give --out or --key, or what is paid for would be lost.")
    else:
        left = what_is_left(payer, goes_on=model.in_parts)
        with saying_what_is_left(left), workers(dask, if_lost=left) as client:
            _fit(model, plan, declared, data, size, frame, payer, client)
    _write(model, out, report)
    if as_json:
        print_json({**fit_summary(model), "earlier": earlier is not None})
        if model.certificate_.fairness.mostly_undeclared:
            raise typer.Exit(1)
        return
    if earlier is not None:
        print(f"Earlier result of the job {key!r}; DATA was not read.")
    accepted = model.schema_.label
    print(f"Accepted means {accepted.name} = {accepted.values[1]}, the second of its two values.")
    promises = str(model.certificate_).splitlines()
    print_facts([_name_and_text(promise) for promise in promises], promises)
    print()
    print_account(model.ledger_, "Privacy account")
    useless = model.certificate_.fairness.mostly_undeclared
    if not useless and (looks_wrong := undeclared_hint(model, data, schema)):
        print(looks_wrong)
    for what, path in (("Model", out), ("Report", report)):
        if path is not None:
            print(f"{what}: {path}")
    if payer is not None:
        from dpfair.cli.paying import ledger_line

        print(ledger_line(payer))
    if useless:
        _stop_using(model, useless, one_file(data), schema)
    print_next_steps(model, data, out, report, payer)


def _stop_using(model: PrivateClassifier, kind: str, data: str, schema: Path | None) -> None:
    """End with exit code 1: the fit was paid for, but nobody should decide by this model."""
    fairness = model.certificate_.fairness
    values = fairness.labels if kind == "label" else fairness.groups
    known = "/".join(values) if values else "the declared ones"
    say(
        f"dpfair: nearly all {kind}s are none of {known}, so the model is of no use. What was paid "
        f"is spent. Compare the {kind} values of the schema with the file: dpfair check {data} "
        f"--schema {schema or 'SCHEMA'}"
    )
    raise typer.Exit(1)


def _name_and_text(promise: str) -> tuple[str, str]:
    """A line of the certificate in two parts; one without a name is all text."""
    name, _, text = promise.partition(": ")
    return (name, text) if text and len(name) <= LONGEST_NAME else ("", promise)


def _earlier(
    payer: ChargeTo | None, model: PrivateClassifier, plan: FitPlan | None, schema: Schema
) -> PrivateClassifier | None:
    if payer is None or plan is None:
        return None
    from dpfair.cli.paying import kept_model

    return kept_model(payer, lambda: model.payment(plan, schema))


def _fit(
    model: PrivateClassifier,
    plan: FitPlan | None,
    schema: Schema,
    data: str,
    memory: int | None,
    frame: pl.DataFrame | None,
    payer: ChargeTo | None,
    client: Any,
) -> None:
    table: Any = None
    labels = None
    if client is not None:
        table = files_on_workers(client, data, memory, schema.file, why_whole=model.why_whole)
    elif frame is None:
        table = files_in_parts(data, memory, schema.file, why_whole=model.why_whole)
    if table is None:
        if frame is None:
            with working("reading the records"):
                frame = read_data(data, schema.file)
        unit = None if model.unit is None else str(model.unit)
        table, labels = table_and_labels(frame, schema, unit)
    if plan is None:
        model.fit(table, labels)
    else:
        model.fit_planned(plan, table, labels)
    if payer is not None:
        from dpfair.cli.paying import keep_model

        try:
            keep_model(payer, model)
        except LedgerFileError as error:
            raise _rescued(model, error) from error


def _write(model: PrivateClassifier, out: Path | None, report: Path | None) -> None:
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


def _rescued(model: PrivateClassifier, error: InputError) -> InputError:
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
