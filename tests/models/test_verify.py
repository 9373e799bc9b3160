"""``verify_model`` believes nothing that it can derive again."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from sample_models import fitted, put, rewritten
from sample_tables import make_loans

from dpfair import ChargeTo, InputError, LedgerFile, PrivateFairClassifier, load_model, save_model
from dpfair.errors import MissingCodeError
from dpfair.learners.logistic import LogisticLearner
from dpfair.models.verify import verify_model


@pytest.fixture(scope="module")
def folder(tmp_path_factory, loans, loan_schema):
    folder = tmp_path_factory.mktemp("verified")
    LedgerFile.create(folder / "loans.ledger", 5, 1e-5)
    paid = PrivateFairClassifier(
        1, schema=loan_schema, mode="reuse", ledger=folder / "loans.ledger"
    ).fit(*loans)
    save_model(paid, folder / "paid.dpfair")
    alone = PrivateFairClassifier(1, schema=loan_schema, mode="reuse").fit(*loans)
    save_model(alone, folder / "alone.dpfair")
    seeded = PrivateFairClassifier(1, schema=loan_schema, mode="reuse", random_state=1).fit(*loans)
    save_model(seeded, folder / "seeded.dpfair")
    LedgerFile.create(folder / "other.ledger", 5, 1e-5)
    return folder


def failed(checks):
    return [check.name for check in checks if check.passed is False]


def test_a_paid_model_and_its_ledger_verify(folder):
    checks = verify_model(folder / "paid.dpfair", folder / "loans.ledger")
    assert not failed(checks)
    assert [c.name for c in checks] == [
        "rule",
        "certificate",
        "grades",
        "plan",
        "account",
        "privacy",
        "ledger",
        "payment",
    ]
    assert all(check.passed for check in checks)


def test_without_a_ledger_nothing_is_said_about_payment(folder):
    *_, last = verify_model(folder / "paid.dpfair")
    assert last.name == "ledger"
    assert last.passed is None


def test_a_model_that_nobody_paid_for_fails(folder):
    assert failed(verify_model(folder / "alone.dpfair", folder / "loans.ledger")) == ["payment"]


def test_the_wrong_ledger_fails(folder):
    assert failed(verify_model(folder / "paid.dpfair", folder / "other.ledger")) == ["payment"]


def test_a_seeded_model_is_no_private_model(folder):
    assert failed(verify_model(folder / "seeded.dpfair")) == ["privacy"]


def test_a_row_that_paid_for_something_else_fails(folder, tmp_path, loans, loan_schema):
    alone, claims = folder / "alone.dpfair", tmp_path / "claims.dpfair"
    forged(alone, claims, put("row", value=row_of(folder / "paid.dpfair")))
    dearer = PrivateFairClassifier(
        2, schema=loan_schema, mode="reuse", ledger=folder / "loans.ledger"
    ).fit(*loans)
    checks = verify_model(claims, folder / "loans.ledger")
    assert failed(checks) == []  # the same charges: which of two equal models paid, nobody can say
    forged(alone, claims, put("row", value=dearer.ledger_.row))
    assert failed(verify_model(claims, folder / "loans.ledger")) == ["payment"]


@pytest.mark.parametrize(
    "change",
    [
        put("plan", "epsilon", value="1/2"),
        put("settings", "epsilon", value=0.5),
        put("certificate", value={"privacy": {"epsilon": 0.5}}),
    ],
    ids=["plan", "settings", "certificate"],
)
def test_a_changed_promise_fails(folder, tmp_path, change):
    """A certificate is derived and not stored; so a forger has to change what it follows from."""
    better = forged(folder / "paid.dpfair", tmp_path / "better.dpfair", change)
    assert failed(verify_model(better)) == ["model"]


def test_a_missing_file_is_bad_input(folder):
    with pytest.raises(InputError, match="no model file"):
        verify_model(folder / "none.dpfair")


def row_of(path):
    return load_model(path).ledger_.row


def forged(source, target, change):
    """Rewrite a model's header, as a forger would."""
    target.write_bytes(rewritten(source.read_bytes(), change))
    return target


def test_a_row_that_paid_for_another_model_is_found_out(tmp_path, loans, loan_schema):
    LedgerFile.create(tmp_path / "l", 5, 1e-5)
    settings = {"schema": loan_schema, "mode": "reuse"}
    paid = PrivateFairClassifier(1, ledger=ChargeTo(tmp_path / "l", key="k"), **settings).fit(
        *loans
    )
    save_model(paid, tmp_path / "paid")
    LedgerFile(tmp_path / "l").keep("k", (tmp_path / "paid").read_bytes())
    free = PrivateFairClassifier(1, **settings).fit(*loans)
    free.ledger_.row = paid.ledger_.row
    save_model(free, tmp_path / "free")
    save_model(paid.with_rule(tolerance=0.1), tmp_path / "other-rule")
    assert failed(verify_model(tmp_path / "free", tmp_path / "l")) == ["payment"]
    for name in ("paid", "other-rule"):
        *_, last = verify_model(tmp_path / name, tmp_path / "l")
        assert (last.passed, last.finding[-19:]) == (True, "paid for this model")


def test_a_model_with_a_checked_rule_lends_its_payment_to_its_other_rules(
    tmp_path, loans, loan_schema
):
    LedgerFile.create(tmp_path / "l", 5, 1e-5)
    settings = {"schema": loan_schema, "mode": "reuse", "division": {"check_share": 0.3}}
    paid = PrivateFairClassifier(1, ledger=ChargeTo(tmp_path / "l", key="k"), **settings).fit(
        *loans
    )
    save_model(paid, tmp_path / "paid")
    LedgerFile(tmp_path / "l").keep("k", (tmp_path / "paid").read_bytes())
    save_model(paid.with_rule(tolerance=0.1), tmp_path / "other-rule")
    for name in ("paid", "other-rule"):
        assert not failed(verify_model(tmp_path / name, tmp_path / "l"))


class OwnLearner(LogisticLearner):
    """A learner that is none of dpfair's."""


def test_a_model_with_a_learner_of_its_own_is_verified_with_it(tmp_path, loans, loan_schema):
    LedgerFile.create(tmp_path / "l", 5, 1e-5)
    learner = OwnLearner(steps=20)
    settings = {"schema": loan_schema, "mode": "reuse", "learner": learner}
    paid = PrivateFairClassifier(1, ledger=ChargeTo(tmp_path / "l", key="k"), **settings)
    path = save_model(paid.fit(*loans), tmp_path / "own")
    LedgerFile(tmp_path / "l").keep("k", path.read_bytes())
    with pytest.raises(MissingCodeError, match=r"'OwnLearner'.*learner="):
        verify_model(path, tmp_path / "l")
    checks = verify_model(path, tmp_path / "l", learner=learner)
    assert all(check.passed for check in checks)
    assert checks[-1].finding.endswith("paid for this model")
    assert failed(verify_model(path, learner=OwnLearner(steps=30))) == ["model"]


@pytest.mark.parametrize(
    ("kind", "finding"),
    [
        ("rates", "epsilon 2.0000 of 2, pure, no delta, computed anew from 1 charge"),
        ("corrected", "epsilon 2.0000 of 2, at delta 1e-05, computed anew from 5 charges"),
        ("algorithm 1", "nothing was charged"),
    ],
)
def test_an_account_names_a_delta_only_if_a_charge_uses_it(kind, finding, tmp_path):
    checks = verify_model(save_model(fitted(kind), tmp_path / "m"))
    assert {check.name: check.finding for check in checks}["account"] == finding


def test_nothing_is_derived_from_what_a_model_does_not_have(tmp_path):
    def source(kind):
        checks = verify_model(save_model(fitted(kind), tmp_path / "m"))
        return {check.name: check.finding for check in checks}["certificate"]

    assert source("corrected") == "derived from the released counts and the account"
    assert source("logistic") == "derived from the account"
    assert source("algorithm 1") == "derived from the released counts"


@pytest.mark.parametrize("unit", [4, -1, "person"])
def test_a_unit_given_by_position_is_paid_for_by_its_name(unit, tmp_path, loan_schema):
    X, y = make_loans(300)
    X = X.with_columns(person=pl.Series(np.arange(300)))
    ledger = tmp_path / "loans.ledger"
    LedgerFile.create(ledger, 3, 1e-5, unit="person").close()
    how = {"schema": loan_schema, "unit": unit, "ledger": ChargeTo(ledger, key="a")}
    model = PrivateFairClassifier(1, **how).fit(X, y)
    assert "column 'person'" in model.certificate_.privacy.unit
    path = save_model(model, tmp_path / "m.dpfair")
    payment = {check.name: check for check in verify_model(path, ledger)}["payment"]
    assert payment.passed, payment.finding
    assert load_model(path).certificate_ == model.certificate_
    reordered = X.select(sorted(X.columns))
    np.testing.assert_array_equal(load_model(path).predict(reordered), model.predict(X))
