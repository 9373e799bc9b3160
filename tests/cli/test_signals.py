"""How the process ends when it is told to, or when nobody reads what it prints."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import polars as pl
import pytest
from sample_tables import LOANS, make_loans

from dpfair import LedgerFile

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")

# A fit that does not end; pytest may have been started with a signal ignored.
FIT = """
import signal, sys, time
from dpfair import cli
from dpfair.methods.base import PrivateClassifier

signal.signal(signal.SIGINT, signal.default_int_handler)
for number in (signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN if "ignored" in sys.argv else signal.SIG_DFL)
before = signal.getsignal(signal.SIGTERM)
PrivateClassifier.learn = lambda *_: [print("learning", flush=True), *map(time.sleep, [0.1] * 600)]
sys.argv = [arg for arg in sys.argv if arg != "ignored"]
cli.main()
"""


@pytest.fixture
def fitting(tmp_path):
    """Starts a fit of files, and waits until it has temporary files."""
    X, y = make_loans(300)
    X.with_columns(repaid=pl.Series(y)).write_csv(tmp_path / "loans.csv")
    (tmp_path / "loans.json").write_text(json.dumps(LOANS))
    (tmp_path / "temporary").mkdir()
    given = ("--schema", tmp_path / "loans.json", "--epsilon", "2")
    command = [sys.executable, "-c", FIT, "fit", tmp_path / "loans.csv", *given]
    processes = []

    def start(*more, in_parts=True):
        more = [*more, "--memory", "1MB"] if in_parts else more
        process = subprocess.Popen(
            [*map(str, [*command, *more])],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
            env=os.environ | {"TMPDIR": str(tmp_path / "temporary")},
        )
        processes.append(process)
        assert process.stdout.readline() == "learning\n"
        assert in_parts == any((tmp_path / "temporary").rglob("columns"))
        return process

    yield start
    for process in processes:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT"])
def test_a_process_that_is_ended_leaves_no_temporary_files(name, fitting, tmp_path):
    process = fitting()
    process.send_signal(getattr(signal, name))
    _, said = process.communicate(timeout=30)
    assert process.returncode == 128 + getattr(signal, name)
    assert said == ("" if name == "SIGHUP" else "dpfair: Stopped.\n")
    assert not list((tmp_path / "temporary").iterdir())


@pytest.mark.parametrize(
    ("name", "options", "left"),
    [
        ("SIGTERM", ["--key", "job"], "Start the same command again: it goes on"),
        ("SIGINT", ["--key", "job"], "Start the same command again: it goes on"),
        ("SIGINT", ["--out", "m.dpfair"], "With --key, a job like this goes on instead."),
        ("SIGINT", ["--out", "m.dpfair", "--method", "boosting"], "a.ledger tells.\n"),
        ("SIGTERM", ["--key", "job", "--method", "boosting"], "a.ledger tells.\n"),
    ],
)
def test_whoever_stops_a_fit_is_told_what_is_left(name, options, left, fitting, tmp_path):
    LedgerFile.create(tmp_path / "a.ledger", 10, 1e-5)
    process = fitting("--ledger", tmp_path / "a.ledger", *options, in_parts=False)
    process.send_signal(getattr(signal, name))
    _, said = process.communicate(timeout=30)
    assert process.returncode == 128 + getattr(signal, name)
    assert said.startswith("dpfair: Stopped. ")
    assert left in said


def test_a_signal_that_is_ignored_stays_ignored(fitting, tmp_path):
    process = fitting("ignored")
    process.send_signal(signal.SIGHUP)
    time.sleep(0.3)
    assert process.poll() is None


@pytest.mark.parametrize("command", [["methods"], ["--help"]])
def test_output_that_nobody_reads_is_no_failed_check(command):
    with subprocess.Popen(
        [sys.executable, "-m", "dpfair", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        process.stdout.close()
        said = process.stderr.read()
    assert process.returncode == 141
    assert said == ""
