"""Whether the draws of a run match its charges, and whether a record is exposed to one path only.

A ledger's scopes are disjoint unless one contains the other. A record is therefore on one path of
scopes, and may be exposed to the charges of that path.

A search pays with one event, which lists what a run may cost a record in each part of the run. The
ledgers of its runs are not visible. Runs are identified by their sources: a run begins when a new
source is used for the first time, and ends with its score, which uses the search's own source
(number 0).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

from dpfair.audit.observe import Run
from dpfair.audit.tape import Heard
from dpfair.certificate.search import search_of
from dpfair.errors import DpfairError
from dpfair.privacy.draw import Question
from dpfair.privacy.events import DpEvent, drawable
from dpfair.privacy.ledger import Ledger

__all__ = ["check_exposure", "check_payments", "named_value"]

# The multipliers of several queries add up to the multiplier of one event, up to rounding.
_ROUNDING = 1e-9

Amounts = dict[tuple[str, DpEvent], float]
"""The number of draws by scope and event."""


def check_payments(run: Run, unfitted: Any) -> Iterator[str]:
    """Check that the draws match the charges and the plan, and that assumptions are stated.

    ``unfitted`` is the model before the run; its plan is compared with the charges.
    """
    if run.failed:
        return
    asked = [heard for heard in run.heard if heard.question.kind != "assumed"]
    yield from _check_names(asked, getattr(unfitted, "rows_per_unit", 1))
    if run.ledger is None:
        if asked:
            yield f"{len(asked)} noisy answers were given out, but there is no ledger."
    else:
        if search_of(run.ledger) is None:
            yield from _check_draws(_paid(run.ledger), _drawn(asked))
        else:
            yield from _check_runs(run.ledger, asked)
        yield from _check_plan(run, unfitted)
    yield from _check_assumptions(run)


def named_value(question: Question) -> dict[Any, int]:
    """Exact counts by table and name."""
    return dict(zip(question.names, question.value.tolist(), strict=True))


def _check_names(asked: Sequence[Heard], rows_per_unit: int) -> Iterator[str]:
    """No name may be shown that one person alone has, unless noise of a tiny probability does it.

    A table has few records and much noise, so a name that is shown is a defect of the threshold
    far more likely than chance.
    """
    for number, heard in enumerate(asked, start=1):
        if heard.question.kind == "named":
            exact = named_value(heard.question)
            shown = [(i, name) for i, table in enumerate(heard.answer) for name in table]
            if any(exact.get(name, 0) <= rows_per_unit for name in shown):
                yield f"Question {number} names a value that one person alone has."


def check_exposure(
    ledger: Ledger | None, heard: Sequence[Heard], moved: frozenset[int]
) -> Iterator[str]:
    """Check that one record is exposed only to what was paid for it.

    ``moved`` are the positions of the questions whose exact values the record changed.
    """
    if ledger is not None and search_of(ledger) is not None:
        runs = _runs(enumerate(heard))
        if not all(_allowed(ledger, [h for i, h in run if i in moved]) for run in runs):
            yield "A run of the search exposes one record to more than any alternative pays for."
        return
    for source in {heard[i].source for i in moved}:  # each source has its own ledger
        here = {str(heard[i].question.scope) for i in moved if heard[i].source == source}
        for outer, inner in pairwise(sorted(here, key=len)):
            if not _contains(outer, inner):
                yield f"One record is in the disjoint scopes {outer!r} and {inner!r}."


def _contains(outer: str, inner: str) -> bool:
    return outer in ("", inner) or inner.startswith(f"{outer}/")


def _paid(ledger: Ledger) -> Amounts:
    paid: Amounts = {}
    for entry in ledger.entries:
        for event, count in drawable(entry.event).items():
            paid[entry.scope, event] = paid.get((entry.scope, event), 0.0) + count
    return paid


def _drawn(asked: Iterable[Heard]) -> Amounts:
    """Draws by scope and event; several queries that share a draw add up to one.

    A Gaussian of multiplier m on a draw of multiplier s uses the part (s / m)^2 of its precision.
    """
    drawn: Amounts = {}
    for heard in asked:
        question, part = heard.question, 1.0
        assert question.event is not None
        if question.noise_multiplier is not None:
            leaf = getattr(question.event, "event", question.event)
            part = (leaf.noise_multiplier / question.noise_multiplier) ** 2
        key = str(question.scope), question.event
        drawn[key] = drawn.get(key, 0.0) + part
    return drawn


def _check_draws(paid: Amounts, drawn: Amounts) -> Iterator[str]:
    for key in paid | drawn:
        scope, event = key
        had, used = paid.get(key, 0.0), drawn.get(key, 0.0)
        if used > had * (1 + _ROUNDING):
            yield f"Scope {scope!r} paid for {had:g} draws of {event}, but {used:g} were used."
        elif used < had * (1 - _ROUNDING):
            # A run that ends early may reveal something about a record.
            yield f"Scope {scope!r} paid for {had:g} draws of {event}, but only {used:g} were used."


def _check_runs(ledger: Ledger, asked: Sequence[Heard]) -> Iterator[str]:
    for number, run in enumerate(_runs(enumerate(asked)), start=1):
        if not all(_allowed(ledger, part) for part in _paths([heard for _, heard in run])):
            yield f"Run {number} of the search asked for more than any alternative pays for."


def _runs(heard: Iterable[tuple[int, Heard]]) -> list[list[tuple[int, Heard]]]:
    """The questions of every run of a search, with their positions."""
    runs: list[list[tuple[int, Heard]]] = []
    newest = 0
    for place, one in heard:
        if one.source > newest or not runs:
            newest = one.source
            runs.append([])
        runs[-1].append((place, one))
    return runs


def _paths(run: Sequence[Heard]) -> Iterator[list[Heard]]:
    """What a record may be exposed to in a run: the score, or a path of scopes of the fit."""
    yield [heard for heard in run if heard.source == 0]
    fit = [heard for heard in run if heard.source != 0]
    for leaf in {str(heard.question.scope) for heard in fit}:
        yield [heard for heard in fit if _contains(str(heard.question.scope), leaf)]


def _allowed(ledger: Ledger, asked: Sequence[Heard]) -> bool:
    """Whether one alternative of the search pays for all that was asked."""
    search = search_of(ledger)
    assert search is not None
    drawn: dict[DpEvent, float] = {}
    for (_, event), amount in _drawn(asked).items():
        drawn[event] = drawn.get(event, 0.0) + amount
    return any(
        all(amount <= paid[event] * (1 + _ROUNDING) for event, amount in drawn.items())
        for paid in map(drawable, search.event.events)
    )


def _check_plan(run: Run, unfitted: Any) -> Iterator[str]:
    """Check that the plan follows from the settings, and that the charges are those of the plan.

    The plan may depend on the schema and on facts that are assumed public.
    """
    if run.ledger is None or not hasattr(unfitted, "plan"):
        return
    try:
        planned = unfitted.plan(getattr(run.model, "schema_", None), run.ledger.facts)
    except DpfairError as error:
        yield f"The fit had no plan: {error}"
        return
    if getattr(run.model, "plan_", planned) != planned:
        yield "The plan of the fit is not the one that its settings lead to."
    steps = [(step.scope, step.purpose, step.event) for step in planned.steps]
    if steps != [(entry.scope, entry.purpose, entry.event) for entry in run.ledger.entries]:
        yield "The charges are not the planned ones."


def _check_assumptions(run: Run) -> Iterator[str]:
    """Check that the certificate lists every fact that was taken as public, in the same words."""
    certificate = getattr(run.model, "certificate_", None)
    listed = () if certificate is None else certificate.privacy.assumed_public
    for fact in {h.question.assumption for h in run.heard} - {None}:
        assert fact is not None
        if fact.text not in listed:
            yield f"The certificate does not list the assumption that {fact.text!r} is public."
