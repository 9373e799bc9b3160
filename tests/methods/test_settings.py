"""Settings that belong together: an object, a dict or nothing, and reached by name."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from dpfair import Algorithm2, BlockLearner, Division, FairRule, InputError, LogisticLearner
from dpfair import PrivateFairClassifier as Fair
from dpfair.methods.settings import settings_of

ODDS = {"notion": "equalized_odds", "tolerance": 0.05}


def test_an_object_is_taken_as_it_is():
    rule = FairRule(**ODDS)
    assert settings_of(FairRule, rule, "rule") is rule


def test_a_dict_is_an_object_with_these_settings():
    rule = settings_of(FairRule, ODDS, "rule")
    assert rule.get_params() == FairRule(**ODDS).get_params()
    division = settings_of(Division, {"check_share": 0.3}, "division")
    assert division.get_params() == Division(check_share=0.3).get_params()


def test_nothing_is_the_defaults():
    for kind, name in ((FairRule, "rule"), (Division, "division")):
        assert settings_of(kind, None, name).get_params() == kind().get_params()
        assert settings_of(kind, {}, name).get_params() == kind().get_params()


@pytest.mark.parametrize("given", ["algorithm2", 5, [("notion", "x")], Division(), FairRule])
def test_anything_else_is_refused_in_a_sentence(given):
    with pytest.raises(InputError, match=r"^Expected rule to be a FairRule or a dict\.$"):
        settings_of(FairRule, given, "rule")


@pytest.mark.parametrize("name", ["toleranse", "check_share", "epsilon", 1])
def test_an_unknown_name_is_refused_in_a_sentence(name, loans, loan_schema):
    guess = r" \(did you mean 'tolerance'\?\)" if name == "toleranse" else ""
    sentence = f"rule has no setting {name!r}{guess}; it has .*notion.*tolerance"
    with pytest.raises(InputError, match=sentence):
        settings_of(FairRule, {name: 1}, "rule")
    model = Fair(2, schema=loan_schema, rule={name: 1, "notion": "equalized_odds"})
    for ask in (model.plan, lambda: model.fit(*loans)):
        with pytest.raises(InputError, match=sentence):
            ask()


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (FairRule(notion="fair"), "notion"),
        (FairRule(tolerance=-1), "tolerance"),
        (FairRule(target=2), "target in"),
        (FairRule(target="upper"), "target to be a number"),
        (FairRule(capacity=2), "capacity"),
        (FairRule(costs=(1, 0)), "cost_of_rejection"),
        (FairRule(smallest_group=-1), "smallest_group"),
        (FairRule(small_groups="hide"), "small_groups"),
        (FairRule(coins="loaded"), "coins"),
        (Division(release_epsilon=0), "release_epsilon"),
        (Division(values_epsilon=-1), "values_epsilon"),
    ],
    ids=str,
)
def test_impossible_settings_are_refused_when_they_are_checked(settings, sentence):
    with pytest.raises(InputError, match=sentence):
        settings.check()


def test_a_goal_may_have_another_notion_or_tolerance():
    rule = FairRule(**ODDS, capacity=0.4)
    goal = rule.goal()
    assert (goal.notion.name, goal.tolerance, goal.capacity) == ("equalized_odds", 0.05, 0.4)
    other = rule.goal("equal_opportunity", 0.1)
    assert (other.notion.name, other.tolerance, other.capacity) == ("equal_opportunity", 0.1, 0.4)
    assert rule.notion == "equalized_odds"


def test_all_forms_make_the_same_model(loans, loan_schema):
    X, y = loans
    settings = {"schema": loan_schema, "random_state": 3, "mode": "reuse"}
    models = [
        Fair(2, rule=rule, division=division, **settings).fit(X, y)
        for rule, division in [
            (ODDS, {"check_share": 0.3}),
            (FairRule(**ODDS), Division(check_share=0.3)),
        ]
    ]
    by_name = Fair(2, **settings).set_params(
        rule__notion="equalized_odds", rule__tolerance=0.05, division__check_share=0.3
    )
    models.append(by_name.fit(X, y))
    for other in models[1:]:
        assert other.plan_ == models[0].plan_
        assert other.certificate_ == models[0].certificate_
        np.testing.assert_array_equal(other.predict(X), models[0].predict(X))


# By name


@pytest.mark.parametrize("rule", [None, {}, FairRule()])
def test_single_settings_are_listed_whatever_the_form(rule):
    params = Fair(rule=rule, learner=LogisticLearner(steps=3)).get_params()
    assert params["rule__notion"] == "demographic_parity"
    assert params["division__check_share"] == 0.0
    assert params["learner__steps"] == 3
    assert params["rule"] is rule
    assert "rule__notion" not in Fair(rule=rule).get_params(deep=False)


@pytest.mark.parametrize("form", [lambda: None, lambda: {"tolerance": 0.1}, FairRule])
def test_single_settings_are_set_whatever_the_form(form):
    model = Fair(rule=form()).set_params(rule__notion="equalized_odds", division__check_share=0.2)
    assert model.get_params()["rule__notion"] == "equalized_odds"
    assert model.get_params()["division__check_share"] == 0.2
    expected = 0.1 if isinstance(form(), dict) else 0.0
    assert model.get_params()["rule__tolerance"] == expected


def test_a_whole_and_a_single_setting_may_be_set_at_once():
    model = Fair(rule={"tolerance": 0.3})
    model.set_params(rule={"notion": "equalized_odds"}, rule__tolerance=0.05)
    found = model.get_params()
    assert (found["rule__notion"], found["rule__tolerance"]) == ("equalized_odds", 0.05)


def test_the_settings_of_a_clone_are_its_own():
    model = Fair(rule={"tolerance": 0.1}, division=Division(check_share=0.2))
    copy = clone(model)
    assert copy.rule == {"tolerance": 0.1}
    copy.set_params(rule__tolerance=0.5, division__check_share=0.4)
    assert model.rule == {"tolerance": 0.1}
    assert model.division.check_share == 0.2
    again = pickle.loads(pickle.dumps(copy))
    assert again.get_params()["rule__tolerance"] == 0.5


@pytest.mark.parametrize(
    "unknown", ["rule__nonsense", "division__tolerance", "learner__trees", "rules__notion"]
)
def test_an_unknown_name_cannot_be_set(unknown):
    with pytest.raises(ValueError, match="Invalid parameter"):
        Fair().set_params(**{unknown: 1})


def test_impossible_settings_can_be_set_right(loan_schema):
    model = Fair(2, schema=loan_schema, rule="best")
    assert model.get_params()["rule"] == "best"
    with pytest.raises(InputError, match="Expected rule"):
        model.plan()
    model.set_params(rule={"notion": "equalized_odds"})
    assert "train" in model.plan()


def test_settings_as_objects():
    model = Fair(rule=ODDS)
    settings = model.settings()
    assert isinstance(settings["rule"], FairRule)
    assert isinstance(settings["division"], Division)
    assert isinstance(settings["learner"], BlockLearner)
    assert settings["epsilon"] == 1.0
    assert model.rule is ODDS
    assert isinstance(Algorithm2().settings()["learner"], LogisticLearner)


def test_grid_search_reaches_single_settings(loans, loan_schema):
    X, y = loans
    grid = {
        "rule__tolerance": [0.0, 1.0],
        "division__release_share": [0.3],
        "learner__steps": [2, 5],
    }
    search = GridSearchCV(Fair(3, schema=loan_schema, random_state=0), grid, cv=2)
    search.fit(X, y)
    assert len(search.cv_results_["params"]) == 4
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    best = search.best_estimator_
    for name, value in search.best_params_.items():
        assert best.get_params()[name] == value
    assert best.plan_.share("count") == 0.3
    assert best.plan_["train"].how.first.descent.steps == search.best_params_["learner__steps"]
    tolerances = {p["rule__tolerance"] for p in search.cv_results_["params"]}
    assert tolerances == {0.0, 1.0}
    assert search.estimator.rule is None
