"""``dpfair verify``: derive again all that a model file claims."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dpfair.cli.looks import print_styled, print_table
from dpfair.cli.models import named_learner
from dpfair.cli.options import AsJson, ModelFile, OwnLearner
from dpfair.cli.output import print_json


def verify(
    model: ModelFile,
    ledger: Annotated[
        Path | None, typer.Option(help="The ledger file that paid for the model.")
    ] = None,
    learner: OwnLearner = None,
    as_json: AsJson = False,
) -> None:
    """Check MODEL against its own record and its ledger.

    Exit 1 if anything does not follow, or if the model is not private.
    """
    from dpfair.models.verify import verify_model

    checks = verify_model(model, ledger, learner=named_learner(learner))
    failed = [check for check in checks if check.passed is False]
    leaking = [check for check in failed if check.name == "privacy"]
    passed, consistent = not failed, len(failed) == len(leaking)
    if as_json:
        print_json(
            {
                "verified": passed,
                "consistent": consistent,
                "checks": [
                    {"name": c.name, "passed": c.passed, "finding": c.finding} for c in checks
                ],
            }
        )
    else:
        marks = ["NO" if check in leaking else _MARKS[check.passed] for check in checks]
        rows = [(mark, c.name, c.finding) for mark, c in zip(marks, checks, strict=True)]
        plain = [f"{mark:<7} {name:<12} {finding}" for mark, name, finding in rows]
        print_table(("result", "what", "finding"), rows, [*plain, ""])
        vacuous = any("vacuous" in check.finding for check in checks if check.name == "grades")
        verdict = _verdict(consistent=consistent, private=not leaking, vacuous=vacuous)
        print_styled(verdict)
    if not passed:
        raise typer.Exit(1)


def _verdict(*, consistent: bool, private: bool, vacuous: bool) -> str:
    """What a reader who is not an expert may conclude."""
    if not consistent:
        return "NOT VERIFIED: see what FAILED."
    if not private:
        return "The file is consistent, and it says itself that the model is NOT PRIVATE."
    little = " This is about the claims: the model may be of little use, see the vacuous grades."
    return (
        "Verified: the certificate follows from the counts, the weights and the settings in the "
        f"file. That these are the ones of the fit cannot be checked.{little if vacuous else ''}"
    )


_MARKS = {True: "ok", False: "FAILED", None: "-"}
