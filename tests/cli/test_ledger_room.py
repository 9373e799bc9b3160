"""``dpfair ledger show`` says the same with kept answers, and then needs no accountant."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from cli import commands

from dpfair.cli import ledger_room
from dpfair.privacy.events import best_of_runs, compose, gaussian_steps, noisy_table
from dpfair.privacy.ledger_file import LedgerFile

HEAVY = ("numpy", "scipy", "sklearn", "pandas", "dp_accounting", "joblib")
COUNT = noisy_table("1/2", "add_remove")


def make_ledger(path, **how):
    """A ledger that paid for a fit, a search and an evaluation."""
    ledger = LedgerFile.create(path, 9, 1e-5, name="loans", **how)
    ledger.add_scope("2025")
    ledger.add_scope("2025/north")
    fit, search = gaussian_steps(30.0, 1.0, 50), best_of_runs([gaussian_steps(60.0, 1.0, 50)], 3, 1)
    ledger.charge(compose([fit, COUNT]), scope="2025", purpose="fit", key="monday")
    ledger.keep("monday", b"a model")
    ledger.charge(search, scope="", purpose="search")
    ledger.charge(COUNT, scope="2025/north", purpose="evaluation")
    return ledger


@pytest.fixture
def ledger(tmp_path):
    return make_ledger(tmp_path / "loans.ledger")


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("DPFAIR_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def computed(monkeypatch):
    """The heads for which the room was computed."""
    heads, right = [], ledger_room._room

    def listening(file, scope):
        heads.append(file.head)
        return right(file, scope)

    monkeypatch.setattr(ledger_room, "_room", listening)
    return heads


def show(capsys, ledger, *options):
    code, out, _ = commands.run(capsys, "ledger", "show", ledger.path, *options)
    assert code == 0
    return out


@pytest.mark.parametrize("how", [{}, {"planned": True}, {"unit": "person", "rows_per_unit": 2}])
@pytest.mark.parametrize("options", [[], ["--json"], ["--scope", "2025"]])
def test_the_same_with_and_without_the_cache(
    capsys, tmp_path, monkeypatch, cache, computed, how, options
):
    ledger = make_ledger(tmp_path / "other.ledger", **how)
    first, again = show(capsys, ledger, *options), show(capsys, ledger, *options)
    assert len(computed) == 1
    monkeypatch.setenv("DPFAIR_CACHE", "off")
    assert show(capsys, ledger, *options) == again == first
    assert len(computed) == 2


def test_a_charge_and_another_scope_are_computed(capsys, ledger, cache, computed):
    before = json.loads(show(capsys, ledger, "--json"))
    for scope in ("2025", "2025/north"):
        show(capsys, ledger, "--scope", scope)
    ledger.charge(COUNT, scope="", purpose="evaluation")
    after = json.loads(show(capsys, ledger, "--json"))
    assert len(computed) == len(list(cache.iterdir())) == 4
    assert after["spent"] > before["spent"]
    assert after["next"]["fit"] < before["next"]["fit"]


def test_a_charge_while_the_room_is_computed(capsys, ledger, cache, monkeypatch):
    right = ledger_room._room

    def late(file, scope):
        monkeypatch.setattr(ledger_room, "_room", right)
        ledger.charge(COUNT, scope="", purpose="meanwhile")
        return right(file, scope)

    monkeypatch.setattr(ledger_room, "_room", late)
    found = json.loads(show(capsys, ledger, "--json"))
    assert (found["head"], found["charges"]) == (ledger.head, 4)
    assert len(list(cache.iterdir())) == 1
    assert json.loads(show(capsys, ledger, "--json")) == found


@pytest.mark.parametrize(
    "wrong",
    [
        {"head": "0" * 64},
        {"pure": "much"},
        {"fit": 7},
        {"scopes": {"2025": 0.0}},
        {"scopes": [1]},
        {"another": 1.0},
    ],
)
def test_an_answer_of_another_form_is_computed_again(capsys, ledger, cache, computed, wrong):
    said = show(capsys, ledger)
    [file] = cache.iterdir()
    key, room = json.loads(file.read_text())
    file.write_text(json.dumps([key, room | wrong]))
    assert show(capsys, ledger) == said
    assert len(computed) == 2


def test_an_undeclared_scope_is_refused_with_the_cache_too(capsys, ledger, cache):
    show(capsys, ledger)
    words = "ledger", "show", ledger.path, "--scope", "2026"
    for _ in range(2):
        assert "was not declared" in commands.refused(capsys, *words, code=2)


def test_to_show_again_imports_no_accountant(capsys, ledger, cache):
    show(capsys, ledger)
    words = ["ledger", "show", str(ledger.path)]
    code = (
        f"import sys; from dpfair import cli; assert cli.run({words}) == 0;"
        f"print([name for name in {HEAVY} if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines()[-1] == "[]"
