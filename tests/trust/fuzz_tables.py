"""Random tables of every kind, and what must hold whatever a table holds.

A :class:`Case` is a table in some container, with labels, groups, a schema or none, and perhaps a
defect of its form. :func:`examine` fits an estimator to it, uses the model, and checks:

* every error is one of dpfair's, and every warning, too;
* no text shows a value of a record: some cells hold a word, a number or a date to look for;
* when a fit is refused, nothing has been charged;
* with a declared schema only the *form* of a table is refused, never what it says, and the
  schema and the classes of the model are the declared ones.

As a program: ``python tests/trust/fuzz_tables.py 10000`` examines that many tables.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import decimal
import fractions
import io
import math
import re
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from hypothesis import HealthCheck, Phase, assume, given, seed, settings
from hypothesis import strategies as st
from sklearn.exceptions import DataConversionWarning

from dpfair import (
    FairnessWarning,
    FairPostProcessor,
    PrivacyLeakWarning,
    PrivateBoosting,
    PrivateFairClassifier,
    PrivateLogisticRegression,
    PrivateSearchCV,
    load_model,
    save_model,
)
from dpfair.data.schema import Categorical, Levels, Numeric, Schema
from dpfair.errors import DpfairError
from dpfair.evaluation import evaluate
from dpfair.methods.dp_fermi.method import DPFermi
from dpfair.privacy.ledger import Ledger

__all__ = ["ESTIMATORS", "Case", "cases", "examine", "examine_cli", "fuzz"]

# What a record may hold and no text may show.
SECRET_WORD = "xyzzy-secret"
SECRET_NUMBER = 918273645
SECRET_DAY = dt.date(2093, 11, 27)
_SHOWN = re.compile(r"xyzzy|9\.?1827|2093-11|11/27/2093", re.IGNORECASE)


class Stubborn:
    """An object that refuses everything that may be asked of it."""

    def _refuse(self, *_: Any) -> Any:
        raise RuntimeError(SECRET_WORD)

    __eq__ = __ne__ = __lt__ = __bool__ = __str__ = __float__ = __int__ = _refuse  # type: ignore[assignment]
    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return "Stubborn()"


# Cells by kind. Every kind has ordinary values, odd ones and a secret.

WORDS = ["a", "b", "f", "m", "yes", "no", "0", "1", "true", "other", SECRET_WORD]
ODD_WORDS = [
    "",
    " ",
    "nan",
    "NaN",
    "None",
    "1.0",
    "1e5",
    "-0",
    "True",
    "😀",
    "مرحبا",
    "\u202e",
    "\0",
]
ODD_WORDS += ["e\u0301", "²", "١٢", "1_000", "0x10", "inf", "a" * 3000, "a\nb", "'\"", "--1"]
NUMBERS = [0.0, 1.0, -1.5, 37.0, 12.25, float(SECRET_NUMBER)]
ODD_NUMBERS = [math.nan, math.inf, -math.inf, -0.0, 5e-324, 2.0**63, 1e308, -1e308, 1 + 2**-52]
WHOLE = [0, 1, 2, 40, -7, SECRET_NUMBER]
ODD_WHOLE = [2**63 - 1, -(2**63), 2**53 + 1]
DAYS = [dt.date(2000, 1, 1), SECRET_DAY, dt.date.min, dt.date.max]
TIMES = [dt.datetime(2000, 1, 1, 12), dt.datetime(2093, 11, 27), dt.datetime(1969, 12, 31)]
AMOUNTS = [decimal.Decimal("1.50"), decimal.Decimal(SECRET_NUMBER), decimal.Decimal(0)]
ODD_AMOUNTS = [decimal.Decimal(x) for x in ("NaN", "sNaN", "Infinity", "-0", "1E+400")]
BYTES = [b"a", b"", SECRET_WORD.encode(), b"\xff\xfe"]
MIXED = [
    *(WORDS[0], SECRET_WORD, 1, 1.5, True, None, math.nan, b"a", SECRET_DAY, TIMES[0]),
    *(10**400, -(10**400), fractions.Fraction(1, 3), 1 + 2j, (1, 2), [SECRET_NUMBER], {"a": 1}),
    *(np.float16(2), np.array([1, 2]), np.array([7.5]), np.datetime64("NaT"), pd.NaT, pd.NA),
    *(pd.Timestamp("2093-11-27"), "\ud800", Stubborn(), object, print, *ODD_AMOUNTS),
]

KINDS: dict[str, list[Any]] = {
    "words": WORDS + ODD_WORDS,
    "plain words": WORDS,
    "numbers": NUMBERS + ODD_NUMBERS,
    "plain numbers": NUMBERS,
    "whole numbers": WHOLE + ODD_WHOLE,
    "truth values": [True, False],
    "days": DAYS,
    "times": TIMES,
    "durations": [dt.timedelta(0), dt.timedelta(days=SECRET_NUMBER // 10**5), dt.timedelta(-1)],
    "amounts": AMOUNTS,
    "bytes": BYTES,
    "lists": [[1, 2], [], [SECRET_NUMBER]],
    "structs": [{"a": 1}, {"a": SECRET_NUMBER}],
    "nothing": [None],
    "mixed": MIXED,
}

NAMES = [
    "age",
    "job",
    "sex",
    "id",
    "",
    " ",
    "😀",
    "مرحبا",
    "\u202exyz",
    "a" * 300,
    "a b",
    "0",
    "x\ny",
]
NAMES += ["'", '"', "{}", "%s", "<b>", "label", "x0", "ä", "e\u0301", "\u0000", "constant", "None"]

GROUPS = ("f", "m", "1")
LABELS = ("0", "1")


@dataclass
class Case:
    """A table and what comes with it; ``defect`` says what is wrong with its form, if anything."""

    columns: dict[str, tuple[str, list[Any]]]
    container: str
    estimator: str
    labels: Any
    schema: Schema | None
    groups: Any = None
    unit: str | None = None
    defect: str = ""
    sensitive: str | None = None
    later: dict[str, tuple[str, list[Any]]] = field(default_factory=dict)


# Containers: how a table of columns is built. Some cannot hold some kinds.


def _series(kind: str, values: list[Any]) -> pl.Series:
    if kind == "mixed":
        return pl.Series(values, dtype=pl.Object)
    return pl.Series(values, strict=False)


def _arrow(kind: str, values: list[Any]) -> pa.Array:
    return pa.array([None if kind == "mixed" else v for v in values])


def _objects(values: list[Any]) -> np.ndarray:
    return np.fromiter(values, dtype=object, count=len(values))


def _pandas(columns: dict[str, tuple[str, list[Any]]], dtype: Any = None) -> pd.DataFrame:
    made = {
        name: pd.Series(_objects(values) if kind in ("mixed", "lists") else values, dtype=dtype)
        for name, (kind, values) in columns.items()
    }
    return pd.DataFrame(made)


def _matrix(columns: dict[str, tuple[str, list[Any]]]) -> np.ndarray:
    rows = len(next(iter(columns.values()))[1]) if columns else 0
    matrix = np.empty((rows, len(columns)), dtype=object)
    for i, (_, values) in enumerate(columns.values()):
        matrix[:, i] = _objects(values)
    return matrix


CONTAINERS: dict[str, Callable[[dict[str, tuple[str, list[Any]]]], Any]] = {
    "polars": lambda columns: pl.DataFrame({n: _series(*c) for n, c in columns.items()}),
    "polars text": lambda columns: pl.DataFrame(
        {n: pl.Series([None if v is None else str(v) for v in c[1]]) for n, c in columns.items()}
    ),
    "polars categorical": lambda columns: pl.DataFrame(
        {n: _series(*c).cast(pl.String).cast(pl.Categorical) for n, c in columns.items()}
    ),
    "pandas": _pandas,
    "pandas object": lambda columns: _pandas(columns, object),
    "pandas nullable": lambda columns: _pandas(columns).convert_dtypes(),
    "pandas arrow": lambda columns: _pandas(columns).convert_dtypes(dtype_backend="pyarrow"),
    "pandas categorical": lambda columns: _pandas(columns).astype("category"),
    "pandas index": lambda columns: _pandas(columns).set_index(
        pd.Index([7] * len(next(iter(columns.values()))[1]))
    ),
    "pyarrow": lambda columns: pa.table({n: _arrow(*c) for n, c in columns.items()}),
    "pyarrow dictionary": lambda columns: pa.table(
        {n: _arrow(*c).dictionary_encode() for n, c in columns.items()}
    ),
    "numpy": _matrix,
    "numpy numbers": lambda columns: np.array([c for _, c in columns.values()], dtype=float).T,
    "numpy text": lambda columns: np.array([[str(v) for v in c] for _, c in columns.values()]).T,
    "lists": lambda columns: [
        list(row) for row in zip(*(c for _, c in columns.values()), strict=True)
    ],
}
NAMELESS = ("numpy", "numpy numbers", "numpy text", "lists")


def _object_type(values: list[Any]) -> Any:
    """Polars panics over decimals among other things."""
    kinds = {type(v) for v in values}
    return pl.Object if decimal.Decimal in kinds and len(kinds) > 1 else None


GROUP_CONTAINERS: dict[str, Callable[[list[Any]], Any]] = {
    "list": list,
    "tuple": tuple,
    "numpy": _objects,
    "pandas": lambda values: pd.Series(_objects(values), name="group"),
    "polars": lambda values: pl.Series("group", values, _object_type(values), strict=False),
    "pyarrow": pa.array,
}


# Estimators whose fits take milliseconds: few steps, and budgets whose calibration is cached.

_QUICK = PrivateLogisticRegression(steps=2)


def _fair(**settings: Any) -> Callable[[Case], Any]:
    def make(case: Case) -> Any:
        unit = {} if case.unit is None else {"unit": case.unit, "rows_per_unit": 2}
        return PrivateFairClassifier(
            0.3, schema=case.schema, sensitive=case.sensitive, learner=_QUICK, **settings, **unit
        )

    return make


def _alone(make: Callable[..., Any], **settings: Any) -> Callable[[Case], Any]:
    return lambda case: make(1, schema=case.schema, sensitive=case.sensitive, **settings)


def _above_zero(table: Any) -> np.ndarray:
    from dpfair.data.table import column_names, get_column, numbers

    values = numbers(get_column(table, column_names(table)[0]))
    return np.nan_to_num(values) > 0


ESTIMATORS: dict[str, Callable[[Case], Any]] = {
    "logistic": _alone(PrivateLogisticRegression, steps=2),
    "standardised": _alone(PrivateLogisticRegression, steps=2, features="standardised"),
    "sgd": _alone(PrivateLogisticRegression, steps=2, solver="sgd", batch_size=5),
    "boosting": _alone(PrivateBoosting, steps=2, trees=2, depth=2),
    "reuse": _fair(mode="reuse"),
    "odds": _fair(notion="equalized_odds"),
    "placed": _fair(),
    "checked": _fair(mode="reuse", check_share=0.4),
    "flips": _fair(rule="algorithm2"),
    "public sizes": _fair(rule="algorithm2", public_sizes=True, composition="basic"),
    "fermi": _alone(DPFermi, epochs=1, batch_size=8),
    "search": lambda case: PrivateSearchCV(
        PrivateLogisticRegression(steps=2),
        {"clip": [0.3, 1.0]},
        epsilon=1,
        mean_runs=1.5,
        schema=case.schema,
        sensitive=case.sensitive,
    ),
    "post-processing": lambda case: FairPostProcessor(
        _above_zero,
        1,
        sensitive=case.sensitive,
        groups=None if case.schema is None else case.schema.groups,
    ),
}
# Those that take tens of milliseconds come less often.
_OFTEN = ["logistic", "standardised", "sgd", "boosting", "fermi", "reuse"]
_CHOICES = [*ESTIMATORS, *(_OFTEN * 9), "odds", "post-processing"]

DEFECTS = [
    *("missing column", "labels too short", "labels too long", "no labels", "labels in a square"),
    *("no rows", "no columns", "groups too short", "groups in a square", "unknown sensitive"),
    *("names twice", "names of several kinds", "one dimension", "three dimensions", "lazy"),
    *("a generator", "a dictionary", "a word", "ragged lists", "sparse", "series", "no table"),
    *("unit is missing", "levels of names", "labels of complex numbers"),
]


# Strategies


@st.composite
def cases(draw: st.DrawFn, declared: bool | None = None, sound: bool | None = None) -> Case:
    """Cases with a declared schema (most), or one to be inferred; sound, or with a defect."""
    if declared is None:
        declared = draw(st.integers(0, 5)) > 0
    if sound is None:
        sound = draw(st.integers(0, 4)) > 0
    container = draw(st.sampled_from(list(CONTAINERS)))
    estimator = draw(st.sampled_from(_CHOICES))
    rows = draw(st.sampled_from([1, 2, 3, 6, 12, 25]))
    names = draw(st.lists(st.sampled_from(NAMES), min_size=4, max_size=4, unique=True))
    if container in NAMELESS:
        names = [f"x{i}" for i in range(4)]
    number, word, group, unit = names
    kinds = _several(draw, list(KINDS), 4)
    columns = {n: (k, _draw(draw, k, rows)) for n, k in zip(names, kinds, strict=True)}
    columns[group] = _draw_groups(draw, kinds[2], rows, declared)
    case = Case(
        columns=columns,
        container=container,
        estimator=estimator,
        labels=_draw_labels(draw, rows, declared),
        schema=_declared(number, word, group) if declared else None,
        sensitive=group,
        later={n: (k, _draw(draw, k, 3)) for n, (k, _) in columns.items()},
    )
    if declared and draw(st.booleans()):
        case.sensitive = None
    if draw(st.integers(0, 3)) == 0:
        _, values = columns.pop(group)
        case.later.pop(group)
        case.sensitive = None
        case.groups = _build(
            GROUP_CONTAINERS[draw(st.sampled_from(list(GROUP_CONTAINERS)))], values
        )
    if estimator in ("reuse", "odds") and draw(st.booleans()):
        case.unit = unit if case.groups is None or container not in NAMELESS else "x2"
    if not sound:
        case.defect = draw(st.sampled_from(DEFECTS))
    assume(not (_deeper(case.labels, 1) or _deeper(case.groups, 1)))
    for cells in (case.columns, case.later) if container == "lists" else ():
        assume(not _deeper(_build(CONTAINERS["lists"], cells), 2))
    return case


def _several(draw: st.DrawFn, pool: list[Any], count: int) -> list[Any]:
    """Some of the pool: the digits of one number, which costs one decision and not many."""
    number, values = draw(st.integers(0, len(pool) ** count - 1)), []
    for _ in range(count):
        number, digit = divmod(number, len(pool))
        values.append(pool[digit])
    return values


def _draw(draw: st.DrawFn, kind: str, rows: int) -> list[Any]:
    values = _several(draw, KINDS[kind], rows)
    if kind != "mixed" and draw(st.booleans()):
        values[draw(st.integers(0, rows - 1))] = None
    return values


def _draw_groups(draw: st.DrawFn, kind: str, rows: int, declared: bool) -> tuple[str, list[Any]]:
    if declared and draw(st.integers(0, 2)) == 0:
        return kind, _draw(draw, kind, rows)  # anything: whoever is in no group is left out
    known = [*GROUPS, None] if declared else ["f", "m"]
    return "words", _several(draw, known, rows)


def _draw_labels(draw: st.DrawFn, rows: int, declared: bool) -> Any:
    if not declared:
        pool = draw(st.sampled_from([[0, 1], ["no", "yes"], [True, False], [0.0, 1.0]]))
        return np.array(_several(draw, pool, rows))
    kind = draw(st.sampled_from(["whole numbers", "words", "numbers", "mixed", "bytes", "days"]))
    pool = [*LABELS, 0, 1, 1.0] if draw(st.booleans()) else KINDS[kind]
    values = _several(draw, pool, rows)
    shape = draw(st.sampled_from(["list", "numpy", "pandas", "column", "polars", "pyarrow"]))
    if shape == "column":
        return _objects(values).reshape(-1, 1)
    return _build(GROUP_CONTAINERS[shape], values)


def _build(make: Callable[..., Any], *arguments: Any) -> Any:
    """A container; what cannot be built is the business of its library."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return make(*arguments)
    except (Exception, pl.exceptions.PanicException):
        assume(False)


def _declared(number: str, word: str, group: str) -> Schema:
    taken = {number, word, group}
    label = next(name for name in ("label", "outcome", "y", "yy") if name not in taken)
    return Schema(
        columns=(Numeric(number, (-10, 100)), Categorical(word, ("a", "b", "1", "true"))),
        label=Levels(label, LABELS),
        sensitive=Levels(group, GROUPS),
        rows=20,
    )


def defective(case: Case, table: Any) -> tuple[Any, Any, Any]:
    """The table, labels and groups with the case's defect."""
    y, groups, n = case.labels, case.groups, _rows(case)
    first = next(iter(case.columns))
    match case.defect:
        case "missing column":
            table = CONTAINERS[case.container](
                {name: column for name, column in case.columns.items() if name != first}
            )
        case "labels too short":
            y = [0] * (n - 1)
        case "labels too long":
            y = [SECRET_NUMBER] * (n + 1)
        case "no labels":
            y = None
        case "labels in a square":
            y = np.zeros((n, n + 2))
        case "labels of complex numbers":
            y = np.full(n + 1, 1 + 2j)
        case "no rows":
            table = CONTAINERS[case.container]({k: (v[0], []) for k, v in case.columns.items()})
            y = []
        case "no columns":
            table = pd.DataFrame(index=range(n)) if n % 2 else np.empty((n, 0))
        case "groups too short":
            groups = ["f"] * (n + 1)
        case "groups in a square":
            groups = np.full((n, 2), SECRET_WORD, dtype=object)
        case "unknown sensitive":
            case.sensitive = "nowhere"
        case "names twice":
            table = _pandas(case.columns)
            table.columns = [first] * table.shape[1]
        case "names of several kinds":
            table = _pandas(case.columns)
            table.columns = [0, *map(str, range(1, table.shape[1]))]
        case "levels of names":
            table = _pandas(case.columns)
            table.columns = pd.MultiIndex.from_product([["a"], range(table.shape[1])])
        case "one dimension":
            table = [SECRET_NUMBER] * n
        case "three dimensions":
            table = np.full((n, 2, 2), SECRET_NUMBER)
        case "lazy":
            table = pl.LazyFrame({first: [SECRET_NUMBER] * n})
        case "a generator":
            table = (SECRET_NUMBER for _ in range(n))
        case "a dictionary":
            table = {first: [SECRET_NUMBER] * n}
        case "a word":
            table = SECRET_WORD
        case "ragged lists":
            table = [[SECRET_NUMBER]] * n + [[1, 2]]
        case "sparse":
            from scipy.sparse import csr_array

            table = csr_array(np.full((n, 3), SECRET_NUMBER))
        case "series":
            table = pd.Series([SECRET_NUMBER] * n)
        case "no table":
            table = None
        case "unit is missing":
            case.unit = "nowhere"
    return table, y, groups


def _deeper(values: Any, dimensions: int) -> bool:
    """Lists with equally long lists for all items have one more dimension, which is their form."""
    try:
        return isinstance(values, (list, tuple)) and np.ndim(values) > dimensions
    except Exception:
        return False


def _rows(case: Case) -> int:
    return len(next(iter(case.columns.values()))[1])


# What must hold


@dataclass
class Seen:
    """What a call did: its error, its warnings, how often a ledger was charged."""

    error: BaseException | None = None
    warned: list[warnings.WarningMessage] = field(default_factory=list)
    charges: int = 0
    printed: str = ""

    @property
    def text(self) -> str:
        said = [self.printed, *(str(w.message) for w in self.warned)]
        if self.error is not None:
            # With all causes, as a traceback would show them; without the lines of code.
            for line in traceback.TracebackException.from_exception(self.error).format():
                said += [part for part in line.splitlines() if not part.startswith("  ")]
        return "\n".join(said)


def watch(action: Callable[[], Any]) -> tuple[Any, Seen]:
    """Run an action and see everything that it says and charges."""
    seen, result = Seen(), None
    charge = Ledger.charge

    def counted(self: Ledger, *args: Any, **kwargs: Any) -> Any:
        receipt = charge(self, *args, **kwargs)
        seen.charges += 1
        return receipt

    out = io.StringIO()
    with (
        patch.object(Ledger, "charge", counted),
        warnings.catch_warnings(record=True) as caught,
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(out),
    ):
        warnings.simplefilter("always")
        try:
            result = action()
        except Exception as error:
            seen.error = error
    seen.warned, seen.printed = list(caught), out.getvalue()
    return result, seen


def decent(seen: Seen) -> None:
    """Errors and warnings are dpfair's own and show no value."""
    if seen.error is not None and not isinstance(seen.error, DpfairError):
        raise AssertionError("an error that is not dpfair's") from seen.error
    for warned in seen.warned:
        allowed = (PrivacyLeakWarning, FairnessWarning, DataConversionWarning)
        assert issubclass(warned.category, allowed), (warned.category, str(warned.message))
    assert not _SHOWN.search(seen.text), "a value of a record is shown"


def examine(case: Case) -> str:
    """Fit, use and save a model; returns what became of it."""
    table = _build(CONTAINERS[case.container], case.columns)
    new = _build(CONTAINERS[case.container], case.later)
    y, groups = case.labels, case.groups
    if case.defect:
        table, y, groups = _build(defective, case, table)
    model = ESTIMATORS[case.estimator](case)
    _, seen = watch(lambda: model.fit(table, y, sensitive_features=groups))
    decent(seen)
    if seen.error is not None:
        assert seen.charges == 0, "a refused fit has charged"
        harmless = case.schema is not None and not case.defect
        assert not harmless, "a value was refused although the schema is declared"
        return "refused"
    if case.schema is not None and case.estimator != "post-processing":
        declared = case.schema
        if case.sensitive is not None:
            declared = declared.with_sensitive(case.sensitive)
        assert model.schema_ == declared
        assert model.classes_.tolist() == [0, 1]
    _use(model, case, table, groups, _rows(case), y)
    if not case.defect:
        later = ["f", None, "m"] if case.groups is not None else None
        _use(model, case, new, later, 3, None)
    return "fitted"


def _use(model: Any, case: Case, table: Any, groups: Any, rows: int, y: Any) -> None:
    """Every way to use a model: an answer for every row, or one of the errors it may give."""
    chances, seen = watch(lambda: model.predict_proba(table, sensitive_features=groups))
    decent(seen)
    if seen.error is None:
        assert chances.shape == (rows, 2)
        assert np.all((chances >= 0) & (chances <= 1))
        assert np.allclose(chances.sum(axis=1), 1)
    elif not case.defect:
        assert "group the model never knew" in str(seen.error)
    decisions, seen = watch(lambda: model.predict(table, sensitive_features=groups))
    decent(seen)
    if seen.error is None:
        assert set(decisions.tolist()) <= set(model.classes_.tolist())
        assert len(decisions) == rows
    if not isinstance(model, PrivateFairClassifier):
        return
    for epsilon in (None, 0.1):
        batch, seen = watch(lambda e=epsilon: model.decide_batch(table, groups, epsilon=e))
        decent(seen)
        assert seen.error is None or seen.charges == 0
        assert batch is None or len(batch.decisions) == rows
    if y is None:
        return
    _, seen = watch(lambda: evaluate(model, table, y, groups))
    decent(seen)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.dpfair"
        _, seen = watch(lambda: save_model(model, path))
        decent(seen)
        if seen.error is None:
            loaded, seen = watch(lambda: load_model(path))
            decent(seen)
            assert seen.error is None, "a saved model is not read"
            assert loaded.certificate_ == model.certificate_


def examine_cli(case: Case, kind: str) -> str:
    """The same through ``dpfair fit`` and ``dpfair predict`` on a file."""
    from dpfair.cli import _run

    assert case.schema is not None
    with tempfile.TemporaryDirectory() as folder:
        schema, out = Path(folder) / "schema.toml", Path(folder) / "m.dpfair"
        data = Path(folder) / f"data.{kind}"
        try:
            _write(case, data)
        except (Exception, pl.exceptions.PanicException):
            return "no file"  # it cannot hold such values
        schema.write_text(case.schema.to_toml(), encoding="utf-8")
        arguments = ["fit", str(data), "--epsilon", "1", "--schema", str(schema)]
        code, seen = watch(lambda: _run([*arguments, "--mode", "reuse", "--out", str(out)]))
        decent(seen)
        names = [*case.columns, case.schema.label.name]
        if kind == "csv" and any("\n" in name for name in names):
            assert code == 2, "a header is one line"
            assert "is not the header of a table" in seen.text
        else:
            assert code == 0 or (case.groups is not None and "has no column" in seen.text)
        if code == 0:
            code, seen = watch(lambda: _run(["predict", str(out), str(data)]))
            decent(seen)
            assert code == 0 or "group the model never knew" in seen.text
        return f"{kind} file, exit {code}"


def _write(case: Case, path: Path) -> None:
    frame = CONTAINERS["polars" if path.suffix == ".parquet" else "polars text"](case.columns)
    labels = [*LABELS, SECRET_WORD, ""] * len(frame)
    frame = frame.with_columns(pl.Series(case.schema.label.name, labels[: len(frame)]))
    frame.write_parquet(path) if path.suffix == ".parquet" else frame.write_csv(path)


def fuzz(count: int, number: int = 0, *, cli_every: int = 50) -> Counter[str]:
    """Examine many random cases; every fiftieth also as a file through the command line."""
    found: Counter[str] = Counter()

    @seed(number)
    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(cases())
    def run(case: Case) -> None:
        found[examine(case)] += 1
        if case.schema is not None and not case.defect and found.total() % cli_every == 0:
            kind = "csv" if found.total() // cli_every % 2 else "parquet"
            found[examine_cli(case, kind)] += 1

    run()
    return found


if __name__ == "__main__":
    start = time.perf_counter()
    outcome = fuzz(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0)
    print(dict(outcome), f"{time.perf_counter() - start:.0f} s")
