"""What becomes of files in a process of its own: the error, the time, the memory."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

__all__ = [
    "MAX_DEAR_SECONDS",
    "MAX_MEGABYTES",
    "MAX_SECONDS",
    "measured",
    "reader",
    "written",
]

Outcome = dict[str, Any]

MAX_SECONDS = 1.0
MAX_DEAR_SECONDS = 12
MAX_MEGABYTES = 100


def written(
    attacks: Mapping[str, Callable[[Any], bytes]], honest: Mapping[str, bytes], folder: Path
) -> dict[str, Path]:
    """The files, made of honest ones."""
    paths = {}
    for name, build in attacks.items():
        paths[name] = folder / f"{hashlib.sha256(name.encode()).hexdigest()[:16]}.dpfair"
        paths[name].write_bytes(build(honest))
    return paths


@contextlib.contextmanager
def reader(honest: Mapping[str, bytes], folder: Path) -> Iterator[Callable[[Path], Outcome]]:
    """Tells what becomes of a file, in another process, whose memory can be watched."""
    first = folder / "honest.dpfair"
    first.write_bytes(honest["placed"])
    with subprocess.Popen(
        [sys.executable, __file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=folder,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "OPENBLAS_NUM_THREADS": "1"},
        text=True,
    ) as process:
        asked, answers = process.stdin, process.stdout
        assert asked is not None
        assert answers is not None

        def read(path: Path) -> Outcome:
            print(json.dumps(str(path)), file=asked, flush=True)
            found: Outcome = json.loads(answers.readline())
            return found

        assert read(first)["error"] is None  # and everything is imported now
        yield read
        asked.close()


def measured(
    paths: Mapping[str, Path], honest: Mapping[str, bytes], folder: Path
) -> dict[str, Outcome]:
    """What becomes of several files."""
    with reader(honest, folder) as read:
        return {name: read(path) for name, path in paths.items()}


def _measure(path: Path) -> Outcome:
    """Read a file as a model, and then for its decisions alone (``decider`` is the error).

    Seconds are those of the processor, so that other work on the machine does not count.
    """
    from dpfair import load_model
    from dpfair.models.deciding import read_decider

    before = _fresh_peak()
    (error, text, seconds), decider = _tried(load_model, path), _tried(read_decider, path)
    return {
        "error": error,
        "text": text,
        "decider": decider[0],
        "seconds": max(seconds, decider[2]),
        "megabytes": (_peak() - before) / 1024,
    }


def _tried(read: Callable[[Path], object], path: Path) -> tuple[str | None, str, float]:
    """The error, its text, and the seconds."""
    start = time.process_time()
    try:
        read(path)
        kind, text = None, ""
    except BaseException as error:
        kind, text = type(error).__name__, str(error)
    return kind, text, time.process_time() - start


def _fresh_peak() -> int:
    """Forget the largest size that the process had, in kilobytes; where the system can."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return _peak()


def _peak() -> int:
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1])
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(_measure(Path(json.loads(line)))), flush=True)
