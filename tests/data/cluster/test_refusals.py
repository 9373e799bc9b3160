"""What cannot be fitted on a cluster is refused before anything is charged."""

from __future__ import annotations

import polars as pl
import pytest
from data.cluster.fitting import SCHEMA, in_dask
from sample_tables import LOANS

from dpfair import (
    BoostingLearner,
    InputError,
    LedgerFile,
    PrivateFairClassifier,
    Schema,
    TableFiles,
)
from dpfair.data.worker_files import FilesOnWorkers

dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("dask.distributed")


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
        monkeypatch.setattr("dpfair.data.dask_parts.PATIENCE", "0.2s")
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
