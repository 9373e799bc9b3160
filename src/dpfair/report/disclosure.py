"""What is released, what is internal, and the limits of the promises."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

from dpfair.fairness.release import REUSED
from dpfair.methods.base import PrivateClassifier
from dpfair.report import wording

__all__ = ["disclosures", "internal_numbers", "limits"]

COUNTED = (
    ("decisions", "The planned rule, and the counts of its decisions"),
    ("check", "The counts of the check"),
)


@dataclass(frozen=True)
class Disclosure:
    """A number of the model, whether it may be published, and what protects it."""

    what: str
    status: str
    why: str


def disclosures(model: PrivateClassifier, *, evaluated: bool) -> list[Disclosure]:
    """Which numbers are released and which are internal."""
    private = model.certificate_.privacy.private
    public = "released" if private else "unprotected"
    paid = "paid for in the account above" if private else "not protected, see the warning above"
    fitted, releases = model.fitted_, model.fitted_.releases
    size = sum(int(tensor.size) for tensor in fitted.scorer.tensors().values())
    if size:
        rows = [
            Disclosure(f"The scorer's {wording.count(size, 'weight', 'weights')}", public, paid)
        ]
    else:
        rows = [
            Disclosure(
                "The classifier",
                "assumed public",
                "not paid for here: its own training must be private for the whole to be",
            )
        ]
    if "count" in releases:
        labelled, exact = releases["count"].labelled, "count" not in model.plan_
        what = "group, label and score" if labelled else "group and decision"
        why = "exact, without any protection" if exact else paid
        rows.append(Disclosure(f"The counts by {what}", public, why))
    rows += [Disclosure(what, public, paid) for name, what in COUNTED if name in releases]
    source = "counts and the noise law" if releases else "account"
    how = "computed from the released numbers alone"
    if fitted.rule is None:
        how = "accepts every score above one half"
    rows += [
        Disclosure("The decision rule", public, how),
        Disclosure("The certificate", public, f"computed from the {source} alone"),
    ]
    if fitted.rule is not None and model.coins == "keyed":
        why = "a secret: whoever knows it can predict every coin"
        rows.append(Disclosure("The coin key", "internal", why))
    if evaluated:
        why = "computed on records without paying; do not publish"
        rows.append(Disclosure("The evaluation below", "internal", why))
    return rows


def internal_numbers(evaluation: Mapping[str, Any], column: str = "") -> list[tuple[str, str]]:
    """An evaluation as names and numbers, in a fixed order; what is not known is shown as it is.

    ``column`` is that of the groups.

    Examples
    --------
    >>> internal_numbers({"gap": 0.0123, "n": 11305, "group_rates": {"f": 0.171}})
    [('records', '11,305'), ('gap between groups', '0.0123'), ('accepted in group f', '17.1%')]
    """
    rest = {key: value for key, value in evaluation.items() if key not in ("internal", "notion")}
    sizes = dict(rest.pop("group_sizes", None) or {})
    rows = []
    for key, name, shape in (
        ("n", "records", "{:,}"),
        ("accuracy", "accuracy", "{:.4f}"),
        ("gap", "gap between groups", "{:.4f}"),
        ("notion_gap", "gap of the model's own notion", "{:.4f}"),
        ("floor", "gap that a perfectly fair model would show on as many records", "{:.4f}"),
    ):
        if (value := rest.pop(key, None)) is not None:
            rows.append((name, shape.format(value)))
    for group, rate in dict(rest.pop("group_rates", None) or {}).items():
        of = f" of {sizes[group]:,}" if group in sizes else ""
        name = f"{column} = {group}" if column else group
        rows.append((f"accepted in group {name}", f"{wording.percent(float(rate))}{of}"))
    for key, value in rest.items():
        plain = isinstance(value, Real) and not isinstance(value, int)
        rows.append((str(key), f"{float(value):.4f}" if plain else str(value)))
    return rows


def limits(model: PrivateClassifier) -> list[str]:
    """What the promises do not cover, in a few honest sentences."""
    said = []
    if "float64" in model.certificate_.privacy.arithmetic:
        said.append(
            "The Gaussian noise of training is drawn in floating point, so its guarantee is that "
            "of the ideal mechanism up to rounding; the noise on the counts is exact, in integers."
        )
    if model.certificate_.fairness.certified:
        said.append(
            "The certified gap is about new records from the same population as the counted ones: "
            "if the applicants change, it has to be certified again."
        )
    if "count" in model.plan_ and model.dependence("count") == REUSED:
        said.append(
            "The counted records also trained the scorer, so the estimates of accuracy and gap are "
            "a little too good."
        )
    if model.fitted_.rule is None:
        said.append(
            "Nothing is promised about the groups: no count of the model's decisions was released."
        )
        return said
    if model.coins == "keyed":
        said.append(
            "A decision that the rule leaves to chance uses one keyed coin per record: the same "
            "record always gets the same answer, and two records that differ get different coins."
        )
    else:
        said.append(
            "A decision that the rule leaves to chance draws a fresh coin at every call: the same "
            "record can get another answer the next time."
        )
    return said
