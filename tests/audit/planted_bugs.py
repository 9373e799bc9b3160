"""Methods with one bug each, which has been a real one somewhere: subclasses of sound methods.

Each is an entry for the audit's catalogue. A bug is planted where an author would write it: in the
learner, in what a method does with its run, or in its plan.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from record_arrays import numbers_in

from dpfair import (
    Algorithm2,
    FairPostProcessor,
    InputError,
    PrivateBoosting,
    PrivateFairClassifier,
    PrivateLogisticRegression,
    PrivateSearchCV,
)
from dpfair.audit.catalogue import CATALOGUE, Method
from dpfair.audit.catalogue.jobs import PaidFromFile, PaidRegression
from dpfair.learners.boosting import BoostingLearner
from dpfair.learners.descent import FlatClip
from dpfair.learners.features import design
from dpfair.learners.logistic import LogisticLearner
from dpfair.methods.dp_fermi import DPFermi
from dpfair.methods.search import right_and_wrong
from dpfair.methods.training import TRAIN
from dpfair.privacy.assumptions import Assumption
from dpfair.privacy.events import noisy_table
from dpfair.privacy.plan import Step

ENTRIES = {method.name: method for method in CATALOGUE}


def broken(name, kind, **settings):
    """An entry like another one, whose model is of a broken class with the same parameters."""

    def make(schema, relation):
        model = ENTRIES[name].make(schema, relation)
        return kind(**model.get_params(deep=False) | settings)

    return replace(ENTRIES[name], name=f"broken {name}", make=make)


# What learners do.


def descent_changed(change):
    """Logistic regression that changes its planned descent when it sees the records."""

    class Learner(LogisticLearner):
        def train(self, plan, records, schema, receipt, progress=None):
            changed = replace(plan, descent=change(plan.descent, records))
            return super().train(changed, records, schema, receipt, progress)

    return trained_by(Learner)


def draws_changed(change, learner=LogisticLearner):
    """A learner that gets its noise through other draws."""

    class Learner(learner):
        def train(self, plan, records, schema, receipt, progress=None):
            return super().train(plan, records, schema, Passed(receipt, change), progress)

    return trained_by(Learner)


def trained_by(learner):
    base = PrivateBoosting if issubclass(learner, BoostingLearner) else PrivateLogisticRegression

    class Model(base):
        learner_class = learner

    return Model


class Passed:
    """A receipt whose draws are passed on through a wrapper."""

    def __init__(self, receipt, wrapper):
        self.noise, self.draw = receipt.noise, lambda event: wrapper(receipt.draw(event))


class SameDraw:
    """A draw that does what the real one does."""

    def __init__(self, real):
        self.batch, self.gaussian = real.batch, real.gaussian
        self.discrete_gaussian = real.discrete_gaussian
        self.real = real


def told(factor):
    """Draws that are told a smaller sensitivity."""

    class Draw(SameDraw):
        def __init__(self, real):
            super().__init__(real)
            self.gaussian = lambda value, sensitivity, *rest: real.gaussian(
                value, factor * sensitivity, *rest
            )
            self.discrete_gaussian = lambda value, units, sensitivity: real.discrete_gaussian(
                value, units, factor * sensitivity
            )

    return Draw


class Unclipped(LogisticLearner):
    """Clips to a thousand times the norm that it states."""

    def train(self, plan, records, schema, receipt, progress=None):
        large = replace(plan.descent, clip=FlatClip(1000 * plan.descent.clip.norm))
        receipt = Passed(receipt, told(1 / 1000))
        return super().train(replace(plan, descent=large), records, schema, receipt, progress)


no_clipping = trained_by(Unclipped)
half_the_sensitivity = draws_changed(told(1 / 2))
half_the_sensitivity_of_trees = draws_changed(told(1 / 2), BoostingLearner)
a_hundred_thousandth_less_sensitivity = draws_changed(told(1 - 1e-5))
division_by_the_true_number_of_records = descent_changed(
    lambda descent, records: replace(descent, divisor=len(records))
)
sensitivity_by_the_true_number_of_records = descent_changed(
    lambda descent, records: replace(
        descent, clip=FlatClip(descent.clip.norm * (1 + 1 / len(records)))
    )
)
early_stop_by_the_true_loss = descent_changed(
    lambda descent, records: descent if records.labels.mean() < 0.5 else replace(descent, steps=2)
)


class RateByRecords(LogisticLearner):
    """Takes batches at another rate than was paid for."""

    def train(self, plan, records, schema, receipt, progress=None):
        rate, noise = min(1.0, 8 / len(records)), receipt.noise
        sample = noise.exact_batch if plan.descent.exact else noise.poisson_batch

        class Draw(SameDraw):
            def __init__(self, real):
                super().__init__(real)
                self.batch = self.at_another_rate

            def at_another_rate(self, population):
                self.real.batch(population)
                return sample(population, rate)

        return super().train(plan, records, schema, Passed(receipt, Draw), progress)


rate_of_the_batches_by_the_true_number = trained_by(RateByRecords)


class NoNoiseIfEmpty(SameDraw):
    def __init__(self, real):
        super().__init__(real)
        self.gaussian = lambda value, *rest: real.gaussian(value, *rest) if value.any() else value


no_noise_on_an_empty_batch = draws_changed(NoNoiseIfEmpty)


class ScaledByData(LogisticLearner):
    def train(self, plan, records, schema, receipt, progress=None):
        middle = np.nan_to_num(np.nanmean(numbers_in(records), axis=0))
        spread = np.nan_to_num(np.nanstd(numbers_in(records), axis=0)) + 1e-3
        columns = [
            replace(c, center=float(middle[i]), scale=float(spread[i]))
            for i, c in enumerate(schema.numeric)
        ]
        fitted = replace(schema, columns=(*columns, *schema.categorical))
        return super().train(plan, records, fitted, receipt, progress)


numbers_scaled_by_the_data = trained_by(ScaledByData)


class FreeStep(LogisticLearner):
    """One more step, with noise that nobody charged."""

    def train(self, plan, records, schema, receipt, progress=None):
        scorer = super().train(plan, records, schema, receipt, progress)
        rows = design(self.features, schema, records)
        exact = rows.weighted_sum(np.ones(len(rows), dtype=np.float32))
        noisy = exact + receipt.noise.normals(len(exact))
        return replace(scorer, weights=scorer.weights - 0.01 * noisy)


a_step_that_nobody_charged = trained_by(FreeStep)


class SlowerOnMany(LogisticLearner):
    def train(self, plan, records, schema, receipt, progress=None):
        if len(records) > 1000:
            plan = replace(plan, learning_rate=plan.learning_rate / 2)
        return super().train(plan, records, schema, receipt, progress)


a_smaller_learning_rate_for_many_records = trained_by(SlowerOnMany)


# What methods do with their records and their run.


class SplitByPermutation(PrivateFairClassifier):
    def train(self, records, run):
        n, shares = len(records), run.plan.shares
        order, cuts = np.argsort(run.noise.uniforms(n)), np.cumsum([*shares.values()])[:-1]
        parts = [records.take(np.sort(rows)) for rows in np.split(order, (cuts * n).astype(int))]
        run.parts = lambda records: dict(zip(shares, parts, strict=True))
        return super().train(records, run)


class CountedRecordsTrain(PrivateFairClassifier):
    def train(self, records, run):
        parts = run.parts(records) | {"train": records}
        run.parts = lambda records: parts
        return super().train(records, run)


class SmallGroupLeftOut(PrivateFairClassifier):
    def train(self, records, run):
        sizes = np.bincount(records.groups[records.groups >= 0], minlength=2)
        small = (records.groups >= 0) & (sizes[records.groups] < 5)
        return super().train(records.take(~small), run)


class CountedTwice(FairPostProcessor):
    def train(self, records, run):
        return super().train(records.take(np.repeat(np.arange(len(records)), 2)), run)


class AllRecordsOfAPerson(PrivateFairClassifier):
    def learn(self, records, run):
        plan = run.plan
        run.plan = replace(plan, budget=replace(plan.budget, rows_per_unit=99))
        super().learn(records, run)
        self.plan_ = plan


class RowsFilledIn(PrivateFairClassifier):
    def learn(self, records, run):
        self.schema_ = replace(self.schema_, rows=len(records))
        super().learn(records, run)


class TrueSizes(Algorithm2):
    def train(self, records, run):
        fitted = super().train(records, run)
        noisy = fitted.releases["count"]
        sizes = np.bincount(records.groups[records.groups >= 0], minlength=len(noisy.groups))
        accepted = noisy.counts[:, 0, 1]
        counts = np.stack([sizes - accepted, accepted], axis=1)[:, None, :]
        return replace(fitted, releases={"count": replace(noisy, counts=counts)})


class ClassesFromLabels(PrivateLogisticRegression):
    def learn(self, records, run):
        self.classes_ = self.classes_[np.unique(records.labels[records.labels >= 0])]
        super().learn(records, run)


class ErrorAboutAGroup(PrivateLogisticRegression):
    def learn(self, records, run):
        if len(np.unique(records.groups)) < 2:
            raise InputError("One group has no records.")
        super().learn(records, run)


class PrintedNumber(PrivateLogisticRegression):
    def learn(self, records, run):
        print(f"training on {len(records)} records")
        super().learn(records, run)


class RecordsKept(PrivateLogisticRegression):
    def learn(self, records, run):
        self.nearest_ = numbers_in(records)
        super().learn(records, run)


class NumberInTheLedger(PaidRegression):
    """The row of the ledger names the job, by a digest of its settings."""

    rows = 0

    def fit(self, X, y, sensitive_features=None):
        NumberInTheLedger.rows = len(X)
        return super().fit(X, y, sensitive_features)

    def settings(self):
        return super().settings() | {"rows": self.rows}


def number_of_records_in_the_ledger(schema, relation):
    model = ENTRIES["logistic-paid"].make(schema, relation).model
    return PaidFromFile(NumberInTheLedger(**model.get_params(deep=False)))


class ScoredOnFitted(PrivateSearchCV):
    def train(self, records, run):
        fitting = run.parts(records)["fit"]
        run.parts = lambda records: {"fit": fitting, "validate": fitting}
        return super().train(records, run)


class ExactWinner(PrivateSearchCV):
    """The noisy score is drawn, paid and shown, and does not decide."""

    seen = None

    def train(self, records, run):
        ExactWinner.seen = records.declared()
        return super().train(records, run)

    def better(self, run, best):
        exact = [right_and_wrong(one.model, self.seen)[0] for one in (run, best)]
        return exact[0] > exact[1]


# What is assumed to be public.


class UnstatedAssumption(DPFermi):
    def privacy(self):
        return replace(super().privacy(), assumed_public=())


def assuming(change, kind=DPFermi):
    """A method whose assumptions are declared as ``change`` says."""

    class Model(kind):
        def train(self, records, run):
            real = run.assume
            run.assume = lambda fact, value: change(real, fact, value)
            return super().train(records, run)

    return Model


shares_of_groups_read_in_passing = assuming(lambda real, fact, value: value)
labels_counted_under_the_name_of_groups = assuming(
    lambda real, fact, value: real(Assumption(fact.by[:1]), value)
)
groups_counted_under_the_name_of_the_size = assuming(
    lambda real, fact, value: real(Assumption((), fact.scope), value), Algorithm2
)


class LargestNumberAsSize(DPFermi):
    def train(self, records, run):
        run.assume(Assumption(), numbers_in(records).max(axis=0, initial=0.0))
        return super().train(records, run)


# What is planned.


class CheapTables(PrivateFairClassifier):
    """A replaced record moves two cells, and one of them is paid for."""

    def make_plan(self, schema, budget, facts):
        plan = super().make_plan(schema, budget, facts)
        steps = [
            step
            if step.name == TRAIN
            else replace(step, event=getattr(step.event, "event", step.event))
            for step in plan.steps
        ]
        return replace(plan, steps=tuple(steps))


class DrawnUnplanned(PrivateFairClassifier):
    """A table whose charge is in no plan, by a ledger of its own."""

    def learn(self, records, run):
        super().learn(records, run)
        event = noisy_table(1, self.relation)
        own = run.plan.budget.ledger(run.noise)
        receipt = own.charge(event, scope="", purpose="one more table")
        self.extra_ = receipt.draw(event).discrete_laplace([len(records)])


class PlannedAgain(PrivateFairClassifier):
    """What is paid and drawn is another plan than the one that was shown."""

    def learn(self, records, run):
        other = self.__class__(**{**self.get_params(deep=False), "epsilon": self.epsilon / 2})
        super().learn(records, other.plan(self.schema_).open(run.noise))


class PlannedUndrawn(PrivateFairClassifier):
    """A step that is charged and never drawn."""

    def make_plan(self, schema, budget, facts):
        plan = super().make_plan(schema, replace(budget, epsilon=budget.epsilon / 2), facts)
        extra = Step("extra", "", "one more table", noisy_table(1, budget.relation))
        return replace(plan, budget=budget, steps=(*plan.steps, extra))


class OtherScope(PrivateFairClassifier):
    """Training records are counted, and pay in the scope of the others."""

    def train(self, records, run):
        parts = run.parts(records)
        run.parts = lambda records: {**parts, "release": parts["train"]}
        return super().train(records, run)


PAID = Method("broken logistic-paid", "its ledger tells", number_of_records_in_the_ledger)
