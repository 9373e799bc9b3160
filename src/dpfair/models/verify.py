"""Check a model file against itself and against the ledger file that paid for it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpfair.errors import (
    BudgetError,
    InputError,
    LedgerFileError,
    MissingCodeError,
    ModelFileError,
)
from dpfair.methods.base import PrivateClassifier
from dpfair.models.file import load_model, model_from_bytes, same_release
from dpfair.privacy.events import parts
from dpfair.privacy.ledger import Ledger
from dpfair.privacy.ledger_file import LedgerFile
from dpfair.privacy.plan import whole_event

__all__ = ["Check", "verify_model"]


@dataclass(frozen=True)
class Check:
    """One thing that was looked at; ``passed`` is None if it could not be."""

    name: str
    passed: bool | None
    finding: str


def verify_model(
    path: str | Path, ledger: str | Path | None = None, *, learner: Any = None
) -> list[Check]:
    """Derive again all that a model file claims.

    Reading the file derives the rule from the releases, and the certificate from the releases and
    the model's own account, whose costs are computed anew. The charges must be those that the
    model's settings lead to. With a ledger file, its chain is verified and one of its rows must
    have paid for exactly the charges of the model. The result of a job with a key is in the
    ledger, too, and must have the release of this model.

    ``learner`` is the learner of the model, if it is none of dpfair's own. Its ``plan`` and
    ``restore`` run, so the findings are as trustworthy as its code. Without it nothing can be
    checked, which is an error and not a failed check.
    """
    if not Path(path).exists():
        raise InputError(f"There is no model file {path}.")
    try:
        model = load_model(path, learner=learner)
    except MissingCodeError:
        raise
    except ModelFileError as error:
        return [Check("model", False, str(error))]
    certificate, rule = model.certificate_, "follows from the released counts"
    if model.rule_ is None:
        rule = "accepts scores above one half"
    found = [
        Check("rule", True, rule),
        Check("certificate", True, _derived_from(model)),
        *_grades(model),
        _plan_check(model),
        Check("account", True, _account(model.ledger_)),
    ]
    leaks = certificate.privacy.leaks
    found.append(
        Check("privacy", not leaks, "; ".join(leaks) or "nothing was read without being paid for")
    )
    return [*found, *_ledger_checks(model, ledger, learner)]


def _derived_from(model: PrivateClassifier) -> str:
    sources = ["the released counts"] if model.fitted_.releases else []
    sources += ["the account"] if model.ledger_.entries else []
    return f"derived from {' and '.join(sources) or 'the settings: nothing was released or paid'}"


def _grades(model: PrivateClassifier) -> list[Check]:
    """How much the claims say; they may be true and say nothing."""
    judged = model.certificate_.judgements
    grades = [f"{name} {one.grade}" for name, one in judged.items() if one is not None]
    return [Check("grades", True, ", ".join(grades))] if grades else []


def _account(ledger: Ledger) -> str:
    """What was spent; the delta of a ledger says nothing if no charge uses it."""
    if not ledger.entries:
        return "nothing was charged"
    delta = "pure, no delta" if ledger.pure else f"at delta {ledger.delta:g}"
    anew = f"computed anew from {_charges(len(ledger.entries))}"
    return f"epsilon {ledger.spent:.4f} of {ledger.epsilon:g}, {delta}, {anew}"


def _charges(count: int) -> str:
    return f"{count} charge" if count == 1 else f"{count} charges"


def _plan_check(model: PrivateClassifier) -> Check:
    """Whether the settings lead to the plan, its noise calibrated anew.

    Reading the file has checked all of it but the last tenth of the noise of training.
    """
    try:
        derived = model.replan(model.ledger_.facts, notion=model.fitted_.notion)
    except (InputError, BudgetError) as error:
        return Check("plan", False, f"the settings lead to no plan: {error}")
    if derived.agrees(model.plan_):
        return Check(
            "plan", True, f"the settings lead to {_charges(len(derived.steps))}, as stated"
        )
    return Check("plan", False, "the settings lead to other charges")


def _ledger_checks(model: PrivateClassifier, path: str | Path | None, learner: Any) -> list[Check]:
    own = model.ledger_
    if path is None:
        said = "no ledger file paid" if own.row is None else f"the model names row {own.row[:16]}"
        return [Check("ledger", None, f"not looked at; {said}")]
    try:
        file = LedgerFile(path)
        file.verify()
    except LedgerFileError as error:
        return [Check("ledger", False, str(error))]
    intact = Check("ledger", True, f"{_charges(len(file.entries))}, each chained to the one before")
    return [intact, _payment_check(model, file, learner)]


def _payment_check(model: PrivateClassifier, file: LedgerFile, learner: Any) -> Check:
    own = model.ledger_
    if own.row is None:
        return Check("payment", False, "the model was not charged to any ledger file")
    paid = file.paid(own.row)
    if paid is None:
        return Check("payment", False, "no row of this ledger paid for the model")
    if parts(paid.event) != parts(whole_event([(e.scope, e.event) for e in own.entries])):
        return Check("payment", False, "the row that paid is about other charges")
    unit = None if model.unit is None else str(model.unit)
    if (file.relation, file.unit, file.rows_per_unit) != (own.relation, unit, own.rows_per_unit):
        return Check("payment", False, "the ledger is about other neighbours than the model")
    row = f"row {own.row[:16]}"
    kept = None if paid.key is None else file.kept(paid.key)
    if kept is None:
        return Check(
            "payment",
            True,
            f"{row} paid for such charges; which model they made is known only if the ledger kept "
            "it: by fit --key, or in Python by LedgerFile.keep",
        )
    if not _same_release(model, kept, learner):
        return Check("payment", False, f"{row} paid for another model")
    return Check("payment", True, f"{row} paid for this model")


def _same_release(model: PrivateClassifier, kept: bytes, learner: Any) -> bool:
    try:
        return same_release(model, model_from_bytes(kept, learner=learner))
    except ModelFileError:
        return False  # the result of another kind of job
