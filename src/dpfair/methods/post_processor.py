"""FairPostProcessor: Algorithm 1, and with a budget Algorithm 2, on top of any classifier."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import get_tags

from dpfair import validate
from dpfair.certificate.fairness import FairnessClaim
from dpfair.certificate.parity import parity_claim
from dpfair.certificate.privacy import PrivacyClaim
from dpfair.data.columns import Categorical, Levels
from dpfair.data.containers import column_name, get_column, row_count
from dpfair.data.encode import level_codes
from dpfair.data.proposal import infer_levels
from dpfair.data.schema import MAX_GROUPS, Schema
from dpfair.data.text import text_of
from dpfair.errors import InputError, MissingCodeError, PrivacyLeakWarning, warn
from dpfair.fairness.counting import release_accepted, release_exact, release_table, table_events
from dpfair.fairness.release import HALF, Release
from dpfair.fairness.rules import parity_rule
from dpfair.learners.protocols import Tensors
from dpfair.methods.base import PrivateClassifier
from dpfair.methods.classifiers import (
    ClassifierScorer,
    GroupClassifier,
    StoredClassifier,
    TableRecords,
    is_fitted,
    read_columns,
)
from dpfair.methods.division import usable
from dpfair.methods.fitted import Fitted
from dpfair.methods.inputs import check_table, free_name, label_array
from dpfair.methods.tables import ACCEPTED
from dpfair.privacy.assumptions import GROUP_SIZES, NO_FACTS, Assumption, Facts
from dpfair.privacy.payment import ChargeTo
from dpfair.privacy.plan import UNUSED_DELTA, Budget, FitPlan, Run, Step

__all__ = ["FairPostProcessor"]

EXACT = "the counts are exact, and no noise protects them"
TRAINED_HERE = "the classifier was trained in fit without noise"
GROUPS_READ = "the group names were read off the data without paying for it"
NOT_HELD_OUT = "fit was not told that its records are held out from training (held_out=True)"


class FairPostProcessor(PrivateClassifier):
    """Make any binary classifier accept all groups at the same rate, changing it least.

    The rates at which the groups are accepted are estimated on the records given to ``fit``:
    exactly with ``epsilon=None`` (the paper's Algorithm 1, not private), with discrete Laplace
    noise otherwise (Algorithm 2). Accepted records of a group above the common rate are then
    rejected at random, rejected records of a group below it accepted.

    Parameters
    ----------
    classifier
        Anything with ``predict``, a function of the table, or a dict of one such classifier per
        group (decoupled classifiers). Fitted classifiers are used as they are. An unfitted
        scikit-learn estimator is cloned and trained in ``fit``, without privacy, on a part of the
        records, the rates being estimated on the rest.
    epsilon
        None for Algorithm 1; the privacy budget of the estimated rates for Algorithm 2.
    sensitive
        The column with the groups, by name or position, unless given as ``sensitive_features=``.
    groups
        The group names, if they are declared. Otherwise they are read off the data.
    public_sizes
        Assume group sizes public, as the paper does: half of epsilon goes to each of two groups.
    held_out
        Say True if the records given to ``fit`` did not train the (fitted) classifier. Only then
        is the gap certified.
    release_share
        The share of records that an unfitted classifier is not trained on.
    relation, ledger, confidence, strict, random_state
        As in :class:`PrivateFairClassifier`.
    coins
        As in :class:`~dpfair.methods.settings.FairRule`.

    Privacy
    -------
    With ``epsilon``, the released rates protect the records given to ``fit``; the classifier is
    taken as public. Its own training must be private for the whole to be.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0, 1], [0, 1], [0, 0], [1, 0], [1, 0], [1, 1]])
    >>> fair = FairPostProcessor(lambda X: X[:, 1], sensitive=0, held_out=True).fit(X)
    >>> fair.rule_.accept.round(2).tolist()
    [[0.0, 0.75], [0.25, 1.0]]
    """

    without_groups = "No sensitive column given: nothing makes the classifier fair."
    tables = ("count",)
    counts_undeclared = ("group",)
    delta = UNUSED_DELTA
    schema = None
    epsilon: float | None  # type: ignore[assignment]

    def __init__(
        self,
        classifier: Any = None,
        epsilon: float | None = None,
        *,
        sensitive: str | int | None = None,
        groups: Sequence[str] | None = None,
        public_sizes: bool = False,
        held_out: bool = False,
        release_share: float = 1 / 3,
        relation: str = "add_remove",
        ledger: ChargeTo | str | Path | None = None,
        confidence: float = 0.95,
        coins: str = "keyed",
        strict: bool = False,
        random_state: int | None = None,
    ) -> None:
        self.classifier = classifier
        self.epsilon = epsilon
        self.sensitive = sensitive
        self.groups = groups
        self.public_sizes = public_sizes
        self.held_out = held_out
        self.release_share = release_share
        self.relation = relation
        self.ledger = ledger
        self.confidence = confidence
        self.coins = coins
        self.strict = strict
        self.random_state = random_state

    @property
    def title(self) -> str:
        """The method, as certificates name it."""
        return "Algorithm 1" if self.epsilon is None else "Algorithm 2"

    @property
    def budget(self) -> Budget:
        """What the rates may cost; exact ones have none."""
        return Budget(Fraction(1), 0.5, self.relation) if self.epsilon is None else super().budget

    def check_parameters(self) -> None:
        """Raise ``InputError`` for parameters that no fit can have."""
        super().check_parameters()
        validate.in_open_interval(0, 1, release_share=self.release_share)
        if not (self.sensitive is None or isinstance(self.sensitive, (str, int))):
            raise InputError("FairPostProcessor takes the groups from one column.")

    def leaks(self, schema: Schema | None) -> list[str]:
        """What is read without being paid for."""
        found = [EXACT] if self.epsilon is None else []
        found += [] if is_fitted(self.classifier) else [TRAINED_HERE]
        without_groups = schema is not None and schema.sensitive is None
        return found + ([GROUPS_READ] if self.groups is None and not without_groups else [])

    def public_facts(self, schema: Schema) -> tuple[Assumption, ...]:
        """The sizes of the groups, if they are assumed public; exact counts say all."""
        return (GROUP_SIZES,) if self.public_sizes and self.epsilon is not None else ()

    def check_schema(self, schema: Schema) -> None:
        """Raise ``InputError`` for a schema that no fit with these parameters has."""
        groups, column = schema.sensitive, self.sensitive
        if groups is None:
            sound = column is None
        else:
            sound = isinstance(column, int) or groups.name in (column, "sensitive_features")
            sound &= self.groups is None or tuple(map(text_of, self.groups)) == groups.values
        own = replace(_schema(groups), label=schema.label)
        if own != schema or not schema.reviewed or not sound:
            raise InputError("The groups of the schema are not those of the settings.")

    def with_groups(self, schema: Schema) -> Schema:
        """The same: it was made of the groups, which may be given apart from the table."""
        return schema

    def plan(self, schema: Schema | None = None, facts: Facts = NO_FACTS) -> FitPlan:
        """What the rates cost, if the groups are declared; nothing for exact ones."""
        if schema is None:
            schema = self._declared_schema(None, self.groups)
        return super().plan(schema, facts)

    def make_plan(self, schema: Schema, budget: Budget, facts: Facts) -> FitPlan:
        """One table, or with public sizes one count per group."""
        shares = {"release": 1.0}
        if not is_fitted(self.classifier):
            if self.held_out:
                raise InputError(
                    "held_out=True needs a fitted classifier; wrap it in "
                    "sklearn.frozen.FrozenEstimator, or clone and GridSearchCV will unfit it."
                )
            shares = {"train": 1 - self.release_share, "release": self.release_share}
        if self.epsilon is None:
            return FitPlan(budget, (), shares)
        count = len(schema.groups)
        whole = budget.row_epsilon
        epsilon = usable(whole / (count if self.public_sizes else 1), whole)
        events = table_events(epsilon, count, budget.relation, public_sizes=self.public_sizes)
        steps = [
            Step("count" if i == 0 else f"count {i + 1}", "release", ACCEPTED, event, how=HALF)
            for i, event in enumerate(events)
        ]
        return FitPlan(budget, tuple(steps), shares)

    def fit(self, X: Any, y: Any = None, sensitive_features: Any = None) -> Self:
        """Estimate the groups' acceptance rates and set the rule; ``y`` only trains."""
        return self._fit(X, y, sensitive_features, None)

    def train(self, records: TableRecords, run: Run) -> Fitted:
        """Train the classifier if it is not fitted, and count what it accepts."""
        names = self.schema_.groups
        if is_fitted(self.classifier):
            # With a budget the labels are private, and a function's classes are 0 and 1.
            public = records.labels if self.epsilon is None else None
            classifier, counted = GroupClassifier(self.classifier, names, public), records
        else:
            labels = records.labels
            assert labels is not None
            train, release = self._split(labels, records, run)
            training, counted = records.take(train).in_first_group(), records.take(release)
            classifier = GroupClassifier.train(
                self.classifier, names, training.table, labels[train], training.groups
            )
        self.classifier_, self.classes_ = classifier, classifier.classes
        values = tuple(text_of(value) for value in self.classes_.tolist())
        self.schema_ = replace(self.schema_, label=Levels(self.schema_.label.name, values))
        scorer = ClassifierScorer(classifier)
        # Records of other groups are not counted: predict refuses them.
        known = counted.take(np.flatnonzero(counted.groups >= 0))
        release_ = self._release(scorer.scores(known), known.groups, run)
        return self.choose(Fitted(scorer, {"count": release_}))

    def _release(
        self, accepted: NDArray[np.float64], groups: NDArray[np.integer[Any]], run: Run
    ) -> Release:
        names, dependence = self.schema_.groups, self.dependence("count")
        if self.epsilon is None:
            return release_exact(accepted, groups, names, dependence=dependence)
        receipts = [run[step.name] for step in run.plan.steps]
        if self.public_sizes:
            return release_accepted(
                accepted,
                groups,
                names,
                receipts=receipts,
                assume=run.assume,
                dependence=dependence,
            )
        return release_table(accepted, groups, names, receipt=receipts[0], dependence=dependence)

    def restore(self, tensors: Tensors) -> ClassifierScorer:
        """The classifier, which a file does not hold."""
        if tensors:
            raise InputError("It does not hold the weights of a model.")
        classifier = self.classifier
        if isinstance(classifier, StoredClassifier) and classifier.given is not None:
            classifier = classifier.given
        self.classifier_ = GroupClassifier(classifier, self.schema_.groups, self.classes_)
        if not np.array_equal(self.classifier_.classes, self.classes_):
            raise MissingCodeError("The classifier that was given has other classes.")
        return ClassifierScorer(self.classifier_)

    def choose(self, fitted: Fitted) -> Fitted:
        """The flips that bring all groups to the middle of their rates."""
        rates = [rate.estimate for rate in fitted.releases["count"].rates]
        return replace(fitted, rule=parity_rule(rates))

    def fairness(self, fitted: Fitted) -> FairnessClaim:
        """A bound on the gap that holds for any rates that fit the counts."""
        assert fitted.rule is not None
        return parity_claim(fitted.releases["count"], fitted.rule, self.confidence)

    def dependence(self, step: str) -> str:
        """Why the counted records are not independent of the classifier, if so."""
        return "" if self.held_out or not is_fitted(self.classifier) else NOT_HELD_OUT

    def privacy(self) -> PrivacyClaim:
        """What the released rates protect; a classifier that was given is taken as public."""
        given = ("the classifier",) if is_fitted(self.classifier) else ()
        facts = [fact.text for fact in self.ledger_.assumptions]
        claim = replace(
            super().privacy(),
            delta=0.0,
            unit="every record given to fit",
            arithmetic="exact integers",
            assumed_public=(*given, *facts),
            records=None,
            records_error=0,
        )
        if self.epsilon is not None:
            return claim
        leaks = tuple(self.leaks(self.schema_))  # no noise, so it does not matter where it is from
        return replace(claim, epsilon=math.inf, spent=math.inf, leaks=leaks)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if isinstance(self.classifier, BaseEstimator):
            tags.input_tags.allow_nan = get_tags(self.classifier).input_tags.allow_nan
        return tags

    def _declared_schema(self, X: Any, sensitive_features: Any) -> Schema | None:
        """The groups as a schema; None if their names are read off the data."""
        if sensitive_features is None and self.sensitive is None:
            return _schema(None)
        if self.groups is None:
            return None
        name = "sensitive_features"
        if isinstance(self.sensitive, (str, int)) and (sensitive_features is None or X is None):
            position = X is not None and not isinstance(self.sensitive, str)
            name = column_name(X, self.sensitive) if position else str(self.sensitive)
        return _schema(Levels(name, tuple(text_of(group) for group in self.groups)))

    def tables_of(self, files: Any, *further: str) -> NoReturn:
        """Files hold text, and only the classifier knows the types of its columns."""
        raise InputError("The classifier decides a table: read the files, and give the table.")

    def _training_records(self, X: Any, y: Any, sensitive_features: Any) -> TableRecords:
        table = check_table(self, X, reset=True)
        schema = self._declared_schema(table, sensitive_features)
        if schema is None:
            schema = _schema(self._read_groups(table, sensitive_features))
        self.schema_ = schema
        records = self._encode(table, sensitive_features)
        if y is None and is_fitted(self.classifier):
            return records
        return records.with_labels(label_array(y, row_count(table)))

    @property
    def _declares_columns(self) -> bool:
        return is_fitted(self.classifier) and read_columns(self.classifier) is not None

    def _named(self, table: Any, schema: Schema, sensitive_features: Any) -> Any:
        return table  # its columns are the classifier's

    def _encode(self, table: Any, sensitive_features: Any) -> TableRecords:
        rows, sensitive = row_count(table), self.schema_.sensitive
        columns = read_columns(self.classifier) if self._declares_columns else None
        if sensitive is None:
            return TableRecords(table, np.zeros(rows, dtype=np.int64), columns=columns)
        apart = sensitive_features is not None
        values = sensitive_features if apart else get_column(table, sensitive.name)
        groups = level_codes(values, sensitive)
        if len(groups) != rows:
            raise InputError(f"Expected {rows} groups, got {len(groups)}.")
        return TableRecords(table, groups, columns=columns)

    def _read_groups(self, table: Any, sensitive_features: Any) -> Levels:
        if self.epsilon is not None:
            message = (
                "No groups declared: their names are read off the data, which is not private. "
                "Declare them with groups=."
            )
            if self.strict:
                raise InputError(message)
            warn(message, PrivacyLeakWarning)
        if sensitive_features is not None:
            name, values = "sensitive_features", sensitive_features
        else:
            assert isinstance(self.sensitive, (str, int))
            name = column_name(table, self.sensitive)
            values = get_column(table, name)
        return infer_levels(name, values, what="sensitive column", most=MAX_GROUPS)

    def _split(
        self, labels: NDArray[Any], records: TableRecords, run: Run
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Who trains the classifier and who is counted, by a coin per record.

        Without a budget nothing has to be private, and every class keeps its share in both parts.
        """
        if self.epsilon is not None:
            scopes = run.split(records)
            return scopes["train"], scopes["release"]
        ranks = np.empty(len(labels))
        coins = run.noise.uniforms(len(labels))
        for value in np.unique(labels):
            own = np.flatnonzero(labels == value)
            ranks[own[np.argsort(coins[own])]] = (np.arange(len(own)) + 0.5) / len(own)
        return np.flatnonzero(ranks >= self.release_share), np.flatnonzero(
            ranks < self.release_share
        )


def _schema(groups: Levels | None) -> Schema:
    """What the method reads of a record: its group and what the classifier decides about it."""
    taken = () if groups is None else (groups.name,)
    decision = free_name("the classifier's decision", taken)
    return Schema(
        (Categorical(decision, ("rejected", "accepted")),),
        Levels(free_name("label", taken), ("0", "1")),
        groups,
    )
