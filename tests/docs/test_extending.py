"""The learner of docs/extending.md works as it stands there."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from dpfair import InputError
from dpfair.learners.protocols import Learner

PAGE = Path(__file__).resolve().parents[2] / "docs" / "extending.md"


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    """What the code of the page defines."""
    code = "\n".join(re.findall(r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.M | re.S))
    found: dict[str, object] = {"__name__": "extending"}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("extending"))
        exec(compile(code, PAGE.name, "exec", dont_inherit=True), found)
    return found


def test_the_learner_trains_a_private_fair_model(names):
    model, data = names["model"], names["data"]
    assert isinstance(names["NaiveBayes"](), Learner)
    assert type(model.scorer_).__name__ == "NaiveBayesScorer"
    assert model.certificate_.privacy.private
    assert 2.99 < model.ledger_.spent <= 3
    assert model.certificate_.fairness.gap_bound < 0.03
    assert model.score(data.X, data.y) > 0.82


def test_its_model_is_read_back(names):
    model, again, X = names["model"], names["again"], names["data"].X[:500]
    assert again.certificate_ == model.certificate_
    assert all(check.passed is not False for check in names["checks"])
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    for wrong in ({}, {"odds": np.zeros(3)}):
        with pytest.raises(InputError):
            names["NaiveBayes"]().restore(model.schema_, wrong)


def test_the_audit_of_the_page_has_looked(names):
    report = names["report"]
    assert report.pairs > 50
    assert report.failed == 0
    assert report.asked == report.touched
