"""Which value of a label means *accepted*: the good outcome for the person."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from dpfair.data.proposal.values import sorted_values
from dpfair.data.text import plain_text
from dpfair.errors import InputError

__all__ = ["Accepted", "are_opposites", "choose_accepted", "looks_reversed"]

_GOOD = frozenset(
    [
        *("yes", "y", "true", "t", "1", "+", "positive", "pass", "passed", "success"),
        *("successful", "succeeded", "approved", "approve", "accept", "accepted", "granted"),
        *("grant", "good", "paid", "repaid", "hired", "hire", "admitted", "admit", "eligible"),
        *("high", "won", "win", "offer", "originated", "qualified", "satisfied", "ok"),
        *("enrolled", "graduated", "survived", "alive", "employed", "fully paid", "paid off"),
        *("loan originated", "low risk"),
    ]
)
_BAD = frozenset(
    [
        *("no", "n", "false", "f", "0", "-1", "-", "negative", "fail", "failed", "failure"),
        *("unsuccessful", "denied", "deny", "denial", "reject", "rejected", "refused"),
        *("refuse", "declined", "decline", "bad", "default", "defaulted", "late"),
        *("delinquent", "low", "lost", "loss", "withdrawn", "unqualified", "dead", "died"),
        *("unemployed", "dropped", "dropout", "charged off", "charged-off", "charge off"),
        *("in default", "high risk", "not paid", "unpaid"),
    ]
)
_BAD_NAMES = re.compile(
    r"(^|[_\W])(den(y|ied|ial)|reject\w*|refus\w*|declin\w*|default\w*|bad|late|delinquen\w*|fraud\w*|"
    r"churn\w*|arrest\w*|recid\w*|search\w*|citation\w*|charge[d_-]*off|fail\w*|dropout|died|death|loss)($|[_\W])",
    re.IGNORECASE,
)
# These mean something beside their opposite only: 1 and 2 are codes.
_CODES = {"1", "0", "-1", "+", "-", "t", "f", "y", "n"}
_PLAIN = {"yes", "no", "y", "n", "true", "false", "t", "f", "1", "0", "-1"}


@dataclass(frozen=True)
class Accepted:
    """The two values of a label, and why one of them means accepted.

    ``sure`` is False if nothing but a guess stands behind it.
    """

    value: str
    rejected: str
    why: str
    sure: bool


def choose_accepted(name: str, counts: Mapping[str, int], accept: str | None = None) -> Accepted:
    """Choose the accepted value; of more than two, the other one is the likely opposite.

    >>> choose_accepted("repaid", {"no": 5, "yes": 7}).value
    'yes'
    >>> choose_accepted("deny", {"no": 7, "yes": 5}).value
    'no'
    """
    values = sorted_values(counts)
    if accept is not None:
        wanted = plain_text(accept)
        if wanted not in values:
            raise InputError(
                f"The label {name!r} has no value {accept!r}; it has {', '.join(values[:20])}."
            )
        return Accepted(wanted, _opposite(wanted, counts), "as stated", True)
    good = [value for value in values if _sense(value) > 0]
    bad = [value for value in values if _sense(value) < 0]
    if len(good) == 1 and (bad or (len(values) == 2 and good[0].lower() not in _CODES)):
        value = good[0]
        other = _opposite(value, counts)
        if (
            _BAD_NAMES.search(re.sub("(?<=[a-z])(?=[A-Z])", "_", name))
            and {value.lower(), other.lower()} <= _PLAIN
        ):
            why = f"the name {name!r} suggests that {value!r} is the bad outcome"
            return Accepted(other, value, why, False)
        return Accepted(value, other, f"{value!r} reads like the good outcome", True)
    if len(bad) == 1 and len(values) == 2 and bad[0].lower() not in _CODES:
        [value] = [v for v in values if v not in bad]
        return Accepted(value, bad[0], f"{bad[0]!r} reads like the bad outcome", True)
    if prefixed := _negated(values):
        return Accepted(*prefixed, f"{prefixed[1]!r} negates {prefixed[0]!r}", True)
    frequent = sorted(values, key=lambda v: counts[v])[-2:]
    rejected, value = sorted_values(frequent)
    return Accepted(value, rejected, "nothing in the values says which one is the good one", False)


def are_opposites(one: str, other: str) -> bool:
    """Whether two words, not codes, are a good and a bad outcome.

    >>> are_opposites("paid", "default"), are_opposites("1", "0"), are_opposites("rent", "owner")
    (True, False, False)
    """
    codes = not {one.lower(), other.lower()}.isdisjoint(_CODES)
    return _sense(one) * _sense(other) < 0 and not codes


def looks_reversed(name: str, values: tuple[str, str]) -> bool:
    """Whether the second value of a declared label looks like the bad outcome.

    >>> looks_reversed("loan", ("approved", "denied")), looks_reversed("loan", ("a", "b"))
    (True, False)
    """
    chosen = choose_accepted(name, dict.fromkeys(values, 1))
    meaningful = chosen.sure or "suggests" in chosen.why
    return meaningful and chosen.value == values[0]


def _sense(value: str) -> int:
    """1 for a good outcome, -1 for a bad one, 0 if the word does not say."""
    word = value.strip().rstrip(".").lower()
    if word in _GOOD or re.match(r">", word):
        return 1
    return -1 if word in _BAD or re.match(r"<", word) else 0


def _negated(values: tuple[str, ...]) -> tuple[str, str] | None:
    """A value and the same one with "not", "no", "non" or "un" before it."""
    for value in values:
        for other in values:
            pattern = rf"(not|no|non|un|in|never)[\s_-]*{re.escape(value.lower())}"
            if re.fullmatch(pattern, other.lower()):
                return value, other
    return None


def _opposite(value: str, counts: Mapping[str, int]) -> str:
    """The most frequent of the values with the opposite sense, or else of all others."""
    others = [other for other in counts if other != value]
    against = [other for other in others if _sense(other) == -_sense(value) != 0]
    return max(against or others, key=lambda other: counts[other])
