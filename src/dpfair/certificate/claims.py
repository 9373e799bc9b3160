"""What a fitted model promises, in one object that prints in plain words."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from dp_accounting.dp_event import RepeatAndSelectDpEvent

from dpfair.certificate.judgement import (
    Judgement,
    judge_accuracy,
    judge_gap,
    judge_privacy,
    judge_ratio,
    room_for_gap,
)
from dpfair.data.schema import Schema
from dpfair.fairness.bounds.bands import (
    Floats,
    RuleBound,
    accuracy_bound,
    band_bound,
    fixed_accuracy,
    fixed_bound,
)
from dpfair.fairness.bounds.paper import (
    chernoff_gap_bound,
    combined_gap_bound,
    interval_gap_bound,
    paper_expected_gap_bound,
    paper_gap_bound,
    paper_utility_bound,
)
from dpfair.fairness.bounds.placement import placement_bound
from dpfair.fairness.choice import ChosenRule
from dpfair.fairness.notions import NOTIONS
from dpfair.fairness.optimal import Goal
from dpfair.fairness.rates import Interval, NoisyRate
from dpfair.fairness.release import HALF, Release
from dpfair.fairness.rules import Rule
from dpfair.fairness.undeclared import many_undeclared, undeclared_shares
from dpfair.privacy.events import has_floating_noise
from dpfair.privacy.ledger import SEEDED, Ledger

_NOT_MET = 0.005  # of a gap: more than that above the tolerance is worth a sentence

__all__ = [
    "INFERRED_SCHEMA",
    "Certificate",
    "FairnessClaim",
    "PrivacyClaim",
    "arithmetic_of",
    "counted_records",
    "round_down",
    "round_up",
    "schema_facts",
    "search_of",
    "winners_certificate",
]

PARITY = NOTIONS["demographic_parity"]
NO_GROUPS = "no sensitive column was given, so nothing makes the model fair"

INFERRED_SCHEMA = "the schema was read off the data without paying for it"


@dataclass(frozen=True)
class PrivacyClaim:
    """(epsilon, delta)-differential privacy, for whom and under which assumptions.

    ``leaks`` lists what breaks the promise; a model is private only if there are none.
    ``records`` is the number of records (or persons) that delta is judged by: the declared one, or
    what noisy counts say, with a ``records_error`` of three standard deviations; None if unknown.
    """

    epsilon: float
    delta: float
    spent: float
    relation: str
    composition: str
    unit: str
    arithmetic: str
    assumed_public: tuple[str, ...]
    leaks: tuple[str, ...]
    records: int | None = None
    records_error: int = 0

    @classmethod
    def from_ledger(
        cls,
        ledger: Ledger,
        *,
        unit: str,
        arithmetic: str,
        assumed_public: Iterable[str],
        leaks: Iterable[str],
        records: int | None = None,
        records_error: int = 0,
    ) -> PrivacyClaim:
        """What a ledger paid for and assumed; noise from a seed is a leak by itself.

        ``assumed_public`` is what was public before any record was read.
        """
        return cls(
            epsilon=ledger.epsilon,
            delta=ledger.delta,
            spent=ledger.spent,
            relation=ledger.relation,
            composition=ledger.composition,
            unit=unit,
            arithmetic=arithmetic,
            assumed_public=(*assumed_public, *(fact.text for fact in ledger.assumptions)),
            leaks=(*(() if ledger.private else (SEEDED,)), *leaks),
            records=records,
            records_error=records_error,
        )

    @property
    def private(self) -> bool:
        """Whether everything that reached the model was paid for and protected by noise."""
        return not self.leaks

    @property
    def judgement(self) -> Judgement | None:
        """How much the budget promises; None for a model that is not private."""
        if self.leaks:
            return None
        return judge_privacy(self.epsilon, self.delta, self.records, self.records_error)


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
        Of the bound.
    bounds
        Every bound that exists for the release. For the paper's rule ``C3`` (the certified one,
        chosen beforehand), ``C2``, and with public sizes ``C1`` and the paper's theorem and
        proposition; for others ``placed``, ``band`` or ``fixed``, after how the rule was found.
    pairs
        The certified bound of each pair of groups.
    gap_estimate, accuracy_estimate
        What the released counts say about the rule, without a promise.
    accuracy_bound
        A lower bound on the accuracy with the same confidence, if there is one. A record of an
        undeclared group or label counts as decided wrong, here and in the estimate.
    constant_accuracy, beats_constant
        The estimated accuracy of the better constant rule (everybody is accepted, or nobody), and
        whether the model is more accurate with the same confidence; None if nothing is certain.
    undeclared
        Of the records, the share whose ``"group"`` or ``"label"`` the schema does not declare: an
        estimate, and the interval that holds it with the same confidence.
    constant
        ``"everybody"`` or ``"nobody"``, if the rule accepts them whatever their score; else empty.
    other_goal
        What beside accuracy the rule was asked for, such as unequal costs; else empty.
    irregular
        The same for records with a feature value that is missing, out of bounds or undeclared, if
        these were counted.
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
    bounds: Mapping[str, float]
    pairs: tuple[tuple[str, str, float], ...]
    gap_estimate: float | None
    accuracy_estimate: float | None
    accuracy_bound: float | None
    values: Mapping[str, tuple[float, ...]]
    intervals: Mapping[str, tuple[Interval, ...]]
    rates_before: tuple[float, ...]
    rates_after: tuple[float, ...]
    before: tuple[Interval, ...]
    after: tuple[Interval, ...]
    changes: Interval | None
    excess_changes: float | None
    constant_accuracy: float | None = None
    beats_constant: bool | None = None
    undeclared: Mapping[str, tuple[float, Interval | None]] = field(default_factory=dict)
    irregular: tuple[float, Interval | None] | None = None
    constant: str = ""
    other_goal: str = ""

    @classmethod
    def nothing(
        cls, groups: tuple[str, ...], reason: str, confidence: float = 0.95
    ) -> FairnessClaim:
        """No claim at all, for a reason."""
        return cls(
            notion=PARITY.name,
            tolerance=0.0,
            groups=groups,
            gap_bound=None,
            confidence=confidence,
            certified=False,
            reason=reason,
            bounds={},
            pairs=(),
            gap_estimate=None,
            accuracy_estimate=None,
            accuracy_bound=None,
            values={},
            intervals={},
            rates_before=(),
            rates_after=(),
            before=(),
            after=(),
            changes=None,
            excess_changes=None,
        )

    @classmethod
    def from_release(cls, release: Release, rule: Rule, confidence: float) -> FairnessClaim:
        """The claim of the paper's rules, from the release and its noise law alone."""
        estimates = tuple(rate.estimate for rate in release.rates)
        after = tuple(
            float(lift + (keep - lift) * p)
            for (lift, keep), p in zip(rule.accept, estimates, strict=True)
        )
        statistic = PARITY.statistics[0].name
        if len(release.groups) < 2:
            alone = tuple(rate.interval(1 - confidence) for rate in release.rates)
            return replace(
                cls.nothing(release.groups, NO_GROUPS, confidence),
                values={statistic: after},
                intervals={statistic: alone},
                rates_before=estimates,
                rates_after=after,
                before=alone,
                after=alone,
            )
        best = combined_gap_bound(release.rates, rule, confidence)
        undeclared = undeclared_shares(release, confidence)
        certified = not release.dependence
        # All groups' intervals hold together, so the worst case over two of them is a bound, too.
        worst = {
            (a, b): min(
                best.bound,
                max(best.after[a][1], best.after[b][1]) - min(best.after[a][0], best.after[b][0]),
            )
            for a, b in itertools.combinations(range(len(after)), 2)
        }
        return cls(
            notion=PARITY.name,
            tolerance=0.0,
            groups=release.groups,
            gap_bound=best.bound if certified else None,
            confidence=confidence,
            certified=certified,
            reason=release.dependence,
            bounds=_all_bounds(release, rule, confidence, best.bound),
            pairs=_named(release.groups, worst) if certified else (),
            gap_estimate=max(after) - min(after),
            accuracy_estimate=None,
            accuracy_bound=None,
            values={statistic: after},
            intervals={statistic: best.after},
            rates_before=estimates,
            rates_after=after,
            before=best.before,
            after=best.after,
            changes=best.changes,
            excess_changes=best.excess_changes,
            undeclared=undeclared,
            constant=rule.constant,
        )

    @classmethod
    def from_decision(
        cls,
        release: Release,
        decision: ChosenRule,
        goal: Goal,
        confidence: float,
        check: Release | None = None,
    ) -> FairnessClaim:
        """The claim of any other rule.

        ``release`` counts scores. ``check`` counts the rule's decisions on records that had no part
        in finding it. Without it the release that the rule was found by must do: by the flips that
        correct a planned rule, by the placement of thresholds, or by bands.
        """
        notion, k, lottery = goal.notion, len(release.groups), decision.lottery
        counted = decision.counted
        reason = NO_GROUPS if k < 2 else counted.dependence if check is None else check.dependence
        bound: RuleBound | None = None
        if reason:
            pass
        elif check is not None and not decision.rule.constant:
            bound = fixed_bound(check, notion, confidence)
        elif decision.planned is not None:
            bound = fixed_bound(counted, notion, confidence, lottery)
        elif decision.targets is not None:
            bound = placement_bound(counted, notion, decision.targets, confidence)
        else:
            bound = band_bound(counted, lottery, notion, confidence)
        names = [statistic.name for statistic in notion.statistics]
        values = {n: tuple(map(float, v)) for n, v in zip(names, decision.values, strict=True)}
        intervals = dict(zip(names, bound.intervals, strict=True)) if bound else {}
        parity = notion.statistics == PARITY.statistics
        before = _before(release)
        accuracy = partial(_accuracy_bound, counted, lottery, check)
        constant, certain = _constants(counted if check is None else check, (1 - confidence) / 2)
        return cls(
            notion=notion.name,
            tolerance=goal.tolerance,
            groups=release.groups,
            gap_bound=bound.bound if bound else None,
            confidence=confidence,
            certified=bound is not None,
            reason=reason,
            bounds={bound.method: bound.bound} if bound else {},
            pairs=_named(release.groups, bound.pairs) if bound else (),
            gap_estimate=notion.gap(decision.values) if k > 1 else 0.0,
            accuracy_estimate=decision.accuracy,
            accuracy_bound=accuracy(confidence) if bound else None,
            values=values,
            intervals=intervals,
            rates_before=tuple(rate.estimate for rate in before),
            rates_after=tuple(map(float, decision.acceptance)),
            before=tuple(rate.interval(1 - confidence) for rate in before),
            after=intervals.get(names[0], ()) if parity else (),
            changes=None,
            excess_changes=None,
            constant_accuracy=constant,
            beats_constant=(accuracy((1 + confidence) / 2) or 0.0) > certain if bound else None,
            undeclared=undeclared_shares(counted, confidence),
            constant=decision.rule.constant,
            other_goal=goal.other_goal,
        )

    @property
    def gap_judgement(self) -> Judgement | None:
        """How much the certified gap promises; None without one."""
        if self.gap_bound is None:
            return None
        if self.constant:
            return Judgement(
                "vacuous", f"the model accepts {self.constant}, so its gap says nothing"
            )
        notion, before = NOTIONS[self.notion], self.rates_before
        comparable = len(before) > 1 and notion.statistics == PARITY.statistics
        own = notion.gap(np.array([before])) if comparable and not self.other_goal else None
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
            return Judgement("vacuous", "the model is a constant rule itself")
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
        """Counts that leave out many records say little about all of them."""
        for kind, (share, ends) in self.undeclared.items():
            if many_undeclared(share, ends):
                rule = f"an estimated {share:.4f} of the records have no declared {kind}"
                judged = judged.at_best("weak", rule)
        return judged


@dataclass(frozen=True)
class Certificate:
    """The privacy and the fairness claim of one model.

    Examples
    --------
    >>> from dpfair import PrivateFairClassifier, load_adult
    >>> data = load_adult()
    >>> model = PrivateFairClassifier(epsilon=3, schema=data.schema).fit(data.X, data.y)
    >>> model.certificate_.fairness.certified
    True
    """

    method: str
    privacy: PrivacyClaim
    fairness: FairnessClaim

    def to_json(self) -> dict[str, Any]:
        """The certificate as plain data."""
        data = asdict(self)
        data["privacy"]["private"] = self.privacy.private
        return data

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Certificate:
        """Read a certificate back."""
        privacy = {k: v for k, v in data["privacy"].items() if k != "private"}
        for key in ("assumed_public", "leaks"):
            privacy[key] = tuple(privacy[key])
        fairness = dict(data["fairness"])
        for key in ("groups", "rates_before", "rates_after"):
            fairness[key] = tuple(fairness[key])
        if fairness["changes"] is not None:
            fairness["changes"] = tuple(fairness["changes"])
        for key in ("before", "after"):
            fairness[key] = _intervals(fairness[key])
        fairness["pairs"] = tuple((str(a), str(b), float(v)) for a, b, v in fairness["pairs"])
        fairness["values"] = {k: tuple(v) for k, v in fairness["values"].items()}
        fairness["intervals"] = {k: _intervals(v) for k, v in fairness["intervals"].items()}
        fairness["undeclared"] = {k: _share(v) for k, v in fairness["undeclared"].items()}
        if fairness["irregular"] is not None:
            fairness["irregular"] = _share(fairness["irregular"])
        return cls(
            method=str(data["method"]),
            privacy=PrivacyClaim(**privacy),
            fairness=FairnessClaim(**fairness),
        )

    @property
    def judgements(self) -> dict[str, Judgement | None]:
        """How much each claim says, by the rules of :mod:`dpfair.certificate.judgement`."""
        return {
            "privacy": self.privacy.judgement,
            "gap": self.fairness.gap_judgement,
            "accuracy": self.fairness.accuracy_judgement,
        }

    def sentences(self) -> list[str]:
        """The certificate in plain words, one line per promise or warning."""
        privacy, fairness = self.privacy, self.fairness
        said = []
        if privacy.leaks:
            said.append(f"NOT PRIVATE: {'; '.join(privacy.leaks)}.")
        if privacy.epsilon < math.inf:
            said.append(
                f"Privacy: epsilon = {privacy.epsilon:g}, delta = {privacy.delta:g} for every "
                f"feature of {privacy.unit} ({privacy.relation.replace('_', '/')}; "
                f"{privacy.composition} composition, {privacy.spent:.4f} spent)."
                f"{_judged(privacy.judgement)}"
            )
        if fairness.gap_bound is not None:
            said.append(f"Fairness: {self._promise()}{_judged(fairness.gap_judgement)}")
        else:
            said.append(f"Fairness: NOT CERTIFIED, because {fairness.reason}.")
            if fairness.gap_estimate is not None and len(fairness.groups) > 1:
                larger = "" if fairness.constant else " On new records it is usually larger."
                said.append(
                    f"Estimate: a gap of {fairness.gap_estimate:.4f} in "
                    f"{NOTIONS[fairness.notion].title} on the counts that the rule was chosen by, "
                    f"without a promise.{larger}"
                )
        said += self._tolerance_sentences()
        said += [*self._undeclared_sentences(), *self._accuracy_sentences()]
        if fairness.excess_changes is not None and fairness.certified:
            low, high = fairness.changes or (0.0, 0.0)
            said.append(
                f"Utility: {low:.4f} to {high:.4f} of decisions changed (added over the groups), "
                f"at most {round_up(fairness.excess_changes)} more than the fewest at this gap."
            )
        said.append(f"Assumed public: {'; '.join(privacy.assumed_public)}.")
        said.append(f"Arithmetic: {privacy.arithmetic}.")
        return said

    def _tolerance_sentences(self) -> list[str]:
        claim = self.fairness
        estimate = claim.gap_estimate or 0.0
        # The paper's rule has estimates of its own before flips, and no tolerance.
        if not claim.values or claim.excess_changes is not None:
            return []
        if estimate <= claim.tolerance + _NOT_MET:
            return []
        return [
            f"Tolerance: a gap of {claim.tolerance:g} is allowed, and the estimate of "
            f"{estimate:.4f} is LARGER. Small groups share a threshold, or the rule has too few "
            "ways to be corrected."
        ]

    def _undeclared_sentences(self) -> list[str]:
        said, few = [], []
        said_gap = self.fairness.gap_bound is not None
        for kind, (share, ends) in self.fairness.undeclared.items():
            if kind == "group" and len(self.fairness.groups) < 2:
                continue  # no groups are declared at all
            if many_undeclared(share, ends):
                most = "" if ends is None else f" (at most {round_up(ends[1])})"
                said.append(
                    f"WARNING: an estimated {share:.4f} of the records{most} have a {kind} that "
                    "the schema does not declare. They did not train the model, and no decision "
                    "about them counts as right. Compare the schema with the table."
                )
            elif ends is not None:
                few.append(f"at most {round_up(ends[1])} of the records have no declared {kind}")
        if few:
            beside = " The bound on the gap is about the others." if said_gap else ""
            said.append(f"Undeclared: {', '.join(few)}.{beside}")
        if self.fairness.irregular is not None:
            share, ends = self.fairness.irregular
            most = "" if ends is None else f" (at most {round_up(ends[1])})"
            said.append(
                f"Irregular: an estimated {share:.4f} of the records{most} have a feature value "
                "that is missing, out of bounds or undeclared."
            )
        return said

    def _accuracy_sentences(self) -> list[str]:
        claim, said = self.fairness, []
        if claim.accuracy_bound is not None:
            said.append(
                f"Accuracy: at least {round_down(claim.accuracy_bound)} on new records with "
                f"{100 * claim.confidence:.10g}% confidence; "
                f"estimated {claim.accuracy_estimate:.4f}.{_judged(claim.accuracy_judgement)}"
            )
        elif claim.accuracy_estimate is not None:
            said.append(f"Accuracy: estimated {claim.accuracy_estimate:.4f}, without a promise.")
        elif claim.values:
            said.append("Accuracy: not known, because the released counts are not by label.")
        if claim.constant:
            said.append(f"Constant rule: the model accepts {claim.constant}, so it is one itself.")
        elif claim.constant_accuracy is not None:
            said.append(
                "Constant rule: to accept everybody or nobody, whichever is better, is right in an "
                f"estimated {claim.constant_accuracy:.4f}. {self._against_constant()}"
            )
        return said

    def _against_constant(self) -> str:
        claim = self.fairness
        if claim.beats_constant:
            return "The model is more accurate, with the same confidence."
        if (claim.accuracy_estimate or 0.0) <= (claim.constant_accuracy or 0.0):
            why = f", since {claim.other_goal} was asked for" if claim.other_goal else ""
            return f"The model is estimated to be NO MORE accurate{why}."
        if claim.beats_constant is False:
            return "It is NOT CERTAIN that the model is more accurate."
        return "The model is estimated to be more accurate, without a promise."

    def _promise(self) -> str:
        fairness = self.fairness
        notion = NOTIONS[fairness.notion]
        rates = " or the ".join(f"{s.name.removesuffix(' rate')} rates" for s in notion.statistics)
        rates = rates.replace("accuracy rates", "accuracies")
        listed = ", ".join(fairness.groups)
        if len(fairness.groups) > 5:
            listed = f"of {len(fairness.groups)}"
        of = f"any two groups ({listed})"
        bound = round_up(fairness.gap_bound or 0.0)
        differ = f"differ by at most {bound}"
        if notion.ratio:
            differ = f"have a ratio of at least {round_down(1 - (fairness.gap_bound or 0.0))}"
        # Releases without labels count everybody of a declared group.
        known = "group and label" if "label" in fairness.undeclared else "group"
        return (
            f"with {100 * fairness.confidence:.10g}% confidence, the {rates} of {of} {differ} "
            f"on new records with a declared {known}, on average over the rule's coins."
        )

    def __str__(self) -> str:
        return "\n".join(self.sentences())


def winners_certificate(own: Certificate, ledger: Ledger) -> Certificate:
    """From what a run certifies to what its being the winner of a search leaves of it.

    The privacy is that of the search. A run at confidence 1 - eta / E[K] holds, once it is the
    winner, with confidence 1 - eta; bounds on the *mean* gap of a run say nothing about the winner.
    A ledger that paid for no search changes nothing.
    """
    search = search_of(ledger)
    if search is None:
        return own
    privacy, fairness = own.privacy, own.fairness
    failure = min((1 - fairness.confidence) * float(search.mean), 1)
    leaks = privacy.leaks if ledger.private else (SEEDED, *privacy.leaks)
    return replace(
        own,
        method=f"{own.method}, the best of a private search",
        privacy=replace(
            privacy,
            epsilon=ledger.epsilon,
            delta=ledger.delta,
            spent=ledger.spent,
            composition=ledger.composition,
            assumed_public=(*privacy.assumed_public, "the candidates of the search"),
            leaks=tuple(dict.fromkeys(leaks)),
        ),
        fairness=_winners_fairness(fairness, failure),
    )


def _winners_fairness(fairness: FairnessClaim, failure: float) -> FairnessClaim:
    if failure >= 1:
        reason = "the confidence is too low for the best of so many runs"
        return replace(
            fairness,
            confidence=0.0,
            certified=False,
            reason=reason,
            gap_bound=None,
            accuracy_bound=None,
            bounds={},
            pairs=(),
        )
    return replace(
        fairness,
        confidence=round(1 - failure, 12),
        bounds={k: v for k, v in fairness.bounds.items() if "(mean)" not in k},
    )


def arithmetic_of(ledger: Ledger, counted: str = "counts") -> str:
    """Which arithmetic protects what a trained model released, by the events it paid for."""
    if any(has_floating_noise(entry.event) for entry in ledger.entries):
        return f"exact integers for the {counted}, float64 Gaussian noise in training"
    return (
        f"exact integers everywhere: discrete Laplace noise on the {counted}, "
        "discrete Gaussian noise on the gradient sums"
    )


def schema_facts(schema: Schema) -> str:
    """The kinds of public facts that a schema declares, in one phrase."""
    declared = {
        "bounds": schema.numeric,
        "categories": schema.categorical,
        "bin edges": schema.numeric,
        "usual values": [c for c in schema.columns if c.usual is not None],
        "spiky columns": [c for c in schema.numeric if c.spiky],
        "crosses": schema.crosses,
    }
    kinds = [kind for kind, found in declared.items() if found]
    return f"the schema ({', '.join([*kinds, 'label values', 'groups'])})"


def search_of(ledger: Ledger) -> RepeatAndSelectDpEvent | None:
    """The search that a ledger paid for, if it did."""
    events = [entry.event for entry in ledger.entries]
    return next((event for event in events if isinstance(event, RepeatAndSelectDpEvent)), None)


def counted_records(release: Release, share: float, rows_per_unit: int) -> tuple[int, int]:
    """How many records (or persons) there are by a release that counts a share of them.

    With it comes the error: three standard deviations of the noise and of the coins that chose the
    share. A person may have one record only, so there may be as many persons as records; that many
    are assumed, since a delta must be small for them, too. The error then leaves room for fewer.
    """
    ratios = [math.exp(-t) for t in release.noise if release.sizes is None]
    cells = release.counts[0].size
    variance = sum(cells * 2 * q / (1 - q) ** 2 for q in ratios)
    counted = max(release.total, 0)
    error = 3 * math.sqrt(variance + counted * (1 - share))
    found, error = counted / share, error / share
    fewest = max(found - error, 0) / rows_per_unit
    return round(found), math.ceil(found - fewest)


def round_up(bound: float, digits: int = 4) -> str:
    """An upper bound in print: never smaller than the bound itself.

    >>> round_up(0.01151)
    '0.0116'
    """
    return f"{math.ceil(bound * 10**digits) / 10**digits:.{digits}f}"


def round_down(bound: float, digits: int = 4) -> str:
    """A lower bound in print: never larger than the bound itself.

    >>> round_down(0.84159)
    '0.8415'
    """
    return f"{math.floor(bound * 10**digits) / 10**digits:.{digits}f}"


def _judged(judgement: Judgement | None) -> str:
    return "" if judgement is None else f" Judged {judgement.grade}: {judgement.rule}."


def _accuracy_bound(
    counted: Release, lottery: Floats, check: Release | None, confidence: float
) -> float | None:
    if check is not None:
        return fixed_accuracy(check, confidence)
    return accuracy_bound(counted, lottery, confidence)


def _constants(counted: Release, eta: float) -> tuple[float | None, float]:
    """The accuracy of the better constant rule: an estimate, and what it exceeds with P <= eta."""
    if not counted.labelled:
        return None, 1.0
    k, last = len(counted.groups), counted.counts.shape[2]
    rates = [counted.right_rate(range(k), [j] * k) for j in (0, last)]
    return max(r.estimate for r in rates), max(r.upper_limit(eta / 2) for r in rates)


def _before(release: Release) -> tuple[NoisyRate, ...]:
    """What the scorer alone accepts, if the grid shows it."""
    return release.rates if all(HALF[0] in row for row in release.edges) else ()


def _named(
    groups: tuple[str, ...], pairs: Mapping[tuple[int, int], float]
) -> tuple[tuple[str, str, float], ...]:
    return tuple((groups[a], groups[b], float(bound)) for (a, b), bound in pairs.items())


def _share(data: Any) -> tuple[float, Interval | None]:
    share, ends = data
    return float(share), None if ends is None else _intervals([ends])[0]


def _intervals(data: Any) -> tuple[Interval, ...]:
    return tuple((float(low), float(high)) for low, high in data)


def _all_bounds(
    release: Release, rule: Rule, confidence: float, combined: float
) -> dict[str, float]:
    bounds = {"C3": combined, "C2": interval_gap_bound(release.rates, rule, confidence).bound}
    exact = any(t == float("inf") for t in release.noise)
    if release.sizes is not None and len(release.groups) == 2 and min(release.sizes) and not exact:
        eta = 1 - confidence
        bounds["C1"] = chernoff_gap_bound(release.sizes, release.noise, eta)
        bounds["paper theorem"] = paper_gap_bound(release.sizes, release.noise, eta)
        bounds["paper theorem, utility"] = paper_utility_bound(release.sizes, release.noise, eta)
        bounds["paper proposition (mean)"] = paper_expected_gap_bound(release.sizes, release.noise)
        bounds["paper proposition (mean), utility"] = paper_utility_bound(
            release.sizes, release.noise
        )
    return bounds
