"""What a model file may contain, so that a hostile file is refused before it costs anything.

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

from dpfair.data.schema import MAX_GROUPS, Schema
from dpfair.discovery.discover import Discovery
from dpfair.errors import InputError
from dpfair.fairness.counting import cell_noise
from dpfair.fairness.dither import GRAIN, MAX_PLACED_BINS, MAX_PLACED_NOISE
from dpfair.fairness.release import Release
from dpfair.methods.division import MAX_PLACED_GROUPS
from dpfair.methods.header_limits import MAX_HEADER
from dpfair.privacy.events import pure_epsilon
from dpfair.privacy.plan import FitPlan

__all__ = [
    "MAX_CELLS",
    "MAX_RECORDS",
    "check_charges",
    "check_placed",
    "check_plan",
    "check_release",
    "round_up_digits",
]

MAX_CELLS = 40_000
MAX_RECORDS = 10**9
MAX_NOISE = 2_000_000

# The square roots of the groups' sizes, added up, as they are and divided by the noise parameter:
# by these numbers grows the time that bounds take. More noise than the largest takes no longer.
_MAX_SPREAD = 100_000
_MAX_NOISY_SPREAD = 4_000_000
_LARGEST_NOISE = 0.005

# Of a ledger: one charge per group and a few more, of few different mechanisms. Those that a search
# chose from are not composed, which makes them cheap, unless their batches were sampled. The more
# is lost, the longer are the distributions of losses; an epsilon of 200 does not lead to this much.
_MAX_ENTRIES = MAX_GROUPS + 10
_MAX_MECHANISMS = 12
_MAX_LOSS = 17
_MAX_SEARCHED = 5_000
_MAX_SAMPLED = 50
_MAX_SAMPLED_STEPS = 2_000_000
_MAX_DEPTH = 6


def check_plan(plan: FitPlan, schema: Schema, *, labelled: bool) -> None:
    """Refuse a fit whose model could not be written, as far as its plan says.

    ``labelled`` says whether the tables count by label. Nothing else is needed, so this can be
    known before anything is paid.
    """
    found = sum(s.how.most_text for s in plan.steps if isinstance(s.how, Discovery))
    # A fit adds its counts and its rule, and repeats the names of the groups.
    if 4 * (len(json.dumps(schema.to_dict())) + found) > 3 * MAX_HEADER:
        raise InputError("The schema is too long for a model file.")
    check_charges(plan.to_json())
    for step in plan.steps:
        if pure_epsilon(step.event) is None or step.how is None:
            continue  # only tables of scores have edges, and bounds to be found
        cells = (len(step.how) + 1) * (2 if labelled else 1)
        length = _table_length(cells, [cell_noise(step.event)] * len(schema.groups))
        if length > MAX_NOISE:
            # A small budget is divided in fixed proportions. The little more is for rounding.
            enough = float(plan.budget.epsilon) * length / MAX_NOISE * (1 + 1e-9)
            raise InputError(
                "The counts would have too much noise to be useful; the smallest epsilon that "
                f"works is {round_up_digits(enough)}."
            )


def round_up_digits(value: float) -> str:
    """A number of three digits that is not below the given one.

    >>> round_up_digits(0.00037714), round_up_digits(1e-5)
    ('0.000378', '1e-05')
    """
    digits = Context(prec=3, rounding=ROUND_CEILING).create_decimal(repr(float(value)))
    return f"{float(digits):g}"


def check_charges(data: dict[str, Any]) -> None:
    """A plan, as plain data, whose cost can be computed in a short time."""
    if type(data["epsilon"]) is not str or len(data["steps"]) > _MAX_ENTRIES:
        raise InputError("Its plan is malformed or too long.")
    composed: set[tuple[str, int]] = set()
    sampled, searched, loss = composed.copy(), 0, 0.0
    moved = 2 if data["relation"] == "replace_one" else 1  # contributions, by one neighbour
    for entry in data["steps"]:
        if any(type(entry[name]) is not str for name in ("name", "scope", "purpose")):
            raise InputError("Its plan is malformed.")
        for mechanism, count in _mechanisms(entry["event"], 1, 0):
            if entry["event"]["kind"] == "BestOfRuns":
                searched += 1
            else:
                composed.add((str(mechanism), count))
                loss += count * (moved * _loss(mechanism)) ** 2
            if mechanism["kind"] == "PoissonSampled":
                sampled.add((str(mechanism), count))
                if count > _MAX_SAMPLED_STEPS:
                    raise InputError(
                        f"Expected at most {_MAX_SAMPLED_STEPS} steps on sampled batches."
                    )
            if max(len(composed) - _MAX_MECHANISMS, len(sampled) - _MAX_SAMPLED) > 0:
                raise InputError("It was charged for too many different mechanisms.")
    if searched > _MAX_SEARCHED:
        raise InputError("It was charged for too many different mechanisms.")
    if loss > _MAX_LOSS**2:
        raise InputError("The noise is too small for so many steps: it protects nothing.")


def check_release(release: Release, schema: Schema) -> None:
    """A table that can be worked with in a short time."""
    if release.groups != schema.groups:
        raise InputError("Its groups do not match its schema.")
    if len(release.groups) > MAX_GROUPS:
        raise InputError("It has too many groups.")
    sizes = np.abs(release.counts.astype(np.float64)).sum(axis=(1, 2))  # floats do not overflow
    if release.counts.size > MAX_CELLS or sizes.sum() > MAX_RECORDS:
        raise InputError("Its counts are too many or too large.")
    spread = np.sqrt(sizes)
    noisy = spread / np.maximum(release.noise, _LARGEST_NOISE)
    if spread.sum() > _MAX_SPREAD or noisy.sum() > _MAX_NOISY_SPREAD:
        raise InputError("Its groups are too many for so many records.")
    if _noise_tables(release) > MAX_NOISE:
        raise InputError("Its counts have too much noise to be useful.")
    if release.grain not in (None, GRAIN):
        raise InputError("Its scores were dithered in an unknown way.")
    if release.edges.min() <= 0 or release.edges.max() >= 1:
        raise InputError("Its edges are no scores between 0 and 1.")


def check_placed(release: Release) -> None:
    """A table in which thresholds can be placed, and their law found, in a short time."""
    if len(release.groups) > MAX_PLACED_GROUPS:
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
            raise InputError("Its plan repeats an event by half.")
        yield from _mechanisms(event["event"], times * event["count"], depth + 1)
        return
    several = event.get("events", event.get("one_of"))
    if several is None:
        yield event, times
        return
    for one in several:
        yield from _mechanisms(one, times, depth + 1)


def _loss(mechanism: dict[str, Any]) -> float:
    """About how much one step with Gaussian noise loses; nothing for other noise."""
    noise = mechanism.get("event", mechanism).get("noise_multiplier")
    return 0.0 if noise is None else float(mechanism.get("sampling_rate", 1.0) / noise)
