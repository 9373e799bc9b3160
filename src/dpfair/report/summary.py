"""Sections 1 and 2: what was asked, and what is promised."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from dpfair.certificate import Certificate, round_down, round_up
from dpfair.fairness.notions import NOTIONS
from dpfair.report import words

__all__ = ["Line", "asked", "headline_facts", "promises", "warnings_of"]

MODES = {
    "certified": "certified: some records train the scorer, others are counted, so that the counts "
    "say something certain about new records",
    "reuse": "reuse: all records train the scorer and are counted, too; more accurate, but the "
    "counts cannot certify a gap",
    "checked": "reuse with a check: the records that train the scorer are counted, too, and "
    "records set aside check the finished rule",
}


@dataclass(frozen=True)
class Line:
    """A word and what is said about it; ``state`` is good, warn, bad or empty."""

    name: str
    text: str
    state: str = ""
    note: str = ""


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
    return [*lines, *_wanted(model), Line("Confidence", f"{100 * fairness.confidence:.4g}%")]


def _wanted(model: Any) -> list[Line]:
    """What the rule had to achieve."""
    fairness = model.certificate_.fairness
    notion, tolerance = NOTIONS[fairness.notion], f"{fairness.tolerance:.4g}"
    allowed = f"a gap of {tolerance} is allowed" if fairness.tolerance else "no gap is allowed"
    if notion.ratio:
        allowed = f"the smallest rate must be {1 - fairness.tolerance:.4g} of the largest"
    lines = []
    if len(fairness.groups) > 1:
        lines.append(Line("Fairness", f"{notion.title}; {allowed}"))
    if getattr(model, "rule", "") != "optimal":
        return lines
    checked = getattr(model, "check_release_", None) is not None
    lines.append(Line("Mode", MODES["checked" if checked else model.mode]))
    if model.target is not None:
        lines.append(Line("Acceptance", f"{words.percent(model.target)} of all records"))
    if model.capacity is not None:
        lines.append(Line("Capacity", f"at most {words.percent(model.capacity)} of all records"))
    if tuple(model.costs) != (1, 1):
        wrong = f"{model.costs[0]:g} for a wrong acceptance, {model.costs[1]:g} for a rejection"
        lines.append(Line("Costs", wrong))
    return lines


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
    """The facts in large print."""
    privacy = model.certificate_.privacy
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
    return [budget, private, _gap_fact(model.certificate_), *_accuracy_fact(model.certificate_)]


def _gap_fact(certificate: Certificate) -> Line:
    fairness = certificate.fairness
    notion = NOTIONS[fairness.notion]
    if fairness.gap_bound is None:
        if fairness.gap_estimate is None or len(fairness.groups) < 2:
            return Line("Certified gap", "none", "bad", "NOT CERTIFIED, see above")
        shown = f"≈ {fairness.gap_estimate:.4f}"
        return Line("Estimated gap", shown, "bad", "NOT CERTIFIED, see above")
    at = f"at {100 * fairness.confidence:.4g}%"
    if notion.ratio:
        ratio = round_down(1 - fairness.gap_bound)
        return Line(f"Certified ratio {at}", f"≥ {ratio}", "good", notion.title)
    points = f"{round_up(100 * fairness.gap_bound, 2)} percentage points between any two groups"
    note = f"{notion.title}: {points}"
    return Line(f"Certified gap {at}", f"≤ {round_up(fairness.gap_bound)}", "good", note)


def _accuracy_fact(certificate: Certificate) -> list[Line]:
    fairness = certificate.fairness
    if fairness.accuracy_estimate is None:
        return []
    estimate = f"{fairness.accuracy_estimate:.4f}"
    if fairness.accuracy_bound is None:
        return [Line("Accuracy", f"≈ {estimate}", "", "an estimate, without a promise")]
    name = f"Certified accuracy at {100 * fairness.confidence:.4g}%"
    return [Line(name, f"≥ {round_down(fairness.accuracy_bound)}", "good", f"estimated {estimate}")]


def promises(certificate: Certificate) -> list[Line]:
    """The certificate's sentences, each with its first word apart."""
    lines = []
    for sentence in certificate.sentences():
        name, _, text = sentence.partition(": ")
        broken = name == "NOT PRIVATE" or text.startswith("NOT CERTIFIED")
        lines.append(Line(name, text, "bad" if broken else ""))
    return lines
