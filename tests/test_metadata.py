"""Version numbers agree wherever they are written."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import dpfair

REPOSITORY = Path(__file__).resolve().parents[1]


def text(name: str) -> str:
    return (REPOSITORY / name).read_text("utf-8")


def test_the_citation_has_the_version():
    assert f"\nversion: {dpfair.__version__}\n" in text("CITATION.cff")


def test_the_changelog_starts_with_what_is_unreleased_and_has_the_version():
    headings = re.findall(r"^## (\S+)", text("CHANGELOG.md"), re.MULTILINE)
    assert headings[0] == "Unreleased"
    if "dev" not in dpfair.__version__:
        assert headings[1] == dpfair.__version__


def test_every_python_of_the_classifiers_is_tested():
    classifiers = tomllib.loads(text("pyproject.toml"))["project"]["classifiers"]
    named = [c.rsplit(" ", 1)[1] for c in classifiers if " :: Python :: 3." in c]
    [matrix] = re.findall(r"python: \[(.*)\]", text(".github/workflows/tests.yml"))
    assert re.findall(r"[\d.]+", matrix) == named
