"""Broken accounts: what is charged, and how it is added up."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from trust.mutants.registry import mutant, patched

from dpfair import validate
from dpfair.fairness import release as release_module
from dpfair.methods import fair_classifier as private_fair
from dpfair.privacy import (
    accountants,
    adaptive,
    draw,
    events,
    tally,
)
from dpfair.privacy import ledger as ledger_module

_discrete_laplace_draw = draw.Draw.discrete_laplace


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
    from dpfair.methods import search

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


# --- constants of proofs --------------------------------------------------------------------


@mutant("the filter's rules have twice the delta", "shares")
def _double_shares():
    shares = {factor: 2 * share for factor, share in adaptive._SHARES.items()}
    with patched((adaptive, "_SHARES", shares)):
        yield


@mutant("a draw forgives five parts in a hundred", "draws")
def _forgiving_draw():
    real = draw.Draw._use

    def forgiving(self, sensitivity, noise_multiplier=None):
        self._precision *= 1.05
        return real(self, sensitivity, noise_multiplier)

    with patched((draw.Draw, "_use", forgiving)):
        yield
