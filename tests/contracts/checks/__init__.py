"""What every method must do. A check takes a :class:`~contracts.cases.Case` and asserts.

``CHECKS`` is found by the names, so a new check is one function.
"""

from __future__ import annotations

from collections.abc import Callable

from contracts.cases import Case
from contracts.checks import account, decisions, files, records
from contracts.checks.decisions import accepts_at_the_stated_rate

__all__ = ["CHECKS", "accepts_at_the_stated_rate"]

CHECKS: dict[str, Callable[[Case], None]] = {
    name.removeprefix("check_").replace("_", " "): check
    for module in (account, records, decisions, files)
    for name, check in vars(module).items()
    if name.startswith("check_") and check.__module__ == module.__name__
}
