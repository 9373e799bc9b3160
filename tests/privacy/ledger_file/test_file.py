"""A budget in a file: the same rules as in memory, for all processes and for ever."""

import copy
import hashlib
import json
import os
import pickle
import sqlite3
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from dpfair.errors import (
    BudgetError,
    InputError,
    LedgerFileError,
    LedgerTamperedError,
    PaidBeforeError,
    ReceiptError,
)
from dpfair.privacy.accountants import calibrate
from dpfair.privacy.events import OneOfDpEvent, compose, gaussian_steps, noisy_table
from dpfair.privacy.ledger import Ledger
from dpfair.privacy.ledger_file import file as ledger_file
from dpfair.privacy.ledger_file import store as ledger_store
from dpfair.privacy.ledger_file.connection import LedgerConnection
from dpfair.privacy.ledger_file.file import LedgerFile
from dpfair.privacy.noise import Noise

DELTA = 1e-5
SCRIPT = Path(__file__).parents[2] / "scripts" / "verify_ledger_export.py"


def table(amount):
    return noisy_table(amount, "add_remove")


def pay(ledger, event, scope="", purpose="test", **how):
    return ledger.charge(event, scope=scope, purpose=purpose, **how)


@pytest.fixture
def ledger(tmp_path):
    ledger = LedgerFile.create(tmp_path / "loans.ledger", "1", DELTA, name="loans")
    yield ledger
    ledger.close()


# One interface


def test_it_is_a_ledger(ledger):
    assert isinstance(ledger, Ledger)
    assert (ledger.name, ledger.unit, ledger.composition) == ("loans", None, "adaptive")
    assert ledger.private
    ledger.add_scope("train")
    receipt = pay(ledger, table("1/2"), "train", "count")
    assert len(receipt.draw(table("1/2")).discrete_laplace([1, 2])) == 2
    with pytest.raises(ReceiptError):
        receipt.draw(table("1/2"))
    [entry] = ledger.entries
    assert (entry.scope, entry.purpose, entry.event) == ("train", "count", table("1/2"))
    assert Ledger.from_json(json.loads(json.dumps(ledger.to_json()))).spent == ledger.spent == 0.5


def test_the_receipt_names_its_row(ledger):
    receipt = pay(ledger, table("1/2"))
    assert receipt.row == ledger.head
    assert Ledger(1, DELTA).charge(table("1/2"), scope="", purpose="x").row is None


@pytest.mark.parametrize("k", [1, 3])
def test_it_charges_what_memory_charges(tmp_path, k):
    file = LedgerFile.create(
        tmp_path / "x",
        "9",
        DELTA,
        relation="replace_one",
        planned=True,
        unit="person",
        rows_per_unit=k,
    )
    memory = Ledger("9", DELTA, relation="replace_one", rows_per_unit=k)
    assert file.row_budget == memory.row_budget
    for scope, event in [
        ("train", gaussian_steps(200.0, 0.5, 10)),
        ("release", noisy_table("1/10", "replace_one")),
        ("", OneOfDpEvent((gaussian_steps(90.0, 1.0, 2), noisy_table("1/5", "replace_one")))),
        ("train/a", noisy_table("1/3", "replace_one")),
    ]:
        pay(file, event, scope, new_scope=True)
        pay(memory, event, scope)
        assert file.spent == memory.spent
    again = LedgerFile(tmp_path / "x")
    assert again.spent == memory.spent
    assert again.entries == memory.entries
    assert again.to_json() == memory.to_json()


def test_jobs_that_are_not_planned_cost_more(tmp_path):
    planned = LedgerFile.create(tmp_path / "planned", "9", DELTA, planned=True)
    chosen = LedgerFile.create(tmp_path / "chosen", "9", DELTA)
    memory = Ledger("9", DELTA, composition="adaptive")
    for _ in range(2):
        for ledger in (planned, chosen, memory):
            pay(ledger, gaussian_steps(5.0, 1.0, 2))
    assert planned.spent < chosen.spent == memory.spent
    assert LedgerFile(chosen.path).verify().spent == chosen.spent


def test_a_fit_of_the_whole_budget_has_room(tmp_path):
    file = LedgerFile.create(tmp_path / "x", 3, DELTA)
    train = gaussian_steps(calibrate(3, DELTA, 0.1, 50), 0.1, 50)
    pay(file, OneOfDpEvent((train, table(3))))
    assert file.spent == 3
    with pytest.raises(BudgetError):
        pay(file, table("1/1000"))


def test_exact_amounts_survive_the_file(tmp_path):
    file = LedgerFile.create(tmp_path / "x", "1", DELTA)
    for _ in range(10):
        pay(LedgerFile(file.path), table("1/10"))
    assert file.history[-1].spent == 10 * Fraction(table("1/10").noise_parameter)
    with pytest.raises(BudgetError):
        pay(file, table("1/1000000000"))


def test_a_refusal_writes_nothing(ledger):
    pay(ledger, table("3/4"))
    head = ledger.head
    for attempt in (pay, lambda file, event: file.check(event, scope="", purpose="test")):
        with pytest.raises(BudgetError, match=r"'test' would bring epsilon to 1\.25"):
            attempt(ledger, table("1/2"))
    ledger.check(table("1/4"), scope="", purpose="test")
    assert ledger.head == head


def test_a_refusal_needs_no_lock(ledger, monkeypatch):
    monkeypatch.setattr(ledger_store, "PATIENCE_SECONDS", 0.1)
    pay(ledger, table("3/4"))
    other = LedgerConnection(ledger.path)
    with other.transaction(write=True), pytest.raises(BudgetError):
        pay(ledger, table("1/2"))


def test_what_others_charge_counts(ledger):
    other = LedgerFile(ledger.path)
    pay(other, table("3/4"))
    with pytest.raises(BudgetError):
        pay(ledger, table("1/2"))
    assert ledger.spent == other.spent == 0.75
    assert ledger.head == other.head


def test_a_charge_between_check_and_lock_counts(ledger, monkeypatch):
    """The decision is made again inside the transaction."""
    other, price = LedgerFile(ledger.path), ledger_file.cost

    def meanwhile(*arguments):
        monkeypatch.undo()
        pay(other, table("3/4"))
        return price(*arguments)

    monkeypatch.setattr(ledger_file, "cost", meanwhile)
    with pytest.raises(BudgetError):
        pay(ledger, table("1/2"))
    assert ledger.spent == 0.75


def test_copies_are_handles_on_the_same_budget(ledger):
    pay(ledger, table("1/4"))
    for again in (copy.copy(ledger), copy.deepcopy(ledger), pickle.loads(pickle.dumps(ledger))):
        assert isinstance(again, LedgerFile)
        pay(again, table("1/8"))
    assert ledger.spent == 0.625


def test_a_copy_keeps_the_source_of_noise(ledger):
    seeded = LedgerFile(ledger.path, noise=Noise(7))
    assert not seeded.private
    assert not copy.deepcopy(seeded).private


def test_a_forked_child_charges_the_same_file(ledger):
    pay(ledger, table("1/4"))
    pid = os.fork()
    if pid == 0:
        try:
            pay(ledger, table("1/4"))
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
    assert ledger.spent == 0.5


def test_a_file_has_no_plan(ledger):
    with pytest.raises(InputError, match="plan of one fit"):
        ledger.restrict([])


# Making one


@pytest.mark.parametrize(
    "bad",
    [
        {"epsilon": 0},
        {"epsilon": "x"},
        {"delta": 0},
        {"delta": 1},
        {"delta": "nan"},
        {"delta": "1e-999999999"},
        {"delta": "x"},
        {"delta": None},
        {"relation": "swap"},
        {"rows_per_unit": 0, "unit": "person"},
        {"rows_per_unit": 2},
        {"name": "x" * 1001},
        {"unit": 3},
    ],
    ids=str,
)
def test_a_bad_budget_makes_no_file(tmp_path, bad):
    with pytest.raises(InputError, match=next(iter(bad))):
        LedgerFile.create(tmp_path / "x", **({"epsilon": 1, "delta": DELTA} | bad))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("delta", [1e-5, "1e-5", "0.00001", "1/100000", Fraction(1, 10**5)])
def test_a_delta_is_taken_as_it_is_written(tmp_path, delta):
    file = LedgerFile.create(tmp_path / "x", 1, delta)
    assert json.loads(json.loads(next(file.export()))["body"])["delta"] == "1/100000"
    assert file.delta == 1e-5


def test_making_it_twice_changes_nothing(ledger):
    pay(ledger, table("1/2"))
    with pytest.raises(LedgerFileError, match="exists already"):
        LedgerFile.create(ledger.path, 100, DELTA)
    assert LedgerFile(ledger.path).spent == 0.5


@pytest.mark.parametrize("content", [b"", b"a,b\n1,2\n", b"SQLite format 3\0" + bytes(84)])
def test_other_files_are_no_ledgers(tmp_path, content):
    path = tmp_path / "x"
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(LedgerTamperedError, match="no ledger file"):
        LedgerFile(path)


@pytest.mark.parametrize(
    "bad",
    [
        {"purpose": 3},
        {"purpose": "x" * 1001},
        {"scope": "a//b"},
        {"scope": "a/" * 600 + "a"},
        {"key": ""},
        {"key": "x" * 1001},
    ],
    ids=lambda bad: next(iter(bad)),
)
def test_bad_words_are_refused(ledger, bad):
    with pytest.raises(InputError, match=next(iter(bad))):
        pay(ledger, table("1/2"), **bad)
    assert not ledger.entries


# A job that is tried again


def test_a_key_is_charged_once(ledger):
    pay(ledger, table("1/2"), key="monday")
    for file in (ledger, LedgerFile(ledger.path)):
        with pytest.raises(PaidBeforeError, match="'monday' was charged before; nothing is drawn"):
            pay(file, table("1/2"), key="monday")
        with pytest.raises(PaidBeforeError):
            file.check(table("1/2"), scope="", purpose="again", key="monday")
    assert ledger.spent == 0.5


def test_a_paid_job_hears_so_even_if_the_budget_is_empty(ledger):
    pay(ledger, table(1), key="monday")
    with pytest.raises(PaidBeforeError):
        pay(ledger, table(1), key="monday")


def test_a_key_belongs_to_one_job(ledger):
    for scope in ("a", "b"):
        ledger.add_scope(scope)
    pay(ledger, compose([table("1/4")] * 2), "a", key="monday")
    for scope, event in (("a", table("1/2")), ("b", compose([table("1/4")] * 2))):
        with pytest.raises(InputError, match="belongs to another job") as caught:
            pay(ledger, event, scope, key="monday")
        assert not isinstance(caught.value, PaidBeforeError)
    assert ledger.spent == 0.5


def test_a_key_that_another_process_takes_meanwhile_is_refused(ledger, monkeypatch):
    other, price = LedgerFile(ledger.path), ledger_file.cost

    def meanwhile(*arguments):
        monkeypatch.undo()
        pay(other, table("1/4"), key="monday")
        return price(*arguments)

    monkeypatch.setattr(ledger_file, "cost", meanwhile)
    with pytest.raises(PaidBeforeError):
        pay(ledger, table("1/4"), key="monday")
    assert ledger.spent == 0.25


def test_a_finished_job_finds_its_result(ledger):
    assert ledger.kept("monday") is None
    with pytest.raises(InputError, match="No job 'monday'"):
        ledger.keep("monday", b"result")
    pay(ledger, table("1/2"), key="monday")
    assert ledger.kept("monday") is None
    ledger.keep("monday", b"result" * 5000)
    head = ledger.head
    LedgerFile(ledger.path).keep("monday", b"result" * 5000)
    assert ledger.head == head
    with pytest.raises(InputError, match="another result"):
        ledger.keep("monday", b"other")
    assert LedgerFile(ledger.path).kept("monday") == b"result" * 5000


def test_a_result_has_a_largest_size(ledger, monkeypatch):
    monkeypatch.setattr(ledger_file, "LARGEST_RESULT", 1 << 20)
    pay(ledger, table("1/2"), key="monday")
    with pytest.raises(InputError, match="at most 1 MiB"):
        ledger.keep("monday", bytes((1 << 20) + 1))


# Nothing is handed out unless it is on the disk


@pytest.mark.parametrize("moment", ["INSERT", "COMMIT"])
def test_no_receipt_if_the_disk_fails(ledger, monkeypatch, moment):
    import sqlite3

    class Failing:
        def __init__(self, connection):
            self._connection = connection

        def __getattr__(self, name):
            return getattr(self._connection, name)

        def execute(self, statement, *arguments):
            if statement.startswith(moment):
                error = sqlite3.OperationalError("disk I/O error")
                error.sqlite_errorname = "SQLITE_IOERR_FSYNC"
                raise error
            return self._connection.execute(statement, *arguments)

    ledger.check(table("1/2"), scope="", purpose="warm up")
    real = ledger_store.connect
    ledger.close()
    monkeypatch.setattr(ledger_store, "connect", lambda path: Failing(real(path)))
    monkeypatch.setattr(ledger, "_refresh", lambda: None)  # it commits, too
    with pytest.raises(LedgerFileError, match="no receipt was given"):
        pay(ledger, table("1/2"))
    monkeypatch.undo()
    assert ledger.spent == 0
    pay(ledger, table("1/2"))
    assert ledger.spent == 0.5


def test_the_row_is_committed_before_the_receipt_exists(ledger, monkeypatch):
    seen = []

    class Watching(ledger_file.Receipt):
        def __init__(self, *arguments):
            seen.append(LedgerFile(ledger.path).spent)
            super().__init__(*arguments)

    monkeypatch.setattr(ledger_file, "Receipt", Watching)
    pay(ledger, table("1/2"))
    assert seen == [0.5]


def test_lost_rows_are_noticed_by_a_handle_that_knew_them(ledger, tmp_path):
    ledger.close()
    early = ledger.path.read_bytes()
    pay(ledger, table("1/2"))
    ledger.close()
    ledger.path.write_bytes(early)  # the same file, an earlier state
    with pytest.raises(LedgerTamperedError, match="lost rows"):
        ledger.check(table("1/2"), scope="", purpose="test")


# Export


def test_an_export_can_be_checked_without_dpfair(ledger, tmp_path):
    pay(ledger, table("1/2"), key="monday")
    ledger.keep("monday", b"result")
    pay(ledger, table("1/4"))
    lines, out = list(ledger.export()), tmp_path / "export.jsonl"
    assert [json.loads(line)["seq"] for line in lines] == [0, 1, 2, 3]

    def check(text):
        out.write_text("".join(f"{line}\n" for line in text))
        found = subprocess.run([sys.executable, SCRIPT, out], capture_output=True, text=True)
        return found.returncode, found.stdout + found.stderr

    code, said = check(lines)
    assert code == 0
    assert "3/4 of 1 is spent" in said
    assert ledger.head in said
    for wrong in (
        lines[:1] + lines[2:],
        [lines[0], lines[2], lines[1], lines[3]],
        [*lines[:3], lines[3].replace("test", "tost")],
        [lines[0].replace("loans", "loons"), *lines[1:]],
    ):
        code, said = check(wrong)
        assert code == 1
        assert "does not follow" in said


def test_the_script_notices_an_overspent_chain(tmp_path):
    """A chain that somebody made from the start anew, with a budget that was exceeded."""
    rows, head = [], "0" * 64
    for seq, body in enumerate(({"epsilon": "1"}, {"spent": "3/4"}, {"spent": "5/4"})):
        text = json.dumps(body)
        head = hashlib.sha256((head + text).encode()).hexdigest()
        rows.append(json.dumps({"seq": seq, "body": text, "hash": head}))
    (tmp_path / "export").write_text("\n".join(rows))
    found = subprocess.run(
        [sys.executable, SCRIPT, tmp_path / "export"], capture_output=True, text=True
    )
    assert found.returncode == 1
    assert "Row 2" in found.stderr


# The file and its log


def somebody_else(path):
    """Another process would keep the log there as long as it has the file open."""
    reader = sqlite3.connect(path)
    reader.execute("SELECT count(*) FROM entry").fetchall()
    return reader


def test_a_charge_is_in_the_file_itself_when_its_receipt_is_given(ledger, tmp_path):
    reader = somebody_else(ledger.path)
    pay(ledger, table("1/2"))
    copy = tmp_path / "copy.ledger"  # as somebody would who does not know about logs
    copy.write_bytes(ledger.path.read_bytes())
    copy.chmod(0o600)
    assert LedgerFile(copy).spent == 0.5
    reader.close()


def test_locks_that_were_dropped_cost_no_row(ledger):
    """To open and close the file elsewhere in the process, as in copying, drops its locks."""
    other = (
        "import sys; from dpfair.privacy.ledger_file.file import LedgerFile; "
        "from dpfair.privacy.events import noisy_table; "
        "table = noisy_table('1/8', 'add_remove'); "
        "LedgerFile(sys.argv[1]).charge(table, scope='', purpose='other')"
    )
    for n in range(4):
        ledger.path.read_bytes()
        subprocess.run([sys.executable, "-c", other, ledger.path], check=True)
        pay(ledger, table("1/8"))
        assert len(LedgerFile(ledger.path).entries) == 2 * (n + 1)
    with pytest.raises(BudgetError):
        pay(ledger, table("1/8"))


def test_a_log_that_was_taken_away_gives_no_receipt(ledger, monkeypatch):
    real = ledger_store.settle

    def taken(connection, path):
        real(connection, path)
        Path(f"{path}-wal").unlink()

    monkeypatch.setattr(ledger_store, "settle", taken)
    with pytest.raises(LedgerFileError, match="taken away"):
        pay(ledger, table("1/8"))


def test_without_room_in_the_file_there_is_no_receipt(ledger, monkeypatch):
    reader = sqlite3.connect(ledger.path)
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM entry").fetchall()  # the log cannot be copied below a reader
    ledger.close()
    monkeypatch.setattr(ledger_store, "PATIENCE_SECONDS", 0.1)
    with pytest.raises(LedgerFileError, match="no receipt was given"):
        pay(ledger, table("1/2"))
    reader.close()
    assert LedgerFile(ledger.path).spent == 0.5


def test_the_log_of_an_earlier_ledger_is_not_taken_for_the_new_ones(ledger):
    reader = somebody_else(ledger.path)
    pay(ledger, table("1/2"))
    ledger.path.rename(ledger.path.with_name("archived.ledger"))  # while its log is there
    with pytest.raises(LedgerFileError, match="left from another ledger of this name"):
        LedgerFile.create(ledger.path, "1", DELTA)
    reader.close()


def test_a_budget_that_could_not_be_read_is_not_written(tmp_path):
    with pytest.raises(InputError, match="2000 digits"):
        LedgerFile.create(tmp_path / "x", "0." + "3" * 2500, DELTA)
    assert not list(tmp_path.iterdir())


def test_another_job_under_the_same_key_is_an_error(ledger):
    pay(ledger, table("1/4"), key="k", job="one")
    with pytest.raises(PaidBeforeError):
        pay(ledger, table("1/4"), key="k", job="one")
    with pytest.raises(InputError, match="belongs to another job"):
        pay(ledger, table("1/4"), key="k", job="two")
