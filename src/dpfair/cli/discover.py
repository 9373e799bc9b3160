"""``dpfair schema discover``: find facts of a table privately, as a job of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dpfair.cli.options import (
    AsJson,
    Data,
    LedgerKey,
    LedgerPath,
    LedgerScope,
    NewScope,
    Seed,
    charge_to,
    delta_of,
)
from dpfair.cli.output import check_writable, print_account, print_json, say
from dpfair.cli.progress import working
from dpfair.cli.schemas import refuse_unreviewed
from dpfair.cli.stopping import saying_what_is_left, what_is_left
from dpfair.cli.tables import inputs_of, read_data
from dpfair.files import write_file

__all__ = ["discover"]

DELTA = 1e-6
"""Of a job that no ledger pays for."""


def discover(
    data: Data,
    schema: Annotated[
        Path,
        typer.Option(help="A schema of column names and kinds; what else it declares is kept."),
    ],
    epsilon: Annotated[float, typer.Option(help="What it may cost a record.")],
    delta: Annotated[
        float | None,
        typer.Option(help="The delta of the guarantee. Default: that of --ledger, or else 1e-6."),
    ] = None,
    relation: Annotated[str, typer.Option(help="add_remove or replace_one.")] = "add_remove",
    unit: Annotated[str | None, typer.Option(help="The column that identifies a person.")] = None,
    rows_per_unit: Annotated[
        int, typer.Option(help="How many records of a person are counted at most.")
    ] = 1,
    ledger: LedgerPath = None,
    scope: LedgerScope = "",
    new_scope: NewScope = False,
    key: LedgerKey = None,
    out: Annotated[Path | None, typer.Option(help="Write the schema to this file.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what it would charge; read no record.")
    ] = False,
    seed: Seed = None,
    as_json: AsJson = False,
) -> None:
    """Find bins, usual values and categories of DATA privately.

    A fit does this itself, within its budget. As a job of its own it shows a table, or serves
    several fits; these have no certified gap, because their records were used before.
    """
    from dpfair.cli.paying import keep_numbers, kept_numbers, planned_charge, planned_line
    from dpfair.data.schema import Schema
    from dpfair.discovery.job import DiscoveryJob

    check_writable(out, inputs=[schema, *inputs_of(data)])
    to = charge_to(ledger, scope, key, new_scope)
    declared = Schema.load(schema)
    if to is not None:
        refuse_unreviewed(declared, schema)
    at = delta_of(delta, to, DELTA)
    job = DiscoveryJob(declared, epsilon, at, relation, unit, rows_per_unit)
    if dry_run:
        payment = job.payment(to)
        after = planned_charge(payment, to)
        if as_json:
            print_json({"dry_run": True, "plan": payment.plan.to_json(), "ledger_file": after})
            return
        print_account(payment.plan.total(), "It would charge:")
        if after is not None:
            print(planned_line(after))
        return
    earlier = kept_numbers(to, lambda: job.payment(to))
    if earlier is not None:
        found = Schema.from_dict(earlier)
    else:
        with working("reading the records"):
            frame = read_data(data, declared.file)
        with working("counting"), saying_what_is_left(what_is_left(to)):
            found = job.find(frame, to, seed)
        keep_numbers(to, found.to_dict())
    if out is not None:
        write_file(out, found.to_toml().encode())
        say(f"dpfair: written to {out}.")
    if as_json:
        print_json({"private": seed is None, "schema": found.to_dict()})
    elif out is None:
        print(found.to_toml())
