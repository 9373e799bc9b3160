"""How commands talk: results on standard output, everything else on standard error."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpfair.cli.looks import print_styled, print_table
from dpfair.errors import InputError
from dpfair.files import check_place
from dpfair.privacy.account_text import account_rows, amount

if TYPE_CHECKING:
    from dpfair.methods.base import PrivateClassifier
    from dpfair.privacy.ledger import Ledger

__all__ = [
    "account_rows",
    "amount",
    "charges",
    "check_page",
    "check_writable",
    "fit_summary",
    "interactive",
    "make_folder",
    "method_name",
    "print_account",
    "print_json",
    "say",
    "undeclared_hint",
]


def print_json(data: dict[str, Any]) -> None:
    """One object; infinity, which JSON does not know, becomes null."""
    print(json.dumps(_finite(data), indent=2, allow_nan=False))


def say(text: str) -> None:
    """A remark that is not part of the result."""
    print_styled(text, file=sys.stderr)


def check_writable(*outputs: Path | None, inputs: Iterable[str | Path | None] = ()) -> None:
    """Refuse a place that cannot be written to before anything is read or spent.

    What a command reads, its ledger above all, must not be what it writes; nor do two outputs
    share a place.
    """
    wanted = [path for path in outputs if path is not None]
    read = [Path(path) for path in inputs if path is not None]
    for number, path in enumerate(wanted):
        check_place(path)
        for other in read:
            if _same_file(path, other):
                raise InputError(
                    f"{path} cannot be written: it is {other}, which this command reads."
                )
        for other in wanted[:number]:
            if _same_file(path, other):
                raise InputError(f"{path} cannot be written: {other} is written to that place.")


def check_page(path: Path | None) -> None:
    """Refuse a name under which no browser would open a report."""
    if path is not None and path.suffix.lower() not in ("", ".html", ".htm"):
        raise InputError(f"A report is an HTML page: expected a name such as {path.stem}.html.")


def make_folder(folder: Path) -> None:
    """Make the folder for a command's results before any time is spent on them."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise InputError(f"{folder} is not a folder.") from error
    except OSError as error:
        raise InputError(f"{folder} cannot be made: {error.strerror}.") from error


def interactive() -> bool:
    """Whether a person watches, so that progress is worth showing."""
    return sys.stderr.isatty()


def method_name(model: PrivateClassifier) -> str:
    """The method as ``--method`` names it, or else its class."""
    from dpfair.methods import METHODS

    kind = type(model)
    return next((name for name, known in METHODS.items() if known is kind), kind.__name__)


def fit_summary(model: PrivateClassifier) -> dict[str, Any]:
    """What a fit made, as plain data."""
    privacy, fairness = model.certificate_.privacy, model.certificate_.fairness
    return {
        "epsilon": privacy.epsilon,
        "delta": privacy.delta,
        "spent": privacy.spent,
        "relation": privacy.relation,
        "composition": privacy.composition,
        "private": privacy.private,
        "method": method_name(model),
        "title": model.certificate_.method,
        "certificate": {
            "notion": fairness.notion,
            "tolerance": fairness.tolerance,
            "gap_bound": fairness.gap_bound,
            "gap_estimate": fairness.gap_estimate,
            "accuracy_bound": fairness.accuracy_bound,
            "accuracy_estimate": fairness.accuracy_estimate,
            "confidence": fairness.confidence,
            "certified": fairness.certified,
            "bounds": dict(fairness.bounds),
            "groups": list(fairness.groups),
            "reason": fairness.reason,
            "assumed_public": list(privacy.assumed_public),
        },
        "judgement": {
            name: None if judged is None else {"grade": judged.grade, "rule": judged.rule}
            for name, judged in model.certificate_.judgements.items()
        },
        "ledger": [entry.to_json() for entry in model.ledger_.entries],
    }


ONE_SCOPE = (
    "A record is in one scope only, and costs within a scope are together at most their sum: the "
    "total is that of the worst scope."
)


def print_account(ledger: Ledger, title: str) -> None:
    """The charges of a ledger, one line each, and their total."""
    rows = account_rows(ledger)
    *charges, (total, how, spent, of) = rows
    plain = [title]
    for scope, purpose, epsilon, delta in charges:
        plain.append(f"  {scope:<8} {purpose:<38} epsilon {epsilon:>8}   delta {delta}")
    plain.append(f"  {total:<8} {how:<38} epsilon {spent:>8}   {of}")
    headings = ("scope", "purpose", "epsilon", "delta")
    print_table(headings, rows, plain, title=title, last_is_total=True)
    if how == "worst scope":
        print(f"  {ONE_SCOPE}")


def charges(count: int) -> str:
    """So many charges."""
    return f"{count} charge{'' if count == 1 else 's'}"


def undeclared_hint(model: PrivateClassifier, data: str, schema: Path | None) -> str:
    """How to look at what the schema does not declare, if the noisy counts found much of it.

    Only released numbers decide about it.
    """
    from dpfair.cli.tables import names_several, one_file
    from dpfair.fairness.undeclared import many_undeclared

    fairness = model.certificate_.fairness
    shares = {f"{kind}s": share for kind, share in fairness.undeclared.items()}
    if fairness.irregular is not None:
        shares["values"] = fairness.irregular
    many = [kind for kind, (share, ends) in shares.items() if many_undeclared(share, ends)]
    if not many:
        return ""
    check = f"dpfair check {one_file(data)} --schema {schema or 'SCHEMA'}"
    each = ", and so with each of the other files" if names_several(data) else ""
    return (
        f"Many records have undeclared {' and '.join(many)}, by the noisy counts. To see which "
        f"(internal, not private): {check}{each}"
    )


def _same_file(one: Path, other: Path) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:  # one of them is not there yet
        return one.resolve() == other.resolve()


def _finite(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: _finite(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [_finite(value) for value in data]
    if isinstance(data, float) and not math.isfinite(data):
        return None
    return data
