"""The rules of the grades, for a reader who has the page alone."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["OTHERWISE", "RULES", "GradeRules"]


@dataclass(frozen=True)
class GradeRules:
    """How one promise is graded: what its numbers are called, and the limits of every grade."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


# The tables of docs/certificates.md; a test compares them.
RULES = (
    GradeRules(
        "Privacy",
        ("grade", "epsilon", "delta"),
        (
            ("strong", "at most 1", "below 1/n"),
            ("moderate", "at most 10", "below 1/n"),
            ("weak", "at most 20", "1/n or more"),
            ("vacuous", "above 20", "0.01 or more"),
        ),
        "The worse of the two counts; n is the number of records, or of persons.",
    ),
    GradeRules(
        "Gap between groups",
        ("grade", "bound"),
        (
            ("strong", "at most 0.05 and a fifth of the room"),
            ("moderate", "at most 0.1, half of the room and half of the gap before"),
            ("weak", "anything else"),
            (
                "vacuous",
                "not below the room; or not strong and not below the gap before",
            ),
        ),
        "The room is the gap at which some group would have the rate 0 or 1. The gap before is the "
        "largest gap of the scorer without a fair rule that the same counts allow.",
    ),
    GradeRules(
        "Ratio between groups",
        ("grade", "certified ratio"),
        (
            ("strong", "at least 0.9"),
            ("moderate", "at least 0.8, the four-fifths rule"),
            ("weak", "below 0.8"),
            (
                "vacuous",
                "0; or not strong and no larger than the smallest ratio of the scorer alone that "
                "the same counts allow",
            ),
        ),
    ),
    GradeRules(
        "Accuracy",
        ("grade", "certified accuracy"),
        (
            (
                "strong",
                "at least a quarter fewer errors than the constant rule is estimated to make",
            ),
            ("moderate", "higher than that of the constant rule, with the stated confidence"),
            ("weak", "not certain to be higher"),
            (
                "vacuous",
                "at most 0.5; or the estimate is not higher than that of the constant rule",
            ),
        ),
        "The constant rule accepts everybody or nobody, whichever is more accurate.",
    ),
)

OTHERWISE = (
    "Bounds are weak at best with a confidence below 90% or with more than 2% of undeclared "
    "records, and vacuous with a confidence below 50%, with hardly any declared record, or for a "
    "model that accepts everybody or nobody."
)
