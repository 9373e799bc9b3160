"""Broken accounts: what is charged, and how it is added up."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from trust.mutants.registry import mutant, patched

from dpfair import validate
from dpfair.methods import fair_classifier, search, tables
from dpfair.privacy import adaptive, events, tally
from dpfair.privacy.accountants import answers
from dpfair.privacy.draw import Draw
from dpfair.privacy.ledger import Ledger, Receipt


@mutant("a step is never charged", "replay reuse")
def _uncharged():
    def free(self, event, *, scope, purpose):
        if purpose == fair_classifier.COUNTING:
            return Receipt(event, self.noise, scope)
        return real(self, event, scope=scope, purpose=purpose)

    real = Ledger.charge
    with patched((Ledger, "charge", free)):
        yield


def _endless(*changes):
    """Receipts that never run out."""

    def drawn(self, event):
        return Draw(event, self.noise, self.scope)

    return patched(
        (Receipt, "draw", drawn), (Receipt, "used_up", property(lambda self: True)), *changes
    )


@mutant("charged once and drawn twice", "replay reuse")
def _drawn_twice():
    real = tables.release_cells

    def averaged(*counted, **how):
        one, two = real(*counted, **how), real(*counted, **how)
        return replace(one, counts=(one.counts + two.counts) // 2)

    with _endless((tables, "release_cells", averaged)):
        yield


@mutant("receipts never run out", "receipts")
def _endless_receipts():
    with _endless():
        yield


@mutant("the choice among the runs of a search is free", "replay search")
def _select_forgotten():
    def one_run(alternatives, mean, shape):
        return max(alternatives, key=lambda event: sum(events.parts(event).values()))

    def runs(self):
        return 3

    with patched(
        (search, "best_of_runs", one_run),
        (Draw, "runs", runs),
        (Draw, "allow", lambda self, charges: None),
    ):
        yield


@mutant("the gate is the GDP approximation", "accountants")
def _gdp_gate():
    rows = answers.ACCOUNTANTS
    approximate = {**rows, "pld": replace(rows["pld"], compute=rows["gdp"].compute)}
    with patched((answers, "ACCOUNTANTS", approximate)):
        yield


@mutant("NaN is a budget", "parameters", instead_of=(validate, "positive"))
def _nan_budget(**parameters):
    for value in parameters.values():
        if value <= 0:
            raise validate.InputError("Expected a positive number.")


@mutant("amounts are compared with a tolerance", "budgets")
def _tolerant_budget():
    real = Ledger.row_budget.fget

    def roomy(self):
        epsilon, delta = real(self)
        return epsilon * (1 + Fraction(1, 10**6)), delta

    with patched((Ledger, "row_budget", property(roomy))):
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
    shares = {factor: 2 * share for factor, share in adaptive.SHARES.items()}
    with patched((adaptive, "SHARES", shares)):
        yield


@mutant("a draw forgives three parts in a hundred", "draws")
def _forgiving_draw():
    real = Draw.gaussian

    def forgiving(self, value, sensitivity, noise_multiplier=None):
        if noise_multiplier is None:
            return real(self, value, sensitivity)
        noisy = real(self, value, sensitivity, 1.03 * noise_multiplier)
        return value + (noisy - value) / 1.03

    with patched((Draw, "gaussian", forgiving)):
        yield
