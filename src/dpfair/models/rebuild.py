"""From what a model file says to the model: everything that follows is derived again.

Whatever can be checked against the settings is checked: the steps of the plan, their noise, the
edges of the tables, the assumed facts, the rule. What cannot (the counts, the weights, where the
noise came from) is an input, and a reader has to trust whoever wrote the file.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import replace
from typing import Any

from dp_accounting.dp_event import RepeatAndSelectDpEvent

from dpfair.data.schema import Schema
from dpfair.errors import FairnessWarning, InputError
from dpfair.fairness.release import HALF
from dpfair.learners.protocols import Tensors
from dpfair.methods.base import PrivateClassifier
from dpfair.methods.fitted import Fitted
from dpfair.methods.limits import check_charges, check_placed, check_release
from dpfair.methods.search import SEARCH, SEARCHING
from dpfair.models.deciding_parts import classes_from_json, rule_from_json, same_rule
from dpfair.models.header import header_of, same_text
from dpfair.models.parts import facts_from_json, release_from_json
from dpfair.models.reading import check_entries
from dpfair.models.settings import model_from_settings
from dpfair.privacy.assumptions import GROUP_SIZES, Facts
from dpfair.privacy.events import parts, path_events, pure_epsilon
from dpfair.privacy.ledger import Ledger
from dpfair.privacy.plan import EVERYBODY, Budget, FitPlan

__all__ = ["derived_rule", "rebuild"]


def rebuild(
    header: dict[str, Any], tensors: Tensors, *, classifier: Any = None, learner: Any = None
) -> PrivateClassifier:
    """The model that a file describes; ``InputError`` if it contradicts itself."""
    check_entries(header)
    schema, plan = Schema.from_dict(header["schema"]), _plan(header["plan"])
    if "discover" not in plan and schema.declared() != schema:
        raise InputError("Facts of its schema were found, and no charge paid for that.")
    model = model_from_settings(
        str(header["method"]),
        header["settings"],
        plan,
        schema=schema,
        classifier=classifier,
        learner=learner,
    )
    model.schema_, model.plan_ = schema, plan
    model.classes_ = classes_from_json(header["classes"], schema)
    facts = facts_from_json(header["facts"], len(schema.groups))
    derived = _derived_plan(model, facts, str(header["notion"]))
    model.ledger_ = _ledger(header, plan, facts)
    model.fitted_ = _fitted(header, tensors, model, derived)
    if not same_text(header, header_of(model)):
        raise InputError("Its entries are not written as dpfair writes them.")
    model.remember_settings()
    model.certificate_ = model.certify()
    return model


def derived_rule(model: PrivateClassifier, fitted: Fitted) -> Fitted:
    """The same parts with the rule that follows from the releases."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairnessWarning)  # shown when the rule was made
        return model.choose(replace(fitted, rule=None, chosen=None))


def _plan(data: dict[str, Any]) -> FitPlan:
    check_charges(data)
    return FitPlan.from_json(data)


def _derived_plan(model: PrivateClassifier, facts: Facts, notion: str) -> FitPlan:
    """The plan that the settings lead to, which the stated one must agree with."""
    model.check_parameters()
    model.check_schema(model.schema_)
    if tuple(facts) != model.public_facts(model.schema_):
        raise InputError("Its assumed facts are not those of its method.")
    derived = model.replan(facts, stated=model.plan_, notion=notion)
    if not model.plan_.agrees(derived):
        raise InputError("Its charges do not follow from its settings.")
    return derived


def _ledger(header: dict[str, Any], plan: FitPlan, facts: Facts) -> Ledger:
    """The account of the model, or of the search that it is the best of."""
    ledger = (plan if header["search"] is None else _search(header["search"], plan)).total()
    row = header["row"]
    if not (row is None or re.fullmatch("[0-9a-f]{64}", row)):
        raise InputError("The row that paid for it is malformed.")
    ledger.mark(seeded=header["seeded"] is not False, row=row)
    for fact, value in facts.items():
        ledger.assume(fact, value)
    return ledger


def _search(data: dict[str, Any], plan: FitPlan) -> FitPlan:
    """The plan of a search that could have had this plan as one of its runs."""
    search = _plan(data)
    [step] = search.steps
    if (
        (step.name, step.scope, step.purpose) != (SEARCH, "", SEARCHING)
        or not isinstance(step.event, RepeatAndSelectDpEvent)
        or dict(search.shares) != dict(EVERYBODY)
        or search.protects != plan.protects
        or _same_but_cost(search.budget, plan.budget) != plan.budget
        or search.budget.composition != "tight"
    ):
        raise InputError("Its search is malformed.")
    among = [parts(event) for event in step.event.event.events]
    scores = any(pure_epsilon(event) is not None for event in step.event.event.events)
    if not scores or not all(parts(event) in among for event in path_events(plan.charges)):
        raise InputError("Its search did not pay for its charges.")
    return search


def _same_but_cost(search: Budget, run: Budget) -> Budget:
    return replace(search, epsilon=run.epsilon, composition=run.composition)


def _fitted(
    header: dict[str, Any], tensors: Tensors, model: PrivateClassifier, derived: FitPlan
) -> Fitted:
    """The parts of the model, the rule being the derived one to the last digit of the stated."""
    groups, planned, rates = len(model.schema_.groups), header["planned"], header["rates"]
    paid = [name for name in model.tables if name in derived or not derived.steps]
    if not {*paid} - {"decisions", "check"} <= set(header["releases"]) <= {*paid}:
        raise InputError("Its tables are not those of its plan.")
    releases = {}
    for name in header["releases"]:
        how = derived[name].how if name in derived else HALF
        releases[name] = release_from_json(header["releases"][name], name, model, how)
        if name != "values":
            check_release(releases[name], model.schema_)
    if rates is not None:
        check_placed(releases["count"])
    stated = Fitted(
        scorer=model.restore(tensors),
        releases=releases,
        planned=None if planned is None else rule_from_json(planned, groups),
        rates=None if rates is None else tuple(float(rate) for rate in rates),
        notion=str(header["notion"]),
        coin_key=bytes.fromhex(header["coin_key"]),
    )
    _check_parts(model, stated)
    found = derived_rule(model, stated)
    rule = None if header["rule"] is None else rule_from_json(header["rule"], groups)
    if not same_rule(rule, found.rule) or len(found.coin_key) != (0 if rule is None else 32):
        raise InputError("Its rule does not follow from its release.")
    return replace(found, rule=rule)


def _check_parts(model: PrivateClassifier, fitted: Fitted) -> None:
    """Parts that belong together, and that the plan leads to."""
    plan, releases, rates = model.plan_, fitted.releases, fitted.rates
    if (fitted.planned is None) != ("decisions" not in releases):
        raise InputError("Its planned rule and the counts of its decisions belong together.")
    if rates is not None and (
        "plan" not in plan
        or "decisions" in plan
        or len(rates) != len(model.schema_.groups)
        or not all(0 <= rate <= 1 for rate in rates)
    ):
        raise InputError("Its planned rates are malformed.")
    rule = getattr(model, "rule_settings", None)
    if bool(fitted.notion) != (rule is not None):
        raise InputError("Its method knows no notion of fairness, or the notion is missing.")
    later = rule is not None and fitted.notion != rule.notion  # by with_rule, from counts alone
    if later and (rates is not None or not set(releases) <= {"count", "values"}):
        raise InputError("Its rule was planned for another notion of fairness.")
    sizes = model.ledger_.facts.get(GROUP_SIZES)
    if sizes is not None and tuple(sizes.tolist()) != releases["count"].sizes:
        raise InputError("Its group sizes are not those of its counts.")
