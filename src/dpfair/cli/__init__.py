"""The ``dpfair`` command: one file per subcommand.

Exit codes: 0 done, 1 a check failed, 2 bad input (one sentence on standard error), 3 budget
refused, 4 an error of dpfair itself; 128 and the number of a signal, as shells have it.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import traceback
import warnings
from typing import Any, TextIO

import typer

from dpfair.cli.account import account
from dpfair.cli.audit import audit
from dpfair.cli.benchmark import benchmark
from dpfair.cli.check import check
from dpfair.cli.demo import demo
from dpfair.cli.evaluate import evaluate
from dpfair.cli.fit import fit
from dpfair.cli.frontier import frontier
from dpfair.cli.help import CommandsInPanels, HelpFromTables, example_text
from dpfair.cli.ledger import ledger
from dpfair.cli.looks import print_styled
from dpfair.cli.methods import methods
from dpfair.cli.output import say
from dpfair.cli.predict import predict
from dpfair.cli.report import report
from dpfair.cli.reproduce import reproduce
from dpfair.cli.schema import schema
from dpfair.cli.usage import usage_sentence
from dpfair.cli.verify import verify
from dpfair.errors import BudgetError, InputError

__all__ = ["app", "main", "run"]

COMMANDS: dict[str, dict[Any, tuple[str, ...]]] = {
    "Start": {
        demo: ("dpfair demo --out my-demo",),
        schema: (
            "dpfair schema propose loans.csv --label repaid --sensitive sex --out loans.toml",
            "dpfair schema discover loans.csv --schema kinds.toml --epsilon 0.3 --out loans.toml",
            "dpfair schema export m.dpfair --out loans.toml",
        ),
        check: (
            "dpfair check loans.csv --schema loans.toml",
            "dpfair check new.csv --model m.dpfair",
        ),
        fit: (
            "dpfair fit loans.csv --schema loans.toml --epsilon 3 --dry-run",
            "dpfair fit loans.csv --schema loans.toml --epsilon 3 --out m.dpfair",
        ),
        methods: ("dpfair methods", "dpfair methods fair"),
    },
    "Use a model": {
        predict: ("dpfair predict m.dpfair new.csv --id number --out decisions.csv",),
        evaluate: (
            "dpfair evaluate m.dpfair held-out.csv",
            "dpfair evaluate m.dpfair held-out.csv --private-epsilon 0.5",
        ),
        frontier: ("dpfair frontier m.dpfair --tolerances 0,0.02,0.1",),
        report: ("dpfair report m.dpfair --out report.html",),
    },
    "Budget and trust": {
        ledger: (
            "dpfair ledger init loans.ledger --epsilon 10 --delta 1e-5",
            "dpfair ledger show loans.ledger",
        ),
        account: ("dpfair account --epsilon 3 --sampling-rate 0.04 --steps 1000 --delta 1e-5",),
        verify: ("dpfair verify m.dpfair --ledger loans.ledger",),
        audit: ("dpfair audit m.dpfair", "dpfair audit mechanisms"),
    },
    "Research": {
        reproduce: ("dpfair reproduce --table adult-3-prv",),
        benchmark: ("dpfair benchmark adult --epsilon 3 --seeds 1000-1009",),
    },
}
"""The commands with examples, by the heading that the help lists them under."""

app = typer.Typer(
    name="dpfair",
    help="Private and fair binary classifiers: train, release, decide, certify.",
    cls=CommandsInPanels,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for panel, commands in COMMANDS.items():
    for command, examples in commands.items():
        if isinstance(command, typer.Typer):
            app.add_typer(command, rich_help_panel=panel, epilog=example_text(examples))
        else:
            app.command(cls=HelpFromTables, rich_help_panel=panel, epilog=example_text(examples))(
                command
            )


@app.callback(invoke_without_command=True)
def _version(
    version: bool = typer.Option(False, "--version", help="Print the version and stop."),
) -> None:
    if version:
        from dpfair import __version__

        print(__version__)
        raise typer.Exit


_STOPPED = 128 + 2  # SIGINT
_NOBODY_READS = 128 + 13  # SIGPIPE, which Windows does not have
_ENDED = 128 + 15  # SIGTERM


def main() -> None:
    """Run the command line, and end with its exit code."""
    # Before NumPy is imported. Idle threads of its linear algebra sleep at once; otherwise each
    # of them uses up a twentieth of a second first. No result depends on it.
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "16")
    # Nearly all objects that a command makes stay until its end. Python would look for garbage
    # among them after every 700 new ones, and again among all of them before it ends: a sixth of
    # the time of a fit of a small table.
    gc.set_threshold(50_000)
    warnings.showwarning = _show_warning
    _end_in_order()
    code = run(sys.argv[1:])
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        code = _NOBODY_READS
    if code == _NOBODY_READS:  # Python would complain about what is not written at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    gc.freeze()
    sys.exit(code)


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
    except SystemExit as error:
        if isinstance(error.__context__, BrokenPipeError):  # which Typer turns into 1
            return _NOBODY_READS
        if error.code not in (_STOPPED, _ENDED):  # after SIGHUP nobody is there to be told
            raise
        return _complain(" ".join(["Stopped.", *getattr(error, "__notes__", [])]), error.code)
    except typer.Abort:
        print(file=sys.stderr)  # the line of the question ends here
        return _complain("Stopped: the question was not answered.", _STOPPED)
    except Exception as error:
        # Typer's own usage errors (a wrong option, a missing argument) know their message.
        if hasattr(error, "format_message"):
            return _complain(usage_sentence(error), 2)
        # Not 1, which would say that a check was made and failed.
        traceback.print_exc()
        return _complain("This is an error of dpfair itself; please report the lines above.", 4)
    if code == _STOPPED:  # Typer's answer to Ctrl-C
        return _complain("Stopped.", code)
    return code if isinstance(code, int) else 0


def _end_in_order() -> None:
    """Remove temporary files when a signal ends the process, unless it is ignored."""
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _end)


def _end(number: int, frame: object) -> None:
    signal.signal(number, signal.SIG_IGN)  # another one must not stop the removal
    sys.exit(128 + number)


def _complain(sentence: str, code: int) -> int:
    print_styled(f"dpfair: {' '.join(sentence.split())}", file=sys.stderr, style="bold red")
    return code


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    say(f"dpfair: warning: {message}")
