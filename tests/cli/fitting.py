"""Options with which the tests of this folder fit a model."""

from __future__ import annotations

__all__ = ["fit_options"]


def fit_options(path, data="loans.csv"):
    return [str(path / data), "--epsilon", "2", "--schema", str(path / "schema.toml")]
