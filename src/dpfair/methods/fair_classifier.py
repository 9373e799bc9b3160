"""PrivateFairClassifier: train -> release -> decide -> certify."""

from __future__ import annotations

import copy
import math
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from dpfair import validate
from dpfair.certificate.claims import (
    INFERRED_SCHEMA,
    Certificate,
    FairnessClaim,
    PrivacyClaim,
    arithmetic_of,
    counted_records,
    schema_facts,
    search_of,
    winners_certificate,
)
from dpfair.certificate.judgement import delta_warning
from dpfair.data.schema import Schema
from dpfair.data.table import Records, as_texts, get_column
from dpfair.data.tabular import MAX_GROUPS, TabularInput, column_name
from dpfair.errors import FairnessWarning, InputError, WeakPrivacyWarning
from dpfair.fairness.batch import BatchDecisions, decide_batch
from dpfair.fairness.bounds.placement import GRAIN, dithered, placement_grid
from dpfair.fairness.choice import (
    SMALL_GROUPS,
    best_rule,
    corrected_rule,
    placed_rule,
    planned_rates,
    planned_rule,
)
from dpfair.fairness.coins import COINS, decide
from dpfair.fairness.frontier import FRONTIER_TOLERANCES, FrontierPoint, frontier
from dpfair.fairness.notions import NOTIONS, notion_of
from dpfair.fairness.optimal import Goal
from dpfair.fairness.release import (
    ACCEPTED,
    HALF,
    REUSED,
    Release,
    dependence_of,
    release_accepted,
    release_table,
    score_grid,
    table_events,
)
from dpfair.fairness.rules import Rule, parity_rule
from dpfair.fairness.undeclared import (
    IRREGULAR,
    irregular_share,
    many_undeclared,
    release_irregular,
    undeclared_shares,
)
from dpfair.learners.logistic import TRAINING, PrivateLogisticRegression
from dpfair.learners.scorer import LinearScorer
from dpfair.learners.trees import BoostedScorer
from dpfair.methods.division import MODES, Division, corrects, divide, divide_algorithm2
from dpfair.methods.limits import check_plan
from dpfair.privacy.events import DpEvent, exact_epsilon
from dpfair.privacy.ledger import Ledger
from dpfair.privacy.noise import noise_source
from dpfair.privacy.payment import ChargeTo, Payment
from dpfair.privacy.split import bound_units, coin_split

__all__ = ["PrivateFairClassifier"]

RULES = ("optimal", "algorithm2")

PLANNING = "plan the rates of the groups"
COUNTING = "count scores by group and label"
DECIDING = "count what the planned rule decides"
CHECKING = "count the decisions of the rule"
# Placing takes a third of a second per group, longer with more noise. Beyond this many groups, or
# with less than epsilon = 0.1 for two of them, its bounds are too wide to be worth that.
MAX_PLACED_GROUPS = 20


class PrivateFairClassifier(TabularInput, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
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
    notion, tolerance
        What is fair: ``"demographic_parity"``, ``"equal_opportunity"``, ``"equalized_odds"``,
        ``"accuracy_parity"`` or ``"parity_ratio"`` (tolerance 0.2 is the four-fifths rule), and
        the largest gap that is allowed.
    rule
        ``"optimal"``: the most accurate rule within the tolerance. ``"algorithm2"``: the random
        flips of the paper.
    mode
        ``"certified"``: disjoint records for training and for the table, so that the gap is
        certified. ``"reuse"``: all records for both: more accurate, a smaller gap, but the gap
        is an estimate unless ``check_share`` sets records aside.
    target
        The share of records to accept. For the paper's rule also ``"midpoint"``, ``"lower"``,
        ``"upper"`` or ``"majority"``, the rate that all groups are brought to.
    capacity
        The share of records that may be accepted at most.
    costs
        The cost of a wrong acceptance and of a wrong rejection.
    smallest_group, small_groups
        Groups with fewer counted records than this (as far as the noise lets us see) share one
        threshold (``"merge"``) or stop the fit (``"refuse"``).
    learner
        A :class:`PrivateLogisticRegression` whose training settings are used; its own budget,
        schema and seed are not.
    composition
        ``"tight"``, or for the paper's rule ``"basic"``: costs are added up as in the paper.
    release_epsilon
        The cost of the table. None: see :mod:`dpfair.methods.division`. With public sizes it is
        the cost per group (the paper's eps0 = eps1).
    release_share
        The probability that a record goes to the release scope (certified mode).
    values_epsilon
        Also count, at this cost, how many records have a feature value that is missing, out of
        bounds or undeclared; the certificate then states their share.
    check_share
        The probability that a record goes to a third scope, which only checks the finished rule
        (reuse mode).
    public_sizes
        Assume group sizes public, as the paper does (the paper's rule only).
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
    coins
        ``"keyed"``: the same record always gets the same decision, and records that look
        alike (or belong to the same unit) share one. ``"fresh"``: a new coin at every call.
        The certificate is about the average over the coins.
    strict
        Raise instead of warning when something would be read off the data unpaid.
    verbose
        Show progress on standard error.
    random_state
        A seed makes the fit repeatable and **not private**.

    Attributes
    ----------
    certificate_, ledger_, release_, rule_, scorer_, schema_, classes_

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

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        *,
        schema: Schema | None = None,
        sensitive: str | int | Sequence[str] | None = None,
        notion: str = "demographic_parity",
        tolerance: float = 0.0,
        rule: str = "optimal",
        mode: str = "certified",
        target: float | str | None = None,
        capacity: float | None = None,
        costs: tuple[float, float] = (1.0, 1.0),
        smallest_group: float = 50,
        small_groups: str = "merge",
        learner: PrivateLogisticRegression | None = None,
        composition: str = "tight",
        release_epsilon: float | None = None,
        release_share: float | None = None,
        check_share: float = 0.0,
        values_epsilon: float | None = None,
        public_sizes: bool = False,
        relation: str = "add_remove",
        ledger: ChargeTo | str | Path | None = None,
        confidence: float = 0.95,
        unit: str | int | None = None,
        rows_per_unit: int = 1,
        coins: str = "keyed",
        strict: bool = False,
        verbose: bool = False,
        random_state: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.schema = schema
        self.sensitive = sensitive
        self.notion = notion
        self.tolerance = tolerance
        self.rule = rule
        self.mode = mode
        self.target = target
        self.capacity = capacity
        self.costs = costs
        self.smallest_group = smallest_group
        self.small_groups = small_groups
        self.learner = learner
        self.composition = composition
        self.release_epsilon = release_epsilon
        self.release_share = release_share
        self.check_share = check_share
        self.values_epsilon = values_epsilon
        self.public_sizes = public_sizes
        self.relation = relation
        self.ledger = ledger
        self.confidence = confidence
        self.unit = unit
        self.rows_per_unit = rows_per_unit
        self.coins = coins
        self.strict = strict
        self.verbose = verbose
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sensitive_features: Any = None) -> PrivateFairClassifier:
        """Train, release, decide and certify."""
        ledger = self._open_ledger()
        payment = self._payment(ledger, X)  # a refused fit leaves an earlier one alone
        for name in (
            "certificate_",
            "rule_",
            "release_",
        ):  # a fit that fails leaves none of them behind
            self.__dict__.pop(name, None)
        records = self._training_records(X, y, sensitive_features)
        division = self._division(ledger, self.schema_)
        if self._learner().noise_multiplier is not None:  # else it is calibrated to the budget
            self.rehearse(self.schema_)
        if self.ledger is not None:
            self.check_plan(self.schema_)
        if self.schema_.sensitive is None:
            warnings.warn(
                "No sensitive column given: the model is private, but nothing makes it fair.",
                FairnessWarning,
                stacklevel=2,
            )
        self._warn_delta(self._declared_records())  # before anything is spent
        units = None
        if self.unit is not None:
            units = as_texts(get_column(X, column_name(X, self.unit)))
            kept = bound_units(units, ledger.rows_per_unit)
            records, units = records.take(kept), [units[i] for i in kept.tolist()]
        payment.pay()
        scopes = coin_split(len(records), division.shares, ledger.noise, units)
        self.coin_key_ = ledger.noise.take(32)
        self.ledger_ = ledger
        training = records.take(scopes[division.train_scope])
        self.scorer_: LinearScorer | BoostedScorer = self._train(
            training.declared(), ledger, division
        )
        counted = records.take(scopes[division.release_scope])
        self.counted_share_ = division.share(division.release_scope)
        self.targets_: tuple[float, ...] | None = None
        self.planned_: Rule | None = None
        self.decisions_: Release | None = None
        self.check_release_: Release | None = None
        self.values_: Release | None = None
        if self.rule == "algorithm2":
            self._release_accepted(counted, ledger, division)
        else:
            plan = self._plan(training, ledger, division)
            self._release(counted, ledger, division, plan)
        self._warn_undeclared()  # before what follows from it
        try:
            self._decide()
        except InputError as error:
            raise InputError(
                f"{error} The budget is spent, but with_rule can choose another rule from the "
                "release."
            ) from error
        if division.check_scope is not None:
            checked = records.take(scopes[division.check_scope])
            self.check_release_ = self._check(checked, ledger, division)
        self.certificate_ = self._certify(ledger)
        if self._declared_records() is None:
            privacy = self.certificate_.privacy
            self._warn_delta(privacy.records, privacy.records_error)
        return self

    def predict_proba(self, X: Any, sensitive_features: Any = None) -> NDArray[np.float64]:
        """The exact probabilities of rejection and acceptance, over the coin."""
        records = self._new_records(X, sensitive_features)
        accept = self.rule_.probabilities(records.groups, self.scorer_.scores(records))
        return np.stack([1 - accept, accept], axis=1)

    def predict(self, X: Any, sensitive_features: Any = None) -> NDArray[Any]:
        """The decisions, as class labels."""
        records = self._new_records(X, sensitive_features)
        return self.classes_[self._decisions(records, self._identities(X, records))]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "certificate_")

    def decide_batch(
        self, X: Any, sensitive_features: Any = None, *, epsilon: float | None = None
    ) -> BatchDecisions:
        """Decide about a whole batch at once, with group rates that agree within the batch.

        The rates are the rule's; the thresholds are found anew on the batch: with ``epsilon`` from
        a noisy table of the batch's scores, without one by exact quotas. See
        :class:`dpfair.fairness.batch.BatchDecisions` for what is protected.
        """
        records = self._new_records(X, sensitive_features)
        counted = None
        if self.unit is not None:
            units = as_texts(get_column(X, column_name(X, self.unit)))
            counted = bound_units(units, self.ledger_.rows_per_unit)
        if NOTIONS[self.certificate_.fairness.notion].needs_labels:
            raise InputError("Batch decisions equalise acceptance rates, not rates by label.")
        return decide_batch(
            self.scorer_.scores(records),
            records.groups,
            self._identities(X, records),
            names=self.schema_.groups,
            classes=self.classes_,
            rates=self.certificate_.fairness.rates_after,
            key=self.coin_key_,
            epsilon=epsilon,
            relation=self.ledger_.relation,
            counted=counted,
            rows_per_unit=self.ledger_.rows_per_unit,
            confidence=self.confidence,
            noise=noise_source(self.random_state),
        )

    def frontier(
        self, notion: str | None = None, tolerances: Sequence[float] = FRONTIER_TOLERANCES
    ) -> list[FrontierPoint]:
        """Accuracy against the gap, for every tolerance, from the release that was already paid.

        Tolerances that no rule reaches, given a target or a capacity, are left out.
        """
        check_is_fitted(self, "release_")
        return frontier(
            self.release_,
            [self._goal(notion, tolerance) for tolerance in tolerances],
            self.confidence,
            smallest=self.smallest_group,
            families=self.schema_.families,
        )

    def with_rule(self, **changes: Any) -> PrivateFairClassifier:
        """The same model with another rule from the same release, at no cost.

        ``changes`` may set ``notion``, ``tolerance``, ``target``, ``capacity``, ``costs`` and
        ``confidence``. A rule chosen after the fact is certified by bands, which hold for all
        rules of one notion at once and are wider. It comes from the table of scores; where a
        planned rule is corrected, that table has a quarter of the release's budget.
        """
        check_is_fitted(self, "release_")
        unknown = set(changes) - {
            "notion",
            "tolerance",
            "target",
            "capacity",
            "costs",
            "confidence",
        }
        if unknown:
            raise InputError(f"with_rule cannot change {sorted(unknown)[0]!r}.")
        if self.rule == "algorithm2":
            raise InputError("The paper's release has no scores to choose another rule from.")
        model = copy.copy(self)
        for name, value in changes.items():
            setattr(model, name, value)
        search = search_of(self.ledger_)
        if search is not None and "confidence" in changes:
            # A run must be more certain than its being the winner leaves it.
            model.confidence = 1 - (1 - model.confidence) / float(search.mean)
        model._check_parameters()
        model.targets_, model.planned_ = None, None
        model.decisions_, model.check_release_ = None, None
        model._decide()
        model.certificate_ = model._certify(model.ledger_)
        return model

    def planned_events(self, schema: Schema) -> list[tuple[str, str, DpEvent]]:
        """(scope, purpose, event) of everything a fit will charge, before any record is read."""
        ledger = self._open_ledger()
        if isinstance(self.sensitive, (str, list, tuple)):
            schema = schema.with_sensitive(self.sensitive)
        groups = len(schema.groups)
        division = self._division(ledger, schema)
        plan = self._learner().plan(
            schema,
            float(division.training_epsilon),
            ledger.row_budget[1],
            relation=self.relation,
            share=division.share(division.train_scope),
            other_events=division.events_with_training(groups, self.relation),
        )
        charges = [(division.train_scope, TRAINING, plan.event)]
        if division.plan_epsilon is not None:
            [event] = self._tables(division.plan_epsilon, groups)
            charges.append((division.train_scope, PLANNING, event))
        if division.decision_epsilon is not None:
            [event] = self._tables(division.decision_epsilon, groups)
            charges.append((division.release_scope, DECIDING, event))
        purpose = ACCEPTED if self.rule == "algorithm2" else COUNTING
        for event in self._tables(division.release_epsilon, groups):
            charges.append((division.release_scope, purpose, event))
        if division.values_epsilon is not None:
            [event] = self._tables(division.values_epsilon, groups)
            charges.append((division.release_scope, IRREGULAR, event))
        if division.check_scope is not None:
            [event] = self._tables(division.epsilon, groups)
            charges.append((division.check_scope, CHECKING, event))
        return charges

    def check_plan(
        self, schema: Schema, planned: list[tuple[str, str, DpEvent]] | None = None
    ) -> None:
        """Raise ``InputError`` if settings alone tell that the model could not be saved."""
        check_plan(
            self.planned_events(schema) if planned is None else planned,
            schema,
            epsilon=self.epsilon,
            labelled=self.rule == "optimal",
            features=self._learner().features,
        )

    def check_budget(self, schema: Schema) -> None:
        """Raise ``BudgetError`` if the ledger file has no room for a fit; no record is read."""
        unit = None if self.unit is None else str(self.unit)
        Payment(
            self.ledger,
            self._open_ledger(),
            lambda: self.planned_events(schema),
            purpose=f"fit {type(self).__name__}",
            settings=self.get_params(deep=False),
            unit=unit,
            leak="a schema that was read off the data is not" if schema.inferred else "",
            plan_at=lambda epsilon: self._plan_at(epsilon, schema),
        )

    def rehearse(self, schema: Schema) -> Ledger:
        """A ledger of its own with everything that a fit will charge; no record is read."""
        ledger = self._open_ledger()
        for scope, purpose, event in self.planned_events(schema):
            ledger.charge(event, scope=scope, purpose=purpose)
        return ledger

    def _tables(self, epsilon: Fraction, groups: int) -> list[DpEvent]:
        return table_events(epsilon, groups, self.relation, public_sizes=self.public_sizes)

    def _open_ledger(self) -> Ledger:
        self._check_parameters()
        return Ledger(
            self.epsilon,
            self.delta,
            relation=self.relation,
            composition=self.composition,
            rows_per_unit=self.rows_per_unit,
            noise=noise_source(self.random_state),
        )

    def _check_parameters(self) -> None:
        validate.in_open_interval(0, 1 - 1e-6, confidence=self.confidence)
        if not isinstance(self._learner(), PrivateLogisticRegression):
            kind = type(self.learner).__name__
            raise InputError(f"Expected learner to be a PrivateLogisticRegression, got {kind}.")
        validate.one_of(("tight", "basic"), composition=self.composition)
        validate.one_of(COINS, coins=self.coins)
        validate.one_of(RULES, rule=self.rule)
        validate.one_of(MODES, mode=self.mode)
        validate.one_of(SMALL_GROUPS, small_groups=self.small_groups)
        for name in ("release_epsilon", "values_epsilon"):
            if getattr(self, name) is not None:
                validate.positive(**{name: getattr(self, name)})
        if not 0 <= self.smallest_group < math.inf:
            raise InputError(f"Expected smallest_group >= 0, got {self.smallest_group}.")
        if self.unit is None and self.rows_per_unit != 1:
            raise InputError("rows_per_unit needs unit, the column that identifies a person.")
        if self.rule == "optimal":
            if self.composition != "tight" or self.public_sizes:
                raise InputError(
                    "composition='basic' and public_sizes are settings of rule='algorithm2'."
                )
            self._goal()
            return
        if self.mode != "certified" or self.check_share:
            raise InputError("rule='algorithm2' is always certified on records of its own.")
        if self.values_epsilon is not None:
            raise InputError("values_epsilon belongs to rule='optimal'.")
        if self.notion != "demographic_parity" or self.tolerance or self.capacity is not None:
            raise InputError("rule='algorithm2' brings all groups to one acceptance rate.")
        if tuple(self.costs) != (1, 1):
            raise InputError("rule='algorithm2' knows no costs.")
        parity_rule([0.5], self.target if self.target is not None else "midpoint")

    def _goal(self, notion: str | None = None, tolerance: float | None = None) -> Goal:
        target = self.target
        if isinstance(target, str):
            raise InputError("target must be a number, but for rule='algorithm2'.")
        return Goal(
            notion=notion_of(self.notion if notion is None else notion),
            tolerance=self.tolerance if tolerance is None else tolerance,
            costs=self.costs,
            acceptance=target,
            capacity=self.capacity,
        )

    def _learner(self) -> PrivateLogisticRegression:
        return self.learner if self.learner is not None else PrivateLogisticRegression()

    def _division(self, ledger: Ledger, schema: Schema) -> Division:
        epsilon, groups = ledger.row_budget[0], len(schema.groups)
        if groups > MAX_GROUPS:
            raise InputError(f"Expected at most {MAX_GROUPS} groups, got {groups}.")
        given = self._row_epsilon(ledger, self.release_epsilon)
        if self.rule == "algorithm2":
            return divide_algorithm2(
                epsilon,
                composition=self.composition,
                release_epsilon=given,
                release_share=self.release_share,
                tables=groups if self.public_sizes else 1,
            )
        return divide(
            epsilon,
            mode=self.mode,
            certifies=self._certifies(given or epsilon, schema),
            by_label=self._goal().notion.needs_labels,
            release_epsilon=given,
            release_share=self.release_share,
            check_share=self.check_share,
            values_epsilon=self._row_epsilon(ledger, self.values_epsilon),
        )

    @staticmethod
    def _row_epsilon(ledger: Ledger, epsilon: float | None) -> Fraction | None:
        """What a step that was given an epsilon may cost a record."""
        return None if epsilon is None else exact_epsilon(epsilon) / ledger.rows_per_unit

    def _certifies(self, epsilon: Fraction, schema: Schema) -> str:
        """How a certified rule is found, by public numbers alone."""
        groups = len(schema.groups)
        if groups < 2:
            return "band"
        placeable = groups <= MAX_PLACED_GROUPS * min(Fraction(1), epsilon)
        noise = self._cell_noise(epsilon)
        if placeable and self._goal().notion.monotone and not corrects(noise, schema.rows):
            return "placed"
        return "corrected"

    def _cell_noise(self, epsilon: Fraction) -> float:
        """The noise parameter of one cell; to replace a record moves two of them."""
        return float(epsilon) / (2 if self.relation == "replace_one" else 1)

    def _train(
        self, records: Records, ledger: Ledger, division: Division
    ) -> LinearScorer | BoostedScorer:
        with _progress_bar(self.verbose) as progress:
            return self._learner().train(
                records,
                self.schema_,
                ledger,
                scope=division.train_scope,
                epsilon=division.training_epsilon,
                share=division.share(division.train_scope),
                other_events=division.events_with_training(len(self.schema_.groups), self.relation),
                progress=progress,
            )

    def _plan(self, records: Records, ledger: Ledger, division: Division) -> Release | None:
        """Count scores on the records that train; what is planned by it is fixed beforehand."""
        if division.plan_epsilon is None:
            return None
        return self._count(
            records,
            self._scores(records),
            ledger,
            edges=score_grid(float(division.plan_epsilon)),
            epsilon=division.plan_epsilon,
            scope=division.train_scope,
            purpose=PLANNING,
            dependence=REUSED,
        )

    def _release(
        self, records: Records, ledger: Ledger, division: Division, plan: Release | None
    ) -> None:
        """The tables of the records that are counted."""
        reused = division.release_scope == division.train_scope
        how = {
            "scope": division.release_scope,
            # Shares of undeclared values are certain although records are reused, so other reasons
            # come first.
            "dependence": self._dependence(ledger) or (REUSED if reused else ""),
        }
        epsilon, scores = float(division.release_epsilon), self._scores(records)
        edges: ArrayLike = score_grid(epsilon)
        grain = None
        # How many records are counted for each that was planned on.
        ratio = division.share(division.release_scope) / division.share(division.train_scope)
        if plan is not None and division.decision_epsilon is not None:
            self.planned_ = planned_rule(
                plan,
                self._goal(),
                smallest=self.smallest_group / ratio,
                families=self.schema_.families,
            )
            self.decisions_ = self._count(
                records,
                self._decided(self.planned_, records, ledger),
                ledger,
                edges=HALF,
                epsilon=division.decision_epsilon,
                purpose=DECIDING,
                **how,
            )
        elif plan is not None:
            target = planned_rates(plan, self._goal(), smallest=self.smallest_group, ratio=ratio)
            if target is not None:
                self.targets_ = target.rates
                noise = self._cell_noise(division.release_epsilon)
                edges, grain = placement_grid(target.windows, noise), GRAIN
                scores = dithered(scores, ledger.noise.uniforms(len(records)))
        self.release_ = self._count(
            records,
            scores,
            ledger,
            edges=edges,
            epsilon=division.release_epsilon,
            purpose=COUNTING,
            grain=grain,
            **how,
        )
        if division.values_epsilon is not None:
            assert records.irregular is not None
            self.values_ = release_irregular(
                records.irregular, epsilon=division.values_epsilon, ledger=ledger, **how
            )

    def _scores(self, records: Records) -> NDArray[np.float64]:
        """Scores of training records; those of no declared group are not looked at."""
        return self.scorer_.scores(records.in_first_group())

    def _decided(self, rule: Rule, records: Records, ledger: Ledger) -> NDArray[np.float64]:
        """What a rule decides about training records, with fresh coins."""
        decisions = rule.decide(
            records.groups, self._scores(records), ledger.noise.uniforms(len(records))
        )
        return decisions.astype(np.float64)

    def _count(
        self, records: Records, scores: NDArray[np.float64], ledger: Ledger, **how: Any
    ) -> Release:
        return release_table(
            scores,
            records.groups,
            self.schema_.groups,
            labels=records.labels,
            ledger=ledger,
            **how,
        )

    def _release_accepted(self, records: Records, ledger: Ledger, division: Division) -> None:
        how: dict[str, Any] = {
            "epsilon": division.release_epsilon,
            "ledger": ledger,
            "scope": division.release_scope,
            "dependence": self._dependence(ledger),
        }
        names = self.schema_.groups
        if self.public_sizes:
            records = records.take(records.groups >= 0)  # labels are not needed here
            self.release_ = release_accepted(self._scores(records), records.groups, names, **how)
        else:
            self.release_ = release_table(
                self._scores(records),
                records.groups,
                names,
                labels=records.labels,
                by_label=False,
                **how,
            )

    def _decide(self) -> None:
        """From the releases to the rule, without any record."""
        if self.rule == "algorithm2":
            rates = [rate.estimate for rate in self.release_.rates]
            target = "midpoint" if self.target is None else self.target
            sizes = self.release_.counts.sum(axis=(1, 2))
            self.rule_, self._decision = parity_rule(rates, target, sizes.tolist()), None
            return
        how: dict[str, Any] = {
            "smallest": self.smallest_group,
            "small_groups": self.small_groups,
            "families": self.schema_.families,
        }
        if self.planned_ is not None and self.decisions_ is not None:
            self._decision = corrected_rule(self.planned_, self.decisions_, self._goal(), **how)
        elif self.targets_ is not None:
            self._decision = placed_rule(self.release_, self._goal(), self.targets_)
        else:
            self._decision = best_rule(self.release_, self._goal(), **how)
        self.rule_ = self._decision.rule

    def _check(self, records: Records, ledger: Ledger, division: Division) -> Release:
        """Count what the finished rule decides about records that had no part in it."""
        return self._count(
            records,
            self._decided(self.rule_, records, ledger),
            ledger,
            edges=HALF,
            epsilon=division.epsilon,
            scope=division.check_scope,
            purpose=CHECKING,
            dependence=self._dependence(ledger),
        )

    def _dependence(self, ledger: Ledger) -> str:
        return dependence_of(inferred=self.schema_.inferred, rows_per_unit=ledger.rows_per_unit)

    def _certify(self, ledger: Ledger) -> Certificate:
        unit = "every record" if self.unit is None else f"every person (column {self.unit!r})"
        if self._decision is None:
            method = "Algorithm 2"
            fairness = FairnessClaim.from_release(self.release_, self.rule_, self.confidence)
        else:
            method = f"Score thresholds, {self.mode}"
            fairness = FairnessClaim.from_decision(
                self.release_,
                self._decision,
                self._goal(),
                self.confidence,
                check=self.check_release_,
            )
        if self.values_ is not None:
            irregular = irregular_share(self.values_, self.confidence)
            fairness = replace(fairness, irregular=irregular)
        records, error = self._declared_records(), 0
        if records is None:
            records, error = counted_records(
                self.release_, self.counted_share_, ledger.rows_per_unit
            )
        own = Certificate(
            method=method,
            privacy=PrivacyClaim.from_ledger(
                ledger,
                unit=unit,
                arithmetic=arithmetic_of(ledger),
                assumed_public=self._assumed_public(),
                leaks=[INFERRED_SCHEMA] if self.schema_.inferred else [],
                records=records,
                records_error=error,
            ),
            fairness=fairness,
        )
        return winners_certificate(own, ledger)

    def _declared_records(self) -> int | None:
        """The declared size; with ``unit`` it is persons that count, and those are not declared."""
        return self.schema_.rows if self.unit is None else None

    def _warn_delta(self, records: int | None, error: int = 0) -> None:
        said = delta_warning(self.delta, records, error)
        if said:
            warnings.warn(said, WeakPrivacyWarning, stacklevel=3)

    def _warn_undeclared(self) -> None:
        counted = self.release_ if self.decisions_ is None else self.decisions_
        for kind, (share, ends) in undeclared_shares(counted, self.confidence).items():
            if many_undeclared(share, ends):
                warnings.warn(
                    f"By the noisy counts, about {share:.1%} of the records have a {kind} that "
                    "the schema does not declare. They did not train the model, and nothing that "
                    "is said about it is about them. Compare the schema with the table.",
                    FairnessWarning,
                    stacklevel=3,
                )

    def _decisions(self, records: Records, identities: Sequence[bytes]) -> NDArray[np.int64]:
        return decide(
            self.rule_,
            records.groups,
            self.scorer_.scores(records),
            identities,
            coins=self.coins,
            key=self.coin_key_,
        )

    def _assumed_public(self) -> Iterator[str]:
        yield schema_facts(self.schema_)
        if self.schema_.rows is not None:
            yield f"the size of the data set ({self.schema_.rows} rows)"

    def _identities(self, X: Any, records: Records) -> list[bytes]:
        if self.unit is None:
            return records.identities()
        units = as_texts(get_column(X, column_name(X, self.unit)))
        # Persons without an identifier must not all share one coin.
        return [
            repr(unit).encode() if unit else record
            for unit, record in zip(units, records.identities(), strict=True)
        ]


@contextmanager
def _progress_bar(shown: bool) -> Iterator[Callable[[int], None] | None]:
    if not shown:
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(file=sys.stderr), transient=True) as bar:
        task = bar.add_task("training", total=None)
        yield lambda step: bar.update(task, completed=step)
