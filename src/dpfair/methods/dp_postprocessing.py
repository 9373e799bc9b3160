r"""DP-postprocessing of "Differentially Private Fair Learning" (Jagielski et al., ICML 2019)."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar

import numpy as np

from dpfair import validate
from dpfair.certificate.fairness import FairnessClaim
from dpfair.certificate.rule import rule_claim
from dpfair.data.records import Records
from dpfair.data.schema import Schema
from dpfair.fairness.choice import corrected_rule
from dpfair.fairness.goal import Goal
from dpfair.fairness.notions import Notion
from dpfair.fairness.release import HALF, Release
from dpfair.fairness.rules import Rule
from dpfair.fairness.undeclared import warn_undeclared
from dpfair.learners.logistic import LogisticLearner
from dpfair.learners.protocols import Learner
from dpfair.methods.fitted import Fitted
from dpfair.methods.other_rules import OtherRules
from dpfair.methods.settings import FairRule, settings_of
from dpfair.methods.tables import Reading, count, table_step
from dpfair.privacy.assumptions import Facts
from dpfair.privacy.plan import Budget, FitPlan, Run

__all__ = ["DPPostprocessing", "noise_slack"]

COUNTING = "count decisions by group and label"


@dataclass(eq=False, repr=False)
class DPPostprocessing(OtherRules):
    r"""A private scorer whose decisions are flipped at random to reach equalized odds.

    The scorer is trained on one part of the records. On the other part its decisions are counted by
    group and label, with discrete Laplace noise of scale b per cell. A linear program finds the
    flips :math:`t_{\hat y a} = P(\text{accept} \mid \hat y, a)` with the fewest errors for which

    .. math:: |FPR_a(t) - FPR_{a'}(t)| \le \gamma + s, \qquad
              |TPR_a(t) - TPR_{a'}(t)| \le \gamma + s

    by the noisy counts :math:`\tilde n`, where gamma is the rule's tolerance. The slack

    .. math:: s = \frac{2 b \ln(4K / \beta)}{\min_{a, y} \tilde n_{ay} - 2 b \ln(4K / \beta)}

    keeps, with probability 1 - beta, every rule possible that is fair within gamma on the counted
    records (beta is one minus the confidence, K the number of groups).

    Parameters
    ----------
    epsilon, delta
        The privacy budget of one fit.
    rule
        As in :class:`~dpfair.PrivateFairClassifier`; the notion is equalized odds by default.
    release_share
        The probability that a record is counted instead of trained on.
    schema, sensitive, learner, relation, ledger, confidence, unit, rows_per_unit, strict, verbose,
    random_state
        As in :class:`~dpfair.PrivateFairClassifier`.

    Privacy
    -------
    The published method protects the sensitive attribute: a change of it moves a record between two
    cells, hence b = 2 / epsilon. Here the whole record is protected: it is in one cell or not, so
    b = 1 / epsilon if neighbours add or remove a record, and b = 2 / epsilon if they replace one.
    The parts are disjoint, so a fit costs the larger of what training and counting cost.

    Notes
    -----
    Flips with :math:`t_{0a} \le t_{1a}` suffice if the scorer's TPR is at least its FPR in every
    group. Take any solution, and raise the TPR of each group whose point lies below the diagonal
    TPR = FPR up to it. Errors become fewer. Two raised groups differ as their FPRs did. A raised
    group a and another group b keep :math:`FPR_a \le FPR_b + \gamma \le TPR_b + \gamma` and
    :math:`FPR_a \ge TPR_a \ge TPR_b - \gamma`.

    The published code fails if a noisy count is not positive. Here the slack is at most 1, which
    asks for nothing, and the certificate states the gap that remains possible. A rule that is not
    clearly better than a constant one gives way to it.

    Examples
    --------
    >>> from dpfair import load_adult
    >>> data = load_adult()
    >>> model = DPPostprocessing(epsilon=3, schema=data.schema).fit(data.X, data.y)
    >>> model.certificate_.fairness.notion
    'equalized_odds'
    >>> bool(model.certificate_.fairness.gap_bound < 0.15)
    True
    """

    title = "DP-postprocessing"
    counts_labels = True
    tables = ("count",)
    without_groups = "No sensitive column given: the model is private, but nothing makes it fair."
    quick: ClassVar[dict[str, Any]] = {"learner": LogisticLearner(**LogisticLearner.quick)}

    _: KW_ONLY
    rule: FairRule | dict[str, Any] | None = None
    release_share: float = 1 / 3
    learner: Learner | None = None
    confidence: float = 0.95
    unit: str | int | None = None
    rows_per_unit: int = 1
    verbose: bool = False

    def nested(self) -> dict[str, Any]:
        """The rule and the learner, as objects."""
        return {"rule": self.rule_settings, **super().nested()}

    @property
    def rule_settings(self) -> FairRule:
        """What the rule should achieve: equalized odds, unless it says otherwise."""
        if self.rule is None or isinstance(self.rule, dict):
            return settings_of(FairRule, {"notion": "equalized_odds"} | (self.rule or {}), "rule")
        return settings_of(FairRule, self.rule, "rule")

    @property
    def coins(self) -> str:  # type: ignore[override]
        """How coins decide."""
        return self.rule_settings.coins

    @property
    def in_parts(self) -> bool:  # type: ignore[override]
        """Whether a fit only asks the records for sums."""
        return self.trains_in_parts

    def check_parameters(self) -> None:
        """Raise ``InputError`` for parameters that no fit can have."""
        self.rule_settings.check()
        super().check_parameters()
        validate.in_open_interval(0, 1, release_share=self.release_share)

    def make_plan(self, schema: Schema, budget: Budget, facts: Facts) -> FitPlan:
        """Training on one scope, and the table of decisions on the other."""
        shares = {"train": 1 - self.release_share, "release": self.release_share}
        table = table_step("count", "release", COUNTING, budget.row_epsilon, HALF, budget)
        training = self.training_steps(schema, budget, scope="train", share=shares["train"])
        return FitPlan(budget, (*training, table), shares)

    def train(self, records: Records, run: Run) -> Fitted:
        """Train on one part of the records and count the decisions about the other."""
        parts = run.parts(records)
        scorer = self.train_scorer(parts["train"], run)
        release = count(
            parts["release"],
            Reading(scorer),
            self.schema_.groups,
            receipt=run["count"],
            dependence=self.dependence("count"),
        )
        warn_undeclared(release, self.confidence, self.schema_)
        return self.choose(Fitted(scorer, {"count": release}, notion=self.rule_settings.notion))

    def choose(self, fitted: Fitted) -> Fitted:
        """The flips with the fewest errors, by the noisy counts."""
        rule, release = self.rule_settings, fitted.releases["count"]
        chosen = corrected_rule(
            Rule(np.tile([0.0, 1.0], (len(release.groups), 1))),
            release,
            self._goal(release),
            smallest=rule.smallest_group,
            small_groups=rule.small_groups,
            families=self.schema_.families,
        )
        return replace(fitted, rule=chosen.rule, chosen=chosen)

    def fairness(self, fitted: Fitted) -> FairnessClaim:
        """A bound on the gap that holds for any flips of the counted decisions."""
        release = fitted.releases["count"]
        assert fitted.chosen is not None
        return rule_claim(release, fitted.chosen, self._goal(release), self.confidence)

    def _goal(self, release: Release) -> Goal:
        """What the rule should achieve, the slack being allowed, too."""
        goal = self.rule_settings.goal()
        slack = noise_slack(release, goal.notion, 1 - self.confidence)
        return replace(goal, tolerance=min(1.0, goal.tolerance + slack))


def noise_slack(release: Release, notion: Notion, beta: float) -> float:
    """What noise may add to the gap of a fair rule, from 0 to 1; see :class:`DPPostprocessing`."""
    error = 2 / min(release.noise) * math.log(4 * len(release.groups) / beta)
    sizes = [release.counts[:, list(s.labels)].sum(axis=(1, 2)).min() for s in notion.statistics]
    left = float(min(sizes)) - error
    return min(1.0, error / left) if left > 0 else 1.0
