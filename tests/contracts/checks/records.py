"""Checks of neighbours, and of tables that nobody prepared."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from contracts.cases import PROBE, RECORDS, SCHEMA, TABLE, Case, parameter, recordings, table
from sklearn.exceptions import NotFittedError

from dpfair import InputError, LedgerFile
from dpfair.audit.replay import replay_method
from dpfair.audit.sample import PERSON
from dpfair.privacy.events import RELATIONS

ROWS = 3
"""How many records of a person count, where persons are protected."""


# Neighbours.


def check_neighbours_are_not_told_apart(case: Case) -> None:
    if case.private:
        _replay(case)


def check_persons_are_not_told_apart(case: Case) -> None:
    if case.private and parameter(case.make(), "unit") is not None:
        settings = case.settings | {"unit": PERSON, "rows_per_unit": ROWS}
        _replay(replace(case, settings=settings), ROWS)


def _replay(case: Case, rows: int = 1) -> None:
    """Every situation once: half of them by adding or removing, half by replacing."""
    asked, touched = set[str](), set[str]()
    for half, relation in enumerate(RELATIONS):
        groups = recordings(SCHEMA, relation, rows)[half::2]
        pairs = [pair for group in groups for pair in group]
        report = replay_method(case.entry, SCHEMA, relation, pairs)
        told = [f"{v.neighbours}: {v.sentence}" for v in report.violations]
        assert not told, "\n".join(told)
        assert report.failed == 0, "fits that fail show nothing"
        asked, touched = asked | report.asked, touched | report.touched
    assert touched == asked != set(), "no neighbour was in one of the scopes"


# Tables that nobody prepared.


def _fits(case: Case, records: list[dict[str, Any]]) -> Any:
    model = case.make().fit(*table(records))
    probabilities = model.predict_proba(PROBE.X)
    assert np.isfinite(probabilities).all()
    return model


def check_missing_and_extreme_values(case: Case) -> None:
    for extreme in (math.nan, math.inf, -math.inf, 1e308, None):
        changed = dict.fromkeys((c.name for c in SCHEMA.numeric), extreme)
        model = _fits(case, [*RECORDS[:-3], *(r | changed for r in RECORDS[-3:])])
        strange = table([RECORDS[0] | changed]).X
        assert set(model.predict(strange)) <= set(model.classes_)
    categories = dict.fromkeys((c.name for c in SCHEMA.categorical), "never declared")
    _fits(case, [RECORDS[0] | categories, *RECORDS[1:]])


def check_undeclared_groups_and_labels(case: Case) -> None:
    for column in ("sex", SCHEMA.label.name):
        _fits(case, [RECORDS[0] | {column: "never declared"}, *RECORDS[1:]])
        _fits(case, [RECORDS[0] | {column: None}, *RECORDS[1:]])


def check_an_empty_group_and_one_class(case: Case) -> None:
    for column, value in (("sex", "f"), ("sex", "m"), ("repaid", "no"), ("repaid", "yes")):
        with _refusal_of_exact_rates(case):
            model = _fits(case, [record | {column: value} for record in RECORDS])
            assert len(model.classes_) == 2
            assert len(model.schema_.groups) == 2


def check_a_table_of_one_record(case: Case) -> None:
    with _refusal_of_exact_rates(case):
        _fits(case, RECORDS[:1])


@contextlib.contextmanager
def _refusal_of_exact_rates(case: Case) -> Iterator[None]:
    """Without noise, a group without records has no rate. Where there is some, all tables fit."""
    try:
        yield
    except InputError as error:
        if case.private or "has no records to estimate its rate from" not in str(error):
            raise


def check_a_table_without_records_is_refused_and_costs_nothing(case: Case) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "some.ledger"
        file = LedgerFile.create(path, 4, 1e-5)
        for payer in (None, *([path] if case.private else [])):
            model = case.make()
            model.set_params(**{"ledger": payer} if "ledger" in model.get_params() else {})
            with pytest.raises(InputError):
                model.fit(*table([]))
        assert file.entries == ()
        file.close()


def check_an_undeclared_group_is_an_error_without_its_name(case: Case) -> None:
    """A method without a rule needs no group to decide."""
    model = case.fit()
    strange = table([RECORDS[0], RECORDS[1] | {"sex": "martian"}]).X
    if not model.needs_groups:
        assert model.undecided(strange).tolist() == ["", ""]
        chances = model.predict_proba(strange)[:, 1]
        every = [RECORDS[1] | {"sex": group} for group in model.schema_.groups]
        assert chances[1] == pytest.approx(model.predict_proba(table(every).X)[:, 1].mean())
        assert set(model.predict(strange)) <= set(model.classes_)
        return
    with pytest.raises(InputError, match="1 of 2 records have a group that") as error:
        model.predict(strange)
    assert "martian" not in str(error.value)
    assert model.undecided(strange).tolist() == ["", "the group is not declared"]


def check_a_failed_fit_leaves_no_earlier_model(case: Case) -> None:
    model = case.fit()
    with pytest.raises(InputError):
        model.fit(TABLE.X.select("income", "sex").head(0), np.array([]))
    with pytest.raises(NotFittedError):
        model.predict(PROBE.X)
