"""Random tables of every kind, and what must hold whatever a table holds.

A :class:`~trust.fuzzed.case.Case` is a table in some container, with labels, groups, a schema or
none, and perhaps a defect of its form. :func:`examine` fits an estimator to it, uses the model, and
checks:

* every error is one of dpfair's, and every warning, too;
* no text shows a value of a record: some cells hold a word, a number or a date to look for;
* when a fit is refused, nothing has been charged or drawn;
* with a declared schema only the *form* of a table is refused, never what it says, and the
  schema and the classes of the model are the declared ones;
* a model is saved and read again with the same certificate.

``python -m trust.fuzz_tables 10000`` in ``tests`` examines that many tables.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from hypothesis import HealthCheck, Phase, given, seed, settings
from trust.fuzzed.case import Case, spoilt
from trust.fuzzed.containers import CONTAINERS, built
from trust.fuzzed.estimators import ESTIMATORS, EXACT, above_zero
from trust.fuzzed.strategies import cases
from trust.fuzzed.values import LABELS, SECRET_WORD
from trust.watching import decent, watch

from dpfair import load_model, save_model
from dpfair.cli import run as run_command
from dpfair.evaluation import evaluate
from dpfair.methods.other_rules import OtherRules

__all__ = ["examine", "examine_cli", "fuzz"]

UNKNOWN_GROUP = "group that the schema does not declare"


def examine(case: Case) -> str:
    """Fit, use and save a model; returns what became of it."""
    case = built(spoilt, case)
    table, new = built(case.table), built(case.held, case.later)
    model = ESTIMATORS[case.estimator](case)
    _, seen = watch(lambda: model.fit(table, case.labels, sensitive_features=case.groups))
    decent(seen)
    if seen.error is not None:
        assert seen.charges == 0, "a refused fit has charged"
        assert seen.draws == 0, "a refused fit has drawn"
        private = case.schema is not None and case.estimator not in EXACT
        assert case.defect or not private, "a value was refused although the schema is declared"
        return "refused"
    if case.schema is not None and model.schema is not None:
        declared = case.schema
        if case.sensitive is not None:
            declared = declared.with_sensitive(case.sensitive)
        assert model.schema_ == declared, "the schema is not the declared one"
        assert model.classes_.tolist() == [0, 1], "the classes are not the declared ones"
    _use(model, case, table, case.groups, case.rows)
    _evaluate(model, case, table)
    _save(model)
    if not case.defect:
        later = ["f", None, "m"] if case.groups is not None else None
        _use(model, case, new, later, 3)
    return "fitted"


def _use(model: Any, case: Case, table: Any, groups: Any, rows: int) -> None:
    """Every way to decide: an answer for every row, or one of the errors it may give."""
    chances, seen = watch(lambda: model.predict_proba(table, sensitive_features=groups))
    decent(seen)
    if seen.error is None:
        assert chances.shape == (rows, 2)
        assert np.all((chances >= 0) & (chances <= 1))
        assert np.allclose(chances.sum(axis=1), 1)
    elif not case.defect:
        assert UNKNOWN_GROUP in str(seen.error)
    decisions, seen = watch(lambda: model.predict(table, sensitive_features=groups))
    decent(seen)
    if seen.error is None:
        assert set(decisions.tolist()) <= set(model.classes_.tolist())
        assert len(decisions) == rows
    if not isinstance(model, OtherRules):
        return
    for epsilon in (None, 0.1):
        batch, seen = watch(lambda e=epsilon: model.decide_batch(table, groups, epsilon=e))
        decent(seen)
        assert seen.error is None or seen.cost_nothing, "refused decisions have drawn"
        assert batch is None or len(batch.decisions) == rows


def _evaluate(model: Any, case: Case, table: Any) -> None:
    _, seen = watch(lambda: evaluate(model, table, case.labels, case.groups))
    decent(seen)


def _save(model: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.dpfair"
        _, seen = watch(lambda: save_model(model, path))
        decent(seen)
        if seen.error is not None:
            raise AssertionError("a model is not saved") from seen.error
        given = {"classifier": above_zero} if hasattr(model, "classifier") else {}
        loaded, seen = watch(lambda: load_model(path, **given))
        decent(seen)
        if seen.error is not None:
            raise AssertionError("a saved model is not read") from seen.error
        assert loaded.certificate_ == model.certificate_


def examine_cli(case: Case, kind: str) -> str:
    """The same through ``dpfair fit`` and ``dpfair predict`` on a file."""
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
        code, seen = watch(lambda: run_command([*arguments, "--mode", "reuse", "--out", str(out)]))
        decent(seen)
        names = [*case.columns, case.schema.label.name]
        if kind == "csv" and any("\n" in name for name in names):
            assert code == 2, "a header is one line"
            assert "is not the header of a table" in seen.text
        else:
            assert code == 0 or (case.groups is not None and "has no column" in seen.text)
        if code == 0:
            code, seen = watch(lambda: run_command(["predict", str(out), str(data), "--strict"]))
            decent(seen)
            code, seen = watch(lambda: run_command(["predict", str(out), str(data)]))
            # Its warnings quote values of its own input, on purpose; nothing else does.
            lines = seen.printed.splitlines()
            seen.printed = "\n".join(x for x in lines if not x.startswith("dpfair: warning: "))
            decent(seen)
            assert code == 0 or UNKNOWN_GROUP in seen.text
        else:
            assert seen.cost_nothing, "a refused fit has charged or drawn"
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
