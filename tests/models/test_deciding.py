"""What a file says about decisions decides like the whole model."""

from __future__ import annotations

import numpy as np
import pytest
from sample_models import KINDS, WITH_CLASSIFIER, fitted, header_of, rewritten, table_of

from dpfair import save_model
from dpfair.errors import ModelFileError
from dpfair.models.deciding import read_decider
from dpfair.models.file import model_bytes

OWN = [kind for kind in KINDS if kind not in WITH_CLASSIFIER and "trained in fit" not in kind]


@pytest.mark.parametrize("kind", OWN)
def test_it_decides_like_the_model(kind, tmp_path):
    model, X = fitted(kind), table_of(kind)
    decider = read_decider(save_model(model, tmp_path / "m.dpfair"))
    decisions, chances = decider.decide_records(decider.records_of(X))
    expected = model.decide_all(X)
    np.testing.assert_array_equal(chances, expected[1])
    if kind != "replaced":  # whose coins are fresh
        np.testing.assert_array_equal(decider.classes_[decisions], expected[0])
    assert decider.needs_groups == model.needs_groups
    assert decider.unit == model.unit_name


@pytest.mark.parametrize("kind", WITH_CLASSIFIER)
def test_somebody_elses_classifier_is_not_in_a_file(kind, tmp_path):
    assert read_decider(save_model(fitted(kind), tmp_path / "m.dpfair")) is None


def changed(change, kind="placed"):
    return rewritten(model_bytes(fitted(kind)), change)


@pytest.mark.parametrize(
    ("entry", "value"),
    [
        ("scorer", {"kind": "linear", "features": "standardised", "blind": False}),
        ("scorer", {"kind": "forest", "features": "binned", "blind": False}),
        ("scorer", {"kind": "linear", "features": "words", "blind": False}),
        ("scorer", {"kind": "linear", "features": "binned", "blind": 1}),
        ("scorer", {"kind": ["linear"], "features": "binned", "blind": False}),
        ("scorer", []),
        ("coin_key", "00"),
        ("coin_key", ""),
        ("rule", None),
        ("rule", {"accept": [[0.0, 1.0]], "cuts": [[0.5]]}),
        ("rule", {"accept": [[0.0, 2.0]] * 2, "cuts": [[0.5]] * 2}),
        ("classes", {"kind": "text", "values": ["yes", "no"]}),
        ("settings", {"rule": {"coins": "loaded"}}),
        ("settings", {"rule": []}),
        ("settings", {"unit": {}}),
    ],
)
def test_a_malformed_file_is_refused(entry, value, tmp_path):
    def change(header):
        header[entry] = value

    path = tmp_path / "m.dpfair"
    path.write_bytes(changed(change))
    with pytest.raises(ModelFileError, match="not a valid dpfair model"):
        read_decider(path)


def test_the_scorer_that_a_file_states_follows_from_its_settings(tmp_path):
    from dpfair import load_model

    def change(header):
        assert header["scorer"] == {"kind": "linear", "features": "binned", "blind": False}
        header["scorer"] = None

    path = tmp_path / "m.dpfair"
    path.write_bytes(changed(change))
    with pytest.raises(ModelFileError, match="not written as dpfair writes them"):
        load_model(path)


def test_a_scorer_that_does_not_see_the_group_says_so():
    assert header_of(model_bytes(fitted("penalty")))["scorer"]["blind"]
