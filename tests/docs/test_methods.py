"""docs/methods.md says what the tables of the package say."""

from __future__ import annotations

import runpy
from pathlib import Path

import dpfair
from dpfair.methods import METHODS

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_is_what_its_script_writes():
    """``python scripts/methods_doc.py`` writes it."""
    page = runpy.run_path(str(ROOT / "scripts" / "methods_doc.py"))["page"]()
    assert (ROOT / "docs" / "methods.md").read_text("utf-8") == page
    assert all(getattr(dpfair, kind.__name__) is kind for kind in METHODS.values())
    assert all(f"`{kind.__name__}`" in page for kind in METHODS.values())
