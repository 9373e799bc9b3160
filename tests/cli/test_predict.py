"""``dpfair predict`` encodes and scores every record once."""

from __future__ import annotations

import json
import subprocess
import sys

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

    def records_of(self, X, *how):
        records = super().records_of(X, *how)
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
        assert table.columns == ["decision", "accepted", column]
        assert ("without a lottery" in err) == (column == "score")
        if column == "score":
            assert table["decision"].eq("yes").equals(table["score"] > 0.5)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model with a rule, one without, and a table in which some groups are unknown."""
    path = tmp_path_factory.mktemp("predict")
    X, y = make_loans(300)
    frame = X.with_columns(repaid=pl.Series(y), number=pl.Series([f"{i:04}" for i in range(300)]))
    frame.write_csv(path / "loans.csv")
    sex = frame["sex"].to_list()
    sex[1], sex[4], sex[7] = None, "martian", " "
    frame.with_columns(sex=pl.Series(sex)).write_csv(path / "strange.csv")
    (path / "loans.json").write_text(json.dumps(LOANS))
    fit = ["fit", str(path / "loans.csv"), "--schema", str(path / "loans.json"), "--epsilon", "2"]
    for name, method in (("fair", "fair"), ("plain", "logistic")):
        out = ["--method", method, "--out", str(path / f"{name}.dpfair")]
        assert cli.run([*fit, *out, "--seed", "1"]) == 0
    return path


def typed(capsys, *arguments):
    capsys.readouterr()
    code = cli.run([str(a) for a in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_the_id_is_the_first_column_as_it_was(folder, capsys):
    ask = ("predict", folder / "fair.dpfair", folder / "loans.csv", "--id", "number")
    code, out, err = typed(capsys, *ask)
    assert (code, err) == (0, "dpfair: accepted means repaid = yes.\n")
    assert out.splitlines()[0] == "number,decision,accepted,acceptance_probability"
    assert out.splitlines()[8].startswith("0007,")
    assert json.loads(typed(capsys, *ask, "--json")[1])["number"][7] == "0007"


@pytest.mark.parametrize("batch", [[], ["--batch"]])
def test_a_record_without_a_group_has_no_decision_but_a_reason(batch, folder, capsys):
    model, table = folder / "fair.dpfair", folder / "strange.csv"
    code, out, err = typed(capsys, "predict", model, table, *batch)
    assert code == 0
    rows = pl.read_csv(out.encode())
    assert rows.height == 300
    assert rows.columns[-1] == "reason"
    assert (rows["decision"].is_null() == rows["reason"].is_not_null()).all()
    assert rows["decision"].is_null().arg_true().to_list() == [1, 4, 7]
    assert rows["reason"][1] == rows["reason"][7] == "the group is blank"
    assert rows["reason"][4] == "the group is not declared"
    assert "3 of 300 records have no decision (rows 2, 5, 8)" in err
    assert "2 are blank and 1 are not declared, such as 'martian'" in err


def test_the_other_records_are_decided_as_if_nothing_were_strange(folder, capsys):
    model = folder / "fair.dpfair"
    strange, plain = (
        pl.read_csv(typed(capsys, "predict", model, folder / name)[1].encode())
        for name in ("strange.csv", "loans.csv")
    )
    kept = [i for i in range(300) if i not in (1, 4, 7)]
    assert strange[kept].drop("reason").equals(plain[kept])
    assert "reason" not in plain.columns


def test_strict_refuses_the_table_and_counts_blanks_and_others(folder, capsys, tmp_path):
    ask = ("predict", folder / "fair.dpfair", folder / "strange.csv", "--strict")
    code, out, err = typed(capsys, *ask, "--out", tmp_path / "d.csv")
    assert (code, out) == (2, "")
    assert "3 of 300 records have a group that the schema does not declare" in err
    assert "2 are blank and 1 have another value" in err
    assert not (tmp_path / "d.csv").exists()


def test_a_method_without_a_rule_decides_about_every_group(folder, capsys):
    model = folder / "plain.dpfair"
    code, out, err = typed(capsys, "predict", model, folder / "strange.csv", "--strict")
    assert (code, "records have" in err) == (0, False)
    rows = pl.read_csv(out.encode())
    assert rows.columns == ["decision", "accepted", "score"]
    assert rows["decision"].null_count() == 0


def test_a_table_of_unknown_groups_alone_has_no_decisions(folder, capsys, tmp_path):
    rows = pl.read_csv(folder / "loans.csv").with_columns(sex=pl.lit("x"))[:5]
    rows.write_csv(tmp_path / "none.csv")
    code, out, _ = typed(capsys, "predict", folder / "fair.dpfair", tmp_path / "none.csv")
    assert code == 0
    assert pl.read_csv(out.encode())["decision"].null_count() == 5


READERS = {"csv": pl.read_csv, "parquet": pl.read_parquet, "jsonl": pl.read_ndjson}


@pytest.mark.parametrize("form", READERS)
def test_the_format_follows_the_name_of_the_file(form, folder, capsys, tmp_path):
    ask = ("predict", folder / "fair.dpfair", folder / "strange.csv")
    expected = pl.read_csv(typed(capsys, *ask)[1].encode(), schema_overrides={"reason": pl.String})
    for out, more in ((f"d.{form}", ()), ("d.dat", ("--format", form))):
        code, _, err = typed(capsys, *ask, "--out", tmp_path / out, *more)
        assert code == 0
        assert "297 decisions written" in err
        found = READERS[form](tmp_path / out)
        assert found.columns == expected.columns
        assert found["decision"].to_list() == expected["decision"].to_list()


def test_lines_of_json_can_be_printed(folder, capsys):
    ask = ("predict", folder / "fair.dpfair", folder / "loans.csv", "--format", "jsonl")
    lines = typed(capsys, *ask)[1].splitlines()
    assert len(lines) == 300
    assert set(json.loads(lines[0])) == {"decision", "accepted", "acceptance_probability"}


def test_a_decision_says_whether_it_means_accepted(folder, capsys):
    out = typed(capsys, "predict", folder / "fair.dpfair", folder / "strange.csv")[1]
    rows = pl.read_csv(out.encode())
    assert rows["accepted"].equals(rows["decision"] == "yes", null_equal=True)


UNREAD = {
    "other decimals": ("income", "1,5", "are no number", ": the schema declares the decimal"),
    "other words": ("job", "Clerk", "are no category of the model", ": it has 'clerk'"),
    "no words": ("job", "n/a", "are missing", ""),
    "no numbers": ("age", "", "are missing", ""),
}


@pytest.mark.parametrize("name", UNREAD)
def test_a_column_that_cannot_be_read_is_told_and_refused_when_strict(name, folder, capsys):
    column, value, text, more = UNREAD[name]
    table = pl.read_csv(folder / "loans.csv", infer_schema=False)
    rows = pl.int_range(table.height)
    cells = pl.when(rows < 150).then(pl.lit(value)).otherwise(pl.col(column)).alias(column)
    table.with_columns(cells).write_csv(folder / "unread.csv")
    for command in ("predict", "evaluate"):
        ask = (command, folder / "fair.dpfair", folder / "unread.csv")
        code, _, err = typed(capsys, *ask)
        assert code == 0
        # Only the warning to whoever predicts quotes a value.
        such = f", such as {value!r}" if command == "predict" and more else ""
        assert f"warning: 50% of the values of {column!r} {text}{such}{more}" in err
        code, out, err = typed(capsys, *ask, "--strict")
        assert (code, out) == (2, "")
        assert f"50% of the values of {column!r} {text}{more}" in err
        private = typed(capsys, "evaluate", *ask[1:], "--private-epsilon", "1")[2]
        assert column not in private


def test_a_few_blanks_are_nothing_to_talk_about(folder, capsys):
    table = pl.read_csv(folder / "loans.csv", infer_schema=False)
    first = pl.int_range(table.height)
    cells = [pl.when(first >= 149).then(pl.col(c)).alias(c) for c in ("age", "job")]
    table.with_columns(cells).write_csv(folder / "few.csv")
    table.with_columns(age=pl.lit(None))[:5].write_csv(folder / "short.csv")
    for name in ("few.csv", "short.csv"):
        assert "warning" not in typed(capsys, "predict", folder / "fair.dpfair", folder / name)[2]


def test_whole_numbers_stay_numbers_as_ids(folder, capsys, tmp_path):
    table = pl.read_csv(folder / "loans.csv").with_columns(id=pl.int_range(300))
    table.write_csv(tmp_path / "t.csv")
    table.write_parquet(tmp_path / "t.parquet")
    for name in ("t.csv", "t.parquet"):
        ask = ("predict", folder / "fair.dpfair", tmp_path / name, "--id", "id")
        assert json.loads(typed(capsys, *ask, "--format", "jsonl")[1].splitlines()[7])["id"] == 7
        typed(capsys, *ask, "--out", tmp_path / "d.parquet")
        assert pl.read_parquet(tmp_path / "d.parquet")["id"].dtype == pl.Int64


def test_to_decide_imports_neither_scipy_nor_an_accountant(folder, tmp_path):
    heavy = ("scipy", "sklearn", "pandas", "dp_accounting", "joblib")
    words = ["predict", str(folder / "fair.dpfair"), str(folder / "loans.csv")]
    words += ["--out", str(tmp_path / "d.csv")]
    code = (
        f"import sys; from dpfair import cli; assert cli.run({words}) == 0;"
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"
