"""Model files: whatever is saved says and decides the same when it is read again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

import numpy as np
import pytest
from sample_models import KINDS, WITH_CLASSIFIER, fitted, rewritten, rich, table_of

from dpfair import InputError, LedgerFile, PrivateFairClassifier, Schema, load_model, save_model
from dpfair.data.schema import MAX_GROUPS
from dpfair.errors import MissingCodeError, ModelFileError
from dpfair.fairness.notions import NOTIONS
from dpfair.methods.algorithm2 import Algorithm2
from dpfair.methods.limits import MAX_CELLS
from dpfair.models.file import model_bytes, model_digest, model_from_bytes
from dpfair.report import render_report


def given(kind, model):
    """What a file of this kind does not hold."""
    if kind in WITH_CLASSIFIER:
        return {"classifier": rich}
    if kind == "rates, trained in fit":
        return {"classifier": model.classifier_.parts}
    return {}


def reloaded(kind, tmp_path):
    model = fitted(kind)
    return model, load_model(save_model(model, tmp_path / "m.dpfair"), **given(kind, model))


# Every method


@pytest.mark.parametrize("kind", KINDS)
def test_every_method_decides_the_same(kind, tmp_path):
    model, loaded = reloaded(kind, tmp_path)
    X = table_of(kind)
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    if kind != "replaced":  # whose coins are fresh
        np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
        np.testing.assert_array_equal(loaded.decide_all(X)[0], model.decide_all(X)[0])


@pytest.mark.parametrize("kind", KINDS)
def test_every_method_promises_and_charges_the_same(kind, tmp_path):
    model, loaded = reloaded(kind, tmp_path)
    assert type(loaded) is type(model)
    assert loaded.certificate_ == model.certificate_
    assert str(loaded.certificate_) == str(model.certificate_)
    assert loaded.ledger_.to_json() == model.ledger_.to_json()
    assert loaded.ledger_.assumptions == model.ledger_.assumptions
    assert loaded.plan_ == model.plan_
    for part in ("releases", "rule", "planned", "rates", "notion", "coin_key"):
        assert getattr(loaded.fitted_, part) == getattr(model.fitted_, part)
    assert loaded.schema_ == model.schema_
    assert loaded.classes_.tolist() == model.classes_.tolist()
    assert not loaded.certificate_.privacy.private  # all of them have a seed


@pytest.mark.parametrize("kind", KINDS)
def test_every_method_is_saved_as_the_same_bytes_again(kind, tmp_path):
    model, loaded = reloaded(kind, tmp_path)
    assert model_bytes(loaded) == (tmp_path / "m.dpfair").read_bytes() == model_bytes(model)
    assert model_digest(loaded) == model_digest(model)
    assert render_report(loaded) == render_report(model)


READER = """
import hashlib, json, sys, warnings
from sample_models import KINDS, WITH_CLASSIFIER, rich, table_of
from dpfair import load_model
from dpfair.models.file import model_bytes

found = {}
for kind, path in json.load(sys.stdin).items():
    model = load_model(path, classifier=rich if kind in WITH_CLASSIFIER else None)
    decisions = "" if "trained" in kind else model.predict_proba(table_of(kind)).tobytes().hex()
    file = hashlib.sha256(model_bytes(model)).hexdigest()
    found[kind] = [str(model.certificate_), hashlib.sha256(decisions.encode()).hexdigest(), file]
json.dump(found, sys.stdout)
"""


@pytest.fixture(scope="module")
def read_elsewhere(tmp_path_factory):
    """What another process finds in the files."""
    folder = tmp_path_factory.mktemp("files")
    paths = {k: str(save_model(fitted(k), folder / f"{i}.dpfair")) for i, k in enumerate(KINDS)}
    found = subprocess.run(
        [sys.executable, "-c", READER],
        input=json.dumps(paths),
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "PYTHONHASHSEED": "7"},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(found.stdout)


@pytest.mark.parametrize("kind", KINDS)
def test_another_process_reads_the_same(kind, read_elsewhere):
    import hashlib

    model, decisions = fitted(kind), ""
    if "trained" not in kind:
        decisions = model.predict_proba(table_of(kind)).tobytes().hex()
    assert read_elsewhere[kind] == [
        str(model.certificate_),
        hashlib.sha256(decisions.encode()).hexdigest(),
        hashlib.sha256(model_bytes(model)).hexdigest(),
    ]


def test_a_search_is_saved_as_its_winner(loans):
    search = KINDS["search"]()
    assert model_bytes(search) == model_bytes(search.best_estimator_)
    assert model_digest(search) == model_digest(search.best_estimator_)


# Every setting of the classifier

SETTINGS = {
    "default": {},
    "tolerant": {"rule": {"tolerance": 0.05, "target": 0.3}},
    "capacity": {"rule": {"capacity": 0.2, "costs": (1, 3)}},
    "opportunity": {"rule": {"notion": "equal_opportunity"}},
    "odds": {"rule": {"notion": "equalized_odds"}},
    "accuracy": {"rule": {"notion": "accuracy_parity", "tolerance": 0.02}},
    "ratio": {"rule": {"notion": "parity_ratio", "tolerance": 0.2}},
    "placed": {"epsilon": 6},
    "values": {"division": {"values_epsilon": 0.2}},
    "reuse values": {"mode": "reuse", "division": {"values_epsilon": 0.2}},
    "reuse": {"mode": "reuse"},
    "reuse odds": {"mode": "reuse", "rule": {"notion": "equalized_odds"}},
    "check": {"mode": "reuse", "division": {"check_share": 0.3}},
    "check odds": {
        "mode": "reuse",
        "division": {"check_share": 0.3},
        "rule": {"notion": "equalized_odds"},
    },
    "intersection": {"sensitive": ["sex", "job"]},
    "small groups": {"sensitive": ("sex", "job"), "rule": {"smallest_group": 400}},
    "persons": {"unit": "age", "rows_per_unit": 2},
    "replaced": {"relation": "replace_one", "rule": {"coins": "fresh"}, "confidence": 0.9},
    "exact budget": {"epsilon": "2.1"},
    "numbers of numpy": {"epsilon": np.float64(2), "rule": {"tolerance": np.float32(0.5)}},
}


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.filterwarnings("ignore::dpfair.errors.FairnessWarning")
def test_every_setting_survives(name, loans, loan_schema, tmp_path):
    X, _ = loans
    settings = {"epsilon": 2, "schema": loan_schema, "random_state": 1, **SETTINGS[name]}
    model = PrivateFairClassifier(**settings).fit(*loans)
    before = model.ledger_.to_json()
    loaded = load_model(save_model(model, tmp_path / "m.dpfair"))
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert loaded.fitted_.releases == model.fitted_.releases
    assert loaded.certificate_ == model.certificate_
    assert loaded.ledger_.to_json() == before
    assert loaded.mode == model.mode
    ours, theirs = loaded.rule_settings.get_params(), model.rule_settings.get_params()
    assert ours == theirs
    assert render_report(loaded) == render_report(model)
    if theirs["coins"] != "fresh":
        np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    if not NOTIONS[theirs["notion"]].needs_labels:
        ours, theirs = (m.decide_batch(X).decisions for m in (loaded, model))
        np.testing.assert_array_equal(ours, theirs)
    assert [p.gap for p in loaded.frontier()] == [p.gap for p in model.frontier()]
    other = model.with_rule(notion="equalized_odds", tolerance=0.1)
    assert loaded.with_rule(notion="equalized_odds", tolerance=0.1).rule_ == other.rule_
    again = load_model(save_model(other, tmp_path / "other.dpfair"))
    assert again.certificate_ == other.certificate_
    assert again.rule_ == other.rule_
    back = again.with_rule(notion="demographic_parity", tolerance=0.0)
    assert load_model(save_model(back, tmp_path / "back.dpfair")).rule_ == back.rule_


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"target": "lower"},
        {"target": 0.3},
        {"public_sizes": True, "composition": "basic"},
        {"release_epsilon": 0.5, "release_share": 0.4, "coins": "fresh"},
    ],
    ids=str,
)
def test_every_setting_of_algorithm_2_survives(settings, loans, loan_schema, tmp_path):
    X, _ = loans
    model = Algorithm2(2, schema=loan_schema, random_state=1, **settings).fit(*loans)
    loaded = load_model(save_model(model, tmp_path / "m.dpfair"))
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert loaded.certificate_ == model.certificate_
    assert {n: getattr(loaded, n) for n in settings} == settings


def test_cuts_at_both_ends_survive(loans, loan_schema, tmp_path):
    """Nobody or everybody of a group may be accepted: such cuts are infinite."""
    for costs, end in (((1e6, 1), np.inf), ((1, 1e6), -np.inf)):
        model = PrivateFairClassifier(
            9, schema=loan_schema, random_state=0, rule={"notion": "equalized_odds", "costs": costs}
        ).fit(*loans)
        assert (model.rule_.cuts == end).any()
        loaded = load_model(save_model(model, tmp_path / "m.dpfair"))
        assert loaded.rule_ == model.rule_


@pytest.fixture(scope="module")
def model(loans, loan_schema):
    return PrivateFairClassifier(2, schema=loan_schema, random_state=1).fit(*loans)


@pytest.fixture(scope="module")
def content(model, tmp_path_factory):
    return save_model(model, tmp_path_factory.mktemp("model") / "m.dpfair").read_bytes()


def test_a_loaded_model_finds_its_columns_by_name(model, loans, tmp_path):
    X, _ = loans
    loaded = load_model(save_model(model, tmp_path / "m.dpfair"))
    shuffled = X.select("sex", "job", "income", "age").with_columns(extra=1)
    np.testing.assert_array_equal(loaded.predict(shuffled), model.predict(X))


@pytest.mark.parametrize("kind", [np.int64, np.float64, bool, object])
def test_classes_keep_their_type(kind, loans, loan_schema, tmp_path):
    X, y = loans
    labels = (y == "yes").astype(kind)
    values = ["False", "True"] if kind in (bool, object) else ["0", "1"]
    label = {"label": {"name": "ok", "values": values}}
    schema = Schema.from_dict(loan_schema.to_dict() | label)
    model = PrivateFairClassifier(2, schema=schema, random_state=1).fit(X, labels)
    loaded = load_model(save_model(model, tmp_path / "m.dpfair"))
    assert loaded.score(X, labels) == model.score(X, labels) > 0.6


def test_the_same_seed_writes_the_same_bytes(loans, loan_schema, content, tmp_path):
    again = PrivateFairClassifier(2, schema=loan_schema, random_state=1).fit(*loans)
    assert save_model(again, tmp_path / "again.dpfair").read_bytes() == content


def test_another_rule_keeps_the_plan_that_was_paid(loans, loan_schema, tmp_path):
    """The plan depends on the notion that a fit is asked for, and a later one changes nothing."""
    model = PrivateFairClassifier(2, schema=loan_schema, mode="reuse", random_state=1).fit(*loans)
    other = model.with_rule(notion="equalized_odds")
    loaded = load_model(save_model(other, tmp_path / "m.dpfair"))
    assert loaded.plan_ == model.plan_ != other.plan(loan_schema)
    assert loaded.fitted_.notion == "demographic_parity"
    assert loaded.rule_settings.notion == "equalized_odds"


# What is not in the file


def test_a_file_without_its_classifier_says_what_is_missing(loans, tmp_path):
    loaded = load_model(save_model(fitted("rates"), tmp_path / "m.dpfair"))
    assert loaded.certificate_ == fitted("rates").certificate_
    with pytest.raises(InputError, match=r"load_model\(path, classifier=\.\.\.\)"):
        loaded.predict(loans[0])


def test_a_classifier_that_does_not_fit_is_refused(tmp_path):
    path = save_model(fitted("rates"), tmp_path / "m.dpfair")
    with pytest.raises(ModelFileError, match=r"cannot be read here\. The .* other classes"):
        load_model(path, classifier=fitted("rates, trained in fit").classifier_.parts)
    unfitted = KINDS["rates, trained in fit"]().classifier
    with pytest.raises(ModelFileError, match=r"cannot be read here\. The .* not fitted"):
        load_model(path, classifier=unfitted)


def test_a_given_classifier_does_not_hide_that_it_was_trained_in_fit(tmp_path):
    model, loaded = reloaded("rates, trained in fit", tmp_path)
    leaks = loaded.certificate_.privacy.leaks
    assert leaks == model.certificate_.privacy.leaks
    assert any("trained in fit" in leak for leak in leaks)


def test_a_learner_of_ones_own_is_given_again(loans, loan_schema, tmp_path):
    from dpfair.learners.logistic import LogisticLearner

    class OwnLearner(LogisticLearner):
        """It has a name of its own, and nothing else."""

    class OtherLearner(LogisticLearner):
        """Not the one that trained."""

    own = OwnLearner(steps=20)
    model = PrivateFairClassifier(2, schema=loan_schema, learner=own, random_state=1).fit(*loans)
    path = save_model(model, tmp_path / "m.dpfair")
    loaded = load_model(path, learner=OwnLearner(steps=20))
    assert loaded.certificate_ == model.certificate_
    np.testing.assert_array_equal(loaded.predict(loans[0]), model.predict(loans[0]))
    for wrong, advice in (
        (None, "learner="),
        (LogisticLearner(steps=20), "another one"),
        (OtherLearner(steps=20), "another one"),
    ):
        with pytest.raises(MissingCodeError, match=f"'OwnLearner'.*{advice}"):
            load_model(path, learner=wrong)
    with pytest.raises(ModelFileError, match="than the settings lead to"):
        load_model(path, learner=OwnLearner(steps=40))


# What is not written


def test_only_fitted_models_of_dpfair_are_saved(loan_schema, tmp_path):
    from sklearn.exceptions import NotFittedError

    class Derived(PrivateFairClassifier):
        """A method that no reader would know."""

    with pytest.raises(InputError, match="Expected a PrivateClassifier, got str"):
        save_model("a string", tmp_path / "x")
    with pytest.raises(NotFittedError):
        save_model(PrivateFairClassifier(schema=loan_schema), tmp_path / "x")
    model = fitted("reuse")
    stranger = Derived(**model.get_params(deep=False))
    stranger.__dict__ |= {name: value for name, value in vars(model).items() if name[-1] == "_"}
    with pytest.raises(InputError, match="Expected one of dpfair's methods, got Derived"):
        save_model(stranger, tmp_path / "x")
    assert not list(tmp_path.iterdir())


def test_a_rule_that_no_longer_follows_is_not_saved(loans, loan_schema, tmp_path):
    model = PrivateFairClassifier(2, schema=loan_schema, random_state=1).fit(*loans)
    model.set_params(rule__tolerance=0.3)
    with pytest.raises(InputError, match="changed after fit"):
        save_model(model, tmp_path / "x")


def test_a_model_does_not_replace_a_ledger_and_needs_a_place(model, tmp_path):
    ledger = LedgerFile.create(tmp_path / "a.ledger", 1, 1e-5)
    ledger.close()
    with pytest.raises(InputError, match="a ledger file is never overwritten"):
        save_model(model, tmp_path / "a.ledger")
    assert ledger.verify().rows == 1
    with pytest.raises(InputError, match="cannot be written"):
        save_model(model, tmp_path / "nowhere" / "m.dpfair")


def test_a_missing_file_or_a_directory_is_one_sentence(tmp_path):
    with pytest.raises(ModelFileError, match="is a directory: name a model file"):
        load_model(tmp_path)
    with pytest.raises(ModelFileError, match="There is no model file"):
        load_model(tmp_path / "none")


@pytest.mark.parametrize(
    ("version", "advice"),
    [
        (3, "use dpfair 0.1.0, which wrote it, or fit"),
        (5, "other coins, and some of them other decisions: use dpfair 0.1.0, which wrote it"),
        (6, "does not say what its scorer is: use dpfair 0.1.0, which wrote it"),
        (8, "Use the dpfair that wrote it"),
    ],
)
def test_another_version_is_refused_with_what_to_do(version, advice, content, tmp_path):
    def change(header):
        header |= {"version": version, "dpfair": "0.1.0"}

    path = tmp_path / "other.dpfair"
    path.write_bytes(rewritten(content, change))
    with pytest.raises(ModelFileError, match=f"here. It has version {version} of.*{advice}"):
        load_model(path)


def test_bytes_are_read_as_a_file_is(content):
    assert model_bytes(model_from_bytes(content)) == content
    with pytest.raises(ModelFileError):
        model_from_bytes(content[:-1])


def test_the_cost_of_the_largest_file_is_bounded(loan_schema, loans, tmp_path):
    """As many groups as a file may have, each with a linear program and a band to solve again."""
    names = [f"job {i}" for i in range(MAX_GROUPS // 2)]
    data = loan_schema.to_dict()
    data["columns"][2]["values"] = names
    data |= {"rows": None, "sensitive": {"columns": ["job", "sex2"]}}
    data["columns"].append({"name": "sex2", "kind": "categorical", "values": ["f", "m"]})
    data.pop("rows")
    schema = Schema.from_dict(data)
    rng = np.random.default_rng(0)
    X, y = loans
    X = X.with_columns(job=rng.choice(names, len(y)), sex2=X["sex"])
    fitted = PrivateFairClassifier(
        2, schema=schema, random_state=1, rule={"smallest_group": 0, "notion": "equalized_odds"}
    ).fit(X, y)
    assert MAX_GROUPS * 2 * 64 <= fitted.release_.counts.size <= MAX_CELLS
    path = save_model(fitted, tmp_path / "m.dpfair")
    start = time.perf_counter()
    assert load_model(path).certificate_ == fitted.certificate_
    assert time.perf_counter() - start < 30
