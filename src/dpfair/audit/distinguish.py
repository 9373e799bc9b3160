"""Try to tell neighbours apart by what a mechanism shows, and compare with what it claims.

A mechanism is run many times on two neighbouring inputs. How well the outputs can be told apart
bounds its epsilon from below (:mod:`dpfair.audit.bounds`): a sound mechanism stays within its
claim, a broken one that is not too subtle exceeds it.

The samples of a mechanism are used in two halves. The first is divided between all of its pairs
of neighbours and finds the pair, and the set of outputs, that tell most. The second half is
drawn for that pair alone and tests that one set, so that nothing is lost to having looked at many.
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

# Fewer samples than this for every pair would choose between pairs by chance.
_FEWEST = 100
_REGRET = 1.5


class Listening(Noise):
    """The library's own noise, but it remembers the last question and its noisy answer.

    Some methods show only what they computed from the noisy numbers; an adversary may know more.
    """

    exact: Any = None
    heard: Any = None
    assumed = False  # whether some exact fact was taken as public

    def answer(self, question: object, noisy: Callable[[], T]) -> T:
        """Make the answer and remember it."""
        assert isinstance(question, Question)
        answer = noisy()
        self.exact, self.heard = question.value, answer
        self.assumed = self.assumed or question.kind == "assumed"
        return answer


Sampler = Callable[[int, Listening], tuple[Floats, Floats]]
"""So many independent outputs on either input, each as a row of statistics."""


@dataclass(frozen=True)
class Mechanism:
    """Something that claims to be private, and neighbours to test it on.

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
        The part of the samples that is drawn: less than 1 if one takes long, more if little shows.
    limit, limit_delta
        A known weakness that certificates state, and how often it may show: exceeding the claim
        is no news as long as the claim holds at this larger delta. A weakness that shows at once
        has no largest epsilon, as more samples always show more; but it has a probability.
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

    It is at least ``beyond`` at the larger delta that a stated limit may take.
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
        """Whether it is refuted, and by more than a limit that is stated anyway."""
        stated = bool(self.limit) and self.beyond <= self.epsilon
        return self.exceeds and not stated

    @property
    def verdict(self) -> str:
        """In a word or two."""
        if not self.exceeds:
            return "within the claim"
        return "EXCEEDS ITS CLAIM" if self.failed else self.limit


def distinguish(
    mechanism: Mechanism, samples: int, noise: Listening, confidence: float = 0.999
) -> Finding:
    """Test one mechanism with so many samples on either input.

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
    # Fewer samples choose an event than will test it. Limits as strict as the test's would prefer
    # only frequent events; so they are as wide as they will be then, and a bit wider, because
    # the best of many events looks better than it is.
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
    """Test many. All bounds hold *together* with the confidence: each is tested more strictly."""
    each = 1 - (1 - confidence) / len(mechanisms)
    findings = []
    for mechanism in mechanisms:
        progress(mechanism.name)
        findings.append(distinguish(mechanism, samples, noise, each))
    return findings
