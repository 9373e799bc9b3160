"""The ``dpfair`` command: one file per subcommand.

Exit codes: 0 done, 1 a check failed, 2 bad input (one sentence on standard error), 3 budget
refused.
"""

from __future__ import annotations

import sys
import warnings
from typing import TextIO

import typer

from dpfair.cli.account import account
from dpfair.cli.audit import audit
from dpfair.cli.benchmark import benchmark
from dpfair.cli.check import check
from dpfair.cli.demo import demo
from dpfair.cli.evaluate import evaluate
from dpfair.cli.fit import fit
from dpfair.cli.frontier import frontier
from dpfair.cli.ledger import ledger
from dpfair.cli.methods import methods
from dpfair.cli.options import FIT_NOTE, HelpFromTables
from dpfair.cli.predict import predict
from dpfair.cli.report import report
from dpfair.cli.reproduce import reproduce
from dpfair.cli.schema import schema
from dpfair.cli.verify import verify
from dpfair.errors import BudgetError, InputError

__all__ = ["app", "main", "run"]

app = typer.Typer(
    name="dpfair",
    help="Private and fair binary classifiers: train, release, decide, certify.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command()(demo)
app.command(cls=HelpFromTables, epilog=FIT_NOTE)(fit)
for command in (
    check,
    methods,
    predict,
    evaluate,
    frontier,
    account,
    report,
    verify,
    audit,
    reproduce,
):
    app.command()(command)
app.command(cls=HelpFromTables)(benchmark)
app.add_typer(ledger)
app.add_typer(schema)


@app.callback(invoke_without_command=True)
def _version(
    version: bool = typer.Option(False, "--version", help="Print the version and stop."),
) -> None:
    if version:
        from dpfair import __version__

        print(__version__)
        raise typer.Exit


def main() -> None:
    """Run the command line, and end with its exit code."""
    warnings.showwarning = _show_warning
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run one command; every expected failure is one sentence on standard error."""
    try:
        code = typer.main.get_command(app).main(
            arguments or ["--help"], prog_name="dpfair", standalone_mode=False
        )
    except BudgetError as error:
        return _complain(str(error), 3)
    except InputError as error:
        return _complain(str(error), 2)
    except BrokenPipeError:
        return 0
    except Exception as error:
        # Typer's own usage errors (a wrong option, a missing argument) know their message.
        if hasattr(error, "format_message"):
            return _complain(error.format_message(), 2)
        raise
    return code if isinstance(code, int) else 0


_run = run


def _complain(sentence: str, code: int) -> int:
    print(f"dpfair: {' '.join(sentence.split())}", file=sys.stderr)
    return code


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    print(f"dpfair: warning: {message}", file=sys.stderr)
