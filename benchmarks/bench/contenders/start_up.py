"""Small commands, in which starting takes most of the time."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec

from benchmarks.bench.contenders.command_line import DPFAIR, out
from benchmarks.bench.inputs import Inputs
from benchmarks.bench.task import Command


def python(inputs: Inputs) -> Command:
    """An empty program."""
    return Command((sys.executable, "-c", "pass"))


def dpfair_help(inputs: Inputs) -> Command:
    """``dpfair --help``."""
    return Command((*DPFAIR, "--help"))


def predict_one(inputs: Inputs) -> Command:
    """``dpfair predict`` of a table with one row."""
    table = inputs.with_rows(1).csv
    words = ("predict", str(inputs.model), str(table), "--out", out(inputs, "csv"))
    return Command((*DPFAIR, *words))


def ledger_show(inputs: Inputs) -> Command:
    """``dpfair ledger show`` of a ledger with one fit, whose answer an earlier one has kept."""
    command = show(inputs, str(inputs.folder / "cache"))
    subprocess.run(command.arguments, check=True, stdout=subprocess.DEVNULL)
    return command


def ledger_show_first(inputs: Inputs) -> Command:
    """The same for the first time after a charge."""
    return show(inputs, "off")


def show(inputs: Inputs, cache: str) -> Command:
    """The command with a place for its cache."""
    return Command(("env", f"DPFAIR_CACHE={cache}", *DPFAIR, "ledger", "show", str(inputs.ledger)))


def import_sklearn(inputs: Inputs) -> Command:
    """A program that imports logistic regression of scikit-learn."""
    return importing("sklearn.linear_model")


def import_fairlearn(inputs: Inputs) -> Command:
    """A program that imports the post-processing of fairlearn."""
    return importing("fairlearn.postprocessing")


def import_opacus(inputs: Inputs) -> Command:
    """A program that imports Opacus."""
    return importing("opacus")


def importing(module: str) -> Command:
    """A program that imports a module, if it is installed."""
    if find_spec(module.split(".")[0]) is None:
        raise ModuleNotFoundError(f"No module named {module!r}")
    return Command((sys.executable, "-c", f"import {module}"))
