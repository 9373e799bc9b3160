"""The mechanisms that add discrete Laplace noise to counts, by the library's own code.

Each function takes the exact counts of many trials (:mod:`dpfair.audit.trials`), turns them into
records where the code under test reads records, and runs all steps from the charge to the noisy
table.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from dpfair.audit.distinguish import Listening, Mechanism
from dpfair.audit.trials import OF_A_PERSON, REPLACED, Release, counted
from dpfair.certificate.fairness import FairnessClaim
from dpfair.fairness.batch import BATCH_BINS, decide_batch
from dpfair.fairness.counting import release_accepted, release_table, table_events, table_plan
from dpfair.methods.fitted import Fitted
from dpfair.methods.post_processor import FairPostProcessor
from dpfair.methods.search import right_and_wrong
from dpfair.privacy.accountants import epsilon_of
from dpfair.privacy.events import DpEvent, best_of_runs, compose, noisy_table, pure_epsilon
from dpfair.privacy.ledger import Ledger, Receipt
from dpfair.privacy.noise import noise_from
from dpfair.privacy.plan import UNUSED_DELTA, Budget
from dpfair.privacy.split import place_coins, scopes_of

__all__ = ["EPSILON", "count_mechanisms", "table_release"]

# Sampling errors would hide a smaller epsilon; with a larger one, rare outputs would not occur.
EPSILON = 2.0
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
        ledger = Ledger(budget, UNUSED_DELTA, relation=relation, noise=noise)
        receipt = ledger.charge(paid, scope="release", purpose="count")
        return receipt.draw(paid).discrete_laplace(cells)

    return release


def cells_far_apart(cells: list[int], noise: Listening) -> list[int]:
    """All first cells of the trials, then all second ones; this finds noise that repeats."""
    noisy = table_release("add_remove")([*cells[::2], *cells[1::2]], noise)
    middle = len(noisy) // 2
    return [noisy[i // 2 + middle * (i % 2)] for i in range(len(noisy))]


def score_table(relation: str, rows_per_unit: int = 1) -> Release:
    """Records counted by group, label and score; a group has four cells."""

    def release(cells: list[int], noise: Listening) -> list[int]:
        budget = Budget(Fraction(EPSILON), UNUSED_DELTA, relation, rows_per_unit=rows_per_unit)
        cell = np.repeat(np.arange(len(cells)), cells)
        table = release_table(
            0.25 + 0.5 * (cell % 2),
            cell // 4,
            _names(len(cells) // 4),
            labels=cell // 2 % 2,
            receipt=table_plan(budget, "count", len(cells) // 4).open(noise)["count"],
            dependence="",
        )
        return list(map(int, table.counts.ravel()))

    return release


def accepted_counts(cells: list[int], noise: Listening) -> list[int]:
    """Accepted records of groups with public sizes; neighbours differ in one decision."""
    cell = np.repeat(np.arange(len(cells)), _SIZE)
    accepted = np.tile(np.arange(_SIZE), len(cells)) < np.repeat(cells, _SIZE)
    ledger = Ledger(EPSILON * len(cells), UNUSED_DELTA, noise=noise)
    release = release_accepted(
        accepted.astype(np.float64),
        cell,
        _names(len(cells)),
        receipts=[
            ledger.charge(event, scope="release", purpose="count")
            for event in table_events(EPSILON, len(cells), "add_remove", public_sizes=True)
        ],
        assume=ledger.assume,
        dependence="",
    )
    return list(map(int, release.counts[:, 0, 1]))


def post_processor(cells: list[int], noise: Listening) -> list[int]:
    """Accepted and rejected records of each group, by a fit with a public classifier."""
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
    """Without bounds between all groups, which would be slow and only use the release."""

    def fairness(self, fitted: Fitted) -> FairnessClaim:
        """No claim."""
        return FairnessClaim.nothing(self.schema_.groups, "nobody asked for one")


def _second_column(table: NDArray[np.int64]) -> NDArray[np.int64]:
    return table[:, 1]


def batch_table(cells: list[int], noise: Listening) -> list[int]:
    """The noisy scores of a batch, before thresholds are computed from them."""
    cell = np.repeat(np.arange(len(cells)), cells)
    decide_batch(
        (cell + 0.5) / len(cells),
        np.zeros_like(cell),
        np.zeros((len(cell), 1), dtype=np.uint64),
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
    """The numbers of right and of wrong decisions of a run, under replace-one."""
    right, wrong = cells[:2]
    model = SimpleNamespace(decide=lambda records: np.ones(right + wrong, dtype=np.int64))
    exact = right_and_wrong(cast(Any, model), _Labelled(np.repeat([1, 0], cells[:2])))
    return table_release("replace_one")(exact * (len(cells) // 2), noise)


@dataclass(frozen=True)
class _Labelled:
    """The part of the records that a score uses."""

    labels: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.labels)


def randomised_response(cells: list[int], noise: Listening) -> list[int]:
    """Whether a count is positive, by the sign of a noisy count: as in Warner (1965)."""
    return [int(noisy >= 1) for noisy in table_release("add_remove")(cells, noise)]


def two_tables(cells: list[int], noise: Listening) -> list[int]:
    """Two tables on one ledger, whose costs add up."""
    event, noisy = noisy_table(EPSILON / 2, "add_remove"), list[int]()
    ledger = Ledger(EPSILON, UNUSED_DELTA, noise=noise)
    for purpose in ("first", "second"):
        receipt = ledger.charge(event, scope="release", purpose=purpose)
        noisy += receipt.draw(event).discrete_laplace(cells)
    return noisy


def two_scopes(cells: list[int], noise: Listening) -> list[int]:
    """A coin assigns every record to one of two scopes; each scope has the whole budget."""
    event, noisy = noisy_table(EPSILON, "add_remove"), list[int]()
    ledger = Ledger(EPSILON, UNUSED_DELTA, noise=noise)
    cell = np.repeat(np.arange(len(cells)), cells)
    coins = place_coins(np.arange(len(cell), dtype=np.uint64), noise.take(32))
    for scope, rows in scopes_of(coins, {"train": 0.5, "release": 0.5}).items():
        receipt = ledger.charge(event, scope=scope, purpose="count")
        exact = np.bincount(cell[rows], minlength=len(cells))
        noisy += receipt.draw(event).discrete_laplace(exact.tolist())
    return noisy


def best_run() -> Mechanism:
    """The largest noisy count of a random number of runs, which is not released."""
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
