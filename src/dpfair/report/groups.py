"""Section 3: the rates of every group, and what the rule does, in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from dpfair.certificate import FairnessClaim
from dpfair.fairness.rules import Rule
from dpfair.report import words
from dpfair.report.svg import Move, interval_plot

__all__ = ["RatePlot", "acceptance_rows", "rate_plots", "rule_sentences"]

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
            for a, group in enumerate(fairness.groups)
        )
        title = f"{name[0].upper()}{name[1:]} of each group"
        found.append(RatePlot(title, moves, known, bool(ends), interval_plot(moves, title)))
    return found


def acceptance_rows(fairness: FairnessClaim) -> list[tuple[str, float]]:
    """The estimated acceptance rates, if the notion compares other rates."""
    if ACCEPTANCE in fairness.values:
        return []
    return list(zip(fairness.groups, fairness.rates_after, strict=False))


def rule_sentences(groups: Sequence[str], rule: Rule) -> list[str]:
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
    if rule.cuts.shape[1] == 1 and np.all(rule.cuts == 0.5):
        return [_flips(g, *row) for g, row in zip(groups, rule.accept.tolist(), strict=True)]
    return [
        f"Group {group}: {_steps(cuts, accept)}."
        for group, cuts, accept in zip(
            groups, rule.cuts.tolist(), rule.accept.tolist(), strict=True
        )
    ]


def _flips(group: str, lift: float, keep: float) -> str:
    kept = f"accepts in group {group}, {words.percent(keep)} stay accepted"
    lifted = f"rejects in group {group}, {words.percent(lift)} are accepted"
    if keep < 1 and lift > 0:
        return f"Of those the scorer {kept}; of those it {lifted}."
    if keep < 1 or lift > 0:
        return f"Of those the scorer {kept if keep < 1 else lifted}."
    return f"In group {group} every decision of the scorer stands."


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
    whole = "accepted" if chance == 1 else f"a coin accepts {words.percent(chance)}"
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
