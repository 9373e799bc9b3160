"""The number of records that do not fit the schema."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpfair.data.facts import listing
from dpfair.data.records import Records
from dpfair.data.schema import Schema
from dpfair.errors import FairnessWarning, warn
from dpfair.fairness.counting import release_cells, table_cells
from dpfair.fairness.rates import Interval
from dpfair.fairness.release import HALF, REUSED, Release
from dpfair.privacy.ledger import Receipt

__all__ = [
    "ALL",
    "IRREGULAR",
    "irregular_share",
    "many_undeclared",
    "mostly_undeclared",
    "release_irregular",
    "undeclared_shares",
    "warn_undeclared",
]

IRREGULAR = "count records with irregular values"

ALL = ("all",)
"""The one group of a table that counts irregular records."""

MANY, MOST = 0.02, 0.9


def undeclared_shares(
    release: Release, confidence: float
) -> dict[str, tuple[float, Interval | None]]:
    """Of all records, the share with an undeclared ``"group"`` or ``"label"``, as counted.

    All intervals together hold with the confidence. An interval is None if persons have several
    records, or if the schema was read off the records. Records that were also used for training
    are allowed, since what is undeclared does not depend on the scorer.
    """
    certain = release.dependence in ("", REUSED)
    found: dict[str, tuple[float, Interval | None]] = {}
    for kind in release.undeclared:
        rate = release.undeclared_rate(kind)
        level = (1 - confidence) / len(release.undeclared)
        found[kind] = rate.estimate, rate.interval(level) if certain else None
    return found


def release_irregular(records: Any, *, receipt: Receipt, dependence: str) -> Release:
    """Count the records with a feature value that is missing, out of bounds or undeclared.

    In the table of scores they would need separate cells, whose noise would widen every bound.
    Therefore they have a separate table of two cells, with its own cost.
    """

    def cells() -> NDArray[np.int64]:
        [found] = records.total(_irregular_cells)
        return np.asarray(found)

    return release_cells(
        cells,
        ALL,
        labelled=False,
        by_label=False,
        edges=HALF,
        receipt=receipt,
        dependence=dependence,
    )


def _irregular_cells(records: Records) -> tuple[NDArray[np.int64]]:
    assert records.irregular is not None
    everybody = np.zeros(len(records), dtype=np.int8)
    return (table_cells(records.irregular, everybody, None, len(ALL), HALF),)


def warn_undeclared(release: Release, confidence: float, schema: Schema) -> None:
    """Warn if by the noisy counts many records have an undeclared group or label.

    Values that were read off the records are not shown.
    """
    declared = {"group": schema.groups, "label": schema.label.values}
    for kind, (share, ends) in undeclared_shares(release, confidence).items():
        if mostly_undeclared(share, ends):
            warn(
                f"By the noisy counts, about {share:.1%} of the records have none of the declared "
                f"{kind}s{f' ({listing(declared[kind], 5)})' if schema.reviewed else ''}: nearly "
                "nothing was learned, and the model is of no use. Compare the values in the schema "
                "with those in the table: dpfair check.",
                FairnessWarning,
            )
        elif many_undeclared(share, ends):
            warn(
                f"By the noisy counts, about {share:.1%} of the records have a {kind} that "
                "the schema does not declare. They were not used for training, and the "
                "certificate does not cover them. Compare the schema with the table: dpfair check.",
                FairnessWarning,
            )


def irregular_share(release: Release, confidence: float) -> tuple[float, Interval | None]:
    """The share of records with an irregular value, and its interval."""
    rate, certain = release.rate(0, 1), release.dependence in ("", REUSED)
    return rate.estimate, rate.interval(1 - confidence) if certain else None


def many_undeclared(share: float, ends: Interval | None) -> bool:
    """Whether more than a few percent of the records are undeclared, allowing for the noise.

    >>> many_undeclared(0.05, (0.0, 0.1)), many_undeclared(0.05, (0.04, 0.06))
    (False, True)
    """
    return (share if ends is None else ends[0]) > MANY


def mostly_undeclared(share: float, ends: Interval | None) -> bool:
    """Whether nearly all records are undeclared, allowing for the noise.

    >>> mostly_undeclared(0.95, (0.8, 1.0)), mostly_undeclared(1.0, (0.97, 1.0))
    (False, True)
    """
    return (share if ends is None else ends[0]) > MOST
