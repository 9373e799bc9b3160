"""The digest of the source sees statements, and nothing else."""

from __future__ import annotations

import pytest

from scripts.panel.digest import MEASURING, PANEL, code_digest, library_digest, panel_digest

CODE = 'def f(x):\n    """Say."""\n    return x + 1\n'


@pytest.fixture
def digest_of(tmp_path):
    def digest(text: str, name: str = "code.py") -> str:
        (tmp_path / name).write_text(text, "utf-8")
        return code_digest([tmp_path / name])

    return digest


@pytest.mark.parametrize(
    "same",
    ['def f(x):\n    """Other."""\n    return x + 1  # why\n', "def f(x):\n    return x+1\n"],
)
def test_comments_docstrings_and_layout_do_not_matter(digest_of, same):
    assert digest_of(CODE) == digest_of(same)


def test_statements_and_facts_matter(digest_of):
    assert digest_of(CODE) != digest_of(CODE.replace("1", "2"))
    assert digest_of("rows = 1", "a.toml") != digest_of("rows = 2", "a.toml")


def test_a_body_of_nothing_but_a_docstring_is_read(digest_of):
    assert digest_of('class A:\n    """Say."""\n') == digest_of("class A:\n    pass\n")


def test_the_files_that_make_results_exist():
    assert all((PANEL / name).is_file() for name in MEASURING)
    assert panel_digest() != library_digest()
