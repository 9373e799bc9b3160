"""Run one contender in this process and print what it took.

    python -m benchmarks.bench.process MODULE:FUNCTION ROWS FOLDER

The last line of the output is JSON: CPU seconds (user and system, children included), seconds of
wall time, bytes of peak memory, and the units of work done; or why the contender cannot run.
The peak of a call is what it adds to the memory that the process holds before. That of a command
is all of its process.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

from benchmarks.bench.inputs import Inputs
from benchmarks.bench.task import Call, Command

__all__ = ["main"]

# Of ru_maxrss, in bytes.
MAXRSS = 1 if sys.platform == "darwin" else 1024


def main() -> None:
    """Prepare the task, then measure it."""
    contender, rows, folder = sys.argv[1:]
    module, function = contender.split(":")
    warnings.filterwarnings("ignore")  # they cost time to show, and are about privacy or hooks
    try:
        prepare = getattr(
            importlib.import_module(f"benchmarks.bench.contenders.{module}"), function
        )
        task = prepare(Inputs(Path(folder), int(rows)))
    except ImportError as error:
        print(json.dumps({"skipped": str(error).split(" (/")[0]}))  # without the path of the file
        return
    measured = measure_command(task) if isinstance(task, Command) else measure_call(task)
    print(json.dumps({**measured, "units": task.units}))


def measure_call(task: Call) -> dict[str, float]:
    """CPU, wall time and extra peak memory of a call."""
    gc.collect()
    give_back_memory()
    before = reset_peak()
    cpu, wall = cpu_seconds(), time.perf_counter()
    kept = task.run()
    cpu, wall = cpu_seconds() - cpu, time.perf_counter() - wall
    del kept  # only now: to free it is not part of the call
    return {"cpu": cpu, "wall": wall, "peak": max(0, peak() - before)}


def measure_command(task: Command) -> dict[str, float]:
    """CPU, wall time and peak memory of a process and its children."""
    wall = time.perf_counter()
    with tempfile.TemporaryFile() as said:
        with subprocess.Popen(task.arguments, stdout=said, stderr=said) as process:
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        wall = time.perf_counter() - wall
        if process.returncode:
            said.seek(0)
            sys.exit(f"{' '.join(task.arguments)}: {said.read().decode()}")
    cpu = used.ru_utime + used.ru_stime
    return {"cpu": cpu, "wall": wall, "peak": used.ru_maxrss * MAXRSS}


def cpu_seconds() -> float:
    """User and system time of this process and its finished children."""
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(u.ru_utime + u.ru_stime for u in map(resource.getrusage, kinds))


def give_back_memory() -> None:
    """Return freed memory to the system: a call that used it again would seem to need none."""
    if sys.platform == "linux":
        trim: Any = getattr(ctypes.CDLL(None), "malloc_trim", None)  # of the GNU library
        if trim is not None:
            trim(0)


def reset_peak() -> int:
    """Forget the peak so far where the system can do that; the memory held now, in bytes."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
        return status_bytes("VmRSS")
    except OSError:
        return peak()


def peak() -> int:
    """The largest memory that this process held since the last reset, in bytes."""
    try:
        return status_bytes("VmHWM")
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * MAXRSS


def status_bytes(name: str) -> int:
    """A size in /proc/self/status."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(name + ":")).split()[1]) * 1024


if __name__ == "__main__":
    main()
