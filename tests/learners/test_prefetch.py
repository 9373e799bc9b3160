"""The hint to the processor is an instruction, and changes nothing."""

from __future__ import annotations

import numpy as np
import pytest

from dpfair.jit import can_compile
from dpfair.learners.prefetch import prefetch, teach_prefetch

TABLE = np.arange(12, dtype=np.float32).reshape(3, 4)


def ask(table, row):
    prefetch(table, row, 4)
    return table[row, 1]


def test_nothing_happens_without_a_compiler():
    assert ask(TABLE, 2) == 9


@pytest.mark.skipif(not can_compile(), reason="needs the extra 'fast'")
def test_compiled_it_asks_for_memory():
    from numba import njit

    teach_prefetch()
    loop = njit(ask)
    assert loop(TABLE, 2) == 9
    [code] = loop.inspect_llvm().values()
    assert "call void @llvm.prefetch" in code
