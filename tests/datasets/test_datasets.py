"""The shipped data sets are what the documentation says they are."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib import resources
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import dpfair
from dpfair.datasets import DATASETS, Dataset, load_adult, load_credit
from dpfair.datasets.dataset import read_frame
from dpfair.errors import DataIntegrityError, InputError

PACKAGE = Path(dpfair.__file__).parent


@pytest.fixture(scope="module")
def adult_data() -> Dataset:
    return load_adult()


@pytest.fixture(scope="module")
def credit_data() -> Dataset:
    return load_credit()


@pytest.fixture(scope="module", params=DATASETS)
def data(request: pytest.FixtureRequest) -> Dataset:
    return DATASETS[request.param].load()


def test_a_schema_is_read_without_records(data: Dataset) -> None:
    assert DATASETS[data.name].schema == data.schema
    code = (
        "import sys; from dpfair.datasets import DATASETS\n"
        f"print(DATASETS[{data.name!r}].schema.rows, 'polars' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == f"{data.schema.rows} False\n"


def test_adult_has_its_published_counts(adult_data: Dataset) -> None:
    assert adult_data.name == "adult"
    assert adult_data.X.shape == (45222, 14)
    assert adult_data.sensitive == "sex"
    assert dict(adult_data.X["sex"].value_counts().rows()) == {"Female": 14695, "Male": 30527}
    assert dict(zip(*np.unique(adult_data.y, return_counts=True), strict=True)) == {
        "<=50K": 34014,
        ">50K": 11208,
    }
    assert (adult_data.y == ">50K").mean() == pytest.approx(0.2478, abs=5e-5)


def test_credit_has_its_published_counts(credit_data: Dataset) -> None:
    assert credit_data.name == "credit"
    assert credit_data.X.shape == (30000, 23)
    assert credit_data.sensitive == "SEX"
    assert dict(credit_data.X["SEX"].value_counts().rows()) == {"female": 18112, "male": 11888}
    assert set(np.unique(credit_data.y)) == {0, 1}
    assert credit_data.y.mean() == pytest.approx(0.2212)
    assert dict(credit_data.X["EDUCATION"].value_counts().rows()) == {
        "graduate school": 10585,
        "university": 14030,
        "high school": 4917,
        "other": 14 + 123 + 280 + 51,
    }
    assert dict(credit_data.X["MARRIAGE"].value_counts().rows()) == {
        "married": 13659,
        "single": 15964,
        "other": 54 + 323,
    }


def test_group_rates(adult_data: Dataset, credit_data: Dataset) -> None:
    rich = adult_data.y == ">50K"
    female = (adult_data.X["sex"] == "Female").to_numpy()
    assert rich[female].mean() == pytest.approx(0.1136, abs=5e-5)
    assert rich[~female].mean() == pytest.approx(0.3125, abs=5e-5)
    female = (credit_data.X["SEX"] == "female").to_numpy()
    assert credit_data.y[female].mean() == pytest.approx(0.2078, abs=5e-5)
    assert credit_data.y[~female].mean() == pytest.approx(0.2417, abs=5e-5)


def test_adult_paper_is_the_training_file_written_twice(adult_data: Dataset) -> None:
    paper = load_adult("paper")
    half = 30162
    assert paper.name == "adult-paper"
    assert paper.X.height == paper.y.size == paper.schema.rows == 2 * half
    assert paper.X[:half].equals(paper.X[half:])
    assert (paper.y[:half] == paper.y[half:]).all()
    # The honest variant starts with the same file, once.
    assert paper.X[:half].equals(adult_data.X[:half])
    assert (paper.y[:half] == adult_data.y[:half]).all()


def test_adult_refuses_an_unknown_variant() -> None:
    with pytest.raises(InputError, match="Expected variant 'distinct' or 'paper', got 'full'"):
        load_adult("full")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("load", "numeric", "levels"), [(load_adult, 6, 96), (load_credit, 14, 64 + 4 + 3)]
)
def test_encoded_sizes_are_the_papers(
    load: Callable[[], Dataset], numeric: int, levels: int
) -> None:
    schema = load().schema
    assert len(schema.numeric) == numeric
    assert sum(len(column.values) for column in schema.categorical) == levels


def test_schema_describes_exactly_the_columns(data: Dataset) -> None:
    schema = data.schema
    assert schema.rows == data.X.height == data.y.size
    assert {c.name for c in schema.columns} == set(data.X.columns) - {data.sensitive}
    assert schema.label.name not in data.X.columns
    assert set(schema.label.values) == set(data.y.astype(str))
    assert set(schema.groups) == set(data.X[data.sensitive])
    assert schema.reviewed


def test_records_are_complete_and_inside_the_schema(data: Dataset) -> None:
    assert data.X.null_count().row(0) == (0,) * data.X.width
    for number in data.schema.numeric:
        assert data.X[number.name].is_between(*number.bounds).all(), number.name
    for category in data.schema.categorical:
        occurring = set(data.X[category.name].cast(pl.String))
        assert occurring == set(category.values), category.name


def test_declared_constants_are_of_the_right_size(data: Dataset) -> None:
    for number in data.schema.numeric:
        center, scale = number.standard
        values = data.X[number.name].to_numpy()
        assert abs(values.mean() - center) < 0.06 * values.std(), number.name
        assert scale == pytest.approx(values.std(), rel=0.03), number.name


def test_declared_edges_are_round_and_leave_no_empty_bin(data: Dataset) -> None:
    for number in data.schema.numeric:
        assert number.edges is not None, number.name
        # Round numbers, so that a reader can see they are not quantiles of the records.
        assert all(e <= 100 or e % 50 == 0 for e in number.edges), number.name
        bins = np.digitize(data.X[number.name].to_numpy(), number.edges)
        assert set(bins) == set(range(len(number.edges) + 1)), number.name


@pytest.mark.parametrize("name", DATASETS)
def test_wrong_checksum_is_refused(name: str) -> None:
    file = f"{name}.parquet"
    with pytest.raises(DataIntegrityError, match=f"Expected {file} with SHA-256 000"):
        read_frame(file, "0" * 64)


@pytest.mark.parametrize("name", DATASETS)
def test_loaders_check_the_sum(name: str, tmp_path: Path) -> None:
    """A copy of the package in which one byte of the records was changed."""
    shutil.copytree(PACKAGE, tmp_path / "dpfair", ignore=shutil.ignore_patterns("__pycache__"))
    records = tmp_path / "dpfair" / "datasets" / f"{name}.parquet"
    content = bytearray(records.read_bytes())
    content[len(content) // 2] ^= 1
    records.write_bytes(content)
    code = (
        "from dpfair.datasets import DATASETS\n"
        "from dpfair.errors import DataIntegrityError\n"
        f"try: DATASETS[{name!r}].load()\n"
        "except DataIntegrityError as error: print(error)"
    )
    command, here = [sys.executable, "-c", code], {**os.environ, "PYTHONPATH": str(tmp_path)}
    run = subprocess.run(command, capture_output=True, text=True, check=True, env=here)
    assert run.stdout.startswith(f"Expected {name}.parquet with SHA-256 ")
    assert "install dpfair again" in run.stdout


def test_package_data_is_small_and_attributed() -> None:
    folder = resources.files("dpfair.datasets")
    sizes = [len(f.read_bytes()) for f in folder.iterdir() if f.is_file()]
    assert sum(sizes) < 1_200_000
    assert folder.joinpath("ATTRIBUTION.md").read_text("utf-8").count("CC BY 4.0") >= 1


def test_polars_is_imported_only_to_load() -> None:
    code = "import sys, dpfair.datasets; print('polars' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "False\n"
