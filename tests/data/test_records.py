"""Encoded rows: choosing some of them, and the bytes that identify them."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
from record_arrays import codes_in, numbers_in
from sample_containers import COLUMNS, EXPECTED, objects, records, same

from dpfair.data.records import Records


def test_taking_rows_takes_everything():
    labelled = EXPECTED.with_labels(np.array([0, 1, 1, 0]))
    some = labelled.take(np.array([3, 1]))
    assert same(some, EXPECTED.take(np.array([3, 1])))
    assert some.labels.tolist() == [0, 1]
    assert len(labelled.take(slice(None))) == 4


def test_zeros_and_missing_values_have_one_identity():
    def identity(age, z="0"):
        return records(objects_table(age, "1", z, "0")).identities()[0].tobytes()

    def objects_table(*row):
        return pd.DataFrame([dict(zip(COLUMNS, row, strict=True))], dtype=object)

    assert identity(0.0) == identity(-0.0) == identity("0") == identity(0) == identity(-7)
    quiet, other = np.float64("nan"), -np.float64("nan")
    assert identity(quiet) == identity(other) == identity(None) == identity("x")
    assert identity(math.inf) == identity(100) == identity(10**400)
    assert len({identity(0), identity(1), identity(None), identity(0, "1")}) == 4


def test_records_that_nobody_encoded_have_one_zero_too():
    zeros = [
        Records.of_arrays(np.array([[z]]), np.zeros((1, 0), np.int32), np.array([0]))
        for z in (0.0, -0.0)
    ]
    assert np.array_equal(zeros[0].identities(), zeros[1].identities())


def test_identities_tell_groups_and_columns_apart():
    base = EXPECTED.take(np.array([0]))
    group = Records.of_arrays(numbers_in(base), codes_in(base), np.array([1]))
    code = Records.of_arrays(numbers_in(base), np.array([[1]], dtype=np.int32), base.groups)
    swapped = Records.of_arrays(numbers_in(base)[:, ::-1].copy(), codes_in(base), base.groups)
    assert len({r.identities().tobytes() for r in (base, group, code, swapped)}) == 4
    labelled = base.with_labels(np.array([1]))
    assert np.array_equal(labelled.identities(), base.identities())


def test_identities_of_no_records_and_of_no_columns():
    assert len(EXPECTED.take(np.arange(0)).identities()) == 0
    empty = Records.of_arrays(np.empty((2, 0)), np.zeros((2, 0), np.int32), np.array([0, 1]))
    assert len({row.tobytes() for row in empty.identities()}) == 2


def test_records_of_one_person_share_an_identity():
    people = objects(["ann", "bob", "ann", None, "", None])
    rows = EXPECTED.take(np.array([0, 1, 2, 0, 1, 0]))
    found = [row.tobytes() for row in replace(rows, units=people).identities()]
    assert found[0] == found[2]
    assert found[3] == found[5]  # nobody's records: their own values identify them
    assert len(set(found)) == 4


def test_no_record_passes_for_a_person():
    """Whatever its values are, a record without a person has no person's identity."""
    person = replace(EXPECTED.take(np.array([0])), units=objects(["ann"])).identities()
    numbers = person[0, 1:3].view(np.float64)
    alike = Records.of_arrays(numbers.reshape(1, 2), np.zeros((1, 0), np.int32), np.array([0]))
    copied = replace(alike, units=objects([None])).identities()
    assert np.array_equal(copied[0, 1:3], person[0, 1:3])
    assert copied[0, 0] != person[0, 0]


def test_an_identity_does_not_depend_on_the_other_records():
    whole = EXPECTED.identities()
    for i in range(4):
        assert np.array_equal(EXPECTED.take(np.array([i])).identities(), whole[i : i + 1])


def test_places_follow_the_chosen_rows():
    table = replace(EXPECTED, first=10)
    assert table.places.tolist() == [10, 11, 12, 13]
    assert table.take(slice(1, 3)).take(slice(1, None)).places.tolist() == [12]
    assert table.take(np.array([3, 1])).take(slice(1, 2)).places.tolist() == [11]
    assert table.take(slice(1, None)).take(np.array([True, False, True])).places.tolist() == [
        11,
        13,
    ]
    assert table.take(slice(None, None, 2)).places.tolist() == [10, 12]
    assert len(table.take(slice(4, 9)).places) == 0
