"""``dpfair fit --dask``: files are read by workers, and the model is the same."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import time
from urllib.error import HTTPError
from urllib.request import urlopen

import polars as pl
import pytest
from cli.commands import refused, run
from sample_tables import LOANS, make_loans

from dpfair import LedgerFile
from dpfair.cli.cluster import local_workers, workers
from dpfair.privacy.journal import journal_place

distributed = pytest.importorskip("dask.distributed")
CancelledError = distributed.CancelledError
CommClosedError = pytest.importorskip("distributed.comm").CommClosedError


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("files")
    X, y = make_loans(300)
    frame = X.with_columns(repaid=pl.Series(y))
    frame.write_csv(path / "loans.csv")
    (path / "parts").mkdir()
    for number in range(3):
        frame[100 * number : 100 * number + 100].write_parquet(path / f"parts/{number}.parquet")
    (path / "schema.json").write_text(json.dumps(LOANS))
    return path


def fit_of(folder, data, *options):
    schema = ("--schema", folder / "schema.json")
    return ("fit", data, *schema, "--epsilon", "2", *options)


@pytest.fixture
def scheduler():
    """Workers in this process, which start at once."""
    how = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(processes=False, protocol="tcp", **how) as cluster:
        yield cluster.scheduler_address


def test_a_cluster_gives_the_same_model(folder, scheduler, tmp_path, capsys):
    files = [tmp_path / "memory.dpfair", tmp_path / "cluster.dpfair"]
    for data, out, *options in (
        ("loans.csv", files[0]),
        ("parts/*.parquet", files[1], "--dask", scheduler),
    ):
        given = fit_of(folder, folder / data, "--seed", 1, "--out", out, *options)
        assert run(capsys, *given)[0] == 0
    assert files[0].read_bytes() == files[1].read_bytes()


@pytest.mark.skipif(os.name == "nt", reason="no SIGKILL")
def test_a_killed_driver_goes_on(folder, scheduler, tmp_path):
    """The parameters after each step are released values, so they are kept at no cost."""
    ledger = LedgerFile.create(tmp_path / "a.ledger", 10, 1e-5)
    place = journal_place(ledger.path, "job")
    how = ("--ledger", ledger.path, "--key", "job", "--learner", "logistic", "--set", "steps=60")
    given = fit_of(folder, folder / "parts/*.parquet", *how, "--dask", scheduler)
    command = [sys.executable, "-m", "dpfair", *map(str, given)]
    driver = subprocess.Popen(command, stderr=subprocess.PIPE)
    while not (place.exists() and place.read_bytes().count(b"\n") > 20):
        assert driver.poll() is None, driver.communicate()
        time.sleep(0.005)
    driver.kill()
    driver.communicate()
    before = place.read_bytes()
    assert before.count(b"\n") < 60
    place.with_name("copy").hardlink_to(place)  # it is removed when the model is kept
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "goes on after its last answer" in done.stderr
    after = place.with_name("copy").read_bytes()
    assert after.startswith(before[: before.rindex(b"\n") + 1])
    drawn = [line for line in after.splitlines() if b'"grid train' in line]
    assert len(drawn) == 1 + 60  # the bins were found, and every step was drawn, once
    assert len(ledger.entries) == 1


@pytest.mark.slow
def test_a_cluster_for_one_command(folder, tmp_path, capsys):
    out = tmp_path / "model.dpfair"
    given = fit_of(folder, folder / "loans.csv", "--dask", "local", "--out", out)
    assert run(capsys, *given)[0] == 0
    assert out.exists()


@pytest.mark.parametrize(
    ("data", "options", "said"),
    [
        ("adult", [], "--dask is for files, and adult is none"),
        ("loans.csv", ["--unit", "age"], "leave out --dask"),
        ("loans.csv", ["--method", "boosting"], "leave out --dask"),
        ("nothing.csv", [], "There is no file"),
    ],
)
def test_a_refusal_charges_nothing(data, options, said, folder, scheduler, tmp_path, capsys):
    ledger = tmp_path / "a.ledger"
    unit = {"unit": "age"} if "--unit" in options else {}
    LedgerFile.create(ledger, epsilon=10, delta=1e-4, **unit)
    name = data if data == "adult" else folder / data
    schema = () if data == "adult" else ("--schema", folder / "schema.json")
    given = ("fit", name, *schema, "--epsilon", "2", "--dask", scheduler, *options)
    out = ("--ledger", ledger, "--out", tmp_path / "model.dpfair")
    assert said in refused(capsys, *given, *out)
    assert len(LedgerFile(ledger).entries) == 0


def test_no_schema_is_read_off_the_workers(folder, capsys):
    given = ("fit", folder / "loans.csv", "--epsilon", "2", "--dask", "tcp://127.0.0.1:1")
    assert "No schema given" in refused(capsys, *given)


@pytest.mark.parametrize(
    "address", ["tcp://127.0.0.1:1", "nowhere://x", "tls://127.0.0.1:1", "ucx://1", ""]
)
def test_nobody_answers(address, folder, monkeypatch, capsys):
    monkeypatch.setattr("dpfair.data.dask_parts.PATIENCE", "1s")
    given = fit_of(folder, folder / "loans.csv", "--dask", address)
    said = refused(capsys, *given)
    assert f"No Dask scheduler answers at {address!r}: expected local, or an address" in said
    assert ("needs certificates" in said) == address.startswith("tls")


def test_a_fit_does_not_wait_for_workers_for_ever(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("dpfair.data.dask_parts.PATIENCE", "0.2s")
    ledger = LedgerFile.create(tmp_path / "a.ledger", 10, 1e-5)
    with distributed.LocalCluster(n_workers=0, dashboard_address=None) as cluster:
        given = fit_of(folder, folder / "loans.csv", "--dask", cluster.scheduler_address)
        said = refused(capsys, *given, "--ledger", ledger.path, "--key", "job")
    assert "has no workers: start some" in said
    assert len(ledger.entries) == 0


@pytest.mark.parametrize(
    "error", [distributed.KilledWorker("a task", None, 3), CommClosedError(), CancelledError()]
)
@pytest.mark.parametrize(
    ("options", "what_next"),
    [
        ((), ""),
        (("--out", "m.dpfair"), "If the job was charged, that is spent; dpfair ledger history"),
        (("--key", "job"), "it goes on after its last answer, charged once."),
    ],
)
def test_a_cluster_that_gives_up(
    error, options, what_next, folder, scheduler, tmp_path, monkeypatch, capsys, caplog
):
    def gives_up(*_):
        logging.getLogger("distributed.client").error("a traceback")
        logging.getLogger("asyncio").critical("another one")
        raise error

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("dpfair.methods.base.PrivateClassifier.learn", gives_up)
    LedgerFile.create("a.ledger", 10, 1e-5)
    paying = ("--ledger", "a.ledger", *options) if options else ()
    given = fit_of(folder, folder / "loans.csv", "--dask", scheduler, *paying)
    said = refused(capsys, *given)
    assert "The Dask cluster gave up" in said
    assert what_next in said
    assert not caplog.records
    assert not logging.root.manager.disable


@pytest.mark.skipif(os.name == "nt", reason="processes inherit no handler")
def test_local_workers_leave_an_interruption_to_the_command():
    """They would print tracebacks, and end before they are told to."""
    with local_workers(1) as client, client.cluster:
        [handler] = client.run(signal.getsignal, signal.SIGINT).values()
    assert handler == signal.SIG_IGN
    assert signal.getsignal(signal.SIGINT) == signal.default_int_handler


def test_an_error_that_is_none_of_dask_is_not_one_of_the_cluster(scheduler):
    with pytest.raises(ZeroDivisionError), workers(scheduler):
        raise ZeroDivisionError


def test_a_local_cluster_shows_nothing_to_others_on_the_computer():
    client = local_workers(1)
    with client.cluster, client:
        known = client.scheduler_info()
        [worker] = known["workers"].values()
        for port in (known["services"]["dashboard"], worker["services"]["dashboard"]):
            for page in ("/health", "/metrics", "/json/identity.json", "/info/main/workers.html"):
                with pytest.raises(HTTPError, match="404"):
                    urlopen(f"http://127.0.0.1:{port}{page}", timeout=10)
