"""Methods, learners and settings of ``dpfair fit``: by the tables of names, refused plainly."""

from __future__ import annotations

import re

import pytest
from sample_tables import LOANS

from dpfair import InputError, PrivateFairClassifier, Schema, cli
from dpfair.cli.settings import (
    Given,
    find_setting,
    given_pairs,
    make_model,
    methods_from_tables,
    settings_of,
)
from dpfair.learners import LEARNERS
from dpfair.methods import METHODS
from dpfair.methods.settings import Division

ABLE = sorted(methods_from_tables())


@pytest.fixture
def planned(capsys, tmp_path):
    """Type a dry run; the table does not exist, so nothing can be read."""
    schema = tmp_path / "schema.toml"
    schema.write_text(Schema.from_dict(LOANS).to_toml())

    def typed(*options):
        capsys.readouterr()
        fit = ["fit", "no-such-table.csv", "--schema", str(schema), "--epsilon", "2"]
        code = cli.run([*fit, "--dry-run", *options])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return typed


def test_the_methods_of_the_command_line_need_no_classifier():
    for name, kind in METHODS.items():
        assert ("classifier" in kind().get_params()) is (name not in ABLE)
    assert {"fair", "algorithm2"} <= set(ABLE)


@pytest.mark.parametrize("method", ABLE)
def test_every_method_can_be_planned(method, planned):
    code, out, err = planned("--method", method)
    assert (code, err) == (0, "")
    assert "was not read" in out


@pytest.mark.parametrize("learner", LEARNERS)
def test_every_learner_can_be_planned(learner, planned):
    code, _, err = planned("--learner", learner)
    assert (code, err) == (0, "")


def test_settings_are_found_by_short_and_by_full_names():
    given = given_pairs(["tolerance=0.05", "learner__steps=7", "mode=reuse", "costs=5,1"])
    model = make_model("fair", "logistic", given, epsilon=2.0)
    assert model.rule_settings.tolerance == 0.05
    assert model.rule_settings.costs == (5.0, 1.0)
    assert (model.learner.steps, model.mode, model.epsilon) == (7, "reuse", 2.0)


@pytest.mark.parametrize(
    ("method", "name", "text", "value"),
    [
        ("fair", "tolerance", "1", 1.0),
        ("fair", "target", "none", None),
        ("fair", "strict", "True", True),
        ("fair", "notion", "equalized_odds", "equalized_odds"),
        ("algorithm2", "target", "0.3", 0.3),
        ("algorithm2", "target", "upper", "upper"),
        ("algorithm2", "public_sizes", "false", False),
        ("dp-fermi", "only_group", "3", "3"),
        ("dp-fermi", "only_group", "none", None),
        ("logistic", "steps", "30", 30),
    ],
)
def test_a_text_is_read_as_the_type_of_its_setting(method, name, text, value):
    model = make_model(method, None, [Given(name, text, f"--set {name}")])
    full = find_setting(model, method, name).name
    found = model.get_params()[full]
    assert (found, type(found)) == (value, type(value))


def test_settings_keep_their_defaults():
    for method in ABLE:
        before, after = METHODS[method]().get_params(), make_model(method, None, ()).get_params()
        plain = {k: v for k, v in before.items() if not hasattr(v, "get_params")}
        assert plain == {k: after[k] for k in plain}


WRONG = {
    "unknown method": ("--method best", "Expected --method to be fair, algorithm2"),
    "method with a classifier": ("--method algorithm1", "use Algorithm1 in Python"),
    "unknown learner": ("--learner best", "Expected --learner to be logistic, boosting or blocks"),
    "method without a learner": ("--method logistic --learner boosting", "needs --method fair"),
    "unknown setting": ("--set colour=3", "dpfair methods fair lists its settings"),
    "misspelt setting": ("--set steeps=3", "did you mean 'steps'?"),
    "setting of another method": ("--method logistic --tolerance 0.1", "needs --method fair"),
    "full name of another method": ("--method logistic --set rule__costs=1,2", "--method fair"),
    "setting of another learner": ("--learner boosting --set solver=sgd", "--learner logistic"),
    "no equals sign": ("--set steps", "Expected --set name=value, such as --set steps=50"),
    "no name": ("--set =3", "Expected --set name=value"),
    "no value": (
        "--learner logistic --set steps=",
        "Expected --set steps to be a whole number or none, got ''",
    ),
    "no pair": ("--set", "--set"),
    "steps of text": ("--set steps=many", "Expected --set steps to be a whole number, got 'many'"),
    "half a step": ("--set steps=1.5", "Expected --set steps to be a whole number, got '1.5'"),
    "no step": ("--set steps=0", "steps"),
    "negative steps of trees": ("--learner boosting --set steps=-1", "steps to be a whole number"),
    "no batch": (
        "--learner logistic --set solver=sgd --set batch_size=0",
        "batch_size to be a whole number >= 1",
    ),
    "no noise": ("--learner logistic --set noise_multiplier=0", "noise_multiplier > 0"),
    "tolerance of text": ("--tolerance abc", "Expected --tolerance to be a number, got 'abc'"),
    "no tolerance": ("--tolerance none", "Expected --tolerance to be a number, got 'none'"),
    "tolerance nan": ("--tolerance nan", "tolerance in [0, 1], got nan"),
    "one cost": ("--costs 1", "Expected --costs to be two numbers such as 1,5, got '1'"),
    "three costs": ("--costs 1,2,3", "two numbers such as 1,5"),
    "neither true nor false": ("--method algorithm2 --set public_sizes=perhaps", "true or false"),
    "twice": ("--tolerance 0.1 --set tolerance=0.2", "tolerance was given twice"),
    "twice by two names": ("--set steps=3 --set learner__steps=4", "steps was given twice"),
    "option of its own": ("--set epsilon=5", "the option --epsilon"),
    "seed": ("--set random_state=5", "the option --seed"),
    "learner as a setting": ("--set learner=boosting", "the option --learner"),
    "group": ("--set rule=fair", "rule is a group of settings"),
    "progress": ("--set verbose=true", "no setting 'verbose'"),
    "unit of a method for records": ("--method logistic --unit person", "--unit needs --method"),
    "rows of a method for records": (
        "--method logistic --rows-per-unit 2",
        "--rows-per-unit needs --method fair",
    ),
    "all for values": ("--values-epsilon 2", "Nothing would be left of epsilon for the table"),
}


@pytest.mark.parametrize("mistake", WRONG)
def test_what_is_wrong_is_one_sentence_before_anything_is_read(mistake, planned):
    options, said = WRONG[mistake]
    code, out, err = planned(*options.split(" "))
    assert (code, out) == (2, "")
    assert said in err
    assert err.startswith("dpfair: ")
    assert err.count("\n") == 1


def test_a_table_is_not_read_for_a_schema_if_the_settings_are_wrong(capsys, tmp_path):
    fit = ["fit", str(tmp_path / "none.csv"), "--label", "a", "--sensitive", "b", "--epsilon", "1"]
    for wrong in (["--method", "best"], ["--set", "steps=many"], ["--mode", "fast"]):
        assert cli.run([*fit, "--infer-schema", *wrong]) == 2
        assert "no file" not in capsys.readouterr().err
    assert cli.run(fit) == 2
    assert "no file" in capsys.readouterr().err


def all_settings():
    """Every setting of every method and learner, with the options that choose them."""
    for method in ABLE:
        for setting in settings_of(METHODS[method]()).values():
            if setting.name.startswith("learner__"):
                continue
            yield pytest.param(["--method", method], setting, id=f"{method}-{setting.name}")
    for learner in LEARNERS:
        for setting in settings_of(LEARNERS[learner]()).values():
            yield pytest.param(["--learner", learner], setting, id=f"{learner}-{setting.name}")


@pytest.mark.parametrize(("options", "setting"), list(all_settings()))
def test_no_value_of_a_setting_is_a_traceback(options, setting, planned):
    """Values of the wrong type, and numbers that no fit can have."""
    for text in ("x", "", "1,nan", "nan", "-1", "-1e300", "0"):
        code, _, err = planned(*options, "--set", f"{setting.name}={text}")
        # Some settings take any text or number; a budget of nothing is refused as one.
        assert code in (0, 2, 3)
        assert err.count("\n") == (0 if code == 0 else 1)
        if text == "x" and "str" not in setting.kind:
            assert code == 2
            assert f"Expected --set {setting.name} to be " in err


class TwoDivisions(PrivateFairClassifier):
    """A method with two groups of settings that have the same names."""

    def nested(self):
        return {**super().nested(), "second": Division()}


def test_an_ambiguous_name_is_refused_with_the_full_ones():
    with pytest.raises(InputError) as error:
        find_setting(TwoDivisions(), "fair", "check_share")
    assert str(error.value) == (
        "The setting 'check_share' is ambiguous; say division__check_share or second__check_share."
    )
    assert find_setting(TwoDivisions(), "fair", "second__check_share").short == "check_share"


def test_the_help_of_fit_names_the_methods_and_learners_of_the_tables(capsys):
    assert cli.run(["fit", "--help"]) == 0
    text = capsys.readouterr().out
    words = " ".join(text.split())
    assert re.search(rf"--method \S+ {listed(methods_from_tables())}\.", words)
    assert f"What trains the scorer: {listed(LEARNERS)}." in words
    assert "{" not in text.replace("{DATA}", "")
    assert max(map(len, text.splitlines())) <= 80


def test_a_method_that_is_added_to_the_table_is_in_the_help(capsys):
    METHODS["mine"] = PrivateFairClassifier
    try:
        assert cli.run(["fit", "--help"]) == 0
        assert "boosting or mine." in " ".join(capsys.readouterr().out.split())
    finally:
        del METHODS["mine"]


def listed(names):
    *first, last = names
    return f"{', '.join(first)} or {last}" if first else last
