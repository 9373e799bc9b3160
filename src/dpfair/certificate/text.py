"""The sentences of a certificate, for readers who are not experts.

A printed bound never promises more than the number: upper bounds are rounded up, lower ones down.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Context

from dpfair.certificate.fairness import FairnessClaim
from dpfair.certificate.judgement import Judgement
from dpfair.certificate.privacy import PrivacyClaim
from dpfair.data.facts import listing
from dpfair.fairness.notions import NOTIONS
from dpfair.fairness.undeclared import many_undeclared

__all__ = ["meaning", "round_down", "round_up", "sentences"]

_NEIGHBOURS = {"add_remove": "add/remove", "replace_one": "replace one"}
_NOT_MET = 0.005  # an estimated gap that exceeds the tolerance by more is reported


def sentences(privacy: PrivacyClaim, fairness: FairnessClaim) -> list[str]:
    """Two claims in plain words, one line per promise or warning."""
    return [
        *_of_no_use(fairness),
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


def _of_no_use(claim: FairnessClaim) -> list[str]:
    kind = claim.mostly_undeclared
    if not kind:
        return []
    column = f" of {claim.column}" if kind == "group" and claim.column else ""
    values = claim.labels if kind == "label" else claim.groups
    known = listing(values, 5) if values else "the declared ones"
    return [
        f"OF NO USE: nearly all {kind}s{column} are none of {known} (an estimated "
        f"{claim.undeclared[kind][0]:.4f} of the records), so nearly nothing was learned. Compare "
        f"the {kind} values in the schema with those in the table (dpfair check)."
    ]


def _privacy(claim: PrivacyClaim) -> list[str]:
    budget = (
        f"epsilon = {claim.epsilon:g}, delta = {claim.delta:g} for {claim.protects} of "
        f"{claim.unit} ({_NEIGHBOURS[claim.relation]}; {claim.composition} composition, "
        f"{claim.spent:.4f} spent)."
    )
    if not claim.leaks and claim.epsilon < math.inf:
        closer = "The closer that is to 1, the less the model shows about anybody."
        return [
            f"Privacy: {budget}{_judged(claim.judgement)}",
            f"In plain words: {meaning(claim)} {closer}",
        ]
    if not claim.leaks:
        return []
    lines = [f"NOT PRIVATE: {'; '.join(claim.leaks)}."]
    if 0 < claim.spent < math.inf:
        lines.append(f"Account (not a promise): {budget}")
    return lines


def meaning(claim: PrivacyClaim) -> str:
    """What epsilon and delta say about one record or person, for readers who are not experts."""
    who = "one person" if "person" in claim.unit else "one record"
    done = f"to change {who}" if claim.relation == "replace_one" else f"{who} more or less"
    epsilon, delta = claim.in_all
    times = f"{_odds(epsilon)} times as likely (e to the power of epsilon)"
    unlikely = f", but for a probability of {delta:.6g}" if delta else ""
    fit = "fit and of the earlier job that found facts" if claim.earlier[0] else "fit"
    return f"{done} makes no result of the {fit} more than {times}{unlikely}."


def _odds(epsilon: float) -> str:
    """e to the power of epsilon, rounded up to three digits, or so that it is above 1."""
    digits = 3 if epsilon >= 0.1 else min(2 - math.floor(math.log10(epsilon)), 17)
    rounded = Context(prec=digits, rounding=ROUND_CEILING)
    return f"{rounded.create_decimal(math.exp(min(epsilon, 700.0))):.{digits}g}"


def _found(claim: PrivacyClaim) -> list[str]:
    return [f"Found privately, within the budget: {', '.join(claim.found)}."] if claim.found else []


def _gap(claim: FairnessClaim) -> list[str]:
    if claim.gap_bound is not None:
        same = f"the model accepts {claim.constant}, so it decides nothing; "
        promise = f"{same if claim.constant else ''}{_promise(claim, claim.gap_bound)}"
        return [f"Fairness: {promise}{_judged(claim.gap_judgement)}"]
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
    of = f" of {claim.column}" if claim.column else ""
    groups = ", ".join(claim.groups) if len(claim.groups) <= 5 else f"{len(claim.groups)} in all"
    differ = f"differ by at most {round_up(bound)}"
    if notion.ratio:
        differ = f"have a ratio of at least {round_down(1 - bound)}"
    # Releases without labels count everybody of a declared group.
    known = "group and label" if "label" in claim.undeclared else "group"
    return (
        f"with {100 * claim.confidence:.10g}% confidence, the {rates} of any two groups{of} "
        f"({groups}) {differ} on new records with a declared {known}, on average over the "
        "decisions that the rule leaves to chance."
    )


def _tolerance(claim: FairnessClaim) -> list[str]:
    estimate = claim.gap_estimate or 0.0
    # The paper's rule has no tolerance.
    if not claim.values or claim.excess_changes is not None:
        return []
    if estimate <= claim.tolerance + _NOT_MET:
        return []
    return [
        f"Tolerance: a gap of {claim.tolerance:g} was asked for, and the estimate of "
        f"{estimate:.4f} is LARGER. {_why_larger(claim)}"
    ]


def _why_larger(claim: FairnessClaim) -> str:
    if "fixed" in claim.bounds:
        return "The rule was found on other records than those that the estimate counts."
    return "Small groups share a threshold, or the rule has too few ways to be corrected."


def _undeclared(claim: FairnessClaim) -> list[str]:
    lines, few = [], []
    for kind, (share, ends) in claim.undeclared.items():
        if kind == claim.mostly_undeclared or (kind == "group" and len(claim.groups) < 2):
            continue  # said already, or no groups are declared at all
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
        return (
            "It is NOT CERTAIN that the model is more accurate: this number is an estimate, too, "
            "and may be too small."
        )
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
