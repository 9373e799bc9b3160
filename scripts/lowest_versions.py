"""Write constraints/lowest.txt: the lower bounds of pyproject.toml as exact versions.

``python scripts/lowest_versions.py`` writes the file; a test says when it is out of date.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOWEST = ROOT / "constraints" / "lowest.txt"
# The extras that the tests need. "torch" and "crosscheck" are for benchmarks and oracles.
EXTRAS = ("fast", "dev")
HEADER = """\
# The lower bounds of pyproject.toml, as exact versions; make test-lowest runs the tests with them.
# Made by scripts/lowest_versions.py.
"""
REQUIREMENT = re.compile(r"(?P<name>[A-Za-z0-9._-]+)(\[[a-z,]+\])?>=(?P<version>[0-9][0-9.]*)")


def main() -> None:
    LOWEST.parent.mkdir(exist_ok=True)
    LOWEST.write_text(constraints(ROOT / "pyproject.toml"), "utf-8")
    print(f"Wrote {LOWEST.relative_to(ROOT)}.", file=sys.stderr)


def constraints(pyproject: Path) -> str:
    """The text of the constraints file."""
    project = tomllib.loads(pyproject.read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    requirements = [*project["dependencies"], *(each for name in EXTRAS for each in extras[name])]
    versions: dict[str, str] = {}
    for requirement in requirements:
        name, version = lower_bound(requirement)
        if versions.setdefault(name, version) != version:
            raise ValueError(f"{name} has two lower bounds: {versions[name]} and {version}.")
    return HEADER + "".join(f"{name}=={versions[name]}\n" for name in sorted(versions))


def lower_bound(requirement: str) -> tuple[str, str]:
    """The name and the lowest version of a requirement of the form ``name>=version``.

    >>> lower_bound("numpy>=2.0")
    ('numpy', '2.0')
    >>> lower_bound("dask[dataframe]>=2024.8")  # constraints have no extras
    ('dask', '2024.8')
    """
    match = REQUIREMENT.fullmatch(requirement)
    if match is None:
        raise ValueError(f"Expected a requirement of the form name>=version, got {requirement!r}.")
    return match["name"].lower(), match["version"]


if __name__ == "__main__":
    main()
