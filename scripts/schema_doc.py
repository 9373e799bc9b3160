"""Write the tables of facts in docs/schema.md from those of the package."""

from __future__ import annotations

from pathlib import Path

from dpfair.data.describe import facts_tables

PAGE = Path(__file__).parents[1] / "docs" / "schema.md"

if __name__ == "__main__":
    text, _, _ = PAGE.read_text(encoding="utf-8").partition("### ")
    PAGE.write_text(text + facts_tables(), encoding="utf-8")
