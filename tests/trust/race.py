"""Many processes, or threads, that together want more than the budget of one ledger file."""

from __future__ import annotations

import multiprocessing
import threading
import time
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from dpfair.errors import BudgetError, InputError
from dpfair.privacy.events import DpEvent, noisy_table, pure_epsilon
from dpfair.privacy.ledger import Receipt
from dpfair.privacy.ledger_file import LedgerFile
from dpfair.privacy.ledger_file.scopes import skeletons
from dpfair.privacy.noise import Noise

COST = Fraction(1, 500)


@dataclass(frozen=True)
class RaceResult:
    """What all runners were told, and what the file says."""

    granted: int
    refused: int
    errors: tuple[str, ...]
    charged: int
    spent: float
    seconds: float


def race_processes(
    path: Path, processes: int = 16, charges: int = 1000, kind: type[Any] = LedgerFile
) -> RaceResult:
    """Every process opens the file itself and asks as often as it may."""
    context = multiprocessing.get_context("fork")
    start, answers = context.Barrier(processes + 1), context.Queue()

    def run() -> None:
        ledger = kind(path)
        start.wait()
        answers.put(ask(ledger, charges))

    runners = [context.Process(target=run) for _ in range(processes)]
    return _race(kind(path), runners, start, lambda: [answers.get() for _ in runners])


def race_threads(path: Path, threads: int = 8, charges: int = 1000) -> RaceResult:
    """All threads share one handle."""
    ledger, start, answers = LedgerFile(path), threading.Barrier(threads + 1), []

    def run() -> None:
        start.wait()
        answers.append(ask(ledger, charges))

    runners = [threading.Thread(target=run) for _ in range(threads)]
    return _race(ledger, runners, start, lambda: answers)


SPELLINGS = (
    "north",
    "North",
    "NORTH",
    "n\u043erth",
    "n0rth",
    "no\u0308rth",
    "north ",
    "nor\u200bth",
)


def race_spellings(
    path: Path, processes: int = 16, kind: type[Any] = LedgerFile
) -> tuple[int, list[str]]:
    """Every process declares one of many spellings of a scope, with a charge of the whole budget.

    Returns how many were granted and the scopes that the file knows.
    """
    context = multiprocessing.get_context("fork")
    start, answers = context.Barrier(processes), context.Queue()

    def run(spelling: str) -> None:
        ledger = kind(path)
        event = noisy_table(ledger.budget_epsilon, "add_remove")
        start.wait()
        try:
            ledger.charge(event, scope=spelling, purpose="race", new_scope=True)
            answers.put(True)
        except (BudgetError, InputError):
            answers.put(False)

    spellings = [SPELLINGS[n % len(SPELLINGS)] for n in range(processes)]
    runners = [context.Process(target=run, args=(spelling,)) for spelling in spellings]
    for runner in runners:
        runner.start()
    granted = sum(answers.get() for _ in runners)
    for runner in runners:
        runner.join()
    return granted, list(kind(path).scopes)


class Hasty:
    """A broken ledger: it decides before it takes the lock, and then writes what was decided."""

    def __init__(self, path: Path) -> None:
        self.path, self.noise = path, Noise()
        self.budget_epsilon = Fraction(path.read_text().split("\n")[0])

    @property
    def entries(self) -> list[list[str]]:
        """Scope and cost of every charge."""
        lines = self.path.read_text().split("\n")[1:-1]
        return [line.split("|") for line in lines]

    @property
    def scopes(self) -> list[str]:
        """All scopes that were ever charged."""
        return ["", *dict.fromkeys(scope for scope, _ in self.entries)]

    @property
    def spent(self) -> float:
        """The sum of all charges."""
        return float(sum(Fraction(cost) for _, cost in self.entries))

    def charge(
        self, event: DpEvent, *, scope: str, purpose: str, new_scope: bool = False
    ) -> Receipt:
        """Look, think, and write."""
        cost, own = pure_epsilon(event), skeletons(scope)
        if new_scope and any(skeletons(other) & own for other in self.scopes if other):
            raise InputError("The scope looks like another one.")
        if not new_scope and self.spent + cost > self.budget_epsilon:
            raise BudgetError("Too much.")
        time.sleep(0.02)
        with self.path.open("a") as file:
            file.write(f"{scope}|{cost}\n")
        return Receipt(event, self.noise, scope)


def ask(ledger: Any, charges: int) -> tuple[int, int, list[str]]:
    granted, refused, errors = 0, 0, []
    event = noisy_table(COST, "add_remove")
    for _ in range(charges):
        try:
            receipt = ledger.charge(event, scope="", purpose="race")
            receipt.draw(event).discrete_laplace([0])
            granted += 1
        except BudgetError:
            refused += 1
        except Exception as error:
            errors.append(repr(error))
    return granted, refused, errors


def _race(ledger, runners, start, collect) -> RaceResult:
    for runner in runners:
        runner.start()
    start.wait()
    began = time.perf_counter()
    if isinstance(runners[0], threading.Thread):
        for runner in runners:
            runner.join()
    answers = collect()
    seconds = time.perf_counter() - began
    for runner in runners:
        runner.join()
    granted, refused, errors = zip(*answers, strict=True)
    return RaceResult(
        sum(granted),
        sum(refused),
        tuple(e for some in errors for e in some),
        len(ledger.entries),
        ledger.spent,
        seconds,
    )
