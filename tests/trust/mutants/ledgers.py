"""Broken ledger files."""

from __future__ import annotations

from hashlib import sha256
from types import SimpleNamespace

from trust.mutants.registry import mutant, patched

from dpfair.methods.base import PrivateClassifier
from dpfair.privacy import accountants, tally
from dpfair.privacy.ledger_file import chain as ledger_chain
from dpfair.privacy.ledger_file import rows as ledger_rows
from dpfair.privacy.ledger_file import scopes
from dpfair.privacy.ledger_file import store as ledger_store
from dpfair.privacy.ledger_file import verify as ledger_verify
from dpfair.privacy.ledger_file.scopes import Scopes


@mutant("the file is charged after the noise", "order")
def _charged_after():
    real_payment, real_fit = PrivateClassifier.payment, PrivateClassifier.fit
    waiting = []

    def payment(self, plan, schema, noise=None, unit=None):
        waiting.append(real_payment(self, plan, schema, noise, unit))
        return SimpleNamespace(
            pay=lambda: plan.open(noise), check_records=lambda *_: None, close=lambda: None
        )

    def fit(self, *table):
        model = real_fit(self, *table)
        waiting.pop().pay()
        return model

    with patched((PrivateClassifier, "payment", payment), (PrivateClassifier, "fit", fit)):
        yield


@mutant("a job tried again draws again", "keys")
def _drawn_again():
    with patched((ledger_chain.Chain, "refuse_used_key", lambda *asked: None)):
        yield


@mutant("charges stay in the log", "copies")
def _unsettled():
    with patched((ledger_store, "settle", lambda *asked: None)):
        yield


@mutant("the next job costs what a fixed list would", "filters", instead_of=(tally, "filter_cost"))
def _fixed_lists(event, epsilon, delta, relation):
    return accountants.cost(event, delta, relation)


@mutant("the chain is not looked at", "tampering")
def _unchained():
    real = ledger_rows.read_row

    def believed(previous, row):
        seq, before = (previous.seq + 1, previous.hash) if previous else (0, ledger_rows.BEFORE_ALL)
        fitting = sha256((before + row.body).encode()).hexdigest()
        return real(previous, ledger_rows.Row(seq, row.body, fitting))

    with patched(
        (ledger_rows, "read_row", believed),
        (ledger_chain, "read_row", believed),
        (ledger_verify, "read_row", believed),
    ):
        yield


@mutant("declared parts share no budget with the whole", "scopes", instead_of=(tally.Tally, "add"))
def _parts_apart(self, scope, amount, total):
    self.spent = max(self.spent, total)


_check_scope = Scopes.check


@mutant("a look-alike of a scope is a new one", "spellings")
def _look_alikes():
    with patched((scopes, "skeletons", lambda name: frozenset([name]))):
        yield


@mutant("only the case of scopes is compared", "spellings")
def _only_case():
    with patched((scopes, "skeletons", lambda name: frozenset([name.casefold()]))):
        yield


@mutant("a charge brings its scope into being", "spellings", instead_of=(Scopes, "check"))
def _undeclared(self, scope, *, new=False):
    _check_scope(self, scope, new=True)
