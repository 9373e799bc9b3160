"""The commands of dpfair on files, each in a process of its own."""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.bench.inputs import DELTA, EPSILON, Inputs
from benchmarks.bench.task import Command

DPFAIR = (sys.executable, "-m", "dpfair")


def fit_csv(inputs: Inputs) -> Command:
    """``dpfair fit`` of a CSV file."""
    budget = ("--epsilon", str(EPSILON), "--delta", str(DELTA), "--out", out(inputs, "dpfair"))
    words = ("fit", str(inputs.csv), "--schema", str(inputs.schema_file), *budget)
    return Command((*DPFAIR, *words), inputs.rows)


def predict_csv(inputs: Inputs) -> Command:
    """``dpfair predict`` from CSV to CSV."""
    return predict(inputs, inputs.csv)


def predict_parquet(inputs: Inputs) -> Command:
    """``dpfair predict`` from Parquet to Parquet."""
    return predict(inputs, inputs.parquet)


def predict(inputs: Inputs, table: Path) -> Command:
    """Decisions in a file of the same kind as the table."""
    words = ("predict", str(inputs.model), str(table), "--out", out(inputs, table.suffix[1:]))
    return Command((*DPFAIR, *words), inputs.rows)


def out(inputs: Inputs, kind: str) -> str:
    """A file that every run replaces."""
    path = inputs.folder / f"out.{kind}"
    path.unlink(missing_ok=True)
    return str(path)
