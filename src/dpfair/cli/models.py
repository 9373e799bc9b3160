"""Model files that commands read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dpfair.errors import InputError

__all__ = ["deciding_model"]


def deciding_model(path: Path) -> Any:
    """A model that can decide about records by its file alone."""
    from dpfair.models.file import load_model

    model = load_model(path)
    if "classifier" in model.get_params(deep=False):
        raise InputError(
            f"A file does not hold the classifier of this model ({model.title}); in Python, "
            "load_model(path, classifier=...) takes it."
        )
    return model
