"""The constraints file has the lower bounds of pyproject.toml."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]
PROJECT = """
[project]
dependencies = [{core}]
[project.optional-dependencies]
fast = ["numba>=0.61"]
dev = ["numba>={numba}", "pytest>=8"]
"""


@pytest.fixture(scope="module")
def script() -> ModuleType:
    path = REPOSITORY / "scripts" / "lowest_versions.py"
    spec = importlib.util.spec_from_file_location("lowest_versions", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_file_is_up_to_date(script):
    made = script.constraints(REPOSITORY / "pyproject.toml")
    assert script.LOWEST.read_text("utf-8") == made, "run python scripts/lowest_versions.py"


def test_core_and_extras_are_pinned(script, tmp_path):
    path = tmp_path / "pyproject.toml"
    path.write_text(PROJECT.format(core='"numpy>=2.0"', numba="0.61"), "utf-8")
    pins = script.constraints(path).removeprefix(script.HEADER)
    assert pins == "numba==0.61\nnumpy==2.0\npytest==8\n"


def test_two_bounds_of_one_package_are_refused(script, tmp_path):
    path = tmp_path / "pyproject.toml"
    path.write_text(PROJECT.format(core='"numpy>=2.0"', numba="0.62"), "utf-8")
    with pytest.raises(ValueError, match="numba has two lower bounds"):
        script.constraints(path)


@pytest.mark.parametrize("requirement", ["numpy", "numpy<3", "numpy>=2,<3", "numpy ~= 2.0"])
def test_a_requirement_without_a_plain_lower_bound_is_refused(script, requirement):
    with pytest.raises(ValueError, match="of the form name>=version"):
        script.lower_bound(requirement)
