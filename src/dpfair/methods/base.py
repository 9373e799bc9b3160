"""PrivateClassifier: what every method shares, from reading a table to the certificate.

A method is one short file. It writes :meth:`~PrivateClassifier.make_plan` and
:meth:`~PrivateClassifier.train` and, if it has something to say about fairness,
:meth:`~PrivateClassifier.choose` and :meth:`~PrivateClassifier.fairness`. Parameters, payment,
persons, coins, predictions, certificates and model files are the same for all of them.
"""

from __future__ import annotations

import copy
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Self

from dp_accounting.dp_event import NoOpDpEvent
from sklearn.base import BaseEstimator, ClassifierMixin

from dpfair import validate
from dpfair.certificate.certificate import Certificate
from dpfair.certificate.fairness import FairnessClaim
from dpfair.certificate.judgement import LARGE_DELTA, delta_warning
from dpfair.certificate.privacy import (
    INFERRED_SCHEMA,
    SEEDED_DISCOVERY,
    PrivacyClaim,
    arithmetic_of,
    contradicts,
    counted_records,
)
from dpfair.certificate.search import search_of, winners_certificate
from dpfair.data.containers import column_name
from dpfair.data.describe import facts_phrase, found_phrases
from dpfair.data.fingerprint import fingerprint
from dpfair.data.schema import MAX_GROUPS, Schema
from dpfair.errors import (
    BudgetError,
    FairnessWarning,
    InputError,
    NoRoomError,
    WeakPrivacyWarning,
    warn,
)
from dpfair.fairness.coins import COINS
from dpfair.fairness.release import REUSED, UNDECLARED, dependence_of
from dpfair.methods.divided import is_divided, refuse_apart
from dpfair.methods.fitted import Fitted
from dpfair.methods.limits import check_plan
from dpfair.methods.predicting import Predicting
from dpfair.methods.progress import progress_bar, stage
from dpfair.methods.room import bytes_per_record
from dpfair.methods.settings import NestedSettings
from dpfair.methods.training import DISCOVER, TRAIN, Training, check_learner
from dpfair.privacy.assumptions import NO_FACTS, Facts
from dpfair.privacy.events import exact_epsilon, scopes_overlap
from dpfair.privacy.ledger import Ledger
from dpfair.privacy.noise import Noise, noise_source
from dpfair.privacy.payment import Payment, job_digest
from dpfair.privacy.plan import Budget, FitPlan, Run
from dpfair.privacy.split import bound_units

__all__ = ["PrivateClassifier"]


class PrivateClassifier(
    NestedSettings,
    Training,
    Predicting,
    ClassifierMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """A binary classifier whose fit is planned, paid for and certified.

    Attributes
    ----------
    certificate_
        What is promised.
    plan_, ledger_
        What was planned, and what was charged.
    fitted_
        The scorer, the releases and the rule.
    schema_, classes_
        The public facts, and the two labels, the accepted one second.
    """

    # Under metadata routing, groups given apart from the table reach every method.
    __metadata_request__fit: ClassVar = {"sensitive_features": True}
    __metadata_request__predict: ClassVar = {"sensitive_features": True}
    __metadata_request__predict_proba: ClassVar = {"sensitive_features": True}
    __metadata_request__score: ClassVar = {"sensitive_features": True}

    # Parameters that some methods have, and what holds for the others.
    rows_per_unit: int = 1
    composition: str = "tight"
    confidence: float = 0.95
    verbose: bool = False

    without_groups: ClassVar[str] = ""
    """The warning of a fit without a sensitive column; empty if it needs none."""

    no_claim: ClassVar[str] = "this method bounds no gap between groups"
    """Why a method that makes no claim about fairness makes none."""

    quick: ClassVar[dict[str, Any]] = {}
    """Settings with which a fit takes milliseconds, for audits and contract tests."""

    encodings: ClassVar[frozenset[str] | None] = None
    """How features are encoded, if only some facts of the schema are used by that."""

    counts_labels: ClassVar[bool] = False
    """Whether the released tables count records by label."""

    counts_undeclared: ClassVar[tuple[str, ...]] = UNDECLARED
    """What the released tables count that the schema does not declare."""

    public_sizes: bool = False
    """Whether group sizes are taken as public."""

    in_parts: bool = False
    """Whether a fit only asks the records for sums, so that they need not be in memory."""

    tables: ClassVar[tuple[str, ...]] = ()
    """The released tables that a model keeps, by the names of their steps."""

    _fitted_with: str = ""
    plan_: FitPlan
    ledger_: Ledger
    certificate_: Certificate

    # What a method writes.

    @property
    def title(self) -> str:
        """The method, as certificates name it."""
        return type(self).__name__

    @property
    def why_whole(self) -> str:
        """Why a fit needs all records in memory; empty if it does not."""
        if self.unit is not None:
            return "With unit, the records of a person are looked for in all of the table"
        if self.in_parts:
            return ""
        learner = getattr(self, "learner", None)
        which = self.title if learner is None else f"{self.title}, {type(learner).__name__}"
        return f"This fit ({which}) needs all records in memory"

    def make_plan(self, schema: Schema, budget: Budget, facts: Facts) -> FitPlan:
        """All steps of a fit, by public facts alone."""
        raise NotImplementedError

    def train(self, records: Any, run: Run) -> Fitted:
        """The fit itself; every answer about a record is drawn from ``run[step]``."""
        raise NotImplementedError

    def choose(self, fitted: Fitted) -> Fitted:
        """The same with the rule that follows from its releases; reads no record."""
        return fitted

    def fairness(self, fitted: Fitted) -> FairnessClaim:
        """What the releases say about the gap between groups."""
        return FairnessClaim.nothing(self.schema_.groups, self.no_claim)

    def leaks(self, schema: Schema | None) -> list[str]:
        """What reaches the model without being paid for; such a model is not private."""
        if schema is None or not schema.reviewed:
            return [INFERRED_SCHEMA]
        earlier = schema.discovery
        return [] if earlier is None or earlier.private else [SEEDED_DISCOVERY]

    def check_parameters(self) -> None:
        """Raise ``InputError`` for parameters that no fit can have."""
        validate.in_open_interval(0, 1 - 1e-6, confidence=self.confidence)
        validate.one_of(COINS, coins=self.coins)
        if self.unit is None and self.rows_per_unit != 1:
            raise InputError("rows_per_unit needs unit, the column that identifies a person.")
        check_learner(getattr(self, "learner", None))

    # What is the same for all of them.

    def plan(self, schema: Schema | None = None, facts: Facts = NO_FACTS) -> FitPlan:
        """Everything that a fit will charge, before any record is read.

        ``schema`` is the model's own by default. ``facts`` are exact facts about the records that
        the method takes as public, see :meth:`assumes`.
        """
        self.check_parameters()
        schema = self.schema if schema is None else schema
        if schema is None:
            raise InputError("A fit can be planned only if its schema is declared.")
        schema = self.with_groups(schema.declared())
        if len(schema.groups) > MAX_GROUPS:
            raise InputError(f"Expected at most {MAX_GROUPS} groups, got {len(schema.groups)}.")
        missing = [fact.text for fact in self.assumes(schema) if fact not in facts]
        if missing:
            raise InputError(
                f"The cost of this fit is not known before records are read: it depends on "
                f"{' and '.join(missing)}."
            )
        plan = self.make_plan(schema, self.budget, facts)
        if schema.unbounded and DISCOVER not in plan:
            names = ", ".join(c.name for c in schema.columns if c.unbounded)
            raise InputError(
                f"{type(self).__name__} does not find bounds and categories itself: declare those "
                f"of {names}, or find them with 'dpfair schema discover'."
            )
        return plan

    def replan(self, facts: Facts, *, stated: FitPlan | None = None, notion: str = "") -> FitPlan:
        """The plan that these parameters lead to, to compare that of a finished fit with.

        The noise of a ``stated`` plan's training is checked, which is quicker than to find it.
        ``notion`` is what the fit was planned for, if the rule was changed afterwards.
        """
        other = self if stated is None else self._with_stated(stated)
        return other.plan(self.schema_, facts)

    def check_schema(self, schema: Schema) -> None:
        """Raise ``InputError`` for a schema that no fit with these parameters has."""
        if self.with_groups(schema) != schema:
            raise InputError("The groups of the schema are not in the sensitive column.")

    def with_groups(self, schema: Schema) -> Schema:
        """The schema with the groups where ``sensitive`` says.

        One that was read off a table has its groups: they may have been given apart from it.
        """
        read_off = not schema.reviewed and schema.sensitive is not None
        if read_off or not isinstance(self.sensitive, (str, list, tuple)):
            return schema
        return schema.with_sensitive(self.sensitive)

    def nested(self) -> dict[str, Any]:
        """Parameters that have settings of their own, as objects."""
        return {"learner": self.make_learner()} if hasattr(self, "learner") else {}

    @property
    def budget(self) -> Budget:
        """What a fit may cost."""
        budget = Budget(
            exact_epsilon(self.epsilon),
            self.delta,
            self.relation,
            self.composition,
            self.rows_per_unit,
        )
        budget.ledger()  # checks the numbers
        return budget

    def payment(
        self, plan: FitPlan, schema: Schema, noise: Noise | None = None, unit: str | None = None
    ) -> Payment:
        """Check that the plan can be paid for; a refusal comes before any record is read."""
        if self.ledger is not None:
            # Otherwise what is paid for could not be kept.
            check_plan(plan, schema, labelled=self.counts_labels)
        return Payment(
            self.ledger,
            plan,
            noise_source(self.random_state) if noise is None else noise,
            purpose=f"fit {type(self).__name__}",
            settings=self.settings(),
            unit=unit if unit is not None or self.unit is None else str(self.unit),
            leaks=self.leaks(schema),
            plan_at=lambda epsilon: self._plan_at(epsilon, schema).event,
            continues=self.in_parts,
        )

    def _plan_at(self, epsilon: float, schema: Schema) -> FitPlan:
        """The same fit with another budget, if its model could be saved."""
        other = copy.copy(self)
        other.epsilon = epsilon
        plan = other.plan(schema)
        check_plan(plan, schema, labelled=self.counts_labels)
        return plan

    def fit(self, X: Any, y: Any = None, sensitive_features: Any = None) -> Self:
        """Plan, pay, train and certify.

        ``X`` may be a :class:`~dpfair.data.table_files.TableFiles` or a Dask data frame, which need
        not fit into memory. Without ``y``, labels are then read from the column of the schema. A
        Dask data frame is encoded by the workers of the current client, if there is one.
        """
        return self._fit(X, y, sensitive_features, None)

    def fit_planned(
        self, plan: FitPlan, X: Any, y: Any = None, sensitive_features: Any = None
    ) -> Self:
        """Fit by a plan that :meth:`plan` made; one for other parameters is refused.

        The noise of the plan is not searched for again.
        """
        return self._fit(X, y, sensitive_features, plan)

    def _fit(self, X: Any, y: Any, sensitive_features: Any, given: FitPlan | None) -> Self:
        self.check_parameters()
        if is_divided(X):
            if reason := self.why_whole:
                raise InputError(f"{reason}: give a table.")
            refuse_apart(X, y, sensitive_features)
        noise, facts = noise_source(self.random_state), NO_FACTS
        declared = self._declared_schema(X, sensitive_features)
        unit = None if self.unit is None else column_name(X, self.unit)
        payment = None
        if declared is not None and not self.assumes(declared):
            plan = self.plan(declared) if given is None else self._planned_again(given, declared)
            payment = self.payment(plan, declared, noise, unit)
        elif given is not None:
            raise InputError("The cost of this fit is not known before records are read.")
        elif self.ledger is not None:
            for leak in self.leaks(declared):
                raise InputError(f"A ledger file pays for private work only, and {leak}.")
            self.plan(declared)  # raises: a ledger pays for what is known before
        for name in ("certificate_", "fitted_", "best_estimator_"):
            self.__dict__.pop(name, None)  # a fit that fails leaves no earlier model
        with stage("encoding the records", shown=self.verbose):
            records = self._training_records(X, y, sensitive_features)
        try:
            if payment is None:
                facts = self._facts(records, noise)
                plan = self.plan(self.schema_, facts)
                payment = self.payment(plan, self.schema_, noise, unit)
            if is_divided(X):
                records.check_room(bytes_per_record(self.schema_, plan))
            self._pay_and_learn(records, payment, plan, facts)
        finally:
            if is_divided(X):
                records.close()
        return self

    def _pay_and_learn(self, records: Any, payment: Payment, plan: FitPlan, facts: Facts) -> None:
        if self.schema_.sensitive is None and self.without_groups:
            warn(self.without_groups, FairnessWarning)
        self._warn_delta(self._declared_records())  # before anything is spent
        self.warn_discovery(plan)
        try:
            run = payment.pay()
            payment.check_records(records, partial(fingerprint, self.schema_))
            run.assume_all(facts)
            self.learn(records, run)
        except NoRoomError as error:
            raise NoRoomError(f"{error} {payment.after_failure}".strip()) from None
        finally:
            payment.close()
        privacy, declared = self.certificate_.privacy, self._declared_records()
        if self.delta < LARGE_DELTA and (declared is None or privacy.records != declared):
            self._warn_delta(privacy.records, privacy.records_error)
        if declared is not None and privacy.records != declared:
            warn(
                f"The schema declares rows = {declared:,}, and the noisy counts show about "
                f"{privacy.records:,} records, by which the certificate judges delta. rows is the "
                "size of the whole data set.",
                WeakPrivacyWarning,
            )

    def learn(self, records: Any, run: Run) -> None:
        """Train on encoded records by a plan that is paid for, and certify."""
        assert run.plan is not None
        self.plan_, self.ledger_ = run.plan, run.ledger
        self.remember_settings()
        if records.units is not None:
            rows = run.plan.budget.rows_per_unit
            records = records.take(bound_units(records.units.tolist(), rows))
        if DISCOVER in run.plan:
            records = self.discover(records, run)
        training = run.plan[TRAIN].how if TRAIN in run.plan else None
        with progress_bar(self.verbose, getattr(training, "steps", None)) as run.progress:
            fitted = self.train(records, run)
            if fitted.rule is not None and not fitted.coin_key:
                fitted = replace(fitted, coin_key=run.coin_key)
            run.close()
            self.fitted_ = fitted
            run.stage("certifying")
            self.certificate_ = self.certify()

    def remember_settings(self) -> None:
        """Take the parameters for those of the fitted model."""
        self._fitted_with = job_digest("fit", self.settings())

    def check_unchanged(self) -> None:
        """Raise ``InputError`` if the parameters are not those of the fitted model."""
        if job_digest("fit", self.settings()) != self._fitted_with:
            raise InputError("The model's parameters were changed after fit; set them back.")

    def _planned_again(self, given: FitPlan, schema: Schema) -> FitPlan:
        """The plan of these parameters, which must be the given one."""
        with suppress(InputError, BudgetError):  # its noise may not be what this budget pays for
            plan = self._with_stated(given).plan(schema)
            if plan == given:
                return plan
            if plan.agrees(given):  # up to the last digits of what was searched for
                return self.plan(schema)
        raise InputError("The plan was made for other parameters or another schema.")

    def _with_stated(self, plan: FitPlan) -> Self:
        """A copy that checks the noise of a plan's training instead of searching for it."""
        other = copy.copy(self)
        # Nothing was paid if the step is missing; no noise is searched for to find that out.
        other.stated_training = plan[TRAIN].event if TRAIN in plan else NoOpDpEvent()
        return other

    def certify(self) -> Certificate:
        """The certificate, from what was released and charged."""
        groups = self.schema_.sensitive
        fairness = replace(
            self.fairness(self.fitted_),
            column="" if groups is None else groups.name,
            # Those that were read off the records are not shown.
            labels=self.schema_.label.values if self.schema_.reviewed else (),
        )
        own = Certificate(method=self.title, privacy=self.privacy(), fairness=fairness)
        return winners_certificate(own, self.ledger_)

    def privacy(self) -> PrivacyClaim:
        """What the ledger paid for, and for whom."""
        schema, unit = self.schema_, "every record"
        if self.unit is not None:
            unit = f"every person (column {self.unit_name!r})"
        # What was read off the records is listed as a leak, and not as public.
        public = [facts_phrase(schema, self.encodings)] if schema.reviewed else []
        records, error, contradicted = self._declared_records(), 0, ""
        # A search counts on a part of the records that its winner does not know.
        if "count" in self.plan_ and search_of(self.ledger_) is None:
            share = self.plan_.share("count")
            counted = counted_records(self.release_, share, self.rows_per_unit)
            if records is not None and contradicts(records, *counted):
                contradicted = f", although the counts show about {counted[0]:,}"
            if records is None or contradicted:
                records, error = counted
        if schema.rows is not None:
            public.append(f"the size of the data set ({schema.rows:,} rows){contradicted}")
        if schema.discovery is not None:
            public.append(f"{schema.discovery} (which adds to the cost)")
        return PrivacyClaim.from_ledger(
            self.ledger_,
            protects=self.plan_.protects,
            unit=unit,
            arithmetic=arithmetic_of(self.ledger_),
            assumed_public=public,
            leaks=self.leaks(schema),
            records=records,
            records_error=error,
            found=found_phrases(schema) if schema.discovery is None else (),
            earlier=(
                (0.0, 0.0)
                if schema.discovery is None
                else (schema.discovery.epsilon, schema.discovery.delta)
            ),
        )

    def dependence(self, step: str) -> str:
        """Why the records of a step are not independent of each other or of the scorer, if so."""
        plan = self.plan_
        own = dependence_of(
            inferred=not self.schema_.reviewed,
            rows_per_unit=self.rows_per_unit,
            discovered=self.schema_.discovery is not None,
        )
        reused = TRAIN in plan and scopes_overlap(plan[step].scope, plan[TRAIN].scope)
        # Shares of undeclared values are certain although records are reused, so other reasons
        # come first.
        return own or (REUSED if reused else "")

    def _declared_records(self) -> int | None:
        """The declared size; with ``unit`` persons count, whose number is not declared."""
        return self.schema_.rows if self.unit is None else None

    def _warn_delta(self, records: int | None, error: int = 0) -> None:
        text = delta_warning(self.delta, records, error)
        if text:
            warn(text, WeakPrivacyWarning)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "certificate_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.poor_score = True
        return tags
