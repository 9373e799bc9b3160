"""PrivateSearchCV: choose hyper-parameters on private records, and pay for the choice."""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import MetaEstimatorMixin, clone

from dpfair import validate
from dpfair.certificate.certificate import Certificate
from dpfair.data.schema import Schema
from dpfair.errors import BudgetError, InputError, warn
from dpfair.methods.base import PrivateClassifier
from dpfair.methods.fitted import Fitted
from dpfair.methods.limits import check_plan
from dpfair.privacy.accountants import epsilon_of
from dpfair.privacy.assumptions import Facts
from dpfair.privacy.draw import Draw
from dpfair.privacy.events import DpEvent, best_of_runs, noisy_table, path_events
from dpfair.privacy.ledger import Ledger
from dpfair.privacy.noise import Noise, noise_source
from dpfair.privacy.payment import ChargeTo, Payment
from dpfair.privacy.plan import Budget, FitPlan, Run, Step
from dpfair.privacy.room import Kind

__all__ = ["FinishedRun", "PrivateSearchCV", "Runs", "right_and_wrong"]

# What a run may not choose: the search sets it, or one account could not hold all runs.
BUDGET = ("epsilon", "delta")
FIXED = frozenset(
    {*BUDGET, "schema", "sensitive", "relation", "unit", "rows_per_unit", "ledger"}
    | {"confidence", "strict", "verbose", "random_state"}
)
# A run's epsilon is found to this relative precision, and tried down to the smallest share.
PRECISION = 1e-3
MIN_SHARE = 1e-3
SCORE_SHARE = 0.25
SEARCH = "search"
SEARCHING = "search: the best of several runs"


@dataclass(frozen=True)
class Runs:
    """What every run may do: fixed before any record is read, hence public.

    How many runs there were, and what became of the losers, is nowhere to be found.
    """

    epsilon: float
    score_epsilon: float
    mean: float
    shape: float
    candidates: tuple[dict[str, Any], ...]
    plans: tuple[FitPlan, ...]
    event: DpEvent


class PrivateSearchCV(MetaEstimatorMixin, PrivateClassifier):  # type: ignore[misc]
    """The best of several private models, at the cost of the whole search.

    A random number of times, a candidate is drawn from the grid, fitted on one part of the
    records and scored on the other by noisy counts of right and wrong decisions. Only the run
    with the best score is released; it is the model, there is no fit on all records afterwards.

    Parameters
    ----------
    estimator
        Any :class:`~dpfair.methods.base.PrivateClassifier` with a budget and a schema. Its own
        budget and seed are not used, with a warning if the budget was set to another one than
        that of the search. Its relation, unit and confidence are those of the search. It must not
        have a ledger.
    param_distributions
        The candidates: parameter name -> list of values. All combinations are equally likely.
        They must not come from the records.
    epsilon, delta
        The privacy budget of the whole search. Every run gets the largest epsilon, to one part in
        a thousand, for which the search stays within it.
    mean_runs
        The expected number of runs, more than 1.
    shape
        Of the law of the number of runs, from 0 (logarithmic, the cheapest) to 1 (geometric).
    validation_share
        The probability that a record is used for the scores instead of fitting.
    score_epsilon
        The cost of one score. None: a quarter of a run's epsilon, which is practically free.
    schema, sensitive
        As in the estimator; None leaves the estimator's own.
    ledger
        The ledger file of the data set, as a path or a :class:`ChargeTo`: the whole search is
        charged to it and refused, before any record is read, if the file has no room for it.
        None: the budget is for this search alone.
    random_state
        A seed makes the search repeatable and **not private**.

    Attributes
    ----------
    best_estimator_, best_params_, best_score_
        The winner, its parameters and its noisy accuracy on the validation part. The best of
        several noisy scores is too high on average.
    runs_
        The plan of the runs, a :class:`Runs`.
    certificate_, ledger_
        Of the whole search. The winner carries the same two.

    Privacy
    -------
    One run Q costs a record the worst of what the scopes charge, over all candidates: which
    candidate is drawn and where a record lies is decided by coins that look at no record, hence
    Q's Renyi divergence is at every order at most the largest of the alternatives. The best of
    K independent runs, K from :mod:`dpfair.privacy.repetition` and kept secret, then costs as
    Theorem 2 of Papernot and Steinke (2022) says. All of it is one event, charged before
    anything is drawn. Of equal scores the first run wins; runs being independent and alike, that
    is as good as a random tag in every output, and the theorem's order of the outputs is total.
    A run that fails is the worst of all outputs: its error is raised only if all of them fail.

    The receipt for that event opens the search once: only its draw tells K. Every run opens its own
    ledger, whose receipts give its noise, and the draw refuses a run that charged anything but an
    alternative of the paid event, before anything of it is seen.

    **The time that fit takes tells K.** Whoever can measure it is not covered.

    Fairness
    --------
    The winner is chosen by its decisions, so its own certificate would be too good. All runs
    certify at confidence 1 - eta / E[K] instead of 1 - eta. K is independent of the runs, hence
    P(any certificate is wrong) <= sum over k of P(K >= k) eta / E[K] = eta (Wald), and the
    winner's holds with confidence 1 - eta, however it was chosen.

    Examples
    --------
    >>> from dpfair import PrivateLogisticRegression, PrivateSearchCV, load_adult
    >>> data = load_adult()
    >>> search = PrivateSearchCV(
    ...     PrivateLogisticRegression(steps=60),
    ...     {"learning_rate": [0.01, 0.3], "clip": [0.3, 1.0]},
    ...     epsilon=3,
    ...     mean_runs=4,
    ...     schema=data.schema,
    ... ).fit(data.X, data.y)
    >>> search.certificate_.privacy.epsilon, search.certificate_.privacy.spent <= 3
    (3.0, True)
    """

    def __init__(
        self,
        estimator: Any,
        param_distributions: dict[str, list[Any]],
        *,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        mean_runs: float = 10,
        shape: float = 0.0,
        validation_share: float = 0.2,
        score_epsilon: float | None = None,
        schema: Schema | None = None,
        sensitive: str | int | None = None,
        ledger: ChargeTo | str | Path | None = None,
        random_state: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.param_distributions = param_distributions
        self.epsilon = epsilon
        self.delta = delta
        self.mean_runs = mean_runs
        self.shape = shape
        self.validation_share = validation_share
        self.score_epsilon = score_epsilon
        self.schema = schema
        self.sensitive = sensitive
        self.ledger = ledger
        self.random_state = random_state

    # What the search does not set is the estimator's.

    @property
    def relation(self) -> str:  # type: ignore[override]
        """What a neighbouring table is."""
        relation: str = self.estimator.relation
        return relation

    @property
    def unit(self) -> str | int | None:  # type: ignore[override]
        """The column that identifies a person."""
        unit: str | int | None = self.estimator.unit
        return unit

    @property
    def rows_per_unit(self) -> int:  # type: ignore[override]
        """How many records of a person are used at most."""
        rows: int = self.estimator.rows_per_unit
        return rows

    @property
    def coins(self) -> str:  # type: ignore[override]
        """How coins decide."""
        coins: str = getattr(self, "best_estimator_", self.estimator).coins
        return coins

    @property
    def confidence(self) -> float:  # type: ignore[override]
        """Of the winner's certificate."""
        return float(self.estimator.confidence)

    @property
    def strict(self) -> bool:  # type: ignore[override]
        """Whether an inferred schema is an error."""
        return bool(self.estimator.strict)

    @property
    def without_groups(self) -> str:  # type: ignore[override]
        """The estimator's warning."""
        return str(self.estimator.without_groups)

    def check_parameters(self) -> None:
        """Raise ``InputError`` for parameters that no search can have."""
        plans = isinstance(self.estimator, PrivateClassifier)
        if not plans or not {*BUDGET, "schema"} <= set(self.estimator.get_params(deep=False)):
            kind = type(self.estimator).__name__
            raise InputError(
                f"A search needs an estimator that plans its cost by a budget and a schema, "
                f"got {kind}."
            )
        if self.estimator.ledger is not None:
            raise InputError("The ledger pays for the whole search: give it to the search alone.")
        validate.in_open_interval(0, 1, validation_share=self.validation_share)
        if self.score_epsilon is not None:
            validate.positive(score_epsilon=self.score_epsilon)

    def fit(self, X: Any, y: Any = None, sensitive_features: Any = None) -> Self:
        """Plan, pay, search and certify the winner."""
        self.check_parameters()
        self._warn_unused_budget()
        return self._fit(X, y, sensitive_features, None)

    def _warn_unused_budget(self) -> None:
        """Warn of a budget that was given to the estimator, which is not used."""
        defaults = inspect.signature(type(self.estimator)).parameters
        for name in BUDGET:
            given, own = getattr(self.estimator, name), getattr(self, name)
            if given not in (own, defaults[name].default):
                warn(
                    f"The estimator has {name}={given}, which is not used: the whole search has "
                    f"{name}={own}. Give {name} to the search alone.",
                    UserWarning,
                )

    def leaks(self, schema: Schema | None) -> list[str]:
        """What is read without being paid for."""
        leaks: list[str] = self._template().leaks(schema)
        return leaks

    def make_plan(self, schema: Schema, budget: Budget, facts: Facts) -> FitPlan:
        """One step: the best of several runs, with the largest epsilon that the budget allows."""
        runs_at = self._runs_at(schema, budget)

        def cost(epsilon: float) -> float:
            return epsilon_of(runs_at(epsilon).event, budget.row_delta, budget.relation)

        runs = runs_at(_largest_within(float(budget.row_epsilon), cost, most=float(budget.epsilon)))
        share = self.validation_share
        return FitPlan(
            budget,
            (Step(SEARCH, "", SEARCHING, runs.event, how=runs),),
            {"fit": 1 - share, "validate": share},
        )

    def payment(
        self, plan: FitPlan, schema: Schema, noise: Noise | None = None, unit: str | None = None
    ) -> Payment:
        """Check that the search can be paid for, before any record is read."""
        if self.ledger is not None:
            for run in plan[SEARCH].how.plans:
                check_plan(run, schema, labelled=self.estimator.counts_labels)
        return Payment(
            self.ledger,
            plan,
            Noise() if noise is None else noise,
            purpose="search for a model",
            settings=self.get_params(deep=False),
            unit=unit,
            leaks=self.leaks(schema),
            plan_at=self._kind(plan, schema),
        )

    def train(self, records: Any, run: Run) -> Fitted:
        """Run the search and keep the winner only."""
        runs: Runs = run.plan[SEARCH].how
        parts = run.parts(records)
        fitting, validation = parts["fit"], parts["validate"]
        # A model has no decision for a record of no declared group.
        validation = validation.take(np.flatnonzero(validation.groups >= 0))
        draw = run[SEARCH].draw(runs.event)
        winner = self._best(runs, fitting, validation, run.ledger, draw)
        if run.noise.secure:
            # What is left of the old one would show the number of runs.
            run.ledger.noise = Noise()
        self.best_params_, self.best_score_ = winner.params, winner.score
        self.best_estimator_, self.runs_ = winner.model, runs
        for fact, value in winner.model.ledger_.facts.items():
            run.assume(fact, value)
        winner.model.ledger_ = run.ledger
        winner.model.certificate_ = winner.model.certify()
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self, name):
                setattr(winner.model, name, getattr(self, name))
        fitted: Fitted = winner.model.fitted_
        return fitted

    def better(self, run: FinishedRun, best: FinishedRun) -> bool:
        """Whether a run beats the best one so far; of equal scores the first one wins."""
        return run.score > best.score

    def certify(self) -> Certificate:
        """The winner's certificate, which is about the whole search."""
        certificate: Certificate = self.best_estimator_.certificate_
        return certificate

    def _template(self) -> Any:
        """The estimator of a run, but for its epsilon and its candidate's parameters."""
        template = clone(self.estimator)
        settings: dict[str, Any] = {"delta": self.delta, "random_state": None, "verbose": False}
        settings["ledger"] = None  # the search pays for its runs
        if self.schema is not None:
            settings["schema"] = self.schema
        if self.sensitive is not None:
            settings["sensitive"] = self.sensitive
        own = template.get_params(deep=False)
        if "confidence" in own:
            validate.in_open_interval(0, 1, confidence=template.confidence)
            settings["confidence"] = 1 - (1 - template.confidence) / self.mean_runs
        return template.set_params(**{k: v for k, v in settings.items() if k in own})

    def _declared_schema(self, X: Any, sensitive_features: Any) -> Schema | None:
        schema: Schema | None = self._template()._declared_schema(X, sensitive_features)
        return schema

    def _training_records(self, X: Any, y: Any, sensitive_features: Any) -> Any:
        reader = self._template()
        records = reader._training_records(X, y, sensitive_features)
        for name in ("schema_", "classes_", "unit_", "n_features_in_", "feature_names_in_"):
            if hasattr(reader, name):
                setattr(self, name, getattr(reader, name))
        return records

    @property
    def _declares_columns(self) -> bool:
        declares: bool = self.best_estimator_._declares_columns
        return declares

    def _encode(self, table: Any, sensitive_features: Any) -> Any:
        return self.best_estimator_._encode(table, sensitive_features)

    def _runs_at(self, schema: Schema, budget: Budget) -> Callable[[float], Runs]:
        """The runs of a search whose runs have this epsilon."""
        from sklearn.model_selection import ParameterGrid  # it takes longer than most commands

        candidates = tuple(ParameterGrid(self.param_distributions))
        taken = FIXED.intersection(name for params in candidates for name in params)
        if taken:
            raise InputError(f"The search itself sets {', '.join(sorted(taken))}; leave it out.")
        template = self._template()
        models = [_candidate(template, params) for params in candidates]
        if len({(model.public_facts(schema), *model.leaks(schema)) for model in models}) > 1:
            # The certificate of the winner would not list what the others took as public.
            raise InputError("All candidates of a search must take the same facts as public.")

        def runs_at(epsilon: float) -> Runs:
            score = (self.score_epsilon or SCORE_SHARE * epsilon) / budget.rows_per_unit
            plans = tuple(model.set_params(epsilon=epsilon).plan(schema) for model in models)
            alternatives = [noisy_table(score, budget.relation)]
            for plan in plans:
                alternatives += path_events(plan.charges)
            event = best_of_runs(alternatives, self.mean_runs, self.shape)
            return Runs(epsilon, score, self.mean_runs, self.shape, candidates, plans, event)

        return runs_at

    def _kind(self, plan: FitPlan, schema: Schema) -> Kind:
        """Searches like this one with runs of another epsilon.

        A search whose epsilon is what such runs cost together has no larger runs. To look for the
        runs is as quick as to plan one search. For persons with several records the delta of a
        record depends on epsilon, and searches are planned as a whole.
        """
        budget = plan.budget
        if budget.rows_per_unit > 1:
            return Kind(
                "this job", lambda at: self._plan_at(at, schema).event, float(budget.epsilon)
            )
        runs_at = self._runs_at(schema, budget)

        def asked(epsilon: float) -> float:
            return epsilon_of(runs_at(epsilon).event, budget.row_delta, budget.relation)

        runs: Runs = plan[SEARCH].how
        return Kind("this job", lambda at: runs_at(at).event, runs.epsilon, asked)

    def _best(
        self, runs: Runs, fitting: Any, validation: Any, ledger: Ledger, draw: Draw
    ) -> FinishedRun:
        """The winner; nothing else leaves this function."""
        best: FinishedRun | None = None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # as many warnings as runs would count them
            for _ in range(draw.runs()):
                finished = self._run(runs, fitting, validation, ledger, draw)
                if best is None or self.better(finished, best):
                    best = finished
        assert best is not None
        if isinstance(best.model, InputError):
            raise best.model
        return best

    def _run(
        self, runs: Runs, fitting: Any, validation: Any, ledger: Ledger, draw: Draw
    ) -> FinishedRun:
        noise = ledger.noise
        chosen = noise.below(len(runs.candidates))
        seed = None if noise.secure else noise.below(2**32)
        params = runs.candidates[chosen]
        model = _candidate(self._template(), params)
        model.set_params(epsilon=runs.epsilon, random_state=seed)
        model.schema_, model.classes_, model.unit_ = self.schema_, self.classes_, self.unit_
        try:
            model.learn(fitting, runs.plans[chosen].open(noise_source(seed)))
        except InputError as error:
            # What a run released can make it fail. Raised at once, a loser's failure would be seen.
            return FinishedRun(params, error, -math.inf)
        event = noisy_table(runs.score_epsilon, ledger.relation)
        charges = [(f"fit/{scope}".rstrip("/"), event) for scope, event in model.plan_.charges]
        draw.allow([*charges, ("validate", event)])
        own = Ledger(runs.score_epsilon, ledger.delta, relation=ledger.relation, noise=noise)
        receipt = own.charge(event, scope="validate", purpose="count right and wrong decisions")
        # One record moves one of the two counts by one (two counts, if it is replaced).
        right, wrong = receipt.draw(event).discrete_laplace(right_and_wrong(model, validation))
        score = min(max(right, 0) / max(right + wrong, 1), 1.0)
        return FinishedRun(params, model, score)


def _largest_within(budget: float, cost: Callable[[float], float], *, most: float) -> float:
    """The largest epsilon, to the stated precision, whose cost is within the budget: by bisection.

    A search is never cheaper than one run, hence the search for it starts at the whole budget.
    """
    low, high = 0.0, most
    while high - low > PRECISION * high:
        middle = (low + high) / 2
        low, high = (middle, high) if cost(middle) <= budget else (low, middle)
        if high < MIN_SHARE * most:
            raise BudgetError(
                f"Even runs of epsilon = {high:.3g} cost more than the budget of {most:g} in all; "
                "nothing was charged."
            )
    return low


@dataclass(frozen=True)
class FinishedRun:
    """A candidate that was fitted and scored; of a run that failed, the error."""

    params: dict[str, Any]
    model: Any
    score: float


def right_and_wrong(model: PrivateClassifier, records: Any) -> list[int]:
    """How many decisions about labelled records are right, and how many are wrong."""
    if len(records) == 0:
        return [0, 0]
    # No decision about a record of an undeclared label is right.
    right = int(np.sum((records.labels >= 0) & (model.decide(records) == records.labels)))
    return [right, len(records) - right]


def _candidate(template: Any, params: dict[str, Any]) -> Any:
    own = {name: clone(value, safe=False) for name, value in params.items()}
    return clone(template).set_params(**own)
