"""What to do with a model that was just made, as commands with its own file names."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpfair.privacy.payment import ChargeTo

__all__ = ["next_steps", "print_next_steps"]


def next_steps(
    data: str,
    model: Path | None,
    report: Path | None,
    payer: ChargeTo | None,
    *,
    private: bool = True,
) -> list[tuple[str, str]]:
    """Commands, and what each is for; the first ones are those that most people need.

    A model that is not ``private`` is not to be shared.

    >>> for step in next_steps("loans.csv", Path("m.dpfair"), None, None): print(*step, sep="  # ")
    dpfair predict m.dpfair NEW.csv --out decisions.csv  # decide new records
    dpfair report m.dpfair --out report.html  # a page to share
    dpfair verify m.dpfair  # check every claim
    """
    if model is None:
        return []
    file = shlex.quote(str(model))
    ledger = "" if payer is None else f" --ledger {shlex.quote(str(payer.path))}"
    new = "NEW.parquet" if data.lower().endswith((".parquet", ".pq")) else "NEW.csv"
    steps = [(f"dpfair predict {file} {new} --out decisions.csv", "decide new records")]
    if report is None:
        purpose = "a page to share" if private else "internal: the model is not private"
        steps.append((f"dpfair report {file} --out report.html", purpose))
    else:
        held_out = new.replace("NEW", "HELD-OUT")
        steps.append((f"dpfair evaluate {file} {held_out}", "internal numbers"))
    steps.append((f"dpfair verify {file}{ledger}", "check every claim"))
    return steps


def print_next_steps(
    data: str,
    model: Path | None,
    report: Path | None,
    payer: ChargeTo | None,
    *,
    private: bool,
) -> None:
    """Print the commands; without a file, how to get one."""
    print()
    steps = next_steps(data, model, report, payer, private=private)
    if not steps:
        print("The model was not written to a file: --out FILE keeps it.")
        return
    width = max(len(command) for command, _ in steps)
    print("Next:")
    for command, purpose in steps:
        print(f"  {command:<{width}}   # {purpose}")
