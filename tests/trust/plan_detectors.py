"""What catches a broken plan, apart from a replay of a whole fit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from trust.registry import detector

from dpfair.audit.catalogue import small_model
from dpfair.audit.sample import sample_schema
from dpfair.errors import BudgetError, ReceiptError
from dpfair.methods import METHODS
from dpfair.privacy.accountants import epsilon_of
from dpfair.privacy.events import noisy_table
from dpfair.privacy.noise import Noise
from dpfair.privacy.plan import FitPlan

ROUNDING = 1 + 1e-9


@detector("plans")
def _plans(seed: int) -> Iterator[str]:
    """Every method plans once and for all what its budget pays for, and a run keeps to it."""
    for name, kind in METHODS.items():
        schema = sample_schema(rows=40 + seed)
        model = small_model(kind, schema, ["add_remove", "replace_one"][seed % 2])
        plan = model.plan(schema if "schema" in model.get_params() else None)
        if model.plan() != plan:
            yield f"{name} is planned differently the second time."
        if not plan.steps:
            continue  # nothing private to pay for
        yield from (f"{name}: {found}" for found in _of_one(plan, seed))


def _of_one(plan: FitPlan, seed: int) -> Iterator[str]:
    budget = plan.budget
    cost = epsilon_of(plan.event, budget.row_delta, budget.relation)
    if cost > float(budget.row_epsilon) * ROUNDING:
        yield f"the plan costs {cost:.4f}, and the budget is {float(budget.row_epsilon):.4f}."
    dearer = [replace(step, event=noisy_table(2, budget.relation)) for step in plan.steps]
    for other in (replace(plan, steps=tuple(dearer)), replace(plan, steps=plan.steps[1:])):
        if plan.agrees(other):
            yield "the plan agrees with another one."
    run = plan.open(Noise(seed))
    first = plan.steps[0].name
    run[first]
    tiny = noisy_table("1/1000000", budget.relation)
    for what, act in {
        "a step that is not planned is handed out": lambda: run["another"],
        "a step is handed out twice": lambda: run[first],
        "more is charged than planned": lambda: run.ledger.charge(tiny, scope="", purpose="more"),
        "a run ends before all is drawn": run.close,
    }.items():
        try:
            act()
        except ReceiptError:
            continue
        except BudgetError:  # there was no room for more, by chance
            pass
        yield f"{what}."
