"""What is kept of records: one drawer per purpose, for one key at a time."""

from __future__ import annotations

import numpy as np
from sample_containers import EXPECTED

from dpfair.data.kept import Kept


def test_a_drawer_keeps_its_arrays_while_the_key_is_the_same():
    kept = Kept()
    drawer = kept.drawer("odds", "a fit")
    drawer.empty("odds", (3,), np.float64)[:] = [1, 2, 3]
    drawer.note = "done"
    assert kept.drawer("odds", "a fit") is drawer
    assert kept.drawer("design", "a fit") is not drawer
    other = kept.drawer("odds", "another fit")
    assert not other.arrays
    assert other.note is None
    assert not drawer.arrays  # the memory is free


def test_nothing_is_kept_after_it_was_cleared():
    kept = Kept()
    kept.drawer("odds", 1).empty("odds", (3,), np.float64)
    kept.clear()
    assert not kept.drawer("odds", 1).arrays


def test_changed_records_keep_nothing_of_the_earlier_ones():
    records = EXPECTED.with_labels(np.array([0, 1, 1, 0]))
    records.kept.drawer("odds", 1).note = "done"
    for other in (
        records.take(slice(0, 2)),
        records.in_first_group(),
        records.with_labels(records.labels),
    ):
        assert other.kept.drawer("odds", 1).note is None
    records.forget()
    assert records.kept.drawer("odds", 1).note is None
