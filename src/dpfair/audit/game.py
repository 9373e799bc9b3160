"""The canary game: does a finished model reveal whether a certain record was in the table?

A method is fitted many times on a tiny table, and as often on the same table with a *canary*: one
more record, as far as possible from the others. Only the outputs of a model are used. The bound on
epsilon (:mod:`dpfair.audit.bounds`) must not exceed the claim of the model's ledger.

This tests the whole fit at once, from the encoding to the last decision, but it is a weak test,
since a fit gives only one sample. It finds missing noise, but not noise that is a tenth too small;
the tests of single mechanisms find that (:mod:`dpfair.audit.mechanisms`).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpfair import validate
from dpfair.audit.bounds import lower_bound
from dpfair.audit.catalogue import Method
from dpfair.audit.distinguish import Finding, Listening
from dpfair.audit.entries import sharp_delta
from dpfair.audit.sample import Record, Table, sample_records, table_of
from dpfair.data.schema import Schema
from dpfair.errors import DpfairError, InputError
from dpfair.fairness.release import Release
from dpfair.privacy.accountants import epsilon_of
from dpfair.privacy.events import path_events
from dpfair.privacy.ledger import Ledger
from dpfair.privacy.noise import noise_from

__all__ = ["MIN_FITS", "canary_game", "canary_records", "claims_of", "shown_of"]

Floats = NDArray[np.float64]

# The statistics of a failed fit.
_FAILED = -1e6
_OTHERS = 2
MIN_FITS = 100


def canary_game(
    method: Method,
    schema: Schema,
    fits: int,
    noise: Listening,
    *,
    confidence: float = 0.999,
    progress: Callable[[int], None] = lambda done: None,
) -> list[Finding]:
    """Fit ``fits`` models on either table, and test the claims of the ledger on their outputs.

    The claims are at the ledger's own delta and, because sampling cannot observe such rare events,
    at a larger delta that the same charges imply. Together the bounds hold with the confidence.

    If a method takes exact facts as public, such as the sizes of groups, the canary is not added
    but replaces its opposite in the same group, and the relation is replace-one.
    """
    validate.at_least(MIN_FITS, fits=fits)
    others, opposite, canary = canary_records(schema)
    with_canary, probe = table_of(schema, [*others, canary]), table_of(schema, [canary])
    noise.assumed = False
    _fitted(lambda: method.make(schema, "add_remove"), with_canary, noise)
    assumes = noise.assumed
    relation = "replace_one" if assumes else "add_remove"
    tables = table_of(schema, [*others, opposite] if assumes else others), with_canary
    claims: list[tuple[float, float]] = []
    shows: tuple[list[list[float]], list[list[float]]] = ([], [])
    for done in range(fits):
        for table, rows in zip(tables, shows, strict=True):
            model = _fitted(lambda: method.make(schema, relation), table, noise)
            rows.append([] if model is None else list(shown_of(model, probe)))
            if not claims and model is not None:
                claims = claims_of(model.ledger_)
        if done == 0 and not claims:
            raise InputError(f"{method.name} cannot be fitted under {relation}: no canary game.")
        progress(done + 1)
    first, second = _rectangular(shows)
    each = 1 - (1 - confidence) / len(claims)
    return [
        Finding(
            name=f"fits of {method.name}",
            epsilon=epsilon,
            delta=delta,
            shown=lower_bound(first, second, delta, each),
            pair="its opposite / the canary" if assumes else "without / with the canary",
            samples=fits,
            confidence=each,
        )
        for epsilon, delta in claims
    ]


def canary_records(schema: Schema) -> tuple[list[Record], Record, Record]:
    """Two ordinary records, the canary's opposite, and the canary.

    The canary has large numbers and the last of all declared values, its opposite small numbers
    and the first values but the same group and label; ordinary records are all of the first values.
    """
    [canary, *others] = (dict(record) for record in sample_records(schema, 1 + _OTHERS))
    groups = schema.sensitive.parts or (schema.sensitive,) if schema.sensitive else ()
    shared: dict[str, Sequence[Any]] = {p.name: p.values for p in (*groups, schema.label)}
    own: dict[str, Sequence[Any]] = {c.name: c.values for c in schema.categorical}
    own |= {c.name: c.bounds for c in schema.numeric}
    ends = own | shared
    canary |= {name: values[-1] for name, values in ends.items()}
    others = [other | {name: values[0] for name, values in ends.items()} for other in others]
    opposite = canary | {name: values[0] for name, values in own.items() if name not in shared}
    return others, opposite, canary


def claims_of(ledger: Ledger) -> list[tuple[float, float]]:
    """The (epsilon, delta) of a ledger: its own, and one at a delta that sampling can test."""
    claims = [(ledger.spent, ledger.delta)]
    if ledger.rows_per_unit == 1:
        events = path_events((entry.scope, entry.event) for entry in ledger.entries)
        deltas = [sharp_delta(event, ledger.relation) for event in events]
        delta = max((d for d in deltas if d is not None), default=None)
        if delta is not None:
            worst = max(epsilon_of(event, delta, ledger.relation) for event in events)
            claims.append((worst, delta))
    return claims


def _fitted(make: Callable[[], Any], table: Table, noise: Listening) -> Any:
    """A fitted model, or None if the fit failed, which is an output, too."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make()
        with noise_from(lambda seed: noise):
            try:
                return model.fit(table.X, table.y)
            except DpfairError:
                return None


def shown_of(model: Any, canary: Table) -> Iterator[float]:
    """The outputs of a model for the canary, and the released counts of its cell and group."""
    model = getattr(model, "best_estimator_", model)
    if hasattr(model, "predict_proba"):
        yield float(model.predict_proba(canary.X)[0, 1])
    if hasattr(model, "fitted_"):
        records = model.records_of(canary.X)
        [score] = model.scorer_.scores(records.in_first_group())
        yield float(score)
        for name, release in model.fitted_.releases.items():
            yield from _counts_of(release, float(score), every=name != "count")
    yield from (float(np.clip(cut, -1, 2)) for cut in getattr(model, "cuts_", ()))


def _counts_of(release: Release, score: float, *, every: bool) -> Iterator[float]:
    """The counts of the canary's cell and of its group; with ``every``, all cells and their sum."""
    if every:
        cells = release.counts[-1, -1].astype(np.float64)
        yield from (*cells, cells.sum())
        return
    place = int(np.searchsorted(release.edges[-1], score, side="right"))
    yield float(release.counts[-1, -1, place])
    yield float(release.counts[-1].sum())


def _rectangular(shows: tuple[list[list[float]], list[list[float]]]) -> tuple[Floats, Floats]:
    width = max(len(row) for rows in shows for row in rows)
    first, second = (
        np.array([row if row else [_FAILED] * width for row in rows]) for rows in shows
    )
    return first, second
