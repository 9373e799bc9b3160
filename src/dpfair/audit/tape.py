"""Noise that records every noisy answer of a run and replays it in another run.

A run is a function of its records, of its coins and of the noisy answers. Two runs on neighbouring
tables get the same coins and the same answers. Any remaining difference between them is due to the
one record in which the tables differ.

*Coins* are per record. Every call of a source has its own stream, and the i-th number of a stream
belongs to the i-th record: ``uniforms(n)`` and ``uniforms(n + 1)`` agree on the first n. If tables
differ in their last records, the coins of all other records are the same. (A method must use the
same calls on both tables. If the number of calls depends on a record, the runs diverge, and the
audit reports this.)
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from dpfair.privacy.draw import Question
from dpfair.privacy.noise import Noise

__all__ = ["Diverged", "Heard", "Session", "Tape"]

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Heard:
    """One question to the noise, with its exact value, its source and its answer."""

    source: int
    question: Question
    answer: Any


class Diverged(Exception):
    """Raised if a question differs from the recorded one, so that no recorded answer fits."""


class Session:
    """All sources of one run, numbered as the run uses them: ``with noise_from(session): ...``

    Parameters
    ----------
    seed
        The seed of all coins and all noise. The seeds of methods are not used.
    script
        The recorded questions of another run, whose answers are replayed. None: answers are drawn.

    Attributes
    ----------
    heard
        Every question so far.
    rates
        The rate of every Poisson batch so far.

    Examples
    --------
    >>> from dpfair.privacy.events import noisy_table
    >>> from dpfair.privacy.ledger import Ledger
    >>> event = noisy_table(1, "add_remove")
    >>> def release(count, session):
    ...     receipt = Ledger(1, 1e-5, noise=session(None)).charge(event, scope="", purpose="count")
    ...     return receipt.draw(event).discrete_laplace([count])
    >>> recorded = Session(seed=3)
    >>> noisy = release(10, recorded)
    >>> replayed = Session(seed=3, script=recorded.heard)
    >>> release(11, replayed) == noisy
    True
    >>> [int(heard.question.value[0]) for heard in (*recorded.heard, *replayed.heard)]
    [10, 11]
    """

    def __init__(self, seed: int = 0, script: Sequence[Heard] | None = None) -> None:
        self.seed = seed
        self.heard: list[Heard] = []
        self.rates: list[float] = []
        self._script = None if script is None else tuple(script)
        self._sources = 0

    def __call__(self, seed: int | None = None) -> Tape:
        """A new source of the run."""
        return Tape(self)

    def number(self) -> int:
        """A number for a source that is used for the first time."""
        self._sources += 1
        return self._sources - 1

    def answer(self, source: int, question: Question, noisy: Callable[[], T]) -> T:
        """Record a question, and draw its answer or take it from the script."""
        kept = question._replace(value=np.array(question.value))
        place = len(self.heard)
        if self._script is None:
            answer = noisy()
            self.heard.append(Heard(source, kept, copy.copy(answer)))
            return answer
        self.heard.append(Heard(source, kept, None))
        if place >= len(self._script) or not _same_form(self._script[place].question, kept):
            raise Diverged
        return copy.copy(self._script[place].answer)  # type: ignore[no-any-return]


def _same_form(recorded: Question, asked: Question) -> bool:
    # How many names there are is private; the answer tells those above the threshold only.
    same_shape = asked.kind == "named" or recorded.value.shape == asked.value.shape
    return recorded.kind == asked.kind and same_shape


class Tape(Noise):
    """One source of a session."""

    def __init__(self, session: Session) -> None:
        super().__init__(seed=session.seed)
        self._session, self._answering = session, False
        self._calls, self._draws = 0, 0

    @cached_property
    def _number(self) -> int:
        """The number of the source; sources of plans, which are never used, are not counted."""
        return self._session.number()

    def answer(self, question: object, noisy: Callable[[], T]) -> T:
        """The answer of the session."""
        assert isinstance(question, Question)
        return self._session.answer(self._number, question, lambda: self._draw(noisy))

    def _draw(self, noisy: Callable[[], T]) -> T:
        # Only the recorded run draws noise, so noise must not use the streams of the coins.
        self._answering = True
        try:
            return noisy()
        finally:
            self._answering = False

    def take(self, count: int) -> bytes:
        """The first bytes of this call's own stream."""
        if self._answering:
            self._draws += 1
        else:
            self._calls += 1
        stream = np.random.Philox(
            key=np.array([self._session.seed, self._number], np.uint64),
            counter=np.array([0, self._draws * self._answering, self._calls, 0], np.uint64),
        )
        return stream.random_raw(-(-count // 8)).astype("<u8").tobytes()[:count]

    def normals(self, count: int) -> NDArray[np.float64]:
        """Standard normal numbers, without a buffer."""
        result: NDArray[np.float64] = ndtri(self.uniforms(count))
        return result

    def poisson_batch(self, population: int, rate: float) -> NDArray[np.int64]:
        """The positions whose coin is below the rate."""
        self._session.rates.append(rate)
        return np.flatnonzero(self.uniforms(population) < rate)

    def exact_batch(self, population: int, rate: float) -> NDArray[np.int64]:
        """The same, by whole numbers."""
        self._session.rates.append(rate)
        return super().exact_batch(population, rate)

    def discrete_laplace(self, parameter: Fraction, size: int) -> list[int]:
        """The same distribution in floating point, which is faster: no record is protected here."""
        gaps = np.floor(-np.log(self.uniforms(2 * size)) / float(parameter)).astype(np.int64)
        noise: list[int] = (gaps[::2] - gaps[1::2]).tolist()
        return noise

    def discrete_gaussian(self, variance: int, size: int) -> NDArray[np.int64]:
        """Rounded normal numbers: nearly the same distribution, for the same reason."""
        return np.rint(math.sqrt(variance) * self.normals(size)).astype(np.int64)
