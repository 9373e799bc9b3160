"""A made-up table of the panel, so that no test needs the real ones."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from scripts.panel.outcomes import Above, Words
from scripts.panel.prepare import PanelTable, prepared

ROWS = 3000


@pytest.fixture(scope="session")
def table() -> PanelTable:
    return PanelTable(
        "made",
        "up",
        "is it paid?",
        rows=ROWS,
        label=Words("paid", ("no", "yes"), ("1",), ("0",)),
        groups=Above("age", ("young", "old"), 40),
        numeric=("age", "income"),
        categorical=("job",),
        left_out={"names one record": ("number",)},
    )


@pytest.fixture(scope="session")
def frame() -> pd.DataFrame:
    """Older people have larger incomes, and a larger income is paid more often."""
    rng = np.random.default_rng(5)
    age = rng.integers(18, 69, ROWS)
    income = rng.gamma(2, 10 + age / 4)
    paid = (income + rng.normal(0, 10, ROWS) > 40).astype(float)
    income[::50], paid[::100] = np.nan, np.nan
    job = rng.choice(["a", "b", "c"], ROWS).astype(object)
    job[::30] = None
    columns = {"number": np.arange(ROWS), "age": age, "income": income, "job": job, "paid": paid}
    return pd.DataFrame({"rownames": np.arange(ROWS), **columns})


@pytest.fixture(scope="session")
def data(table, frame):
    return prepared(table, frame)
