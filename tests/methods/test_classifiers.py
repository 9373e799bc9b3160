"""Records that stay in their table: what tells one row from another."""

import numpy as np
import pandas as pd
import polars as pl
from sample_containers import CONTAINERS

from dpfair.methods.classifiers import TableRecords


def identities(table, groups):
    return [row.tobytes() for row in TableRecords(table, np.array(groups)).identities()]


def test_identities_do_not_depend_on_the_container():
    names = ("pandas", "pandas nullable", "polars", "pyarrow")
    found = {tuple(identities(CONTAINERS[name], [0, 1, 0, 1])) for name in names}
    assert len(found) == 1


def test_identities_tell_rows_apart():
    table = pd.DataFrame({"a": ["1", "1,", "1", "1"], "b": [",2", "2", ",2", ",2"]})
    first, second, third, other_group = identities(table, [0, 0, 0, 1])
    assert first == third != second
    assert other_group != first
    missing = pl.DataFrame({"a": [None, "None", ""]})
    assert len(set(identities(missing, [0, 0, 0]))) == 3


def test_an_identity_does_not_depend_on_the_other_rows():
    table = CONTAINERS["polars"]
    alone = [identities(table[i : i + 1], [0])[0] for i in range(4)]
    assert alone == identities(table, [0] * 4)
