"""Whatever is wrong with numba, a fit that was paid for does not fail for it."""

from __future__ import annotations

import os
import subprocess
import sys
from pickle import UnpicklingError

import numpy as np
import pytest

from dpfair import LedgerFile
from dpfair.jit import Compiled, can_compile

needs_numba = pytest.mark.skipif(not can_compile(), reason="needs the extra 'fast'")

FIT = """
import sys
from dpfair import PrivateLogisticRegression, Schema, jit
from sample_tables import LOANS, make_loans

schema, data = Schema.from_dict(LOANS), make_loans(200)
for arithmetic in ("exact", "float64"):
    model = PrivateLogisticRegression(1, schema=schema, steps=5, arithmetic=arithmetic)
    model.set_params(ledger=sys.argv[1]).fit(*data)
print(jit.can_compile())
"""


def add_up(numbers, total):
    for i in range(numbers.shape[0]):
        total[0] += numbers[i]


def sum_by(compiled):
    total = np.zeros(1)
    compiled(np.arange(5.0), total)
    return total[0]


def test_numba_that_cannot_be_imported_is_as_if_it_were_not_there(tmp_path):
    (tmp_path / "numba").mkdir()
    (tmp_path / "numba" / "__init__.py").write_text("raise ImportError('needs another NumPy')")
    ledger = LedgerFile.create(tmp_path / "a.ledger", 10, 1e-5)
    done = subprocess.run(
        [sys.executable, "-c", FIT, str(ledger.path)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])},
        capture_output=True,
        text=True,
    )
    assert (done.stdout, done.returncode) == ("False\n", 0), done.stderr
    assert len(ledger.entries) == 2


@needs_numba
def test_without_a_folder_to_write_to_nothing_is_kept(monkeypatch):
    from numba import njit
    from numba.core import caching

    monkeypatch.setattr(caching.CacheImpl, "_locator_classes", [])
    with pytest.raises(RuntimeError, match="cannot cache"):
        njit(cache=True)(add_up)
    assert sum_by(Compiled(add_up)) == 10


@needs_numba
@pytest.mark.parametrize("error", [OSError("no space left"), EOFError(), UnpicklingError()])
@pytest.mark.parametrize("operation", ["save", "load"])
def test_what_cannot_be_written_or_read_is_compiled_again(error, operation, monkeypatch):
    from numba import njit
    from numba.core import caching

    def failing(*how):
        raise error

    monkeypatch.setattr(caching.IndexDataCacheFile, "load", lambda *how: None)
    monkeypatch.setattr(caching.IndexDataCacheFile, operation, failing)
    with pytest.raises(type(error)):
        sum_by(njit(cache=True)(add_up))
    assert sum_by(Compiled(add_up)) == 10
