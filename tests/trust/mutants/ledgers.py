"""Broken ledger files."""

from __future__ import annotations

from trust.mutants.registry import mutant, patched

from dpfair.learners import logistic
from dpfair.privacy import accountants, tally
from dpfair.privacy.ledger_file import file as ledger_file
from dpfair.privacy.ledger_file import rows as ledger_rows
from dpfair.privacy.ledger_file import scopes
from dpfair.privacy.ledger_file import store as ledger_store
from dpfair.privacy.ledger_file import verify as ledger_verify
from dpfair.privacy.ledger_file.file import LedgerFile
from dpfair.privacy.ledger_file.scopes import Scopes
from dpfair.privacy.payment import Payment


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
