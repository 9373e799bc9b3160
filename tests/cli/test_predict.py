"""``dpfair predict`` encodes and scores every record once."""

from __future__ import annotations

import json

import polars as pl
import pytest
from sample_tables import LOANS, make_loans

from dpfair import (
    LogisticLearner,
    PrivateFairClassifier,
    PrivateLogisticRegression,
    Schema,
    cli,
    save_model,
)
from dpfair.learners import LEARNERS
from dpfair.methods import METHODS

SEEN: list[str] = []


class CountingScorer:
    """A scorer that notes every call."""

    def __init__(self, own):
        self.own = own

    def scores(self, records):
        SEEN.append(f"score {len(records)}")
        return self.own.scores(records)

    def tensors(self):
        return self.own.tensors()


class CountingLearner(LogisticLearner):
    """A learner with such a scorer."""

    def train(self, *how):
        return CountingScorer(super().train(*how))

    def restore(self, schema, tensors):
        return CountingScorer(super().restore(schema, tensors))


class CountingClassifier(PrivateFairClassifier):
    """A method that notes every table that it encodes."""

    def new_records(self, X, *how, **more):
        records = super().new_records(X, *how, **more)
        SEEN.append(f"encode {len(records)}")
        return records


@pytest.fixture
def counting():
    """The two, under names of their own in the tables."""
    METHODS["counting"], LEARNERS["counting"] = CountingClassifier, CountingLearner
    yield
    del METHODS["counting"], LEARNERS["counting"]


def test_predict_encodes_and_scores_once(counting, capsys, tmp_path):
    X, y = make_loans(300)
    X.with_columns(repaid=pl.Series(y)).write_csv(tmp_path / "loans.csv")
    (tmp_path / "loans.json").write_text(json.dumps(LOANS))
    data, out = str(tmp_path / "loans.csv"), str(tmp_path / "m.dpfair")
    fit = ["fit", data, "--schema", str(tmp_path / "loans.json"), "--epsilon", "2", "--out", out]
    assert cli.run([*fit, "--method", "counting", "--learner", "counting"]) == 0
    SEEN.clear()
    capsys.readouterr()
    assert cli.run(["predict", out, data]) == 0
    decisions = pl.read_csv(capsys.readouterr().out.encode())
    assert decisions.height == 300
    assert SEEN == ["encode 300", "score 300"]


def test_scores_of_a_method_without_a_lottery_are_called_scores(tmp_path, capsys):
    X, y = make_loans(300)
    X.write_csv(tmp_path / "loans.csv")
    schema = Schema.from_dict(LOANS)
    models = {
        "score": PrivateLogisticRegression(2, schema=schema, steps=20),
        "acceptance_probability": PrivateFairClassifier(2, schema=schema, mode="reuse"),
    }
    for column, model in models.items():
        save_model(model.fit(X, y), tmp_path / "m")
        assert cli.run(["predict", str(tmp_path / "m"), str(tmp_path / "loans.csv")]) == 0
        out, err = capsys.readouterr()
        table = pl.read_csv(out.encode())
        assert table.columns == ["decision", column]
        assert ("without a lottery" in err) == (column == "score")
        if column == "score":
            assert table["decision"].eq("yes").equals(table["score"] > 0.5)
