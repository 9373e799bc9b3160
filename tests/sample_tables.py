"""A small table with a known structure (loans, by sex), and a schema with most facts."""

from __future__ import annotations

import numpy as np
import polars as pl

LOANS = {
    "label": {"name": "repaid", "values": ["no", "yes"]},
    "sensitive": {"name": "sex", "values": ["f", "m"]},
    "rows": 3000,
    "columns": [
        {"name": "age", "kind": "numeric", "bounds": [18, 90]},
        {"name": "income", "kind": "numeric", "bounds": [0, 100], "center": 50, "scale": 25},
        {"name": "job", "kind": "categorical", "values": ["clerk", "farmer", "nurse"]},
    ],
}

PEOPLE = {
    "rows": 1000,
    "label": {"name": "repaid", "values": ["no", "yes"]},
    "sensitive": {"name": "sex", "values": ["f", "m", "x"]},
    "columns": [
        {
            "name": "age",
            "kind": "numeric",
            "bounds": [18, 100],
            "center": 40,
            "scale": 12.5,
            "edges": [20, 30.5, 60],
        },
        {"name": "job", "kind": "categorical", "values": ["a", "b"]},
    ],
}


def make_loans(n: int = 3000, seed: int = 0) -> tuple[pl.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], n, p=[0.4, 0.6])
    income = np.clip(rng.normal(45 + 12 * (sex == "m"), 18), 0, 100).round(2)
    age = rng.integers(18, 91, n)
    job = rng.choice(["clerk", "farmer", "nurse"], n)
    score = (income - 50) / 8 + (job == "nurse") - (age < 25)
    y = np.where(rng.random(n) < 1 / (1 + np.exp(-score)), "yes", "no")
    frame = pl.DataFrame({"age": age, "income": income, "job": job, "sex": sex})
    return frame, y
