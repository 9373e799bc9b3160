"""PrivateFairClassifier: train -> release -> decide -> certify."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from dpfair import validate
from dpfair.certificate import SEEDED, Certificate, FairnessClaim, PrivacyClaim
from dpfair.deciding import COINS, decide
from dpfair.errors import BudgetError, FairnessWarning, InputError
from dpfair.fairness.release import release_accepted, release_table, table_events
from dpfair.fairness.rules import parity_rule
from dpfair.learners.logistic import PrivateLogisticRegression
from dpfair.learners.scorer import LinearScorer
from dpfair.privacy.events import DpEvent
from dpfair.privacy.ledger import Ledger
from dpfair.privacy.noise import Noise
from dpfair.schema import Schema
from dpfair.split import bound_units, coin_split
from dpfair.table import Records, get_column, words
from dpfair.tabular import TabularInput, column_name

__all__ = ["PrivateFairClassifier"]


class PrivateFairClassifier(TabularInput, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A binary classifier that is private for every feature and certified fair between groups.

    ``fit`` sends every record to one of two disjoint scopes by a coin. The learner trains a scorer
    on the first; the second is used for one noisy table of how many records of each group the
    scorer accepts. From that table, and nothing else, come the decision rule (the paper's
    Algorithm 2) and the certificate.

    Parameters
    ----------
    epsilon, delta
        The privacy budget of one fit.
    schema
        The public facts about the table. Without one, it is read off the data with a
        ``PrivacyLeakWarning``.
    sensitive
        The column with the groups, by name or position. ``sensitive_features=`` of the methods
        gives the groups apart from the table.
    learner
        A :class:`PrivateLogisticRegression` whose training settings are used; its own budget,
        schema and seed are not.
    composition
        ``"tight"``: training and release each use the whole budget, on disjoint scopes.
        ``"basic"``: their costs are added up as in the paper.
    release_epsilon
        The cost of the release. None: all of epsilon when tight, a sixtieth of it when basic.
        With public sizes it is the cost per group (the paper's eps0 = eps1).
    release_share
        The probability that a record goes to the release scope.
    public_sizes
        Assume group sizes public, as the paper does, instead of protecting them.
    relation
        ``"add_remove"`` or ``"replace_one"``.
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
    Tight: a record lies in one scope, hence the model costs the larger of the two scopes' costs
    (parallel composition): (epsilon, delta) for training, epsilon for the release. Decisions are
    post-processing.

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
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        *,
        schema: Schema | None = None,
        sensitive: str | int | None = None,
        learner: PrivateLogisticRegression | None = None,
        composition: str = "tight",
        release_epsilon: float | None = None,
        release_share: float = 1 / 3,
        public_sizes: bool = False,
        relation: str = "add_remove",
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
        self.learner = learner
        self.composition = composition
        self.release_epsilon = release_epsilon
        self.release_share = release_share
        self.public_sizes = public_sizes
        self.relation = relation
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
        records = self._training_records(X, y, sensitive_features)
        self._budgets(ledger, len(self.schema_.groups))
        if self.schema_.sensitive is None:
            warnings.warn(
                "No sensitive column given: the model is private, but nothing makes it fair.",
                FairnessWarning,
                stacklevel=2,
            )
        units = None
        if self.unit is not None:
            units = words(get_column(X, column_name(X, self.unit)))
            kept = bound_units(units, ledger.rows_per_unit)
            records, units = records.take(kept), [units[i] for i in kept.tolist()]
        shares = {"train": 1 - self.release_share, "release": self.release_share}
        scopes = coin_split(len(records), shares, ledger.noise, units)
        self.coin_key_ = ledger.noise.take(32)
        self.ledger_ = ledger
        self.scorer_ = self._train(records.take(scopes["train"]).in_first_group(), ledger)
        counted = records.take(scopes["release"])
        self._release(counted.take(counted.groups >= 0), ledger)
        self.certificate_ = self._certify(ledger)
        return self

    def predict_proba(self, X: Any, sensitive_features: Any = None) -> NDArray[np.float64]:
        """The exact probabilities of rejection and acceptance, over the coin."""
        records = self._new_records(X, sensitive_features)
        accept = self.rule_.probabilities(records.groups, self.scorer_.positive(records))
        return np.stack([1 - accept, accept], axis=1)

    def predict(self, X: Any, sensitive_features: Any = None) -> NDArray[Any]:
        """The decisions, as class labels."""
        records = self._new_records(X, sensitive_features)
        decisions = decide(
            self.rule_,
            records.groups,
            self.scorer_.positive(records),
            self._identities(X, records),
            coins=self.coins,
            key=self.coin_key_,
        )
        return self.classes_[decisions]

    def planned_events(self, schema: Schema) -> list[tuple[str, str, DpEvent]]:
        """(scope, purpose, event) of everything a fit will charge, before any record is read."""
        ledger = self._open_ledger()
        train, release = self._budgets(ledger, len(schema.groups))
        delta = ledger.row_budget[1]
        plan = self._learner().plan(
            schema, float(train), delta, relation=self.relation, share=1 - self.release_share
        )
        tables = table_events(
            release, len(schema.groups), self.relation, public_sizes=self.public_sizes
        )
        return [
            ("train", "train the scorer", plan.event),
            *(("release", "count the accepted by group", event) for event in tables),
        ]

    def _open_ledger(self) -> Ledger:
        validate.in_open_interval(0, 1, release_share=self.release_share)
        validate.in_open_interval(0, 1 - 1e-8, confidence=self.confidence)
        if self.unit is None and self.rows_per_unit != 1:
            raise InputError("rows_per_unit needs unit, the column that identifies a person.")
        validate.one_of(COINS, coins=self.coins)
        return Ledger(
            self.epsilon,
            self.delta,
            relation=self.relation,
            composition=self.composition,
            rows_per_unit=self.rows_per_unit,
            noise=Noise(self.random_state),
        )

    def _learner(self) -> PrivateLogisticRegression:
        return self.learner if self.learner is not None else PrivateLogisticRegression()

    def _budgets(self, ledger: Ledger, groups: int) -> tuple[Fraction, Fraction]:
        """What one record may cost in training and in the release (per group, if sizes are public).

        The division looks at no record: it is a function of the parameters alone.
        """
        epsilon = ledger.row_budget[0]
        parts = groups if self.public_sizes else 1
        if self.release_epsilon is not None:
            validate.positive(release_epsilon=self.release_epsilon)
            release = Fraction(str(self.release_epsilon)) / ledger.rows_per_unit
        elif self.composition == "tight":
            release = epsilon / parts
        else:
            release = epsilon / 60
        if release < Fraction(1, 10**4):
            raise InputError("The release needs at least epsilon = 0.0001 to say anything.")
        if self.composition == "tight":
            if parts * release > epsilon:
                raise BudgetError(
                    f"The release would cost {float(parts * release):g}, over the budget of "
                    f"{float(epsilon):g}; nothing was charged."
                )
            return epsilon, release
        left = epsilon - parts * release
        validate.positive(training_epsilon=float(left))
        return left, release

    def _train(self, records: Records, ledger: Ledger) -> LinearScorer:
        train, _ = self._budgets(ledger, len(self.schema_.groups))
        learner = self._learner()
        with _progress_bar(self.verbose) as progress:
            return learner.train(
                records,
                self.schema_,
                ledger,
                scope="train",
                epsilon=train,
                share=1 - self.release_share,
                progress=progress,
            )

    def _release(self, records: Records, ledger: Ledger) -> None:
        _, epsilon = self._budgets(ledger, len(self.schema_.groups))
        count = release_accepted if self.public_sizes else release_table
        self.release_ = count(
            self.scorer_.positive(records),
            records.groups,
            self.schema_.groups,
            epsilon=epsilon,
            ledger=ledger,
            scope="release",
            dependence=self._dependence(ledger),
        )
        rates = [rate.estimate for rate in self.release_.rates]
        self.rule_ = parity_rule(rates)

    def _dependence(self, ledger: Ledger) -> str:
        """Why the counts say nothing certain about new records, if so."""
        if self.schema_.inferred:
            return "the schema was read off the counted records"
        if ledger.rows_per_unit > 1:
            return "several records of one person are not independent"
        return ""

    def _certify(self, ledger: Ledger) -> Certificate:
        unit = "every record" if self.unit is None else f"every person (column {self.unit!r})"
        return Certificate(
            method="Algorithm 2",
            privacy=PrivacyClaim(
                epsilon=ledger.epsilon,
                delta=ledger.delta,
                spent=ledger.spent,
                relation=ledger.relation,
                composition=ledger.composition,
                unit=unit,
                arithmetic="exact integers for the counts, float64 Gaussian noise in training",
                assumed_public=tuple(self._assumed_public()),
                leaks=tuple(self._leaks(ledger)),
            ),
            fairness=FairnessClaim.from_release(self.release_, self.rule_, self.confidence),
        )

    def _assumed_public(self) -> Iterator[str]:
        yield "the schema (bounds, categories, bin edges, label values, groups)"
        if self._learner().solver == "sgd":
            yield f"the size of the data set ({self.schema_.rows} rows)"
        if self.public_sizes:
            yield "the size of each group in the release scope"

    def _leaks(self, ledger: Ledger) -> Iterator[str]:
        if not ledger.private:
            yield SEEDED
        if self.schema_.inferred:
            yield "the schema was read off the data without paying for it"

    def _identities(self, X: Any, records: Records) -> list[bytes]:
        if self.unit is None:
            return records.identities()
        units = words(get_column(X, column_name(X, self.unit)))
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
