"""Algorithm 2 of "Differentially Private Fair Binary Classifications"."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

from dpfair import validate
from dpfair.certificate.fairness import FairnessClaim
from dpfair.certificate.parity import parity_claim
from dpfair.data.records import Records
from dpfair.data.schema import Schema
from dpfair.errors import BudgetError, InputError
from dpfair.fairness.counting import release_accepted, table_events
from dpfair.fairness.release import HALF, Release
from dpfair.fairness.rules import parity_rule
from dpfair.fairness.undeclared import warn_undeclared
from dpfair.learners.logistic import PAPER_SETTINGS, LogisticLearner
from dpfair.learners.protocols import Learner
from dpfair.methods.base import PrivateClassifier
from dpfair.methods.division import usable
from dpfair.methods.fitted import Fitted
from dpfair.methods.tables import ACCEPTED, Reading, count, scores_of
from dpfair.privacy.assumptions import GROUP_SIZES, Assumption, Facts
from dpfair.privacy.events import exact_epsilon
from dpfair.privacy.plan import Budget, FitPlan, Run, Step

__all__ = ["Algorithm2", "paper_algorithm2"]

COMPOSITIONS = ("tight", "basic")


@dataclass(eq=False, repr=False)
class Algorithm2(PrivateClassifier):
    """A private scorer, noisy acceptance rates of the groups, and random flips to one rate.

    Accepted records of a group above the common rate are rejected at random, rejected records of
    a group below it accepted. The rates are released from records that did not train, with
    discrete Laplace noise.

    Parameters
    ----------
    epsilon, delta
        The privacy budget of one fit.
    target
        The rate that all groups are brought to: a number, ``"midpoint"`` of the groups' rates,
        their ``"lower"`` or ``"upper"`` end, or the ``"majority"`` group's rate.
    composition
        ``"tight"``, or ``"basic"``: costs are added up as in the paper.
    release_epsilon
        The cost of the released rates; with public sizes the cost per group (the paper's
        eps0 = eps1). None: all that a record of the release scope may cost, or with basic
        composition a small part.
    release_share
        The probability that a record is counted instead of trained on.
    public_sizes
        Assume group sizes public, as the paper does.
    schema, sensitive, learner, relation, ledger, confidence, unit, rows_per_unit, strict, verbose,
    random_state
        As in :class:`~dpfair.PrivateFairClassifier`.
    coins
        As in :class:`~dpfair.methods.settings.FairRule`.

    Privacy
    -------
    A record lies in one scope, hence the model costs the larger of the two scopes' costs
    (parallel composition); basic composition adds them up.

    Examples
    --------
    >>> from dpfair import load_adult
    >>> data = load_adult()
    >>> model = Algorithm2(epsilon=3, schema=data.schema).fit(data.X, data.y)
    >>> bool(model.certificate_.fairness.gap_bound < 0.02)
    True
    """

    without_groups = "No sensitive column given: the model is private, but nothing makes it fair."
    title = "Algorithm 2"
    tables = ("count",)
    quick: ClassVar[dict[str, Any]] = {"learner": LogisticLearner(**LogisticLearner.quick)}

    _: KW_ONLY
    target: float | str | None = None
    learner: Learner | None = None
    composition: str = "tight"
    release_epsilon: float | None = None
    release_share: float = 1 / 3
    public_sizes: bool = False
    confidence: float = 0.95
    unit: str | int | None = None
    rows_per_unit: int = 1
    coins: str = "keyed"
    verbose: bool = False

    def check_parameters(self) -> None:
        """Raise ``InputError`` for parameters that no fit can have."""
        super().check_parameters()
        validate.one_of(COMPOSITIONS, composition=self.composition)
        validate.in_open_interval(0, 1, release_share=self.release_share)
        if self.release_epsilon is not None:
            validate.positive(release_epsilon=self.release_epsilon)
        parity_rule([0.5], self._target)

    @property
    def _target(self) -> float | str:
        return "midpoint" if self.target is None else self.target

    def public_facts(self, schema: Schema) -> tuple[Assumption, ...]:
        """The sizes of the groups, if they are assumed public."""
        return (GROUP_SIZES,) if self.public_sizes else ()

    def make_plan(self, schema: Schema, budget: Budget, facts: Facts) -> FitPlan:
        """Training on one scope, and the groups' rates on the other."""
        if schema.unbounded and budget.composition == "basic":
            raise InputError(
                "Algorithm 2 with basic composition needs a schema with all bounds and categories: "
                "the paper has no budget to find them. Declare them, or use composition='tight'."
            )
        tables = len(schema.groups) if self.public_sizes else 1
        release, left = self._divide(budget, tables)
        events = table_events(
            release, len(schema.groups), budget.relation, public_sizes=self.public_sizes
        )
        shares = {"train": 1 - self.release_share, "release": self.release_share}
        counts = [
            Step(_count_step(i), "release", ACCEPTED, event, how=HALF)
            for i, event in enumerate(events)
        ]
        training = self.training_steps(
            schema, budget, epsilon=left, scope="train", share=shares["train"]
        )
        return FitPlan(budget, (*training, *counts), shares)

    def _divide(self, budget: Budget, tables: int) -> tuple[Fraction, Fraction]:
        """What each of the counts costs a record, and what training may cost one."""
        epsilon, tight = budget.row_epsilon, budget.composition == "tight"
        if self.release_epsilon is None:
            release = epsilon / (tables if tight else max(60, 2 * tables))
        else:
            release = exact_epsilon(self.release_epsilon) / budget.rows_per_unit
        release = usable(release, epsilon)
        if tight and tables * release > epsilon:
            raise BudgetError(
                f"The release would cost {float(tables * release):g}, over the budget of "
                f"{float(epsilon):g}; nothing was charged."
            )
        left = epsilon if tight else epsilon - tables * release
        validate.positive(training_epsilon=float(left))
        return release, left

    @property
    def in_parts(self) -> bool:  # type: ignore[override]
        """Whether a fit only asks the records for sums."""
        return self.trains_in_parts and not self.public_sizes

    def train(self, records: Records, run: Run) -> Fitted:
        """Train on one part of the records and count what is accepted of the other."""
        parts = run.parts(records)
        key = run.coin_key
        scorer = self.train_scorer(parts["train"], run)
        release = self._release(scorer, parts["release"], run)
        warn_undeclared(release, self.confidence, self.schema_)
        return self.choose(Fitted(scorer, {"count": release}, coin_key=key))

    def _release(self, scorer: Any, counted: Records, run: Run) -> Release:
        names, dependence = self.schema_.groups, self.dependence("count")
        if not self.public_sizes:
            return count(
                counted,
                Reading(scorer),
                names,
                by_label=False,
                receipt=run["count"],
                dependence=dependence,
            )
        counted = counted.take(counted.groups >= 0)  # labels are not needed here
        return release_accepted(
            scores_of(scorer, counted),
            counted.groups,
            names,
            receipts=[run[_count_step(i)] for i in range(len(names))],
            assume=run.assume,
            dependence=dependence,
        )

    def choose(self, fitted: Fitted) -> Fitted:
        """The flips that bring all groups to the target."""
        release = fitted.releases["count"]
        rates = [rate.estimate for rate in release.rates]
        sizes = release.counts.sum(axis=(1, 2)).tolist()
        return replace(fitted, rule=parity_rule(rates, self._target, sizes))

    def fairness(self, fitted: Fitted) -> FairnessClaim:
        """A bound on the gap that holds for any rates that fit the counts."""
        assert fitted.rule is not None
        return parity_claim(fitted.releases["count"], fitted.rule, self.confidence)


def _count_step(group: int) -> str:
    """With public sizes every group has a count of its own; otherwise one table has all."""
    return "count" if group == 0 else f"count {group + 1}"


def paper_algorithm2(
    epsilon: float,
    delta: float,
    *,
    schema: Schema,
    release_epsilon: float,
    epochs: int = 50,
    noise_multiplier: float | None = None,
    random_state: int | None = None,
) -> Algorithm2:
    """The paper's experiment: DP-SGD, then noisy group rates, added up by basic composition.

    Logistic regression with the group as an input, batches of 1024, clipping norm 1.5, learning
    rate 0.01; two thirds of the records train, one third estimates the rates; group sizes are
    public; ``release_epsilon`` is eps0 = eps1. Three things differ from the published code, each
    because it must for the claim to hold: batches are Poisson samples with noise calibrated to
    the sampling rate that is really used, numbers are standardised by the schema's public
    constants instead of training means, and the noise on the rates is discrete and exact.

    Examples
    --------
    >>> from dpfair import load_adult
    >>> model = paper_algorithm2(3, 1e-5, schema=load_adult().schema, release_epsilon=0.05)
    >>> [step.scope for step in model.plan().steps]
    ['train', 'release', 'release']
    """
    return Algorithm2(
        epsilon,
        delta,
        schema=schema,
        learner=LogisticLearner(
            **PAPER_SETTINGS | {"epochs": epochs, "noise_multiplier": noise_multiplier}
        ),
        composition="basic",
        release_epsilon=release_epsilon,
        release_share=1 / 3,
        public_sizes=True,
        random_state=random_state,
    )
