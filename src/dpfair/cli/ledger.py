"""``dpfair ledger``: the privacy budget of a data set, in a file that all its jobs share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpfair.cli.help import CommandsInPanels, HelpFromTables, example_text
from dpfair.cli.ledger_summary import print_scopes, print_summary, printable
from dpfair.cli.looks import print_table
from dpfair.cli.options import AsJson
from dpfair.cli.output import amount, check_writable, print_json, say
from dpfair.errors import LedgerTamperedError
from dpfair.files import write_file

if TYPE_CHECKING:
    from dpfair.privacy.ledger_file import LedgerFile

__all__ = ["ledger"]

ledger = typer.Typer(
    name="ledger",
    help="Make, read and check the ledger file of a data set.",
    cls=CommandsInPanels,
    rich_markup_mode=None,
    invoke_without_command=True,
)

scope_commands = typer.Typer(
    name="scope",
    help="Declare and list the parts of a data set that have a budget each.",
    cls=CommandsInPanels,
    rich_markup_mode=None,
    invoke_without_command=True,
)
ledger.add_typer(scope_commands)


def _example(text: str) -> dict[str, Any]:
    """How a command of this file is declared, with an example in its help."""
    return {"cls": HelpFromTables, "epilog": example_text([text])}


File = Annotated[Path, typer.Argument(metavar="FILE", help="A ledger file made by ledger init.")]


@ledger.callback()
@scope_commands.callback()
def _help(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())


@ledger.command(
    **_example("dpfair ledger init loans.ledger --epsilon 10 --delta 1e-5 --name loans")
)
def init(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to make.")],
    epsilon: Annotated[str, typer.Option(help="The budget, such as 3 or 0.1 or 1/3.")],
    delta: Annotated[str, typer.Option(help="The delta of the guarantee, such as 1e-5.")],
    name: Annotated[str, typer.Option(help="What the data set is called.")] = "",
    relation: Annotated[str, typer.Option(help="add_remove or replace_one.")] = "add_remove",
    planned: Annotated[
        bool,
        typer.Option(
            "--planned",
            help="All jobs are planned before a result is seen: they cost less together.",
        ),
    ] = False,
    unit: Annotated[
        str | None, typer.Option(help="The column that identifies a person, for a budget each.")
    ] = None,
    rows_per_unit: Annotated[
        int, typer.Option(help="How many records of a person are used at most.")
    ] = 1,
    as_json: AsJson = False,
) -> None:
    """Make a ledger file with a budget; an existing file is never overwritten."""
    from dpfair.privacy.ledger_file import LedgerFile

    made = LedgerFile.create(
        file,
        epsilon,
        delta,
        name=name,
        relation=relation,
        planned=planned,
        unit=unit,
        rows_per_unit=rows_per_unit,
    )
    print_summary(made.path, as_json=as_json)


@ledger.command(**_example("dpfair ledger show loans.ledger --scope 2025/north"))
def show(
    file: File,
    scope: Annotated[
        str, typer.Option(help="The part of the data set that the next job is about.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """What FILE has spent in every scope, and what a next job may cost."""
    print_summary(file, scope, as_json=as_json)


@scope_commands.command(**_example("dpfair ledger scope add loans.ledger 2025 2025/north"))
def add(
    file: File,
    scopes: Annotated[
        list[str], typer.Argument(metavar="SCOPE...", help="Such as 2025 and then 2025/north.")
    ],
    as_json: AsJson = False,
) -> None:
    """Declare parts of the data set of FILE, so that jobs can be charged to them."""
    opened = _opened(file)
    for scope in scopes:
        opened.add_scope(scope)
    print_scopes(opened, as_json=as_json)


@scope_commands.command("list", **_example("dpfair ledger scope list loans.ledger"))
def list_scopes(file: File, as_json: AsJson = False) -> None:
    """The parts that FILE knows, and what each has spent."""
    print_scopes(_opened(file), as_json=as_json)


@ledger.command(**_example("dpfair ledger history loans.ledger"))
def history(file: File, as_json: AsJson = False) -> None:
    """Every charge to FILE, oldest first."""
    opened = _opened(file)
    charges = opened.history
    resumable = [c.key for c in charges if c.key is not None and opened.resumable(c.key)]
    if as_json:
        print_json(
            {
                "charges": [
                    {
                        "time": charge.time,
                        "scope": charge.scope,
                        "purpose": charge.purpose,
                        "key": charge.key,
                        "resumable": charge.key in resumable,
                        "epsilon": float(charge.epsilon),
                        "delta": float(charge.delta),
                        "spent": float(charge.spent),
                    }
                    for charge in charges
                ]
            }
        )
        return
    headings = ("time (UTC)", "scope", "purpose", "key", "epsilon", "spent")
    rows = []
    for charge in charges:
        rows.append(
            (
                charge.time[:19].replace("T", " "),
                printable(charge.scope) or "all",
                printable(charge.purpose),
                printable(charge.key or "-"),
                amount(float(charge.epsilon)),
                amount(float(charge.spent)),
            )
        )
    widths = [max(map(len, column)) for column in zip(headings, *rows, strict=True)]
    plain = [
        "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip()
        for row in (headings, *rows)
    ]
    print_table(headings, rows, plain)
    for key in resumable:
        print(
            f"The job {printable(key)!r} has kept no result. Started again with its key, it goes "
            "on and is not charged again."
        )


@ledger.command(**_example("dpfair ledger verify loans.ledger"))
def verify(
    file: File,
    head: Annotated[
        str | None, typer.Option(help="A hash that show printed before: its row must be there.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check every byte of FILE; a failed check exits with code 1."""
    try:
        found = _opened(file).verify(head=head)
    except LedgerTamperedError as error:
        if as_json:
            print_json({"verified": False, "reason": str(error)})
        say(f"dpfair: {error}")
        raise typer.Exit(1) from error
    if as_json:
        print_json(
            {
                "verified": True,
                "rows": found.rows,
                "charges": found.charges,
                "spent": found.spent,
                "head": found.head,
                "image": found.image,
            }
        )
        return
    print(f"{file} is in order (rows: {found.rows}, charges: {found.charges}).")
    if not found.image:
        print("Another version of SQLite wrote some rows, so unused bytes were not compared.")
    if head is None:
        print("Rows missing at the end can be noticed only with --head.")
    print(f"head {found.head}")


@ledger.command(**_example("dpfair ledger export loans.ledger --out loans.jsonl"))
def export(
    file: File,
    out: Annotated[Path | None, typer.Option(help="Write the lines to this file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Every row of FILE as a line of JSON, with the chain of hashes."""
    check_writable(out, inputs=[file])
    lines = list(_opened(file).export())
    if out is not None:
        write_file(out, "".join(f"{line}\n" for line in lines).encode())
        if as_json:
            print_json({"export": str(out), "rows": len(lines)})
        else:
            print(f"Export: {out}")
    elif as_json:
        print_json({"rows": [json.loads(line) for line in lines]})
    else:
        for line in lines:
            print(line)


def _opened(file: Path) -> LedgerFile:
    from dpfair.privacy.ledger_file import LedgerFile

    return LedgerFile(file)
