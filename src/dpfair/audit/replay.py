"""The replay audit: runs on two tables, with the same coins and the same noisy answers.

A private method sees its records through noisy answers only. Record every answer of a run on D,
run again on a neighbour D' and feed the recorded answers back. Then

* everything that comes out must be *identical*, since it may depend on coins and answers only;
* every exact number that gets noise may differ by at most its stated sensitivity;
* one record must not be exposed to more than was paid for it;
* every exact number that is assumed public must be the same if the tables agree in what it is
  declared to count (:mod:`dpfair.privacy.assumptions`), whatever else differs.

The first and the last must hold even for unrelated tables, which have nobody in common.

Any violation is a privacy bug, and it is found without statistics. The replay does not test the
noise itself and the accountants, which have audits and tests of their own. A method whose
certificate lists leaks is audited like any other, and its leaks are reported.

**Rounding.** A float64 sum of n parts, none longer than the sensitivity, is rounded by at most
n^2 2^-53 times the sensitivity, and differently on the two tables. So a distance may exceed the
promise by the factor 1 + n^2 2^-52 (1e-12 for 67 records), and no more: a method that computes in
float32 must allow for its rounding when it clips. Counts, and sums on a grid, are integers and
have no such tolerance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpfair.audit.catalogue import Method
from dpfair.audit.differences import differences
from dpfair.audit.neighbours import Pair, neighbours
from dpfair.audit.observe import Run, observe
from dpfair.audit.payments import check_exposure, check_payments, named_value
from dpfair.audit.sample import Table, probe_table
from dpfair.audit.tape import Session
from dpfair.data.schema import Schema
from dpfair.privacy.assumptions import MEMBERSHIP
from dpfair.privacy.draw import Question
from dpfair.privacy.events import parts

__all__ = ["Recording", "ReplayReport", "Violation", "neighbours_of", "replay", "replay_method"]

ROUNDING = 2.0**-52

# A bug may change hundreds of numbers; a few of them are enough to locate it.
MAX_ALIKE = 3


def replay(make_model: Callable[[], Any], pair: Pair, probe: Table) -> list[str]:
    """The violations on a pair of tables, one sentence each.

    ``make_model`` makes the same unfitted model at every call; ``probe`` is a public table.
    """
    return Recording(make_model, pair.first, pair.seed, probe).against(pair)


class Recording:
    """A run on one table, to be replayed on its neighbours and on unrelated ones.

    Attributes
    ----------
    run
        The recorded run.
    asked
        The scopes of its questions.
    touched
        The scopes in which some neighbour has changed an exact value so far.
    """

    def __init__(
        self, make_model: Callable[[], Any], table: Table, seed: int, probe: Table
    ) -> None:
        self._make_model, self._seed = make_model, seed
        self._probe: Table | None = probe
        self.run = observe(make_model, table, Session(seed), probe)
        questions = [heard.question for heard in self.run.heard]
        self.asked = {str(q.scope) for q in questions if q.kind != "assumed"}
        self.touched: set[str] = set()
        self._own = list(check_payments(self.run, make_model()))

    def against(self, pair: Pair) -> list[str]:
        """Replay on the second table of a pair whose first is the recorded one."""
        session = Session(self._seed, script=self.run.heard)
        other = observe(self._make_model, pair.second, session, self._probe)
        self._probe = None  # equal models give the same output: once is enough
        found = [*self._own, *_different_questions(self.run, other)]
        found += _different_assumptions(self.run, other, pair)
        if pair.near:
            moved = _moved(self.run, other)
            self.touched |= {str(self.run.heard[i].question.scope) for i in moved}
            found += islice(_too_far(self.run, other, pair), MAX_ALIKE)
            found += check_exposure(self.run.ledger, self.run.heard, moved)
        if not other.diverged:  # a run that diverged is incomplete
            found += islice(_released(self.run, other, pair), MAX_ALIKE)
            found += _shown(self.run, other)
        elif self.run.failed:
            found.append(f"Only one of the runs ends with {self.run.shown['the error']!r}.")
        return found


@dataclass(frozen=True)
class Violation:
    """A violation, and the pair of tables on which it was found."""

    neighbours: str
    sentence: str


@dataclass(frozen=True)
class ReplayReport:
    """The violations of a method, and how much the audit covered.

    ``pairs`` counts pairs of tables, unrelated ones included. ``failed`` counts the pairs
    whose first fit raised an error, which cover little. ``asked`` are the scopes of all questions,
    and ``touched`` those in which a neighbour changed an exact value: the other scopes are not
    covered.
    """

    method: str
    relation: str
    pairs: int
    failed: int
    asked: frozenset[str]
    touched: frozenset[str]
    violations: tuple[Violation, ...]
    seconds: float

    @property
    def blind_spots(self) -> tuple[str, ...]:
        """What the replay did not cover, one sentence each."""
        found = []
        if self.failed:
            found.append(f"{self.failed} of {self.pairs} fits failed: they show nothing.")
        if not self.asked:
            found.append("No fit asked for a noisy answer: there was nothing to compare.")
        if self.touched != self.asked:
            scopes = ", ".join(repr(scope) for scope in sorted(self.asked ^ self.touched))
            found.append(f"No neighbour changed a value of scope {scopes}: it was not tested.")
        return tuple(found)

    @property
    def passed(self) -> bool:
        """Whether everything was covered and there was no violation."""
        return not self.violations and not self.blind_spots


def neighbours_of(
    method: Method, schema: Schema, relation: str, *, at_least: int = 0, seed: int = 0
) -> list[Pair]:
    """All boundary situations of a method, and unrelated tables.

    There are at least ``at_least`` neighbours, not counting unrelated tables.
    """
    return neighbours(
        schema,
        relation,
        at_least=at_least,
        rows_per_unit=method.rows_per_unit,
        unknown_groups=not method.refuses_unknown_groups,
        seed=seed,
    )


def replay_method(
    method: Method,
    schema: Schema,
    relation: str,
    pairs: Sequence[Pair] | None = None,
    *,
    at_least: int = 0,
    seed: int = 0,
) -> ReplayReport:
    """Replay a method on the given pairs of tables, or on all of :func:`neighbours_of` it.

    Examples
    --------
    >>> from dpfair.audit.catalogue import CATALOGUE
    >>> from dpfair.audit.sample import sample_schema
    >>> report = replay_method(CATALOGUE[0], sample_schema(), "add_remove")
    >>> report.method, report.pairs > 40, report.violations
    ('logistic', True, ())
    """
    start = perf_counter()
    if pairs is None:
        pairs = neighbours_of(method, schema, relation, at_least=at_least, seed=seed)
    probe, recordings = probe_table(schema), dict[tuple[int, int], Recording]()
    violations, failed = list[Violation](), 0
    for pair in pairs:
        key = id(pair.first), pair.seed
        if key not in recordings:
            recordings[key] = Recording(
                lambda: method.make(schema, relation), pair.first, pair.seed, probe
            )
        violations += [Violation(pair.name, found) for found in recordings[key].against(pair)]
        failed += recordings[key].run.failed
    return ReplayReport(
        method=method.name,
        relation=relation,
        pairs=len(pairs),
        failed=failed,
        asked=frozenset(scope for r in recordings.values() for scope in r.asked),
        touched=frozenset(scope for r in recordings.values() for scope in r.touched),
        violations=tuple(violations),
        seconds=perf_counter() - start,
    )


def _different_questions(first: Run, second: Run) -> Iterator[str]:
    for number, (one, two) in enumerate(zip(first.heard, second.heard, strict=False), start=1):
        for what, of in _FORM.items():
            if of(one.question) != of(two.question):
                yield f"Question {number} has another {what} on the other table."
                return  # later questions are not comparable
    if first.rates[: len(second.rates)] != second.rates[: len(first.rates)]:
        yield "Batches are drawn at another rate on the other table."
    if len(first.heard) != len(second.heard):
        yield f"There are {len(first.heard)} questions, but {len(second.heard)} on the other table."


_FORM: dict[str, Callable[[Question], Any]] = {
    "kind": lambda question: question.kind,
    "event": lambda question: question.event,
    "scope": lambda question: question.scope,
    "shape": lambda question: None if question.kind == "named" else question.value.shape,
    "sensitivity": lambda question: question.sensitivity,
    "noise": lambda question: question.noise_multiplier,
    "grid": lambda question: None if question.units is None else question.units.tobytes(),
    "assumption": lambda question: question.assumption,
}


def _different_assumptions(first: Run, second: Run, pair: Pair) -> Iterator[str]:
    """Assumed values that differ although the tables agree in what these declare to count."""
    for one, two in zip(first.heard, second.heard, strict=False):
        fact = one.question.assumption
        if fact is None or pair.differs.intersection({MEMBERSHIP, *fact.by}):
            continue
        if one.question.value.tobytes() != two.question.value.tobytes():
            yield (
                f"The value of the assumed fact {fact.text!r} differs, although both tables agree "
                "in what it counts."
            )


def _moved(first: Run, second: Run) -> frozenset[int]:
    """The positions of the paid questions whose exact values differ in any bit."""
    pairs = enumerate(zip(first.heard, second.heard, strict=False))
    return frozenset(
        i
        for i, (one, two) in pairs
        if one.question.kind != "assumed" and _exact(one.question) != _exact(two.question)
    )


def _exact(question: Question) -> object:
    """The exact value to the last bit; named counts in any order."""
    if question.kind == "named":
        return named_value(question)
    return question.value.tobytes()


def _too_far(first: Run, second: Run, pair: Pair) -> Iterator[str]:
    """Exact values that one person changes by more than the stated sensitivity."""
    rows = max(len(pair.first.y), len(pair.second.y))
    replaced = 2 if pair.relation == "replace_one" else 1
    for number, (one, two) in enumerate(zip(first.heard, second.heard, strict=False), start=1):
        question, other = one.question, two.question
        if question.kind == "assumed":
            continue
        if question.kind == "named":
            mine, others = named_value(question), named_value(other)
            gap = np.array([mine.get(n, 0) - others.get(n, 0) for n in mine.keys() | others.keys()])
        elif question.value.shape != other.value.shape:
            continue
        else:
            gap = (question.value - other.value).ravel()
        promised = question.sensitivity * replaced * pair.rows_per_unit
        moved = _norm(gap, question.units)
        rounding = rows**2 * ROUNDING
        if question.kind == "counts":
            # The event lists every cell that one record moves by one.
            promised = float(sum(parts(question.event).values()) * pair.rows_per_unit)
            moved = float(np.abs(gap).sum())
        if question.kind != "gaussian":
            rounding = 0.0
        if not moved <= promised * (1 + rounding):
            yield (
                f"The exact value of question {number} (scope {question.scope!r}) moves by "
                f"{moved:.9g}, and {promised:.9g} is promised."
            )


def _norm(gap: NDArray[Any], units: NDArray[np.float64] | None) -> float:
    """The L2 norm; for integers on a grid it is exact, and the root is rounded up."""
    if units is None:
        return float(np.linalg.norm(gap))
    steps = np.flatnonzero(gap)
    square = sum(
        (
            (Fraction(u) * int(g)) ** 2
            for u, g in zip(units.ravel()[steps], gap[steps], strict=True)
        ),
        Fraction(0),
    )
    root = math.sqrt(square)
    return math.nextafter(root, math.inf) if Fraction(root) ** 2 < square else root


def _released(first: Run, second: Run, pair: Pair) -> Iterator[str]:
    """Differences between the models and between their outputs."""
    for name in differences(first.model, second.model, "model", shared=pair.shared):
        yield f"{name} depends on a record in other ways than by the noisy answers."
    if second.outputs:
        for name in differences(first.outputs, second.outputs, "outputs"):
            yield f"{name} depends on a record in other ways than by the noisy answers."


def _shown(first: Run, second: Run) -> Iterator[str]:
    for what, content in first.shown.items():
        if content != second.shown[what]:
            yield f"The tables differ in {what}: {content!r} and {second.shown[what]!r}."
