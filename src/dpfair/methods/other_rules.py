"""What a released table of scores offers after the fit: other rules, frontiers, batches."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from dpfair.certificate.search import search_of
from dpfair.errors import InputError
from dpfair.fairness.batch import BatchDecisions, decide_batch
from dpfair.fairness.frontier import (
    FRONTIER_TOLERANCES,
    FrontierPoint,
    best_allowed,
    frontier,
)
from dpfair.fairness.goal import Goal
from dpfair.fairness.notions import NOTIONS
from dpfair.methods.base import PrivateClassifier
from dpfair.methods.settings import FairRule
from dpfair.privacy.noise import noise_source
from dpfair.privacy.split import bound_units

__all__ = ["OtherRules"]


class OtherRules(PrivateClassifier):
    """Methods of a classifier whose rule is chosen by a released table of scores and labels."""

    rule: FairRule | dict[str, Any] | None

    @property
    def rule_settings(self) -> FairRule:
        """What the rule should achieve."""
        raise NotImplementedError

    def decide_batch(
        self, X: Any, sensitive_features: Any = None, *, epsilon: float | None = None
    ) -> BatchDecisions:
        """Decide about a whole batch at once, with group rates that agree within the batch.

        The rates are the rule's; the thresholds are found anew on the batch: with ``epsilon`` from
        a noisy table of the batch's scores, without one by exact quotas. See
        :class:`dpfair.fairness.batch.BatchDecisions` for what is protected.
        """
        records = self.new_records(X, sensitive_features, known=epsilon is None)
        if (records.groups < 0).any():  # no number: with an epsilon the batch is private
            raise InputError("Some records of the batch have a group that is not declared.")
        counted = None
        if records.units is not None:
            counted = bound_units(records.units.tolist(), self.rows_per_unit)
        if NOTIONS[self.certificate_.fairness.notion].needs_labels:
            raise InputError("Batch decisions equalise acceptance rates, not rates by label.")
        return decide_batch(
            self.scorer_.scores(records),
            records.groups,
            records.identities(),
            names=self.schema_.groups,
            classes=self.classes_,
            rates=self.certificate_.fairness.rates_after,
            key=self.fitted_.coin_key,
            epsilon=epsilon,
            relation=self.relation,
            counted=counted,
            rows_per_unit=self.rows_per_unit,
            confidence=self.confidence,
            noise=noise_source(self.random_state),
        )

    def frontier(
        self, notion: str | None = None, tolerances: Sequence[float] = FRONTIER_TOLERANCES
    ) -> list[FrontierPoint]:
        """Accuracy against the gap, for every tolerance, from the release that was already paid.

        Tolerances that no rule reaches, given a target or a capacity, are left out. The model's own
        goal has the model's own rule and claim; the gaps need not grow from there to the others.
        A rule for a smaller tolerance is also shown for larger ones while none is estimated to be
        more accurate (``found_for``); to get it, give that tolerance to :meth:`with_rule`.
        """
        check_is_fitted(self, "fitted_")
        rule, claim, points = self.rule_settings, self.certificate_.fairness, []
        for tolerance in tolerances:
            goal = rule.goal(notion, tolerance)
            others = [] if _same(goal, rule.goal()) else [goal]
            points += [] if others else [self._own_point(tolerance)]
            points += frontier(
                self.release_,
                others,
                self.confidence,
                smallest=rule.smallest_group,
                families=self.schema_.families,
            )
        if rule.costs[0] == rule.costs[1]:  # otherwise the best rule is not the most accurate one
            points = best_allowed(points)
        if claim.confidence == 0:  # the best of too many runs of a search
            return [replace(p, accuracy_bound=None, gap_bound=None) for p in points]
        return points

    def _own_point(self, tolerance: float) -> FrontierPoint:
        claim, rule = self.certificate_.fairness, self.rule_
        assert rule is not None
        return FrontierPoint(
            tolerance,
            claim.accuracy_estimate or 0.0,
            claim.gap_estimate or 0.0,
            claim.accuracy_bound,
            claim.gap_bound,
            rule,
            own=True,
        )

    def with_rule(self, *, confidence: float | None = None, **changes: Any) -> Self:
        """The same model with another rule from the same release, at no cost.

        ``changes`` are settings of :class:`~dpfair.methods.settings.FairRule`. A rule chosen after
        the fact is certified by bands, which hold for all rules of one notion at once and are
        wider. It comes from the table of scores; where a planned rule is corrected, that table has
        a quarter of the release's budget. If the goal does not change, the rule and its kind of
        bound do not change either.
        """
        check_is_fitted(self, "fitted_")
        self.check_unchanged()
        unknown = set(changes) - {"notion", "tolerance", "target", "capacity", "costs"}
        if unknown:
            raise InputError(f"with_rule cannot change {sorted(unknown)[0]!r}.")
        model = copy.copy(self)
        model.rule = clone(self.rule_settings).set_params(**changes)
        if confidence is not None:
            # A run of a search must be more certain than its being the winner leaves it.
            search = search_of(self.ledger_)
            runs = 1.0 if search is None else float(search.mean)
            model.confidence = 1 - (1 - confidence) / runs if runs > 1 else confidence
        model.check_parameters()
        own = self.fitted_
        if not _same(model.rule_settings.goal(), self.rule_settings.goal()):
            kept = {k: v for k, v in own.releases.items() if k in ("count", "values")}
            own = replace(own, releases=kept, planned=None, rates=None, rule=None)
        model.fitted_ = model.choose(own)
        model.remember_settings()
        model.certificate_ = model.certify()
        return model


def _same(goal: Goal, other: Goal) -> bool:
    """Whether two goals are equal, whatever kind of sequence their costs are."""
    plain = [replace(one, costs=(one.costs[0], one.costs[1])) for one in (goal, other)]
    return plain[0] == plain[1]
