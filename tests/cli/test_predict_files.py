"""``dpfair predict`` and ``evaluate`` look at some rows at a time, which makes no difference."""

from __future__ import annotations

import datetime as dt
import json
import os
from contextlib import contextmanager

import polars as pl
import pytest
from cli.commands import refused, run, run_json
from sample_tables import LOANS, make_loans

from dpfair import Schema, cli, load_model, save_model
from dpfair.cli import decisions, tables
from dpfair.cli.deciding import Decisions, in_background
from dpfair.cli.decisions import write_decisions
from dpfair.data import read, table_files
from dpfair.evaluation import evaluate

ROWS = 300


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two models, and a table with all that is strange: as files, and as a directory of files."""
    path = tmp_path_factory.mktemp("predict")
    X, y = make_loans(ROWS)
    frame = X.with_columns(repaid=pl.Series(y), number=pl.int_range(ROWS, eager=True))
    frame.write_csv(path / "loans.csv")
    (path / "loans.json").write_text(json.dumps(LOANS))
    fit = ["fit", str(path / "loans.csv"), "--schema", str(path / "loans.json"), "--epsilon", "2"]
    for name, method in (("fair", "fair"), ("plain", "logistic")):
        out = ["--method", method, "--out", str(path / f"{name}.dpfair")]
        assert cli.run([*fit, *out, "--seed", "1"]) == 0
    number = pl.col("number")
    strange = frame.with_columns(
        # Only some pieces have each of these; one identifier in the middle is no number.
        sex=pl.when(number.is_in([120, 290])).then(pl.lit(" ")).otherwise("sex"),
        income=pl.when(number >= 130).then(pl.lit("?!")).otherwise(pl.col("income").cast(str)),
        age=pl.when(number < 160).then(None).otherwise("age"),
        repaid=pl.when(number == 7).then(pl.lit("perhaps")).otherwise("repaid"),
        code=pl.when(number == 250).then(pl.lit("0x")).otherwise(number.cast(str)),
        digits=number.cast(str),
    ).with_columns(sex=pl.when(number.is_between(200, 207)).then(pl.lit("x")).otherwise("sex"))
    strange.write_csv(path / "strange.csv")
    strange.write_parquet(path / "strange.parquet")
    strange.write_ipc(path / "strange.arrow")
    (path / "parts").mkdir()
    for i in range(0, ROWS, 70):
        strange[i : i + 70].write_csv(path / "parts" / f"{i:03}.csv")
    return path


@pytest.fixture
def small(monkeypatch):
    """Makes pieces small; the number of pieces of each look is noted."""
    looks, look = [], Decisions.look

    def noted(self, frame):
        looks.append(frame.height)
        return look(self, frame)

    def make():
        monkeypatch.setattr(tables, "PIECE", 32 * 6 * 40)
        monkeypatch.setattr(read, "_FEWEST_ROWS", 1)
        monkeypatch.setattr(table_files, "_FEWEST_BYTES", 1)
        return looks

    monkeypatch.setattr(Decisions, "look", noted)
    return make


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("model", ["fair", "plain"])
def test_the_output_does_not_depend_on_pieces(form, model, folder, small, tmp_path, capsys):
    outputs, said = set(), set()
    out, looks = tmp_path / f"out.{form}", []
    for data in ("strange.csv", None, "strange.csv", "strange.parquet", "strange.arrow", "parts"):
        if data is None:
            looks = small()
            looks.clear()
            continue
        ask = ("predict", folder / f"{model}.dpfair", folder / data, "--out", out)
        for identity in ([], ["--id", "code"], ["--id", "digits"]):
            code, printed, err = run(capsys, *ask, *identity)
            assert (code, printed) == (0, "")
            outputs.add((*identity, out.read_bytes()))
            said.add(err)
    assert len(outputs) == 3
    assert len(said) == 1
    assert len(looks) > 3 * 4 * 4
    assert max(looks) < ROWS / 2
    [text] = said
    for found in ("57% of the values of 'income' are no number, such as '?!'", "53% of the values"):
        assert found in text
    if model == "fair":
        assert "10 of 300 records have no decision (rows 121, 201, 202, 203, 204, ...)" in text
        assert "2 are blank and 8 are not declared, such as 'x'" in text


def test_a_parquet_file_does_not_depend_on_pieces(tmp_path, monkeypatch):
    rows = pl.int_range(600_000, eager=True)
    frame = pl.DataFrame({"decision": (rows % 7 > 3).cast(str), "score": rows.sqrt()})
    for i in range(3):  # a piece is a file, as in Decisions
        frame[200_000 * i : 200_000 * (i + 1)].write_ipc(tmp_path / f"{i}.arrow")
    pieces = [pl.scan_ipc(tmp_path / f"{i}.arrow") for i in range(3)]
    out = tmp_path / "out.parquet"
    write_decisions(pieces, len(rows), out, "parquet")
    frame.write_parquet(tmp_path / "whole.parquet")
    assert out.read_bytes() == (tmp_path / "whole.parquet").read_bytes()
    monkeypatch.setattr(decisions, "_WHOLE", 0)
    write_decisions(pieces, len(rows), out, "parquet")
    assert pl.read_parquet(out).equals(frame)


def test_printed_decisions_have_one_header(folder, small, capsys):
    ask = ("predict", folder / "fair.dpfair", folder / "strange.csv")
    whole = [run(capsys, *ask, *more)[1] for more in ([], ["--format", "jsonl"], ["--json"])]
    small()
    pieces = [run(capsys, *ask, *more)[1] for more in ([], ["--format", "jsonl"], ["--json"])]
    assert pieces == whole
    assert whole[0].count("decision") == 1


def test_strict_refuses_before_anything_is_written(folder, small, tmp_path, capsys):
    small()
    out = tmp_path / "out.csv"
    out.write_text("of yesterday")
    ask = ("predict", folder / "fair.dpfair", folder / "strange.csv", "--out", out, "--strict")
    assert "10 of 300 records have a group" in refused(capsys, *ask)
    ask = ("predict", folder / "plain.dpfair", folder / "strange.csv", "--out", out, "--strict")
    said = refused(capsys, *ask)
    assert "'income' are no number: the schema" in said
    assert "?!" not in said
    assert out.read_text() == "of yesterday"
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]


@pytest.mark.parametrize("data", ["{}", "{}/*.csv"])
def test_decisions_are_not_put_among_the_records(data, folder, tmp_path, capsys):
    parts = tmp_path / "parts"
    parts.mkdir()
    (parts / "1.csv").write_bytes((folder / "loans.csv").read_bytes())
    ask = ("predict", folder / "fair.dpfair", data.format(parts), "--out")
    assert "would be one of the files of" in refused(capsys, *ask, parts / "decisions.csv")
    assert run(capsys, *ask, parts / "decisions.jsonl")[0] == 0
    assert run(capsys, *ask, tmp_path / "decisions.csv")[0] == 0


def test_a_batch_needs_one_file(folder, small, capsys):
    ask = ("predict", folder / "fair.dpfair")
    said = refused(capsys, *ask, folder / "parts", "--batch")
    assert said == "dpfair: --batch decides all records together, in memory: give one file.\n"
    whole = run(capsys, *ask, folder / "loans.csv", "--batch")
    small()
    assert run(capsys, *ask, folder / "loans.csv", "--batch") == whole
    assert whole[0] == 0


def test_a_file_that_is_spoilt_in_the_middle_leaves_the_old_output(folder, tmp_path, capsys):
    parts, out = tmp_path / "parts", tmp_path / "out.csv"
    parts.mkdir()
    for file in (folder / "parts").iterdir():
        (parts / file.name).write_bytes(file.read_bytes())
    pl.DataFrame({"age": [1]}).write_ipc(parts / "100.arrow")  # noticed when it is read
    out.write_text("of yesterday")
    ask = ("predict", folder / "fair.dpfair", parts, "--out", out)
    assert f"{parts / '100.arrow'} has no column" in refused(capsys, *ask)
    assert out.read_text() == "of yesterday"


def test_an_id_must_be_plain_and_no_column_of_the_output(folder, tmp_path, capsys):
    frame = pl.read_csv(folder / "loans.csv").with_columns(
        score=1, some=[[1]] * ROWS, time=pl.duration(days=1)
    )
    frame.write_parquet(tmp_path / "t.parquet")
    ask = ("predict", folder / "fair.dpfair", tmp_path / "t.parquet", "--id")
    assert "column of the output" in refused(capsys, *ask, "score")
    for name in ("some", "time"):
        assert "column of plain values" in refused(capsys, *ask, name)
    assert "did you mean 'number'?" in refused(capsys, *ask, "numbr")


LARGE = 2**53 + 1
DAY = dt.datetime(2020, 2, 29)


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize(
    ("first", "second", "written"),
    [
        (pl.lit(LARGE), pl.lit(0.5), [str(LARGE), "0.5"]),
        (pl.lit(0.5), pl.lit(LARGE), ["0.5", str(LARGE)]),
        (pl.lit(LARGE), pl.lit(2**63, pl.UInt64), [str(LARGE), str(2**63)]),
        (pl.lit(1), pl.lit(DAY.date()), ["1", "2020-02-29"]),
        (pl.lit(True), pl.lit(1), ["true", "1"]),
        (
            pl.lit(DAY),
            pl.lit(DAY).dt.replace_time_zone("UTC"),
            ["2020-02-29 00:", "2020-02-29 00:"],
        ),
        (pl.lit(1, pl.Int32), pl.lit(LARGE), [1, LARGE]),
        (pl.lit(1), pl.lit("7"), [1, 7]),
        (pl.lit(1), pl.lit("07"), ["1", "07"]),
        (pl.lit(None), pl.lit(LARGE), [None, LARGE]),
        (pl.lit(None), pl.lit(None), [None, None]),
        (pl.lit("a"), pl.lit("b", pl.Categorical), ["a", "b"]),
    ],
)
def test_ids_of_files_of_several_types_stay_themselves(
    form, first, second, written, folder, tmp_path, capsys
):
    frame = pl.read_csv(folder / "loans.csv").head(2)
    for name, who in (("1", first), ("2", second)):
        frame.with_columns(who=who).write_parquet(tmp_path / f"{name}.parquet")
    out = tmp_path / "out" / f"t.{form}"
    out.parent.mkdir()
    ask = ("predict", folder / "fair.dpfair", tmp_path, "--id", "who")
    assert run(capsys, *ask, "--out", out)[0] == 0
    how = {"infer_schema": False} if form == "csv" else {}
    read = {"csv": pl.read_csv, "jsonl": pl.read_ndjson, "parquet": pl.read_parquet}[form]
    found = read(out, **how)["who"].to_list()
    if form == "csv":
        written = [None if one is None else str(one) for one in written]
    for one, wanted in zip(found[::2], written, strict=True):
        assert one == wanted or one.startswith(wanted)
    assert run_json(capsys, *ask)["who"] == found or form == "csv"


def test_no_temporary_file_outlives_the_command(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert run(capsys, "predict", folder / "fair.dpfair", folder / "strange.csv")[0] == 0
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such limit")
@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_a_file_that_cannot_grow_is_no_error_of_dpfair(form, folder, tmp_path, capsys):
    import resource

    out = tmp_path / f"out.{form}"
    ask = ("predict", folder / "fair.dpfair", folder / "loans.csv", "--out", out)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)

    def limited(most):
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))
        try:
            return refused(capsys, *ask)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)

    assert "set TMPDIR to a folder with more room" in limited(1000)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decisions, "writing", in_little_room(decisions.writing, before))
        assert "out." in (said := limited(before[0]))
    assert f"{out} cannot be written: " in said
    assert not list(tmp_path.iterdir())


def in_little_room(writing, before):
    """Writes to a file that cannot grow."""
    import resource

    @contextmanager
    def limited(path):
        with writing(path) as draft:
            resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
            yield draft

    return limited


def test_evaluation_does_not_depend_on_pieces(folder, small, tmp_path, capsys):
    model = load_model(folder / "fair.dpfair").with_rule(notion="equalized_odds")
    ask = ("evaluate", save_model(model, tmp_path / "odds.dpfair"))
    whole = run(capsys, *ask, folder / "strange.csv", "--json")
    small()
    for data in ("strange.csv", "strange.parquet", "parts"):
        assert run(capsys, *ask, folder / data, "--json") == whole
    frame = pl.read_csv(folder / "strange.csv", infer_schema=False)
    found = json.loads(whole[1])
    assert found == evaluate(model, frame, frame["repaid"])
    assert found["left_out"] == {"group": 10, "label": 1}
    assert "'income' are no number" in whole[2]
    said = refused(capsys, *ask, folder / "parts", "--strict")
    assert "57% of the values of 'income'" in said
    loans = pl.read_csv(folder / "loans.csv").drop("sex", "repaid")
    loans.hstack(frame.select("sex", "repaid")).write_csv(tmp_path / "loans.csv")
    said = refused(capsys, *ask, tmp_path / "loans.csv", "--strict")
    assert "Of 300 records, 10 have a group and 1 have a label" in said


@pytest.mark.parametrize("notion", ["equal_opportunity", "accuracy_parity"])
def test_numbers_of_an_evaluation_are_those_of_the_decisions(notion, folder):
    model = load_model(folder / "fair.dpfair").with_rule(notion=notion)
    frame = pl.read_csv(folder / "loans.csv")
    found = evaluate(model, frame, frame["repaid"])
    frame = frame.with_columns(decided=pl.Series(model.predict(frame)))
    right, accepted = pl.col("decided") == pl.col("repaid"), pl.col("decided") == "yes"
    assert found["accuracy"] == frame.select(right.mean()).item()
    rates = dict(frame.group_by("sex").agg(accepted.mean()).iter_rows())
    assert found["group_rates"] == rates
    assert found["gap"] == max(rates.values()) - min(rates.values())
    if notion == "equal_opportunity":
        frame, right = frame.filter(pl.col("repaid") == "yes"), accepted
    values = frame.group_by("sex").agg(right.mean().alias("value"))["value"]
    assert found["notion_gap"] == values.max() - values.min()


def test_a_shipped_data_set_is_predicted(tmp_path, capsys):
    fit = ("fit", "adult", "--epsilon", "1", "--method", "logistic", "--set", "steps=5")
    assert run(capsys, *fit, "--out", tmp_path / "m")[0] == 0
    found = run_json(capsys, "predict", tmp_path / "m", "adult", "--id", "age")
    assert found["n"] == len(found["age"]) == len(found["decision"])


def test_background_work_is_in_order_and_its_errors_arrive():
    seen = []
    in_background(seen.append, range(20))
    assert seen == [*range(20)]

    def fail(item):
        raise ValueError(item)

    with pytest.raises(ValueError, match=r"^0$"):
        in_background(fail, range(20))


def test_the_schema_names_what_a_model_reads():
    schema = Schema.from_dict(LOANS)
    assert schema.names == ["age", "income", "job", "sex"]
    assert schema.with_sensitive(["job", "sex"]).names == ["age", "income", "job", "sex"]
