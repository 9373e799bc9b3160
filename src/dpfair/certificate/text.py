"""The sentences of a certificate, for readers who are not experts.

A printed bound never promises more than the number: upper bounds are rounded up, lower ones down.
"""

from __future__ import annotations

import math

from dpfair.certificate.fairness import FairnessClaim
from dpfair.certificate.judgement import Judgement
from dpfair.certificate.privacy import PrivacyClaim
from dpfair.fairness.notions import NOTIONS
from dpfair.fairness.undeclared import many_undeclared

__all__ = ["round_down", "round_up", "sentences"]

_NEIGHBOURS = {"add_remove": "add/remove", "replace_one": "replace one"}
_NOT_MET = 0.005  # an estimated gap that exceeds the tolerance by more is reported


def sentences(privacy: PrivacyClaim, fairness: FairnessClaim) -> list[str]:
    """Two claims in plain words, one line per promise or warning."""
    return [
        *_privacy(privacy),
        *_gap(fairness),
        *_tolerance(fairness),
        *_undeclared(fairness),
        *_accuracy(fairness),
        *_changes(fairness),
        f"Assumed public: {'; '.join(privacy.assumed_public) or 'nothing'}.",
        *_found(privacy),
        f"Arithmetic: {privacy.arithmetic}.",
    ]


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


def _privacy(claim: PrivacyClaim) -> list[str]:
    budget = (
        f"epsilon = {claim.epsilon:g}, delta = {claim.delta:g} for {claim.protects} of "
        f"{claim.unit} ({_NEIGHBOURS[claim.relation]}; {claim.composition} composition, "
        f"{claim.spent:.4f} spent)."
    )
    if not claim.leaks:
        return [f"Privacy: {budget}{_judged(claim.judgement)}"] if claim.epsilon < math.inf else []
    lines = [f"NOT PRIVATE: {'; '.join(claim.leaks)}."]
    if 0 < claim.spent < math.inf:
        lines.append(f"Account (not a promise): {budget}")
    return lines


def _found(claim: PrivacyClaim) -> list[str]:
    return [f"Found privately, within the budget: {', '.join(claim.found)}."] if claim.found else []


def _gap(claim: FairnessClaim) -> list[str]:
    if claim.gap_bound is not None:
        return [f"Fairness: {_promise(claim, claim.gap_bound)}{_judged(claim.gap_judgement)}"]
    lines = [f"Fairness: NOT CERTIFIED, because {claim.reason}."]
    if claim.gap_estimate is not None and len(claim.groups) > 1:
        larger = "" if claim.constant else " On new records it is usually larger."
        lines.append(
            f"Estimate: a gap of {claim.gap_estimate:.4f} in {NOTIONS[claim.notion].title} "
            f"on the counts that the rule was chosen by, without a promise.{larger}"
        )
    return lines


def _promise(claim: FairnessClaim, bound: float) -> str:
    notion = NOTIONS[claim.notion]
    rates = " or the ".join(statistic.plural for statistic in notion.statistics)
    groups = ", ".join(claim.groups) if len(claim.groups) <= 5 else f"of {len(claim.groups)}"
    differ = f"differ by at most {round_up(bound)}"
    if notion.ratio:
        differ = f"have a ratio of at least {round_down(1 - bound)}"
    # Releases without labels count everybody of a declared group.
    known = "group and label" if "label" in claim.undeclared else "group"
    return (
        f"with {100 * claim.confidence:.10g}% confidence, the {rates} of any two groups ({groups}) "
        f"{differ} on new records with a declared {known}, on average over the rule's coins."
    )


def _tolerance(claim: FairnessClaim) -> list[str]:
    estimate = claim.gap_estimate or 0.0
    # The paper's rule has no tolerance.
    if not claim.values or claim.excess_changes is not None:
        return []
    if estimate <= claim.tolerance + _NOT_MET:
        return []
    return [
        f"Tolerance: a gap of {claim.tolerance:g} is allowed, and the estimate of "
        f"{estimate:.4f} is LARGER. {_why_larger(claim)}"
    ]


def _why_larger(claim: FairnessClaim) -> str:
    if "fixed" in claim.bounds:
        return "The rule was found on other records than those that the estimate counts."
    return "Small groups share a threshold, or the rule has too few ways to be corrected."


def _undeclared(claim: FairnessClaim) -> list[str]:
    lines, few = [], []
    for kind, (share, ends) in claim.undeclared.items():
        if kind == "group" and len(claim.groups) < 2:
            continue  # no groups are declared at all
        if many_undeclared(share, ends):
            most = "" if ends is None else f" (at most {round_up(ends[1])})"
            lines.append(
                f"WARNING: an estimated {share:.4f} of the records{most} have a {kind} that "
                "the schema does not declare. They did not train the model, and no decision "
                "about them counts as right. Compare the schema with the table."
            )
        elif ends is not None:
            few.append(f"at most {round_up(ends[1])} of the records have no declared {kind}")
    if few:
        about = "" if claim.gap_bound is None else " The bound on the gap is about the others."
        lines.append(f"Undeclared: {', '.join(few)}.{about}")
    if claim.irregular is not None:
        share, ends = claim.irregular
        most = "" if ends is None else f" (at most {round_up(ends[1])})"
        lines.append(
            f"Irregular: an estimated {share:.4f} of the records{most} have a feature value "
            "that is missing, out of bounds or undeclared."
        )
    return lines


def _accuracy(claim: FairnessClaim) -> list[str]:
    lines = []
    if claim.accuracy_bound is not None:
        lines.append(
            f"Accuracy: at least {round_down(claim.accuracy_bound)} on new records with "
            f"{100 * claim.confidence:.10g}% confidence; "
            f"estimated {claim.accuracy_estimate:.4f}.{_judged(claim.accuracy_judgement)}"
        )
    elif claim.accuracy_estimate is not None:
        lines.append(f"Accuracy: estimated {claim.accuracy_estimate:.4f}, without a promise.")
    elif claim.values:
        lines.append("Accuracy: not known, because the released counts are not by label.")
    if claim.constant:
        lines.append(f"Constant rule: the model accepts {claim.constant}, so it is one itself.")
    elif claim.constant_accuracy is not None:
        lines.append(
            "Constant rule: to accept everybody or nobody, whichever is better, is right in an "
            f"estimated {claim.constant_accuracy:.4f}. {_against_constant(claim)}"
        )
    return lines


def _against_constant(claim: FairnessClaim) -> str:
    if claim.beats_constant:
        return "The model is more accurate, with the same confidence."
    if (claim.accuracy_estimate or 0.0) <= (claim.constant_accuracy or 0.0):
        why = f", since {claim.other_goal} was asked for" if claim.other_goal else ""
        return f"The model is estimated to be NO MORE accurate{why}."
    if claim.beats_constant is False:
        return "It is NOT CERTAIN that the model is more accurate."
    return "The model is estimated to be more accurate, without a promise."


def _changes(claim: FairnessClaim) -> list[str]:
    if claim.excess_changes is None or not claim.certified:
        return []
    low, high = claim.changes or (0.0, 0.0)
    return [
        f"Utility: {low:.4f} to {high:.4f} of decisions changed (added over the groups), "
        f"at most {round_up(claim.excess_changes)} more than the fewest at this gap."
    ]


def _judged(judgement: Judgement | None) -> str:
    return "" if judgement is None else f" Judged {judgement.grade}: {judgement.rule}."
