"""The top of the page: what nobody may overlook, and the facts in large print with their grades."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from dpfair.certificate import FairnessClaim
from dpfair.certificate.judgement import Judgement, delta_warning
from dpfair.certificate.text import meaning, round_down, round_up
from dpfair.fairness.notions import NOTIONS
from dpfair.fairness.undeclared import many_undeclared
from dpfair.report import wording
from dpfair.report.summary import STATES, Line

__all__ = ["Fact", "headline_facts", "warnings_of"]


@dataclass(frozen=True)
class Fact:
    """A number in large print; the grade and its rule are text, so nobody depends on colour."""

    name: str
    text: str
    note: str
    state: str = ""
    judgement: Judgement | None = None


def warnings_of(model: Any, *, internal: bool) -> list[Line]:
    """What nobody may overlook, worst first."""
    privacy, fairness = model.certificate_.privacy, model.certificate_.fairness
    found = []
    for leak in privacy.leaks:
        found.append(Line("NOT PRIVATE", f"{_capital(leak)}.", "bad"))
    if useless := fairness.mostly_undeclared:
        text = f"Nearly no record has a declared {useless}, so nearly nothing was learned."
        found.append(Line("OF NO USE", text, "bad"))
    judged = privacy.judgement
    if judged is not None and judged.grade == "vacuous":
        found.append(Line("PRIVACY IS VACUOUS", f"{_capital(judged.rule)}.", "bad"))
    if not fairness.certified:
        found.append(Line("NOT CERTIFIED", f"No bound on the gap: {fairness.reason}.", "bad"))
    for kind, (share, ends) in fairness.undeclared.items():
        if many_undeclared(share, ends):
            text = (
                f"About {wording.percent(share)} of the records have a {kind} that the schema does "
                "not declare. They did not train the model. Compare the schema with the table."
            )
            found.append(Line(f"UNDECLARED {kind.upper()}S", text, "bad"))
    if said := delta_warning(privacy.delta, privacy.records, privacy.records_error):
        found.append(Line("Delta is too large", _capital(said), "warn"))
    if fairness.constant:
        text = "Its decisions do not depend on the records, so its bounds say little."
        found.append(Line(f"The model accepts {fairness.constant}", text, "warn"))
    if internal:
        text = "It contains an evaluation without noise. Do not publish it as it is."
        found.append(Line("This copy is internal", text, "warn"))
    return found


def headline_facts(model: Any) -> list[Fact]:
    """The facts in large print: the colour follows the grade."""
    privacy, fairness = model.certificate_.privacy, model.certificate_.fairness
    budget, delta = f"ε = {wording.cost(privacy.epsilon)}", f"δ = {privacy.delta:g}"
    if privacy.private:
        note = f"{delta}, for {privacy.unit}: {meaning(privacy)[:-1]}"
        facts = [_graded("Privacy", budget, note, privacy.judgement)]
    else:
        facts = [Fact("Is it private?", "NO", "NOT PRIVATE, see above", "bad")]
        if math.isfinite(privacy.epsilon):
            note = f"{delta}, paid for, but it does not cover what leaked"
            facts.append(Fact("Privacy budget", budget, note, "bad"))
    return [*facts, _gap_fact(fairness), *_accuracy_fact(fairness)]


def _gap_fact(fairness: FairnessClaim) -> Fact:
    notion = NOTIONS[fairness.notion]
    if fairness.gap_bound is None:
        note = "NOT CERTIFIED, see above"
        if fairness.gap_estimate is not None and len(fairness.groups) > 1:
            estimate = f"≈ {fairness.gap_estimate:.4f} on the counts that the rule was chosen by"
            note = f"{note}. {notion.title}: {estimate}, usually larger on new records"
        return Fact("Bound on the gap", "none", note, "bad")
    at, judged = f"at {100 * fairness.confidence:.4g}%", fairness.gap_judgement
    if fairness.constant:
        note = f"accepts {fairness.constant}: equal for all groups, but it decides nothing"
        return _graded("Gap between groups", "no choice", note, judged)
    if notion.ratio:
        ratio = f"≥ {round_down(1 - fairness.gap_bound)}"
        return _graded(f"Certified ratio {at}", ratio, notion.title, judged)
    points = f"{round_up(100 * fairness.gap_bound, 2)} percentage points between any two groups"
    note = f"{notion.title}: {points}"
    return _graded(f"Certified gap {at}", f"≤ {round_up(fairness.gap_bound)}", note, judged)


def _accuracy_fact(fairness: FairnessClaim) -> list[Fact]:
    if fairness.accuracy_estimate is None:
        note = "the released counts are not by label"
        return [Fact("Accuracy", "unknown", note)] if fairness.values else []
    estimate = f"{fairness.accuracy_estimate:.4f}"
    against = ""
    if fairness.constant_accuracy is not None:
        against = f"; a constant rule an estimated {fairness.constant_accuracy:.4f}"
    if fairness.accuracy_bound is None:
        note = f"an estimate, without a promise{against}"
        return [Fact("Accuracy", f"≈ {estimate}", note)]
    name = f"Certified accuracy at {100 * fairness.confidence:.4g}%"
    bound, note = f"≥ {round_down(fairness.accuracy_bound)}", f"estimated {estimate}{against}"
    return [_graded(name, bound, note, fairness.accuracy_judgement)]


def _graded(name: str, text: str, note: str, judged: Judgement | None) -> Fact:
    return Fact(name, text, note, "" if judged is None else STATES[judged.grade], judged)


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
