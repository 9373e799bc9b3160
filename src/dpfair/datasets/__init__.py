"""Adult and Default of Credit Card Clients, shipped with the package.

Both are from the UCI Machine Learning Repository, licensed CC BY 4.0 (see ``ATTRIBUTION.md``).
"""

from __future__ import annotations

from dpfair.datasets.adult import load_adult
from dpfair.datasets.credit import load_credit
from dpfair.datasets.dataset import Dataset

__all__ = ["Dataset", "load_adult", "load_credit"]
