"""Sections 1 to 4: what was asked, what is promised, and what happens to each group."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from dpfair.certificate import Certificate, FairnessClaim, round_up
from dpfair.report import words
from dpfair.report.svg import Move, bar

__all__ = [
    "asked",
    "gap_bounds",
    "group_moves",
    "headline_facts",
    "promises",
    "rule_sentences",
    "warnings_of",
]

# How a certificate says that something was learned without paying.

# Bounds on the gap, strongest promise first; a certificate's other bounds are not about the gap.
EXPLAINED = {
    "C3": "Certified. The worst case over all rates that fit the released counts, knowing that not "
    "every group can be extreme at once (Fisher's region). Chosen before the data was seen.",
    "C2": "An exact interval for each group on its own, and the worst case over all of them.",
    "C1": "From the sizes and the noise alone, so known before any data is seen (Chernoff).",
    "paper theorem": "The paper's bound with the same confidence, also known beforehand.",
    "paper proposition (mean)": "The paper's bound on the gap on average over many models: not a "
    "promise about this one, so a shorter bar is not a stronger promise.",
}


@dataclass(frozen=True)
class Line:
    """A word and what is said about it; ``state`` is good, warn, bad or empty."""

    name: str
    text: str
    state: str = ""
    note: str = ""


@dataclass(frozen=True)
class Bound:
    """One bound on the gap, with its bar."""

    name: str
    printed: str
    explanation: str
    plot: Markup


def asked(model: Any) -> list[Line]:
    """What the model was asked for: parameters and public names."""
    privacy, fairness = model.certificate_.privacy, model.certificate_.fairness
    schema = getattr(model, "schema_", None)
    groups = schema.sensitive if schema is not None else getattr(model, "outcome_", None)
    positive = str(model.classes_[1])
    label = f"{schema.label.name}: " if schema is not None else ""
    budget = f"epsilon = {words.cost(privacy.epsilon)}, delta = {privacy.delta:g}"
    protects = f"{privacy.unit}; neighbours {words.relation(privacy.relation)}"
    exact = math.isinf(privacy.epsilon)
    lines = [
        Line("Method", f"{model.certificate_.method} ({type(model).__name__})"),
        Line("Budget", "none: exact counts" if exact else budget),
        Line("Protects", "nobody" if exact else protects),
        Line("Composition", "nothing to compose" if exact else privacy.composition),
        Line("Label", f"{label}{' or '.join(map(str, model.classes_))}; accepted is {positive}"),
    ]
    if groups is None:
        lines.append(Line("Groups", "none: no sensitive column was given"))
    else:
        lines.append(Line("Groups", f"{groups.name}: {words.listing(groups.values, 30)}"))
    return [*lines, Line("Confidence", f"{100 * fairness.confidence:.4g}%")]


def warnings_of(model: Any, *, internal: bool) -> list[Line]:
    """What nobody may overlook, worst first."""
    privacy, fairness = model.certificate_.privacy, model.certificate_.fairness
    found = []
    for leak in privacy.leaks:
        found.append(Line("NOT PRIVATE", f"{leak[0].upper()}{leak[1:]}.", "bad"))
    if not fairness.certified:
        found.append(Line("NOT CERTIFIED", f"No bound on the gap: {fairness.reason}.", "bad"))
    if internal:
        text = "It contains an evaluation that nobody paid for. Do not publish it as it is."
        found.append(Line("This copy is internal", text, "warn"))
    return found


def headline_facts(model: Any) -> list[Line]:
    """The three facts in large print."""
    privacy, fairness = model.certificate_.privacy, model.certificate_.fairness
    delta = f"δ = {privacy.delta:g}, for {privacy.unit}"
    budget = Line("Privacy budget", f"ε = {words.cost(privacy.epsilon)}", "", delta)
    if math.isinf(privacy.epsilon):
        budget = Line("Privacy budget", "none", "bad", "exact counts, ε = ∞")
    elif not privacy.private:
        note = f"δ = {privacy.delta:g}, accounted for, but not the whole truth"
        budget = Line("Privacy budget", budget.text, "bad", note)
    if not privacy.private:
        private = Line("Is it private?", "NO", "bad", "NOT PRIVATE, see above")
    else:
        private = Line("Is it private?", "Yes", "good", "all noise from the system's secure source")
    if fairness.gap_bound is None:
        gap = Line("Certified gap", "none", "bad", "NOT CERTIFIED, see above")
    else:
        points = f"{round_up(100 * fairness.gap_bound, 2)} percentage points between any two groups"
        name = f"Certified gap at {100 * fairness.confidence:.4g}%"
        gap = Line(name, f"≤ {round_up(fairness.gap_bound)}", "good", points)
    return [budget, gap, private]


def promises(certificate: Certificate) -> list[Line]:
    """The certificate's sentences, each with its first word apart."""
    lines = []
    for sentence in certificate.sentences():
        name, _, text = sentence.partition(": ")
        broken = name == "NOT PRIVATE" or text.startswith("NOT CERTIFIED")
        lines.append(Line(name, text, "bad" if broken else ""))
    return lines


def group_moves(fairness: FairnessClaim) -> list[Move]:
    """The rates of every group before and after the rule."""
    columns = (
        fairness.groups,
        fairness.rates_before,
        fairness.rates_after,
        fairness.before,
        fairness.after,
    )
    return [Move(*row) for row in zip(*columns, strict=True)]


def rule_sentences(groups: Sequence[str], accept: Sequence[Sequence[float]]) -> list[str]:
    """What the rule does, one sentence per group.

    Examples
    --------
    >>> for sentence in rule_sentences(["f", "m", "x"], [[0.092, 1], [0, 0.67], [0, 1]]):
    ...     print(sentence)
    Of those the scorer rejects in group f, 9.2% are accepted.
    Of those the scorer accepts in group m, 67.0% stay accepted.
    In group x every decision of the scorer stands.
    """
    said = []
    for group, (lift, keep) in zip(groups, accept, strict=True):
        kept = f"accepts in group {group}, {words.percent(keep)} stay accepted"
        lifted = f"rejects in group {group}, {words.percent(lift)} are accepted"
        if keep < 1 and lift > 0:
            said.append(f"Of those the scorer {kept}; of those it {lifted}.")
        elif keep < 1 or lift > 0:
            said.append(f"Of those the scorer {kept if keep < 1 else lifted}.")
        else:
            said.append(f"In group {group} every decision of the scorer stands.")
    return said


def gap_bounds(bounds: Mapping[str, float]) -> list[Bound]:
    """The bounds on the gap that exist for this release, on one scale."""
    found = {name: bounds[name] for name in EXPLAINED if name in bounds}
    longest = max(found.values(), default=1.0)
    kinds = {"C3": "strong", "paper proposition (mean)": "mean"}
    return [
        Bound(
            name,
            round_up(value),
            EXPLAINED[name],
            bar(value, longest, f"{name}: {round_up(value)}", kinds.get(name, "plain")),
        )
        for name, value in found.items()
    ]
