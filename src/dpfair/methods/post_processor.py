"""FairPostProcessor: Algorithm 1, and with a budget Algorithm 2, on top of any classifier."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from dpfair import validate
from dpfair.certificate.claims import Certificate, FairnessClaim, PrivacyClaim
from dpfair.data.infer import infer_levels
from dpfair.data.schema import Levels, Schema, text_of
from dpfair.data.table import (
    as_texts,
    get_column,
    level_codes,
    row_count,
    row_identities,
    take_rows,
)
from dpfair.data.tabular import (
    MAX_GROUPS,
    TabularInput,
    check_table,
    column_name,
    known_groups,
    label_array,
)
from dpfair.errors import FairnessWarning, InputError, PrivacyLeakWarning
from dpfair.fairness.coins import COINS, decide
from dpfair.fairness.release import (
    ACCEPTED,
    release_accepted,
    release_exact,
    release_table,
    table_events,
)
from dpfair.fairness.rules import parity_rule
from dpfair.methods.classifiers import GroupClassifier, is_fitted
from dpfair.privacy.events import DpEvent, exact_epsilon
from dpfair.privacy.ledger import SEEDED, Ledger
from dpfair.privacy.noise import Noise, noise_source
from dpfair.privacy.payment import ChargeTo, Payment
from dpfair.privacy.split import coin_split

__all__ = ["FairPostProcessor"]


class FairPostProcessor(TabularInput, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
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
    relation, ledger, confidence, coins, strict, random_state
        As in :class:`PrivateFairClassifier`.

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

    def fit(self, X: Any, y: Any = None, sensitive_features: Any = None) -> FairPostProcessor:
        """Estimate the groups' acceptance rates and set the rule; ``y`` only trains."""
        validate.in_open_interval(
            0, 1, confidence=self.confidence, release_share=self.release_share
        )
        validate.one_of(COINS, coins=self.coins)
        noise = noise_source(self.random_state)
        ledger = None
        if self.epsilon is not None:
            # Counts are pure: the delta of this ledger is never used.
            ledger = Ledger(self.epsilon, 1e-12, relation=self.relation, noise=noise)
        payment = self._post_payment(ledger)
        table = check_table(self, X, reset=True)
        self.outcome_ = self._fix_groups(table, sensitive_features)
        known = self._group_codes(table, sensitive_features)
        groups = np.maximum(known, 0)
        everybody = np.arange(row_count(table))
        names = self._group_names()
        if is_fitted(self.classifier):
            # With a budget the labels are private, and a function's classes are 0 and 1.
            public = y if self.epsilon is None else None
            self.classifier_ = GroupClassifier(self.classifier, names, public)
            release = everybody
            dependence = (
                ""
                if self.held_out
                else "fit was not told that its records are held out from training (held_out=True)"
            )
        else:
            if self.held_out:
                raise InputError(
                    "held_out=True needs a fitted classifier; wrap it in "
                    "sklearn.frozen.FrozenEstimator, or clone and GridSearchCV will unfit it."
                )
            labels = label_array(y, len(everybody))
            train, release = self._split(labels, noise)
            dependence = ""
            self.classifier_ = GroupClassifier.train(
                self.classifier, names, take_rows(table, train), labels[train], groups[train]
            )
        self.classes_ = self.classifier_.classes
        payment.pay()
        release = release[known[release] >= 0]  # predict refuses records of other groups
        cells = self.classifier_.positive(take_rows(table, release), groups[release])
        self._release(cells, groups[release], ledger, dependence)
        self.coin_key_ = noise.take(32)
        self.ledger_ = ledger
        self.certificate_ = self._certify(ledger, trained_here=not is_fitted(self.classifier))
        return self

    def planned_events(self, schema: Schema | None = None) -> list[tuple[str, str, DpEvent]]:
        """(scope, purpose, event) of what a fit will charge, if its groups are declared."""
        if self.epsilon is None:
            return []
        count = 1 if self.groups is None else len(self.groups)
        if self.groups is None and (self.public_sizes and self.sensitive is not None):
            raise InputError("The cost per group is known only if the groups are declared.")
        epsilon = exact_epsilon(self.epsilon) / (count if self.public_sizes else 1)
        events = table_events(epsilon, count, self.relation, public_sizes=self.public_sizes)
        return [("release", ACCEPTED, event) for event in events]

    def predict_proba(self, X: Any, sensitive_features: Any = None) -> NDArray[np.float64]:
        """The exact probabilities of rejection and acceptance, over the coin."""
        table, groups = self._new_table(X, sensitive_features)
        accept = self.rule_.probabilities(groups, self.classifier_.positive(table, groups))
        return np.stack([1 - accept, accept], axis=1)

    def predict(self, X: Any, sensitive_features: Any = None) -> NDArray[Any]:
        """The decisions, as class labels."""
        table, groups = self._new_table(X, sensitive_features)
        decisions = decide(
            self.rule_,
            groups,
            self.classifier_.positive(table, groups).astype(np.float64),
            row_identities(table, groups),
            coins=self.coins,
            key=self.coin_key_,
        )
        return self.classes_[decisions]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if isinstance(self.classifier, BaseEstimator):
            tags.input_tags.allow_nan = get_tags(self.classifier).input_tags.allow_nan
        return tags

    def _post_payment(self, own: Ledger | None) -> Payment:
        """Refuse what the ledger file cannot pay for, before any record is read."""
        leak = ""
        if own is None:
            leak, own = "exact counts are not", Ledger(1, 0.5)  # of Algorithm 1
        elif not is_fitted(self.classifier):
            leak = "a classifier that is trained here without noise is not"
        elif self.groups is None:
            leak = "group names that are read off the data are not"
        return Payment(
            self.ledger,
            own,
            self.planned_events,
            purpose="fit FairPostProcessor",
            settings=self.get_params(deep=False),
            leak=leak,
            plan_at=lambda epsilon: self._plan_at(epsilon, None),
        )

    def _new_table(self, X: Any, sensitive_features: Any) -> tuple[Any, NDArray[np.int64]]:
        check_is_fitted(self)
        table = check_table(self, X, reset=False)
        groups = self._group_codes(table, sensitive_features)
        known_groups(groups, self._group_names())
        return table, groups

    def _fix_groups(self, table: Any, sensitive_features: Any) -> Levels | None:
        if sensitive_features is not None:
            name, values = "sensitive_features", sensitive_features
        elif self.sensitive is not None:
            if not isinstance(self.sensitive, (str, int)):
                raise InputError("FairPostProcessor takes the groups from one column.")
            name = column_name(table, self.sensitive)
            values = get_column(table, name)
        else:
            warnings.warn(
                "No sensitive column given: nothing makes the classifier fair.",
                FairnessWarning,
                stacklevel=3,
            )
            return None
        if self.groups is not None:
            return Levels(name, tuple(text_of(g) for g in self.groups))
        if self.epsilon is not None:
            message = (
                "No groups declared: their names are read off the data, which is not private. "
                "Declare them with groups=."
            )
            if self.strict:
                raise InputError(message)
            warnings.warn(message, PrivacyLeakWarning, stacklevel=3)
        return infer_levels(name, values, what="sensitive column", most=MAX_GROUPS)

    def _group_names(self) -> tuple[str, ...]:
        return self.outcome_.values if self.outcome_ else ("everybody",)

    def _group_codes(self, table: Any, sensitive_features: Any) -> NDArray[np.int64]:
        if self.outcome_ is None:
            return np.zeros(row_count(table), dtype=np.int64)
        if sensitive_features is not None:
            values = as_texts(sensitive_features)
        else:
            values = as_texts(get_column(table, self.outcome_.name))
        if len(values) != row_count(table):
            raise InputError(f"Expected {row_count(table)} groups, got {len(values)}.")
        return level_codes(values, self.outcome_)

    def _split(
        self, labels: NDArray[Any], noise: Noise
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Who trains the classifier and who is counted, by a coin per record.

        Without a budget nothing has to be private, and every class keeps its share in both parts.
        """
        if self.epsilon is not None:
            shares = {"train": 1 - self.release_share, "release": self.release_share}
            scopes = coin_split(len(labels), shares, noise)
            return scopes["train"], scopes["release"]
        ranks = np.empty(len(labels))
        coins = noise.uniforms(len(labels))
        for value in np.unique(labels):
            own = np.flatnonzero(labels == value)
            ranks[own[np.argsort(coins[own])]] = (np.arange(len(own)) + 0.5) / len(own)
        return np.flatnonzero(ranks >= self.release_share), np.flatnonzero(
            ranks < self.release_share
        )

    def _release(
        self,
        cells: NDArray[np.int64],
        groups: NDArray[np.int64],
        ledger: Ledger | None,
        dependence: str,
    ) -> None:
        names = self._group_names()
        if ledger is None:
            self.release_ = release_exact(cells, groups, names, dependence=dependence)
        else:
            count = release_accepted if self.public_sizes else release_table
            epsilon = ledger.row_budget[0] / (len(names) if self.public_sizes else 1)
            self.release_ = count(
                cells,
                groups,
                names,
                epsilon=epsilon,
                ledger=ledger,
                scope="release",
                dependence=dependence,
            )
        self.rule_ = parity_rule([rate.estimate for rate in self.release_.rates])

    def _certify(self, ledger: Ledger | None, *, trained_here: bool) -> Certificate:
        public, leaks = ["the classifier"], []
        if ledger is None:
            leaks.append("the counts are exact, and no noise protects them")
        else:
            public += [fact.text for fact in ledger.assumptions]
            leaks += [] if ledger.private else [SEEDED]
        if trained_here:
            leaks.append("the classifier was trained in fit without noise")
        if self.groups is None and self.outcome_ is not None:
            leaks.append("the group names were read off the data without paying for it")
        return Certificate(
            method="Algorithm 1" if ledger is None else "Algorithm 2",
            privacy=PrivacyClaim(
                epsilon=float("inf") if ledger is None else ledger.epsilon,
                delta=0.0,
                spent=float("inf") if ledger is None else ledger.spent,
                relation=self.relation,
                composition="tight",
                unit="every record given to fit",
                arithmetic="exact integers",
                assumed_public=tuple(public),
                leaks=tuple(leaks),
            ),
            fairness=FairnessClaim.from_release(self.release_, self.rule_, self.confidence),
        )
