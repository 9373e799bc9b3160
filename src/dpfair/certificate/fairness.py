"""The fairness claim: a bound on the gap between groups, and how much it says."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dpfair.certificate.judgement import (
    Judgement,
    judge_accuracy,
    judge_gap,
    judge_ratio,
    room_for_gap,
)
from dpfair.fairness.bounds.bands import interval_gap
from dpfair.fairness.notions import NOTIONS
from dpfair.fairness.rates import Interval
from dpfair.fairness.undeclared import many_undeclared, mostly_undeclared

__all__ = ["NO_GROUPS", "PARITY", "FairnessClaim", "named_pairs"]

PARITY = NOTIONS["demographic_parity"]
NO_GROUPS = "no sensitive column was given, so nothing makes the model fair"


@dataclass(frozen=True)
class FairnessClaim:
    """A bound on the gap between any two groups, from released values only.

    Parameters
    ----------
    notion, tolerance
        Which rates have to agree, and the gap that was allowed when the rule was chosen.
    groups
        The names of the groups.
    gap_bound
        The certified bound; None if there is none, for the stated ``reason``.
    confidence, certified, reason
        The confidence of the bound, whether there is one, and if not, why.
    bounds
        Every bound that exists for the release. For the paper's rule ``C3`` (the certified one,
        chosen beforehand), ``C2``, and with public sizes ``C1`` and the paper's theorem and
        proposition. For other rules ``placed``, ``band``, ``corrected`` or ``fixed``, by how the
        rule was found.
    pairs
        The certified bound of each pair of groups.
    gap_estimate, accuracy_estimate
        Estimates from the released counts, without a promise.
    accuracy_bound
        A lower bound on the accuracy with the same confidence, if there is one. A record of an
        undeclared group or label counts as a wrong decision, here and in the estimate.
    constant_accuracy, beats_constant
        The estimated accuracy of the better constant rule (everybody is accepted, or nobody), and
        whether the model is more accurate with the same confidence; None if nothing is certain.
    undeclared
        The share of records whose ``"group"`` or ``"label"`` the schema does not declare: an
        estimate, and an interval with the same confidence.
    irregular
        The same for records with a feature value that is missing, out of bounds or undeclared, if
        these were counted.
    constant
        ``"everybody"`` or ``"nobody"``, if the rule accepts them whatever their score; else empty.
    other_goal
        What the rule was asked for besides accuracy, such as unequal costs; else empty.
    column, labels
        The column of the groups, and the two declared label values; empty if not known.
    values, intervals
        Per statistic of the notion, the estimate and the interval of each group.
    rates_before, rates_after, before, after
        Acceptance rates of the scorer alone (where the released grid shows them) and of the rule.
    changes, excess_changes
        How many decisions the paper's rule changes, added over the groups.
    """

    notion: str
    tolerance: float
    groups: tuple[str, ...]
    gap_bound: float | None
    confidence: float
    certified: bool
    reason: str
    bounds: Mapping[str, float] = field(default_factory=dict)
    pairs: tuple[tuple[str, str, float], ...] = ()
    gap_estimate: float | None = None
    accuracy_estimate: float | None = None
    accuracy_bound: float | None = None
    values: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    intervals: Mapping[str, tuple[Interval, ...]] = field(default_factory=dict)
    rates_before: tuple[float, ...] = ()
    rates_after: tuple[float, ...] = ()
    before: tuple[Interval, ...] = ()
    after: tuple[Interval, ...] = ()
    changes: Interval | None = None
    excess_changes: float | None = None
    constant_accuracy: float | None = None
    beats_constant: bool | None = None
    undeclared: Mapping[str, tuple[float, Interval | None]] = field(default_factory=dict)
    irregular: tuple[float, Interval | None] | None = None
    constant: str = ""
    other_goal: str = ""
    column: str = ""
    labels: tuple[str, ...] = ()

    @classmethod
    def nothing(
        cls, groups: tuple[str, ...], reason: str, confidence: float = 0.95
    ) -> FairnessClaim:
        """A claim that promises nothing, for the stated reason."""
        return cls(
            notion=PARITY.name,
            tolerance=0.0,
            groups=groups,
            gap_bound=None,
            confidence=confidence,
            certified=False,
            reason=reason,
        )

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> FairnessClaim:
        """Read a claim back from plain data."""
        fields = dict(data)
        for key in ("groups", "rates_before", "rates_after", "labels"):
            fields[key] = tuple(fields.get(key, ()))
        if fields["changes"] is not None:
            fields["changes"] = tuple(fields["changes"])
        for key in ("before", "after"):
            fields[key] = _intervals(fields[key])
        fields["pairs"] = tuple((str(a), str(b), float(v)) for a, b, v in fields["pairs"])
        fields["values"] = {k: tuple(v) for k, v in fields["values"].items()}
        fields["intervals"] = {k: _intervals(v) for k, v in fields["intervals"].items()}
        fields["undeclared"] = {k: _share(v) for k, v in fields["undeclared"].items()}
        if fields["irregular"] is not None:
            fields["irregular"] = _share(fields["irregular"])
        return cls(**fields)

    @property
    def group_names(self) -> tuple[str, ...]:
        """The groups with their column, such as ``sex = f``: a value alone may say little."""
        return tuple(f"{self.column} = {group}" if self.column else group for group in self.groups)

    @property
    def mostly_undeclared(self) -> str:
        """``"group"`` or ``"label"``, if nearly no record has a declared one; else empty."""
        for kind, (share, ends) in self.undeclared.items():
            counted = kind != "group" or len(self.groups) > 1  # otherwise no group is declared
            if counted and mostly_undeclared(share, ends):
                return kind
        return ""

    @property
    def gap_judgement(self) -> Judgement | None:
        """How much the certified gap promises; None without one."""
        if self.gap_bound is None:
            return None
        if self.constant:
            return Judgement("vacuous", f"the model accepts {self.constant}, so it decides nothing")
        notion, before = NOTIONS[self.notion], self.before
        comparable = len(before) > 1 and notion.statistics == PARITY.statistics
        own = None
        if comparable and not self.other_goal:
            own = largest_gap(before, ratio=notion.ratio)
        if notion.ratio:
            ratio = None if own is None else 1 - own
            judged = judge_ratio(1 - self.gap_bound, self.confidence, ratio)
        else:
            room = room_for_gap(self.values.values())
            judged = judge_gap(self.gap_bound, self.confidence, room=room, before=own)
        return self._of_declared(judged)

    @property
    def accuracy_judgement(self) -> Judgement | None:
        """How much the certified accuracy promises; None without one."""
        if self.accuracy_bound is None or self.accuracy_estimate is None:
            return None
        if self.other_goal:
            return None
        if self.constant:
            return Judgement("vacuous", f"the model accepts {self.constant}, so it decides nothing")
        return self._of_declared(
            judge_accuracy(
                self.accuracy_bound,
                self.confidence,
                estimate=self.accuracy_estimate,
                constant=self.constant_accuracy,
                beats_constant=self.beats_constant,
            )
        )

    def _of_declared(self, judged: Judgement) -> Judgement:
        """The judgement, weak at best if the counts leave out many records."""
        if kind := self.mostly_undeclared:
            return judged.at_best("vacuous", f"nearly no record has a declared {kind}")
        for kind, (share, ends) in self.undeclared.items():
            if many_undeclared(share, ends):
                rule = f"an estimated {share:.4f} of the records have no declared {kind}"
                judged = judged.at_best("weak", rule)
        return judged


def largest_gap(rates: Sequence[Interval], *, ratio: bool) -> float:
    """The largest gap between two groups whose rates are in these intervals.

    >>> largest_gap([(0.1, 0.2), (0.4, 0.5)], ratio=False)
    0.4
    """
    ends = [(rates[a][1], rates[b][0]) for a, b in itertools.permutations(range(len(rates)), 2)]
    return max(interval_gap(high, low, ratio=ratio) for high, low in ends)


def named_pairs(
    groups: tuple[str, ...], pairs: Mapping[tuple[int, int], float]
) -> tuple[tuple[str, str, float], ...]:
    """Bounds by the indices of two groups, as bounds by their names."""
    return tuple((groups[a], groups[b], float(bound)) for (a, b), bound in pairs.items())


def _share(data: Any) -> tuple[float, Interval | None]:
    share, ends = data
    return float(share), None if ends is None else _intervals([ends])[0]


def _intervals(data: Any) -> tuple[Interval, ...]:
    return tuple((float(low), float(high)) for low, high in data)
