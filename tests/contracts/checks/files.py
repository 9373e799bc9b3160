"""Checks of files, of reports and of searches."""

from __future__ import annotations

import contextlib
import copy
import io
import json
import pickle
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

import joblib
import numpy as np
import pytest
from contracts.cases import PROBE, TABLE, Case
from contracts.checks.again import same_model, written_and_read
from sklearn.base import clone

from dpfair import InputError, PrivateSearchCV, cli, save_model, verify_model
from dpfair.certificate import Certificate
from dpfair.report import render_report


def check_a_model_is_saved_loaded_and_verified(case: Case) -> None:
    model = case.fit()
    with TemporaryDirectory() as folder:
        path = save_model(model, Path(folder) / "model.dpfair")
        checks = {check.name: check.passed for check in verify_model(path)}
    same_model(written_and_read(case, model), model)
    assert checks.pop("ledger") is None  # no ledger file paid
    assert checks.pop("privacy") is case.private
    assert checks.pop("grades", True)  # those of a claim, if there is one
    assert checks == {"rule": True, "certificate": True, "plan": True, "account": True}


def check_a_model_is_copied(case: Case) -> None:
    model = case.fit()
    stream = io.BytesIO()
    joblib.dump(model, stream)
    stream.seek(0)
    for again in (joblib.load(stream), pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        same_model(again, model)


def check_what_is_read_off_the_table_is_a_leak(case: Case) -> None:
    own = case.make().get_params()
    unstated = {"schema": None, "groups": None, "sensitive": "sex"}
    unstated = {name: value for name, value in unstated.items() if name in own}
    model = case.fit(**unstated)
    assert not model.certificate_.privacy.private
    assert "NOT PRIVATE" in str(model.certificate_)
    assert written_and_read(case, model).certificate_ == model.certificate_
    if case.private:
        with pytest.raises(InputError, match="which is not private"):
            case.fit(**unstated, strict=True)
        with pytest.raises(InputError, match="pays for private work only"):
            case.fit(**unstated, ledger="none.ledger")


def check_a_certificate_is_written_and_read(case: Case) -> None:
    certificate = case.fit().certificate_
    again = Certificate.from_json(json.loads(json.dumps(certificate.to_json())))
    assert again == certificate
    assert str(again) == str(certificate)


def check_a_report_shows_the_method(case: Case) -> None:
    model = case.fit()
    page = render_report(model)
    assert page.startswith("<!doctype html>")
    assert model.certificate_.method in page


def check_a_frontier_or_a_plain_refusal(case: Case) -> None:
    model = case.fit()
    chooses = "count" in model.fitted_.releases and model.release_.labelled
    assert hasattr(model, "frontier") == chooses
    with TemporaryDirectory() as folder:
        path = save_model(model, Path(folder) / "model.dpfair")
        said, printed = io.StringIO(), io.StringIO()
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(printed):
            code = cli.run(["frontier", str(path), "--tolerances", "0,0.1"])
    if chooses:
        assert code == 0
        assert len(model.frontier(tolerances=(0.0, 0.1))) == 2
    else:
        assert code == 2
        assert said.getvalue().count("\n") == 1
        assert printed.getvalue() == ""


def check_a_search(case: Case) -> None:
    search = PrivateSearchCV(case.make(), {}, epsilon=6, mean_runs=1.5, random_state=2)
    if not {"epsilon", "delta", "schema"} <= set(case.make().get_params()):
        with pytest.raises(InputError, match="plans its cost by a budget and a schema"):
            search.fit(*TABLE)
        return
    with pytest.raises(InputError, match="The search itself sets epsilon"):
        clone(search).set_params(param_distributions={"epsilon": [1.0]}).fit(*TABLE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search.fit(*TABLE)
    assert type(search.best_estimator_) is case.kind
    assert search.certificate_.privacy.epsilon == 6
    assert search.certificate_.privacy.spent <= 6
    assert search.certificate_ == search.best_estimator_.certificate_
    same_model(written_and_read(case, search.best_estimator_), search.best_estimator_)
    np.testing.assert_array_equal(search.predict(PROBE.X), search.best_estimator_.predict(PROBE.X))
