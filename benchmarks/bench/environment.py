"""What the measurements were made with: command, processor, memory, system, versions."""

from __future__ import annotations

import os
import platform
import shlex
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

__all__ = ["environment"]

PACKAGES = (
    *("dpfair", "numpy", "numba", "polars", "pandas", "scikit-learn", "dp-accounting"),
    *("fairlearn", "torch", "opacus", "diffprivlib"),
)


def environment(arguments: Sequence[str]) -> dict[str, str]:
    """Facts for the head of the page, by their names."""
    return {
        "command": shlex.join(["python", "-m", "benchmarks.bench", *arguments]),
        "processor": f"{processor()}, {os.cpu_count()} cores",
        "memory": f"{os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 2**30:.0f} GiB",
        "system": platform.system(),
        "versions": f"Python {platform.python_version()}, "
        + ", ".join(f"{name} {installed(name)}" for name in PACKAGES),
        "measured on": datetime.now(UTC).date().isoformat(),
    }


def installed(name: str) -> str:
    """The version of a package, or that it is missing."""
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def processor() -> str:
    """The name of the processor, as far as the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
