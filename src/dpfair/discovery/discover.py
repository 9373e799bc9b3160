r"""The facts that a schema does not declare, found with one noisy count of every column.

**What is counted.** All records; for every open numeric column the cells of a public grid
(:mod:`dpfair.discovery.grids`); for every column without bounds its single values, and for every
column without categories its words. The first two have cells that are known beforehand and are one
Gaussian release. Single values and words are not known beforehand: they are named only if their
noisy count reaches a threshold, which costs a part of delta
(:class:`dpfair.privacy.events.ThresholdedDpEvent`). All counts have the same noise.

**What follows from the counts** is post-processing: bin edges at quantiles of a smoothed density,
usual values, single values with bins of their own, categories.

**Where.** A fit finds facts in the records that it trains on. Facts found in all records would make
the counted records depend on the model that they certify.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpfair.data.buckets import BUCKETS
from dpfair.data.columns import Categorical, Numeric
from dpfair.data.records import Records
from dpfair.data.schema import Schema
from dpfair.data.text import is_text
from dpfair.discovery.grids import grid_cells, grid_of
from dpfair.discovery.numbers import MOST_BINS, USUAL_SHARE, found_numeric
from dpfair.errors import AccuracyWarning, warn
from dpfair.privacy.events import DpEvent, ThresholdedDpEvent, compose, step_event
from dpfair.privacy.histograms import exact_counts, histogram_deviation, noisy_counts
from dpfair.privacy.ledger import Receipt

__all__ = [
    "FEWEST_ROWS",
    "NAMING_SHARE",
    "SHARE",
    "Discovery",
    "gaussian_precision",
    "worth_binning",
]

SHARE = 0.1
"""The part of the training budget (of mu^2 in Gaussian privacy) that finds facts."""

NAMING_SHARE = 0.02
"""The part of delta for single values and words that nobody else has."""


# What is found must fit into a model file: cells of all columns together, letters of a word, of the
# words of all columns, of the facts of a number (mostly its edges, five for a bin at most), and of
# the names of the facts of a word.
_MOST_WORDS, _MOST_CELLS, _MOST_LETTERS, _MOST_TEXT = 1000, 100_000, 200, 1 << 20
_NUMBER_TEXT, _WORD_TEXT = 150 * MOST_BINS + 300, 200

_VISIBLE, _ALL_MISSING = 20, 0.95
"""A column has no numbers if so many are missing, of a number of records that the noise shows."""

FEWEST_ROWS = 2000
"""With fewer declared records, finding facts may cost more accuracy than it brings."""


def worth_binning(schema: Schema) -> bool:
    """Whether bins of columns with bounds are worth finding, by public facts alone."""
    return schema.open and (schema.rows is None or schema.rows >= FEWEST_ROWS)


@dataclass(frozen=True)
class Discovery:
    """What is counted to find the open facts of a schema, and with how much noise.

    Parameters
    ----------
    schema
        The declared facts.
    precision
        What the release may cost: mu^2, if it were one Gaussian of multiplier 1 / mu.
    delta
        For single values and words that are named although one record alone has them.
    fine
        Whether columns with bounds get bins, too.

    Examples
    --------
    >>> from dpfair.data.columns import Levels
    >>> schema = Schema((Numeric("age"), Categorical("job")), Levels("y", ("0", "1")))
    >>> len(Discovery(schema, 0.01, 1e-7).named)
    2
    """

    schema: Schema
    precision: float
    delta: float
    fine: bool = True

    @property
    def numeric(self) -> tuple[Numeric, ...]:
        """The numeric columns whose facts are found."""
        return tuple(c for c in self.schema.numeric if c.unbounded or (self.fine and c.open))

    @property
    def named(self) -> tuple[Numeric | Categorical, ...]:
        """The columns whose single values or words are counted."""
        return tuple(c for c in self.schema.columns if c.unbounded)

    @property
    def tables(self) -> int:
        """How many counts one record changes."""
        return 1 + len(self.numeric) + len(self.named)

    def _multiplier(self, tables: int) -> float:
        # The squares of 1 / multiplier add up to the precision, and all counts have equal noise.
        return math.sqrt(self.tables / tables / self.precision)

    @property
    def counting(self) -> DpEvent:
        """The cost of the cells that are known beforehand."""
        return step_event(self._multiplier(1 + len(self.numeric)), 1.0, exact=True)

    @property
    def naming(self) -> DpEvent | None:
        """The cost of single values and words."""
        if not self.named:
            return None
        return ThresholdedDpEvent(self._multiplier(len(self.named)), self.delta)

    @property
    def event(self) -> DpEvent:
        """The cost of all counts."""
        return compose([self.counting, *([self.naming] if self.naming else [])])

    @property
    def most_text(self) -> int:
        """How many letters the found facts add to a file, at most."""
        words = _MOST_TEXT + _WORD_TEXT * len(self._words) if self._words else 0
        return _NUMBER_TEXT * len(self.numeric) + words

    @property
    def _words(self) -> tuple[Categorical, ...]:
        return tuple(c for c in self.named if isinstance(c, Categorical))

    @property
    def _may_hash(self) -> bool:
        """Whether exact values and unlisted words may have hashed cells: not of 1000 columns."""
        return len(self.numeric) + len(self._words) <= _MOST_CELLS // BUCKETS

    def _cell_counts(self, records: Records) -> list[NDArray[np.int64]]:
        """All records, and those of every cell of the grids."""
        counts = [np.array([len(records)])]
        for column in self.numeric:
            cuts = grid_of(column)
            values = records.numeric[self.schema.numeric.index(column)]
            cells = values.map(partial(grid_cells, cuts))
            counts.append(exact_counts(cells, len(cuts) + 2))
        return counts

    def _name_counts(self, records: Records) -> list[Counter[Hashable]]:
        return [_single_values(self.schema, column, records) for column in self.named]

    def find(self, records: Any, receipt: Receipt) -> Schema:
        """The schema with the facts that the noisy counts of the records show.

        ``records`` were encoded by :attr:`schema`; they are asked for sums only.
        """
        draw = receipt.draw(self.counting)
        sizes = [1, *(len(grid_of(column)) + 2 for column in self.numeric)]
        counts = noisy_counts(draw, lambda: records.total(self._cell_counts), sizes)
        names: list[dict[Any, int]] = []
        if self.naming is not None:
            draw = receipt.draw(self.naming)
            names = draw.named_counts(lambda: records.total(self._name_counts), len(self.named))
        total, histograms = float(counts[0][0]), 1 + len(self.numeric)
        deviation = histogram_deviation(self._multiplier(histograms), histograms)
        named = {column.name: found for column, found in zip(self.named, names, strict=True)}
        found: dict[str, Numeric | Categorical] = {}
        if total > _VISIBLE * deviation:
            for column, table in zip(self.numeric, counts[1:], strict=True):
                _warn_unreadable(column, table[-1] / total)
        for column, table in zip(self.numeric, counts[1:], strict=True):
            found[column.name] = found_numeric(
                column,
                table,
                named.get(column.name, {}),
                total,
                deviation,
                may_be_spiky=self._may_hash,
            )
        most = min(_MOST_WORDS, _MOST_CELLS // self.tables)
        for word in self._words:
            text = _MOST_TEXT // len(self._words)
            listed = _found_words(word, named[word.name], total, most, text)
            if self._may_hash and not word.hashed:
                listed = replace(listed, hashed=True, found=("hashed", *listed.found))
            found[word.name] = listed
        columns = tuple(found.get(c.name, c) for c in self.schema.columns)
        return replace(self.schema, columns=columns)


def _warn_unreadable(column: Numeric, missing: float) -> None:
    """Warn of a column in which the noisy counts show no number; the counts are paid for."""
    if missing <= _ALL_MISSING:
        return
    numbers, check = "numbers", "decimal mark"
    if column.date is not None:
        numbers, check = f"dates of the form {column.date}", "date"
    warn(
        f"Column {column.name!r} seems to hold no {numbers}: by the noisy counts, about "
        f"{min(missing, 1):.0%} of its values are missing or no {numbers}. Check the {check} of "
        "the schema (dpfair check), or delete the column.",
        AccuracyWarning,
    )


def _single_values(
    schema: Schema, column: Numeric | Categorical, records: Records
) -> Counter[Hashable]:
    """How many records have each value; missing values, and what is no text, have no name."""
    if isinstance(column, Numeric):
        values = records.numeric[schema.numeric.index(column)].floats
        found, counts = np.unique(values[np.isfinite(values)] + 0.0, return_counts=True)
        return Counter(dict(zip(found.tolist(), counts.tolist(), strict=True)))
    place = schema.categorical.index(column)
    words = records.words[column.name]
    counts = np.bincount(records.codes[place], minlength=len(words) + 1)[: len(words)]
    listed = zip(words, counts.tolist(), strict=True)
    return Counter({w: n for w, n in listed if n and len(w) <= _MOST_LETTERS and is_text(w)})


def _found_words(
    column: Categorical,
    named: Mapping[str, int],
    total: float,
    most_words: int,
    most_text: int,
) -> Categorical:
    """The most frequent words, as many as a file has room for."""
    by_count = sorted(named, key=lambda word: (-named[word], word))[:most_words]
    # As a file writes them, with a comma. The first one may be written twice: it may be the usual.
    lengths = np.cumsum([len(json.dumps(word)) + 2 for word in (*by_count[:1], *by_count)])
    values = tuple(sorted(by_count[: int((lengths[1:] <= most_text).sum())]))
    most = by_count[0] if values else None
    usual = most if most is not None and named[most] > USUAL_SHARE * total > 0 else None
    found = ("values",) if usual is None else ("usual", "values")
    return replace(column, values=values, usual=usual, found=found)


def gaussian_precision(epsilon: float, delta: float) -> float:
    r"""mu^2 of the Gaussian mechanism that costs (epsilon, delta), with three digits.

    It solves :math:`\delta = \Phi(\mu/2 - \varepsilon/\mu) - e^\varepsilon \Phi(-\mu/2 -
    \varepsilon/\mu)` (Balle and Wang 2018). It only divides a budget, and guarantees nothing.

    >>> gaussian_precision(1.0, 1e-5)
    0.0719
    """
    from scipy.optimize import brentq
    from scipy.special import log_ndtr

    def excess(log_mu: float) -> float:
        mu = math.exp(log_mu)
        one = math.exp(log_ndtr(mu / 2 - epsilon / mu))
        two = math.exp(min(epsilon + log_ndtr(-mu / 2 - epsilon / mu), 0.0))
        return one - two - delta

    mu = math.exp(brentq(excess, math.log(1e-8), math.log(1e4)))
    return float(f"{mu**2:.3g}")
