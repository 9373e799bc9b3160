"""What a process reports of its own work."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from benchmarks.bench.process import measure_call, measure_command
from benchmarks.bench.task import Call, Command


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can forget a peak")
def test_the_peak_is_what_the_call_adds():
    held = np.ones(10**7)  # 80 MB, before the call
    found = measure_call(Call(lambda: np.ones(5 * 10**6).sum()))
    assert held.sum() == 10**7
    assert 38e6 < found["peak"] < 50e6


def test_a_command_has_its_own_time_and_memory():
    program = "import time; x = b'x' * 10**8\nwhile time.process_time() < 0.5: pass"
    found = measure_command(Command([sys.executable, "-c", program]))
    assert 0.4 < found["cpu"] < 1.5
    assert found["peak"] > 1e8


def test_a_command_that_fails_is_an_error():
    with pytest.raises(SystemExit, match="no such thing"):
        measure_command(Command([sys.executable, "-c", "raise SystemExit('no such thing')"]))
