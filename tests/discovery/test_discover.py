"""Discovery in a fit and as a job of its own."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from sample_models import rewritten

from dpfair import (
    Algorithm2,
    LedgerFile,
    PrivateFairClassifier,
    PrivateLogisticRegression,
    PrivateSearchCV,
    Schema,
    discover_schema,
    load_model,
    save_model,
    verify_model,
)
from dpfair.data.columns import Categorical, Levels, Numeric
from dpfair.data.encode import encode
from dpfair.discovery.discover import Discovery, gaussian_precision
from dpfair.errors import (
    AccuracyWarning,
    BudgetError,
    InputError,
    ModelFileError,
    SchemaError,
)
from dpfair.models.file import model_from_bytes
from dpfair.privacy.accountants import epsilon_of
from dpfair.privacy.events import step_event
from dpfair.privacy.ledger import Ledger
from dpfair.privacy.noise import Noise

KINDS = Schema(
    (Numeric("age"), Categorical("job"), Numeric("gain")),
    Levels("repaid", ("no", "yes")),
    Levels("sex", ("f", "m")),
)


def people(count: int = 4000, seed: int = 0) -> tuple[pl.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 80, count)
    job = rng.choice(["clerk", "farmer", "nurse"], count, p=[0.5, 0.3, 0.2])
    gain = np.where(rng.random(count) < 0.9, 0.0, rng.choice([1000.0, 5000.0], count))
    chance = 0.1 + 0.4 * (age > 45) + 0.4 * (job == "nurse")
    label = np.where(rng.random(count) < chance, "yes", "no")
    sex = rng.choice(["f", "m"], count)
    rare = [f"only {i}" if i < 20 else word for i, word in enumerate(job)]
    return pl.DataFrame({"age": age, "job": rare, "gain": gain, "sex": sex}), label


def test_a_fit_finds_what_the_schema_does_not_declare():
    X, y = people()
    model = PrivateFairClassifier(3, schema=KINDS, random_state=1).fit(X, y)
    age, job, gain = model.schema_.columns
    assert job.values == ("clerk", "farmer", "nurse")
    assert gain.usual == 0
    assert len(age.edges) > 4
    assert model.schema_.declared() == KINDS
    assert model.score(X, y) > np.mean(y == "no") + 0.05
    text = str(model.certificate_)
    assert "Found privately, within the budget" in text
    assert "categories of 1 column" in text
    assert "the schema (column names and kinds, label values, groups)" in text


def test_facts_are_found_in_the_records_that_train():
    plan = PrivateFairClassifier(3, schema=KINDS).plan()
    assert plan["discover"].scope == plan["train"].scope != plan["count"].scope


def test_the_whole_fit_stays_within_its_budget():
    for relation in ("add_remove", "replace_one"):
        plan = PrivateFairClassifier(1, schema=KINDS, relation=relation, mode="reuse").plan()
        assert 0.98 < epsilon_of(plan.event, 1e-5, relation) <= 1


def test_a_model_with_found_facts_is_saved_and_verified(tmp_path):
    X, y = people()
    model = PrivateFairClassifier(2, schema=KINDS).fit(X, y)
    path = save_model(model, tmp_path / "model.dpfair")
    again = load_model(path)
    assert str(again.certificate_) == str(model.certificate_)
    assert (again.predict(X) == model.predict(X)).all()
    assert all(check.passed is not False for check in verify_model(path))


@pytest.mark.parametrize("rows", [None, 500, 5000])
def test_bins_of_columns_with_bounds_are_found_if_there_are_enough_records(rows):
    columns = (Numeric("age", (0, 100)), Categorical("job", ("clerk", "farmer", "nurse")))
    schema = replace(KINDS, columns=columns, rows=rows)
    plan = PrivateFairClassifier(1, schema=schema).plan()
    assert ("discover" in plan) == (rows != 500)
    off = PrivateFairClassifier(1, schema=schema, division={"discovery_share": 0}).plan()
    assert "discover" not in off


def test_a_column_without_a_readable_number_is_warned_about():
    X, y = people(3000)
    unreadable = X.with_columns(age=X["age"].cast(str) + ",5")
    model = PrivateFairClassifier(3, schema=KINDS, random_state=0)
    with pytest.warns(AccuracyWarning, match="Column 'age' seems to hold no numbers"):
        model.fit(unreadable, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", AccuracyWarning)
        model.fit(X, y)


def test_a_column_of_dates_in_another_form_is_told_so():
    X, y = people(3000)
    columns = tuple(replace(c, date="%Y-%m-%d") if c.name == "age" else c for c in KINDS.columns)
    other = X.with_columns(age=pl.lit("16.10.21"))
    model = PrivateFairClassifier(3, schema=replace(KINDS, columns=columns), random_state=0)
    with pytest.warns(AccuracyWarning, match="hold no dates of the form %Y-%m-%d.* Check the date"):
        model.fit(other, y)


def test_a_small_table_is_warned_about():
    X, y = people(300)
    with pytest.warns(AccuracyWarning, match="declare what you know"):
        PrivateFairClassifier(3, schema=replace(KINDS, rows=300)).fit(X, y)


def test_a_method_without_discovery_refuses_open_columns():
    from dpfair import DPFermi

    with pytest.raises(InputError, match="does not find bounds and categories itself"):
        DPFermi(1, schema=replace(KINDS, rows=1000)).plan()


def test_discovery_can_not_be_switched_off_if_it_is_needed():
    model = PrivateFairClassifier(1, schema=KINDS, division={"discovery_share": 0})
    with pytest.raises(InputError, match="finding bounds and categories"):
        model.plan()


def test_a_search_refuses_columns_without_categories():
    search = PrivateSearchCV(
        PrivateLogisticRegression(1, schema=KINDS), {"clip": [0.3, 0.4]}, epsilon=2
    )
    with pytest.raises(InputError, match="declare the bounds and categories"):
        search.plan(KINDS)


def test_as_a_job_it_is_charged_and_states_its_cost(tmp_path):
    X, y = people()
    path = tmp_path / "people.ledger"
    LedgerFile.create(path, epsilon=3, delta=1e-5)
    found = discover_schema(X, KINDS, epsilon=0.5, delta=1e-6, ledger=path)
    assert found.categorical[0].values == ("clerk", "farmer", "nurse")
    assert 0.4 < LedgerFile(path).spent <= 0.5
    assert Schema.from_toml(found.to_toml()) == found
    model = PrivateFairClassifier(1, schema=found).fit(X, y)
    assert "discover" not in model.plan_
    text = str(model.certificate_)
    assert "facts were found in the same records before, at epsilon = 0.5" in text
    assert not model.certificate_.fairness.certified


def test_as_a_job_it_is_refused_beyond_the_budget(tmp_path):
    X, _ = people(50)
    path = tmp_path / "people.ledger"
    LedgerFile.create(path, epsilon=0.1, delta=1e-5)
    with pytest.raises(BudgetError):
        discover_schema(X, KINDS, epsilon=0.5, ledger=path)
    assert LedgerFile(path).spent == 0


def test_a_ledger_keeps_a_part_of_delta_for_naming(tmp_path):
    X, _ = people(50)
    path = tmp_path / "people.ledger"
    LedgerFile.create(path, epsilon=100, delta=1e-6)
    for _ in range(3):
        discover_schema(X, KINDS, epsilon=0.1, delta=1e-6, ledger=path)
    with pytest.raises(BudgetError, match="undeclared values"):
        discover_schema(X, KINDS, epsilon=0.1, delta=1e-6, ledger=path)


def test_a_seeded_job_is_a_leak_of_every_fit():
    X, y = people()
    found = discover_schema(X, KINDS, epsilon=0.5, random_state=1)
    model = PrivateFairClassifier(1, schema=found).fit(X, y)
    assert "NOT PRIVATE: facts of the schema were found with noise from a seed" in str(
        model.certificate_
    )


def test_records_without_a_word_or_number_name_nothing():
    table = pl.DataFrame({"age": ["?"] * 300, "job": [None] * 300, "gain": [np.nan] * 300})
    discovery = Discovery(KINDS, 5.0, 1e-3)
    receipt = Ledger(100, 0.1, noise=Noise(1)).charge(discovery.event, scope="", purpose="find")
    with pytest.warns(AccuracyWarning, match="'(age|gain)' seems to hold no numbers"):
        found = discovery.find(encode(table, replace(KINDS, sensitive=None)), receipt)
    assert found.categorical[0].values == ()
    assert found.numeric[0].edges == ()


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 3.0, 30.0])
def test_the_precision_is_that_of_the_gaussian_mechanism(epsilon):
    multiplier = gaussian_precision(epsilon, 1e-5) ** -0.5
    spent = epsilon_of(step_event(multiplier, 1.0, exact=True), 1e-5, "add_remove")
    assert spent == pytest.approx(epsilon, rel=0.01)


def test_facts_that_a_fit_found_are_not_free_for_another_fit():
    X, y = people()
    first = PrivateFairClassifier(3, schema=KINDS, random_state=1).fit(X, y)
    second = PrivateFairClassifier(3, schema=first.schema_, random_state=2).fit(X, y)
    assert [step.name for step in second.plan_.steps] == [step.name for step in first.plan_.steps]
    assert second.schema_.declared() == KINDS
    assert "Found privately, within the budget" in str(second.certificate_)


@pytest.mark.parametrize("groups", ["job", ["sex", "job"]])
def test_groups_are_not_found(groups):
    X, y = people()
    model = PrivateFairClassifier(3, schema=KINDS, random_state=1).fit(X, y)
    for schema in (KINDS, model.schema_):
        with pytest.raises(SchemaError, match="values of 'job' must be declared"):
            schema.with_sensitive(groups)


def test_after_a_job_nothing_more_is_found(tmp_path):
    X, y = people()
    found = discover_schema(X, KINDS, epsilon=1.0, random_state=3)
    model = PrivateFairClassifier(3, schema=found, random_state=1)
    age, job, _ = found.columns
    unbounded = replace(found, columns=(age, job, Numeric("gain")))
    with pytest.raises(InputError, match="still leaves out bounds or categories of 'gain'"):
        model.set_params(schema=unbounded).plan()
    without_edges = replace(found, columns=(age, job, Numeric("gain", (0, 5000))))
    model.set_params(schema=without_edges).fit(X, y)
    assert model.schema_ == without_edges
    save_model(model, tmp_path / "m.dpfair")
    assert load_model(tmp_path / "m.dpfair").schema_ == without_edges


def test_costs_that_are_added_up_have_no_room_for_discovery():
    with pytest.raises(InputError, match="basic composition needs a schema with all"):
        Algorithm2(3, schema=KINDS, composition="basic").plan()


def test_a_job_for_persons_says_so(tmp_path):
    X, y = people()
    X = X.with_columns(person=pl.Series(np.arange(len(X)) // 2))
    found = discover_schema(
        X,
        KINDS,
        epsilon=1.0,
        unit="person",
        rows_per_unit=2,
        relation="replace_one",
        random_state=1,
    )
    assert Schema.from_toml(found.to_toml()) == found
    text = str(PrivateFairClassifier(3, schema=found).fit(X, y).certificate_)
    assert "for every person (column 'person') (replace one)" in text


@pytest.mark.parametrize("usual", [0, 60_000])
def test_found_words_leave_room_in_a_file(usual, monkeypatch):
    """The frequent words stay, and what is added is not longer than the plan says."""
    monkeypatch.setattr("dpfair.discovery.discover._MOST_TEXT", 8000)
    words = [f"{i:02d}" + "\N{SNOWMAN}" * 100 for i in range(60)]
    listed = [w for i, w in enumerate(words) for _ in range(200 - i)]
    table = pl.DataFrame({"job": listed + words[:1] * usual})
    schema = Schema((Categorical("job"),), Levels("repaid", ("no", "yes")))
    discovery = Discovery(schema, 5.0, 1e-3)
    receipt = Ledger(100, 0.1, noise=Noise(1)).charge(discovery.event, scope="", purpose="find")
    found = discovery.find(encode(table, schema), receipt)
    assert 5 < len(found.categorical[0].values) < 20
    assert words[0] in found.categorical[0].values
    assert found.categorical[0].usual == (words[0] if usual else None)
    added = len(json.dumps(found.to_dict())) - len(json.dumps(schema.to_dict()))
    assert 4000 < added <= discovery.most_text < 8500


def test_a_file_that_calls_declared_facts_found_is_refused(tmp_path):
    """Facts that a fit finds are paid for; a file with the label alone did not pay."""
    X, y = people()
    columns = (Numeric("age", (0, 100)), Categorical("job", ("clerk", "farmer", "nurse")))
    declared = replace(KINDS, columns=columns)
    path = save_model(PrivateFairClassifier(2, schema=declared).fit(X, y), tmp_path / "m.dpfair")

    def forge(header):
        [_, job] = header["schema"]["columns"]
        job["found"] = ["values"]

    with pytest.raises(ModelFileError, match="not what the budget leads to"):
        model_from_bytes(rewritten(path.read_bytes(), forge))
