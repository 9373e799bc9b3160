"""The total cost of all charges, updated with every charge.

Scopes form a tree, and a record in a scope pays for that scope and for all that contain it. A new
charge changes only the cost of its own scope and of those below; equal mechanisms are counted, not
listed. A charge therefore needs one call of the accountant for every scope below it, for any number
of earlier charges.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction

from dpfair.privacy.accountants import cost
from dpfair.privacy.adaptive import filter_cost
from dpfair.privacy.events import DpEvent, exact_sum, from_parts, parts

__all__ = ["Amount", "Tally"]


@dataclass
class Amount:
    """Paid leaves, their exact sum if there is one, and the number of charges."""

    leaves: Counter[DpEvent]
    pure: Fraction | None
    charges: int = 1

    @classmethod
    def of(cls, event: DpEvent) -> Amount:
        """What an event costs."""
        leaves = parts(event)
        return cls(leaves, exact_sum(leaves))

    @property
    def identity(self) -> frozenset[tuple[DpEvent, int]]:
        """Equal for events that cost the same leaves, however they were composed."""
        return frozenset(self.leaves.items())

    def add(self, other: Amount) -> None:
        """Add the other amount."""
        self.leaves.update(other.leaves)
        self.charges += other.charges
        self.pure = None if self.pure is None or other.pure is None else self.pure + other.pure


class Tally:
    """The charges of one budget, and the cost of a record on the most expensive path of scopes.

    Parameters
    ----------
    epsilon, delta
        The budget of one record.
    relation
        What a neighbouring data set is.
    composition
        ``"tight"``, ``"adaptive"`` or ``"basic"``, as in :class:`dpfair.privacy.ledger.Ledger`.

    Examples
    --------
    >>> from dpfair.privacy.events import noisy_table
    >>> tally = Tally(Fraction(3), 1e-5, "add_remove")
    >>> amount = Amount.of(noisy_table(1, "add_remove"))
    >>> for scope in ("train", "train/a", "release"):
    ...     tally.add(scope, amount, tally.total(scope, amount))
    >>> tally.spent
    Fraction(2, 1)
    """

    def __init__(
        self, epsilon: Fraction, delta: float, relation: str, composition: str = "tight"
    ) -> None:
        self._epsilon, self._delta, self._relation = epsilon, delta, relation
        self._adds_up, self._adaptive = composition == "basic", composition == "adaptive"
        self._everybody = _Scope()
        # For basic composition: the exact sum, and how often each other event was charged.
        self._sum = Fraction(0)
        self._approximate: Counter[frozenset[tuple[DpEvent, int]]] = Counter()
        self.spent = Fraction(0)

    def total(self, scope: str, amount: Amount) -> Fraction:
        """The epsilon of one record if the amount were charged, too.

        In all other scopes, a record has paid ``spent`` at most. The result never falls, although
        the accountant may find that a longer list of charges costs less.
        """
        now = self._sum_with(amount) if self._adds_up else self._dearest_with(scope, amount)
        return max(self.spent, now)

    def paid(self, scope: str) -> Fraction:
        """The epsilon that a record of the scope has paid at most; not for basic composition."""
        return self._dearest_with(scope, Amount(Counter(), Fraction(0), 0))

    def add(self, scope: str, amount: Amount, total: Fraction) -> None:
        """Charge the amount; ``spent`` is then the total."""
        if self._adds_up:
            if amount.pure is None:
                self._approximate[amount.identity] += 1
            else:
                self._sum += amount.pure
        else:
            own = self._everybody
            for name in _names(scope):
                own = own.children.setdefault(name, _Scope())
            own.paid.add(amount)
        self.spent = max(self.spent, total)

    def _dearest_with(self, scope: str, amount: Amount) -> Fraction:
        path, own = [amount], self._everybody
        for name in _names(scope):
            path.append(own.paid)
            own = own.children.get(name, _Scope())
        return max(self._costs(path, own))

    def _costs(self, above: list[Amount], scope: _Scope) -> Iterator[Fraction]:
        """What is paid in a scope, and in all below."""
        path = [*above, scope.paid]
        amounts = [amount.pure for amount in path if amount.pure is not None]
        if len(amounts) == len(path):
            yield sum(amounts, Fraction(0))
        else:
            leaves = sum((amount.leaves for amount in path), Counter[DpEvent]())
            yield self._cost(from_parts(leaves), sum(amount.charges for amount in path))
        for child in scope.children.values():
            yield from self._costs(path, child)

    def _cost(self, event: DpEvent, charges: int) -> Fraction:
        if self._adaptive and charges > 1:
            return filter_cost(event, self._epsilon, self._delta, self._relation)
        return cost(event, self._delta, self._relation)

    def _sum_with(self, amount: Amount) -> Fraction:
        total, approximate = self._sum, self._approximate
        if amount.pure is not None:
            total += amount.pure
        else:
            approximate = approximate + Counter([amount.identity])
        share = self._delta / max(approximate.total(), 1)
        for leaves, count in approximate.items():
            total += count * cost(from_parts(dict(leaves)), share, self._relation)
        return total


@dataclass
class _Scope:
    paid: Amount = field(default_factory=lambda: Amount(Counter(), Fraction(0), 0))
    children: dict[str, _Scope] = field(default_factory=dict)


def _names(scope: str) -> list[str]:
    return scope.split("/") if scope else []
