"""The scorers by name, so that a model file says which one its numbers are."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

from dpfair.data.schema import Schema
from dpfair.errors import InputError
from dpfair.learners.block_scorer import BlockScorer
from dpfair.learners.features import FEATURES
from dpfair.learners.protocols import Scorer, Tensors
from dpfair.learners.scorer import LinearScorer
from dpfair.learners.trees import BoostedScorer

__all__ = ["SCORERS", "ScorerForm"]


class StoredScorer(Scorer, Protocol):
    """A scorer that its numbers and a map of features determine."""

    @property
    def form(self) -> tuple[str, Schema]:
        """The map of features, and the schema of the columns that it reads."""

    @classmethod
    def from_tensors(cls, schema: Schema, features: str, tensors: Tensors) -> Scorer:
        """The scorer of a file; ``InputError`` if its numbers do not fit the schema."""


SCORERS: dict[str, type[StoredScorer]] = {
    "linear": LinearScorer,
    "blocks": BlockScorer,
    "trees": BoostedScorer,
}
"""One line is one scorer. That of somebody else's learner is not listed: a file holds no code."""


@dataclass(frozen=True)
class ScorerForm:
    """What has to be known of a scorer, beside its numbers and the schema, to score records.

    Parameters
    ----------
    kind
        One of ``SCORERS``.
    features
        The map from columns to features.
    blind
        Whether the scorer does not see the group.
    """

    kind: str
    features: str
    blind: bool

    @classmethod
    def of(cls, scorer: Scorer, schema: Schema) -> ScorerForm | None:
        """The form of a scorer; None if it is none of dpfair's own."""
        kind = next((name for name, one in SCORERS.items() if type(scorer) is one), None)
        if kind is None:
            return None
        features, own = scorer.form  # type: ignore[attr-defined]
        seen = [blind for blind in (False, True) if _seen(schema, blind) == own]
        return cls(kind, features, seen[0]) if seen else None

    @classmethod
    def from_json(cls, data: Any) -> ScorerForm:
        """Read a form back."""
        kind, features, blind = data["kind"], data["features"], data["blind"]
        if kind not in SCORERS or features not in FEATURES or type(blind) is not bool:
            raise InputError("Its scorer is none of dpfair's.")
        return cls(kind, features, blind)

    def restore(self, schema: Schema, tensors: Tensors) -> Scorer:
        """The scorer with these numbers."""
        seen = _seen(schema, self.blind)
        return SCORERS[self.kind].from_tensors(seen, self.features, tensors)


def _seen(schema: Schema, blind: bool) -> Schema:
    """The schema of what a scorer reads."""
    return replace(schema, sensitive=None, crosses=()) if blind else schema
