"""``discover_schema``: find facts in a table as a job of its own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from dpfair.data.containers import get_column
from dpfair.data.encode import as_texts, encode
from dpfair.data.schema import EarlierCost, Schema
from dpfair.discovery.discover import NAMING_SHARE, Discovery
from dpfair.errors import InputError
from dpfair.privacy.accountants import calibrate_event
from dpfair.privacy.events import exact_epsilon
from dpfair.privacy.noise import Noise, noise_source
from dpfair.privacy.payment import ChargeTo, Payment
from dpfair.privacy.plan import Budget, FitPlan, Step
from dpfair.privacy.split import bound_units

__all__ = ["discover_schema", "discovery_payment", "discovery_plan"]

DISCOVERING = "find undeclared facts of the columns"


def discover_schema(
    table: Any,
    schema: Schema,
    *,
    epsilon: float,
    delta: float = 1e-6,
    relation: str = "add_remove",
    unit: str | None = None,
    rows_per_unit: int = 1,
    ledger: ChargeTo | str | Path | None = None,
    random_state: int | None = None,
) -> Schema:
    """The schema with bins, usual values and categories that are found privately in the table.

    A fit finds them itself, within its budget, and on records that do not certify it. As a job of
    its own it is useful to look at a table, or to fit several models with the same facts. Models
    that are fitted with its result have no certified gap, because the counted records were used
    before, and their certificates state the cost.

    Parameters
    ----------
    table
        All records.
    schema
        The declared facts: names and kinds of the columns at least. They are kept.
    epsilon, delta, relation, unit, rows_per_unit, ledger
        As for a fit.
    random_state
        A seed makes the result repeatable and **not private**.

    Privacy
    -------
    One noisy count of every open column, see :mod:`dpfair.discovery.discover`.

    Examples
    --------
    >>> from dpfair import load_adult
    >>> data = load_adult()
    >>> found = discover_schema(data.X, data.schema.kinds_only(), epsilon=1.0)
    >>> "Bachelors" in found.columns[3].values
    True
    """
    payment, plan = discovery_payment(
        schema,
        epsilon,
        delta,
        relation=relation,
        unit=unit,
        rows_per_unit=rows_per_unit,
        ledger=ledger,
        noise=noise_source(random_state),
    )
    # Neither groups nor labels are needed.
    records = encode(table, replace(schema, sensitive=None, crosses=()))
    if unit is not None:
        persons = as_texts(get_column(table, unit))
        records = records.take(bound_units(persons, rows_per_unit))
    run = payment.pay()
    [step] = plan.steps
    found: Schema = step.how.find(records, run[step.name])
    run.close()
    cost = EarlierCost(float(epsilon), delta, private=run.ledger.private)
    return replace(schema, columns=found.columns, discovery=cost)


def discovery_payment(
    schema: Schema,
    epsilon: float,
    delta: float,
    *,
    relation: str = "add_remove",
    unit: str | None = None,
    rows_per_unit: int = 1,
    ledger: ChargeTo | str | Path | None = None,
    noise: Noise | None = None,
) -> tuple[Payment, FitPlan]:
    """Check that the job can be paid for, before any record is read."""
    how: dict[str, Any] = {"relation": relation, "unit": unit, "rows_per_unit": rows_per_unit}
    plan = discovery_plan(schema, epsilon, delta, **how)
    payment = Payment(
        ledger,
        plan,
        Noise() if noise is None else noise,
        purpose="discover a schema",
        settings={"epsilon": float(epsilon), "delta": delta, "schema": schema.to_dict(), **how},
        unit=unit,
        leaks=[] if schema.reviewed else ["the schema is not reviewed"],
        plan_at=lambda other: discovery_plan(schema, other, delta, **how).event,
    )
    return payment, plan


def discovery_plan(
    schema: Schema,
    epsilon: float,
    delta: float,
    *,
    relation: str = "add_remove",
    unit: str | None = None,
    rows_per_unit: int = 1,
) -> FitPlan:
    """What :func:`discover_schema` will charge, before any record is read."""
    if schema.discovery is not None:
        raise InputError("Facts of this schema were found before: start from the declared one.")
    if not schema.open:
        raise InputError("The schema declares all facts: there is nothing to find.")
    if unit is None and rows_per_unit != 1:
        raise InputError("rows_per_unit needs unit, the column that identifies a person.")
    budget = Budget(exact_epsilon(epsilon), delta, relation, rows_per_unit=rows_per_unit)

    def with_noise(multiplier: float) -> Discovery:
        return Discovery(schema, multiplier**-2, NAMING_SHARE * budget.row_delta)

    multiplier = calibrate_event(
        lambda noise: with_noise(noise).event,
        float(budget.row_epsilon),
        budget.row_delta,
        relation=relation,
    )
    found = with_noise(multiplier)
    return FitPlan(budget, (Step("discover", "", DISCOVERING, found.event, how=found),))
