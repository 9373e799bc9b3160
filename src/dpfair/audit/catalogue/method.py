"""The entries of the catalogue, and small models of any method."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from dpfair.data.containers import get_column
from dpfair.data.numbers import numbers
from dpfair.data.schema import Schema
from dpfair.fairness.notions import NOTIONS
from dpfair.methods.base import PrivateClassifier

__all__ = ["BUDGET", "FirstNumber", "Method", "small_model", "suffix", "with_notion"]

BUDGET = 3.0


@dataclass(frozen=True)
class Method:
    """One entry of the catalogue.

    Parameters
    ----------
    name, description
        The name and a short description.
    make
        Makes an unfitted model from a schema and a relation.
    rows_per_unit
        The largest number of records per person; more than 1 if whole persons are protected.
    refuses_unknown_groups
        Whether a record of no declared group is an error by design. Tables with such a record are
        then not used.
    variant_of
        The entry that differs from this one in its notion only; tests may then look at fewer
        tables.
    """

    name: str
    description: str
    make: Callable[[Schema, str], Any]
    rows_per_unit: int = 1
    refuses_unknown_groups: bool = False
    variant_of: str = ""


def suffix(notion: str) -> str:
    """The suffix of a notion in the names of entries; the first notion has none.

    >>> [suffix(name) for name in NOTIONS]
    ['', '-opportunity', '-odds', '-accuracy', '-ratio']
    """
    words = notion.split("_")
    word = words[0] if words[-1] == "parity" else words[-1]
    return "" if notion == next(iter(NOTIONS)) else f"-{word}"


def with_notion(
    name: str, description: str, notion: str, make: Callable[[Schema, str], Any]
) -> Method:
    """An entry for one notion."""
    what = f"{description}: {NOTIONS[notion].title}"
    return Method(f"{name}{suffix(notion)}", what, make, variant_of=name if suffix(notion) else "")


class FirstNumber:
    """A public classifier: positive if the first number is in the upper half of its bounds."""

    def __init__(self, schema: Schema) -> None:
        self.column = schema.numeric[0]
        self.classes_ = np.array([0, 1])

    def predict(self, X: Any) -> NDArray[np.int64]:
        """0 or 1; 0 if the value is not a number."""
        values = numbers(get_column(X, self.column.name))
        return np.asarray(values >= self.column.standard[0], dtype=np.int64)


def small_model(
    kind: type[PrivateClassifier], schema: Schema, relation: str = "add_remove", **settings: Any
) -> Any:
    """An unfitted model of any method whose fit takes milliseconds.

    The method's own ``quick`` settings are used. A method that needs a classifier gets
    :class:`FirstNumber`, which was not trained on its records.

    >>> from dpfair.audit.sample import sample_schema
    >>> from dpfair.methods import METHODS
    >>> small_model(METHODS["algorithm2"], sample_schema()).epsilon
    3.0
    """
    names = kind().get_params(deep=False)
    known: dict[str, Any] = {"epsilon": BUDGET, "schema": schema, "relation": relation}
    known |= {"classifier": FirstNumber(schema), "held_out": True}
    if "schema" not in names and schema.sensitive is not None:
        known |= {"sensitive": schema.sensitive.name, "groups": schema.groups}
    own = {name: value for name, value in known.items() if name in names}
    quick = {name: clone(value, safe=False) for name, value in kind.quick.items()}
    return kind(**own | quick).set_params(**settings)
