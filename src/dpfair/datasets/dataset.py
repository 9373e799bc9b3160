"""A data set with its public facts, and how the shipped files are read."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources
from io import BytesIO
from typing import TYPE_CHECKING, Any

from dpfair.data.schema import Schema
from dpfair.errors import DataIntegrityError

if TYPE_CHECKING:
    import numpy as np
    import polars as pl


@dataclass(frozen=True, eq=False)
class Dataset:
    """Records, labels and the public facts about them.

    Attributes
    ----------
    name : str
        Short name of the data set.
    X : polars.DataFrame
        One row per record: every feature column and the sensitive column.
    y : numpy.ndarray of shape (n_rows,)
        Label values: the words of the schema, or the integers they stand for.
    schema : Schema
        Declared columns, bounds, categories, label and groups.

    Examples
    --------
    >>> from dpfair import load_credit
    >>> data = load_credit()
    >>> data.X.shape, data.sensitive, data.y[:5]
    ((30000, 23), 'SEX', array([1, 1, 0, 0, 0]))
    """

    name: str
    X: pl.DataFrame
    y: np.ndarray[Any, np.dtype[Any]]
    schema: Schema

    @property
    def sensitive(self) -> str:
        """Name of the sensitive column of `X`."""
        assert self.schema.sensitive is not None, "every shipped schema names its groups"
        return self.schema.sensitive.name


@dataclass(frozen=True)
class Shipped:
    """One entry of ``DATASETS``: the title, how the records are loaded, and the schema file.

    Examples
    --------
    >>> from dpfair.datasets import DATASETS
    >>> DATASETS["credit"].schema.groups
    ('female', 'male')
    """

    title: str
    load: Callable[[], Dataset]
    schema_file: str

    @property
    def schema(self) -> Schema:
        """The schema; it is read without reading records."""
        return read_schema(self.schema_file)


def read_frame(file: str, sha256: str) -> pl.DataFrame:
    """Return a shipped parquet file as a frame, after checking that it is the published one."""
    import polars as pl

    content = resources.files("dpfair.datasets").joinpath(file).read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise DataIntegrityError(
            f"Expected {file} with SHA-256 {sha256}, got {found}: "
            "the file was changed after dpfair was built; install dpfair again."
        )
    return pl.read_parquet(BytesIO(content))


def read_schema(file: str) -> Schema:
    """Return the schema that is shipped beside a data set."""
    return Schema.from_toml(resources.files("dpfair.datasets").joinpath(file).read_text("utf-8"))
