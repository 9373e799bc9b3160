"""Every thread of a cluster has a share of the records, which answers where it is."""

from __future__ import annotations

import asyncio
import os
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import chain
from types import SimpleNamespace
from weakref import WeakSet

import numpy as np
import pytest
from data.cluster.fitting import FEW, in_dask

from dpfair import InputError
from dpfair.data.dask_parts import OnWorkers, _answers, _placed, _total
from dpfair.data.dask_shares import equal_shares
from dpfair.data.in_parts import InParts
from dpfair.data.records import Records
from dpfair.data.threads import may_start_threads

dask = pytest.importorskip("dask")
pytest.importorskip("dask.distributed")


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

    def test_two_runs_of_a_question_take_turns(self):
        """Dask may give up a task that still runs. Both would change what is kept of records."""
        records = Records.of_arrays(*np.zeros((2, 9, 1)), np.arange(9))
        looking = Counter()

        def measure(records):
            looking["now"] += 1
            looking["most"] = max(looking["most"], looking["now"])
            time.sleep(0.05)
            looking["now"] -= 1
            return [np.zeros(1)]

        with ThreadPoolExecutor(2) as threads:
            list(threads.map(partial(_total, measure), [InParts([records])] * 2))
        assert looking["most"] == 1

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


def test_a_partition_that_has_other_rows_is_refused():
    records = Records.of_arrays([[1.0], [2.0]], [[0], [0]], [0, 0])
    assert _placed(records, 7, 2).places.tolist() == [7, 8]
    with pytest.raises(InputError, match="other rows"):
        _placed(records, 7, 3)


def test_a_cluster_knows_the_size_of_records_and_shows_none():
    records = Records.of_arrays(np.arange(9000.0)[:, None], np.zeros((9000, 2)), np.zeros(9000))
    assert dask.sizeof.sizeof(records) >= 9000 * (2 + 1 + 1 + 1)
    assert "array" not in repr(records)
