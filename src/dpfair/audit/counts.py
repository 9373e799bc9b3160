"""The mechanisms that add discrete Laplace noise to counts, by the library's own code.

Each function takes the exact counts of many trials (:mod:`dpfair.audit.trials`), makes records
of them where the code under test reads records, and goes from the charge to the noisy table.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from dpfair.audit.distinguish import Listening, Mechanism
from dpfair.audit.trials import OF_A_PERSON, REPLACED, Release, counted
from dpfair.fairness.batch import BATCH_BINS, decide_batch
from dpfair.fairness.release import release_accepted, release_table
from dpfair.methods.post_processor import FairPostProcessor
from dpfair.methods.search import _right_and_wrong
from dpfair.privacy.accountants import epsilon_of
from dpfair.privacy.events import DpEvent, best_of_runs, compose, noisy_table, pure_epsilon
from dpfair.privacy.ledger import Ledger, Receipt
from dpfair.privacy.noise import noise_from
from dpfair.privacy.split import coin_split

__all__ = ["EPSILON", "count_mechanisms", "table_release"]

# Neither so small that sampling errors hide it, nor so large that the rarer side is never seen.
EPSILON = 2.0
# Of a ledger that pays for counts only: never used.
_DELTA = 1e-12
_SIZE = 50


def count_mechanisms() -> list[Mechanism]:
    """Every way in which the library releases counts."""
    pure, persons = partial(counted, epsilon=EPSILON), score_table("add_remove", rows_per_unit=2)
    return [
        pure("count", table_release("add_remove")),
        pure("count, cells far apart", cells_far_apart, share=0.5),
        pure("table of scores", score_table("add_remove")),
        pure("table of scores, replace-one", score_table("replace_one"), pairs=REPLACED),
        pure("table of scores, by persons", persons, pairs=OF_A_PERSON),
        pure("accepted, public group sizes", accepted_counts, trials=4, share=0.2),
        pure("post-processor's counts", post_processor, share=0.25),
        pure("batch decisions", batch_table, trials=BATCH_BINS // 2),
        pure("search's score", search_score, pairs=REPLACED),
        pure("randomised response", randomised_response),
        pure("two tables of the same records", two_tables, tables=2, share=0.5),
        pure("one of two scopes", two_scopes, tables=2, share=0.5),
        best_run(),
    ]


def table_release(relation: str, event: DpEvent | None = None) -> Release:
    """One charge, one draw."""
    paid = noisy_table(EPSILON, relation) if event is None else event
    budget = pure_epsilon(paid)
    assert budget is not None

    def release(cells: list[int], noise: Listening) -> list[int]:
        ledger = Ledger(budget, _DELTA, relation=relation, noise=noise)
        receipt = ledger.charge(paid, scope="release", purpose="count")
        return receipt.draw(paid).discrete_laplace(cells)

    return release


def cells_far_apart(cells: list[int], noise: Listening) -> list[int]:
    """First the first cells of all trials, then the second ones: noise that repeats shows."""
    noisy = table_release("add_remove")([*cells[::2], *cells[1::2]], noise)
    middle = len(noisy) // 2
    return [noisy[i // 2 + middle * (i % 2)] for i in range(len(noisy))]


def score_table(relation: str, rows_per_unit: int = 1) -> Release:
    """Records counted by group, label and score; four cells are a group."""

    def release(cells: list[int], noise: Listening) -> list[int]:
        ledger = Ledger(
            EPSILON, _DELTA, relation=relation, rows_per_unit=rows_per_unit, noise=noise
        )
        cell = np.repeat(np.arange(len(cells)), cells)
        table = release_table(
            0.25 + 0.5 * (cell % 2),
            cell // 4,
            _names(len(cells) // 4),
            labels=cell // 2 % 2,
            epsilon=ledger.row_budget[0],
            ledger=ledger,
            scope="release",
            dependence="",
        )
        return list(map(int, table.counts.ravel()))

    return release


def accepted_counts(cells: list[int], noise: Listening) -> list[int]:
    """The accepted of groups whose sizes are public: a neighbour changes a decision."""
    cell = np.repeat(np.arange(len(cells)), _SIZE)
    accepted = np.tile(np.arange(_SIZE), len(cells)) < np.repeat(cells, _SIZE)
    release = release_accepted(
        accepted.astype(np.float64),
        cell,
        _names(len(cells)),
        epsilon=EPSILON,
        ledger=Ledger(EPSILON * len(cells), _DELTA, noise=noise),
        scope="release",
        dependence="",
    )
    return list(map(int, release.counts[:, 0, 1]))


def post_processor(cells: list[int], noise: Listening) -> list[int]:
    """The accepted and rejected of each group, by a fit around a public classifier."""
    cell = np.repeat(np.arange(len(cells)), cells)
    table = np.stack([cell // 2, cell % 2], axis=1)
    nobody = np.array([[-1, 0]])  # of no declared group: not counted, but no table may be empty
    groups: Any = list(range(len(cells) // 2))
    with noise_from(lambda seed: noise):
        fitted = _Uncertified(
            _second_column, EPSILON, sensitive=0, groups=groups, held_out=True
        ).fit(np.concatenate([table, nobody]))
    return list(map(int, fitted.release_.counts.ravel()))


class _Uncertified(FairPostProcessor):
    """Bounds between all groups would take long, and they only read the release."""

    def _certify(self, ledger: Ledger | None, *, trained_here: bool) -> Any:
        return None


def _second_column(table: NDArray[np.int64]) -> NDArray[np.int64]:
    return table[:, 1]


def batch_table(cells: list[int], noise: Listening) -> list[int]:
    """The scores of a batch that is decided about, heard before cuts are made of them."""
    cell = np.repeat(np.arange(len(cells)), cells)
    decide_batch(
        (cell + 0.5) / len(cells),
        np.zeros_like(cell),
        [b""] * len(cell),
        names=("all",),
        classes=np.array([0, 1]),
        rates=(0.5,),
        key=bytes(32),
        epsilon=EPSILON,
        relation="add_remove",
        counted=None,
        rows_per_unit=1,
        confidence=0.95,
        noise=noise,
    )
    heard: list[int] = noise.heard[: len(cells)]  # the last one counts undeclared groups
    return heard


def search_score(cells: list[int], noise: Listening) -> list[int]:
    """How many decisions of a run are right and how many are wrong, under replace-one."""
    right, wrong = cells[:2]
    model = SimpleNamespace(
        classes_=np.array([0, 1]),
        predict=lambda X, groups: np.ones(right + wrong, dtype=np.int64),
    )
    table = SimpleNamespace(X=None, groups=None, records=_Labelled(np.repeat([1, 0], cells[:2])))
    exact = _right_and_wrong(model, cast(Any, table))
    return table_release("replace_one")(exact * (len(cells) // 2), noise)


@dataclass(frozen=True)
class _Labelled:
    """Records as far as a score looks at them."""

    labels: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.labels)


def randomised_response(cells: list[int], noise: Listening) -> list[int]:
    """Whether anybody is there: the sign of a noisy count answers as Warner (1965) does."""
    return [int(noisy >= 1) for noisy in table_release("add_remove")(cells, noise)]


def two_tables(cells: list[int], noise: Listening) -> list[int]:
    """Two tables on one ledger: what they cost adds up."""
    event, noisy = noisy_table(EPSILON / 2, "add_remove"), list[int]()
    ledger = Ledger(EPSILON, _DELTA, noise=noise)
    for purpose in ("first", "second"):
        receipt = ledger.charge(event, scope="release", purpose=purpose)
        noisy += receipt.draw(event).discrete_laplace(cells)
    return noisy


def two_scopes(cells: list[int], noise: Listening) -> list[int]:
    """A coin sends every record to one of two scopes, and each pays the whole budget."""
    event, noisy = noisy_table(EPSILON, "add_remove"), list[int]()
    ledger = Ledger(EPSILON, _DELTA, noise=noise)
    cell = np.repeat(np.arange(len(cells)), cells)
    scopes = coin_split(len(cell), {"train": 0.5, "release": 0.5}, noise)
    for scope, rows in scopes.items():
        receipt = ledger.charge(event, scope=scope, purpose="count")
        exact = np.bincount(cell[rows], minlength=len(cells))
        noisy += receipt.draw(event).discrete_laplace(exact.tolist())
    return noisy


def best_run() -> Mechanism:
    """The largest noisy count of a random number of runs; nobody learns their number."""
    delta, one_run = 1e-5, noisy_table(1, "add_remove")
    search = best_of_runs([one_run], mean=4, shape=0.0)
    count = table_release("add_remove", one_run)

    def release(cells: list[int], noise: Listening) -> list[int]:
        receipt = Receipt(compose([search] * len(cells)), noise)
        draws = [receipt.draw(search) for _ in cells]
        runs = [draw.runs() for draw in draws]
        draws[0].allow([("", one_run)])
        noisy = count(np.repeat(cells, runs).tolist(), noise)
        best: list[int] = np.maximum.reduceat(noisy, np.cumsum([0, *runs[:-1]])).tolist()
        return best

    claim = epsilon_of(search, delta, "add_remove")
    return replace(
        counted("best of several runs", release, epsilon=0, share=0.1), epsilon=claim, delta=delta
    )


def _names(count: int) -> tuple[str, ...]:
    return tuple(map(str, range(count)))
