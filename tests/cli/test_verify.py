"""The verdict of ``dpfair verify``: is the file consistent, and is the model private?"""

from __future__ import annotations

import json

import pytest
from sample_models import fitted, put, rewritten
from sample_tables import LOANS, make_loans

from dpfair import PrivateLogisticRegression, Schema, cli, save_model


def verdict(capsys, path):
    """The exit code, the marks of the checks, the last line and the JSON output."""
    code = cli.run(["verify", str(path)])
    *lines, _, last = capsys.readouterr().out.splitlines()
    assert cli.run(["verify", str(path), "--json"]) == code
    marks = {line[8:20].strip(): line[:7].strip() for line in lines}
    return code, marks, last, json.loads(capsys.readouterr().out)


def test_a_private_model_is_verified(capsys, tmp_path):
    model = PrivateLogisticRegression(2, schema=Schema.from_dict(LOANS), steps=20)
    path = save_model(model.fit(*make_loans(500)), tmp_path / "m")
    code, marks, last, found = verdict(capsys, path)
    assert (code, found["verified"], found["consistent"]) == (0, True, True)
    assert set(marks.values()) == {"ok", "-"}
    assert last.startswith("Verified: the certificate follows from")


@pytest.mark.parametrize("kind", ["corrected", "algorithm 1", "published penalty"])
def test_a_consistent_model_that_is_not_private_is_called_that(kind, capsys, tmp_path):
    path = save_model(fitted(kind), tmp_path / "m")
    code, marks, last, found = verdict(capsys, path)
    assert (code, found["verified"], found["consistent"]) == (1, False, True)
    assert marks["privacy"] == "NO"
    assert "FAILED" not in marks.values()
    assert last == "The file is consistent, and it says itself that the model is NOT PRIVATE."


def test_a_contradiction_is_no_question_of_privacy(capsys, tmp_path):
    path = save_model(fitted("corrected"), tmp_path / "m")
    path.write_bytes(rewritten(path.read_bytes(), put("plan", "epsilon", value="1/2")))
    code, marks, last, found = verdict(capsys, path)
    assert (code, found["verified"], found["consistent"]) == (1, False, False)
    assert marks["model"] == "FAILED"
    assert last == "NOT VERIFIED: see what FAILED."
