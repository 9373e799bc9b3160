"""``discover_schema``: find facts in a table as a job of its own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dpfair.data.containers import get_column
from dpfair.data.encode import encode
from dpfair.data.schema import EarlierCost, Schema
from dpfair.data.words import as_words
from dpfair.discovery.discover import NAMING_SHARE, Discovery
from dpfair.errors import InputError
from dpfair.privacy.accountants import calibrate_event
from dpfair.privacy.events import exact_epsilon
from dpfair.privacy.noise import noise_source
from dpfair.privacy.payment import ChargeTo, Payment
from dpfair.privacy.plan import Budget, FitPlan, Step
from dpfair.privacy.split import bound_units

__all__ = ["DiscoveryJob", "discover_schema"]

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
    job = DiscoveryJob(schema, epsilon, delta, relation, unit, rows_per_unit)
    return job.find(table, ledger, random_state)


@dataclass(frozen=True)
class DiscoveryJob:
    """What is to be found, and what it may cost; see :func:`discover_schema`."""

    schema: Schema
    epsilon: float
    delta: float = 1e-6
    relation: str = "add_remove"
    unit: str | None = None
    rows_per_unit: int = 1

    def plan(self) -> FitPlan:
        """What will be charged, before any record is read."""
        if self.schema.discovery is not None:
            raise InputError("Facts of this schema were found before: start from the declared one.")
        if not self.schema.open:
            raise InputError("The schema declares all facts: there is nothing to find.")
        if self.unit is None and self.rows_per_unit != 1:
            raise InputError("rows_per_unit needs unit, the column that identifies a person.")
        epsilon = exact_epsilon(self.epsilon)
        budget = Budget(epsilon, self.delta, self.relation, rows_per_unit=self.rows_per_unit)

        def with_noise(multiplier: float) -> Discovery:
            return Discovery(self.schema, multiplier**-2, NAMING_SHARE * budget.row_delta)

        multiplier = calibrate_event(
            lambda noise: with_noise(noise).event,
            float(budget.row_epsilon),
            budget.row_delta,
            relation=self.relation,
        )
        found = with_noise(multiplier)
        return FitPlan(budget, (Step("discover", "", DISCOVERING, found.event, how=found),))

    def payment(
        self, ledger: ChargeTo | str | Path | None, random_state: int | None = None
    ) -> Payment:
        """Check that the job can be paid for, before any record is read."""
        return Payment(
            ledger,
            self.plan(),
            noise_source(random_state),
            purpose="discover a schema",
            settings={
                "epsilon": float(self.epsilon),
                "delta": self.delta,
                "schema": self.schema.to_dict(),
                "relation": self.relation,
                "unit": self.unit,
                "rows_per_unit": self.rows_per_unit,
            },
            unit=self.unit,
            leaks=[] if self.schema.reviewed else ["the schema is not reviewed"],
            plan_at=lambda epsilon: replace(self, epsilon=epsilon).plan().event,
        )

    def find(
        self,
        table: Any,
        ledger: ChargeTo | str | Path | None = None,
        random_state: int | None = None,
    ) -> Schema:
        """The completed schema."""
        payment = self.payment(ledger, random_state)
        # Neither groups nor labels are needed.
        records = encode(table, replace(self.schema, sensitive=None, crosses=()))
        if self.unit is not None:
            persons = as_words(get_column(table, self.unit)).texts()
            records = records.take(bound_units(persons, self.rows_per_unit))
        run = payment.pay()
        [step] = run.plan.steps
        found: Schema = step.how.find(records, run[step.name])
        run.close()
        private = run.ledger.private
        cost = EarlierCost(float(self.epsilon), self.delta, private, self.relation, self.unit)
        return replace(self.schema, columns=found.columns, discovery=cost)
