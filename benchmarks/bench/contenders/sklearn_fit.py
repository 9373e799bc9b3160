"""Fits of scikit-learn that are neither private nor fair, with the encoding of the columns."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from benchmarks.bench.inputs import Inputs
from benchmarks.bench.task import Call

WARM_ROWS = 2_000


def logistic(inputs: Inputs) -> Call:
    """One-hot words, scaled numbers, L-BFGS."""
    return prepared(logistic_pipeline(), inputs)


def sgd(inputs: Inputs) -> Call:
    """The same with stochastic gradient descent."""
    return prepared(
        make_pipeline(encoder(), SGDClassifier(loss="log_loss", random_state=0)), inputs
    )


def boosting(inputs: Inputs) -> Call:
    """Gradient boosting on histograms, with words as categories."""
    trees = HistGradientBoostingClassifier(categorical_features="from_dtype", random_state=0)
    return prepared(make_pipeline(FunctionTransformer(with_categories), trees), inputs)


def logistic_pipeline() -> Any:
    """Logistic regression as scikit-learn's guide writes it for mixed columns."""
    return make_pipeline(encoder(), LogisticRegression(max_iter=1000))


def encoder(*, sparse: bool = True) -> Any:
    """Scaled numbers and one-hot words."""
    numbers, words = (
        make_column_selector(dtype_include="number"),
        make_column_selector(dtype_exclude="number"),
    )
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=sparse)
    return make_column_transformer((StandardScaler(), numbers), (one_hot, words))


def with_categories(frame: Any) -> Any:
    """A pandas frame with words as categories."""
    return frame.astype(dict.fromkeys(frame.select_dtypes(exclude="number").columns, "category"))


def prepared(model: Any, inputs: Inputs) -> Call:
    """A fit, after a small one has imported what it needs."""
    frame, labels = inputs.plain_table()
    clone(model).fit(frame[:WARM_ROWS], labels[:WARM_ROWS])
    return Call(lambda: model.fit(frame, labels), inputs.rows)
