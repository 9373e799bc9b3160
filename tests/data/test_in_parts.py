"""A fit of records in parts gives the model of the same table in memory, bit for bit."""

from __future__ import annotations

import os
import shutil
import tracemalloc
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from sample_tables import LOANS, make_loans

from dpfair import (
    ChargeTo,
    DPFermi,
    DPPostprocessing,
    InputError,
    PrivateBoosting,
    PrivateFairClassifier,
    PrivateLogisticRegression,
    Schema,
    TableFiles,
)
from dpfair.data.in_parts import InParts
from dpfair.data.kept import Kept
from dpfair.data.records import Records
from dpfair.data.stored import StoredPart
from dpfair.data.workspace import Workspace, writing_temporary
from dpfair.errors import NoRoomError
from dpfair.learners.blocks import BlockLearner
from dpfair.learners.boosting import BoostingLearner
from dpfair.learners.logistic import LogisticLearner
from dpfair.methods.algorithm2 import Algorithm2
from dpfair.methods.base import PrivateClassifier
from dpfair.methods.reading import TableReader
from dpfair.models.file import model_bytes
from dpfair.privacy.ledger_file import LedgerFile

ROWS = 1200
SCHEMA = Schema.from_dict(LOANS | {"rows": ROWS})
QUICK = LogisticLearner(steps=20)
# A table without declared labels and groups for all records, and with missing values.
UNSIZED = Schema.from_dict({name: fact for name, fact in LOANS.items() if name != "rows"})

MODELS = {
    "certified": PrivateFairClassifier(2, schema=SCHEMA, learner=QUICK),
    "reuse": PrivateFairClassifier(2, schema=SCHEMA, learner=QUICK, mode="reuse"),
    "check": PrivateFairClassifier(
        2, schema=SCHEMA, learner=QUICK, mode="reuse", division={"check_share": 0.3}
    ),
    "values": PrivateFairClassifier(
        2, schema=UNSIZED, learner=QUICK, division={"values_epsilon": 0.2}
    ),
    "blocks": PrivateFairClassifier(
        2, schema=SCHEMA, learner=BlockLearner(steps=20, draws=30, evidence=None)
    ),
    "kinds only": PrivateFairClassifier(5, schema=SCHEMA.kinds_only(), mode="reuse"),
    "several columns": PrivateFairClassifier(
        2, schema=SCHEMA, learner=QUICK, sensitive=["sex", "job"]
    ),
    "replaced": PrivateFairClassifier(2, schema=SCHEMA, learner=QUICK, relation="replace_one"),
    "dp-postprocessing": DPPostprocessing(2, schema=SCHEMA, learner=QUICK),
    "algorithm 2": Algorithm2(2, schema=SCHEMA, learner=QUICK),
    "logistic": PrivateLogisticRegression(2, schema=SCHEMA, steps=20),
}


@pytest.fixture(scope="module")
def table():
    """Loans, of which some have no group, no label or no age."""
    X, y = make_loans(ROWS)
    odd = pl.int_range(ROWS, eager=True)
    blank = pl.lit(None)
    return X.with_columns(repaid=pl.Series(y), number=odd).with_columns(
        sex=pl.when(pl.col("number") % 50 == 7).then(blank).otherwise("sex"),
        repaid=pl.when(pl.col("number") % 60 == 8).then(pl.lit("?")).otherwise("repaid"),
        age=pl.when(pl.col("number") % 9 == 1).then(blank).otherwise("age"),
    )


@pytest.fixture(scope="module")
def in_memory(table):
    """Every model, fitted by the table, once."""
    made = {}

    def of(name):
        if name not in made:
            model = MODELS[name].set_params(random_state=1)
            made[name] = model.fit(table, table["repaid"])
        return made[name]

    return of


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """The folder of temporary files."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    return place


def divided(table, folder, parts):
    """The table in files of different sizes and kinds."""
    folder.mkdir()
    ends = [ROWS * i * i // parts**2 for i in range(parts + 1)]
    for i, (low, high) in enumerate(pairwise(ends)):
        rows = table[low:high]
        if i % 2:
            rows.write_parquet(folder / f"{i:02}.parquet")
        else:
            rows.write_csv(folder / f"{i:02}.csv")
    return TableFiles.named(folder)


def fit_in_parts(model, files):
    """A fit like that of ``in_memory``."""
    other = type(model)(**model.get_params(deep=False))
    return other.fit(files)


@pytest.mark.parametrize("parts", [1, 2, 5, 12])
@pytest.mark.parametrize("name", MODELS)
def test_the_model_does_not_depend_on_the_parts(name, parts, table, in_memory, tmp_path):
    if parts == 12 and name not in ("certified", "blocks", "kinds only"):
        pytest.skip("a few models tell it")
    whole = in_memory(name)
    other = fit_in_parts(whole, divided(table, tmp_path / "parts", parts))
    for released, wanted in whole.fitted_.releases.items():
        assert (other.fitted_.releases[released].counts == wanted.counts).all()
    assert str(other.certificate_) == str(whole.certificate_)
    assert other.ledger_.entries == whole.ledger_.entries
    assert model_bytes(other) == model_bytes(whole)
    new = table.head(200).with_columns(sex=pl.col("sex").fill_null("f"))
    assert (other.predict_proba(new) == whole.predict_proba(new)).all()


def test_parts_of_one_file(table, in_memory, tmp_path, monkeypatch):
    monkeypatch.setattr("dpfair.data.read._FEWEST_ROWS", 7)
    table.write_parquet(tmp_path / "t.parquet")
    files = TableFiles.named(tmp_path / "t.parquet", memory=100 * 5 * 32)
    seen, make = [], TableReader._records_in_parts

    def noted(self, *given):
        records = make(self, *given)
        seen.append(len(records.parts))
        return records

    monkeypatch.setattr(TableReader, "_records_in_parts", noted)
    whole = in_memory("certified")
    assert model_bytes(fit_in_parts(whole, files)) == model_bytes(whole)
    assert seen == [12]


@pytest.mark.parametrize(
    ("model", "text"),
    [
        (DPFermi(2, epochs=2, batch_size=200), "all records in memory"),
        (PrivateBoosting(2), "all records in memory"),
        (PrivateFairClassifier(2, learner=BoostingLearner(trees=2)), "all records in memory"),
        (PrivateLogisticRegression(2, solver="sgd", batch_size=100), "all records in memory"),
        (PrivateFairClassifier(2, learner=QUICK, unit="number"), "records of a person"),
        (PrivateFairClassifier(2, learner=QUICK, sensitive=3), "sensitive by name"),
    ],
)
def test_what_needs_the_table_is_refused_before_it_is_charged(model, text, table, tmp_path):
    ledger = tmp_path / "ledger"
    LedgerFile.create(ledger, epsilon=5, delta=1e-5).close()
    files = divided(table, tmp_path / "parts", 2)
    (tmp_path / "parts" / "00.csv").unlink()  # no file is looked at
    model = model.set_params(schema=SCHEMA, ledger=ledger)
    with pytest.raises(InputError, match=text):
        model.fit(files)
    assert LedgerFile(ledger).entries == ()


def test_labels_and_a_schema_of_files(table, tmp_path):
    files = divided(table, tmp_path / "parts", 2)
    with pytest.raises(InputError, match="declare one"):
        PrivateFairClassifier(2, learner=QUICK).fit(files)
    model = PrivateFairClassifier(2, schema=SCHEMA, learner=QUICK)
    with pytest.raises(InputError, match="Labels and groups are read from the files"):
        model.fit(files, table["repaid"])
    with pytest.raises(InputError, match="Labels and groups are read from the files"):
        model.fit(files, sensitive_features=table["sex"])


def test_what_another_fit_found_is_found_again(table, in_memory, tmp_path):
    found = in_memory("kinds only").schema_
    assert found != SCHEMA.kinds_only()
    model = PrivateFairClassifier(5, schema=found, mode="reuse", random_state=1)
    whole = model.fit(table, table["repaid"])
    other = fit_in_parts(model, divided(table, tmp_path / "parts", 2))
    assert model_bytes(other) == model_bytes(whole)


def test_no_temporary_file_outlives_a_fit(table, temporary, tmp_path):
    files = divided(table, tmp_path / "parts", 3)
    seen = []

    class Looking(LogisticLearner):
        def train(self, *how):
            seen.extend(temporary.iterdir())
            return super().train(*how)

    PrivateFairClassifier(2, schema=SCHEMA, learner=Looking(steps=20)).fit(files)
    assert len(seen) == 1
    assert not list(temporary.iterdir())


def test_no_temporary_file_outlives_a_fit_that_fails(table, temporary, tmp_path):
    class Failing(LogisticLearner):
        def train(self, *how):
            raise RuntimeError("the learner failed")

    files = divided(table, tmp_path / "parts", 3)
    # The error is kept, and with it everything that the fit had.
    with pytest.raises(RuntimeError, match="failed") as kept:
        PrivateFairClassifier(2, schema=SCHEMA, learner=Failing(steps=20)).fit(files)
    assert not list(temporary.iterdir())
    (tmp_path / "parts" / "01.parquet").write_bytes(b"PAR1")
    table.drop("age").write_ipc(tmp_path / "parts" / "99.arrow")  # noticed when it is read
    (tmp_path / "parts" / "01.parquet").unlink()
    with pytest.raises(InputError, match=r"99\.arrow") as other:
        PrivateFairClassifier(2, schema=SCHEMA, learner=QUICK).fit(files.named(tmp_path / "parts"))
    assert not list(temporary.iterdir())
    assert kept.tb is not None
    assert other.tb is not None


def sizes(folder):
    """The bytes of all files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("name", MODELS)
def test_a_fit_writes_no_more_than_it_asks_room_for(name, table, temporary, tmp_path, monkeypatch):
    asked, begun, written = [], [], []
    learn, clear = PrivateClassifier.learn, Kept.clear

    def noted(self, records, run):
        begun.append(sizes(temporary))
        learn(self, records, run)

    def cleared(self):
        written.append(sizes(temporary))
        clear(self)

    monkeypatch.setattr(PrivateClassifier, "learn", noted)
    monkeypatch.setattr(InParts, "check_room", lambda self, each: asked.append(each))
    monkeypatch.setattr(Kept, "clear", cleared)
    fit_in_parts(MODELS[name], divided(table, tmp_path / "parts", 2))
    [each], more = asked, max(written) - begun[0]
    ends = 2 * 4000  # of files, and what lies between arrays
    assert more <= each * ROWS + ends
    assert each * ROWS <= 4 * more


@pytest.fixture
def little_room(monkeypatch):
    """States how many bytes are free, from now on."""

    def state(free):
        monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(9**9, 0, free))

    return state


def test_a_fit_without_room_is_refused_before_it_is_charged(
    little_room, table, temporary, tmp_path
):
    ledger, files = tmp_path / "ledger", divided(table, tmp_path / "parts", 2)
    LedgerFile.create(ledger, epsilon=5, delta=1e-5).close()
    model = PrivateFairClassifier(2, schema=SCHEMA, learner=QUICK, ledger=ledger)
    little_room(2 << 17)
    with pytest.raises(NoRoomError, match=r"bytes more for every record: set TMPDIR to a folder"):
        model.fit(files)
    assert LedgerFile(ledger).entries == ()
    assert not list(temporary.iterdir())
    little_room(1 << 20)
    model.fit(files)
    assert len(LedgerFile(ledger).entries) == 1


@pytest.mark.parametrize("key", ["monday", None])
def test_a_folder_that_is_full_after_all_loses_nothing_that_has_a_key(
    key, table, in_memory, tmp_path, monkeypatch
):
    ledger, files = tmp_path / "ledger", divided(table, tmp_path / "parts", 2)
    LedgerFile.create(ledger, epsilon=5, delta=1e-5).close()
    model = PrivateFairClassifier(2, schema=SCHEMA, learner=QUICK, ledger=ChargeTo(ledger, key=key))

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(StoredPart, "map", lambda *_: full_file(tmp_path / "columns", full))
    found = "start the job again with the same key" if key else "What was paid is spent; with a key"
    with pytest.raises(NoRoomError, match=f"No space left on device.*TMPDIR.* {found}"):
        model.fit(files)
    monkeypatch.undo()
    if key:
        with pytest.warns(UserWarning, match="goes on"):
            model.fit(files)
    assert len(LedgerFile(ledger).entries) == 1


def full_file(path, write):
    """Write to a temporary file."""
    with writing_temporary(path):
        write()


def test_parts_keep_what_records_have(table, tmp_path):
    from dpfair.data.encode import encode

    whole = encode(table, SCHEMA)
    place = Workspace(tmp_path)
    parts = InParts([StoredPart(place, whole.take(slice(0, 500))), whole.take(slice(500, ROWS))])
    assert len(parts) == ROWS
    [mass] = parts.total(lambda some: [int(some.numeric[1].floats.astype(int).sum())])
    assert mass == int(whole.numeric[1].floats.astype(int).sum())
    known = parts.declared()
    assert len(known) == len(whole.declared()) < ROWS
    places = [*known.parts[0].total(lambda some: some.places), *known.parts[1].places]
    assert places == whole.declared().places.tolist()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such limit")
def test_a_part_of_many_columns_takes_few_open_files(tmp_path):
    import resource

    columns = 300
    whole = Records.of_arrays(np.ones((9, columns)), np.ones((9, columns)), np.arange(9))
    part = StoredPart(Workspace(tmp_path), whole)
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    with (tmp_path / "last").open("w") as last:
        resource.setrlimit(resource.RLIMIT_NOFILE, (last.fileno() + 10, before[1]))
        try:
            changed = part.map(lambda some: some.take(np.arange(1, 9)))
            [groups] = changed.total(lambda some: [some.take(slice(0, 3)).groups + 0])
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert groups.tolist() == [1, 2, 3]


def test_a_change_of_some_columns_writes_no_others(tmp_path):
    whole = Records.of_arrays(np.ones((1000, 1)), np.ones((1000, 3)), np.arange(1000) % 7)
    place = Workspace(tmp_path)
    changed = StoredPart(place, whole).map(Records.in_first_group)
    assert [len(found) for found in changed.total(lambda some: some.codes)] == [1000] * 3
    sizes = [path.stat().st_size for path in place.folder.rglob("columns")]
    assert min(sizes) < 1100 < 5000 < max(sizes)


def test_words_of_a_part_are_in_its_file(tmp_path):
    def listed():
        return (*map(str, range(100_000)), "", 'a "\n', "\ud800\udc00", "\N{GRINNING FACE}")

    codes = np.arange(len(listed()), dtype=np.uint32)
    groups = np.zeros(len(codes), np.int8)
    tracemalloc.start()
    try:
        whole = Records((), (codes,), groups, words={"job": listed()})
        part = StoredPart(Workspace(tmp_path), whole).map(lambda some: some.take(codes[1:]))
        del whole
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 100_000
    assert part.total(lambda some: [some.words["job"]]) == [listed()]
