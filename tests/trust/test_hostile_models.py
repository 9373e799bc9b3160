"""Hostile model files: refused at once, in one sentence, without running anything."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sample_tables import LOANS, make_loans
from trust import hostile_models
from trust.hostile_models import ATTACKS, CANARY, DEAR, PLACES, honest_models, rewritten

from dpfair import (
    InputError,
    PrivateFairClassifier,
    PrivateLogisticRegression,
    Schema,
    load_model,
    save_model,
)
from dpfair.cli import _run
from dpfair.errors import ModelFileError
from dpfair.fairness.bounds.placement import Window, placement_grid
from dpfair.fairness.release import Release
from dpfair.methods import limits as model_limits
from dpfair.methods.fair_classifier import MAX_PLACED_GROUPS

MAX_SECONDS = 1.0
MAX_MEGABYTES = 100


@pytest.fixture(scope="module")
def honest():
    return honest_models()


def written(attacks, honest, folder: Path) -> dict[str, Path]:
    paths = {}
    for number, (name, build) in enumerate(attacks.items()):
        paths[name] = folder / f"{number}.dpfair"
        paths[name].write_bytes(build(honest))
    return paths


def measured(paths: dict[str, Path], honest, folder: Path) -> dict[str, dict]:
    """What becomes of the files in a process of its own, whose memory can be watched."""
    first = folder / "honest.dpfair"
    first.write_bytes(honest["placed"])
    found = subprocess.run(
        [sys.executable, hostile_models.__file__],
        input=json.dumps([str(path) for path in (first, *paths.values())]),
        cwd=folder,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
    )
    return dict(zip(paths, json.loads(found.stdout), strict=True))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("hostile")


@pytest.fixture(scope="module")
def files(honest, folder):
    return written(ATTACKS, honest, folder) | {name: make(folder) for name, make in PLACES.items()}


@pytest.fixture(scope="module")
def outcomes(files, honest, folder):
    return measured(files, honest, folder)


def test_the_corpus_is_large():
    assert len(ATTACKS) + len(PLACES) >= 350


@pytest.mark.parametrize("name", [*ATTACKS, *PLACES])
def test_a_hostile_file_is_refused_at_once(name, outcomes):
    outcome = outcomes[name]
    assert outcome["error"] == "ModelFileError", outcome["text"]
    assert outcome["seconds"] < MAX_SECONDS
    assert outcome["megabytes"] < MAX_MEGABYTES
    assert outcome["text"].isprintable()
    assert len(outcome["text"]) < 1000


def test_no_payload_has_run(outcomes, folder):
    assert not (folder / CANARY).exists()


def test_a_payload_would_have_been_noticed(honest, folder, monkeypatch):
    """The same bytes do run code, given to a reader that trusts them."""
    import pickle

    monkeypatch.chdir(folder)
    pickle.loads(ATTACKS["pickle, protocol 2"](honest))
    assert (folder / CANARY).exists()
    (folder / CANARY).unlink()


@pytest.mark.slow
def test_the_dearest_files_cost_what_honest_ones_cost(honest, folder):
    """Nothing but their last number is wrong with these: all of it has to be derived."""
    for outcome in measured(written(DEAR, honest, folder), honest, folder).values():
        assert outcome["error"] == "ModelFileError"
        assert outcome["seconds"] < 12
        assert outcome["megabytes"] < MAX_MEGABYTES


COMMANDS = {
    "predict": lambda path, data: ["predict", path, data],
    "evaluate": lambda path, data: ["evaluate", path, data],
    "frontier": lambda path, data: ["frontier", path],
    "report": lambda path, data: ["report", path, "--out", f"{data}.html"],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_the_command_line_says_one_sentence(command, files, folder, capfd):
    data = folder / "loans.csv"
    if not data.exists():
        make_loans(20)[0].with_columns(repaid=pl.lit("yes")).write_csv(data)
    start = list(COMMANDS).index(command)
    for path in list(files.values())[start :: 4 * len(COMMANDS)] + list(files.values())[-3:]:
        assert _run(COMMANDS[command](str(path), str(data))) == 2
        said = capfd.readouterr()
        assert said.out == ""
        assert said.err.startswith("dpfair: ")
        assert said.err.count("\n") == 1
        assert said.err.rstrip("\n").isprintable()


@pytest.mark.parametrize(
    "kind", ["placed", "corrected", "bands", "flips", "check", "boosted", "groups", "search"]
)
def test_an_honest_file_is_read_and_says_the_same_again(kind, honest, folder):
    from dpfair.models.file import model_bytes

    path = folder / f"{kind}.dpfair"
    path.write_bytes(honest[kind])
    assert model_bytes(load_model(path)) == honest[kind]


def test_a_file_of_another_release_of_dpfair_is_read(honest, folder):
    path = folder / "newer.dpfair"
    path.write_bytes(rewritten(honest["bands"], lambda header: header.update(dpfair="9.9.9")))
    assert load_model(path).notion == "equalized_odds"


# What a fit can write must be read


@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    epsilon=st.floats(0.05, 10),
    groups=st.integers(2, MAX_PLACED_GROUPS),
    replace=st.booleans(),
    data=st.data(),
)
def test_every_grid_of_a_fit_is_within_the_limits(epsilon, groups, replace, data):
    if groups > MAX_PLACED_GROUPS * min(1, epsilon):
        return  # such a fit places no thresholds
    noise = epsilon / 2 if replace else epsilon
    edges = placement_grid([data.draw(windows()) for _ in range(groups)], noise)
    release = Release(
        groups=tuple(map(str, range(groups))),
        edges=edges,
        counts=np.zeros((groups, 2, edges.shape[1] + 1), dtype=np.int64),
        noise=(noise,) * groups,
        sizes=None,
        dependence="",
        grain=100,
    )
    model_limits.check_placed(release, MAX_PLACED_GROUPS)


@st.composite
def windows(draw):
    ends = sorted(draw(st.lists(st.floats(0, 1), min_size=2, max_size=6, unique=True)))
    share = st.floats(0, 1)
    masses = draw(st.lists(share, min_size=len(ends) - 1, max_size=len(ends) - 1))
    return Window(tuple(ends), tuple(masses), draw(share), draw(st.floats(1, 1e9)))


def grouped(groups: int, rows: int):
    """Loans of people in several groups with different rates."""
    data = copy.deepcopy(LOANS)
    names = [f"g{i}" for i in range(groups)]
    data["sensitive"]["values"] = names
    X, y = make_loans(rows)
    drawn = np.random.default_rng(1).integers(0, groups, rows)
    y = np.where(np.random.default_rng(2).random(rows) < drawn / (3 * groups), "yes", y)
    return Schema.from_dict(data), X.with_columns(sex=pl.Series([names[i] for i in drawn])), y


@pytest.mark.parametrize(
    ("epsilon", "groups", "more"),
    [
        (0.05, 2, {}),
        (0.1, 2, {"relation": "replace_one"}),
        (0.3, 6, {"tolerance": 0.05}),
        (1, 20, {"notion": "parity_ratio", "tolerance": 0.2, "smallest_group": 0}),
        (3, 5, {"release_epsilon": 0.3}),
        (10, 3, {"notion": "equal_opportunity"}),
        (10, 2, {"unit": "age", "rows_per_unit": 40}),
        (2, 60, {"notion": "equalized_odds", "smallest_group": 0}),
    ],
    ids=str,
)
def test_what_a_fit_writes_is_read(epsilon, groups, more, tmp_path):
    schema, X, y = grouped(groups, 3000)
    quick = PrivateLogisticRegression(steps=20)
    model = PrivateFairClassifier(epsilon, schema=schema, learner=quick, random_state=1, **more)
    model.fit(X, y)
    path = save_model(model, tmp_path / "m.dpfair")
    assert load_model(path).certificate_ == model.certificate_


def test_what_could_not_be_read_is_not_written(monkeypatch, tmp_path, loans, loan_schema):
    model = PrivateFairClassifier(2, schema=loan_schema, mode="reuse", random_state=1).fit(*loans)
    for limit in ("MAX_HEADER", "MAX_WEIGHTS", "MAX_CELLS", "MAX_NOISE", "_MAX_MECHANISMS"):
        with monkeypatch.context() as patch:
            patch.setattr(model_limits, limit, 1)
            with pytest.raises(InputError):
                save_model(model, tmp_path / "m.dpfair")
    assert not list(tmp_path.iterdir())
    save_model(model, tmp_path / "m.dpfair")


def test_a_missing_model_is_one_sentence(tmp_path):
    with pytest.raises(ModelFileError, match=r"^There is no model file .*\.$"):
        load_model(tmp_path / "none")
