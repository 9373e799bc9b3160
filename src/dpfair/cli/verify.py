"""``dpfair verify``: derive again all that a model file claims."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

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
    """Check MODEL against its own record and its ledger; exit 1 if anything does not follow."""
    from dpfair.models.verify import verify_model

    checks = verify_model(model, ledger, learner=named_learner(learner))
    passed = all(check.passed is not False for check in checks)
    if as_json:
        print_json(
            {
                "verified": passed,
                "checks": [
                    {"name": c.name, "passed": c.passed, "finding": c.finding} for c in checks
                ],
            }
        )
    else:
        for check in checks:
            print(f"{_MARKS[check.passed]:<7} {check.name:<12} {check.finding}")
        print("\nVerified." if passed else "\nNOT VERIFIED.")
    if not passed:
        raise typer.Exit(1)


_MARKS = {True: "ok", False: "FAILED", None: "-"}
