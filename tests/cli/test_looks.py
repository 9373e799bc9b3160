"""Tables and colour are for terminals; a pipe and NO_COLOR get plain text, and JSON is JSON."""

from __future__ import annotations

import io
import json
import re
from contextlib import redirect_stderr, redirect_stdout

import pytest

from dpfair import cli
from dpfair.cli.looks import print_facts, print_styled, print_table
from dpfair.cli.progress import counting_rows

ACCOUNT = [
    "account",
    "--epsilon",
    "3",
    "--sampling-rate",
    "0.04",
    "--steps",
    "9",
    "--delta",
    "1e-5",
]
ESCAPE = "\x1b["


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    """Do something on a terminal of 80 columns; what it printed on output and error."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "80")

    def done(work):
        out, err = Terminal(), Terminal()
        with redirect_stdout(out), redirect_stderr(err):
            work()
        return out.getvalue(), err.getvalue()

    return done


def table():
    print_table(("name", "epsilon"), [("[bold]pld", "0.5"), ("rdp", "10.25")], ["plain"])


def test_a_pipe_gets_plain_text(capsys):
    table()
    print_facts([("Privacy", "FAILED")], ["Privacy: FAILED"])
    print_styled("NOT VERIFIED.")
    assert capsys.readouterr().out == "plain\nPrivacy: FAILED\nNOT VERIFIED.\n"


def test_a_terminal_gets_a_table_with_colour_and_no_markup_of_the_cells(terminal):
    out, _ = terminal(table)
    assert ESCAPE in out
    assert "plain" not in out
    assert "[bold]pld" in out
    plain = [re.sub(r"\x1b\[[0-9;]*m", "", line).rstrip() for line in out.splitlines()]
    assert max(map(len, plain)) < 80
    ends = {len(line) for line in plain if line.endswith("5")}
    assert len(ends) == 1  # numbers are aligned to the right


def test_a_verdict_has_a_colour(terminal):
    assert terminal(lambda: print_styled("NOT VERIFIED."))[0] == "\x1b[1;31mNOT VERIFIED.\x1b[0m\n"


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_whoever_wants_no_colour_gets_none(name, value, terminal, monkeypatch):
    assert ESCAPE in terminal(lambda: cli.run(ACCOUNT))[0]
    monkeypatch.setenv(name, value)
    out, _ = terminal(lambda: cli.run(ACCOUNT))
    assert ESCAPE not in out
    assert "  pld  epsilon " in out


def test_the_same_numbers_on_a_terminal_and_in_a_pipe(terminal, capsys):
    drawn, _ = terminal(lambda: cli.run(ACCOUNT))
    assert cli.run(ACCOUNT) == 0
    for line in capsys.readouterr().out.splitlines()[1:4]:
        name, _, epsilon, *_ = line.split()
        assert name in drawn
        assert epsilon in drawn


def test_json_is_the_same_on_a_terminal(terminal):
    out, _ = terminal(lambda: cli.run([*ACCOUNT, "--json"]))
    assert json.loads(out)["steps"] == 9


def test_an_error_is_red_and_still_one_sentence(terminal):
    out, err = terminal(lambda: cli.run(["predict", "none.dpfair", "none.csv"]))
    assert out == ""
    assert "\x1b[1;31mdpfair: There is no model file none.dpfair.\x1b[0m\n" in err


def test_the_help_is_drawn_in_panels(terminal):
    out, _ = terminal(lambda: cli.run(["--help"]))
    assert "╭" in out
    assert "Budget and trust" in out


def test_rows_are_counted_while_they_are_decided(terminal):
    def work():
        with counting_rows("deciding") as done:
            done(1_000_000)
            done(234_567)

    _, err = terminal(work)
    assert "deciding" in err
    assert "1,234,567 rows" in err
    assert "rows/s" in err


def test_nobody_watches_a_pipe(capsys):
    with counting_rows("deciding") as done:
        done(5)
    assert capsys.readouterr() == ("", "")
