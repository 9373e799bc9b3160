"""The help groups the commands, has an example for each, and is fast."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys

import pytest
import typer

from dpfair import cli

HEADINGS = ["Start:", "Use a model:", "Budget and trust:", "Research:"]
HEAVY = ("scipy", "sklearn", "polars", "dp_accounting", "rich", "dpfair.methods")


def commands(group=None, path=()):
    """Every command with its path, those of groups included."""
    group = typer.main.get_command(cli.app) if group is None else group
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name)


ALL = list(commands())


def shown(capsys, *arguments):
    capsys.readouterr()
    assert cli.run([*arguments, "--help"]) == 0
    return capsys.readouterr().out


def test_the_commands_are_listed_under_headings(capsys):
    lines = shown(capsys).splitlines()
    assert [line for line in lines if line in HEADINGS] == HEADINGS
    listed = {line.split()[0] for line in lines if line.startswith("  ")}
    assert {path[0] for path in ALL} <= listed


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_every_command_has_examples_that_it_could_run(path, capsys):
    text = shown(capsys, *path)
    _, _, examples = text.partition("\nExample:\n")
    lines = [line.strip() for line in examples.splitlines() if line.strip()]
    assert lines
    root = typer.main.get_command(cli.app)
    for line in lines:
        assert len(line) < 78
        program, *arguments = shlex.split(line)
        assert program == "dpfair"
        assert tuple(arguments[: len(path)]) == path
        command = root
        for name in path:
            command = command.commands[name]
        command.make_context("dpfair", arguments[len(path) :])  # raises for a wrong option


def test_the_help_of_all_commands_imports_nothing_heavy():
    code = (
        "import sys; from dpfair import cli; cli.run(['--help']);"
        f"print('HEAVY', [name for name in {HEAVY} if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.endswith("HEAVY []\n")


def test_a_shell_can_complete_commands_and_options(capsys):
    assert "--install-completion" in shown(capsys)
    code = "from dpfair.cli import main; import sys; sys.argv = ['dpfair']; main()"
    asked = {"COMP_WORDS": "dpfair pre", "COMP_CWORD": "1", "_DPFAIR_COMPLETE": "complete_bash"}
    run = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=os.environ | asked,
    )
    assert run.stdout.split() == ["predict"]


def test_a_command_does_not_look_for_garbage_among_what_stays():
    code = (
        "import atexit, gc, sys; from dpfair.cli import main; sys.argv = ['dpfair']; "
        "atexit.register(lambda: print('at the end', gc.get_threshold()[0], "
        "gc.get_freeze_count() > 10_000)); main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    ending = done.stdout.splitlines()[-1].split()
    assert int(ending[3]) > 10_000
    assert ending[4] == "True"
