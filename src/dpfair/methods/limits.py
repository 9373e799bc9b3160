"""What a model file may contain, so that a stranger's file is refused before it costs anything.

A reader derives the rule, the certificate and the budget spent again. That takes time and memory
which grow with the numbers below. Each is beyond what a fit leads to, and nothing is written that
could not be read back; a file that goes further was not written by dpfair.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from decimal import ROUND_CEILING, Context
from typing import Any

import numpy as np

from dpfair.data.schema import Schema
from dpfair.errors import InputError
from dpfair.fairness.bounds.placement import GRAIN, MAX_PLACED_BINS, MAX_PLACED_NOISE
from dpfair.fairness.release import HALF, Release, score_grid
from dpfair.learners.features import BUCKETS, feature_names
from dpfair.privacy.events import DpEvent, event_to_json, parts, pure_epsilon

__all__ = [
    "MAX_BYTES",
    "MAX_CELLS",
    "MAX_GROUPS",
    "MAX_HEADER",
    "MAX_RECORDS",
    "check_ledger",
    "check_placed",
    "check_plan",
    "check_release",
    "check_text",
    "check_width",
    "round_up_digits",
]

MAX_BYTES = 32 << 20
# Python needs up to seventy times the length of a text for what it says.
MAX_HEADER = 4 << 20
MAX_BRACKETS = 100_000
MAX_WEIGHTS = 300_000
MAX_CELLS = 40_000
MAX_GROUPS = 100
MAX_RECORDS = 10**9
MAX_NOISE = 2_000_000

# Of a ledger: one charge per group and a few more, of few different mechanisms. Those that a search
# chose from are not composed, which makes them cheap, unless their batches were sampled.
_MAX_ENTRIES = MAX_GROUPS + 10
_MAX_MECHANISMS = 12
_MAX_SEARCHED = 2_000
_MAX_SAMPLED = 50
_MAX_SAMPLED_STEPS = 2_000_000
_MAX_DEPTH = 6


def check_plan(
    charges: Sequence[tuple[str, str, DpEvent]],
    schema: Schema,
    *,
    epsilon: float,
    labelled: bool,
    features: str,
) -> None:
    """Refuse a fit whose model could not be written, as far as its settings tell.

    ``charges`` are the planned ones, ``labelled`` says whether the counts are by label. Nothing
    else is needed, so this can be known before anything is paid.
    """
    # A fit adds its counts, its rule and its certificate, and repeats the names of the groups.
    if 4 * len(json.dumps(schema.to_dict())) > 3 * MAX_HEADER:
        raise InputError("The schema is too long for a model file.")
    check_width(schema, features, len(feature_names(features, schema)))
    entries = [
        {"scope": scope, "purpose": purpose, "event": event_to_json(event)}
        for scope, purpose, event in charges
    ]
    check_ledger({"epsilon": "", "entries": entries})
    for _, _, event in charges:
        table_epsilon = pure_epsilon(event)
        if table_epsilon is None:
            continue
        bins = len(score_grid(float(table_epsilon)) if labelled else HALF) + 1
        cells = bins * (2 if labelled else 1)
        noise = min(leaf.noise_parameter for leaf in parts(event))
        length = _table_length(cells, [noise] * len(schema.groups))
        if length > MAX_NOISE:
            # A small budget is divided in fixed proportions. The little more is for rounding.
            enough = epsilon * length / MAX_NOISE * (1 + 1e-9)
            raise InputError(
                "The counts would have too much noise to say anything; the smallest epsilon that "
                f"works is {round_up_digits(enough)}."
            )


def round_up_digits(value: float) -> str:
    """A number of three digits that is not below the given one.

    >>> round_up_digits(0.00037714), round_up_digits(1e-5)
    ('0.000378', '1e-05')
    """
    digits = Context(prec=3, rounding=ROUND_CEILING).create_decimal(repr(float(value)))
    return f"{float(digits):g}"


def check_text(text: str) -> None:
    """A header that can be read with little memory."""
    if len(text) > MAX_HEADER or text.count("[") + text.count("{") > MAX_BRACKETS:
        raise InputError("Its header is too long.")


def check_width(schema: Schema, features: str, weights: int) -> None:
    """Refuse a schema with more parameters than there are weights, before it is spelled out."""
    least = sum(len(column.values) for column in schema.categorical) + len(schema.numeric)
    if features == "binned":
        least += sum(len(column.cuts) + BUCKETS * column.spiky for column in schema.numeric)
        least += 2 * len(schema.crosses)
    if not least <= weights <= MAX_WEIGHTS:
        raise InputError("Its weights do not fit its schema, or are too many.")


def check_ledger(data: dict[str, Any]) -> None:
    """Charges, as plain data, whose cost can be computed in a short time."""
    if type(data["epsilon"]) is not str or len(data["entries"]) > _MAX_ENTRIES:
        raise InputError("Its ledger is malformed or too long.")
    composed: set[tuple[str, int]] = set()
    searched, sampled = composed.copy(), composed.copy()
    for entry in data["entries"]:
        if type(entry["scope"]) is not str or type(entry["purpose"]) is not str:
            raise InputError("Its ledger is malformed.")
        found = searched if entry["event"]["kind"] == "BestOfRuns" else composed
        for mechanism, count in _mechanisms(entry["event"], 1, 0):
            found.add((str(mechanism), count))
            if mechanism["kind"] == "PoissonSampled":
                sampled.add((str(mechanism), count))
                if count > _MAX_SAMPLED_STEPS:
                    raise InputError("It was trained in too many steps.")
    if (
        len(composed) > _MAX_MECHANISMS
        or len(searched) > _MAX_SEARCHED
        or len(sampled) > _MAX_SAMPLED
    ):
        raise InputError("It was charged for too many different mechanisms.")


def check_release(release: Release, schema: Schema) -> None:
    """A table that can be worked with in a short time."""
    if release.groups != schema.groups:
        raise InputError("Its groups do not match its schema.")
    if len(release.groups) > MAX_GROUPS:
        raise InputError("It has too many groups.")
    # As floats, which do not overflow.
    records = max(float(np.abs(release.counts.astype(np.float64)).sum()), *(release.sizes or (0,)))
    if release.counts.size > MAX_CELLS or records > MAX_RECORDS:
        raise InputError("Its counts are too many or too large.")
    if _noise_tables(release) > MAX_NOISE:
        raise InputError("Its counts have too much noise to say anything.")
    if release.grain not in (None, GRAIN):
        raise InputError("Its scores were dithered in an unknown way.")
    if release.edges.min() <= 0 or release.edges.max() >= 1:
        raise InputError("Its edges are no scores between 0 and 1.")


def check_placed(release: Release, most_groups: int) -> None:
    """A table in which thresholds can be placed, and their law found, in a short time."""
    if len(release.groups) > most_groups:
        raise InputError("It has too many groups to place a threshold for each.")
    if _noise_tables(release) > MAX_PLACED_NOISE or release.counts.shape[2] > MAX_PLACED_BINS:
        raise InputError("Its counts have too much noise to place a threshold.")


def _noise_tables(release: Release) -> float:
    """How long the tables are, about, that hold the law of the noise in a sum of cells."""
    return _table_length(release.counts[0].size, release.noise)


def _table_length(cells: int, noises: Sequence[float]) -> float:
    return float(sum((cells + 100) / noise for noise in noises))


def _mechanisms(event: Any, times: int, depth: int) -> Iterator[tuple[dict[str, Any], int]]:
    """What an event composes or chooses from, with the repetitions."""
    if depth > _MAX_DEPTH:
        raise InputError("Its events are nested too deeply.")
    if event["kind"] == "Repeated":
        if type(event["count"]) is not int:
            raise InputError("Its ledger repeats an event by half.")
        yield from _mechanisms(event["event"], times * event["count"], depth + 1)
        return
    several = event.get("events", event.get("one_of"))
    if several is None:
        yield event, times
        return
    for one in several:
        yield from _mechanisms(one, times, depth + 1)
