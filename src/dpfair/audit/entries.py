"""Audit the entries of a ledger: the mechanism of each entry, with the parameters of the entry.

Every entry is run again through receipts and draws, for the worst record: one that contributes as
much as possible in every step. The statistic is the likelihood ratio of the whole transcript under
the distribution that was paid for. As in :mod:`dpfair.audit.trials`, one draw contains many trials.

Sampling can test a claim at delta = 10^-5 only roughly, since such rare events are not observed.
But an event pays for a whole curve of (epsilon, delta), so noise is tested at a larger delta, too.
Noise that is too small is detected best at the largest delta whose epsilon is not yet zero. A
Gaussian of mu = 1 / multiplier has

    delta(epsilon) = Phi(mu/2 - epsilon/mu) - exp(epsilon) Phi(-mu/2 - epsilon/mu),

and half of the noise doubles mu. For mu = 0.14, which is epsilon 0.5 at delta 10^-5, and 10^4
samples delta then grows by 1.5 times the sampling error at epsilon 0, by 1.4 times at 0.1, but only
by 0.8 times at 0.3. Such a small epsilon is also tested with more samples.

An event that names values pays for two things, and each has neighbours of its own: a word that many
others have, whose count shows the noise, and a word that nobody else has, which must not be named.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

import numpy as np
from dp_accounting.dp_event import (
    PoissonSampledDpEvent,
    RepeatAndSelectDpEvent,
    SelfComposedDpEvent,
)
from numpy.typing import NDArray

from dpfair.audit.counts import table_release
from dpfair.audit.distinguish import Listening, Mechanism, Sampler
from dpfair.audit.trials import ADDED, REPLACED, counted
from dpfair.privacy.accountants import epsilon_of
from dpfair.privacy.draw import Draw
from dpfair.privacy.events import (
    DpEvent,
    GridGaussianDpEvent,
    OneOfDpEvent,
    ThresholdedDpEvent,
    compose,
    drawable,
    names_values,
    pure_epsilon,
)
from dpfair.privacy.ledger import Entry, Receipt
from dpfair.privacy.noise import Noise

__all__ = ["entry_mechanisms", "losses", "sharp_delta"]

Floats = NDArray[np.float64]

# The deltas that are tried, and the smallest epsilon that sampling can test there.
_DELTAS = (0.1, 0.07, 0.05, 0.04, 0.03, 0.02, 0.015, 0.01, 0.007, 0.005, 0.003, 0.002, 0.001)
_VISIBLE = 0.05
# Below _SMALL, the number of samples is multiplied by _MORE.
_SMALL, _MORE = 0.3, 3.0
# A grid that is finer than any noise that is charged.
_UNIT = 2.0**-20
# The evidence of a word that only one of the neighbours can name.
_CERTAIN = 100.0
_TABLES = 16


def entry_mechanisms(entry: Entry, relation: str) -> list[Mechanism]:
    """The mechanism of an entry with its own claim, and with a claim that is easier to test."""
    name = entry.purpose
    if pure_epsilon(entry.event) is not None:
        release = table_release(relation, entry.event)
        pairs = REPLACED if _moves_two_cells(entry.event) else ADDED
        return [counted(name, release, epsilon=entry.epsilon, pairs=pairs)]
    inputs = (0.0, 1.0) if relation == "add_remove" else (-1.0, 1.0)

    def sampler(*, alone: bool) -> Sampler:
        def sample(samples: int, noise: Listening) -> tuple[Floats, Floats]:
            one, two = (
                losses(entry.event, np.full(samples, v), noise, relation, alone=alone)
                for v in inputs
            )
            return one[:, None], two[:, None]

        return sample

    claims = {entry.delta: entry.epsilon}
    delta = sharp_delta(entry.event, relation)
    if delta is not None:
        claims[delta] = epsilon_of(entry.event, delta, relation)
    what = "without / with" if relation == "add_remove" else "one record / its opposite"
    samplers = {what: sampler(alone=False)}
    if names_values(entry.event):
        samplers[f"{what}, with a word of its own"] = sampler(alone=True)
    return [
        Mechanism(name, epsilon, delta, samplers, _MORE if epsilon < _SMALL else 1.0)
        for delta, epsilon in claims.items()
    ]


def sharp_delta(event: DpEvent, relation: str) -> float | None:
    """The largest delta at which sampling can test the epsilon; None if the cost is too small."""
    for delta in _DELTAS:
        if epsilon_of(event, delta, relation) >= _VISIBLE:
            return delta
    return None


def losses(
    event: DpEvent, inputs: Floats, noise: Noise, relation: str, *, alone: bool = False
) -> Floats:
    """The log-likelihood ratio of everything that an event releases, one per trial.

    ``inputs`` is what the record contributes in each trial, in units of the sensitivity: 0 or 1
    under add/remove, -1 or 1 under replace-one. ``alone``: nobody else has the record's words.
    """
    if isinstance(event, OneOfDpEvent):
        return _mixture(event.events, inputs, noise, relation, alone=alone)
    if isinstance(event, RepeatAndSelectDpEvent):
        return _best(event, inputs, noise, relation, alone=alone)
    receipt, total = Receipt(event, noise), np.zeros(len(inputs))
    for leaf, count in drawable(event).items():
        for _ in range(count):
            draw = receipt.draw(leaf)
            if isinstance(leaf, ThresholdedDpEvent):
                total += _words_loss(draw, leaf, inputs, relation, alone=alone)
            else:
                total += _loss(draw, leaf, inputs, relation)
    return total


def _loss(draw: Draw, leaf: DpEvent, inputs: Floats, relation: str) -> Floats:
    if pure_epsilon(leaf) is not None:
        return _table_loss(draw, leaf, inputs)
    rate = leaf.sampling_probability if isinstance(leaf, PoissonSampledDpEvent) else 1.0
    multiplier = getattr(leaf, "event", leaf).noise_multiplier
    noisy = _noisy_sum(draw, leaf, inputs)
    loss = _ratio(noisy, 1.0, multiplier, rate)
    return loss if relation == "add_remove" else loss - _ratio(noisy, -1.0, multiplier, rate)


def _noisy_sum(draw: Draw, leaf: DpEvent, inputs: Floats) -> Floats:
    values, chosen = np.zeros(len(inputs)), draw.batch(len(inputs))
    values[chosen] = inputs[chosen]
    if isinstance(getattr(leaf, "event", leaf), GridGaussianDpEvent):
        whole = np.rint(values / _UNIT).astype(np.int64)
        noisy = draw.discrete_gaussian(whole, np.full(len(whole), _UNIT), 1.0)
        return noisy.astype(np.float64) * _UNIT
    return draw.gaussian(values, 1.0)


def _ratio(noisy: Floats, moved: float, multiplier: float, rate: float) -> Floats:
    """log of (1 - q) N(0) + q N(moved) over N(0)."""
    inside = (moved * noisy - moved**2 / 2) / multiplier**2
    if rate == 1:
        return inside
    return np.asarray(np.logaddexp(np.log1p(-rate), np.log(rate) + inside))


def _table_loss(draw: Draw, leaf: DpEvent, inputs: Floats) -> Floats:
    """The cell that gains the record and, if the event lists two, the cell that loses it."""
    parameter = getattr(leaf, "event", leaf).noise_parameter
    cells = [inputs > 0, inputs <= 0] if _moves_two_cells(leaf) else [inputs > 0]
    exact = np.stack(cells).astype(np.int64)
    noisy = np.reshape(draw.discrete_laplace(exact.ravel().tolist()), exact.shape)
    signs = parameter * np.where(noisy >= 1, 1.0, -1.0)
    return np.asarray(signs[0] - signs[1:].sum(axis=0))


def _words_loss(
    draw: Draw, leaf: ThresholdedDpEvent, inputs: Floats, relation: str, *, alone: bool
) -> Floats:
    """In every table the word that gains the record and, under replace-one, the one that loses it.

    The record has a word in each of several tables, so that the noise is much larger than the
    variance that is added to it because counts are whole numbers.
    """
    words = [inputs > 0] if relation == "add_remove" else [inputs > 0, inputs <= 0]
    multiplier = leaf.noise_multiplier * math.sqrt(_TABLES)
    # Far above the threshold, which is at most forty standard deviations.
    others = 0 if alone else 1000 + math.ceil(100 * multiplier)
    exact = others + np.stack(words).astype(np.int64)
    table: dict[Hashable, int] = {at: int(n) for at, n in np.ndenumerate(exact) if n}
    loss = np.zeros(exact.shape)
    for named in draw.named_counts([table] * _TABLES, _TABLES):
        places = tuple(np.array(list(named), dtype=np.int64).reshape(-1, 2).T)
        noisy = np.array(list(named.values()), dtype=np.float64)
        loss[places] += _CERTAIN if alone else _ratio(noisy - others, 1.0, multiplier, 1.0)
    return np.asarray(loss[0] - loss[1:].sum(axis=0))


def _moves_two_cells(event: DpEvent) -> bool:
    return isinstance(event, SelfComposedDpEvent) and event.count == 2


def _mixture(
    events: Sequence[DpEvent], inputs: Floats, noise: Noise, relation: str, *, alone: bool
) -> Floats:
    """One of the events in every trial, all equally likely."""
    which = np.array([noise.below(len(events)) for _ in range(len(inputs))], dtype=np.int64)
    result = np.empty(len(inputs))
    for i, event in enumerate(events):
        result[which == i] = losses(event, inputs[which == i], noise, relation, alone=alone)
    return result


def _best(
    event: RepeatAndSelectDpEvent, inputs: Floats, noise: Noise, relation: str, *, alone: bool
) -> Floats:
    """The largest ratio of a random number of runs."""
    receipt = Receipt(compose([event] * len(inputs)), noise)
    runs = np.array([receipt.draw(event).runs() for _ in range(len(inputs))], dtype=np.int64)
    every = _mixture(event.event.events, np.repeat(inputs, runs), noise, relation, alone=alone)
    return np.asarray(np.maximum.reduceat(every, np.cumsum(runs) - runs))
