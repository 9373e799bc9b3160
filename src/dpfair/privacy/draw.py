"""The only place where noise is added to a private number.

A draw belongs to one paid event, and the event alone determines the sampling rate and the noise:
the caller cannot ask for less. A draw takes the *exact* value and returns the noisy one, so that an
audit can observe every private number in one place.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple, NoReturn, TypeAlias, TypeVar, cast

import numpy as np
from dp_accounting.dp_event import (
    DiscreteLaplaceDpEvent,
    DpEvent,
    GaussianDpEvent,
    PoissonSampledDpEvent,
    RepeatAndSelectDpEvent,
    SelfComposedDpEvent,
)
from numpy.typing import NDArray

from dpfair.errors import ReceiptError
from dpfair.privacy.assumptions import Assumption
from dpfair.privacy.events import GridGaussianDpEvent, ThresholdedDpEvent, parts, path_events
from dpfair.privacy.grid import grid_variance, naming_threshold
from dpfair.privacy.noise import Noise
from dpfair.privacy.repetition import halting_probability

__all__ = ["Draw", "Exact", "Paid", "Question", "assumed"]

T = TypeVar("T", bound=np.generic)
V = TypeVar("V")

Exact: TypeAlias = V | Callable[[], V]
"""An exact value, or what computes it: only if the noisy answer is not known from before."""

_NOT_YET = np.empty(0, dtype=np.int64)


class Question(NamedTuple):
    """An exact number that gets noise, and what is promised about it.

    Parameters
    ----------
    kind
        ``"gaussian"``: one record contributes at most ``sensitivity`` to the value, in L2 norm.
        ``"grid"``: the same for ``units`` times the value, which is whole, without any rounding:
        the squares of its (units x change) sum up to at most ``sensitivity`` squared.
        ``"counts"``: one record is counted in one cell. ``"named"``: one record is counted in one
        cell of every table at most, and only cells that somebody is counted in have a name.
        ``"assumed"``: the value is public by assumption, and the certificate says so.
    value
        The exact value: private, unless it is assumed public.
    event, scope
        What was paid, and on which records; None for an assumption.
    assumption
        Which fact an assumed value is.
    units, names
        Of a sum on a grid, the unit of every number; of named counts, the table and the name of
        every count.
    """

    kind: str
    value: NDArray[Any]
    event: DpEvent | None = None
    scope: str | None = None
    sensitivity: float = 1.0
    noise_multiplier: float | None = None
    assumption: Assumption | None = None
    units: NDArray[np.float64] | None = None
    names: tuple[tuple[int, Hashable], ...] = ()


def assumed(noise: Noise, fact: Assumption, value: NDArray[T]) -> NDArray[T]:
    """An exact fact about the records that is taken as public; audits can observe it."""
    return noise.answer(Question("assumed", value, assumption=fact), lambda: value)


class Paid(NamedTuple):
    """What one event paid for: a batch at a rate, and one kind of noise."""

    rate: float = 1.0
    multiplier: float = 0.0
    precision: float = 0.0
    exact: bool = False
    naming: float = 0.0
    laplace: Fraction | None = None
    search: RepeatAndSelectDpEvent | None = None

    @classmethod
    def by(cls, event: DpEvent) -> Paid:
        """What this event paid for."""
        rate, search = 1.0, event if isinstance(event, RepeatAndSelectDpEvent) else None
        if isinstance(event, SelfComposedDpEvent):
            event = event.event
        if isinstance(event, PoissonSampledDpEvent):
            rate, event = event.sampling_probability, event.event
        if isinstance(event, DiscreteLaplaceDpEvent):
            return cls(rate, laplace=Fraction(event.noise_parameter))
        if not isinstance(event, GaussianDpEvent | ThresholdedDpEvent):
            return cls(rate, search=search)
        multiplier = event.noise_multiplier
        precision = _precision(multiplier)
        return cls(
            rate,
            multiplier,
            precision if math.isfinite(precision) else 0.0,  # otherwise it would never be used up
            exact=isinstance(event, GridGaussianDpEvent),
            naming=event.delta if isinstance(event, ThresholdedDpEvent) else 0.0,
        )


class Draw:
    """One paid event, ready to be used once.

    A Gaussian event of multiplier s may answer several queries about the same batch: queries
    with multipliers s_1, s_2, ... together are one Gaussian of multiplier
    (s_1^-2 + s_2^-2 + ...)^(-1/2), and that must not be below s. Accounting them as separately
    sampled mechanisms would under-count.

    A draw of the best of several runs adds no noise itself. It gives the number of runs; every run
    pays for its own noise in its own ledger, within the limits of this draw.
    """

    __slots__ = ("_batch_open", "_event", "_noise", "_paid", "_precision", "_scope", "_used")

    def __init__(
        self, event: DpEvent, noise: Noise, scope: str = "", paid: Paid | None = None
    ) -> None:
        self._event, self._noise, self._scope = event, noise, scope
        self._paid = Paid.by(event) if paid is None else paid
        self._precision = self._paid.precision
        self._batch_open, self._used = True, False

    def __reduce__(self) -> NoReturn:
        raise ReceiptError("A draw cannot be copied: it would answer twice.")

    def batch(self, population: int) -> NDArray[np.int64] | slice:
        """The Poisson batch that this event paid for; at rate 1, all records."""
        if not self._batch_open:
            raise ReceiptError("The batch of this draw was already taken.")
        self._batch_open = False
        rate = self._paid.rate
        if rate == 1:
            return slice(None)
        sample = self._noise.exact_batch if self._paid.exact else self._noise.poisson_batch
        return sample(population, rate)

    def gaussian(
        self,
        value: NDArray[np.float64],
        sensitivity: float,
        noise_multiplier: float | None = None,
    ) -> NDArray[np.float64]:
        """The value plus normal noise of standard deviation multiplier x sensitivity.

        ``sensitivity`` is the largest L2 norm of one record's contribution to the value.
        """
        if self._paid.exact or self._paid.naming:
            raise ReceiptError("This draw paid for noise on a grid, not in floating point.")
        multiplier = self._use(sensitivity, noise_multiplier)
        question = Question("gaussian", value, self._event, self._scope, sensitivity, multiplier)

        def noisy() -> NDArray[np.float64]:
            # One normal per number: a broadcast would repeat the noise.
            normals = self._noise.normals(value.size).reshape(value.shape)
            return value + multiplier * sensitivity * normals

        return self._noise.answer(question, noisy)

    def discrete_gaussian(
        self, value: Exact[NDArray[np.int64]], units: NDArray[np.float64], sensitivity: float
    ) -> NDArray[np.int64]:
        """Integers plus exact discrete Gaussian noise; see :mod:`dpfair.privacy.grid`.

        Each number counts in steps of its unit; ``sensitivity`` is the largest L2 norm of units
        times one record's contribution. All of it is one sum: a second one needs another draw.
        """
        if not self._paid.exact:
            raise ReceiptError("This draw did not pay for noise on a grid.")
        if not np.all((units > 0) & np.isfinite(units)):
            raise ReceiptError("Expected units > 0 and finite.")
        multiplier = self._use(sensitivity)
        question = Question(
            "grid",
            _NOT_YET,
            self._event,
            self._scope,
            sensitivity,
            noise_multiplier=multiplier,
            units=units,
        )
        known: NDArray[np.int64] | None = self._noise.recall(question)
        if known is not None:
            return known
        whole = _computed(value)
        if not (whole.dtype == np.int64 and units.shape == whole.shape):
            raise ReceiptError("Expected 64-bit integers, and a unit for each of them.")

        def noisy() -> NDArray[np.int64]:
            noise = np.empty(whole.shape, dtype=np.int64)
            for unit in sorted(set(units.ravel().tolist())):
                variance, same = grid_variance(multiplier, sensitivity, unit), units == unit
                noise[same] = self._noise.discrete_gaussian(variance, int(same.sum()))
            return whole + noise

        return self._noise.answer(question._replace(value=whole), noisy)

    def named_counts(
        self, tables: Exact[Sequence[Mapping[Hashable, int]]], size: int
    ) -> list[dict[Any, int]]:
        """The counts that reach the threshold, with exact discrete Gaussian noise.

        Each of the ``size`` tables counts the records by a name that is not known beforehand; one
        record has at most one name per table. The threshold is that of
        :func:`dpfair.privacy.grid.naming_threshold`.
        """
        if not self._paid.naming:
            raise ReceiptError("This draw did not pay for naming values.")
        sensitivity = math.nextafter(math.sqrt(size), math.inf)
        multiplier = self._use(sensitivity)
        variance = grid_variance(multiplier, sensitivity, 1.0)
        least = naming_threshold(variance, self._paid.naming / size)
        question = Question(
            "named",
            _NOT_YET,
            self._event,
            self._scope,
            sensitivity,
            noise_multiplier=multiplier,
        )
        known: list[dict[Any, int]] | None = self._noise.recall(question)
        if known is not None:
            return known
        counted = _computed(tables)
        if len(counted) != size:
            raise ReceiptError(f"Expected {size} tables, got {len(counted)}.")
        # In an order that does not depend on how the records are held.
        names = tuple(
            (i, name) for i, table in enumerate(counted) for name in sorted(cast(Any, table))
        )
        value = np.array([counted[i][name] for i, name in names], np.int64)

        def noisy() -> list[dict[Any, int]]:
            found: list[dict[Any, int]] = [{} for _ in counted]
            counts = value + self._noise.discrete_gaussian(variance, len(value))
            for (i, name), noisy_count in zip(names, counts.tolist(), strict=True):
                if noisy_count >= least:
                    found[i][name] = noisy_count
            # The order in which names occur in the records must not be seen.
            return [dict(sorted(table.items(), key=lambda item: repr(item[0]))) for table in found]

        return self._noise.answer(question._replace(value=value, names=names), noisy)

    def _use(self, sensitivity: float, noise_multiplier: float | None = None) -> float:
        """Use up the paid Gaussian, or the part of it that a query needs."""
        if not 0 < sensitivity < math.inf:
            raise ReceiptError(f"Expected sensitivity > 0 and finite, got {sensitivity}.")
        if self._batch_open and self._paid.rate < 1:
            raise ReceiptError("This draw paid for a batch: take it before asking for noise.")
        multiplier = self._paid.multiplier if noise_multiplier is None else noise_multiplier
        left = self._precision - _precision(multiplier)
        if not left >= -1e-9 * self._precision:
            raise ReceiptError("This draw did not pay for so little Gaussian noise.")
        self._precision = max(left, 0.0)
        return multiplier

    def discrete_laplace(self, counts: Exact[Sequence[int]]) -> list[int]:
        """Integer counts plus exact discrete Laplace noise, one table per draw.

        A neighbour may change only as many cells as the event lists (one or two), each by one.
        """
        parameter = self._paid.laplace
        if parameter is None or self._used:
            raise ReceiptError("This draw did not pay for discrete Laplace noise.")
        self._used = True
        question = Question("counts", _NOT_YET, self._event, self._scope)
        known: list[int] | None = self._noise.recall(question)
        if known is not None:
            return known
        exact = _computed(counts)

        def noisy() -> list[int]:
            noise = self._noise.discrete_laplace(parameter, len(exact))
            return [int(c) + z for c, z in zip(exact, noise, strict=True)]

        return self._noise.answer(question._replace(value=np.array(exact, np.int64)), noisy)

    def runs(self) -> int:
        """The number of runs that this event paid for, from the distribution that its cost assumes.

        It must stay secret: together with the winner, it reveals more than was paid for.
        """
        search = self._paid.search
        if search is None or self._used:
            raise ReceiptError("This draw did not pay for a search.")
        self._used = True
        shape = Fraction(search.shape)
        return self._noise.repetitions(halting_probability(search.mean, shape), shape)

    def allow(self, charges: Iterable[tuple[str, DpEvent]]) -> None:
        """Refuse a run whose (scope, event) charges differ from those that this event allows."""
        search = self._paid.search
        allowed = [] if search is None else list(map(parts, search.event.events))
        if not all(parts(event) in allowed for event in path_events(charges)):
            raise ReceiptError("A run charged what the search did not pay for.")


def _computed(value: Exact[V]) -> V:
    return value() if callable(value) else value


def _precision(multiplier: float) -> float:
    """One over the variance; infinite for an invalid multiplier."""
    return (1 / multiplier) * (1 / multiplier) if multiplier > 0 else math.inf
