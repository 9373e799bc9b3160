"""PrivateSearchCV: choose hyper-parameters on private records, and pay for the choice."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.model_selection import ParameterGrid
from sklearn.utils.validation import check_is_fitted

from dpfair import validate
from dpfair.certificate.claims import (
    INFERRED_SCHEMA,
    Certificate,
    FairnessClaim,
    PrivacyClaim,
    arithmetic_of,
    schema_facts,
    winners_certificate,
)
from dpfair.data.schema import Schema
from dpfair.data.table import Records, as_texts, get_column, take_rows
from dpfair.data.tabular import TabularInput, column_name, label_array
from dpfair.errors import BudgetError, FairnessWarning, InputError
from dpfair.learners.logistic import PrivateLogisticRegression
from dpfair.methods.fair_classifier import PrivateFairClassifier
from dpfair.privacy.accountants import epsilon_of
from dpfair.privacy.draw import Draw
from dpfair.privacy.events import DpEvent, best_of_runs, noisy_table, path_events
from dpfair.privacy.ledger import Ledger
from dpfair.privacy.noise import Noise, noise_source
from dpfair.privacy.payment import ChargeTo, Payment
from dpfair.privacy.room import Kind
from dpfair.privacy.split import bound_units, coin_split

__all__ = ["PrivateSearchCV", "Runs"]

# What a run may not choose: the search sets it, or one account could not hold all runs.
FIXED = frozenset(
    {"epsilon", "delta", "schema", "sensitive", "relation", "unit", "rows_per_unit", "ledger"}
    | {"confidence", "strict", "verbose", "random_state"}
)
# A run's epsilon is found to this relative precision, and tried down to the smallest share.
PRECISION = 1e-3
MIN_SHARE = 1e-3
SCORE_SHARE = 0.25
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
    event: DpEvent


class PrivateSearchCV(TabularInput, MetaEstimatorMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """The best of several private models, at the cost of the whole search.

    A random number of times, a candidate is drawn from the grid, fitted on one part of the
    records and scored on the other by noisy counts of right and wrong decisions. Only the run
    with the best score is released; it is the model, there is no fit on all records afterwards.

    Parameters
    ----------
    estimator
        A :class:`PrivateFairClassifier` or :class:`PrivateLogisticRegression`. Its budget and seed
        are not used; its relation, unit and confidence are those of the search.
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

    def fit(self, X: Any, y: Any, sensitive_features: Any = None) -> PrivateSearchCV:
        """Charge the search, run it, and keep the winner only."""
        ledger, template = self._open_ledger(), self._template()
        records = None
        if template.schema is None:  # read off the data, with a warning
            records = template._training_records(X, y, sensitive_features)
            schema = template.schema_
        else:
            schema = template._fix_schema(X, np.empty(0), None, None)
        runs_at = self._runs_at(template, schema, ledger)
        runs = self._plan(runs_at, ledger)
        unit = getattr(template, "unit", None)
        payment = Payment(
            self.ledger,
            ledger,
            lambda: [("", SEARCHING, runs.event)],
            purpose="search for a model",
            settings=self.get_params(deep=False),
            unit=None if unit is None else column_name(X, unit),
            leak="a schema that was read off the data is not" if schema.inferred else "",
            plan_at=self._kind(runs_at, runs.epsilon, schema, ledger),
        )
        if records is None:
            records = template._training_records(X, y, sensitive_features)
        if "confidence" in template.get_params(deep=False) and schema.sensitive is None:
            warnings.warn(
                "No sensitive column given: the model is private, but nothing makes it fair.",
                FairnessWarning,
                stacklevel=2,
            )
        payment.pay()
        receipt = ledger.charge(runs.event, scope="", purpose=SEARCHING)
        template.set_params(schema=schema, sensitive=None)
        table = _Table(X, label_array(y, len(records)), sensitive_features, records)
        fitting, validation = table.split(self.validation_share, template, ledger)
        draw = receipt.draw(runs.event)
        winner = _best(template, runs, fitting, validation, ledger, draw)
        if ledger.noise.secure:
            ledger.noise = Noise()  # what is left of the old one would tell the number of runs
        self.best_params_, self.best_score_ = winner.params, winner.score
        self.best_estimator_ = winner.model
        own = getattr(winner.model, "certificate_", None) or _plain_certificate(winner.model)
        winner.model.certificate_ = self.certificate_ = winners_certificate(own, ledger)
        winner.model.ledger_ = self.ledger_ = ledger
        self.runs_ = runs
        self.schema_, self.classes_ = winner.model.schema_, winner.model.classes_
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(winner.model, name):
                setattr(self, name, getattr(winner.model, name))
        return self

    def predict(self, X: Any, sensitive_features: Any = None) -> NDArray[Any]:
        """The winner's decisions, as class labels."""
        check_is_fitted(self)
        decisions: NDArray[Any] = self.best_estimator_.predict(X, sensitive_features)
        return decisions

    def predict_proba(self, X: Any, sensitive_features: Any = None) -> NDArray[np.float64]:
        """The winner's probabilities."""
        check_is_fitted(self)
        chances: NDArray[np.float64] = self.best_estimator_.predict_proba(X, sensitive_features)
        return chances

    def planned_events(self, schema: Schema) -> list[tuple[str, str, DpEvent]]:
        """(scope, purpose, event) of what a fit will charge, before any record is read."""
        ledger = self._open_ledger()
        runs = self._plan(self._runs_at(self._template(), schema, ledger), ledger)
        return [("", SEARCHING, runs.event)]

    def _open_ledger(self) -> Ledger:
        validate.in_open_interval(0, 1, validation_share=self.validation_share)
        if self.score_epsilon is not None:
            validate.positive(score_epsilon=self.score_epsilon)
        return Ledger(
            self.epsilon,
            self.delta,
            relation=self.estimator.relation,
            rows_per_unit=getattr(self.estimator, "rows_per_unit", 1),
            noise=noise_source(self.random_state),
        )

    def _template(self) -> Any:
        """The estimator of a run, but for its epsilon and its candidate's parameters."""
        template = clone(self.estimator)
        _planned(template)
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

    def _runs_at(self, template: Any, schema: Schema, ledger: Ledger) -> Callable[[float], Runs]:
        """The plan of a search whose runs have this epsilon."""
        candidates = tuple(ParameterGrid(self.param_distributions))
        taken = FIXED.intersection(name for params in candidates for name in params)
        if taken:
            raise InputError(f"The search itself sets {', '.join(sorted(taken))}; leave it out.")
        models = [_candidate(template, params) for params in candidates]

        def runs_at(epsilon: float) -> Runs:
            score = (self.score_epsilon or SCORE_SHARE * epsilon) / ledger.rows_per_unit
            alternatives = [noisy_table(score, ledger.relation)]
            for model in models:
                charges = _planned(model.set_params(epsilon=epsilon))(schema)
                alternatives += path_events((scope, event) for scope, _, event in charges)
            event = best_of_runs(alternatives, self.mean_runs, self.shape)
            return Runs(epsilon, score, self.mean_runs, self.shape, candidates, event)

        return runs_at

    def _plan(self, runs_at: Callable[[float], Runs], ledger: Ledger) -> Runs:
        row_epsilon, row_delta = ledger.row_budget

        def cost(epsilon: float) -> float:
            return epsilon_of(runs_at(epsilon).event, row_delta, ledger.relation)

        return runs_at(_largest_within(float(row_epsilon), cost, most=ledger.epsilon))

    def _kind(
        self, runs_at: Callable[[float], Runs], most: float, schema: Schema, ledger: Ledger
    ) -> Kind:
        """Searches like this one with runs of another epsilon.

        A search whose epsilon is what such runs cost together has no larger runs. To look for the
        runs is as quick as to plan one search. For persons with several records the delta of a
        record depends on epsilon, and searches are planned as a whole.
        """
        if ledger.rows_per_unit > 1:

            def whole(epsilon: float) -> DpEvent:
                other = clone(self).set_params(epsilon=epsilon)
                [(_, _, event)] = other.planned_events(schema)
                return event

            return Kind("this job", whole, ledger.epsilon)

        def said(epsilon: float) -> float:
            return epsilon_of(runs_at(epsilon).event, ledger.row_budget[1], ledger.relation)

        return Kind("this job", lambda epsilon: runs_at(epsilon).event, most, said)


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
class _Table:
    """Records in the container that they came in, and encoded."""

    X: Any
    labels: NDArray[Any]
    groups: Any
    records: Records

    def split(self, share: float, template: Any, ledger: Ledger) -> tuple[_Table, _Table]:
        """The part to fit on and the part to score on, once for all runs, by coins."""
        kept, units = np.arange(len(self.records)), None
        if getattr(template, "unit", None) is not None:
            units = as_texts(get_column(self.X, column_name(self.X, template.unit)))
            kept = bound_units(units, ledger.rows_per_unit)
            units = [units[i] for i in kept.tolist()]
        shares = {"fit": 1 - share, "validate": share}
        scopes = coin_split(len(kept), shares, ledger.noise, units)
        fitting, validation = kept[scopes["fit"]], kept[scopes["validate"]]
        # A model has no decision for a record of no declared group.
        declared = self.records.groups[validation] >= 0
        return self._take(fitting), self._take(validation[declared])

    def _take(self, rows: NDArray[np.int64]) -> _Table:
        groups = self.groups
        if groups is not None:
            values = as_texts(groups)
            groups = [values[i] for i in rows.tolist()]
        return _Table(take_rows(self.X, rows), self.labels[rows], groups, self.records.take(rows))


@dataclass(frozen=True)
class _Run:
    params: dict[str, Any]
    model: Any
    score: float


def _best(
    template: Any, runs: Runs, fitting: _Table, validation: _Table, ledger: Ledger, draw: Draw
) -> _Run:
    """The winner; nothing else leaves this function."""
    best: _Run | None = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # as many warnings as runs would count them
        for _ in range(draw.runs()):
            run = _run(template, runs, fitting, validation, ledger, draw)
            if best is None or run.score > best.score:
                best = run
    assert best is not None
    if isinstance(best.model, InputError):
        raise best.model
    return best


def _run(
    template: Any, runs: Runs, fitting: _Table, validation: _Table, ledger: Ledger, draw: Draw
) -> _Run:
    noise = ledger.noise
    params = runs.candidates[noise.below(len(runs.candidates))]
    seed = None if noise.secure else noise.below(2**32)
    model = _candidate(template, params).set_params(epsilon=runs.epsilon, random_state=seed)
    model._may_have_no_rows = True  # coins may send everybody to the other part; it must not show
    try:
        model.fit(fitting.X, fitting.labels, fitting.groups)
    except InputError as error:
        # What a run released can make it fail. Raised at once, a loser's failure would be seen.
        return _Run(params, error, -math.inf)
    model._may_have_no_rows = False
    event = noisy_table(runs.score_epsilon, ledger.relation)
    draw.allow(
        [(f"fit/{e.scope}".rstrip("/"), e.event) for e in model.ledger_.entries]
        + [("validate", event)]
    )
    own = Ledger(runs.score_epsilon, ledger.delta, relation=ledger.relation, noise=noise)
    receipt = own.charge(event, scope="validate", purpose="count right and wrong decisions")
    # One record moves one of the two counts by one (two counts, if it is replaced).
    right, wrong = receipt.draw(event).discrete_laplace(_right_and_wrong(model, validation))
    score = min(max(right, 0) / max(right + wrong, 1), 1.0)
    return _Run(params, model, score)


def _right_and_wrong(model: Any, table: _Table) -> list[int]:
    n = len(table.records)
    if n == 0:
        return [0, 0]
    labels = table.records.labels
    assert labels is not None
    predicted = model.predict(table.X, table.groups)
    # No decision about a record of an undeclared label is right.
    right = int(np.sum((labels >= 0) & (predicted == model.classes_[np.maximum(labels, 0)])))
    return [right, n - right]


def _candidate(template: Any, params: dict[str, Any]) -> Any:
    own = {name: clone(value, safe=False) for name, value in params.items()}
    return clone(template).set_params(**own)


def _planned(model: Any) -> Callable[[Schema], list[tuple[str, str, DpEvent]]]:
    """What a fit of the model charges, as a function of the schema."""
    if isinstance(model, (PrivateFairClassifier, PrivateLogisticRegression)):
        return model.planned_events
    raise InputError(
        f"A search needs an estimator that plans its cost, got {type(model).__name__}."
    )


def _plain_certificate(model: PrivateLogisticRegression) -> Certificate:
    """What a fitted logistic regression promises: privacy."""
    ledger = model.ledger_
    public = [schema_facts(model.schema_)]
    if model.schema_.rows is not None:
        public.append(f"the size of the data set ({model.schema_.rows} rows)")
    return Certificate(
        method="private logistic regression",
        privacy=PrivacyClaim.from_ledger(
            ledger,
            unit="every record",
            arithmetic=arithmetic_of(ledger, "scores"),
            assumed_public=public,
            leaks=[INFERRED_SCHEMA] if model.schema_.inferred else [],
            records=model.schema_.rows,
        ),
        fairness=FairnessClaim.nothing(
            model.schema_.groups, "logistic regression bounds no gap between groups"
        ),
    )
