"""``dpfair verify``: derive again all that a model file claims."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dpfair.cli.looks import print_styled, print_table
from dpfair.cli.options import AsJson, ModelFile
from dpfair.cli.output import print_json


def verify(
    model: ModelFile,
    ledger: Annotated[
        Path | None, typer.Option(help="The ledger file that paid for the model.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check MODEL against its own record and its ledger; exit 1 if anything does not follow."""
    from dpfair.models.verify import verify_model

    checks = verify_model(model, ledger)
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
        rows = [(_MARKS[check.passed], check.name, check.finding) for check in checks]
        plain = [f"{mark:<7} {name:<12} {finding}" for mark, name, finding in rows]
        print_table(("result", "what", "finding"), rows, [*plain, ""])
        print_styled("Verified." if passed else "NOT VERIFIED.")
    if not passed:
        raise typer.Exit(1)


_MARKS = {True: "ok", False: "FAILED", None: "-"}
