"""A cluster makes the same model, however its table is given."""

from __future__ import annotations

import json
import time

import pytest
from data.cluster.fitting import FEW, assert_same, in_dask, model
from sample_tables import LOANS

from dpfair import BlockLearner, LedgerFile, PrivateLogisticRegression, Schema, TableFiles
from dpfair.data.dask_frames import is_dask_frame
from dpfair.data.worker_files import FilesOnWorkers

dd = pytest.importorskip("dask.dataframe")


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


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_files_are_read_by_workers(kind, table, in_memory, client, tmp_path):
    parts = [table.head(250), table.tail(FEW - 250)]
    for i, part in enumerate(parts):
        getattr(part, f"write_{kind}")(tmp_path / f"{i}.{kind}")
    files = TableFiles.named(tmp_path, memory=1 << 10)
    assert_same(model().fit(FilesOnWorkers(files, client)), in_memory)


def test_what_is_a_dask_frame(table):
    frame = in_dask(table, 2)
    assert is_dask_frame(frame)
    assert not any(map(is_dask_frame, (frame["age"], table, table.to_pandas(), frame.to_bag())))


def test_the_account_of_a_ledger_file(table, client, tmp_path):
    path = tmp_path / "a.ledger"
    LedgerFile.create(path, epsilon=10, delta=1e-4)
    model(ledger=path, random_state=None).fit(in_dask(table, 2))
    assert len(LedgerFile(path).entries) == 1
