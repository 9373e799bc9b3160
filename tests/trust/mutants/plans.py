"""Broken plans: what is planned, what is opened, and what is drawn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from sklearn.base import clone
from trust.mutants.registry import mutant, patched

from dpfair.fairness.release import HALF, Release
from dpfair.fairness.undeclared import ALL
from dpfair.learners import logistic
from dpfair.methods import fair_classifier
from dpfair.methods.base import PrivateClassifier
from dpfair.privacy.events import noisy_table
from dpfair.privacy.ledger import Ledger
from dpfair.privacy.plan import FitPlan, Run
from dpfair.privacy.tally import Tally

_learn = PrivateClassifier.learn
_plan = PrivateClassifier.plan
_calibrate = logistic.calibrate


@mutant(
    "a table is drawn that no plan lists", "replay reuse", instead_of=(PrivateClassifier, "learn")
)
def _drawn_unplanned(self, records, run):
    _learn(self, records, run)
    event = noisy_table(1, self.relation)
    own = run.plan.budget.ledger(run.noise)
    receipt = own.charge(event, scope="", purpose="one more table")
    self.records_ = receipt.draw(event).discrete_laplace([len(records)])


@mutant("a planned table is filled in without noise", "replay reuse-values")
def _planned_undrawn():
    def filled_in(records, *, receipt, dependence):
        counts = np.bincount(records.irregular, minlength=2)[None, None, :]
        return Release(ALL, HALF, counts, (1.0,), None, dependence, undeclared={"group": 0})

    with patched(
        (fair_classifier, "release_irregular", filled_in), (Run, "close", lambda self: None)
    ):
        yield


@mutant("a run ends with steps that were not drawn", "plans")
def _unlooked_close():
    with patched((Run, "close", lambda self: None)):
        yield


@mutant("a fit charges what it did not plan", "plans")
def _unsealed():
    with patched((Ledger, "seal", lambda self: None)):
        yield


@mutant(
    "training is planned with less noise than the budget allows",
    "plans",
    "replay logistic",
    instead_of=(logistic, "calibrate"),
)
def _less_noise(epsilon, *how, **named):
    return _calibrate(1.2 * epsilon, *how, **named)


@mutant("a plan over its budget is not refused", "plans")
def _over_budget():
    def less(epsilon, *how, **named):
        return _calibrate(1.2 * epsilon, *how, **named)

    def free(self, scope, amount):
        return self.spent

    with patched((logistic, "calibrate", less), (Tally, "total", free)):
        yield


@mutant("a plan is made again, with other numbers", "plans", "replay reuse")
def _planned_again():
    def learn(self, records, run):
        other = clone(self).set_params(epsilon=self.epsilon / 2)
        _learn(self, records, other.plan(self.schema_).open(run.noise))

    def plan(self, *given, **named):
        made = _plan(self, *given, **named)
        if vars(self).setdefault("plans", 0):
            made = replace(made, steps=made.steps[:1])
        self.plans += 1
        return made

    with patched((PrivateClassifier, "learn", learn), (PrivateClassifier, "plan", plan)):
        yield


@mutant("records that train are counted at the cost of others", "replay reuse-check")
def _other_scope():
    real = FitPlan.open

    def swapped(self, noise):
        steps = [
            replace(step, scope="others") if step.name == "count" else step for step in self.steps
        ]
        run = real(replace(self, steps=tuple(steps), shares={**self.shares, "others": 0.5}), noise)
        run.plan = self
        return run

    with patched((FitPlan, "open", swapped)):
        yield


@mutant("plans of other costs are taken for the same", "plans")
def _always_agreed():
    with patched((FitPlan, "agrees", lambda self, other: True)):
        yield
