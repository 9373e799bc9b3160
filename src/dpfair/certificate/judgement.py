"""How much a claim says: one of four grades, printed with its rule.

Everything here is a function of public numbers: parameters, declared facts and released values.
docs/certificates.md states the same rules for readers of a report.

Privacy
    epsilon by the tiers of Ponomareva et al., "How to DP-fy ML" (JAIR 77, 2023): strong up to 1,
    moderate up to 10, weak above. From 20 on we say vacuous; that line is ours. A delta of 1/n or
    more is weak, since publishing one of n records, chosen at random, would meet it; a delta of
    0.01 or more is vacuous. The worse of the two counts.
Gap
    Strong up to 0.05, moderate up to 0.1, weak above, with less for rates that leave less room (a
    fifth and a half of it) and for scorers that are fair already (half of their gap). Vacuous if
    the bound leaves all the room, or is no smaller than the gap of the scorer alone. That gap is
    the largest one that the same counts allow: a noisy estimate would decide by chance.
Ratio
    Strong from 0.9 on, moderate from 0.8 on (the four-fifths rule), weak below; vacuous if it is
    zero or no larger than the smallest ratio that the counts allow for the scorer alone.
Accuracy
    Against the better constant rule: strong with a quarter fewer errors, moderate if better, weak
    if that is not certain, vacuous if not even the estimate is better or a coin does as well.

A bound with a confidence below 90% is weak at best, and vacuous below 50%. It is weak at best, too,
if many records are undeclared, and vacuous if nearly all are. The gap and the accuracy of a model
that accepts everybody or nobody are vacuous.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

__all__ = [
    "GRADES",
    "LARGE_DELTA",
    "Judgement",
    "delta_warning",
    "judge_accuracy",
    "judge_gap",
    "judge_privacy",
    "judge_ratio",
    "room_for_gap",
]

GRADES = ("strong", "moderate", "weak", "vacuous")

TIERS = (
    (1, "strong", "at most 1"),
    (10, "moderate", "above 1, at most 10"),
    (20, "weak", "above 10, at most 20"),
    (math.inf, "vacuous", "above 20"),
)
"""The largest epsilon of each grade, and its words."""

LARGE_DELTA = 0.01
"""Such a delta promises nothing, whatever the number of records is."""


@dataclass(frozen=True)
class Judgement:
    """One of ``GRADES`` and the rule that led to it, as a clause."""

    grade: str
    rule: str

    def at_best(self, grade: str, rule: str) -> Judgement:
        """This judgement, or another one if that is worse."""
        return _worst([self, Judgement(grade, rule)])


def judge_privacy(epsilon: float, delta: float, records: int | None, error: int = 0) -> Judgement:
    """The grade of (epsilon, delta) on a number of records, which may be noisy or unknown.

    >>> judge_privacy(3, 1e-5, 45_222).rule
    'epsilon is above 1, at most 10; delta is below 1/n, n = 45,222 records'
    >>> judge_privacy(1, 0, None)
    Judgement(grade='strong', rule='epsilon is at most 1')
    >>> judge_privacy(1, 1e-3, 6000).grade, judge_privacy(1, 0.1, None).grade
    ('weak', 'vacuous')
    """
    judged = [next(Judgement(g, f"epsilon is {w}") for most, g, w in TIERS if epsilon <= most)]
    n = f"n = {_size(records, error)}" if records is not None else ""
    if delta >= LARGE_DELTA:
        allows = "it allows publishing each record with that probability"
        judged.append(Judgement("vacuous", f"delta is 0.01 or more: {allows}"))
    elif delta > 0 and records is None:
        unknown = "because the number of records is not known"
        judged.append(Judgement("strong", f"delta is not judged, {unknown}"))
    elif delta > 0 and records is not None and delta * records >= 1:
        allows = "it allows publishing one of them"
        judged.append(Judgement("weak", f"delta is at least 1/n, {n}: {allows}"))
    elif delta > 0:
        judged.append(Judgement("strong", f"delta is below 1/n, {n}"))
    # The whole rule is shown, not only the part that decided.
    return Judgement(_worst(judged).grade, "; ".join(j.rule for j in judged))


def delta_warning(delta: float, records: int | None, error: int = 0) -> str:
    """What to warn of if delta is certainly 1/n or more; ``error`` is that of a noisy n."""
    if delta >= LARGE_DELTA:
        allows = "it allows publishing each record with that probability"
        return f"delta = {delta:g} promises nothing: {allows}. Choose a delta far below 1/n."
    if records is None or delta * (records - error) < 1:
        return ""
    return (
        f"delta = {delta:g} is at least 1/n for {_size(records, error)}: it allows publishing a "
        "whole record. Choose a delta far below 1/n."
    )


def room_for_gap(statistics: Iterable[Sequence[float]]) -> float:
    """The gap at which some group would have a rate of 0 or 1, given rates like these.

    With acceptance rates around 0.02, a bound of 0.02 allows that one group is never accepted.

    >>> room_for_gap([[0.01, 0.02]]), room_for_gap([[0.75, 1.0]]), room_for_gap([])
    (0.02, 0.25, 1.0)
    """
    finite = [[v for v in values if math.isfinite(v)] for values in statistics]
    return max((min(max(row), 1 - min(row)) for row in finite if row), default=1.0)


def judge_gap(
    bound: float,
    confidence: float,
    *,
    room: float = 1.0,
    before: float | None = None,
) -> Judgement:
    """The grade of an upper bound on a difference.

    ``before`` is the largest gap of the scorer alone that the counts allow, if it is known.

    >>> judge_gap(0.015, 0.95, room=0.2, before=0.18).rule
    'at most a fifth of 0.2000, the gap that would give one group the rate 0 or 1'
    >>> judge_gap(0.3, 0.95, room=0.5, before=0.25).rule
    'the scorer alone has a gap of at most 0.2500, by the same counts'
    >>> judge_gap(1.0, 0.95).grade, judge_gap(0.02, 0.95, room=0.02).grade
    ('vacuous', 'vacuous')
    """
    edge = f"{room:.4f}, the gap that would give one group the rate 0 or 1"
    strong = min((0.05, "0.05"), (room / 5, f"a fifth of {edge}"))
    limits = [(0.1, "0.1"), (room / 2, f"half of {edge}")]
    if before is not None:
        most = f"{before:.4f}, the largest gap of the scorer alone that the counts allow"
        limits.append((before / 2, f"half of {most}"))
    moderate = min(limits)
    if bound >= room:
        judged = Judgement("vacuous", f"not below {edge}")
    elif bound <= strong[0]:
        judged = Judgement("strong", f"at most {strong[1]}")
    elif before is not None and bound >= before:
        own = f"a gap of at most {before:.4f}, by the same counts"
        judged = Judgement("vacuous", f"the scorer alone has {own}")
    elif bound <= moderate[0]:
        within = f"more than {strong[1]}, and at most {moderate[1]}"
        if strong[1].endswith(edge) and moderate[1].endswith(edge):
            within = f"more than a fifth and at most half of {edge}"
        judged = Judgement("moderate", within)
    else:
        judged = Judgement("weak", f"more than {moderate[1]}")
    return _with_confidence(judged, confidence)


def judge_ratio(ratio: float, confidence: float, before: float | None = None) -> Judgement:
    """The grade of a lower bound on the ratio of two rates.

    ``before`` is the smallest ratio of the scorer alone that the counts allow, if it is known.

    >>> judge_ratio(0.83, 0.95, before=0.5)
    Judgement(grade='moderate', rule='at least 0.8 (the four-fifths rule)')
    >>> judge_ratio(0.0, 0.95).grade, judge_ratio(0.4, 0.95, before=0.5).grade
    ('vacuous', 'vacuous')
    """
    if ratio <= 0:
        judged = Judgement("vacuous", "a ratio is never below 0")
    elif ratio >= 0.9:
        judged = Judgement("strong", "at least 0.9")
    elif before is not None and ratio <= before:
        own = f"a ratio of at least {before:.4f}, by the same counts"
        judged = Judgement("vacuous", f"the scorer alone has {own}")
    elif ratio >= 0.8:
        judged = Judgement("moderate", "at least 0.8 (the four-fifths rule)")
    else:
        judged = Judgement("weak", "below 0.8 (the four-fifths rule)")
    return _with_confidence(judged, confidence)


def judge_accuracy(
    bound: float,
    confidence: float,
    *,
    estimate: float,
    constant: float | None,
    beats_constant: bool | None,
) -> Judgement:
    """The grade of a lower bound on the accuracy, against the better constant rule.

    >>> against = {"estimate": 0.84, "constant": 0.75}
    >>> judge_accuracy(0.83, 0.95, **against, beats_constant=True).rule
    'at least a quarter fewer errors than a constant rule (an estimated 0.7500 right)'
    >>> judge_accuracy(0.74, 0.95, **against, beats_constant=False).grade
    'weak'
    >>> judge_accuracy(0.0, 0.95, **against, beats_constant=False).rule
    'not above 0.5, which a coin reaches'
    """
    known = constant if constant is not None else 0.5
    rule = f"a constant rule (an estimated {known:.4f} right)"
    if bound <= 0.5:
        judged = Judgement("vacuous", "not above 0.5, which a coin reaches")
    elif estimate <= known:
        judged = Judgement("vacuous", f"the estimate is no better than {rule}")
    elif not beats_constant:
        judged = Judgement("weak", f"not certain to be better than {rule}")
    elif bound - known >= (1 - known) / 4:
        judged = Judgement("strong", f"at least a quarter fewer errors than {rule}")
    else:
        judged = Judgement("moderate", f"better than {rule}, by less than a quarter of its errors")
    return _with_confidence(judged, confidence)


def _with_confidence(judged: Judgement, confidence: float) -> Judgement:
    if confidence < 0.5:
        return judged.at_best("vacuous", "the confidence is below 50%")
    return judged if confidence >= 0.9 else judged.at_best("weak", "the confidence is below 90%")


def _worst(judged: Sequence[Judgement]) -> Judgement:
    return max(judged, key=lambda j: GRADES.index(j.grade))


def _size(records: int, error: int) -> str:
    return f"{'about ' if error else ''}{records:,} records"
