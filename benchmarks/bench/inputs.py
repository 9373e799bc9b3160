"""The tables and models that contenders read, made once and kept in a folder.

    python -m benchmarks.bench.inputs FILE FOLDER

Tables are Adult-like: each column of a row is that of the first of two random Adult records, or
(one in five) of the second; the label is that of the first.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

    from dpfair import PrivateFairClassifier, Schema

__all__ = ["DELTA", "EPSILON", "LABEL", "SENSITIVE", "Inputs"]

EPSILON, DELTA = 3.0, 1e-5
LABEL, SENSITIVE = "income", "sex"
ACCEPTED = ">50K"
SEED = 0
MOST_ROWS = 10**7
"""Of one file; a larger table is a folder of such files."""
FILES = 8


@dataclass(frozen=True)
class Inputs:
    """Where the files are, and how many rows the tables have."""

    folder: Path
    rows: int

    def with_rows(self, rows: int) -> Inputs:
        """The same with other tables."""
        return replace(self, rows=rows)

    @property
    def parquet(self) -> Path:
        """The table with its labels: a file, or a folder of them."""
        return self._made(f"adult-{self.rows}.parquet")

    @property
    def parquet_files(self) -> Path:
        """A folder with the same table in several files."""
        return self._made(f"adult-{self.rows}.files")

    @property
    def csv(self) -> Path:
        """The same as text."""
        return self._made(f"adult-{self.rows}.csv")

    @property
    def schema_file(self) -> Path:
        """The schema as TOML, with the number of rows declared."""
        return self._made(f"schema-{self.rows}.toml")

    @property
    def model(self) -> Path:
        """A default fair classifier, fitted to all of Adult."""
        return self._made("model.dpfair")

    @property
    def ledger(self) -> Path:
        """A ledger file that paid for one fit."""
        return self._made("bench.ledger")

    @property
    def schema(self) -> Schema:
        """Adult's schema, with the number of rows declared."""
        from dpfair.datasets import DATASETS

        return replace(DATASETS["adult"].schema, rows=self.rows)

    def table(self) -> tuple[pl.DataFrame, pl.Series]:
        """The features with the group, and the labels as words."""
        import polars as pl

        frame = pl.read_parquet(self.parquet)
        return frame.drop(LABEL), frame[LABEL]

    def plain_table(self) -> tuple[Any, Any]:
        """The same as scikit-learn reads it best: a pandas frame, and labels 0 and 1."""
        frame, labels = self.table()
        return frame.to_pandas(), (labels == ACCEPTED).to_numpy().astype(int)

    def _made(self, name: str) -> Path:
        """A file of the folder; another process makes it, so that this one stays small."""
        path = self.folder / name
        if not path.exists():
            command = [sys.executable, "-m", "benchmarks.bench.inputs", name, str(self.folder)]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return path


def main() -> None:
    """Make one file, under another name until it is complete."""
    name, folder = sys.argv[1], Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    stem, kind = name.split(".")
    rows = int(stem.split("-")[1]) if "-" in stem else 0
    part = folder / f"part-{os.getpid()}.{kind}"
    inputs = Inputs(folder, rows)
    if kind == "parquet" and rows > MOST_ROWS:
        part.mkdir()
        for number, start in enumerate(range(0, rows, MOST_ROWS)):
            some = adult_like(min(MOST_ROWS, rows - start), SEED + number)
            some.write_parquet(part / f"{number}.parquet")
    elif kind == "parquet":
        adult_like(rows).write_parquet(part)
    elif kind == "files":
        write_files(inputs.parquet, part)
    elif kind == "csv":
        import polars as pl

        pl.read_parquet(inputs.parquet).write_csv(part)
    elif kind == "toml":
        part.write_text(inputs.schema.to_toml(), encoding="utf-8")
    elif kind == "dpfair":
        from dpfair import save_model

        save_model(fitted_model(), part)
    else:
        from dpfair import LedgerFile

        LedgerFile.create(part, epsilon=10, delta=DELTA).close()
        fitted_model(ledger=part)
    part.rename(folder / name)


def adult_like(rows: int, seed: int = SEED) -> pl.DataFrame:
    """Rows mixed from Adult's records, with labels."""
    import numpy as np
    import polars as pl

    from dpfair import load_adult

    data, rng = load_adult(), np.random.default_rng(seed)
    first, second = rng.integers(0, len(data.y), (2, rows), dtype=np.uint32)
    mixed = [
        column.gather(np.where(rng.random(rows, dtype=np.float32) < 0.8, first, second))
        for column in data.X
    ]
    return pl.DataFrame([*mixed, pl.Series(LABEL, data.y).gather(first)])


def write_files(table: Path, folder: Path) -> None:
    """Write the rows of a table to several files of a folder."""
    import polars as pl

    folder.mkdir()
    frame = pl.read_parquet(table)
    ends = [frame.height * i // FILES for i in range(FILES + 1)]
    for i, (start, stop) in enumerate(pairwise(ends)):
        frame[start:stop].write_parquet(folder / f"{i}.parquet")


def fitted_model(ledger: Path | None = None) -> PrivateFairClassifier:
    """The default classifier, fitted to Adult."""
    from dpfair import PrivateFairClassifier, load_adult

    data = load_adult()
    model = PrivateFairClassifier(EPSILON, DELTA, schema=data.schema, ledger=ledger)
    return model.fit(data.X, data.y)


if __name__ == "__main__":
    main()
