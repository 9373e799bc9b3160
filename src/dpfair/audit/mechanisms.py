"""Every mechanism of the library that reads private records, for the sampling audit."""

from __future__ import annotations

from dpfair.audit.counts import count_mechanisms
from dpfair.audit.distinguish import Mechanism
from dpfair.audit.named import named_mechanisms
from dpfair.audit.precision import precision_mechanisms
from dpfair.audit.sums import sum_mechanisms

__all__ = ["library_mechanisms"]


def library_mechanisms() -> list[Mechanism]:
    """All mechanisms, each with its claim and at least six pairs of neighbours.

    Examples
    --------
    >>> names = [mechanism.name for mechanism in library_mechanisms()]
    >>> len(names) == len(set(names)), names[0]
    (True, 'count')
    """
    return [
        *count_mechanisms(),
        *sum_mechanisms(),
        *named_mechanisms(),
        *precision_mechanisms(),
    ]
