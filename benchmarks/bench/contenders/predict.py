"""Decisions about a data frame, by models that were fitted to Adult."""

from __future__ import annotations

from benchmarks.bench.inputs import Inputs
from benchmarks.bench.task import Call

ADULT_ROWS = 45_222


def dpfair(inputs: Inputs) -> Call:
    """Our default classifier, from its file."""
    from dpfair import load_model

    frame, _ = inputs.table()
    model = load_model(inputs.model)
    model.predict(frame[:1000])
    return Call(lambda: model.predict(frame), inputs.rows)


def sklearn(inputs: Inputs) -> Call:
    """Logistic regression of scikit-learn, without any fairness."""
    from benchmarks.bench.contenders.sklearn_fit import logistic_pipeline

    frame, _ = inputs.plain_table()
    model = logistic_pipeline().fit(*inputs.with_rows(ADULT_ROWS).plain_table())
    return Call(lambda: model.predict(frame), inputs.rows)


def threshold_optimizer(inputs: Inputs) -> Call:
    """ThresholdOptimizer of fairlearn over the same logistic regression."""
    from fairlearn.postprocessing import ThresholdOptimizer

    from benchmarks.bench.contenders.sklearn_fit import logistic_pipeline
    from benchmarks.bench.inputs import SENSITIVE

    frame, _ = inputs.plain_table()
    known, labels = inputs.with_rows(ADULT_ROWS).plain_table()
    model = ThresholdOptimizer(
        estimator=logistic_pipeline(),
        constraints="demographic_parity",
        predict_method="predict_proba",
    )
    model.fit(known, labels, sensitive_features=known[SENSITIVE])
    groups = frame[SENSITIVE]
    return Call(
        lambda: model.predict(frame, sensitive_features=groups, random_state=0), inputs.rows
    )
