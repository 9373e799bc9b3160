"""``dpfair audit`` as a user types it: tables, data, exit codes."""

from __future__ import annotations

import json

import numpy as np
import pytest
import typer
from cli import commands
from sample_tables import LOANS, make_loans

from dpfair import (
    Algorithm2,
    FairPostProcessor,
    InputError,
    LogisticLearner,
    PrivateFairClassifier,
    Schema,
    save_model,
)
from dpfair.audit.catalogue import CATALOGUE, Method, small_model
from dpfair.audit.counts import count_mechanisms
from dpfair.audit.distinguish import Listening
from dpfair.audit.mechanisms import library_mechanisms
from dpfair.audit.precision import STATED, precision_mechanisms
from dpfair.cli.audit import audit_mechanisms, audit_method, audit_model, show


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    X, y = make_loans(300)
    for name, settings in {
        "model": {},
        "seeded": {"random_state": 1},
    }.items():
        model = Algorithm2(
            2, schema=Schema.from_dict(LOANS), learner=LogisticLearner(steps=5), **settings
        ).fit(X, y)
        save_model(model, folder / f"{name}.dpfair")
    return folder


class HalfTheNoise(Listening):
    """Counts have half of the noise that they are charged for."""

    def discrete_laplace(self, parameter, size):
        return super().discrete_laplace(2 * parameter, size)


class NoNoise(Listening):
    """Counts are exact."""

    def discrete_laplace(self, parameter, size):
        return [0] * size


def run(capsys, *arguments):
    return commands.run(capsys, "audit", *arguments)


def shown(capsys, report, *, as_json=False):
    """The exit code and what is printed about a report."""
    capsys.readouterr()
    try:
        show(report, as_json=as_json)
    except typer.Exit as end:
        return end.exit_code, capsys.readouterr().out
    return 0, capsys.readouterr().out


def mechanisms(samples, noise=Listening, seed=1):
    """Two mechanisms stand for all."""
    chosen = [count_mechanisms()[0], precision_mechanisms()[1]]
    return audit_mechanisms(chosen, samples, noise(seed))


def method(kind=FairPostProcessor, samples=100, noise=Listening):
    """An audit of a small post-processor, or of a subclass with a mistake, on few tables."""
    entry = Method("post-processor", "A rule", lambda *how: small_model(kind, *how))
    return audit_method(entry, samples, noise(1), neighbours=0)


def test_mechanisms_are_a_table_that_explains_itself(capsys):
    code, out = shown(capsys, mechanisms(10000))
    assert code == 0
    lines = out.splitlines()
    assert lines[3].split() == ["mechanism", "epsilon", "delta", "epsilon", "samples", "verdict"]
    count = lines[4]
    assert count.startswith("count ")
    claimed, delta, proved, samples = (float(word) for word in count.split()[1:5])
    assert (claimed, delta, samples) == (2, 0, 10000)
    assert 1.6 < proved <= 2
    assert count.endswith("within the claim")
    assert lines[5].endswith(STATED)
    assert "99.9 % confidence" in out
    assert "the true epsilon is at least that large" in out
    assert 'arithmetic="exact"' in out
    assert lines[-1] == "Passed."
    assert max(map(len, lines)) <= 100


def test_all_mechanisms_of_the_library_are_audited(capsys):
    code, out, err = run(capsys, "mechanisms", "--samples", "1200", "--seed", "1")
    assert (code, err) == (0, "")
    assert out.startswith("Every mechanism of the library, run on neighbouring inputs\n")
    for mechanism in library_mechanisms():
        assert f"\n{mechanism.name} " in out
    assert out.splitlines()[-1] == "Passed."


def test_the_columns_stand_under_their_heads(capsys):
    _, out = shown(capsys, mechanisms(400))
    head, *rows = out.splitlines()[3:6]
    for row in rows:
        assert len(row[: row.rindex(row.split("  ")[-1])]) >= head.index("verdict")
        assert row[head.index("verdict") - 2 : head.index("verdict")] == "  "
        assert row[head.index("verdict")] != " "


def test_data_say_the_same_as_the_table(capsys):
    report = mechanisms(2000)
    _, text = shown(capsys, report)
    code, out = shown(capsys, report, as_json=True)
    result = json.loads(out)
    assert code == 0
    assert result["passed"] is True
    assert result["confidence"] == 0.999
    for finding, line in zip(result["findings"], text.splitlines()[4:6], strict=True):
        assert line.startswith(finding["mechanism"])
        assert f"{finding['lower_bound']:.3f}" in line
        assert line.endswith(finding["verdict"])
        assert finding["hits"][0] <= finding["trials"][0]


def test_without_a_seed_every_audit_has_other_samples():
    results = [mechanisms(2000, seed=None).to_json() for _ in range(2)]
    assert results[0] != results[1]


def test_too_little_noise_is_a_failed_check(capsys):
    report = mechanisms(4000, HalfTheNoise)
    code, out = shown(capsys, report)
    assert code == 1
    assert "EXCEEDS ITS CLAIM" in out
    assert out.splitlines()[-1] == "FAILED: 1 of 2 checks."
    code, out = shown(capsys, report, as_json=True)
    assert code == 1
    assert json.loads(out)["passed"] is False
    assert json.loads(out)["findings"][0]["failed"] is True


def test_a_method_is_replayed_and_plays_the_canary_game(capsys):
    code, out, err = run(capsys, "post-processor", "--samples", "100", "--seed", "1")
    assert (code, err) == (0, "")
    [entry] = [entry for entry in CATALOGUE if entry.name == "post-processor"]
    assert out.startswith(f"post-processor: {entry.description}\n")
    for relation in ("add_remove", "replace_one"):
        assert f"Replay under {relation:<11}" in out
    assert out.count("pairs of tables: no violation\n") == 2
    assert "fits of post-processor" in out
    assert "without / with the canary" in out
    assert out.splitlines()[-1] == "Passed."


def test_a_method_that_forgets_its_noise_fails(capsys):
    code, out = shown(capsys, method(samples=450, noise=NoNoise))
    assert code == 1
    assert "EXCEEDS ITS CLAIM" in out


class Leaky(FairPostProcessor):
    """Keeps an exact count beside the noisy ones."""

    def train(self, records, run):
        self.exact_ = len(records)
        return super().train(records, run)


def test_a_violation_of_a_replay_is_told_and_fails(capsys):
    report = method(Leaky)
    code, out = shown(capsys, report)
    assert code == 1
    assert "VIOLATIONS" in out
    assert "exact_" in out
    assert "more" in out
    code, out = shown(capsys, report, as_json=True)
    assert code == 1
    assert len(json.loads(out)["replays"][0]["violations"]) > 10


def test_a_model_file_is_audited_entry_by_entry(models, capsys):
    arguments = (models / "model.dpfair", "--samples", "3000", "--seed", "1")
    code, out, err = run(capsys, *arguments)
    assert (code, err) == (0, "")
    assert "the certificate follows from the ledger" in out
    assert "train: train the scorer" in out
    assert "release: count the accepted by group" in out
    result = json.loads(run(capsys, *arguments, "--json")[1])
    *training, count = result["findings"]
    assert [finding["delta"] for finding in training] == [1e-5, pytest.approx(0.05, abs=0.05)]
    assert training[0]["claimed_epsilon"] == pytest.approx(2, rel=1e-3)
    assert (count["claimed_epsilon"], count["delta"]) == (2, 0)
    assert count["lower_bound"] > 1.4


def test_a_model_that_found_facts_is_audited(tmp_path, capsys):
    kinds = [{"name": c["name"], "kind": c["kind"]} for c in LOANS["columns"]]
    X, y = make_loans(300)
    model = PrivateFairClassifier(2, schema=Schema.from_dict(LOANS | {"columns": kinds}))
    save_model(model.fit(X, y), tmp_path / "m.dpfair")
    code, out, _ = run(capsys, tmp_path / "m.dpfair", "--samples", "400", "--seed", "1")
    assert code == 0
    assert "train: find undeclared facts of the columns" in out


def test_a_model_is_audited_with_the_noise_of_this_installation(models, capsys):
    report = audit_model(models / "model.dpfair", 3000, HalfTheNoise(1))
    code, out = shown(capsys, report)
    assert code == 1
    [line] = [line for line in out.splitlines() if "EXCEEDS" in line]
    assert line.startswith("release: count the accepted")


def test_a_seeded_model_says_that_it_is_not_private(models, capsys):
    code, _, err = run(capsys, models / "seeded.dpfair", "--samples", "400", "--seed", "1")
    assert code == 0
    assert "the certificate says that this model is not private: the noise came from a seed" in err


def test_data_about_a_model_say_whether_it_is_private(models, capsys):
    how = ("--samples", "400", "--seed", "1", "--json")
    seeded = json.loads(run(capsys, models / "seeded.dpfair", *how)[1])
    assert seeded["private"] is False
    assert any("seed" in leak for leak in seeded["leaks"])
    private = json.loads(run(capsys, models / "model.dpfair", *how)[1])
    assert (private["private"], private["leaks"]) == (True, [])


def replays(capsys, relation, kind=FairPostProcessor):
    """The replay of a method under a relation as data, and the text about all of it."""
    report = method(kind)
    code, text = shown(capsys, report)
    result = json.loads(shown(capsys, report, as_json=True)[1])
    [replay] = [found for found in result["replays"] if found["relation"] == relation]
    assert result["passed"] is (code == 0)
    return code, text, replay


def test_data_about_a_replay_tell_what_was_looked_at(capsys):
    code, _, replay = replays(capsys, "replace_one")
    assert (code, replay["failed"], replay["passed"]) == (0, 0, True)
    assert replay["asked"] == replay["touched"] != []
    assert replay["blind_spots"] == []


class Failing(FairPostProcessor):
    """Has no fit for one of the relations."""

    def fit(self, X, y=None, sensitive_features=None):
        if self.relation == "replace_one":
            raise InputError("There is no such relation.")
        return super().fit(X, y, sensitive_features)


def test_fits_that_fail_are_a_failed_check(capsys):
    code, text, replay = replays(capsys, "replace_one", Failing)
    assert code == 1
    assert f"{replay['pairs']} of {replay['pairs']} fits failed: they show nothing." in text
    assert "No fit asked for a noisy answer" in text
    assert text.splitlines()[-1].startswith("FAILED: 1 of")
    assert replay["failed"] == replay["pairs"]
    assert (replay["violations"], replay["passed"]) == ([], False)


class Blind(FairPostProcessor):
    """Counts nobody, so that no neighbour can move a count."""

    def train(self, records, run):
        return super().train(records.take(np.arange(0)), run)


def test_a_scope_that_no_neighbour_touches_is_a_failed_check(capsys):
    code, text, replay = replays(capsys, "add_remove", Blind)
    assert code == 1
    [scope] = replay["asked"]
    assert f"No neighbour changed a value of scope {scope!r}" in text
    assert replay["touched"] == []
    assert text.splitlines()[-1].startswith("FAILED: 2 of")


@pytest.mark.parametrize("target", ["nothing.dpfair", "models/nothing", "./logistic"])
def test_a_file_that_is_not_there_is_not_taken_for_a_method(target, capsys):
    code, out, err = run(capsys, target)
    assert (code, out) == (2, "")
    assert err == f"dpfair: There is no file {target}.\n"


def test_unknown_targets_name_the_known_ones(capsys, tmp_path):
    code, out, err = run(capsys, "nobody")
    assert (code, out) == (2, "")
    assert err.startswith("dpfair: Expected a model file, the word mechanisms or a method (")
    assert all(method.name in err for method in CATALOGUE)
    assert err.count("\n") == 1
    broken = tmp_path / "broken.dpfair"
    broken.write_bytes(b"nothing")
    code, _, err = run(capsys, broken)
    assert code == 2
    assert "is not a model file: it looks like plain text" in err


@pytest.mark.parametrize("target", ["mechanisms", "logistic"])
@pytest.mark.parametrize("samples", ["10", "0", "-1", "many"])
def test_samples_must_be_enough(target, samples, capsys):
    code, out, err = run(capsys, target, "--samples", samples)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
