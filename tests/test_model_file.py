"""Model files: a faithful round trip, and no way in for a hostile one."""

from __future__ import annotations

import io
import json
import pickle
import struct
import time
import zipfile

import numpy as np
import pytest
from safetensors.numpy import load, save

from dpfair import InputError, PrivateFairClassifier, load_model, save_model
from dpfair.errors import ModelFileError


@pytest.fixture(scope="module")
def model(loans, loan_schema):
    return PrivateFairClassifier(2, schema=loan_schema, random_state=1).fit(*loans)


@pytest.fixture(scope="module")
def content(model, tmp_path_factory):
    return save_model(model, tmp_path_factory.mktemp("model") / "m.dpfair").read_bytes()


def test_round_trip_keeps_decisions_certificate_and_ledger(model, loans, tmp_path):
    X, _ = loans
    loaded = load_model(save_model(model, tmp_path / "m.dpfair"))
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert loaded.certificate_ == model.certificate_
    assert loaded.ledger_.entries == model.ledger_.entries
    assert loaded.schema_ == model.schema_
    assert not loaded.certificate_.privacy.private


def test_a_loaded_model_finds_its_columns_by_name(model, loans, tmp_path):
    X, _ = loans
    loaded = load_model(save_model(model, tmp_path / "m.dpfair"))
    shuffled = X.select("sex", "job", "income", "age").with_columns(extra=1)
    np.testing.assert_array_equal(loaded.predict(shuffled), model.predict(X))


@pytest.mark.parametrize("kind", [np.int64, np.float64, bool, object])
def test_classes_keep_their_type(kind, loans, loan_schema, tmp_path):
    X, y = loans
    labels = (y == "yes").astype(kind)
    schema = type(loan_schema).from_dict(
        loan_schema.to_dict()
        | {
            "label": {
                "name": "ok",
                "values": [
                    str(v) for v in (("False", "True") if kind in (bool, object) else ("0", "1"))
                ],
            }
        }
    )
    fitted = PrivateFairClassifier(2, schema=schema, random_state=1).fit(X, labels)
    loaded = load_model(save_model(fitted, tmp_path / "m.dpfair"))
    assert loaded.score(X, labels) == fitted.score(X, labels) > 0.6


def test_the_same_seed_writes_the_same_bytes(loans, loan_schema, content, tmp_path):
    again = PrivateFairClassifier(2, schema=loan_schema, random_state=1).fit(*loans)
    assert save_model(again, tmp_path / "again.dpfair").read_bytes() == content


def test_only_fitted_private_fair_classifiers_are_saved(tmp_path):
    with pytest.raises(InputError):
        save_model("a string", tmp_path / "x")


def rewritten(content, change_header=None, change_tensors=None, metadata=None):
    length = struct.unpack("<Q", content[:8])[0]
    outer = json.loads(content[8 : 8 + length])["__metadata__"]
    header = json.loads(outer["dpfair-model"])
    tensors = load(content)
    if change_header:
        change_header(header)
    if change_tensors:
        change_tensors(tensors)
    return save(tensors, metadata=metadata or {"dpfair-model": json.dumps(header)})


def header_with(text):
    return lambda content: save(load(content), metadata={"dpfair-model": text})


class Boom:
    def __reduce__(self):
        return (exec, ("raise SystemExit('code ran')",))


def zip_bomb(_):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model", b"0" * 10_000_000)
    return buffer.getvalue()


def set_in(path, value):
    def change(header):
        place = header
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value

    return lambda content: rewritten(content, change)


def tensor(name, value):
    return lambda content: rewritten(content, None, lambda t: t.update({name: value}))


HOSTILE = {
    "empty": lambda c: b"",
    "text": lambda c: b"hello" * 100,
    "pickle": lambda c: pickle.dumps(Boom()),
    "zip bomb": zip_bomb,
    "truncated": lambda c: c[: len(c) // 2],
    "one byte short": lambda c: c[:-1],
    "huge header": lambda c: struct.pack("<Q", 1 << 60) + c[8:],
    "no metadata": lambda c: save(load(c)),
    "other format": lambda c: rewritten(c, metadata={"other": "{}"}),
    "version from the future": set_in(["version"], 999),
    "header is a list": header_with("[]"),
    "header is not json": header_with("{"),
    "deep nesting": header_with("[" * 100_000),
    "nan in json": header_with('{"schema": NaN}'),
    "duplicate keys": header_with('{"schema": 1, "schema": 2}'),
    "nan weights": tensor("weights", np.full(29, np.nan)),
    "wrong dtype": tensor("weights", np.zeros(29, dtype=np.float32)),
    "wrong shape": tensor("weights", np.zeros(3)),
    "two dimensions": tensor("weights", np.zeros((3, 3))),
    "extra tensor": tensor("spare", np.zeros(1)),
    "rule above one": tensor("rule", np.full((2, 2), 1.5)),
    "rule of three groups": tensor("rule", np.zeros((3, 2))),
    "missing tensor": lambda c: rewritten(c, None, lambda t: t.pop("rule")),
    "unknown event": set_in(["ledger", "entries", 0, "event"], {"kind": "os.system"}),
    "cheaper event": set_in(
        ["ledger", "entries", 0, "event"], {"kind": "Gaussian", "noise_multiplier": 1e6}
    ),
    "negative noise": set_in(["release", "noise"], [-1, -1]),
    "better gap": set_in(["certificate", "fairness", "gap_bound"], 0.0001),
    "claims privacy": set_in(["certificate", "privacy", "private"], True),
    "smaller epsilon": set_in(["certificate", "privacy", "epsilon"], 0.1),
    "release of other groups": set_in(["release", "groups"], ["a", "b"]),
    "huge count": set_in(["release", "counts"], [[10**400, 1], [1, 1]]),
    "text count": set_in(["release", "counts"], [["x", 1], [1, 1]]),
    "no release": set_in(["release"], None),
    "short key": set_in(["coin_key"], "00"),
    "bad key": set_in(["coin_key"], "zz"),
    "schema without label": set_in(["schema", "label"], {}),
    "schema with traversal": set_in(["schema", "columns"], "../../etc/passwd"),
    "three classes": set_in(["classes", "values"], ["a", "b", "c"]),
    "class kind": set_in(["classes", "kind"], "eval"),
    "features": set_in(["features"], "__import__"),
    "budget": set_in(["ledger", "epsilon"], "1/0"),
    "budget nan": set_in(["ledger", "epsilon"], "nan"),
    "coins": set_in(["coins"], "loaded"),
    "confidence": set_in(["confidence"], 7),
}


@pytest.mark.parametrize("attack", HOSTILE)
def test_hostile_files_are_refused_at_once(attack, content, tmp_path):
    path = tmp_path / "hostile.dpfair"
    path.write_bytes(HOSTILE[attack](content))
    start = time.perf_counter()
    with pytest.raises(ModelFileError) as error:
        load_model(path)
    assert time.perf_counter() - start < 1
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 400


def test_a_missing_file_or_a_directory_is_one_sentence(tmp_path):
    for path in (tmp_path, tmp_path / "none"):
        with pytest.raises(ModelFileError, match="There is no model file"):
            load_model(path)
