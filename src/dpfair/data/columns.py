"""The kinds of columns that a schema declares, each with the table of its public facts."""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, ClassVar, TypeVar

from dpfair.data.dates import check_date_format, iso_date, read_date
from dpfair.data.facts import (
    Day,
    Fact,
    column_name,
    flag,
    known_entries,
    listing,
    number,
    number_text,
    numbers,
    text,
    words,
)
from dpfair.data.text import check_text, plain_text, text_of
from dpfair.errors import SchemaError

__all__ = ["COLUMN_KINDS", "MAX_CATEGORIES", "WIDEST", "Categorical", "Column", "Levels", "Numeric"]

MAX_CATEGORIES = 10_000
MAX_NAMES = 10_000_000
"""How many letters the names of all combinations of several columns may have."""
WIDEST = (-(2.0**40), 2.0**40)
"""The bounds of a number of any size that occurs in practice: not declared."""
# Numbers up to this size have finite sums and differences.
_LARGEST = sys.float_info.max / 20


FOUND = Fact(
    "found",
    read=words,
    show=lambda facts: f"found privately: {listing(facts)}",
    form="names of facts",
    doc="Written by dpfair: the facts that were found in the records, privately.",
)


def _in_dates(column: Any, value: Any) -> Any:
    """Numbers of a column of dates as dates."""
    if column.date is None or value is None:
        return value
    if not isinstance(value, tuple):
        return iso_date(value)
    dates = tuple(map(iso_date, value))
    return dates if all(isinstance(date, str) for date in dates) else value


@dataclass(frozen=True)
class Numeric:
    """A number between public bounds.

    Values outside are moved to the nearest bound. Missing and unreadable values are *missing*:
    standardised encodings put them at ``center``, binned encodings in a bin of their own.

    With ``date`` the values are dates in this format, and count as days since 1970-01-01; the
    other facts may then be stated as ISO dates.

    Without ``edges``, bins and the usual value are found in ``fit``, privately, and without bounds
    also center and scale. ``found`` lists the facts that were.
    """

    name: str
    bounds: tuple[float, float] = WIDEST
    center: float | None = None
    scale: float | None = None
    edges: tuple[float, ...] | None = None
    usual: float | None = None
    spiky: bool = False
    date: str | None = None
    missing: tuple[float, ...] = ()
    found: tuple[str, ...] = ()

    kind: ClassVar = "numeric"
    facts: ClassVar[tuple[Fact, ...]] = (
        Fact(
            "bounds",
            read=numbers,
            show=lambda bounds: " to ".join(map(number_text, bounds)),
            express=_in_dates,
            form="`[low, high]`",
            doc="The smallest and the largest value that counts. Default: any size up to 10^12.",
            phrase="bounds",
        ),
        Fact(
            "center",
            read=number,
            show=lambda center: f"center {number_text(center)}",
            express=_in_dates,
            form="number",
            doc="What is subtracted from every value. Default: the middle of the bounds.",
            used_by=("standardised",),
            derived=lambda column: column.standard[0],
        ),
        Fact(
            "scale",
            read=number,
            show=lambda scale: f"scale {number_text(scale)}",
            form="number > 0",
            doc="What every value is divided by. Default: half the width of the bounds.",
            used_by=("standardised",),
            derived=lambda column: column.standard[1],
        ),
        Fact(
            "usual",
            read=number,
            show=lambda usual: f"usual value {number_text(usual)}",
            express=_in_dates,
            form="number",
            doc="A value that most records are known to have, such as 0. "
            "Only other values then have cells.",
            phrase="usual values",
            used_by=("binned",),
        ),
        Fact(
            "edges",
            read=lambda value, name: None if value is None else numbers(value, name),
            show=lambda cuts: (
                f"cut points {listing([*map(number_text, cuts)])}" if cuts else "no cut points"
            ),
            express=_in_dates,
            form="increasing numbers",
            doc="Cut points of the bins: a value x is in the bin with the number of edges <= x. "
            "Default: found in `fit`, or nine cuts of equal width.",
            phrase="bin edges",
            used_by=("binned", "trees"),
            derived=lambda column: column.cuts,
        ),
        Fact(
            "spiky",
            read=flag,
            show=lambda _: "spiky: exact values have cells",
            form="true or false",
            doc="Whether single values have a meaning of their own, as amounts from a tariff do. "
            "Exact values then also have cells, through a fixed hash.",
            phrase="spiky columns",
            used_by=("binned",),
            write=bool,
        ),
        Fact(
            "date",
            read=text,
            show=lambda form: f"dates as {form}",
            form="a format such as `%d.%m.%Y`",
            doc="The values are dates in this format, and count as days since 1970-01-01. The "
            "other facts of the column may be ISO dates, such as `bounds = [1990-01-01, "
            "2030-01-01]`.",
            phrase="date formats",
        ),
        Fact(
            "missing",
            read=numbers,
            show=lambda marks: f"missing: {listing([*map(number_text, marks)])}",
            express=_in_dates,
            form="list of numbers",
            doc="Numbers that mean that the value is missing, such as -999.",
            phrase="marks of missing values",
        ),
        FOUND,
    )

    def __post_init__(self) -> None:
        if max(len(self.edges or ()), len(self.missing)) > MAX_CATEGORIES:
            raise SchemaError(f"{self.name!r} has more than {MAX_CATEGORIES} numbers.")
        if self.date is not None:
            check_date_format(self.date, self.name)
        finite = self._as_floats()
        if not finite or len(self.bounds) != 2 or not self.bounds[0] < self.bounds[1]:
            raise SchemaError(f"Column {self.name!r} needs finite bounds [low, high], low < high.")
        if self.usual is not None and not self.bounds[0] <= self.usual <= self.bounds[1]:
            raise SchemaError(f"The usual value of {self.name!r} is outside its bounds.")
        _check_found(self)
        if self.scale is not None and not self.scale > 0:
            raise SchemaError(f"Column {self.name!r} needs a scale > 0, got {self.scale}.")
        if self.edges is not None and list(self.edges) != sorted(set(self.edges)):
            raise SchemaError(f"Column {self.name!r} needs increasing edges.")

    def _as_floats(self) -> bool:
        """Keep numbers in the form in which a file states them; False if some are none."""
        for name in ("bounds", "edges", "center", "scale", "usual", "missing"):
            value: Any = getattr(self, name)
            if value is None:
                continue
            several = name in ("bounds", "edges", "missing")
            given = tuple(value) if several else (value,)
            try:
                floats = tuple(map(self._as_float, given))
            except OverflowError:
                return False
            if not all(abs(v) <= _LARGEST for v in floats):
                return False
            object.__setattr__(self, name, floats if several else floats[0])
        return True

    def _as_float(self, value: Any) -> float:
        """A number, or the day of a date if the column has dates; NaN for anything else."""
        if self.date is not None and (day := read_date(value)) is not None:
            return day
        a_number = isinstance(value, Real) and (self.date is not None or not isinstance(value, Day))
        return float(value) if a_number else math.nan

    @property
    def standard(self) -> tuple[float, float]:
        """Center and scale, declared or from the bounds."""
        low, high = self.bounds
        center = (low + high) / 2 if self.center is None else self.center
        return center, (high - low) / 2 if self.scale is None else self.scale

    @property
    def cuts(self) -> tuple[float, ...]:
        """The public cut points, declared or equally spaced."""
        if self.edges is not None:
            return self.edges
        low, high = self.bounds
        equal = (low + (high - low) * i / 10 for i in range(1, 10))
        return (
            tuple(equal) if self.date is None else tuple(sorted({*map(float, map(round, equal))}))
        )

    @property
    def unbounded(self) -> bool:
        """Whether a fit has to find out which values there are."""
        return self.bounds == WIDEST and self.edges is None

    @property
    def open(self) -> bool:
        """Whether a fit can find a fact of the column."""
        return self.edges is None

    def declared(self) -> Numeric:
        """The column without the facts that were found."""
        return _without_found(self)

    def with_bounds_only(self) -> Numeric:
        """The column without any other fact, but for how its values are written."""
        return Numeric(self.name, self.bounds, date=self.date, missing=self.missing)


@dataclass(frozen=True)
class Categorical:
    """One of a public list of values; any other value is *other*, a category of its own.

    Words that are not listed can have cells of their own (``hashed``). Values that are not declared
    are found in ``fit``, privately. ``found`` lists the facts that were.
    """

    name: str
    values: tuple[str, ...] = ()
    usual: str | None = None
    hashed: bool = False
    missing: tuple[str, ...] = ()
    found: tuple[str, ...] = ()

    kind: ClassVar = "categorical"
    facts: ClassVar[tuple[Fact, ...]] = (
        Fact(
            "values",
            read=words,
            show=lambda values: (
                f"{len(values):,} {'category' if len(values) == 1 else 'categories'}: "
                f"{listing(values)}"
                if values
                else "no categories"
            ),
            form="text or numbers",
            doc="The categories. Any other value, also a missing one, is *other*. "
            "Default: found in `fit`.",
            phrase="categories",
        ),
        Fact(
            "usual",
            read=lambda value, _: text_of(value),
            show=lambda usual: f"usual value {usual}",
            form="one of the values",
            doc="The value that most records are known to have. Only other values then have cells.",
            phrase="usual values",
            used_by=("binned",),
        ),
        Fact(
            "hashed",
            read=flag,
            show=lambda _: "hashed: words that are not listed have cells",
            form="true or false",
            doc="Whether words that are not among the values also have cells, through a fixed "
            "hash: for columns with too many words to list. Default: true if the values are found.",
            used_by=("binned",),
            write=bool,
        ),
        Fact(
            "missing",
            read=words,
            show=lambda marks: f"missing: {listing(marks)}",
            form="text or numbers",
            doc="Values that mean that the value is missing, such as `unknown`. They are no "
            "categories, and count as *other*.",
            phrase="marks of missing values",
        ),
        FOUND,
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", _checked_values(self.name, self.values, at_least=0))
        if self.usual is not None:
            object.__setattr__(self, "usual", plain_text(self.usual))
            if self.usual not in self.values:
                raise SchemaError(f"The usual value of {self.name!r} is not among its values.")
        object.__setattr__(self, "missing", _checked_values(self.name, self.missing, at_least=0))
        if not set(self.missing).isdisjoint(self.values):
            raise SchemaError(f"A value of {self.name!r} is both a category and missing.")
        _check_found(self)

    @property
    def unbounded(self) -> bool:
        """Whether a fit has to find out which values there are."""
        return not self.values and "values" not in self.found

    open = unbounded

    def declared(self) -> Categorical:
        """The column without the facts that were found."""
        return _without_found(self)


Column = Numeric | Categorical
C = TypeVar("C", Numeric, Categorical)
COLUMN_KINDS: tuple[type[Column], ...] = (Numeric, Categorical)


@dataclass(frozen=True)
class Levels:
    """The label or the sensitive column: a public list of values.

    A *training* record with any other value trains nothing and is counted apart, so that the
    certificate can say how many there are. At prediction an undeclared group is an error.

    ``parts`` lists the columns of an intersection, whose values are all combinations of theirs.
    """

    name: str
    values: tuple[str, ...]
    parts: tuple[Levels, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", _checked_values(self.name, self.values, at_least=2))

    @classmethod
    def intersection(cls, parts: Sequence[Levels]) -> Levels:
        """All combinations of the values of several columns.

        >>> sex, age = Levels("sex", ("f", "m")), Levels("age", ("old", "young"))
        >>> Levels.intersection([sex, age]).values
        ('f, old', 'f, young', 'm, old', 'm, young')
        """
        size = math.prod(len(part.values) for part in parts)
        if size > MAX_CATEGORIES:
            raise SchemaError(f"The columns have more than {MAX_CATEGORIES} combinations.")
        letters = [sum(map(len, part.values)) * (size // len(part.values)) for part in parts]
        if sum(letters) > MAX_NAMES:
            raise SchemaError("The values of the columns are too long to be combined.")
        combined = itertools.product(*(part.values for part in parts))
        name = " x ".join(part.name for part in parts)
        return cls(name, tuple(", ".join(values) for values in combined), tuple(parts))

    @property
    def column_names(self) -> tuple[str, ...]:
        """The columns that the values are read from."""
        return tuple(part.name for part in self.parts) or (self.name,)

    @classmethod
    def from_dict(cls, data: dict[str, Any], where: str) -> Levels:
        """Read the values of one column, as found in a file."""
        known_entries(data, ("name", "values"), where)
        return cls(column_name(data["name"]), words(data["values"], "values"))

    def to_dict(self) -> dict[str, Any]:
        """The values of one column, or the names of several, for a file."""
        if self.parts:
            return {"columns": list(self.column_names)}
        return {"name": self.name, "values": list(self.values)}


NOT_FOUND = ("found", "date", "missing")
"""Facts about how values are written; no fit finds them."""


def _check_found(column: Column) -> None:
    object.__setattr__(column, "found", tuple(column.found))
    known = {fact.name for fact in column.facts if fact.name not in NOT_FOUND}
    if len(set(column.found)) != len(column.found) or not known.issuperset(column.found):
        raise SchemaError(f"Column {column.name!r} has no such facts to be found.")


def _without_found(column: C) -> C:
    defaults = {fact.name: fact.default(column) for fact in column.facts}
    return replace(column, found=(), **{name: defaults[name] for name in column.found})


def _checked_values(name: str, given: Sequence[str], at_least: int) -> tuple[str, ...]:
    if len(given) > MAX_CATEGORIES:
        raise SchemaError(f"{name!r} has more than {MAX_CATEGORIES} values.")
    what = f"Every value of {name!r}"
    for value in given:
        check_text(value, what)
    values = tuple(plain_text(v) for v in given)
    if len(set(values)) != len(values):
        raise SchemaError(f"The values of {name!r} must be distinct.")
    if len(values) < at_least:
        raise SchemaError(f"{name!r} needs at least {at_least} values, got {len(values)}.")
    return values
