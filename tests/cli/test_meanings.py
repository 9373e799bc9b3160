"""``dpfair methods NAME`` says what every setting means."""

from __future__ import annotations

import pytest

from dpfair import PrivateFairClassifier, cli
from dpfair.cli.meanings import meanings
from dpfair.cli.settings import settings_of
from dpfair.learners import LEARNERS
from dpfair.methods import METHODS


@pytest.mark.parametrize("kind", [*METHODS.values(), *LEARNERS.values()], ids=lambda k: k.__name__)
def test_every_setting_has_a_meaning_of_its_own(kind):
    model = kind()
    found = meanings(model)
    for name in settings_of(model):
        assert found[name].endswith((".", ")")), name
        assert not found[name].startswith("As in")
        for mark in ("``", "**", ":class:", ":data:"):
            assert mark not in found[name]


def test_what_another_class_says_is_repeated():
    assert meanings(METHODS["algorithm2"]())["coins"].startswith('"keyed": the same record')
    own = meanings(PrivateFairClassifier())
    assert own["rule__capacity"] == "The share of records that may be accepted at most."
    assert "epsilon" in own["ledger"] or "charged" in own["ledger"]


def test_the_list_of_settings_has_the_meanings(capsys):
    assert cli.run(["methods", "fair"]) == 0
    out = capsys.readouterr().out
    assert "    capacity           none\n        The share of records that may be accepted" in out
