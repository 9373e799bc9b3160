"""Distinguish neighbours by the outputs of a mechanism, and compare the result with its claim.

A mechanism is run many times on two neighbouring inputs. How well the outputs can be distinguished
gives a lower bound on its epsilon (:mod:`dpfair.audit.bounds`). The bound of a correct mechanism
does not exceed its claim; that of a broken one does, unless the defect is too small.

The samples of a mechanism are used in two halves. The first half is divided between all of its
pairs of neighbours, to find the pair and the set of outputs that are easiest to distinguish. The
second half is drawn for that pair alone and tests that one set, so that no correction for multiple
tests is needed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from dpfair import validate
from dpfair.audit.bounds import Shown, choose_event, shown
from dpfair.privacy.draw import Question
from dpfair.privacy.noise import Noise

__all__ = ["Finding", "Listening", "Mechanism", "Sampler", "distinguish", "distinguish_all"]

T = TypeVar("T")

Floats = NDArray[np.float64]

# With fewer samples per pair, the choice between pairs would be random.
_FEWEST = 100
_REGRET = 1.5


class Listening(Noise):
    """The library's own noise, which also stores the last question and its noisy answer.

    Some methods output only what they computed from the noisy numbers; the audit needs the
    noisy numbers themselves.
    """

    exact: Any = None
    heard: Any = None
    assumed = False  # whether some exact fact was taken as public

    def answer(self, question: object, noisy: Callable[[], T]) -> T:
        """Draw the answer and store it."""
        assert isinstance(question, Question)
        answer = noisy()
        self.exact, self.heard = question.value, answer
        self.assumed = self.assumed or question.kind == "assumed"
        return answer


Sampler = Callable[[int, Listening], tuple[Floats, Floats]]
"""Independent outputs on either input, as many as asked for, each a row of statistics."""


@dataclass(frozen=True)
class Mechanism:
    """A mechanism with its privacy claim, and neighbours to test it on.

    Parameters
    ----------
    name
        What is released.
    epsilon, delta
        The claim; a pure mechanism has delta 0. For Gaussian noise it is one point of the curve
        that the accountant certifies, at a delta so large that sampling can test it.
    pairs
        Pairs of neighbouring inputs by name, each with its sampler.
    share
        The part of the samples that is drawn: less than 1 if a sample takes long, more than 1 if
        the test would be too weak.
    limit, limit_delta
        A known weakness that certificates state, and its probability. Exceeding the claim is not a
        failure as long as the claim holds at this larger delta. (Some outputs identify the input
        with certainty. No epsilon bounds this, but the probability of such outputs is bounded.)
    """

    name: str
    epsilon: float
    delta: float
    pairs: Mapping[str, Sampler]
    share: float = 1.0
    limit: str = ""
    limit_delta: float = 0.0


@dataclass(frozen=True)
class Finding:
    """What sampling showed about one claim: epsilon is at least ``shown.epsilon``.

    At the larger delta of a stated limit, it is at least ``beyond``.
    """

    name: str
    epsilon: float
    delta: float
    shown: Shown
    pair: str
    samples: int
    confidence: float
    limit: str = ""
    beyond: float = 0.0

    @property
    def exceeds(self) -> bool:
        """Whether the claim is refuted."""
        return self.shown.epsilon > self.epsilon

    @property
    def failed(self) -> bool:
        """Whether it is refuted by more than a stated limit."""
        stated = bool(self.limit) and self.beyond <= self.epsilon
        return self.exceeds and not stated

    @property
    def verdict(self) -> str:
        """The result in a few words."""
        if not self.exceeds:
            return "within the claim"
        return "EXCEEDS ITS CLAIM" if self.failed else self.limit


def distinguish(
    mechanism: Mechanism, samples: int, noise: Listening, confidence: float = 0.999
) -> Finding:
    """Test one mechanism with ``samples`` samples on either input.

    Examples
    --------
    >>> def randomised_response(samples, noise):
    ...     truth = noise.uniforms(2 * samples).reshape(2, samples, 1) < 0.75
    ...     return truth[0], 1.0 - truth[1]
    >>> honest = Mechanism("response", 1.1, 0.0, {"no / yes": randomised_response})
    >>> finding = distinguish(honest, 20_000, Listening(seed=1))
    >>> round(finding.shown.epsilon, 2), finding.verdict
    (1.04, 'within the claim')
    """
    validate.at_least(4 * _FEWEST, samples=samples)
    error = 1 - confidence
    count = max(int(samples * mechanism.share), 4 * _FEWEST)
    each = max(count // (2 * len(mechanism.pairs)), _FEWEST)
    # The event is chosen with fewer samples than will test it. Limits as strict as those of the
    # test would then favour frequent events. So the limits are as wide as they will be in the test,
    # and slightly wider, because the best of many events appears better than it is.
    strict = -ndtri(error / 2)
    loose = strict * math.sqrt(each / (count // 2)) + _REGRET
    lenient = 2 * float(ndtr(-min(strict, loose)))
    found = {
        name: choose_event(*sample(each, noise), mechanism.delta, lenient)
        for name, sample in mechanism.pairs.items()
    }
    pair = max(found, key=lambda name: found[name][1])
    fresh = mechanism.pairs[pair](count // 2, noise)
    largest = max(mechanism.delta, mechanism.limit_delta)
    return Finding(
        name=mechanism.name,
        epsilon=mechanism.epsilon,
        delta=mechanism.delta,
        shown=shown(found[pair][0], *fresh, mechanism.delta, error),
        pair=pair,
        samples=count,
        confidence=confidence,
        limit=mechanism.limit,
        beyond=shown(found[pair][0], *fresh, largest, error).epsilon,
    )


def distinguish_all(
    mechanisms: Sequence[Mechanism],
    samples: int,
    noise: Listening,
    confidence: float = 0.999,
    progress: Callable[[str], None] = lambda name: None,
) -> list[Finding]:
    """Test several mechanisms; all bounds hold *together* with the confidence."""
    each = 1 - (1 - confidence) / max(len(mechanisms), 1)
    findings = []
    for mechanism in mechanisms:
        progress(mechanism.name)
        findings.append(distinguish(mechanism, samples, noise, each))
    return findings
