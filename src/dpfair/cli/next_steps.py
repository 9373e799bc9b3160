"""What to do with a model that was just made, as commands with its own file names."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpfair.methods.base import PrivateClassifier
    from dpfair.privacy.payment import ChargeTo

__all__ = ["advice", "next_steps", "print_next_steps"]

LARGE_EPSILON = 10
"""More than this is a weak promise, and no advice."""


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


def weak_promises(model: PrivateClassifier) -> list[str]:
    """What the certificate promises little about."""
    fairness = model.certificate_.fairness
    judged = {"the gap": fairness.gap_judgement, "the accuracy": fairness.accuracy_judgement}
    return [what for what, one in judged.items() if one and one.grade in ("weak", "vacuous")]


def advice(model: PrivateClassifier) -> list[str]:
    """What would make a weak certificate stronger, if it is weak; by released numbers only."""
    from dpfair.fairness.undeclared import many_undeclared

    certificate = model.certificate_
    fairness = certificate.fairness
    weak = weak_promises(model)
    if fairness.mostly_undeclared or not weak:  # if so, the first thing to mend is the schema
        return []
    kinds = [kind for kind, found in fairness.undeclared.items() if many_undeclared(*found)]
    if kinds:  # nothing else makes the certificate stronger
        return [
            f"declare or correct the {' and '.join(kinds)} values that the schema does not have: "
            "dpfair check shows them"
        ]
    found = []
    if model.schema_.rows is None and model.unit is None:
        found.append(
            "state rows in the schema, if the number of records may be public: the fit is then "
            "planned for it"
        )
    if certificate.privacy.epsilon < LARGE_EPSILON:
        found.append("use more records, or a larger --epsilon if that is acceptable")
    if "the accuracy" not in weak and not fairness.constant:
        return found  # what follows makes the bound on the gap wider
    if hasattr(model, "rule_settings") and model.rule_settings.tolerance < 1:
        found.append(
            "allow a larger gap by --tolerance, if a rule that decides more is worth it"
            if fairness.constant
            else "allow a larger gap by --tolerance, if accuracy matters more"
        )
    if getattr(model, "mode", "") == "certified":
        found.append("with --mode reuse all records train: more accurate, but only an estimate")
    return found


def print_next_steps(
    fitted: PrivateClassifier,
    data: str,
    model: Path | None,
    report: Path | None,
    payer: ChargeTo | None,
) -> None:
    """Print what would help, and the commands; without a file, how to get one."""
    print()
    if helps := advice(fitted):
        about = " and ".join(weak_promises(fitted))
        print(f"The certificate promises little about {about}.")
        print("What may help in another fit (which costs again):")
        print("\n".join(f"  - {line}" for line in helps))
        print()
    steps = next_steps(data, model, report, payer, private=fitted.certificate_.privacy.private)
    if not steps:
        print("The model was not written to a file: --out FILE keeps it.")
        return
    width = max(len(command) for command, _ in steps)
    print("Next:")
    for command, purpose in steps:
        print(f"  {command:<{width}}   # {purpose}")
