"""Checks of the parameters of a method, of its plan and of its account."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from contracts.cases import PROBE, TABLE, Case, parameter
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from dpfair import BudgetError, ChargeTo, InputError, LedgerFile, save_model, verify_model
from dpfair.audit.differences import differences
from dpfair.audit.observe import observe
from dpfair.audit.payments import check_payments
from dpfair.audit.tape import Session
from dpfair.models.file import model_bytes
from dpfair.privacy.events import RELATIONS, parts

# Parameters.


def check_parameters_are_kept_and_cloned(case: Case) -> None:
    model = case.make()
    params = model.get_params(deep=False)
    assert set(params) <= set(model.get_params())
    given = {name: object() for name in params}
    made = case.kind(**given)
    for name, value in given.items():
        assert getattr(made, name) is value, f"{name} is not kept as it was given"
    other = clone(model)
    assert not hasattr(other, "certificate_")
    assert list(differences(other.get_params(), model.get_params(), "parameters")) == []
    again = model.set_params(**params).get_params()
    assert list(differences(other.get_params(), again, "parameters")) == []


def check_an_unfitted_model_says_so(case: Case) -> None:
    with pytest.raises(NotFittedError):
        case.make().predict(PROBE.X)
    with pytest.raises((NotFittedError, InputError)):
        model_bytes(case.make())


def check_wrong_parameters_are_refused(case: Case) -> None:
    wrong = {
        "epsilon": -1.0,
        "delta": 2.0,
        "relation": "near",
        "confidence": 1.5,
        "coins": "loaded",
    }
    for name, value in wrong.items():
        key = parameter(case.make(), name)
        if key is not None:
            with pytest.raises(InputError):
                case.make(**{key: value}).plan()


# The plan and the account.


def check_what_is_planned_is_charged_and_drawn(case: Case) -> None:
    for relation in RELATIONS:
        if "relation" not in case.make().get_params() and relation != "add_remove":
            continue
        run = observe(lambda r=relation: case.make(relation=r), TABLE, Session(3), PROBE)
        assert run.shown["the error"] == ""
        assert list(check_payments(run, case.make(relation=relation))) == []
        model, plan = run.model, case.make(relation=relation).plan(run.model.schema_)
        assert model.plan_ == plan
        assert [(e.scope, e.event) for e in model.ledger_.entries] == plan.charges
        assert plan.total().spent == model.ledger_.spent


def check_the_certificate_states_the_budget(case: Case) -> None:
    model = case.fit()
    privacy = model.certificate_.privacy
    if not case.private:
        assert not privacy.private
        assert "NOT PRIVATE" in str(model.certificate_)
        return
    assert privacy.private
    assert privacy.epsilon == model.epsilon
    assert 0 < privacy.spent <= privacy.epsilon
    assert privacy.delta <= model.delta


def check_a_fit_plans_once(case: Case) -> None:
    made = []

    class Counting(case.kind):  # type: ignore[misc, name-defined]
        def make_plan(self, *given: Any) -> Any:
            made.append(given)
            return super().make_plan(*given)

    with TemporaryDirectory() as folder:
        ledger = Path(folder) / "some.ledger"
        LedgerFile.create(ledger, 10, 1e-5).close()
        for payer in (None, *([ledger] if case.private else [])):
            made.clear()
            model = case.make(Counting)
            model.set_params(**{"ledger": payer} if "ledger" in model.get_params() else {})
            model.fit(*TABLE)
            assert len(made) == 1
    plan, made[:] = case.make(Counting).plan(), []
    fitted = case.make(Counting).fit_planned(plan, *TABLE)
    assert len(made) == 1
    assert fitted.plan_ == plan


def check_a_plan_of_other_parameters_is_refused(case: Case) -> None:
    if not case.private:
        return
    plan = case.make().plan()
    with pytest.raises(InputError, match="made for other parameters"):
        case.make(epsilon=case.make().epsilon / 2).fit_planned(plan, *TABLE)


def check_changed_parameters_are_not_saved(case: Case) -> None:
    model = case.fit()
    strange = model.get_params(deep=False) | {"sensitive": "job"}
    with pytest.raises(InputError, match="changed after fit"):
        model_bytes(model.set_params(**strange))


def check_a_plan_can_be_written_and_read(case: Case) -> None:
    plan = case.make().plan()
    again = type(plan).from_json(json.loads(json.dumps(plan.to_json())))
    assert again == plan
    assert again.agrees(plan)


def check_a_ledger_file_pays_before_records_are_read(case: Case) -> None:
    model = case.make()
    if "ledger" not in model.get_params():
        assert not case.private, "a private method can be charged to a ledger file"
        return
    with TemporaryDirectory() as folder:
        path = Path(folder) / "some.ledger"
        file = LedgerFile.create(path, 4, 1e-5)
        model.set_params(ledger=ChargeTo(path, key="once")).fit(*TABLE)
        [entry] = file.entries
        assert parts(entry.event) == parts(model.plan_.event)
        assert model.ledger_.row is not None
        save_model(model, path.with_suffix(".dpfair"))
        assert all(c.passed for c in verify_model(path.with_suffix(".dpfair"), path))
        with pytest.raises(BudgetError):
            case.make(ledger=path).fit(Unreadable(), Unreadable())
        assert len(file.entries) == 1
        with pytest.raises(InputError, match="pays for private work only"):
            case.make(ledger=path, random_state=1).fit(Unreadable(), Unreadable())
        file.close()


class Unreadable:
    """A table that no fit may look at, but for the names of its columns."""

    columns = TABLE.X.columns

    def __len__(self) -> int:
        raise AssertionError("A record was read before the fit was paid for.")

    def __array__(self, *how: Any) -> Any:
        raise AssertionError("A record was read before the fit was paid for.")
