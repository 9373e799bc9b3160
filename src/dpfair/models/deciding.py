"""Decisions by a model file alone, without the rest of what it says.

To decide takes the schema, the scorer, the rule and the key of the coins. The account and the
certificate follow from other parts, and deriving them takes longer than to decide a small table;
:func:`dpfair.models.file.load_model` and ``dpfair verify`` do that.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from dpfair import validate
from dpfair.data.encode import encode, unit_texts
from dpfair.data.records import Records
from dpfair.data.schema import Schema
from dpfair.errors import InputError
from dpfair.fairness.coins import COINS
from dpfair.fairness.rules import Rule
from dpfair.learners.protocols import Scorer, Tensors
from dpfair.learners.scorers import ScorerForm
from dpfair.methods.deciding import Deciding
from dpfair.models.deciding_parts import classes_from_json, rule_from_json
from dpfair.models.reading import check_entries, reading

__all__ = ["StoredDecider", "read_decider"]


class StoredDecider(Deciding):
    """The part of a model file that decides.

    Attributes
    ----------
    schema_, classes_
        The columns that are read, and the two labels, the accepted one second.
    unit
        The column that identifies a person, if records of a person share a coin.
    """

    def __init__(self, header: dict[str, Any], scorer: ScorerForm, tensors: Tensors) -> None:
        settings, rule = header["settings"], header["rule"]
        self.schema_ = Schema.from_dict(header["schema"])
        self.classes_: NDArray[Any] = classes_from_json(header["classes"], self.schema_)
        self.unit: str | int | None = settings.get("unit")
        if not isinstance(self.unit, str | int | None):
            raise InputError("The column of its unit is malformed.")
        self.coins = settings.get("rule", settings).get("coins", "keyed")
        validate.one_of(COINS, coins=self.coins)
        self._scorer = scorer.restore(self.schema_, tensors)
        groups = len(self.schema_.groups)
        self._rule = None if rule is None else rule_from_json(rule, groups)
        self._key = bytes.fromhex(header["coin_key"])
        if len(self._key) != (0 if rule is None else 32):
            raise InputError("The key of its coins is malformed.")

    @property
    def scorer_(self) -> Scorer:
        """From records to scores."""
        return self._scorer

    @property
    def rule_(self) -> Rule | None:
        """From scores to acceptance probabilities; None if a score above one half is accepted."""
        return self._rule

    @property
    def coin_key(self) -> bytes:
        """The key of the decision coins."""
        return self._key

    def records_of(self, table: Any) -> Records:
        """Records to decide about; that of an undeclared group has the code -1."""
        records: Records = encode(table, self.schema_)
        return replace(records, units=unit_texts(table, self.unit))


def read_decider(path: str | Path) -> StoredDecider | None:
    """What a model file says about decisions; None if that needs code which no file holds."""
    with reading(path) as (header, tensors):
        check_entries(header)
        if header["scorer"] is None:
            return None
        return StoredDecider(header, ScorerForm.from_json(header["scorer"]), tensors)
