"""What becomes of files in a process of its own: the error, the time, the memory."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

__all__ = ["MAX_DEAR_SECONDS", "MAX_MEGABYTES", "MAX_SECONDS", "measured", "written"]

MAX_SECONDS = 1.0
MAX_DEAR_SECONDS = 12
MAX_MEGABYTES = 100


def written(
    attacks: Mapping[str, Callable[[Any], bytes]], honest: Mapping[str, bytes], folder: Path
) -> dict[str, Path]:
    """The files, made of honest ones."""
    paths = {}
    for number, (name, build) in enumerate(attacks.items()):
        paths[name] = folder / f"{number}.dpfair"
        paths[name].write_bytes(build(honest))
    return paths


def measured(
    paths: Mapping[str, Path], honest: Mapping[str, bytes], folder: Path
) -> dict[str, dict[str, Any]]:
    """What becomes of the files, in another process, whose memory can be watched."""
    first = folder / "honest.dpfair"
    first.write_bytes(honest["placed"])
    found = subprocess.run(
        [sys.executable, __file__],
        input=json.dumps([str(path) for path in (first, *paths.values())]),
        cwd=folder,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
    )
    return dict(zip(paths, json.loads(found.stdout), strict=True))


def _measure(paths: Iterable[Path]) -> list[dict[str, Any]]:
    """Read the files one after the other: the error, its text, the seconds and the megabytes.

    Every file is read as a model, and then for its decisions alone (``decider`` is the error).
    Seconds are those of the processor, so that other work on the machine does not count.
    """
    from dpfair import load_model
    from dpfair.models.deciding import read_decider

    found = []
    for path in paths:
        before = _fresh_peak()
        (error, text, seconds), decider = _tried(load_model, path), _tried(read_decider, path)
        found.append(
            {
                "error": error,
                "text": text,
                "decider": decider[0],
                "seconds": max(seconds, decider[2]),
                "megabytes": (_peak() - before) / 1024,
            }
        )
    return found


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
    honest_file, *files = map(Path, json.load(sys.stdin))
    assert _measure([honest_file])[0]["error"] is None  # and everything is imported now
    json.dump(_measure(files), sys.stdout)
