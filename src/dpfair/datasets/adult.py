"""Adult: does a person earn more than 50,000 dollars a year? (United States census, 1994)."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from dpfair.datasets.dataset import Dataset, read_frame, read_schema
from dpfair.errors import InputError

SHA256 = "df1c827e1cd74fa114ecc6aef3183f85bc08fc5b811863d766ab635329bfb159"


def load_adult(variant: Literal["distinct", "paper"] = "distinct") -> Dataset:
    """Load the complete records of Adult; the groups are the sexes.

    Parameters
    ----------
    variant : {"distinct", "paper"}, default "distinct"
        "distinct": the 45,222 complete rows of adult.data and adult.test, each once.

        "paper": the 30,162 complete rows of adult.data, all of them written twice (60,324
        rows), which is the file behind the published experiments. Use it only to compare
        with them: each person has two rows, so a person is protected only by more than twice
        the epsilon that protects a row, and most test rows have a copy among the training rows.

    Returns
    -------
    Dataset
        13 features and `sex` in `X`; the labels are "<=50K" and ">50K" (24.8 % of all).

    Raises
    ------
    DataIntegrityError
        If the shipped file is not the published one.

    Notes
    -----
    Source: Becker, B. and Kohavi, R. (1996), Adult, UCI Machine Learning Repository,
    https://doi.org/10.24432/C5XW20, licensed CC BY 4.0. Rows with a missing value are left out.
    "Distinct" counts people: 47 rows agree with an earlier one in every column and are kept.

    Examples
    --------
    >>> from dpfair import load_adult
    >>> data = load_adult()
    >>> data.X.shape, data.sensitive
    ((45222, 14), 'sex')
    >>> round(float((data.y == ">50K").mean()), 4)
    0.2478
    >>> load_adult("paper").X.height
    60324
    """
    if variant not in ("distinct", "paper"):
        raise InputError(f"Expected variant 'distinct' or 'paper', got {variant!r}.")
    schema = read_schema("adult.toml")
    frame = read_frame("adult.parquet", SHA256)
    if variant == "paper":
        published = frame.filter(frame["source"] == "train")
        frame = published.vstack(published)
        schema = replace(schema, rows=frame.height)
    return Dataset(
        name="adult" if variant == "distinct" else "adult-paper",
        X=frame.drop("income", "source"),
        y=np.asarray(frame["income"].to_list()),
        schema=schema,
    )
