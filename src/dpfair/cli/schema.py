"""``dpfair schema``: propose the schema of a table, find its facts privately, or export them."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpfair.cli.discover import discover
from dpfair.cli.export import export
from dpfair.cli.help import HelpFromTables, example_text
from dpfair.cli.options import AsJson
from dpfair.cli.output import check_writable, print_json, say
from dpfair.cli.schemas import proposed, say_notes
from dpfair.errors import InputError
from dpfair.files import reading, write_file

if TYPE_CHECKING:
    from dpfair.data.proposal import Proposal

__all__ = ["schema"]

schema = typer.Typer(
    name="schema", help="Write the schema of a table.", rich_markup_mode=None, no_args_is_help=True
)


@schema.callback()
def _group() -> None:
    """Write the schema of a table."""


@schema.command(
    cls=HelpFromTables,
    epilog=example_text(["dpfair schema propose loans.csv --label repaid --sensitive sex"]),
)
def propose(
    file: Annotated[Path, typer.Argument(help="A CSV, Parquet, Arrow or Excel file.")],
    label: Annotated[str, typer.Option(help="The column to predict.")],
    sensitive: Annotated[
        str, typer.Option(help="The column with the groups; a,b for all combinations.")
    ],
    accept: Annotated[
        str | None, typer.Option(help="The value of the label that means accepted.")
    ] = None,
    delimiter: Annotated[
        str | None, typer.Option(help="What separates cells, if it is not found in the header.")
    ] = None,
    encoding: Annotated[
        str | None, typer.Option(help="The encoding of the file, such as cp1252.")
    ] = None,
    kinds_only: Annotated[
        bool,
        typer.Option(
            "--kinds-only", help="Leave out bounds and categories: fit finds them privately."
        ),
    ] = False,
    out: Annotated[Path | None, typer.Option(help="Write the schema to this file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Read a schema off FILE, for a person to finish. This is NOT private."""
    from dpfair.data.file_form import FileForm
    from dpfair.data.read import read_table

    check_writable(out, inputs=[file])
    if out is not None and out.exists():
        raise InputError(f"{out} exists, and may have been corrected: choose another name.")
    form = FileForm(
        delimiter="\t" if delimiter in ("\\t", "tab") else delimiter,
        encoding=_likely_encoding(file) if encoding is None else encoding,
    )
    frame = read_table(file, form)
    proposal = proposed(frame, label, sensitive, accept=accept, file=form)
    if not as_json and accept is None and sys.stdin.isatty() and sys.stderr.isatty():
        chosen = _ask(proposal)
        if chosen != proposal.accepted.value:
            proposal = proposed(frame, label, sensitive, accept=chosen, file=form)
    text = proposal.to_toml(file.name, kinds_only=kinds_only)
    say("dpfair: this proposal was read off the data, which is not private: internal.")
    say_notes(proposal)
    if out is not None:
        write_file(out, text.encode())
        say(f"dpfair: written to {out}; correct it, then write reviewed = true.")
    if as_json:
        print_json(_as_data(proposal, kinds_only=kinds_only))
    elif out is None:
        print(text)


schema.command(
    cls=HelpFromTables,
    epilog=example_text(["dpfair schema discover a.csv --schema kinds.toml --epsilon 0.3"]),
)(discover)
schema.command(
    cls=HelpFromTables,
    epilog=example_text(["dpfair schema export m.dpfair --out loans.toml"]),
)(export)


def _ask(proposal: Proposal) -> str:
    """Ask which value of the label means accepted."""
    values = [*proposal.schema.label.values, *proposal.other_labels]
    question = f"Which value of {proposal.schema.label.name} means accepted ({', '.join(values)})?"
    if hasattr(signal, "siginterrupt"):
        # Polars asks the system to go on with a read after Ctrl-C; here it has to end.
        signal.siginterrupt(signal.SIGINT, True)

    def known(answer: str) -> str:
        if answer not in values:
            raise typer.BadParameter(f"{answer!r} is no value of the label.")  # asks again
        return answer

    default = proposal.accepted.value
    return str(typer.prompt(question, default=default, err=True, value_proc=known))


def _likely_encoding(path: Path) -> str:
    """UTF-8, unless the file is a text that is not; then the usual encoding of Windows."""
    from dpfair.data.read import check_readable, is_text_file

    if not is_text_file(check_readable(path)) or path.suffix.lower() == ".gz":
        return "utf-8"
    with reading(path):
        content = path.read_bytes()
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-8"  # the mark of UTF-16 says it
    try:
        content.decode()
    except UnicodeDecodeError:
        say("dpfair: the file is not UTF-8; assumed encoding cp1252. State another by --encoding.")
        return "cp1252"
    return "utf-8"


def _as_data(proposal: Proposal, *, kinds_only: bool) -> dict[str, object]:
    from dpfair.data.proposal.toml import READ_OFF

    accepted, data = proposal.accepted, proposal.schema.to_dict()
    hidden = READ_OFF if kinds_only else ()
    data["columns"] = [
        {name: entry for name, entry in column.items() if name not in hidden}
        for column in data["columns"]
    ]
    return {
        "private": False,
        "schema": data,
        "accepted": {"value": accepted.value, "why": accepted.why, "sure": accepted.sure},
        "left_out": {column.name: column.reason for column in proposal.left_out},
        "remarks": dict(proposal.remarks),
        "other_labels": dict(proposal.other_labels),
        "notes": list(proposal.notes),
    }
