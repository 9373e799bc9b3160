"""Deliberately broken twins of the library: each breaks one promise, and must be caught.

A mutant patches the running code, as a careless change would have written it. What catches it is
in :mod:`trust.detectors`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any
from unittest.mock import patch

import numpy as np
import polars as pl

from dpfair import private_fair, search, table, validate
from dpfair.fairness import release as release_module
from dpfair.learners import descent, features, logistic
from dpfair.methods import dp_fermi
from dpfair.privacy import (
    accountants,
    draw,
    events,
    ledger_file,
    ledger_rows,
    ledger_store,
    ledger_verify,
    scopes,
    tally,
)
from dpfair.privacy import ledger as ledger_module
from dpfair.privacy.assumptions import Assumption
from dpfair.privacy.ledger_file import LedgerFile
from dpfair.privacy.noise import Noise
from dpfair.privacy.payment import Payment
from dpfair.privacy.scopes import Scopes
from dpfair.tabular import TabularInput

__all__ = ["MUTANTS", "Mutant"]


@dataclass(frozen=True)
class Mutant:
    """One broken promise."""

    name: str
    broken: Callable[[], Any]
    caught_by: tuple[str, ...]


MUTANTS: list[Mutant] = []


def mutant(name: str, *caught_by: str) -> Callable[[Callable[[], Iterator[None]]], None]:
    """Register a context manager under which the library is broken."""

    def register(broken: Callable[[], Iterator[None]]) -> None:
        MUTANTS.append(Mutant(name, contextmanager(broken), caught_by))

    return register


def patched(*changes: tuple[Any, str, Any]) -> ExitStack:
    """Several attributes replaced at once."""
    stack = ExitStack()
    for owner, name, value in changes:
        stack.enter_context(patch.object(owner, name, value))
    return stack


# --- the noise ------------------------------------------------------------------------------

_laplace = Noise.discrete_laplace
_normals = Noise.normals
_uniforms = Noise.uniforms
_grid = Noise.discrete_gaussian


def again(sampler):
    """Every second call gives what the one before it gave."""
    made = []

    def same(self, *asked):
        if made:
            return made.pop()
        made.append(sampler(self, *asked))
        return made[0]

    return same


@mutant("no noise on counts", "audit count")
def _no_noise():
    with patched((Noise, "discrete_laplace", lambda self, parameter, size: [0] * size)):
        yield


@mutant("half the noise on counts", "audit count")
def _half_noise():
    def half(self, parameter, size):
        return _laplace(self, parameter * 2, size)

    with patched((Noise, "discrete_laplace", half)):
        yield


@mutant("nine tenths of the noise on counts", "audit count")
def _less_noise():
    def less(self, parameter, size):
        return _laplace(self, parameter / Fraction(9, 10), size)

    with patched((Noise, "discrete_laplace", less)):
        yield


@mutant("four fifths of the noise on gradients", "audit gradient step")
def _less_gradient_noise():
    def less(self, count):
        return 0.8 * _normals(self, count)

    with patched((Noise, "normals", less)):
        yield


@mutant("a fixed seed behind the secure source", "sources")
def _fixed_seed():
    def same(self, count):
        return np.random.Philox(7).random_raw(-(-count // 8)).astype("<u8").tobytes()[:count]

    with patched((Noise, "_fresh", same)):
        yield


@mutant("the same noise for all cells of a table", "audit table of scores")
def _same_noise():
    def same(self, parameter, size):
        return _laplace(self, parameter, 1) * size

    with patched((Noise, "discrete_laplace", same)):
        yield


@mutant("the same normal number for all coordinates", "audit gradient step")
def _broadcast_noise():
    def same(self, count):
        return np.repeat(_normals(self, 1), count)

    with patched((Noise, "normals", same)):
        yield


@mutant("noise of one sign", "audit count")
def _one_sided():
    def positive(self, parameter, size):
        return [abs(z) for z in _laplace(self, parameter, size)]

    with patched((Noise, "discrete_laplace", positive)):
        yield


_discrete_laplace_draw = draw.Draw.discrete_laplace


@mutant("empty cells get no noise", "audit count")
def _empty_cells_bare():
    def bare(self, counts):
        noisy = _discrete_laplace_draw(self, counts)
        return [z if c else 0 for c, z in zip(counts, noisy, strict=True)]

    with patched((draw.Draw, "discrete_laplace", bare)):
        yield


@mutant("float32 noise on counts", "support")
def _float32_noise():
    def rounded(self, parameter, size):
        uniform = self.uniforms(size) - 0.5
        noise = -np.sign(uniform) * np.log1p(-2 * np.abs(uniform)) / float(parameter)
        return noise.astype(np.float32).astype(np.float64).tolist()

    with patched((Noise, "discrete_laplace", rounded)):
        yield


@mutant("noise repeats after twenty cells", "audit count, cells far apart")
def _repeating_noise():
    def repeated(self, parameter, size):
        noise = _laplace(self, parameter, 20)
        return [noise[i % 20] for i in range(size)]

    with patched((Noise, "discrete_laplace", repeated)):
        yield


@mutant("normal numbers of sixteen bits", "tails")
def _coarse_noise():
    def coarse(self, count):
        return (np.floor(_uniforms(self, count) * 2**16) + 0.5) / 2**16

    with patched((Noise, "uniforms", coarse)):
        yield


@mutant("noise without its tails", "tails")
def _no_tails():
    def cut(self, count):
        return np.clip(_normals(self, count), -3.5, 3.5)

    with patched((Noise, "normals", cut)):
        yield


@mutant("a second step gets the noise of the first", "audit two steps on Poisson batches")
def _same_noise_twice():
    with patched((Noise, "normals", again(_normals))):
        yield


# --- clipping and sensitivity ---------------------------------------------------------------

_clipped_sum = descent.clipped_sum


def _without_compiled_loop(*changes):
    return patched((descent, "available", lambda: False), *changes)


@mutant("gradients are not clipped", "replay logistic-sgd")
def _no_clip():
    def unclipped(self, norms, batch, answers):
        return np.ones_like(norms), self.norm

    with _without_compiled_loop((descent.FlatClip, "__call__", unclipped)):
        yield


@mutant("the sum is clipped instead of its parts", "clipping")
def _clip_after_sum():
    def after(clip, rows, batch, answers, coefficients, extra):
        total = rows.weighted_sum(coefficients)
        norm = float(np.linalg.norm(total))
        return total * min(1.0, clip.norm / max(norm, 1e-300)), clip.norm

    with _without_compiled_loop((descent, "clipped_sum", after)):
        yield


@mutant("one scale for the whole batch", "clipping")
def _clip_per_batch():
    def together(self, norms, batch, answers):
        worst = float(norms.max()) if len(norms) else 1.0
        scale = min(1.0, self.norm / max(worst, 1e-300))
        return np.full_like(norms, scale), self.norm

    with _without_compiled_loop((descent.FlatClip, "__call__", together)):
        yield


@mutant("half of the true sensitivity is stated", "replay logistic")
def _half_sensitivity():
    real = draw.Draw.gaussian

    def half(self, value, sensitivity, noise_multiplier=None):
        return real(self, value, sensitivity / 2, noise_multiplier)

    with patched((draw.Draw, "gaussian", half)):
        yield


@mutant(
    "replacing a record is priced as removing one",
    "replay reuse",
    "audit table of scores, replace-one",
)
def _priced_as_add_remove():
    real = events.noisy_table

    def cheap(epsilon, relation):
        return real(epsilon, "add_remove")

    with patched((release_module, "noisy_table", cheap)):
        yield


# --- sampling -------------------------------------------------------------------------------


@mutant("batches five times as large as paid for", "audit gradient step on a Poisson batch")
def _larger_batches():
    real = draw.Draw.batch

    def larger(self, population):
        self._rate = min(1.0, 5 * self._rate)
        return real(self, population)

    with patched((draw.Draw, "batch", larger)):
        yield


_poisson = Noise.poisson_batch
_exact_batch = Noise.exact_batch


@mutant("whole-number batches five times as large as paid for", "batches")
def _large_exact_batches():
    def large(self, population, rate):
        return _exact_batch(self, population, 5 * rate)

    with patched((Noise, "exact_batch", large)):
        yield


@mutant("everybody is in every batch", "audit gradient step on a Poisson batch, exact arithmetic")
def _everybody_in_batch():
    with patched((Noise, "exact_batch", lambda self, population, rate: np.arange(population))):
        yield


@mutant("a second step sees the batch of the first", "audit two steps on Poisson batches")
def _same_batch_twice():
    with patched((Noise, "poisson_batch", again(_poisson))):
        yield


@mutant("shuffled batches of a fixed size", "batches")
def _shuffled():
    def shuffled(self, population, rate):
        size = round(population * rate)
        return np.sort(np.argsort(self.uniforms(population))[:size])

    with patched((Noise, "poisson_batch", shuffled)):
        yield


@mutant("the sampling rate is taken from the data", "replay logistic-sgd")
def _rate_from_data():
    real = logistic.PrivateLogisticRegression.train

    def train(self, records, schema, ledger, **how):
        return real(self, records, replace(schema, rows=len(records)), ledger, **how)

    with patched((logistic.PrivateLogisticRegression, "train", train)):
        yield


def _descend_with(change: Callable[..., None]) -> Any:
    """The loop of the library with one line changed."""

    def descend(plan, design, labels, groups, *, objective, optimizer, receipt, start=None, **_):
        parameters = np.zeros(design.width) if start is None else start
        targets = labels.astype(np.float32)
        for _ in range(plan.steps):
            one = receipt.draw(plan.step_event)
            chosen = one.batch(len(design))
            rows = design.take(chosen)
            batch = descent.Batch(
                rows.scores(parameters.astype(np.float32)), targets[chosen], groups[chosen]
            )
            coefficients, extra = objective.gradients(batch, parameters[:0], [])
            exact, norm = _clipped_sum(plan.clip, rows, batch, [], coefficients, extra)
            divisor = change(plan, rows, batch)
            if divisor is None:
                continue
            if divisor is StopIteration:
                break
            noisy = one.gaussian(exact, norm, plan.noise_multiplier)
            parameters = optimizer.step(parameters, noisy / divisor)
        return parameters

    return descend


@mutant("the sum is divided by the true size of the batch", "replay logistic-sgd")
def _true_divisor():
    changed = _descend_with(lambda plan, rows, batch: max(len(rows), 1))
    with patched((logistic, "descend", changed)):
        yield


@mutant("an empty batch is skipped without noise", "replay logistic-sgd")
def _empty_batch_skipped():
    changed = _descend_with(lambda plan, rows, batch: plan.divisor if len(rows) else None)
    with patched((logistic, "descend", changed)):
        yield


@mutant("training stops early by the private loss", "replay logistic")
def _early_stop():
    def loss(plan, rows, batch):
        signs = 1 - 2 * batch.labels
        mean = float(np.mean(np.logaddexp(0, signs * batch.scores))) if len(rows) else 1.0
        return StopIteration if mean < 0.62 else plan.divisor

    with patched((logistic, "descend", _descend_with(loss))):
        yield


# --- who is where ---------------------------------------------------------------------------

_coin_split = private_fair.coin_split


@mutant("all records are in both scopes", "replay certified")
def _split_reused():
    def both(n, shares, noise, units=None):
        return {name: np.arange(n) for name in _coin_split(n, shares, noise, units)}

    with patched((private_fair, "coin_split", both)):
        yield


@mutant("the split permutes the whole table", "replay certified")
def _permuted_split():
    def permuted(n, shares, noise, units=None):
        order = np.random.Generator(np.random.Philox(n)).permutation(n)
        ends = np.round(np.cumsum(list(shares.values())) * n).astype(int)
        return {
            name: np.sort(order[low:high])
            for name, low, high in zip(shares, [0, *ends], ends, strict=False)
        }

    with patched((private_fair, "coin_split", permuted)):
        yield


@mutant("a quote reaches into the lines after its own", "lines")
def _quotes_across_lines():
    def crossing(path):
        return pl.read_csv(
            path, infer_schema=False, truncate_ragged_lines=True, encoding="utf8-lossy"
        )

    with patched((table, "read_lines", crossing)):
        yield


_exact_counts = release_module.exact_counts


@mutant("a nearly empty group is skipped", "replay reuse")
def _group_skipped():
    def skipped(scores, groups, labels, k, edges):
        counts = _exact_counts(scores, groups, labels, k, edges)
        counts[counts.sum(axis=(1, 2)) < 2] = -5
        return counts

    with patched((release_module, "exact_counts", skipped)):
        yield


@mutant("the scaler is fitted on the data", "replay logistic-sgd")
def _scaler_from_data():
    real = features._standardised

    def fitted(schema, records):
        centred = records.numeric - np.nan_to_num(np.nanmean(records.numeric, axis=0))
        return real(schema, replace(records, numeric=centred))

    with patched((features, "_standardised", fitted)):
        yield


@mutant("the classes are read off the data", "replay reuse")
def _classes_from_data():
    real = TabularInput._training_records

    def read(self, X, y, sensitive_features):
        records = real(self, X, y, sensitive_features)
        self.classes_ = np.unique(np.asarray(y, dtype=str))
        return records

    with patched((TabularInput, "_training_records", read)):
        yield


@mutant("true group sizes reach the rule unpaid", "replay algorithm2")
def _true_sizes():
    real = release_module.release_table

    def with_sizes(scores, groups, names, **how):
        release = real(scores, groups, names, **how)
        object.__setattr__(release, "sizes", tuple(np.bincount(groups, minlength=len(names))))
        return release

    with patched((private_fair, "release_table", with_sizes)):
        yield


@mutant("counts by group and label are listed as counts by group", "replay dp-fermi-odds")
def _labels_unlisted():
    def by_group(by=(), scope=""):
        return Assumption(by[:1], scope)

    with patched((dp_fermi, "Assumption", by_group)):
        yield


@mutant("the exact score decides who wins a search", "replay search")
def _exact_winner():
    def best(template, runs, fitting, validation, ledger, draw):
        tried = [
            search._run(template, runs, fitting, validation, ledger, draw)
            for _ in range(draw.runs())
        ]
        return max(tried, key=lambda run: search._right_and_wrong(run.model, validation)[0])

    with patched((search, "_best", best)):
        yield


@mutant("large tables get a smaller learning rate", "replay logistic")
def _rate_by_size():
    real = logistic.descend

    def descend(plan, design, *rest, optimizer, **named):
        if len(design) > 1000:
            optimizer.learning_rate /= 2
        return real(plan, design, *rest, optimizer=optimizer, **named)

    with patched((logistic, "descend", descend)):
        yield


# --- the account ----------------------------------------------------------------------------


@mutant("a step is never charged", "replay reuse")
def _uncharged():
    def free(self, event, *, scope, purpose):
        if purpose == private_fair.COUNTING:
            return ledger_module.Receipt(event, self.noise, scope)
        return _charge(self, event, scope=scope, purpose=purpose)

    _charge = ledger_module.Ledger.charge
    with patched((ledger_module.Ledger, "charge", free)):
        yield


@mutant("charged once and drawn twice", "replay reuse")
def _drawn_twice():
    def drawn(self, event):
        return draw.Draw(event, self._noise, self._scope)

    real = release_module.release_table

    def averaged(scores, groups, names, **how):
        kept = []

        def remember(self, counts):
            noisy = _discrete_laplace_draw(self, counts)
            again = draw.Draw(self._event, self._noise, self._scope)
            kept.append(_discrete_laplace_draw(again, counts))
            return [(a + b) // 2 for a, b in zip(noisy, kept[-1], strict=True)]

        with patched((draw.Draw, "discrete_laplace", remember)):
            return real(scores, groups, names, **how)

    with patched((ledger_module.Receipt, "draw", drawn), (private_fair, "release_table", averaged)):
        yield


@mutant("receipts never run out", "receipts")
def _endless_receipts():
    def drawn(self, event):
        return draw.Draw(event, self._noise, self._scope)

    with patched((ledger_module.Receipt, "draw", drawn)):
        yield


@mutant("the choice among the runs of a search is free", "replay search")
def _select_forgotten():
    from dpfair import search

    def one_run(alternatives, mean, shape):
        return max(alternatives, key=lambda event: sum(events.parts(event).values()))

    def runs(self):
        return 3

    with patched(
        (search, "best_of_runs", one_run),
        (draw.Draw, "runs", runs),
        (draw.Draw, "allow", lambda self, charges: None),
    ):
        yield


@mutant("the gate is the GDP approximation", "accountants")
def _gdp_gate():
    gates = {**accountants.ACCOUNTANTS, "pld": accountants.ACCOUNTANTS["gdp"]}
    with patched((accountants, "ACCOUNTANTS", gates)):
        yield


@mutant("NaN is a budget", "parameters")
def _nan_budget():
    def careless(**parameters):
        for value in parameters.values():
            if value <= 0:
                raise validate.InputError("Expected a positive number.")

    with patched((validate, "positive", careless)):
        yield


@mutant("amounts are compared with a tolerance", "budgets")
def _tolerant_budget():
    real = ledger_module.Ledger.row_budget.fget

    def roomy(self):
        epsilon, delta = real(self)
        return epsilon * (1 + Fraction(1, 10**6)), delta

    with patched((ledger_module.Ledger, "row_budget", property(roomy))):
        yield


@mutant("only half of every amount is counted", "budgets")
def _half_counted():
    real = tally.Amount.of

    def half(event):
        amount = real(event)
        return replace(amount, pure=None if amount.pure is None else amount.pure / 2)

    with patched((tally.Amount, "of", half)):
        yield


# --- exact arithmetic -----------------------------------------------------------------------


@mutant("less noise on a grid", "audit gradient step, exact arithmetic")
def _less_grid_noise():
    real = Noise.discrete_gaussian

    def less(self, variance, size):
        return real(self, max(int(0.6 * variance), 1), size)

    with patched((Noise, "discrete_gaussian", less)):
        yield


@mutant("one unit for all coordinates", "audit gradient step, exact arithmetic, two units")
def _one_unit():
    real = draw.Draw.discrete_gaussian

    def scaled(self, value, units, sensitivity):
        return real(self, value, np.full_like(units, units.max()), sensitivity)

    with patched((draw.Draw, "discrete_gaussian", scaled)):
        yield


@mutant("noise on a grid without its tails", "tails")
def _no_grid_tails():
    def cut(self, variance, size):
        most = int(3.5 * variance**0.5)
        return np.clip(_grid(self, variance, size), -most, most)

    with patched((Noise, "discrete_gaussian", cut)):
        yield


@mutant("integer gradients are not clipped", "replay logistic-clipped-exact")
def _no_exact_clip():
    real = descent.exact_logistic_sum

    def unclipped(design, chosen, targets, parameters, limit, grid, **how):
        return real(design, chosen, targets, parameters, 1e9, grid, **how)

    with patched((descent, "exact_logistic_sum", unclipped)):
        yield


# --- the ledger file ------------------------------------------------------------------------


@mutant("the file is charged after the noise", "order")
def _charged_after():
    real_pay, real_fit = Payment.pay, logistic.PrivateLogisticRegression.fit
    waiting = []

    def fit(self, *table):
        model = real_fit(self, *table)
        real_pay(waiting.pop())
        return model

    with patched(
        (Payment, "pay", lambda self: waiting.append(self)),
        (logistic.PrivateLogisticRegression, "fit", fit),
    ):
        yield


@mutant("a job tried again draws again", "keys")
def _drawn_again():
    with patched((LedgerFile, "_refuse_known", lambda *asked: None)):
        yield


@mutant("charges stay in the log", "copies")
def _unsettled():
    with patched((ledger_store, "settle", lambda connection, path: None)):
        yield


@mutant("the next job costs what a fixed list would", "filters")
def _fixed_lists():
    def fixed(event, epsilon, delta, relation):
        return accountants.cost(event, delta, relation)

    with patched((tally, "filter_cost", fixed)):
        yield


@mutant("the chain is not looked at", "tampering")
def _unchained():
    def believed(previous, row):
        return ledger_rows._content(row)

    with patched(
        (ledger_rows, "read_row", believed),
        (ledger_file, "read_row", believed),
        (ledger_verify, "read_row", believed),
    ):
        yield


@mutant("declared parts share no budget with the whole", "scopes")
def _parts_apart():
    real = tally.Tally.total

    def apart(self, scope, amount):
        alone = tally.Tally(self._epsilon, self._delta, self._relation)
        return real(alone, scope, amount)

    with patched((tally.Tally, "total", apart)):
        yield


_check_scope = Scopes.check


@mutant("a look-alike of a scope is a new one", "spellings")
def _look_alikes():
    with patched((Scopes, "_twin", lambda self, scope: None)):
        yield


@mutant("only the case of scopes is compared", "spellings")
def _only_case():
    with patched((scopes, "skeletons", lambda name: frozenset([name.casefold()]))):
        yield


@mutant("a charge brings its scope into being", "spellings")
def _undeclared():
    def declared(self, scope, *, new=False):
        _check_scope(self, scope, new=True)

    with patched((Scopes, "check", declared)):
        yield
