"""Build the data sets that dpfair ships, from the raw files of the UCI repository.

Usage: ``python scripts/build_datasets.py RAW_DIR`` where RAW_DIR holds ``adult.data.xz``,
``adult.test.xz`` and ``UCI_Credit_Card.csv.xz``. The raw files are checked before anything is
written. The loaders refuse a file that does not have the SHA-256 they state, so after a rebuild
copy the printed sums into ``adult.py`` and ``credit.py``. Polars writes through pyarrow, because
its own writer has no BYTE_STREAM_SPLIT, the encoding that keeps both files near one megabyte.
"""

from __future__ import annotations

import argparse
import hashlib
import lzma
from pathlib import Path

import polars as pl

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "dpfair" / "datasets"

# MD5 of each file as unpacked: it identifies the published file, it is no protection.
RAW_MD5 = {
    "adult.data": "5d7c39d7b8804f071cdd1f2a7c460872",
    "adult.test": "35238206dfdf7f1fe215bbb874adecdc",
    "UCI_Credit_Card.csv": "a50eeffd7c7b97ccaf55e27fc3520340",
}

ADULT_COLUMNS = [
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
    "income",
]

# The codes of the raw file; those that are not listed are the undocumented ones and "others".
EDUCATION = {1: "graduate school", 2: "university", 3: "high school"}
MARRIAGE = {1: "married", 2: "single"}
SEX = {0: "male", 1: "female"}

# Columns with many different values, which a dictionary would only make larger.
SPLIT_BYTES = {
    "adult": ["age", "fnlwgt", "hours-per-week"],
    "credit": ["AGE", *(f"{kind}_AMT{month}" for kind in ("BILL", "PAY") for month in range(1, 7))],
}


def main() -> None:
    """Write both parquet files and print what the loaders must state about them."""
    parser = argparse.ArgumentParser(description="Build the data sets shipped with dpfair.")
    parser.add_argument("raw_dir", type=Path, help="folder of the three .xz files")
    parser.add_argument("--out", type=Path, default=PACKAGE, help="folder to write to")
    arguments = parser.parse_args()
    for name, build in (("adult", build_adult), ("credit", build_credit)):
        path = arguments.out / f"{name}.parquet"
        write(build(arguments.raw_dir), path, SPLIT_BYTES[name])
        content = path.read_bytes()
        print(f"{path}: {len(content):,} bytes, SHA-256 {hashlib.sha256(content).hexdigest()}")


def build_adult(raw_dir: Path) -> pl.DataFrame:
    """Return the complete rows of adult.data, then those of adult.test, in file order."""
    parts = []
    for file, source in (("adult.data", "train"), ("adult.test", "test")):
        frame = pl.read_csv(
            read_raw(raw_dir, file).replace(b", ", b","),
            has_header=False,
            new_columns=ADULT_COLUMNS,
            null_values="?",
            comment_prefix="|",
        )
        # A missing value and the blank last line of the file are both nulls here.
        frame = frame.drop_nulls().with_columns(
            pl.col("income").str.strip_suffix("."), pl.lit(source).alias("source")
        )
        parts.append(frame)
    return pl.concat(parts)


def build_credit(raw_dir: Path) -> pl.DataFrame:
    """Return the 30,000 rows of the credit card file in the column order of the original."""
    raw = pl.read_csv(read_raw(raw_dir, "UCI_Credit_Card.csv"), infer_schema_length=None)
    label = "default-payment-next-month"
    amounts = [c for c in raw.columns if c.startswith(("BILL_AMT", "PAY_"))]
    education = _undo_one_hot(raw, "EDUCATION")
    marriage = _undo_one_hot(raw, "MARRIAGE")
    return raw.select(
        pl.col("LIMIT_BAL").cast(pl.Int64),
        pl.col("SEX").replace_strict(SEX, return_dtype=pl.String),
        education.replace_strict(EDUCATION, default="other", return_dtype=pl.String),
        marriage.replace_strict(MARRIAGE, default="other", return_dtype=pl.String),
        pl.col("AGE"),
        pl.col(amounts).cast(pl.Int64),
        pl.col(label),
    )


def read_raw(raw_dir: Path, file: str) -> bytes:
    """Return the unpacked content of a raw file, or stop if it is not the published one."""
    content = lzma.decompress((raw_dir / f"{file}.xz").read_bytes())
    found = hashlib.md5(content, usedforsecurity=False).hexdigest()
    if found != RAW_MD5[file]:
        raise SystemExit(f"Expected {file} with MD5 {RAW_MD5[file]}, got {found}.")
    return content


def write(frame: pl.DataFrame, path: Path, split_bytes: list[str]) -> None:
    """Write `frame` as one small parquet file; the same versions give the same bytes."""
    encodings = {
        "use_dictionary": [column for column in frame.columns if column not in split_bytes],
        "column_encoding": dict.fromkeys(split_bytes, "BYTE_STREAM_SPLIT"),
        "store_schema": False,
    }
    frame.write_parquet(
        path,
        compression="zstd",
        compression_level=22,
        statistics=False,
        use_pyarrow=True,
        pyarrow_options=encodings,
    )


def _undo_one_hot(raw: pl.DataFrame, prefix: str) -> pl.Series:
    columns = [c for c in raw.columns if c.startswith(f"{prefix}_")]
    if not (raw.select(pl.sum_horizontal(columns)).to_series() == 1).all():
        raise SystemExit(f"Expected exactly one {prefix} column set in every row.")
    codes = [pl.col(c) * int(c.removeprefix(f"{prefix}_")) for c in columns]
    return raw.select(pl.sum_horizontal(codes).alias(prefix)).to_series()


if __name__ == "__main__":
    main()
