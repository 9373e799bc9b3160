"""What a model file says beside the numbers of its scorer: the inputs that all else follows from.

Nothing here is a result. The account, the noise of every table, what depends on what and the
certificate are derived again when a file is read; so nobody can write down another one.
"""

from __future__ import annotations

import hashlib
from typing import Any

from dpfair import __version__
from dpfair.certificate.search import search_of
from dpfair.learners.protocols import Tensors
from dpfair.learners.scorers import ScorerForm
from dpfair.methods.base import PrivateClassifier
from dpfair.methods.search import SEARCH
from dpfair.models.content import FORMAT_VERSION, header_text
from dpfair.models.deciding_parts import classes_to_json, rule_to_json
from dpfair.models.parts import facts_to_json, release_to_json
from dpfair.models.settings import model_settings
from dpfair.privacy.ledger import Ledger
from dpfair.privacy.plan import Budget, FitPlan, Step

__all__ = ["digest", "header_of", "release_digest", "same_text"]


def header_of(model: PrivateClassifier) -> dict[str, Any]:
    """A fitted model as plain data."""
    fitted, ledger = model.fitted_, model.ledger_
    method, settings = model_settings(model)
    form = ScorerForm.of(fitted.scorer, model.schema_)
    return {
        "version": FORMAT_VERSION,
        "dpfair": __version__,
        "method": method,
        "settings": settings,
        "schema": model.schema_.to_dict(),
        "classes": classes_to_json(model.classes_),
        "plan": model.plan_.to_json(),
        "search": None if search_of(ledger) is None else _search_plan(ledger).to_json(),
        "seeded": not ledger.private,
        "row": ledger.row,
        "facts": facts_to_json(ledger.facts),
        "notion": fitted.notion,
        "scorer": None if form is None else vars(form),
        "releases": {name: release_to_json(r) for name, r in fitted.releases.items()},
        "planned": None if fitted.planned is None else rule_to_json(fitted.planned),
        "rates": None if fitted.rates is None else list(fitted.rates),
        "rule": None if fitted.rule is None else rule_to_json(fitted.rule),
        "coin_key": fitted.coin_key.hex(),
    }


def same_text(header: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two headers say the same in the same words, but for the version that wrote them."""
    return header_text(header | {"dpfair": ""}) == header_text(other | {"dpfair": ""})


def digest(header: dict[str, Any], tensors: Tensors) -> str:
    """The same for files that say the same."""
    hashes = {
        name: [tensor.dtype.str, tensor.shape, hashlib.sha256(tensor.tobytes()).hexdigest()]
        for name, tensor in tensors.items()
    }
    return hashlib.sha256(header_text([header, hashes]).encode()).hexdigest()


def release_digest(model: PrivateClassifier) -> str:
    """The same for models that ``with_rule`` makes of each other."""
    header = header_of(model)
    kept = {k: v for k, v in header.items() if k not in ("dpfair", "planned", "rates", "rule")}
    kept["settings"] = {
        k: v for k, v in header["settings"].items() if k not in ("rule", "confidence")
    }
    kept["releases"] = {name: header["releases"].get(name) for name in ("count", "values")}
    return digest(kept, model.scorer_.tensors())


def _search_plan(ledger: Ledger) -> FitPlan:
    """The plan of a search, from its account."""
    [entry] = ledger.entries
    budget = Budget(
        ledger.budget_epsilon,
        ledger.delta,
        ledger.relation,
        ledger.composition,
        ledger.rows_per_unit,
    )
    return FitPlan(budget, (Step(SEARCH, entry.scope, entry.purpose, entry.event),))
