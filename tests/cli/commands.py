"""Run a command as a user types it."""

from __future__ import annotations

import json

from dpfair import cli

__all__ = ["refused", "run", "run_json"]


def run(capsys, *arguments):
    """The exit code, standard output and standard error."""
    capsys.readouterr()
    code = cli.run([str(a) for a in arguments])
    out, err = capsys.readouterr()
    return code, out, err


def run_json(capsys, *arguments, code=0):
    """The one object that a command prints."""
    found, out, _ = run(capsys, *arguments, "--json")
    assert found == code
    return json.loads(out)


def refused(capsys, *arguments, code=2):
    """The one sentence with which a command refuses."""
    found, out, said = run(capsys, *arguments)
    assert (found, out) == (code, "")
    assert said.startswith("dpfair: ")
    assert said.count("\n") == 1
    return said
