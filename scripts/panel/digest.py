"""A digest of the source that a result depends on, so that old results are not taken for new."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import dpfair

__all__ = ["LIBRARY", "PANEL", "code_digest", "library_digest", "panel_digest"]

LIBRARY = Path(dpfair.__file__).parent
PANEL = Path(__file__).parent
# Parts that no fit and no decision uses.
UNUSED = ("cli", "report", "audit", "__main__.py")
MEASURING = ("contenders.py", "experiment.py", "outcomes.py", "prepare.py", "quotas.py")


def code_digest(files: Iterable[Path]) -> str:
    """A digest of the statements; comments, docstrings and layout do not matter."""
    found = hashlib.sha256()
    for file in sorted(files):
        content = file.read_text(encoding="utf-8")
        if file.suffix == ".py":
            content = ast.unparse(_without_docstrings(ast.parse(content)))
        found.update(f"{file.name}\n{content}\n".encode())
    return found.hexdigest()[:12]


@cache
def panel_digest() -> str:
    """Of the part of the panel that makes results."""
    return code_digest(PANEL / name for name in MEASURING)


@cache
def library_digest() -> str:
    """Of the library, and of the schemas that are given to it."""
    files = [f for suffix in ("py", "toml") for f in LIBRARY.rglob(f"*.{suffix}")]
    used = [f for f in files if f.relative_to(LIBRARY).parts[0] not in UNUSED]
    return code_digest([*used, PANEL / "schemas.py"])


def _without_docstrings(tree: ast.Module) -> ast.Module:
    """Without expressions that are only a text; a body that becomes empty keeps ``pass``."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            kept = [part for part in body if not _is_text(part)]
            node.body = kept or [ast.Pass()]  # type: ignore[attr-defined]
    return tree


def _is_text(node: ast.AST) -> bool:
    value = node.value if isinstance(node, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)
