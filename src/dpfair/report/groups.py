"""Section 3: the rates of every group, and what the rule does, in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from dpfair.certificate import FairnessClaim
from dpfair.fairness.rates import Interval
from dpfair.fairness.rules import Rule
from dpfair.fairness.undeclared import many_undeclared
from dpfair.report import wording
from dpfair.report.svg import Move, interval_plot

__all__ = [
    "RatePlot",
    "acceptance_rows",
    "correction_sentences",
    "rate_plots",
    "rule_sentences",
    "undeclared_rows",
]

ACCEPTANCE = "acceptance rate"


@dataclass(frozen=True)
class RatePlot:
    """One rate of every group: the plot, and its rows for the table."""

    title: str
    moves: tuple[Move, ...]
    before: bool
    intervals: bool
    plot: Markup


def rate_plots(fairness: FairnessClaim) -> list[RatePlot]:
    """Every statistic of the notion, with the scorer's own rate where the release shows it."""
    found = []
    for name, values in fairness.values.items():
        k = len(values)
        known = name == ACCEPTANCE and len(fairness.rates_before) == k == len(fairness.before)
        ends = fairness.intervals.get(name, ())
        moves = tuple(
            Move(
                group,
                fairness.rates_before[a] if known else None,
                values[a],
                fairness.before[a] if known else None,
                ends[a] if ends else None,
            )
            for a, group in enumerate(fairness.group_names)
        )
        title = f"{name[0].upper()}{name[1:]} of each group"
        found.append(RatePlot(title, moves, known, bool(ends), interval_plot(moves, title)))
    return found


def acceptance_rows(fairness: FairnessClaim) -> list[tuple[str, float]]:
    """The estimated acceptance rates, if the notion compares other rates."""
    if ACCEPTANCE in fairness.values:
        return []
    return list(zip(fairness.group_names, fairness.rates_after, strict=False))


def undeclared_rows(fairness: FairnessClaim) -> list[tuple[str, float, Interval | None, bool]]:
    """(what does not fit the schema, estimated share, interval if any, whether it is much)."""
    rows = [
        (f"an undeclared {kind}", share, ends, many_undeclared(share, ends))
        for kind, (share, ends) in fairness.undeclared.items()
        if kind != "group" or len(fairness.groups) > 1
    ]
    if fairness.irregular is not None:
        share, ends = fairness.irregular
        rows.append(("a missing, out-of-bounds or undeclared feature value", share, ends, False))
    return rows


def correction_sentences(
    groups: Sequence[str], planned: Rule | None, rule: Rule | None
) -> list[str]:
    """How a rule flips the decisions of the planned rule, one sentence per group.

    The rule accepts with w0 + w1 p what the planned one accepts with p; the weights follow from
    the scores where the planned rule is least and most generous.

    Examples
    --------
    >>> planned = Rule([[0, 1], [0, 1]], [[0.3], [0.6]])
    >>> corrected = Rule([[0.02, 1], [0, 0.9]], [[0.3], [0.6]])
    >>> for sentence in correction_sentences(["f", "m"], planned, corrected):
    ...     print(sentence)
    Of those the planned rule rejects in group f, 2.0% are accepted.
    Of those the planned rule accepts in group m, 90.0% stay accepted.
    """
    said: list[str] = []
    if planned is None or rule is None:
        return said
    for group, before, after in zip(groups, planned.accept, rule.accept, strict=True):
        low, high = int(np.argmin(before)), int(np.argmax(before))
        if before[high] > before[low]:
            weight = (after[high] - after[low]) / (before[high] - before[low])
            lift = float(after[low] - weight * before[low])
            said.append(_flips(group, lift, lift + float(weight), "the planned rule"))
    return said


def rule_sentences(groups: Sequence[str], rule: Rule | None) -> list[str]:
    """What the rule does, one sentence per group.

    Examples
    --------
    >>> for sentence in rule_sentences(["f", "m", "x"], Rule([[0.092, 1], [0, 0.67], [0, 1]])):
    ...     print(sentence)
    Of those the scorer rejects in group f, 9.2% are accepted.
    Of those the scorer accepts in group m, 67.0% stay accepted.
    In group x every decision of the scorer stands.
    >>> cuts = [[0.09, 0.1], [0.31, math.inf]]
    >>> for sentence in rule_sentences(["f", "m"], Rule([[0, 0.75, 1], [0, 1, 1]], cuts)):
    ...     print(sentence)
    Group f: accepted from score 0.1 on; from 0.09 to 0.1 a coin accepts 75.0%.
    Group m: accepted from score 0.31 on.
    """
    if rule is None:
        return ["Records with a score above one half are accepted, in every group."]
    if rule.cuts.shape[1] == 1 and np.all(rule.cuts == 0.5):
        return [_flips(g, *row) for g, row in zip(groups, rule.accept.tolist(), strict=True)]
    return [
        f"Group {group}: {_steps(cuts, accept)}."
        for group, cuts, accept in zip(
            groups, rule.cuts.tolist(), rule.accept.tolist(), strict=True
        )
    ]


def _flips(group: str, lift: float, keep: float, whose: str = "the scorer") -> str:
    kept = f"accepts in group {group}, {wording.percent(keep)} stay accepted"
    lifted = f"rejects in group {group}, {wording.percent(lift)} are accepted"
    fewer, more = keep < 1 - 1e-9, lift > 1e-9
    if fewer and more:
        return f"Of those {whose} {kept}; of those it {lifted}."
    if fewer or more:
        return f"Of those {whose} {kept if fewer else lifted}."
    return f"In group {group} every decision of {whose} stands."


def _steps(cuts: Sequence[float], accept: Sequence[float]) -> str:
    """The levels of a step function, highest scores first."""
    starts = [-math.inf, *cuts]
    levels: list[tuple[float, float]] = []
    for start, chance in zip(starts, accept, strict=True):
        if start == math.inf:
            break
        if levels and (levels[-1][0] == start or levels[-1][1] == chance):
            start, _ = levels.pop()
        levels.append((start, chance))
    ends = [start for start, _ in levels[1:]] + [math.inf]
    said = [_level(start, end, chance) for (start, chance), end in zip(levels, ends, strict=True)][
        ::-1
    ]
    told = [part for part in said if part]
    return "; ".join(told) if told else "nobody is accepted"


def _level(start: float, end: float, chance: float) -> str:
    whole = "accepted" if chance == 1 else f"a coin accepts {wording.percent(chance)}"
    if chance == 0:
        return ""
    if start == -math.inf and end == math.inf:
        return "everybody is accepted" if chance == 1 else f"{whole} of all"
    if end == math.inf:
        return (
            f"{whole} from score {start:.4g} on" if chance == 1 else f"from {start:.4g} on {whole}"
        )
    if start == -math.inf:
        return f"below {end:.4g} {whole}"
    return f"from {start:.4g} to {end:.4g} {whole}"
