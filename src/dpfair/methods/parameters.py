"""The parameters that every method has. A method is a dataclass that adds its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path

from dpfair.data.schema import Schema
from dpfair.privacy.payment import ChargeTo

__all__ = ["Parameters", "Sensitive"]

Sensitive = str | int | Sequence[str] | None


@dataclass(eq=False, repr=False)
class Parameters:
    """The budget of a fit, what is public about its table, and who pays.

    A dataclass has the constructor that scikit-learn asks for: it stores every argument as it is,
    and checks nothing.
    """

    epsilon: float = 1.0
    delta: float = 1e-5
    _: KW_ONLY
    schema: Schema | None = None
    sensitive: Sensitive = None
    relation: str = "add_remove"
    ledger: ChargeTo | str | Path | None = None
    strict: bool = False
    random_state: int | None = None
