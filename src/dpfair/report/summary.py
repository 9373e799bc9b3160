"""Sections 1 and 2: what was asked, and the sentences of the certificate."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpfair.certificate import Certificate
from dpfair.fairness.notions import NOTIONS
from dpfair.methods.base import PrivateClassifier
from dpfair.methods.fair_classifier import PrivateFairClassifier
from dpfair.report import wording

__all__ = ["STATES", "Line", "asked", "promises"]

MODES = {
    "certified": "certified: some records train the scorer, others are counted, so that the counts "
    "say something certain about new records",
    "reuse": "reuse: all records train the scorer and are counted, too; more accurate, but the "
    "counts cannot certify a gap",
    "checked": "reuse with a check: the records that train the scorer are counted, too, and "
    "records set aside check the finished rule",
}


# The colour of a grade. Only a strong promise is green.
STATES = {"strong": "good", "moderate": "fair", "weak": "warn", "vacuous": "bad"}


@dataclass(frozen=True)
class Line:
    """A word and what is said about it; ``state`` is good, fair, warn, bad or empty."""

    name: str
    text: str
    state: str = ""


def asked(model: PrivateClassifier) -> list[Line]:
    """What the model was asked for: parameters and public names."""
    privacy, fairness = model.certificate_.privacy, model.certificate_.fairness
    groups, positive = model.schema_.sensitive, str(model.classes_[1])
    label = f"{model.schema_.label.name}: "
    budget = f"epsilon = {wording.cost(privacy.epsilon)}, delta = {privacy.delta:g}"
    protects = f"{privacy.unit}; neighbours {wording.relation(privacy.relation)}"
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
        lines.append(Line("Groups", f"{groups.name}: {wording.listing(groups.values, 30)}"))
    if not model.fitted_.releases:
        return [*lines, Line("Fairness", "nothing is released that could show or bound a gap")]
    return [*lines, *_wanted(model), Line("Confidence", f"{100 * fairness.confidence:.4g}%")]


def _wanted(model: PrivateClassifier) -> list[Line]:
    """What the rule had to achieve."""
    fairness = model.certificate_.fairness
    notion, tolerance = NOTIONS[fairness.notion], f"{fairness.tolerance:.4g}"
    allowed = f"a gap of at most {tolerance}" if fairness.tolerance else "equal rates"
    if notion.ratio:
        allowed = f"a smallest rate of {1 - fairness.tolerance:.4g} of the largest"
    allowed += " by the counts"
    if fairness.gap_bound is not None:
        allowed += ". What is certain about new records is the certified number below"
    lines = []
    if len(fairness.groups) > 1:
        lines.append(Line("Fairness", f"{notion.title}: the rule aims at {allowed}"))
    if not isinstance(model, PrivateFairClassifier):
        return lines
    rule, checked = model.rule_settings, "check" in model.fitted_.releases
    lines.append(Line("Mode", MODES["checked" if checked else model.mode]))
    if rule.target is not None:
        lines.append(Line("Acceptance", f"{wording.percent(rule.target)} of all records"))
    if rule.capacity is not None:
        lines.append(Line("Capacity", f"at most {wording.percent(rule.capacity)} of all records"))
    if tuple(rule.costs) != (1, 1):
        wrong = f"{rule.costs[0]:g} for a wrong acceptance, {rule.costs[1]:g} for a wrong rejection"
        lines.append(Line("Costs", wrong))
    return lines


def promises(certificate: Certificate) -> list[Line]:
    """The certificate's sentences, each with its first word apart."""
    lines = []
    for sentence in certificate.sentences():
        name, _, text = sentence.partition(": ")
        state = next((s for grade, s in STATES.items() if f" Judged {grade}: " in text), "")
        if name in ("NOT PRIVATE", "OF NO USE", "WARNING") or text.startswith("NOT CERTIFIED"):
            state = "bad"
        lines.append(Line(name, text, state if state in ("warn", "bad") else ""))
    return lines
