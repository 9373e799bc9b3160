"""``dpfair frontier``: the trade-offs between accuracy and fairness that a model offers."""

from __future__ import annotations

from typing import Annotated

import typer

from dpfair.cli.options import AsJson, ModelFile, numbers
from dpfair.cli.output import print_json, say


def frontier(
    model: ModelFile,
    notion: Annotated[
        str | None, typer.Option(help="A notion of fairness. Default: the model's own.")
    ] = None,
    tolerances: Annotated[
        str | None, typer.Option(help="The gaps to allow, such as 0,0.01,0.05.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Accuracy against the gap, from the counts that MODEL paid for already: it costs nothing."""
    from dpfair.certificate.claims import round_down, round_up
    from dpfair.fairness.frontier import FRONTIER_TOLERANCES
    from dpfair.models.file import load_model

    allowed = FRONTIER_TOLERANCES if tolerances is None else numbers(tolerances, "--tolerances")
    fitted = load_model(model)
    points = fitted.frontier(notion, allowed)
    if as_json:
        print_json(
            {
                "notion": notion or fitted.notion,
                "confidence": fitted.certificate_.fairness.confidence,
                "points": [
                    {
                        "tolerance": point.tolerance,
                        "accuracy": point.accuracy,
                        "gap": point.gap,
                        "accuracy_bound": point.accuracy_bound,
                        "gap_bound": point.gap_bound,
                        "accepts": point.rule.constant or None,
                    }
                    for point in points
                ],
            }
        )
        return
    print("tolerance  accuracy  gap      certified accuracy  certified gap")
    for point in points:
        sure, worst = point.accuracy_bound, point.gap_bound
        low = "none" if sure is None else f">= {round_down(sure)}"
        high = "none" if worst is None else f"<= {round_up(worst)}"
        notes = []
        if point.rule.constant:
            notes.append(f"accepts {point.rule.constant}")
        if point.gap > point.tolerance + 0.005:
            notes.append("more than is allowed")
        print(
            f"{point.tolerance:<9.4g}  {point.accuracy:.4f}    {point.gap:.4f}   {low:<18}  "
            f"{high:<13}  {', '.join(notes)}".rstrip()
        )
    if any(point.gap > point.tolerance + 0.005 for point in points):
        say("dpfair: small groups share a threshold, so some gaps are larger than is allowed.")
    if any(point.gap_bound is None for point in points):
        reason = fitted.release_.dependence or "there is only one group"
        say(f"dpfair: NOT CERTIFIED: {reason}.")
