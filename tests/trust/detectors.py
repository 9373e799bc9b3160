"""What catches a broken variant: replays, audits by sampling, and contracts of the core.

Every detector looks at the code as it is running and returns what is wrong with it, in sentences.
The seed changes its samples, tables and coins, never what it looks at.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from sample_tables import LOANS, make_loans
from trust import bound_detectors, naming_detectors, plan_detectors
from trust.fuzz_lines import fuzz_lines
from trust.race import SPELLINGS
from trust.registry import DETECTORS, detector

from dpfair import LedgerFile, PrivateLogisticRegression, Schema
from dpfair.audit.catalogue import CATALOGUE, Method
from dpfair.audit.distinguish import Listening, distinguish
from dpfair.audit.mechanisms import library_mechanisms
from dpfair.audit.replay import replay_method
from dpfair.errors import (
    BudgetError,
    DpfairError,
    InputError,
    LedgerFileError,
    PaidBeforeError,
    ReceiptError,
)
from dpfair.learners import descent
from dpfair.learners.descent import Batch, FlatClip, LogisticLoss
from dpfair.learners.design import Design
from dpfair.privacy.accountants import epsilon
from dpfair.privacy.adaptive import filter_cost
from dpfair.privacy.draw import Draw
from dpfair.privacy.events import DpEvent, compose, gaussian_steps, noisy_table, step_event
from dpfair.privacy.ledger import Ledger
from dpfair.privacy.noise import Noise, noise_from

__all__ = ["DETECTORS", "bound_detectors", "detect", "naming_detectors", "plan_detectors"]

METHODS = {method.name: method for method in CATALOGUE}
# A norm far below that of any gradient, so that every one is clipped.
for _name in ("logistic-sgd", "logistic-sgd-exact"):
    _tiny = METHODS[_name].make
    _clipped = _name.replace("sgd", "clipped")
    METHODS[_clipped] = Method(
        _clipped,
        "DP-SGD with a tiny clipping norm",
        lambda schema, relation, make=_tiny: make(schema, relation).set_params(clip=0.05),
    )
SAMPLES = 100_000
NEIGHBOURS = 60
# So sure that a sound mechanism would be suspected once in ten thousand audits.
CONFIDENCE = 1 - 1e-4
# Few records, so that batches are small and sometimes empty.
SCHEMA = Schema.from_dict({**LOANS, "rows": 30})


def detect(name: str, seed: int) -> list[str]:
    """What a detector finds; an error of the library's own guards is a finding, too."""
    try:
        if name.startswith("replay "):
            return _replay(name.removeprefix("replay "), seed)
        if name.startswith("audit "):
            return _audit(name.removeprefix("audit "), seed)
        return DETECTORS[name](seed)
    except DpfairError as error:
        return [f"The library stopped itself: {error}"]


def _replay(method: str, seed: int) -> list[str]:
    found = []
    for relation in ("add_remove", "replace_one"):
        report = replay_method(METHODS[method], SCHEMA, relation, at_least=NEIGHBOURS, seed=seed)
        found += [f"{v.sentence} ({v.neighbours}, {relation})" for v in report.violations]
        if report.failed:
            found.append(f"{report.failed} of {report.pairs} fits failed ({relation}).")
        if found:
            break
    return found


def _audit(name: str, seed: int) -> list[str]:
    mechanisms = {mechanism.name: mechanism for mechanism in library_mechanisms()}
    finding = distinguish(mechanisms[name], SAMPLES, Listening(seed), CONFIDENCE)
    if not finding.failed:
        return []
    return [f"At least {finding.shown.epsilon:.3f} is lost of the {finding.epsilon:.3f} claimed."]


@detector("sources")
def _sources(seed: int) -> Iterator[str]:
    """Two secure sources must have nothing in common."""
    if Noise().take(64) == Noise().take(64):
        yield "Two sources of secure noise give the same bytes."


@detector("batches")
def _batches(seed: int) -> Iterator[str]:
    """Poisson batches: every record by its own coin, so sizes vary as Binomial(n, q)."""
    n, rate, rounds = 200, 0.1, 4000
    noise = Noise(seed)
    mean, variance = n * rate, n * rate * (1 - rate)
    for sample in (noise.poisson_batch, noise.exact_batch):
        sizes = np.array([len(sample(n, rate)) for _ in range(rounds)])
        if abs(sizes.mean() - mean) > 6 * math.sqrt(variance / rounds):
            yield f"Batches have {sizes.mean():.2f} records on average, not {mean:g}."
        if abs(sizes.var() / variance - 1) > 6 * math.sqrt(2 / rounds):
            yield f"The size of batches has the variance {sizes.var():.2f}, not {variance:g}."


@detector("tails")
def _tails(seed: int) -> Iterator[str]:
    """Gaussian noise reaches as far as its law says, and its numbers hardly ever repeat.

    A set that noise never reaches tells neighbours apart whatever epsilon is.
    """
    from scipy.stats import binomtest, norm

    noise, count, scale = Noise(seed), 500_000, 2.0**40
    normals = noise.normals(count)
    integers = noise.discrete_gaussian(int(scale) ** 2, count) / scale
    for name, draws, distinct in (("normal", normals, 10**5), ("whole", integers, 10**4)):
        for far in (3.5, 4.0):
            seen, law = int((np.abs(draws) > far).sum()), float(2 * norm.sf(far))
            if binomtest(seen, count, law).pvalue < 1e-8:
                yield f"{seen} {name} numbers lie beyond {far:g}, not about {law * count:.0f}."
        repeated = distinct - len(np.unique(draws[:distinct]))
        if repeated:
            yield f"{repeated} of {distinct} {name} numbers were drawn before."


@detector("support")
def _support(seed: int) -> Iterator[str]:
    """Noisy counts are whole numbers, whatever was counted."""
    ledger = Ledger(1, 1e-5, noise=Noise(seed))
    event = noisy_table(1, "add_remove")
    receipt = ledger.charge(event, scope="", purpose="count")
    noisy = receipt.draw(event).discrete_laplace(list(range(50)))
    if not all(isinstance(count, int) for count in noisy):
        yield "A noisy count is no whole number: its digits tell the exact one."


@detector("clipping")
def _clipping(seed: int) -> Iterator[str]:
    """Whoever leaves a batch takes at most the clipping norm along."""
    noise, clip, loss = Noise(seed), FlatClip(0.5), LogisticLoss()
    for _ in range(50):
        n = 2 + noise.below(3)
        rows = Design.build(4 * noise.normals(3 * n).reshape(n, 3), np.zeros((n, 0), int), 0)
        labels = (noise.uniforms(n) < 0.5).astype(np.float32)
        sums = []
        for chosen in (np.arange(n), np.arange(n - 1)):
            some = rows.take(chosen)
            batch = Batch(some.scores(np.ones(3, np.float32)), labels[chosen], chosen * 0)
            gradients = loss.gradients(batch, np.empty(0), [])
            sums.append(descent.clipped_sum(clip, some, batch, [], *gradients)[0])
        moved = float(np.linalg.norm(sums[0] - sums[1]))
        if moved > 0.5:
            yield f"One record moves the clipped sum by {moved:.3f}, and 0.5 is promised."
            return


@detector("lines")
def _lines(seed: int) -> Iterator[str]:
    """A line of a file is one record, and changes no other one."""
    try:
        fuzz_lines(40, seed)
    except AssertionError as error:
        yield f"A CSV file is misread: {error}."


@detector("receipts")
def _receipts(seed: int) -> Iterator[str]:
    """What was paid once is drawn once."""
    event = noisy_table(1, "add_remove")
    receipt = Ledger(1, 1e-5, noise=Noise(seed)).charge(event, scope="", purpose="count")
    receipt.draw(event).discrete_laplace([5])
    try:
        receipt.draw(event)
    except ReceiptError:
        return
    yield "A receipt was drawn twice."


@detector("draws")
def _draws(seed: int) -> Iterator[str]:
    """What a draw gives is what was paid, to one part in a million, in one query or in two."""
    for parts in (1, 2):
        draw = Draw(step_event(2.0, 1.0), Noise(seed))
        try:
            for _ in range(parts):
                draw.gaussian(np.zeros(2), 1.0, 2.0 * math.sqrt(parts) * (1 - 1e-6))
        except ReceiptError:
            continue
        yield f"{parts} queries got less noise than was paid for."


@detector("accountants")
def _accountants(seed: int) -> Iterator[str]:
    """The gate is never below an exact Gaussian, nor below a bound from below for DP-SGD."""
    from scipy.stats import norm

    for multiplier in (0.8, 1.0, 2.0):
        spent = epsilon(step_event(multiplier, 1.0), 1e-5).epsilon
        mu = 1 / multiplier
        exact = norm.cdf(mu / 2 - spent / mu) - math.exp(spent) * norm.cdf(-mu / 2 - spent / mu)
        if exact > 1e-5 * (1 + 1e-6):
            yield f"Gaussian noise of {multiplier:g} is said to cost {spent:.4f}, which is too low."
    for multiplier, rate, steps in ((0.7, 0.01, 100), (1.0, 0.02, 300), (0.8, 0.05, 50)):
        spent = epsilon(gaussian_steps(multiplier, rate, steps), 1e-5).epsilon
        if _tail(multiplier, rate, steps, spent) > 1e-5:
            yield f"DP-SGD ({multiplier:g}, {rate:g}, {steps}) is said to cost {spent:.4f} only."


def _tail(multiplier: float, rate: float, steps: int, spent: float) -> float:
    """A delta that DP-SGD surely has at this epsilon: the test of one threshold on one step.

    With probability rate the record is in the first batch; what one step alone shows, all show.
    """
    from scipy.stats import norm

    best = 0.0
    for threshold in np.linspace(0, 12 * multiplier, 400):
        q = 1 - (1 - norm.sf(threshold / multiplier)) ** steps
        hit = (1 - rate) * norm.cdf(threshold / multiplier) + rate * norm.cdf(
            (threshold - 1) / multiplier
        )
        p = 1 - hit**steps
        best = max(best, p - math.exp(spent) * q)
    return best


@detector("parameters")
def _parameters(seed: int) -> Iterator[str]:
    """What is no positive number is no budget, no noise and no clipping norm."""
    for value in (math.nan, math.inf, 0.0, -1.0):
        for what, make in {
            "budget": lambda v: Ledger(v, 1e-5),
            "noise": lambda v: step_event(v, 1.0),
            "norm": FlatClip,
        }.items():
            try:
                make(value)
            except (DpfairError, ValueError):
                continue
            yield f"{value} was accepted as a {what}."


@detector("budgets")
def _budgets(seed: int) -> Iterator[str]:
    """A budget is spent to the last part, and no part more."""
    ledger = Ledger(1, 1e-5)
    event = noisy_table(Fraction(1, 8), "add_remove")
    try:
        for _ in range(8):
            ledger.charge(event, scope="", purpose="an eighth")
    except BudgetError:
        yield "Eight eighths were refused."
    for extra in (Fraction(1, 10**7), Fraction(1, 8)):
        try:
            ledger.charge(noisy_table(extra, "add_remove"), scope="", purpose="too much")
        except BudgetError:
            continue
        yield f"A budget of 1 paid for {float(1 + extra):.7f}."


@contextmanager
def _ledger(epsilon: int = 2) -> Iterator[Path]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "some.ledger"
        LedgerFile.create(path, epsilon, 1e-5).close()
        yield path


@detector("order")
def _order(seed: int) -> Iterator[str]:
    """When the first noisy answer is given, the file has been charged."""
    charges = list[int]()

    class Watched(Noise):
        def answer(self, question: object, noisy: Callable[[], object]) -> object:
            charges.append(len(LedgerFile(path).entries))
            return super().answer(question, noisy)

    with _ledger() as path, noise_from(lambda seed: Watched()):
        model = PrivateLogisticRegression(1, schema=SCHEMA, steps=2, ledger=path)
        model.fit(*make_loans(20, seed))
    if charges[0] != 1:
        yield "A noisy answer was given before the file was charged."


@detector("keys")
def _keys(seed: int) -> Iterator[str]:
    """A job is paid once and drawn once."""
    event = noisy_table(1, "add_remove")
    with _ledger() as path:
        LedgerFile(path).charge(event, scope="", purpose="count", key="job")
        try:
            LedgerFile(path).charge(event, scope="", purpose="count", key="job")
        except PaidBeforeError:
            return
    yield "A job was charged and drawn a second time under its key."


@detector("copies")
def _copies(seed: int) -> Iterator[str]:
    """What a receipt was given for is in the one file that people copy."""
    with _ledger() as path:
        reader = sqlite3.connect(path)  # the log is there as long as somebody has the file open
        reader.execute("SELECT count(*) FROM entry").fetchall()
        LedgerFile(path).charge(noisy_table(1, "add_remove"), scope="", purpose="count")
        copy = path.with_name("copy.ledger")
        copy.write_bytes(path.read_bytes())
        copy.chmod(0o600)
        reader.close()
        if not LedgerFile(copy).entries:
            yield "A copy of the file has the whole budget again."


@detector("filters")
def _filters(seed: int) -> Iterator[str]:
    """Two lists of one price may not both be had by choosing between them as results come in."""
    with TemporaryDirectory() as folder:
        ledger = LedgerFile.create(Path(folder) / "some.ledger", "3.678", 1e-5)
        ledger.charge(step_event(1 / 0.2, 1.0), scope="", purpose="a Gaussian")
        counts = compose([noisy_table(1, "add_remove")] * 3)
        try:
            ledger.charge(counts, scope="", purpose="if the result is large")
        except BudgetError:
            return
    yield "A budget pays for a choice that costs twice its delta."


@detector("shares")
def _shares(seed: int) -> Iterator[str]:
    """The deltas of the filter's rules add up to the budget's.

    A rule allows a divergence R at its order a if R + c <= epsilon. Gaussian noise has R = a x
    with x = mu^2 / 2, so its price is the least of the lines a x + c. They are read off the prices,
    and c says which delta a rule has (Canonne, Kamath and Steinke 2020, Proposition 12).
    """
    rng = np.random.default_rng(seed)
    budget, delta = float(rng.uniform(0.5, 8)), float(10 ** rng.uniform(-9, -4))
    lines = {}
    for x in np.geomspace(1e-4, 10, 120).tolist():
        low, high = (
            float(filter_cost(_two_gaussians(z), Fraction(budget), delta, "add_remove"))
            for z in (x, x * 1.001)
        )
        order = round((high - low) / (0.001 * x), 1)
        if abs(low + order * 0.001 * x - high) < 1e-9:  # both lie on one line
            lines[order] = low - order * x
    deltas = [math.exp(-(a - 1) * (c - math.log1p(-1 / a))) / a for a, c in lines.items()]
    if len(deltas) < 2 or sum(deltas) > delta * (1 + 1e-3):
        yield f"{len(deltas)} rules of a filter have {sum(deltas) / delta:.3f} of its delta."


def _two_gaussians(x: float) -> DpEvent:
    """Two charges whose Renyi divergence of order a is a x."""
    return gaussian_steps(x**-0.5, 1.0, 2)


@detector("tampering")
def _tampering(seed: int) -> Iterator[str]:
    """A changed purpose is found out."""
    with _ledger() as path:
        ledger = LedgerFile(path)
        for word in ("honest", "common"):
            ledger.charge(noisy_table("1/4", "add_remove"), scope="", purpose=word)
        ledger.close()
        path.write_bytes(path.read_bytes().replace(b"honest", b"forged"))
        try:
            LedgerFile(path).verify()
        except LedgerFileError:
            return
    yield "A forged row was not noticed."


@detector("spellings")
def _spellings(seed: int) -> Iterator[str]:
    """A second spelling of a scope gets no second budget, nor does a scope that nobody declared."""
    event = noisy_table(2, "add_remove")
    with _ledger() as path:
        ledger = LedgerFile(path)
        ledger.charge(event, scope="north", purpose="a part", new_scope=True)
        for scope in (*SPELLINGS[1:], "north/", "nroth"):
            try:
                ledger.charge(event, scope=scope, purpose="again", new_scope=scope != "nroth")
            except InputError:
                continue
            yield f"A budget of 2 paid for 4: the scope was called {scope!a} this time."


@detector("scopes")
def _scopes(seed: int) -> Iterator[str]:
    """A part pays for what was asked of the whole, and not for other parts."""
    event = noisy_table(2, "add_remove")
    ledger = Ledger(2, 1e-5)
    ledger.charge(event, scope="north", purpose="a part")
    try:
        ledger.charge(event, scope="south", purpose="another part")
    except BudgetError:
        yield "Disjoint parts were added up."
    for scope in ("", "north", "north/a"):
        try:
            ledger.charge(event, scope=scope, purpose="the same records")
        except BudgetError:
            continue
        yield f"A budget of 2 paid for 4 on {scope or 'everybody'!r}."
