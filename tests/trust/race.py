"""Many processes, or threads, that together want more than the budget of one ledger file."""

from __future__ import annotations

import multiprocessing
import threading
import time
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from dpfair.errors import BudgetError, InputError
from dpfair.privacy.events import noisy_table
from dpfair.privacy.ledger_file.file import LedgerFile

COST = Fraction(1, 500)


@dataclass(frozen=True)
class Levels:
    """What all runners were told, and what the file says."""

    granted: int
    refused: int
    errors: tuple[str, ...]
    charged: int
    spent: float
    seconds: float


def race_processes(path: Path, processes: int = 16, charges: int = 1000) -> Levels:
    """Every process opens the file itself and asks as often as it may."""
    context = multiprocessing.get_context("fork")
    start, answers = context.Barrier(processes + 1), context.Queue()

    def run() -> None:
        ledger = LedgerFile(path)
        start.wait()
        answers.put(ask(ledger, charges))

    runners = [context.Process(target=run) for _ in range(processes)]
    return _race(path, runners, start, lambda: [answers.get() for _ in runners])


def race_threads(path: Path, threads: int = 8, charges: int = 1000) -> Levels:
    """All threads share one handle."""
    ledger, start, answers = LedgerFile(path), threading.Barrier(threads + 1), []

    def run() -> None:
        start.wait()
        answers.append(ask(ledger, charges))

    runners = [threading.Thread(target=run) for _ in range(threads)]
    return _race(path, runners, start, lambda: answers)


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


def race_spellings(path: Path, processes: int = 16) -> tuple[int, list[str]]:
    """Every process declares one of many spellings of a scope, with a charge of the whole budget.

    Returns how many were granted and the scopes that the file knows.
    """
    context = multiprocessing.get_context("fork")
    start, answers = context.Barrier(processes), context.Queue()

    def run(spelling: str) -> None:
        ledger = LedgerFile(path)
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
    return granted, list(LedgerFile(path).scopes)


def ask(ledger: LedgerFile, charges: int) -> tuple[int, int, list[str]]:
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


def _race(path, runners, start, collect) -> Levels:
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
    ledger = LedgerFile(path)
    return Levels(
        sum(granted),
        sum(refused),
        tuple(e for some in errors for e in some),
        len(ledger.entries),
        ledger.spent,
        seconds,
    )
