"""Models on disk: one safetensors file with a JSON header. Reading it never runs code.

A file holds the inputs: the method and its settings, the schema, the released numbers, the plan
of the charges. What follows from them (the account, the noise of every table, the certificate) is
derived again when the file is read. The rule follows, too; it is stored to the last digit, so that
no decision changes on another machine, and compared with the derived one.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from dpfair.errors import InputError
from dpfair.files import write_file
from dpfair.methods.base import PrivateClassifier
from dpfair.methods.limits import check_charges, check_release
from dpfair.methods.search import PrivateSearchCV
from dpfair.models.content import write_content
from dpfair.models.deciding_parts import same_rule
from dpfair.models.header import digest, header_of, release_digest
from dpfair.models.reading import reading
from dpfair.models.rebuild import derived_rule, rebuild

__all__ = [
    "load_model",
    "model_bytes",
    "model_digest",
    "model_from_bytes",
    "same_release",
    "save_model",
    "write_model",
]


def save_model(model: PrivateClassifier, path: str | Path) -> Path:
    """Write a fitted classifier to a file.

    The file holds released values and public facts only: weights, noisy counts, the rule, the
    schema, the plan, and the key of the decision coins.
    """
    return write_model(model_bytes(model), path)


def write_model(content: bytes, path: str | Path) -> Path:
    """Write a file's content in one step, so that nobody ever sees half a model."""
    return write_file(path, content)


def model_bytes(model: PrivateClassifier) -> bytes:
    """The content of a fitted classifier's file."""
    from sklearn.utils.validation import check_is_fitted

    if not isinstance(model, PrivateClassifier):
        raise InputError(f"Expected a PrivateClassifier, got {type(model).__name__}.")
    check_is_fitted(model)
    model = _winner(model)
    header = header_of(model)
    _check_savable(model)
    return write_content(header, model.scorer_.tensors())


def model_digest(model: PrivateClassifier, *, any_confidence: bool = False) -> str:
    """The same for models whose files say the same, up to their confidence if that is asked."""
    model = _winner(model)
    header = header_of(model)
    if any_confidence:
        header["settings"] = {k: v for k, v in header["settings"].items() if k != "confidence"}
    return digest(header, model.scorer_.tensors())


def same_release(model: PrivateClassifier, other: PrivateClassifier) -> bool:
    """Whether the first model is the other one, or ``with_rule`` can make it of the other one.

    ``with_rule`` keeps the counts of scores and of values, and drops all that was counted for the
    first rule. If only the confidence changes, it keeps everything.
    """
    if model_digest(model, any_confidence=True) == model_digest(other, any_confidence=True):
        return True
    fitted = model.fitted_
    later = fitted.planned is None and fitted.rates is None
    later &= set(fitted.releases) <= {"count", "values"}
    return later and release_digest(model) == release_digest(other)


def load_model(path: str | Path, *, classifier: Any = None, learner: Any = None) -> Any:
    """Read a classifier back; a malformed or hostile file is refused.

    Parameters
    ----------
    path
        The file.
    classifier
        What a :class:`~dpfair.FairPostProcessor` was built on, which its file does not hold; if it
        was trained in ``fit``, the trained ``classifier_``.
    learner
        The learner of the model, if it is none of dpfair's own.

    Examples
    --------
    >>> load_model("nowhere.dpfair")
    Traceback (most recent call last):
    dpfair.errors.ModelFileError: There is no model file nowhere.dpfair.
    """
    with reading(path) as content:
        return rebuild(*content, classifier=classifier, learner=learner)


def model_from_bytes(content: bytes, *, learner: Any = None) -> Any:
    """The model of a file's content; see :func:`load_model`."""
    with tempfile.TemporaryDirectory() as folder:
        return load_model(write_model(content, Path(folder) / "kept.dpfair"), learner=learner)


def _winner(model: PrivateClassifier) -> PrivateClassifier:
    """The model that a search leads to, or the model itself."""
    return model.best_estimator_ if isinstance(model, PrivateSearchCV) else model


def _check_savable(model: PrivateClassifier) -> None:
    """Refuse to write what could not be read back, or not as it is."""
    model.check_unchanged()
    check_charges(model.plan_.to_json())
    for name, release in model.fitted_.releases.items():
        if name != "values":
            check_release(release, model.schema_)
    if not same_rule(derived_rule(model, model.fitted_).rule, model.fitted_.rule):
        raise InputError("The model's parameters were changed after fit; set them back to save it.")
