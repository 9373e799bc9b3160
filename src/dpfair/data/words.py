"""A column as words: text in one spelling, however a file or a data frame writes it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpfair.data.distinct import distinct, polars_texts
from dpfair.data.text import decimal_text, plain_text

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Words", "as_words", "coded"]


@dataclass(frozen=True)
class Words:
    """The distinct words of a column in the order of their first cells, and the place of each cell.

    The place of a missing value is one past the last word.
    """

    words: tuple[str, ...]
    places: NDArray[np.integer[Any]]

    def __len__(self) -> int:
        return len(self.places)

    def codes(
        self, listed: Sequence[str], other: int, missing: int | None = None
    ) -> NDArray[np.int64]:
        """The position of every cell's word in the list; ``other`` for words that are not in it.

        >>> as_words(["b", 1, None, "1.0"]).codes(["1"], other=-1).tolist()
        [-1, 0, -1, 0]
        """
        positions = {word: i for i, word in enumerate(listed)}
        found = [positions.get(word, other) for word in self.words]
        return np.array([*found, other if missing is None else missing]).take(self.places)

    def texts(self) -> list[str | None]:
        """One text per cell; None if it is missing."""
        table = [*self.words, None]
        return [table[place] for place in self.places.tolist()]


_NO_WORDS = Words((), np.empty(0, np.int32))


def coded(
    values: Any, listed: Sequence[str], code_of: Callable[[Words], NDArray[Any]]
) -> NDArray[Any]:
    """The code of every cell: by ``code_of``, for which listed words have their places as codes.

    Cells of text that are listed as they are, which is most of them, are looked up at once.

    >>> import polars as pl
    >>> texts = pl.Series(["b", "c", None, "TRUE"])
    >>> coded(texts, ["a", "b", "true"], lambda words: words.codes(["a", "b", "true"], -1)).tolist()
    [1, -1, -1, 2]
    """
    texts = polars_texts(values)
    places_of = None if texts is None else _enum(tuple(listed))
    if texts is None or places_of is None:
        return code_of(as_words(values))
    places = texts.cast(places_of, strict=False).to_physical()
    if not places.null_count():
        return places.to_numpy().astype(code_of(_NO_WORDS).dtype)
    others = places.is_null()
    rest = code_of(as_words(texts.filter(others)))
    codes = places.fill_null(0).to_numpy().astype(rest.dtype)
    codes[others.to_numpy()] = rest
    return codes


@lru_cache(maxsize=1 << 10)
def _enum(listed: tuple[str, ...]) -> pl.Enum | None:
    """The places of listed words; None if a cell may be one of them in another spelling."""
    import polars as pl

    plain = all(plain_text(word) == word for word in listed)
    return pl.Enum(listed) if listed and plain else None


def as_words(values: Any) -> Words:
    """The words of a column; 1, 1.0, Decimal("1.00") and "1" are one word.

    >>> as_words([1, None, 2, Decimal("2.00")]).texts()
    ['1', None, '2', '2']
    """
    found = distinct(values)
    written = [_word(value) for value in found.values]
    unique = dict.fromkeys(written)
    if len(unique) == len(written) and None not in unique:
        return Words(tuple(unique), found.places)  # type: ignore[arg-type]
    words = tuple(word for word in unique if word is not None)
    positions: dict[str | None, int] = {word: i for i, word in enumerate(words)}
    table = [positions.get(word, len(words)) for word in written]
    return Words(words, np.array(table, dtype=np.int32).take(found.places))


def _word(value: Any) -> str | None:
    if isinstance(value, str):
        return plain_text(str(value))
    if isinstance(value, (float, np.floating)):
        number = float(value)
        if math.isnan(number):
            return None
        return str(int(number)) if number.is_integer() else str(number)
    if isinstance(value, Decimal) and value.is_finite():
        return decimal_text(value)
    try:
        return None if value is None or value != value else plain_text(str(value))  # NaT
    except Exception:  # such as pandas.NA, an array or an integer of 5000 digits
        return None
