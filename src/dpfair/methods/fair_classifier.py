"""PrivateFairClassifier: train -> release -> decide -> certify."""

from __future__ import annotations

import copy
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar

from numpy.typing import ArrayLike
from sklearn.base import clone

from dpfair import validate
from dpfair.certificate.fairness import FairnessClaim
from dpfair.certificate.rule import rule_claim
from dpfair.data.schema import Schema
from dpfair.errors import InputError
from dpfair.fairness.choice import best_rule, corrected_rule, placed_rule, planned_rule
from dpfair.fairness.counting import cell_noise
from dpfair.fairness.dither import GRAIN, placement_grid
from dpfair.fairness.planning import planned_rates
from dpfair.fairness.release import HALF, REUSED, Release, score_grid
from dpfair.fairness.undeclared import (
    IRREGULAR,
    irregular_share,
    release_irregular,
    warn_undeclared,
)
from dpfair.learners.blocks import BlockLearner
from dpfair.learners.logistic import LogisticLearner
from dpfair.learners.protocols import Learner
from dpfair.methods.division import MODES, divide
from dpfair.methods.fitted import Fitted
from dpfair.methods.other_rules import OtherRules
from dpfair.methods.settings import Division, FairRule, settings_of
from dpfair.methods.tables import Reading, count, table_step
from dpfair.methods.training import TRAIN
from dpfair.privacy.assumptions import Facts
from dpfair.privacy.plan import Budget, FitPlan, Run

__all__ = ["PrivateFairClassifier"]

PLANNING = "plan the rates of the groups"
COUNTING = "count scores by group and label"
DECIDING = "count what the planned rule decides"
CHECKING = "count the decisions of the rule"


@dataclass(eq=False, repr=False)
class PrivateFairClassifier(OtherRules):
    """A binary classifier that is private for every feature and certified fair between groups.

    ``fit`` trains a scorer and releases one noisy table of how many records of each group and label
    have which score. From that table, and nothing else, come the decision rule and the
    certificate; every other rule, notion and tolerance can be had from it later at no cost.

    Parameters
    ----------
    epsilon, delta
        The privacy budget of one fit.
    schema
        The public facts about the table. Without one, it is read off the data with a
        ``PrivacyLeakWarning``.
    sensitive
        The column with the groups, by name or position; several columns form a group for every
        combination. ``sensitive_features=`` of the methods gives the groups apart from the table.
    rule
        What is fair, what is accurate and how coins decide: a
        :class:`~dpfair.methods.settings.FairRule`, or its settings as a dict such as
        ``{"notion": "equalized_odds", "tolerance": 0.05}``.
    mode
        ``"certified"``: disjoint records for training and for the table, so that the gap is
        certified. ``"reuse"``: all records for both: more accurate, a smaller gap, but the gap
        is an estimate unless ``division`` has a ``check_share``.
    division
        How the records and the budget are divided: a
        :class:`~dpfair.methods.settings.Division`, or its settings as a dict.
    learner
        Trains the scorer: a :class:`~dpfair.learners.blocks.BlockLearner` by default, or
        anything that fits :class:`~dpfair.learners.protocols.Learner`.
    relation
        ``"add_remove"`` or ``"replace_one"``.
    ledger
        The ledger file of the data set, as a path or a :class:`ChargeTo`: the fit is charged to
        it and refused, before any record is read, if the file has no room for it. None: the
        budget is for this fit alone.
    confidence
        Of the fairness certificate.
    unit, rows_per_unit
        The column that identifies a person, and how many records of a person are used at most.
        The guarantee is then per person.
    strict
        Raise instead of warning when something would be read off the data unpaid.
    verbose
        Show progress on standard error.
    random_state
        A seed makes the fit repeatable and **not private**.

    Attributes
    ----------
    certificate_, plan_, ledger_, fitted_, release_, rule_, scorer_, schema_, classes_

    Privacy
    -------
    Certified: a record lies in one scope, hence the model costs the larger of the two scopes'
    costs (parallel composition). Reuse: training and the table are composed on the same records.
    Rules, frontiers and decisions are post-processing.

    Examples
    --------
    >>> from dpfair import PrivateFairClassifier, load_adult
    >>> data = load_adult()
    >>> model = PrivateFairClassifier(epsilon=3, schema=data.schema, sensitive="sex")
    >>> model = model.fit(data.X, data.y)
    >>> bool(model.certificate_.fairness.gap_bound < 0.02)
    True
    >>> model.predict(data.X[:2]).tolist() == model.predict(data.X[:2]).tolist()
    True
    >>> ratio = model.with_rule(notion="parity_ratio", tolerance=0.2)
    >>> bool(ratio.certificate_.fairness.accuracy_estimate > 0.8)
    True
    """

    counts_labels = True
    finds_bins = True
    default_learner = BlockLearner
    tables = ("count", "decisions", "values", "check")
    without_groups = "No sensitive column given: the model is private, but nothing makes it fair."
    quick: ClassVar[dict[str, Any]] = {"learner": LogisticLearner(**LogisticLearner.quick)}

    _: KW_ONLY
    rule: FairRule | dict[str, Any] | None = None
    mode: str = "certified"
    division: Division | dict[str, Any] | None = None
    learner: Learner | None = None
    confidence: float = 0.95
    unit: str | int | None = None
    rows_per_unit: int = 1
    verbose: bool = False

    def nested(self) -> dict[str, Any]:
        """The rule, the division and the learner, as objects."""
        return {
            "rule": self.rule_settings,
            "division": settings_of(Division, self.division, "division"),
            **super().nested(),
        }

    @property
    def rule_settings(self) -> FairRule:
        """What the rule should achieve."""
        return settings_of(FairRule, self.rule, "rule")

    @property
    def discovery_share(self) -> float:  # type: ignore[override]
        """The part of the training budget that finds undeclared facts of the schema."""
        return settings_of(Division, self.division, "division").discovery_share

    @property
    def in_parts(self) -> bool:  # type: ignore[override]
        """Whether a fit only asks the records for sums."""
        return self.trains_in_parts

    @property
    def coins(self) -> str:  # type: ignore[override]
        """How coins decide."""
        return self.rule_settings.coins

    @property
    def title(self) -> str:
        """The method, as certificates name it."""
        return f"Score thresholds, {self.mode}"

    def check_parameters(self) -> None:
        """Raise ``InputError`` for parameters that no fit can have."""
        nested = self.nested()
        nested["rule"].check()
        nested["division"].check()
        super().check_parameters()
        validate.one_of(MODES, mode=self.mode)

    def make_plan(self, schema: Schema, budget: Budget, facts: Facts) -> FitPlan:
        """Training, and the tables that the mode needs."""
        nested, groups = self.nested(), len(schema.groups)
        parts = divide(
            budget,
            nested["division"],
            mode=self.mode,
            notion=nested["rule"].goal().notion,
            groups=groups,
            rows=schema.rows,
        )
        train, release = parts.train_scope, parts.release_scope
        wanted = (
            ("plan", train, PLANNING, parts.plan_epsilon, None),
            ("decisions", release, DECIDING, parts.decision_epsilon, HALF),
            ("count", release, COUNTING, parts.release_epsilon, None),
            ("values", release, IRREGULAR, parts.values_epsilon, HALF),
            ("check", "check", CHECKING, parts.check_epsilon, HALF),
        )
        tables = [
            table_step(name, scope, purpose, cost, edges or score_grid(float(cost)), budget)
            for name, scope, purpose, cost, edges in wanted
            if cost is not None
        ]
        training = self.training_steps(
            schema, budget, scope=train, share=parts.shares.get(train, 1.0), others=tables
        )
        return FitPlan(budget, (*training, *tables), parts.shares)

    def replan(self, facts: Facts, *, stated: FitPlan | None = None, notion: str = "") -> FitPlan:
        """The plan that these parameters lead to; ``with_rule`` changes none that was made."""
        other = copy.copy(self)
        other.rule = clone(self.rule_settings).set_params(
            notion=notion or self.rule_settings.notion
        )
        return super(PrivateFairClassifier, other).replan(facts, stated=stated)

    def train(self, records: Any, run: Run) -> Fitted:
        """Train on one part, count on another, and choose the rule by the counts."""
        plan, groups = run.plan, self.schema_.groups
        parts = run.parts(records)
        key = run.coin_key
        training, counted = parts[plan[TRAIN].scope], parts[plan["count"].scope]
        scorer = self.train_scorer(training, run)
        run.stage("counting scores")
        planned = None
        if "plan" in plan:
            planned = count(
                training,
                Reading(scorer),
                groups,
                edges=plan["plan"].how,
                receipt=run["plan"],
                dependence=REUSED,
            )
        start = Fitted(scorer, notion=self.rule_settings.notion, coin_key=key)
        released = self._release(counted, start, run, planned)
        assert released.counted is not None
        # Before what follows from it.
        warn_undeclared(released.counted, self.confidence, self.schema_)
        run.stage("placing thresholds")
        try:
            fitted = self.choose(released)
        except InputError as error:
            self.fitted_ = released
            raise InputError(
                f"{error} The budget is spent, but with_rule can choose another rule from the "
                "release."
            ) from error
        if "check" in plan:
            assert fitted.rule is not None
            table = count(
                parts["check"],
                Reading(scorer, fitted.rule, run.noise.take(32)),
                groups,
                receipt=run["check"],
                dependence=self.dependence("check"),
            )
            fitted = replace(fitted, releases={**fitted.releases, "check": table})
        return fitted

    def _release(self, records: Any, fitted: Fitted, run: Run, planned: Release | None) -> Fitted:
        """The tables of the records that are counted."""
        plan, scorer, groups = run.plan, fitted.scorer, self.schema_.groups
        rule, goal = self.rule_settings, self.rule_settings.goal()
        edges: ArrayLike = plan["count"].how
        reading, grain, releases = Reading(scorer), None, {}
        # How many records are counted for each that was planned on.
        ratio = plan.share("count") / plan.share(TRAIN)
        if planned is not None and "decisions" in plan:
            to_correct = planned_rule(
                planned,
                goal,
                smallest=rule.smallest_group / ratio,
                families=self.schema_.families,
            )
            fitted = replace(fitted, planned=to_correct)
            releases["decisions"] = count(
                records,
                Reading(scorer, to_correct, run.noise.take(32)),
                groups,
                receipt=run["decisions"],
                dependence=self.dependence("decisions"),
            )
        elif planned is not None:
            rates = planned_rates(planned, goal, smallest=rule.smallest_group, ratio=ratio)
            if rates is not None:
                fitted = replace(fitted, rates=rates.rates)
                grain = GRAIN
                edges = placement_grid(rates.windows, cell_noise(plan["count"].event))
                reading = Reading(scorer, coins=run.noise.take(32))
        releases["count"] = count(
            records,
            reading,
            groups,
            edges=edges,
            grain=grain,
            receipt=run["count"],
            dependence=self.dependence("count"),
        )
        if "values" in plan:
            releases["values"] = release_irregular(
                records, receipt=run["values"], dependence=self.dependence("values")
            )
        return replace(fitted, releases=releases)

    def choose(self, fitted: Fitted) -> Fitted:
        """From the releases to the rule, without any record."""
        rule, goal = self.rule_settings, self.rule_settings.goal()
        how: dict[str, Any] = {
            "smallest": rule.smallest_group,
            "small_groups": rule.small_groups,
            "families": self.schema_.families,
        }
        if fitted.planned is not None:
            chosen = corrected_rule(fitted.planned, fitted.releases["decisions"], goal, **how)
        elif fitted.rates is not None:
            chosen = placed_rule(fitted.releases["count"], goal, fitted.rates)
        else:
            chosen = best_rule(fitted.releases["count"], goal, **how)
        return replace(fitted, rule=chosen.rule, chosen=chosen)

    def fairness(self, fitted: Fitted) -> FairnessClaim:
        """A bound on the gap, by how the rule was found."""
        releases = fitted.releases
        assert fitted.chosen is not None
        claim = rule_claim(
            releases["count"],
            fitted.chosen,
            self.rule_settings.goal(),
            self.confidence,
            check=releases.get("check"),
        )
        if "values" in releases:
            irregular = irregular_share(releases["values"], self.confidence)
            claim = replace(claim, irregular=irregular)
        return claim
