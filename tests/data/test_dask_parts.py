"""Records on a cluster: the same model, whatever happens to the workers."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from types import SimpleNamespace
from weakref import WeakSet

import numpy as np
import polars as pl
import pytest
from sample_tables import LOANS

from dpfair import (
    BlockLearner,
    BoostingLearner,
    InputError,
    LedgerFile,
    PrivateFairClassifier,
    PrivateLogisticRegression,
    Schema,
    TableFiles,
)
from dpfair.data.dask_frames import is_dask_frame
from dpfair.data.dask_parts import OnWorkers, _answers, _placed
from dpfair.data.dask_shares import equal_shares
from dpfair.data.in_parts import InParts
from dpfair.data.records import Records
from dpfair.data.threads import may_start_threads
from dpfair.data.worker_files import FilesOnWorkers

dask = pytest.importorskip("dask")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("dask.distributed")

SCHEMA = Schema.from_dict(LOANS)
FEW = 600


@pytest.fixture(scope="module")
def client():
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture(scope="module")
def table(loans):
    X, y = loans
    frame = X.with_columns(repaid=pl.Series(y)).head(FEW)
    # Values that no schema declares have a place of their own.
    some = pl.int_range(pl.len())
    return frame.with_columns(
        job=pl.when(some % 50 != 0).then("job"),
        sex=pl.when(some % 70 != 1).then("sex").otherwise(pl.lit("?")),
        repaid=pl.when(some % 90 != 2).then("repaid").otherwise(pl.lit("?")),
    )


def model(**settings):
    # Without evidence, blocks are always visited.
    learner = BlockLearner(**BlockLearner.quick)
    settings = {"schema": SCHEMA, "learner": learner, "random_state": 5, **settings}
    return PrivateFairClassifier(2, **settings)


@pytest.fixture(scope="module")
def in_memory(table):
    return model().fit(table.drop("repaid"), table["repaid"])


def in_dask(table, partitions):
    return dd.from_pandas(table.to_pandas(), npartitions=partitions)


def assert_same(one, two):
    tensors = [fit.scorer_.tensors() for fit in (one, two)]
    assert tensors[0].keys() == tensors[1].keys()
    assert all((tensors[0][name] == tensors[1][name]).all() for name in tensors[0])
    assert one.fitted_.releases.keys() == two.fitted_.releases.keys()
    for name, release in one.fitted_.releases.items():
        assert (np.asarray(release.counts) == two.fitted_.releases[name].counts).all()
    assert str(one.certificate_) == str(two.certificate_)
    assert str(one.ledger_) == str(two.ledger_)


@pytest.mark.parametrize("partitions", [1, 2, 5])
def test_a_cluster_makes_the_same_model(partitions, table, in_memory, client):
    assert_same(model().fit(in_dask(table, partitions)), in_memory)


@pytest.mark.parametrize("partitions", [1, 5])
def test_without_a_cluster_too(partitions, table, in_memory, monkeypatch):
    monkeypatch.setattr("dpfair.methods.divided.current_client", lambda: None)
    assert_same(model().fit(in_dask(table, partitions)), in_memory)


def test_labels_may_be_a_series_and_partitions_empty(table, in_memory, client):
    frame = in_dask(table, 3)
    frame = dd.concat([frame.partitions[:1], frame[frame.age < 0], frame.partitions[1:]])
    assert_same(model().fit(frame.drop(columns="repaid"), frame["repaid"]), in_memory)


@pytest.mark.parametrize("connected", [True, False])
def test_labels_may_be_a_column_of_files(
    connected, table, in_memory, client, tmp_path, monkeypatch
):
    """Dask reads several of them together if few columns are wanted."""
    if not connected:
        monkeypatch.setattr("dpfair.methods.divided.current_client", lambda: None)
    for i in range(8):
        part = table.slice(i * FEW // 8, FEW // 8).with_columns(other=1, another=2)
        part.write_parquet(tmp_path / f"{i}.parquet")
    frame = dd.read_parquet(tmp_path)
    assert len(frame["repaid"].to_delayed()) < 8
    assert_same(model().fit(frame, frame["repaid"]), in_memory)


class Failing(BlockLearner):
    def train(self, *how):
        raise RuntimeError("the learner failed")


@pytest.mark.parametrize("fails", ["the learner", "the table"])
def test_workers_forget_the_records_of_a_fit_that_fails(fails, table, client):
    def unread(part):  # workers cannot import this file
        if (part["age"] > 80).any():
            raise RuntimeError("the table failed")
        return part

    frame, tasks = in_dask(table, 5), count_tasks(client)
    learner = BlockLearner(**BlockLearner.quick)
    if fails == "the learner":
        learner = Failing(**BlockLearner.quick)
    else:
        frame = frame.map_partitions(unread, meta=frame._meta)
    # The error is kept, and with it everything that the fit had.
    with pytest.raises(RuntimeError, match=f"{fails} failed") as kept:
        model(learner=learner).fit(frame)
    for _ in range(100):
        if count_tasks(client) <= tasks:
            break
        time.sleep(0.1)
    assert count_tasks(client) <= tasks
    assert kept.tb is not None


def count_tasks(client):
    """How many results the cluster knows of."""
    return client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks))


def test_facts_are_found_on_a_cluster(table, client):
    kinds = [{"name": c["name"], "kind": c["kind"]} for c in LOANS["columns"]]
    schema = Schema.from_dict({**LOANS, "columns": kinds})
    one, two = (PrivateLogisticRegression(9, schema=schema, random_state=5) for _ in "12")
    one.fit(in_dask(table, 3))
    two.fit(table.drop("repaid"), table["repaid"])
    assert one.schema_ == two.schema_
    assert str(one.certificate_) == str(two.certificate_)
    assert (one.scorer_.weights == two.scorer_.weights).all()


def test_columns_may_have_numbers_as_names(table, client):
    names = {"age": "0", "income": "1", "job": "2", "sex": "3", "repaid": "4"}
    text = json.dumps(LOANS)
    for name, number in names.items():
        text = text.replace(json.dumps(name), json.dumps(number))
    schema, frame = Schema.from_dict(json.loads(text)), table.select([*names]).rename(names)
    one = model(schema=schema).fit(frame.drop("4"), frame["4"])
    numbered = frame.to_pandas().rename(columns=int)
    assert_same(model(schema=schema).fit(dd.from_pandas(numbered, npartitions=2)), one)


class TestShares:
    """Seven partitions and two threads."""

    @pytest.fixture
    def encoded(self, table, client):
        def encode(part, _):
            return Records.of_arrays(*np.zeros((2, len(part), 1)), part.age)

        parts = in_dask(table, 7).to_delayed()
        return lambda: OnWorkers.encoded(client, [(part, None) for part in parts], encode)

    def test_every_thread_has_a_share(self, encoded, client):
        assert len(encoded()._each(len)) == len(client.nthreads()) == 2

    def test_workers_are_asked_without_a_task(self, encoded, monkeypatch):
        records = encoded()
        monkeypatch.setattr(records._client, "map", None)
        assert len(records) == FEW

    def test_dask_answers_for_shares_that_are_elsewhere(self, encoded, client, monkeypatch):
        """It may have moved them, or lost the worker. The next question is asked there."""
        records = encoded()
        places, shares = zip(*records._shares.items(), strict=True)
        records._shares = {places[0]: shares[1], "tcp://127.0.0.1:1": shares[0]}
        assert len(records) == FEW
        assert {*records._shares} <= {*places}
        monkeypatch.setattr(client, "map", None)
        assert len(records) == FEW

    def test_a_share_that_several_workers_hold_counts_once(self, encoded, client):
        records = encoded()
        client.replicate([*chain(*records._shares.values())])
        assert len(records) == FEW

    def test_a_worker_reads_no_more_shares_than_it_looks_at(self):
        """They may be in files, because they do not fit into its memory together."""
        alive = WeakSet()

        class Part:
            """What a share has."""

        def read(key):
            part = Part()
            alive.add(part)
            return InParts([part])

        def asked(share):
            time.sleep(0.01)
            return len(alive)

        with ThreadPoolExecutor(2) as threads:
            worker = SimpleNamespace(
                data=SimpleNamespace(get=read),
                executors={"default": threads},
                state=SimpleNamespace(nthreads=2),
            )
            found = asyncio.run(_answers(asked, [*"abcdef"], worker))
        assert {*found} == {*"abcdef"}
        assert max(found.values()) <= 4  # a thread lets go of a share a little later

    def test_an_error_of_a_measure_is_raised(self, encoded):
        def broken(records):
            raise InputError("broken")

        with pytest.raises(InputError, match="broken"):
            encoded().total(broken)

    @pytest.mark.parametrize("order", [1, -1])  # one of them is that in which Dask lists workers
    def test_it_is_answered_where_the_records_are(self, order, encoded, client):
        def asked(records):
            return [Counter({os.getpid(): len(records)})]

        records = OnWorkers(client, dict([*encoded()._shares.items()][::order]))
        [[first], *others] = [records.total(asked) for _ in range(20)]
        assert len(first) == 2
        assert sum(first.values()) == len(records) == FEW
        assert others == [[first]] * 19
        assert records.map(Records.declared).total(asked) == [first]

    def test_a_share_stays_with_the_worker_that_it_was_dealt_to(self, client):
        """Dask may prefer another one if it knows little about a question."""

        def of(rows):
            return InParts([Records.of_arrays(*np.zeros((2, rows, 1)), np.zeros(rows))])

        pids, (first, second) = client.run(os.getpid), client.nthreads()
        shares = client.map(of, [10, 20], workers=[first], pure=False)
        client.replicate(shares[1:], workers=[second])
        records = OnWorkers(client, {first: shares[:1], second: shares[1:]})
        answers = records._each(lambda share: (os.getpid(), len(share)))
        assert answers == [(pids[first], 10), (pids[second], 20)]

    def test_a_task_starts_no_thread(self, encoded):
        assert encoded().total(lambda _: [may_start_threads()]) == [False]

    @pytest.mark.parametrize("near", [0, 3, 6])
    def test_each_thread_has_as_many_records(self, near, client):
        def part(rows):
            return Records.of_arrays(*np.zeros((2, rows, 1)), np.zeros(rows))

        first, second = client.nthreads()
        lengths = (50, 90, 70, 10, 60, 80)
        parts = [
            client.submit(part, rows, pure=False, workers=[first if i < near else second])
            for i, rows in enumerate(lengths)
        ]
        shares = equal_shares(client, dict(zip(parts, lengths, strict=True)))
        assert {*shares} == {first, second}
        found = [client.gather(client.map(len, some, pure=False)) for some in shares.values()]
        assert sum(map(sum, found)) == sum(lengths)
        assert max(map(sum, found)) <= sum(lengths) / 2 + max(lengths) / 2
        for worker, some in shares.items():
            assert {*client.who_has(some).values()} == {(worker,)}

    def test_a_share_is_not_too_large_to_be_moved(self, encoded, monkeypatch):
        monkeypatch.setattr("dpfair.data.dask_shares._MOST", FEW // 5)
        lengths = encoded()._each(len)
        assert sum(lengths) == FEW
        assert 4 <= len(lengths) <= 7


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


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_files_are_read_by_workers(kind, table, in_memory, client, tmp_path):
    parts = [table.head(250), table.tail(FEW - 250)]
    for i, part in enumerate(parts):
        getattr(part, f"write_{kind}")(tmp_path / f"{i}.{kind}")
    files = TableFiles.named(tmp_path, memory=1 << 10)
    assert_same(model().fit(FilesOnWorkers(files, client)), in_memory)


class TestRefusals:
    """Each of them comes before anything is charged."""

    @pytest.fixture
    def ledger(self, tmp_path):
        path = tmp_path / "a.ledger"
        LedgerFile.create(path, epsilon=10, delta=1e-4)
        yield path
        assert LedgerFile(path).entries == ()

    @pytest.fixture
    def refused(self, ledger, table, client):
        def refused(match, y=None, groups=None, frame=None, **settings):
            wrong = PrivateFairClassifier(2, **{"schema": SCHEMA, "ledger": ledger, **settings})
            with pytest.raises(InputError, match=match):
                wrong.fit(in_dask(table, 2) if frame is None else frame, y, groups)

        return refused

    def test_a_learner_that_needs_all_records(self, refused):
        refused("all records in memory", learner=BoostingLearner())

    def test_persons(self, refused):
        refused("records of a person", unit="age")

    def test_no_schema(self, refused):
        refused("declare one", schema=None)

    def test_groups_apart(self, refused, table):
        refused("Labels and groups are read", groups=in_dask(table, 2)["sex"])

    def test_groups_by_position(self, refused):
        refused("sensitive by name", sensitive=3)

    def test_labels_in_other_partitions(self, refused, table):
        refused("partitions of X", y=in_dask(table, 3)["repaid"])

    def test_labels_in_memory(self, refused, table):
        refused("partitions of X", y=table["repaid"])

    def test_labels_of_another_length(self, refused, table):
        refused("one label per row", y=in_dask(table.head(100), 2)["repaid"])

    def test_a_missing_column(self, refused, table):
        refused("no column 'sex'", frame=in_dask(table.drop("sex"), 2))

    @pytest.mark.parametrize("connected", [True, False])
    def test_a_partition_that_lacks_a_column(self, connected, refused, table, monkeypatch):
        if not connected:
            monkeypatch.setattr("dpfair.methods.divided.current_client", lambda: None)
        table = table.with_columns(other=1)  # so that columns are selected
        parts = [table.to_pandas(), table.drop("sex").to_pandas()]
        frame = dd.from_map(lambda i: parts[i], [0, 1], meta=parts[0].head(0))
        refused("partition of the table lacks a column", frame=frame)

    def test_no_rows(self, refused, table):
        refused("no rows", frame=in_dask(table, 2).query("age < 0"))

    def test_no_workers(self, refused, table, tmp_path, monkeypatch):
        monkeypatch.setattr("dpfair.data.dask_parts._PATIENCE", "0.2s")
        table.write_parquet(tmp_path / "1.parquet")
        with (
            distributed.LocalCluster(n_workers=0, dashboard_address=None) as cluster,
            distributed.Client(cluster, set_as_default=False) as nobody,
        ):
            files = FilesOnWorkers(TableFiles.named(tmp_path / "1.parquet"), nobody)
            refused("no workers: start some", frame=files)

    @pytest.mark.parametrize("name", ["repaid", "sex"])
    @pytest.mark.parametrize("on_workers", [True, False])
    def test_truth_values_that_are_not_declared(
        self, name, on_workers, refused, table, client, tmp_path
    ):
        """All records of the file would be undeclared."""
        table.write_parquet(tmp_path / "1.parquet")
        table.with_columns(pl.lit(True).alias(name)).write_parquet(tmp_path / "2.parquet")
        files = TableFiles.named(tmp_path)
        refused(
            rf"2\.parquet, '{name}' has the values true and false; write those",
            frame=FilesOnWorkers(files, client) if on_workers else files,
        )
        levels = {"name": name, "values": ["false", "true"]}
        schema = {**LOANS, "label" if name == "repaid" else "sensitive": levels}
        files.check_truth_values(Schema.from_dict(schema))

    @pytest.mark.parametrize("kind", ["csv", "parquet", "ipc"])
    def test_files_without_rows(self, kind, refused, table, client, tmp_path):
        getattr(table.clear(), f"write_{kind}")(tmp_path / f"t.{kind}")
        refused("no rows", frame=FilesOnWorkers(TableFiles.named(tmp_path), client))


def test_a_partition_that_has_other_rows_is_refused():
    records = Records.of_arrays([[1.0], [2.0]], [[0], [0]], [0, 0])
    assert _placed(records, 7, 2).places.tolist() == [7, 8]
    with pytest.raises(InputError, match="other rows"):
        _placed(records, 7, 3)


def test_a_cluster_knows_the_size_of_records_and_shows_none():
    records = Records.of_arrays(np.arange(9000.0)[:, None], np.zeros((9000, 2)), np.zeros(9000))
    assert dask.sizeof.sizeof(records) >= 9000 * (2 + 1 + 1 + 1)
    assert "array" not in repr(records)


def test_what_is_a_dask_frame(table):
    frame = in_dask(table, 2)
    assert is_dask_frame(frame)
    assert not any(map(is_dask_frame, (frame["age"], table, table.to_pandas(), frame.to_bag())))


def test_the_account_of_a_ledger_file(table, client, tmp_path):
    path = tmp_path / "a.ledger"
    LedgerFile.create(path, epsilon=10, delta=1e-4)
    model(ledger=path, random_state=None).fit(in_dask(table, 2))
    assert len(LedgerFile(path).entries) == 1
