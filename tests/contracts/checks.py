"""What every method must do. A check takes a :class:`~contracts.cases.Case` and asserts.

``CHECKS`` is found by the names, so a new check is one function.
"""

from __future__ import annotations

import contextlib
import copy
import io
import json
import math
import pickle
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import joblib
import numpy as np
import pytest
from contracts.cases import (
    PROBE,
    RECORDS,
    SCHEMA,
    TABLE,
    Case,
    labels_for,
    parameter,
    recordings,
    table,
)
from scipy.stats import binom
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from dpfair import (
    BudgetError,
    ChargeTo,
    InputError,
    LedgerFile,
    PrivateSearchCV,
    cli,
    load_model,
    save_model,
    verify_model,
)
from dpfair.audit.differences import differences
from dpfair.audit.observe import observe
from dpfair.audit.payments import check_payments
from dpfair.audit.replay import ReplayReport, replay_method
from dpfair.audit.sample import PERSON
from dpfair.audit.tape import Session
from dpfair.certificate import Certificate
from dpfair.evaluation import evaluate, evaluate_privately
from dpfair.models.file import model_bytes
from dpfair.privacy.events import RELATIONS, parts
from dpfair.report import render_report

__all__ = ["CHECKS", "accepts_at_the_stated_rate"]

ROWS = 3
"""How many records of a person count, where persons are protected."""


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


# Neighbours.


def check_neighbours_are_not_told_apart(case: Case) -> None:
    if not case.private:
        return
    for relation in RELATIONS:
        pairs = [pair for group in recordings(SCHEMA, relation) for pair in group]
        report = replay_method(case.entry, SCHEMA, relation, pairs)
        _nothing_told(report)
        assert report.blind_spots == ()


def check_persons_are_not_told_apart(case: Case) -> None:
    """Every situation once: half of them by adding or removing, half by replacing."""
    if not case.private or parameter(case.make(), "unit") is None:
        return
    persons = replace(case, settings=case.settings | {"unit": PERSON, "rows_per_unit": ROWS})
    asked, touched = set[str](), set[str]()
    for half, relation in enumerate(RELATIONS):
        groups = recordings(SCHEMA, relation, ROWS)[half::2]
        pairs = [pair for group in groups for pair in group]
        report = replay_method(persons.entry, SCHEMA, relation, pairs)
        _nothing_told(report)
        assert report.failed == 0, "fits that fail show nothing"
        asked, touched = asked | report.asked, touched | report.touched
    assert touched == asked != set()


def _nothing_told(report: ReplayReport) -> None:
    told = [f"{v.neighbours}: {v.sentence}" for v in report.violations]
    assert not told, "\n".join(told)


# Tables that nobody prepared.


def _fits(case: Case, records: list[dict[str, Any]]) -> Any:
    model = case.make().fit(*table(records))
    probabilities = model.predict_proba(PROBE.X)
    assert np.isfinite(probabilities).all()
    return model


def check_missing_and_extreme_values(case: Case) -> None:
    for extreme in (math.nan, math.inf, -math.inf, 1e308, None):
        changed = dict.fromkeys((c.name for c in SCHEMA.numeric), extreme)
        model = _fits(case, [*RECORDS[:-3], *(r | changed for r in RECORDS[-3:])])
        strange = table([RECORDS[0] | changed]).X
        assert set(model.predict(strange)) <= set(model.classes_)
    categories = dict.fromkeys((c.name for c in SCHEMA.categorical), "never declared")
    _fits(case, [RECORDS[0] | categories, *RECORDS[1:]])


def check_undeclared_groups_and_labels(case: Case) -> None:
    for column in ("sex", SCHEMA.label.name):
        _fits(case, [RECORDS[0] | {column: "never declared"}, *RECORDS[1:]])
        _fits(case, [RECORDS[0] | {column: None}, *RECORDS[1:]])


def check_an_empty_group_and_one_class(case: Case) -> None:
    for column, value in (("sex", "f"), ("sex", "m"), ("repaid", "no"), ("repaid", "yes")):
        with _refusal_of_exact_rates(case):
            model = _fits(case, [record | {column: value} for record in RECORDS])
            assert len(model.classes_) == 2
            assert len(model.schema_.groups) == 2


def check_a_table_of_one_record(case: Case) -> None:
    with _refusal_of_exact_rates(case):
        _fits(case, RECORDS[:1])


@contextlib.contextmanager
def _refusal_of_exact_rates(case: Case) -> Iterator[None]:
    """Without noise, a group without records has no rate. Where there is some, all tables fit."""
    try:
        yield
    except InputError as error:
        if case.private or "has no records to estimate its rate from" not in str(error):
            raise


def check_a_table_without_records_is_refused_and_costs_nothing(case: Case) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "some.ledger"
        file = LedgerFile.create(path, 4, 1e-5)
        for payer in (None, *([path] if case.private else [])):
            model = case.make()
            model.set_params(**{"ledger": payer} if "ledger" in model.get_params() else {})
            with pytest.raises(InputError):
                model.fit(*table([]))
        assert file.entries == ()
        file.close()


def check_an_undeclared_group_is_an_error_without_its_name(case: Case) -> None:
    """A method without a rule needs no group to decide."""
    model = case.fit()
    strange = table([RECORDS[0], RECORDS[1] | {"sex": "martian"}]).X
    if not model.needs_groups:
        assert model.undecided(strange).tolist() == ["", ""]
        chances = model.predict_proba(strange)[:, 1]
        every = [RECORDS[1] | {"sex": group} for group in model.schema_.groups]
        assert chances[1] == pytest.approx(model.predict_proba(table(every).X)[:, 1].mean())
        assert set(model.predict(strange)) <= set(model.classes_)
        return
    with pytest.raises(InputError, match="1 of 2 records have a group that") as error:
        model.predict(strange)
    assert "martian" not in str(error.value)
    assert model.undecided(strange).tolist() == ["", "the group is not declared"]


def check_a_failed_fit_leaves_no_earlier_model(case: Case) -> None:
    model = case.fit()
    with pytest.raises(InputError):
        model.fit(TABLE.X.select("income", "sex").head(0), np.array([]))
    with pytest.raises(NotFittedError):
        model.predict(PROBE.X)


# Decisions.


def check_decisions_and_their_probabilities(case: Case) -> None:
    model, X = case.fit(), TABLE.X
    probabilities = model.predict_proba(X)
    assert probabilities.shape == (len(X), 2)
    assert np.all((probabilities >= 0) & (probabilities <= 1))
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    decisions = model.predict(X)
    assert set(decisions) <= set(model.classes_)
    np.testing.assert_array_equal(decisions, model.predict(X))
    both = model.decide_all(X)
    np.testing.assert_array_equal(both[0], decisions)
    np.testing.assert_array_equal(both[1], probabilities[:, 1])
    codes = model.decide(model.new_records(X))
    np.testing.assert_array_equal(model.classes_[codes], decisions)
    assert [model.predict(X[i : i + 1])[0] for i in range(40)] == decisions[:40].tolist()
    if model.rule_ is None:
        np.testing.assert_array_equal(codes, (probabilities[:, 1] > 0.5).astype(int))
    right = np.mean(decisions == labels_for(model))
    assert model.score(X, labels_for(model)) == right


def check_fresh_coins_decide_with_the_stated_probability(case: Case) -> None:
    key = parameter(case.make(), "coins")
    if key is not None:
        accepts_at_the_stated_rate(case.fit(**{key: "fresh"}, random_state=1), TABLE.X)


def accepts_at_the_stated_rate(model: Any, X: Any, calls: int = 200) -> None:
    """Whether ``predict`` with fresh coins accepts as often as ``predict_proba`` says."""
    chances, positive = model.predict_proba(X)[:, 1], model.classes_[1]
    accepted = np.sum([model.predict(X) == positive for _ in range(calls)], axis=0)
    # Tails of one in 10^9 for each record: small rates are far from normal.
    assert np.all(accepted >= binom.ppf(1e-9, calls, chances))
    assert np.all(accepted <= binom.isf(1e-9, calls, chances))
    # All records together are sharper. By Bernstein's inequality this fails once in 10^7 runs.
    deviation = math.sqrt(calls * np.sum(chances * (1 - chances)))
    assert abs(accepted.sum() - calls * chances.sum()) <= 6 * deviation + 12


def check_groups_apart_from_the_table(case: Case) -> None:
    inside = case.fit(random_state=1)
    apart, groups = TABLE.X.drop("sex"), TABLE.X["sex"]
    outside = case.make(random_state=1).fit(apart, TABLE.y, sensitive_features=groups)
    probabilities = outside.predict_proba(apart, sensitive_features=groups)
    np.testing.assert_array_equal(inside.predict_proba(TABLE.X), probabilities)
    decisions = outside.predict(apart, sensitive_features=groups)
    if "schema" in inside.get_params():  # otherwise every column makes a record another one
        np.testing.assert_array_equal(inside.predict(TABLE.X), decisions)
    again = _written_and_read(case, outside)
    np.testing.assert_array_equal(again.predict(apart, sensitive_features=groups), decisions)


def check_every_container_gives_the_same_model(case: Case) -> None:
    files, decisions = [], []
    for X in (TABLE.X, TABLE.X.to_pandas(), TABLE.X.to_arrow()):
        model = case.make(random_state=1).fit(X, TABLE.y)
        files.append(model_bytes(model))
        decisions.append(model.predict(X).tolist())
    assert files[0] == files[1] == files[2]
    assert decisions[0] == decisions[1] == decisions[2]


def check_evaluations(case: Case) -> None:
    model = case.fit()
    labels = labels_for(model)
    found = evaluate(model, TABLE.X, labels)
    assert found["internal"]
    assert found["n"] == len(labels)
    assert found["accuracy"] == model.score(TABLE.X, labels)
    paid = evaluate_privately(model, TABLE.X, labels, epsilon=1.0)
    assert paid.private
    assert paid.ledger.spent == 1.0


# Seeds.


def check_the_same_seed_gives_the_same_model(case: Case) -> None:
    one, two = case.fit(random_state=3), case.fit(random_state=3)
    assert model_bytes(one) == model_bytes(two)
    assert one.certificate_ == two.certificate_
    np.testing.assert_array_equal(one.predict(PROBE.X), two.predict(PROBE.X))
    assert not one.certificate_.privacy.private
    assert "NOT PRIVATE" in str(one.certificate_)


def check_fits_without_a_seed_differ(case: Case) -> None:
    if case.private:
        assert model_bytes(case.fit()) != model_bytes(case.fit())


# Files, reports and searches.


def _written_and_read(case: Case, model: Any) -> Any:
    given = {} if case.classifier is None else {"classifier": case.classifier}
    with TemporaryDirectory() as folder:
        return load_model(save_model(model, Path(folder) / "model.dpfair"), **given)


def check_a_model_is_saved_loaded_and_verified(case: Case) -> None:
    model = case.fit()
    with TemporaryDirectory() as folder:
        path = save_model(model, Path(folder) / "model.dpfair")
        checks = {check.name: check.passed for check in verify_model(path)}
    _same_model(_written_and_read(case, model), model)
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
        _same_model(again, model)


def _same_model(again: Any, model: Any) -> None:
    assert type(again) is type(model)
    assert again.certificate_ == model.certificate_
    assert again.plan_ == model.plan_
    np.testing.assert_array_equal(again.predict_proba(PROBE.X), model.predict_proba(PROBE.X))
    np.testing.assert_array_equal(again.predict(PROBE.X), model.predict(PROBE.X))
    assert model_bytes(again) == model_bytes(model)


def check_what_is_read_off_the_table_is_a_leak(case: Case) -> None:
    own = case.make().get_params()
    unstated = {"schema": None, "groups": None, "sensitive": "sex"}
    unstated = {name: value for name, value in unstated.items() if name in own}
    model = case.fit(**unstated)
    assert not model.certificate_.privacy.private
    assert "NOT PRIVATE" in str(model.certificate_)
    assert _written_and_read(case, model).certificate_ == model.certificate_
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
    _same_model(_written_and_read(case, search.best_estimator_), search.best_estimator_)
    np.testing.assert_array_equal(search.predict(PROBE.X), search.best_estimator_.predict(PROBE.X))


CHECKS: dict[str, Callable[[Case], None]] = {
    name.removeprefix("check_").replace("_", " "): check
    for name, check in list(globals().items())
    if name.startswith("check_") and check.__module__ == __name__
}
