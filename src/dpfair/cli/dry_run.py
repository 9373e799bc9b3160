"""The option ``--dry-run`` of ``dpfair fit``: what a fit would cost, before a record is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpfair.cli.output import method_name, print_account, print_json, say

if TYPE_CHECKING:
    from dpfair.data.schema import Schema
    from dpfair.methods.base import PrivateClassifier
    from dpfair.privacy.payment import ChargeTo
    from dpfair.privacy.plan import FitPlan

__all__ = ["show_plan"]


def show_plan(
    model: PrivateClassifier,
    plan: FitPlan,
    schema: Schema,
    data: str,
    payer: ChargeTo | None,
    *,
    as_json: bool,
) -> None:
    """Print all charges of a plan, and what the ledger file would have spent after them."""
    from dpfair.certificate.judgement import delta_warning
    from dpfair.cli.paying import planned_charge, planned_line
    from dpfair.models.settings import model_settings

    after = planned_charge(model.payment(plan, schema), payer)
    ledger = plan.total()
    if weak := delta_warning(ledger.delta, schema.rows if model.unit is None else None):
        say(f"dpfair: warning: {weak}")
    for leak in model.leaks(schema):
        say(f"dpfair: warning: a fit would not be private: {leak}")
    if schema.sensitive is None and model.without_groups:
        say(f"dpfair: warning: {model.without_groups}")
    if as_json:
        _, settings = model_settings(model)
        print_json(
            {
                "dry_run": True,
                "method": method_name(model),
                "title": model.title,
                "settings": settings,
                "groups": list(schema.groups),
                "epsilon": ledger.epsilon,
                "delta": ledger.delta,
                "spent": ledger.spent,
                "ledger": plan.to_json()["steps"],
                "ledger_file": after,
            }
        )
        return
    print(f"{'; '.join([model.title, *_rule_text(model, schema)])}.")
    print_account(ledger, "A fit would charge:")
    if after is not None:
        print(planned_line(after))
    print(f"Nothing was charged, and {data} was not read.")


def _rule_text(model: PrivateClassifier, schema: Schema) -> list[str]:
    """What the rule of a fair classifier is asked for."""
    from dpfair.methods.fair_classifier import PrivateFairClassifier

    if not isinstance(model, PrivateFairClassifier):
        return []
    rule, division = model.rule_settings, model.nested()["division"]
    notion = rule.goal().notion
    text = [f"{notion.title} within {rule.tolerance:g} between {len(schema.groups)} groups"]
    text += [f"target {rule.target:g}"] if rule.target is not None else []
    text += [f"capacity {rule.capacity:g}"] if rule.capacity is not None else []
    if tuple(rule.costs) != (1, 1):
        text.append(f"costs {rule.costs[0]:g} and {rule.costs[1]:g}")
    if division.check_share:
        text.append(f"checked on {division.check_share:.4g} of the records")
    return text
