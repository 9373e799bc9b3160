"""The public facts about a table: columns, bounds, categories, label, groups.

A schema is written down by a person, never learned from private records (unless that is asked
for, with a warning). Encoding by a schema is *total*: missing, out-of-range and unknown values
have a declared place, so no error can depend on what a training record says.
"""

from __future__ import annotations

import itertools
import json
import math
import sys
import tomllib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from dpfair.errors import SchemaError

__all__ = ["Categorical", "Levels", "Numeric", "Schema", "plain_text", "text_of"]

MAX_CATEGORIES = 10_000
MAX_COMBINATIONS = 2**62
# Numbers up to this size have finite sums and differences.
_LARGEST = sys.float_info.max / 20


@dataclass(frozen=True)
class Numeric:
    """A number between public bounds.

    Values outside are moved to the nearest bound; missing or unreadable ones are *missing*:
    standardised encodings put them at ``center``, binned encodings in a bin of their own.

    Parameters
    ----------
    bounds
        The smallest and the largest value that counts.
    center, scale
        Public constants for standardised encodings (default: middle and half-width of bounds).
    edges
        Public cut points for binned encodings: a value x falls in the bin with the number of
        edges <= x (default: nine equal-width cuts).
    usual
        A value that most records are known to have, such as 0. Binned encodings then spend
        nothing on it: they only say how a record differs from the usual.
    spiky
        Whether single values mean something by themselves, as amounts from tables or tariffs do.
        Binned encodings then also tell exact values apart, through a fixed hash.
    """

    name: str
    bounds: tuple[float, float]
    center: float | None = None
    scale: float | None = None
    edges: tuple[float, ...] | None = None
    usual: float | None = None
    spiky: bool = False

    def __post_init__(self) -> None:
        if len(self.edges or ()) > MAX_CATEGORIES:
            raise SchemaError(f"{self.name!r} has more than {MAX_CATEGORIES} edges.")
        numbers = [*self.bounds, *(self.edges or ())]
        numbers += [v for v in (self.center, self.scale, self.usual) if v is not None]
        finite = all(isinstance(v, Real) and abs(v) <= _LARGEST for v in numbers)
        if not finite or len(self.bounds) != 2 or not self.bounds[0] < self.bounds[1]:
            raise SchemaError(f"Column {self.name!r} needs finite bounds [low, high], low < high.")
        if self.usual is not None and not self.bounds[0] <= self.usual <= self.bounds[1]:
            raise SchemaError(f"The usual value of {self.name!r} is outside its bounds.")
        if self.scale is not None and not self.scale > 0:
            raise SchemaError(f"Column {self.name!r} needs a scale > 0, got {self.scale}.")
        if self.edges is not None and list(self.edges) != sorted(set(self.edges)):
            raise SchemaError(f"Column {self.name!r} needs increasing edges.")

    @property
    def standard(self) -> tuple[float, float]:
        """Center and scale, declared or from the bounds."""
        low, high = self.bounds
        center = (low + high) / 2 if self.center is None else self.center
        return center, (high - low) / 2 if self.scale is None else self.scale

    def with_bounds_only(self) -> Numeric:
        """The column without any other fact."""
        return Numeric(self.name, self.bounds)

    @property
    def cuts(self) -> tuple[float, ...]:
        """The public cut points, declared or equally spaced."""
        if self.edges is not None:
            return self.edges
        low, high = self.bounds
        return tuple(low + (high - low) * i / 10 for i in range(1, 10))


@dataclass(frozen=True)
class Categorical:
    """One of a public list of words; anything else is *other*, a category of its own.

    ``usual`` is the word that most records are known to have, if there is one.
    """

    name: str
    values: tuple[str, ...]
    usual: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", _checked_values(self.name, self.values, at_least=1))
        if self.usual is not None:
            object.__setattr__(self, "usual", plain_text(self.usual))
            if self.usual not in self.values:
                raise SchemaError(f"The usual value of {self.name!r} is not among its values.")


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
        """The combinations of several outcomes.

        >>> sex, age = Levels("sex", ("f", "m")), Levels("age", ("old", "young"))
        >>> Levels.intersection([sex, age]).values
        ('f, old', 'f, young', 'm, old', 'm, young')
        """
        if math.prod(len(part.values) for part in parts) > MAX_CATEGORIES:
            raise SchemaError(f"The columns have more than {MAX_CATEGORIES} combinations.")
        combined = itertools.product(*(part.values for part in parts))
        name = " x ".join(part.name for part in parts)
        return cls(name, tuple(", ".join(words) for words in combined), tuple(parts))

    @property
    def column_names(self) -> tuple[str, ...]:
        """The columns that the values are read from."""
        return tuple(part.name for part in self.parts) or (self.name,)


@dataclass(frozen=True)
class Schema:
    """Everything that is assumed public about a table.

    Parameters
    ----------
    columns
        The features, without the sensitive column.
    label
        The two label values, negative first.
    sensitive
        The groups; None for a model that is private but not made fair.
    rows
        The public size of the data set, if it is public.
    crosses
        Combinations of columns that matter jointly: binned encodings get a cell for every
        combination of their bins (through a fixed hash, if there are many).
    inferred
        Whether the schema was read off the data, which is not private.

    Examples
    --------
    >>> schema = Schema.from_dict({
    ...     "label": {"name": "repaid", "values": ["no", "yes"]},
    ...     "sensitive": {"name": "sex", "values": ["f", "m"]},
    ...     "columns": [{"name": "age", "kind": "numeric", "bounds": [18, 100]},
    ...                 {"name": "job", "kind": "categorical", "values": ["a", "b"]}]})
    >>> [column.name for column in schema.columns]
    ['age', 'job']
    >>> Schema.from_toml(schema.to_toml()) == schema
    True
    """

    columns: tuple[Numeric | Categorical, ...]
    label: Levels
    sensitive: Levels | None = None
    rows: int | None = None
    crosses: tuple[tuple[str, ...], ...] = ()
    inferred: bool = field(default=False, compare=False)

    def __post_init__(self) -> None:
        names = [c.name for c in self.columns] + [self.label.name]
        names += [self.sensitive.name] if self.sensitive else []
        for name, times in Counter(names).items():
            if times > 1:
                raise SchemaError(f"Column {name!r} appears twice in the schema.")
            _check_text(name, "The name of a column")
        if not self.columns:
            raise SchemaError("A schema needs at least one feature column.")
        cells = self._cells() if self.crosses else {}
        for cross in self.crosses:
            if not 2 <= len(cross) <= 4 or len(set(cross)) != len(cross):
                raise SchemaError("A cross combines two to four different columns.")
            unknown = [name for name in cross if name not in cells]
            if unknown:
                raise SchemaError(f"A cross names {unknown[0]!r}, which is no feature column.")
            if math.prod(cells[name] for name in cross) >= MAX_COMBINATIONS:
                raise SchemaError(f"The cross of {', '.join(cross)} has too many combinations.")
        if len(set(self.crosses)) != len(self.crosses):
            raise SchemaError("The same cross appears twice in the schema.")
        if len(self.label.values) != 2:
            raise SchemaError(
                f"Label {self.label.name!r} must have exactly two values, "
                f"got {len(self.label.values)}."
            )
        if self.rows is not None and not (_is_whole(self.rows) and self.rows > 0):
            raise SchemaError(f"Expected rows to be a whole number > 0, got {self.rows}.")

    def _cells(self) -> dict[str, int]:
        """How many bins or categories every column has at most, missing and other included."""
        cells = {c.name: len(c.cuts) + 2 for c in self.numeric}
        cells |= {c.name: len(c.values) + 1 for c in self.categorical}
        return cells | ({self.sensitive.name: len(self.groups) + 1} if self.sensitive else {})

    @property
    def numeric(self) -> tuple[Numeric, ...]:
        """The numeric features, in order."""
        return tuple(c for c in self.columns if isinstance(c, Numeric))

    @property
    def categorical(self) -> tuple[Categorical, ...]:
        """The categorical features, in order."""
        return tuple(c for c in self.columns if isinstance(c, Categorical))

    @property
    def groups(self) -> tuple[str, ...]:
        """The names of the groups; one group of everybody without a sensitive column."""
        return self.sensitive.values if self.sensitive else ("everybody",)

    @property
    def families(self) -> tuple[int, ...]:
        """For every group of an intersection its value in the first column; else all alike."""
        parts = self.sensitive.parts if self.sensitive else ()
        others = len(self.groups) // len(parts[0].values) if parts else len(self.groups)
        return tuple(i // others for i in range(len(self.groups)))

    def with_sensitive(self, name: str | Sequence[str]) -> Schema:
        """The same table with its groups in another categorical column, or in several.

        The column that held the groups before becomes a feature. Several columns form a group
        for every combination of their values, and stay features.
        """
        names = (name,) if isinstance(name, str) else tuple(name)
        if self.sensitive is not None and self.sensitive.column_names == names:
            return self
        columns = list(self.columns)
        if self.sensitive is not None and not self.sensitive.parts:
            columns.append(Categorical(self.sensitive.name, self.sensitive.values))
        chosen = []
        for wanted in names:
            found = next(
                (c for c in columns if isinstance(c, Categorical) and c.name == wanted), None
            )
            if found is None:
                raise SchemaError(
                    f"The schema has no categorical column {wanted!r} to form groups."
                )
            chosen.append(found)
        outcomes = [Levels(c.name, c.values) for c in chosen]
        if len(chosen) == 1:
            columns.remove(chosen[0])
            return replace(self, columns=tuple(columns), sensitive=outcomes[0])
        if len(set(names)) != len(names):
            raise SchemaError("Groups need different columns.")
        return replace(self, columns=tuple(columns), sensitive=Levels.intersection(outcomes))

    @classmethod
    def load(cls, path: str | Path) -> Schema:
        """Read a TOML or JSON file."""
        path = Path(path)
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            missing = isinstance(error, FileNotFoundError)
            said = f"There is no schema file {path}." if missing else f"Cannot read {path}."
            raise SchemaError(said) from error
        try:
            if path.suffix == ".json":
                return cls.from_dict(json.loads(text))
            return cls.from_toml(text)
        except json.JSONDecodeError as error:
            raise SchemaError(f"The schema file {path} is not valid JSON: {error}.") from error
        except RecursionError as error:
            raise SchemaError(f"The schema file {path} is nested too deeply.") from error

    @classmethod
    def from_toml(cls, text: str) -> Schema:
        """Read a schema from TOML text."""
        try:
            data = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise SchemaError(f"The schema is not valid TOML: {error}.") from error
        except RecursionError as error:
            raise SchemaError("The schema is nested too deeply.") from error
        return cls.from_dict(data)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Schema:
        """Build a schema from plain data, as found in a TOML or JSON file."""
        try:
            allowed = {"columns", "label", "sensitive", "rows", "crosses", "inferred"}
            _only(data, allowed, "schema")
            sensitive = data.get("sensitive")
            rows = data.get("rows")
            if len(data["columns"]) > MAX_CATEGORIES:
                raise SchemaError(f"The schema has more than {MAX_CATEGORIES} columns.")
            columns = tuple(_column(c) for c in data["columns"])
            return cls(
                columns=columns,
                label=_outcome(data["label"], "label"),
                sensitive=None if sensitive is None else _groups(sensitive, columns),
                rows=rows,
                crosses=tuple(
                    tuple(_name(name) for name in _list(cross))
                    for cross in _list(data.get("crosses", []))
                ),
                inferred=_flag(data.get("inferred", False), "inferred"),
            )
        except KeyError as error:
            raise SchemaError(f"The schema lacks {error.args[0]!r}.") from error
        except (TypeError, ValueError, AttributeError, OverflowError) as error:
            if isinstance(error, SchemaError):
                raise
            raise SchemaError("The schema does not have the documented form.") from error

    def to_dict(self) -> dict[str, Any]:
        """The schema as plain data; the reverse of :meth:`from_dict`."""
        data: dict[str, Any] = {}
        if self.rows is not None:
            data["rows"] = self.rows
        if self.crosses:
            data["crosses"] = [list(cross) for cross in self.crosses]
        if self.inferred:
            data["inferred"] = True
        data["label"] = {"name": self.label.name, "values": list(self.label.values)}
        if self.sensitive and self.sensitive.parts:
            data["sensitive"] = {"columns": list(self.sensitive.column_names)}
        elif self.sensitive:
            data["sensitive"] = {
                "name": self.sensitive.name,
                "values": list(self.sensitive.values),
            }
        data["columns"] = [_column_to_dict(c) for c in self.columns]
        return data

    def to_toml(self) -> str:
        """The schema as a TOML file that a person can read, edit and keep."""
        data = self.to_dict()
        blocks = ["".join(_toml_line(k, v) for k, v in data.items() if not _nested(v))]
        for name in ("label", "sensitive"):
            if name in data:
                lines = "".join(_toml_line(k, v) for k, v in data[name].items())
                blocks.append(f"[{name}]\n{lines}")
        for column in data["columns"]:
            lines = "".join(_toml_line(k, v) for k, v in column.items())
            blocks.append(f"[[columns]]\n{lines}")
        return "\n".join(block for block in blocks if block)


def _checked_values(name: str, given: Sequence[str], at_least: int) -> tuple[str, ...]:
    if len(given) > MAX_CATEGORIES:
        raise SchemaError(f"{name!r} has more than {MAX_CATEGORIES} values.")
    for value in given:
        _check_text(value, f"Every value of {name!r}")
    values = tuple(plain_text(v) for v in given)
    if len(set(values)) != len(values):
        raise SchemaError(f"The values of {name!r} must be distinct.")
    if len(values) < at_least:
        raise SchemaError(f"{name!r} needs at least {at_least} values, got {len(values)}.")
    return values


def _check_text(value: object, what: str) -> None:
    """Halves of surrogate pairs are no characters: such text cannot be written anywhere."""
    try:
        proper = isinstance(value, str) and value.encode() is not None
    except UnicodeEncodeError:
        proper = False
    if not proper:
        raise SchemaError(f"{what} must be text.")


def _outcome(data: dict[str, Any], what: str) -> Levels:
    _only(data, {"name", "values"}, what)
    return Levels(_name(data["name"]), _words(data["values"]))


def _groups(data: dict[str, Any], columns: Sequence[Numeric | Categorical]) -> Levels:
    if "columns" not in data:
        return _outcome(data, "sensitive")
    _only(data, {"columns"}, "sensitive")
    found = {c.name: c for c in columns if isinstance(c, Categorical)}
    names = [_name(name) for name in _list(data["columns"])]
    if len(names) < 2 or len(set(names)) != len(names) or not set(names) <= set(found):
        raise SchemaError("Groups by several columns need at least two categorical ones.")
    return Levels.intersection([Levels(n, found[n].values) for n in names])


def _column(data: dict[str, Any]) -> Numeric | Categorical:
    kind, name = data["kind"], _name(data["name"])
    if kind == "categorical":
        _only(data, {"name", "kind", "values", "usual"}, name)
        usual = None if "usual" not in data else text_of(data["usual"])
        return Categorical(name, _words(data["values"]), usual)
    if kind == "numeric":
        allowed = {"name", "kind", "bounds", "center", "scale", "edges", "usual", "spiky"}
        _only(data, allowed, name)
        low, high = _list(data["bounds"])
        edges = data.get("edges")
        return Numeric(
            name,
            (_number(low), _number(high)),
            center=None if "center" not in data else _number(data["center"]),
            scale=None if "scale" not in data else _number(data["scale"]),
            edges=None if edges is None else tuple(_number(e) for e in _list(edges)),
            usual=None if "usual" not in data else _number(data["usual"]),
            spiky=_flag(data.get("spiky", False), "spiky"),
        )
    raise SchemaError(f"Column {name!r} must be of kind numeric or categorical, got {kind!r}.")


def _column_to_dict(column: Numeric | Categorical) -> dict[str, Any]:
    if isinstance(column, Categorical):
        words = {"name": column.name, "kind": "categorical", "values": list(column.values)}
        return words if column.usual is None else {**words, "usual": column.usual}
    data: dict[str, Any] = {"name": column.name, "kind": "numeric", "bounds": list(column.bounds)}
    for key in ("center", "scale", "usual"):
        if getattr(column, key) is not None:
            data[key] = getattr(column, key)
    if column.edges is not None:
        data["edges"] = list(column.edges)
    if column.spiky:
        data["spiky"] = True
    return data


def _name(value: object) -> str:
    if isinstance(value, (str, int)) and not isinstance(value, bool):
        return str(value)
    raise SchemaError("The name of a column must be text.")


def _list(value: object) -> list[Any]:
    if not isinstance(value, (list, tuple)):
        raise SchemaError("Expected a list of values, bounds or edges.")
    return list(value)


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise SchemaError("Bounds, center, scale, edges and a usual number must be numbers.")
    return float(value)


def _flag(value: object, name: str) -> bool:
    if not isinstance(value, bool):
        raise SchemaError(f"The entry {name!r} must be true or false.")
    return value


def _is_whole(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _words(values: object) -> tuple[str, ...]:
    return tuple(text_of(v) for v in _list(values))


def text_of(value: object) -> str:
    """Values are compared as text: 1, 1.0, "1" and "1.0" are one word, and so are True and "true".

    >>> text_of(1.0), text_of("1.0"), text_of("True"), text_of("01")
    ('1', '1', 'true', '01')
    """
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, (dict, list)) or value is None or value != value:
        raise SchemaError("Values of a column must be text or numbers.")
    return plain_text(str(value))


def plain_text(text: str) -> str:
    """One spelling for whole numbers and truth values, however a file or a frame writes them."""
    if text in ("True", "False", "TRUE", "FALSE"):
        return text.lower()
    return text[:-2] if text.endswith(".0") and text[:-2].lstrip("-").isdigit() else text


def _only(data: dict[str, Any], allowed: set[str], where: str) -> None:
    unknown = sorted(set(data) - allowed)
    if unknown:
        raise SchemaError(f"Unknown entry {unknown[0]!r} in {where}.")


def _nested(value: object) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and isinstance(value[0], dict))


def _toml_line(key: str, value: object) -> str:
    # JSON numbers, lists and strings are valid TOML values, but for pairs of surrogates (so no \u
    # escapes) and the character DEL.
    return f"{key} = {json.dumps(value, ensure_ascii=False)}\n".replace("\x7f", "\\u007f")
