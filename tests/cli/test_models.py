"""A model with a learner of the user's own is read with the code that the user names."""

from __future__ import annotations

import importlib

import pytest
from sample_tables import LOANS, make_loans

from dpfair import PrivateFairClassifier, Schema, cli, save_model

CODE = """
from dpfair.learners.logistic import LogisticLearner

class Mine(LogisticLearner):
    def __init__(self, steps=20):
        super().__init__(steps=steps)

class Other(Mine):
    pass

class Needy(Mine):
    def __init__(self, steps):
        super().__init__(steps)

ready = Mine()
NOT_A_LEARNER = 1
"""


@pytest.fixture
def own_model(tmp_path, monkeypatch):
    """A file whose learner is in a module that Python can import, and the table it was fit on."""
    (tmp_path / "own_learner.py").write_text(CODE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    importlib.invalidate_caches()
    learner = importlib.import_module("own_learner").Mine()
    X, y = make_loans(500)
    model = PrivateFairClassifier(2, schema=Schema.from_dict(LOANS), mode="reuse", learner=learner)
    save_model(model.fit(X, y), "own.dpfair")
    X.with_columns(repaid=y).write_csv("loans.csv")
    return "own.dpfair"


COMMANDS = {
    "verify": [],
    "report": ["--out", "own.html"],
    "frontier": [],
    "audit": ["--samples", "2000", "--seed", "1"],
    "predict": ["loans.csv"],
    "evaluate": ["loans.csv"],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_takes_the_learner(command, own_model, capsys):
    arguments = [command, own_model, *COMMANDS[command]]
    code = cli.run(arguments)
    if command == "predict":  # the file holds a linear scorer, which decides without the learner
        decided = capsys.readouterr().out
        assert (code, cli.run([*arguments, "--learner", "own_learner:Mine"])) == (0, 0)
        assert capsys.readouterr().out == decided
        return
    assert code == 2
    err = capsys.readouterr().err
    assert err.startswith("dpfair: The model file own.dpfair cannot be read here.")
    assert "'Mine'" in err
    assert "--learner MODULE:CLASS" in err
    assert "not a valid" not in err
    for learner in ("own_learner:Mine", "own_learner:ready"):
        assert cli.run([*arguments, "--learner", learner]) == 0


@pytest.mark.parametrize(
    ("learner", "said"),
    [
        ("nowhere_at_all:Mine", "ModuleNotFoundError"),
        ("own_learner:Missing", "AttributeError"),
        ("own_learner", "MODULE:CLASS"),
        (":Mine", "MODULE:CLASS"),
        ("own_learner:Needy", "no arguments"),
        ("own_learner:NOT_A_LEARNER", "to be a learner"),
        ("own_learner:Other", "trained by 'Mine', and the learner that was given is another one"),
    ],
)
def test_other_names_are_refused_in_one_sentence(learner, said, own_model, capsys):
    assert cli.run(["verify", own_model, "--learner", learner]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err
    assert err.count("\n") == 1
