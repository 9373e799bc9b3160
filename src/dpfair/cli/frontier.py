"""``dpfair frontier``: the trade-offs between accuracy and fairness that a model offers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from dpfair.cli.looks import print_table
from dpfair.cli.models import read_model
from dpfair.cli.options import AsJson, ModelFile, OwnLearner, numbers
from dpfair.cli.output import print_json, say
from dpfair.errors import InputError

if TYPE_CHECKING:
    from dpfair.fairness.frontier import FrontierPoint

__all__ = ["frontier", "remarks", "table"]


def frontier(
    model: ModelFile,
    notion: Annotated[str | None, typer.Option(help="{notions}. Default: the model's own.")] = None,
    tolerances: Annotated[
        str | None, typer.Option(help="The gaps to allow, such as 0,0.01,0.05.")
    ] = None,
    learner: OwnLearner = None,
    as_json: AsJson = False,
) -> None:
    """Accuracy against the gap, from the counts that MODEL paid for already: it costs nothing."""
    from dpfair.cli.settings import methods_with
    from dpfair.fairness.frontier import FRONTIER_TOLERANCES

    allowed = FRONTIER_TOLERANCES if tolerances is None else numbers(tolerances, "--tolerances")
    fitted = read_model(model, learner)
    if not hasattr(fitted, "frontier"):
        raise InputError(
            f"This model ({fitted.title}) has no table of scores to choose other rules from; a "
            f"model of the method {methods_with('frontier')} has one."
        )
    points = fitted.frontier(notion, allowed)
    if as_json:
        print_json(
            {
                "notion": notion or fitted.certificate_.fairness.notion,
                "confidence": fitted.certificate_.fairness.confidence,
                "points": [
                    {
                        "tolerance": point.tolerance,
                        "accuracy": point.accuracy,
                        "gap": point.gap,
                        "accuracy_bound": point.accuracy_bound,
                        "gap_bound": point.gap_bound,
                        "accepts": point.rule.constant or None,
                        "own": point.own,
                        "found_for": point.found_for,
                    }
                    for point in points
                ],
            }
        )
        return
    headings = ("tolerance", "accuracy", "gap", "certified accuracy", "certified gap", "")
    print_table(headings, cells(points), table(points))
    reason = fitted.release_.dependence or fitted.certificate_.fairness.reason
    for remark in remarks(points, reason):
        say(f"dpfair: {remark}")


def table(points: Sequence[FrontierPoint]) -> Iterator[str]:
    """A line per tolerance, under a heading."""
    yield "tolerance  accuracy  gap      certified accuracy  certified gap"
    for tolerance, accuracy, gap, low, high, notes in cells(points):
        line = f"{tolerance:<9}  {accuracy}    {gap}   {low:<18}  {high:<13}  {notes}"
        yield line.rstrip()


def cells(points: Sequence[FrontierPoint]) -> Iterator[tuple[str, ...]]:
    """What the table says about each tolerance."""
    from dpfair.certificate.text import round_down, round_up

    for point in points:
        sure, worst = point.accuracy_bound, point.gap_bound
        low = "none" if sure is None else f">= {round_down(sure)}"
        high = "none" if worst is None else f"<= {round_up(worst)}"
        notes = [_OWN] if point.own else []
        notes += [f"the rule for {point.found_for:.4g}"] if point.found_for is not None else []
        notes += [f"accepts {point.rule.constant}"] if point.rule.constant else []
        notes += ["more than is allowed"] if _too_large(point) else []
        numbers = (f"{point.tolerance:.4g}", f"{point.accuracy:.4f}", f"{point.gap:.4f}")
        yield (*numbers, low, high, ", ".join(notes))


def remarks(points: Sequence[FrontierPoint], reason: str) -> Iterator[str]:
    """What the table does not explain itself; ``reason`` is why there are no bounds, if so."""
    others = [point for point in points if not point.own]
    if len(others) < len(points) and any(point.gap_bound is not None for point in others):
        yield (
            f"{_OWN} has the bounds of its certificate; the bounds of the other lines hold for all "
            "rules at once, and are usually wider."
        )
    if any(map(_too_large, points)):
        yield "small groups share a threshold, so some gaps are larger than is allowed."
    if any(point.gap_bound is None for point in points):
        yield f"NOT CERTIFIED: {reason or 'there is only one group'}."


def _too_large(point: FrontierPoint) -> bool:
    # The certificate says what the model's own rule was allowed.
    return not point.own and point.gap > point.tolerance + 0.005


_OWN = "the model's own rule"
