"""Models that were written and read, or copied."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from contracts.cases import PROBE, Case

from dpfair import load_model, save_model
from dpfair.models.file import model_bytes

__all__ = ["same_model", "written_and_read"]


def written_and_read(case: Case, model: Any) -> Any:
    given = {} if case.classifier is None else {"classifier": case.classifier}
    with TemporaryDirectory() as folder:
        return load_model(save_model(model, Path(folder) / "model.dpfair"), **given)


def same_model(again: Any, model: Any) -> None:
    assert type(again) is type(model)
    assert again.certificate_ == model.certificate_
    assert again.plan_ == model.plan_
    np.testing.assert_array_equal(again.predict_proba(PROBE.X), model.predict_proba(PROBE.X))
    np.testing.assert_array_equal(again.predict(PROBE.X), model.predict(PROBE.X))
    assert model_bytes(again) == model_bytes(model)
