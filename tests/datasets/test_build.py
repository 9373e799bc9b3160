"""The shipped files are what the build script makes of the published raw files."""

from __future__ import annotations

import importlib.util
import lzma
from pathlib import Path
from types import ModuleType

import polars as pl
import pytest

from dpfair.datasets import adult, credit
from dpfair.datasets.dataset import read_frame

REPOSITORY = Path(__file__).resolve().parents[2]
RAW = REPOSITORY.parent / "shared" / "data"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    path = REPOSITORY / "scripts" / "build_datasets.py"
    spec = importlib.util.spec_from_file_location("build_datasets", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def raw() -> Path:
    if not RAW.is_dir():
        pytest.skip(f"the raw files are not in {RAW}")
    return RAW


@pytest.mark.parametrize(
    ("name", "sha256"),
    [("adult", adult.SHA256), ("credit", credit.SHA256)],
    ids=["adult", "credit"],
)
def test_rebuilding_gives_the_shipped_frame(
    script: ModuleType, raw: Path, name: str, sha256: str
) -> None:
    built: pl.DataFrame = getattr(script, f"build_{name}")(raw)
    assert built.equals(read_frame(f"{name}.parquet", sha256))


def test_writing_is_deterministic(script: ModuleType, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    frame = read_frame("adult.parquet", adult.SHA256)
    paths = [tmp_path / "one.parquet", tmp_path / "two.parquet"]
    for path in paths:
        script.write(frame, path, script.SPLIT_BYTES["adult"])
    assert pl.read_parquet(paths[0]).equals(frame)
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_a_changed_raw_file_is_refused(script: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "adult.data.xz").write_bytes(lzma.compress(b"39, State-gov\n"))
    with pytest.raises(SystemExit, match=r"Expected adult\.data with MD5 5d7c"):
        script.build_adult(tmp_path)
