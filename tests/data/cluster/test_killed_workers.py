"""The same model and account, whatever happens to the workers."""

from __future__ import annotations

import os
import signal
import time
from threading import Timer

import pytest
from data.cluster.fitting import assert_same, in_dask, model

from dpfair import LedgerFile
from dpfair.data.dask_parts import OnWorkers

distributed = pytest.importorskip("dask.distributed")


@pytest.fixture
def totals(monkeypatch):
    """Lets a test change the measures of all totals; the first one has the number 1."""

    def change(changed):
        asked, total = [], OnWorkers.total

        def counted(self, measure):
            asked.append(measure)
            return changed(lambda measure: total(self, measure), measure, asked)

        monkeypatch.setattr(OnWorkers, "total", counted)
        return asked

    return change


kills = pytest.mark.skipif(os.name == "nt", reason="no SIGKILL")


@kills
def test_a_worker_is_killed_between_two_totals(table, in_memory, client, totals):
    def killing(total, measure, asked):
        if len(asked) in (2, 12):
            [process, *_] = client.run(os.getpid).values()
            os.kill(process, signal.SIGKILL)
        return total(measure)

    asked = totals(killing)
    assert_same(model().fit(in_dask(table, 5)), in_memory)
    assert len(asked) > 12


def test_a_fit_waits_for_new_workers(table, in_memory, totals):
    def deserted(total, measure, asked):
        if len(asked) == 3:
            cluster.scale(0)
            while client.nthreads():
                time.sleep(0.01)
            Timer(0.5, cluster.scale, [1]).start()
        return total(measure)

    asked = totals(deserted)
    with (
        distributed.LocalCluster(n_workers=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
        pytest.warns(UserWarning, match="the fit waits for new ones"),
    ):
        assert_same(model().fit(in_dask(table, 2)), in_memory)
    assert len(asked) > 3


@kills
def test_a_worker_is_killed_and_the_ledger_file_has_the_same_account(
    table, client, totals, tmp_path
):
    def account(name, *data):
        path = tmp_path / name
        LedgerFile.create(path, epsilon=10, delta=1e-4)
        fit = model(ledger=path, random_state=None).fit(*data)
        ledger = LedgerFile(path)
        return ledger.entries, ledger.spent, str(fit.ledger_), fit.plan_.to_json()

    def killing(total, measure, asked):
        if len(asked) == 7:
            [process, *_] = client.run(os.getpid).values()
            os.kill(process, signal.SIGKILL)
        return total(measure)

    asked = totals(killing)
    there = account("cluster", in_dask(table, 5))
    assert len(asked) > 7
    assert there == account("memory", table.drop("repaid"), table["repaid"])


@kills
def test_a_worker_is_killed_in_the_middle_of_a_total(table, in_memory, client, totals, tmp_path):
    def killing(total, measure, asked):
        if len(asked) not in (3, 13):
            return total(measure)
        done = tmp_path / str(len(asked))

        def deadly(records):
            found = measure(records)  # what is kept has changed
            if not done.exists():
                done.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return found

        return total(deadly)

    totals(killing)
    assert_same(model().fit(in_dask(table, 5)), in_memory)
    assert len([*tmp_path.iterdir()]) == 2


def test_tasks_that_run_twice_and_late(table, in_memory, client, totals):
    def again(total, measure, asked):
        found = total(measure)
        earlier = [m for m in asked if getattr(m, "fit", m) == getattr(measure, "fit", None)]
        total([measure, *earlier][-2:][0])  # the one before is answered once more
        twice = total(measure)
        assert all((a == b).all() for a, b in zip(found, twice, strict=True))
        return found

    totals(again)
    assert_same(model().fit(in_dask(table, 2)), in_memory)
