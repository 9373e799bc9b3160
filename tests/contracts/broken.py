"""A method as somebody would add it, and methods with one mistake each that a check must find."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from record_arrays import numbers_in

from dpfair import InputError, LogisticLearner, Noise
from dpfair.certificate.parity import parity_claim
from dpfair.fairness.release import HALF
from dpfair.fairness.rules import parity_rule
from dpfair.learners.scorer import LinearScorer
from dpfair.methods.base import PrivateClassifier
from dpfair.methods.fitted import Fitted
from dpfair.methods.tables import Reading, count, table_step
from dpfair.privacy.events import noisy_table
from dpfair.privacy.ledger import Ledger
from dpfair.privacy.plan import FitPlan

__all__ = ["BROKEN", "TOLD", "Another", "NoNoise", "Sound"]


@dataclass(eq=False, repr=False)
class Sound(PrivateClassifier):
    """Scores of a learner, and flips to one rate by what other records count."""

    tables = ("count",)
    quick: ClassVar[dict[str, Any]] = {"learner": LogisticLearner(**LogisticLearner.quick)}

    _: KW_ONLY
    release_share: float = 0.5
    learner: Any = None
    unit: str | int | None = None
    rows_per_unit: int = 1
    coins: str = "keyed"

    def make_plan(self, schema, budget, facts):
        shares = {"train": 1 - self.release_share, "release": self.release_share}
        training = self.training_steps(schema, budget, scope="train", share=shares["train"])
        purpose = "count the accepted by group"
        table = table_step("count", "release", purpose, budget.row_epsilon, HALF, budget)
        return FitPlan(budget, (*training, table), shares)

    def train(self, records, run):
        parts = run.parts(records)
        scorer = self.train_scorer(parts["train"], run)
        return self.choose(Fitted(scorer, {"count": self.released(scorer, parts["release"], run)}))

    def released(self, scorer, records, run):
        return count(
            records,
            Reading(scorer),
            self.schema_.groups,
            by_label=False,
            receipt=run["count"],
            dependence=self.dependence("count"),
        )

    def choose(self, fitted):
        rates = [rate.estimate for rate in fitted.releases["count"].rates]
        return replace(fitted, rule=parity_rule(rates))

    def fairness(self, fitted):
        return parity_claim(fitted.releases["count"], fitted.rule, self.confidence)


class Another(LogisticLearner):
    """A learner of another name."""


BROKEN: list[tuple[str, type[Any], str]] = []
"""The check that must find the mistake, the class, and what the check says."""


def found_by(check: str, says: str) -> Callable[[type[Any]], type[Any]]:
    """Which check finds a mistake."""

    def mark(kind: type[Any]) -> type[Any]:
        BROKEN.append((check, kind, says))
        return kind

    return mark


# Parameters.


@found_by("parameters are kept and cloned", "release_share is not kept as it was given")
@dataclass(eq=False, repr=False)
class RoundsAParameter(Sound):
    def __post_init__(self):
        self.release_share = 0.5


@found_by("an unfitted model says so", "DID NOT RAISE")
class PredictsUnfitted(Sound):
    def predict(self, X, sensitive_features=None):
        return np.zeros(len(X))


@found_by("wrong parameters are refused", "DID NOT RAISE")
class ChecksNothing(Sound):
    def check_parameters(self):
        pass


# The plan and the account.


@found_by("what is planned is charged and drawn", "did not draw all that it was charged for")
class SkipsAPlannedDraw(Sound):
    def make_plan(self, schema, budget, facts):
        plan = super().make_plan(schema, budget, facts)
        training, table = plan.steps
        half = noisy_table(budget.row_epsilon / 2, budget.relation)
        tables = replace(table, event=half), replace(table, name="more", event=half)
        return replace(plan, steps=(training, *tables))


@found_by("what is planned is charged and drawn", "'more' is not in the plan of this fit")
class DrawsAnUnplannedStep(Sound):
    def train(self, records, run):
        run["more"].draw(noisy_table(1, self.relation)).discrete_laplace([len(records)])
        return super().train(records, run)


@found_by("what is planned is charged and drawn", "was taken before")
class DrawsAStepTwice(Sound):
    def released(self, scorer, records, run):
        super().released(scorer, records, run)
        return super().released(scorer, records, run)


@found_by("what is planned is charged and drawn", "paid for 0 draws")
class PaysFromAnotherLedger(Sound):
    def train(self, records, run):
        event = noisy_table(1, self.relation)
        own = Ledger(1, 1e-5, relation=self.relation, noise=run.noise)
        receipt = own.charge(event, scope="release", purpose="one more")
        receipt.draw(event).discrete_laplace([len(records)])
        return super().train(records, run)


@found_by("the certificate states the budget", "assert 6.0 == 3.0")
class SpendsMore(Sound):
    def make_plan(self, schema, budget, facts):
        return super().make_plan(schema, replace(budget, epsilon=2 * budget.epsilon), facts)


@found_by("a fit plans once", "assert 2 == 1")
class PlansAgain(Sound):
    def train(self, records, run):
        assert self.plan(self.schema_) == run.plan
        return super().train(records, run)


@found_by("a plan can be written and read", "shares")
class PlansByNumbers(Sound):
    def make_plan(self, schema, budget, facts):
        plan = super().make_plan(schema, budget, facts)
        return replace(plan, shares={**plan.shares, 3: 0.0})


@found_by("a ledger file pays before records are read", "A record was read before")
class CountsFirst(Sound):
    def fit(self, X, y, sensitive_features=None):
        if len(X) == 0:
            raise InputError("There are no records.")
        return super().fit(X, y, sensitive_features)


@found_by("a plan of other parameters is refused", "DID NOT RAISE")
class FitsByAnyPlan(Sound):
    def _planned_again(self, given, schema):
        return given


@found_by("changed parameters are not saved", "DID NOT RAISE")
class SavesWhatIsNotFitted(Sound):
    def check_unchanged(self):
        pass


# Neighbours.

TOLD = "depends on a record in other ways than by the noisy answers"


@found_by("neighbours are not told apart", f"model.fitted_.scorer.weights {TOLD}")
class ReadsAValue(Sound):
    """The mean of a number gets into the weights without noise."""

    def train_scorer(self, records, run):
        scorer = super().train_scorer(records, run)
        return replace(scorer, weights=scorer.weights + np.nan_to_num(numbers_in(records)).mean())


@found_by("neighbours are not told apart", f"model.fitted_.scorer.nearest {TOLD}")
class KeepsRecords(Sound):
    """A scorer that remembers what it was trained on."""

    def train_scorer(self, records, run):
        scorer = super().train_scorer(records, run)
        return RememberingScorer(
            scorer.schema, scorer.features, scorer.weights, numbers_in(records)
        )


@dataclass(frozen=True)
class RememberingScorer(LinearScorer):
    nearest: Any = None


@found_by("neighbours are not told apart", f"counts {TOLD}")
class CountsExactly(Sound):
    def released(self, scorer, records, run):
        noisy = super().released(scorer, records, run)
        right = np.bincount(np.maximum(records.groups, 0), minlength=len(noisy.groups))
        return replace(noisy, counts=noisy.counts + right[:, None, None])


@found_by("neighbours are not told apart", "One record is in the disjoint scopes")
class CountsTrainingRecords(Sound):
    def train(self, records, run):
        parts = run.parts(records) | {"release": records}
        run.parts = lambda records: parts
        return super().train(records, run)


@found_by("persons are not told apart", "One record is in the disjoint scopes")
class ForgetsPersons(Sound):
    def learn(self, records, run):
        super().learn(replace(records, units=None), run)


# Tables that nobody prepared.


@found_by("missing and extreme values", "A value is missing")
class NeedsEveryValue(Sound):
    def train(self, records, run):
        if not np.isfinite(numbers_in(records)).all():
            raise InputError("A value is missing.")
        return super().train(records, run)


@found_by("undeclared groups and labels", "Who is that?")
class NeedsEveryGroup(Sound):
    def train(self, records, run):
        if records.groups.min() < 0:
            raise InputError("Who is that?")
        return super().train(records, run)


@found_by("an empty group and one class", "Expected two classes")
class NeedsTwoClasses(Sound):
    def train(self, records, run):
        if len(records) > 1 and len(np.unique(records.labels)) < 2:
            raise InputError("Expected two classes.")
        return super().train(records, run)


@found_by("a table of one record", "division by zero")
class NeedsTwoRecords(Sound):
    def train(self, records, run):
        assert 1 / (len(records) - 1) > 0
        return super().train(records, run)


@found_by("a table without records is refused and costs nothing", "DID NOT RAISE")
class FitsNobody(Sound):
    def fit(self, X, y, sensitive_features=None):
        return super().fit(X, y, sensitive_features) if len(X) else self


@found_by("an undeclared group is an error without its name", "martian")
class NamesTheGroup(Sound):
    def new_records(self, X, sensitive_features=None, *, known=True):
        try:
            return super().new_records(X, sensitive_features, known=known)
        except InputError as error:
            raise InputError(f"{error} They are {X['sex'].to_list()}.") from None


@found_by("a failed fit leaves no earlier model", "DID NOT RAISE")
class KeepsAnEarlierModel(Sound):
    def fit(self, X, y, sensitive_features=None):
        return self.__setstate__(vars(copy.copy(self).fit_new(X, y, sensitive_features))) or self

    def fit_new(self, X, y, sensitive_features):
        return super().fit(X, y, sensitive_features)


# Decisions.


@found_by("decisions and their probabilities", "Arrays are not equal")
class DecidesByPosition(Sound):
    def decide(self, records):
        codes = super().decide(records)
        codes[-1] = 1 - codes[-1]
        return codes


@found_by("fresh coins decide with the stated probability", "np.False_")
class DecidesWithTwoCoins(Sound):
    def decide(self, records):
        return super().decide(records) * super().decide(records)


@found_by("groups apart from the table", "no column 'sex'")
class ForgetsGroupsApart(Sound):
    def _encode(self, table, sensitive_features):
        return super()._encode(table, None)


@found_by("every container gives the same model", "assert b")
class ReadsPandasOtherwise(Sound):
    def fit(self, X, y, sensitive_features=None):
        self.reversed_ = type(X).__module__.startswith("pandas")
        return super().fit(X, y, sensitive_features)

    def train_scorer(self, records, run):
        order = slice(None, None, -1) if self.reversed_ else slice(None)
        return super().train_scorer(replace(records, labels=records.labels[order]), run)


@found_by("evaluations", r"== 1\.0")
class ScoresWithoutLooking(Sound):
    def score(self, X, y, sensitive_features=None):
        return 1.0


# Seeds.


@found_by("the same seed gives the same model", "assert b")
class DrawsItsOwnCoins(Sound):
    def train(self, records, run):
        return replace(super().train(records, run), coin_key=Noise().take(32))


@found_by("fits without a seed differ", "assert b")
class AlwaysTheSameNoise(Sound):
    def payment(self, plan, schema, noise=None, unit=None):
        return super().payment(plan, schema, Noise(seed=1), unit)


# Files, reports and searches.


@found_by("a model is saved loaded and verified", "changed after fit")
class ChoosesByWhatNoFileHas(Sound):
    def choose(self, fitted):
        self.choices_ = getattr(self, "choices_", 0) + 1
        return replace(fitted, rule=parity_rule([0.5, 0.6 / self.choices_]))


@found_by("a model is saved loaded and verified", "Certificate")
class ClaimsWhatNoFileHas(Sound):
    def train(self, records, run):
        self.sure_ = 0.99
        return super().train(records, run)

    def fairness(self, fitted):
        sure = getattr(self, "sure_", self.confidence)
        return parity_claim(fitted.releases["count"], fitted.rule, sure)


@found_by("a model is copied", "pickle")
class KeepsAFunction(Sound):
    def train(self, records, run):
        self.helper_ = lambda scores: scores
        return super().train(records, run)


@found_by("what is read off the table is a leak", "assert not True")
class SaysNothingOfLeaks(Sound):
    def leaks(self, schema):
        return []


@found_by("a certificate is written and read", "not JSON serializable")
class CertifiesWithArrays(Sound):
    def fairness(self, fitted):
        claim = super().fairness(fitted)
        return replace(claim, groups=np.array(claim.groups))


@found_by("a report shows the method", "bold")
class HasMarkupInItsTitle(Sound):
    @property
    def title(self):
        return "<b>bold</b>"


@found_by("a frontier or a plain refusal", "assert True == ")
class OffersAFrontierOfNothing(Sound):
    def frontier(self, notion=None, tolerances=()):
        return []


@found_by("a search", "has no attribute 'started_'")
class NeedsItsOwnFit(Sound):
    def fit(self, X, y, sensitive_features=None):
        self.started_ = Path.cwd()
        return super().fit(X, y, sensitive_features)

    def train(self, records, run):
        assert self.started_
        return super().train(records, run)


# Learners.


class NoNoise(LogisticLearner):
    """Draws what is planned, and looks at the records beside it."""

    def train(self, plan, records, schema, receipt, progress=None):
        scorer = super().train(plan, records, schema, receipt, progress)
        return replace(scorer, weights=scorer.weights + records.labels.mean())
