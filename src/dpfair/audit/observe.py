"""One run of a method with all of its outputs."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from typing import Any

from dpfair.audit.sample import Table
from dpfair.audit.tape import Diverged, Heard, Session
from dpfair.errors import InputError
from dpfair.methods.base import PrivateClassifier
from dpfair.models.file import model_bytes
from dpfair.privacy.ledger import Ledger
from dpfair.privacy.noise import noise_from

__all__ = ["Run", "observe"]


@dataclass(frozen=True, eq=False)
class Run:
    """The questions of a run, and its outputs.

    Parameters
    ----------
    model
        The model with all its attributes, also if the fit failed.
    heard, rates
        Every question to the noise, and the rate of every Poisson batch.
    diverged
        Whether the run was stopped because no recorded answer fits its question.
    shown
        The error, the warnings and the printed text.
    outputs
        Predictions for the probe, and the content of model files.
    """

    model: Any
    heard: tuple[Heard, ...]
    rates: tuple[float, ...]
    diverged: bool
    shown: dict[str, Any]
    outputs: dict[str, Any]

    @property
    def failed(self) -> bool:
        """Whether there is no model."""
        return self.diverged or bool(self.shown["the error"])

    @property
    def ledger(self) -> Ledger | None:
        """The ledger of the model; None if there is no model."""
        return None if self.failed else getattr(self.model, "ledger_", None)


def observe(
    make_model: Callable[[], Any], table: Table, session: Session, probe: Table | None
) -> Run:
    """Fit a new model on the table with the session's noise, and apply it to the probe, if any."""
    model, printed = make_model(), io.StringIO()
    error, diverged = "", False
    outputs: dict[str, Any] = {}
    with (
        warnings.catch_warnings(record=True) as warned,
        redirect_stdout(printed),
        redirect_stderr(printed),
    ):
        warnings.simplefilter("always")
        try:
            with noise_from(session):
                model.fit(table.X, table.y)
            outputs = {} if probe is None else _outputs(model, probe)
        except Diverged:
            diverged = True
        except Exception as raised:  # the run on the neighbour must raise the same
            error = _named(raised)
    shown = {
        "the error": error,
        "the warnings": [f"{w.category.__name__}: {w.message}" for w in warned],
        "the printed text": printed.getvalue(),
    }
    return Run(model, tuple(session.heard), tuple(session.rates), diverged, shown, outputs)


def _outputs(model: Any, probe: Table) -> dict[str, Any]:
    outputs = {"predictions": model.predict(probe.X)} if hasattr(model, "predict") else {}
    for name, part in {"the model": model, **vars(model)}.items():
        if isinstance(part, PrivateClassifier) and hasattr(part, "certificate_"):
            outputs[f"the file of {name}"] = _file(part)
    return outputs


def _file(model: PrivateClassifier) -> bytes | str:
    try:
        return model_bytes(model)
    except InputError as refused:
        return _named(refused)


def _named(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
