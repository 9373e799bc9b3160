"""Private logistic regression of diffprivlib, on columns that were encoded beforehand.

It needs a bound on the norm of a row; with one-hot words and numbers scaled into [0, 1] there is
a public one.

Release 0.6.6 does not import with scikit-learn 1.9. With the names that it misses, its
LogisticRegression fails as well: it passes an argument that scikit-learn has removed.
"""

from __future__ import annotations

import math

from diffprivlib.models import LogisticRegression
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder

from benchmarks.bench.inputs import EPSILON, Inputs
from benchmarks.bench.task import Call


def logistic(inputs: Inputs) -> Call:
    """The fit alone, without the encoding."""
    frame, labels = inputs.plain_table()
    numbers = make_column_selector(dtype_include="number")
    words = make_column_selector(dtype_exclude="number")
    encoder = make_column_transformer(
        (MinMaxScaler(), numbers), (OneHotEncoder(sparse_output=False), words)
    )
    rows, bound = encoder.fit_transform(frame), math.sqrt(frame.shape[1])
    model = LogisticRegression(epsilon=EPSILON, data_norm=bound, max_iter=1000)
    return Call(lambda: model.fit(rows, labels), inputs.rows)
