"""Model files that commands read, and the code that some of them need."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from dpfair.errors import InputError

__all__ = ["deciding_model", "named_learner", "read_model"]


def read_model(path: Path, learner: str | None = None) -> Any:
    """The model of a file; ``learner`` names its own learner, if it has one."""
    from dpfair.models.file import load_model

    return load_model(path, learner=named_learner(learner))


def deciding_model(path: Path, learner: str | None = None, *, whole: bool) -> Any:
    """What decides about records, by a file (and its learner) alone.

    ``whole`` asks for the whole model; to decide one record after the other takes less.
    """
    if learner is None and not whole:
        from dpfair.models.deciding import read_decider

        decider = read_decider(path)
        if decider is not None:
            return decider
    model = read_model(path, learner)
    if "classifier" in model.get_params(deep=False):
        raise InputError(
            f"A file does not hold the classifier of this model ({model.title}); in Python, "
            "load_model(path, classifier=...) takes it."
        )
    return model


def named_learner(text: str | None) -> Any:
    """The learner that MODULE:NAME names: an object, or a class that needs no arguments.

    Only what the user names is imported, never what a file names.
    """
    if text is None:
        return None
    from dpfair.learners.protocols import Learner

    module, _, name = text.partition(":")
    try:
        found = getattr(importlib.import_module(module), name)
        learner = found() if isinstance(found, type) else found
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise InputError(
            f"Expected --learner to be MODULE:CLASS, with a module that Python can import and a "
            f"class that needs no arguments, got {text!r} ({type(error).__name__}: {error})."
        ) from error
    if not isinstance(learner, Learner):
        raise InputError(f"Expected {text} to be a learner: plan, train and restore.")
    return learner
