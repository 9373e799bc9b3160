"""The data sets that are shipped with the package.

All are from the UCI Machine Learning Repository, licensed CC BY 4.0 (see ``ATTRIBUTION.md``).
"""

from __future__ import annotations

from dpfair.datasets.adult import load_adult
from dpfair.datasets.credit import load_credit
from dpfair.datasets.dataset import Dataset, Shipped

__all__ = ["DATASETS", "Dataset", "Shipped", "load_adult", "load_credit"]

DATASETS = {
    "adult": Shipped("Adult", load_adult, "adult.toml"),
    "credit": Shipped("Credit Card", load_credit, "credit.toml"),
}
