"""A budget in a file: the same rules as in memory, for all processes and for ever."""

import copy
import json
import os
import pickle
import sqlite3
import subprocess
import sys
from fractions import Fraction

import pytest
from privacy.ledger_file.forging import charge_row, held_open, written_meanwhile
from privacy.ledger_file.paying import DELTA, pay, table

from dpfair.errors import (
    BudgetError,
    InputError,
    LedgerFileError,
    LedgerTamperedError,
    ReceiptError,
)
from dpfair.privacy.accountants import calibrate
from dpfair.privacy.event_json import event_from_json
from dpfair.privacy.events import OneOfDpEvent, gaussian_steps, noisy_table
from dpfair.privacy.ledger import Ledger
from dpfair.privacy.ledger_file import LedgerFile
from dpfair.privacy.ledger_file import store as ledger_store
from dpfair.privacy.ledger_file.connection import LedgerConnection
from dpfair.privacy.noise import Noise

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
    assert charged_again(json.loads(json.dumps(ledger.to_json()))) == ledger.spent == 0.5


def charged_again(data):
    """What the charges of a ledger cost, computed anew from its plain data."""
    names = ("epsilon", "delta", "relation", "composition", "rows_per_unit")
    memory = Ledger(**{name: data[name] for name in names})
    for entry in data["entries"]:
        pay(memory, event_from_json(entry["event"]), entry["scope"], entry["purpose"])
    for stated, found in zip(data["entries"], memory.entries, strict=True):
        assert stated == found.to_json()
    return memory.spent


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


def test_a_refusal_needs_no_lock(ledger):
    pay(ledger, table("3/4"))
    other, hasty = LedgerConnection(ledger.path), LedgerFile(ledger.path, patience=0.1)
    with other.transaction(write=True), pytest.raises(BudgetError):
        pay(hasty, table("1/2"))


def test_what_others_charge_counts(ledger):
    other = LedgerFile(ledger.path)
    pay(other, table("3/4"))
    with pytest.raises(BudgetError):
        pay(ledger, table("1/2"))
    assert ledger.spent == other.spent == 0.75
    assert ledger.head == other.head


def test_a_charge_between_check_and_lock_counts(ledger):
    """The decision is made again inside the transaction."""
    with (
        written_meanwhile(ledger.path, charge_row(table("3/4"))),
        pytest.raises(BudgetError),
    ):
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


def test_a_file_is_not_sealed_by_the_plan_of_one_fit(ledger):
    with pytest.raises(InputError, match="cannot be sealed"):
        ledger.seal()
    pay(ledger, table("1/4"))
    assert ledger.spent == 0.25


@pytest.mark.parametrize("content", [b"", b"a,b\n1,2\n", b"SQLite format 3\0" + bytes(84)])
def test_other_files_are_no_ledgers(tmp_path, content):
    path = tmp_path / "x"
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(LedgerTamperedError, match="no ledger file"):
        LedgerFile(path)


# Nothing is handed out unless it is on the disk


@pytest.mark.parametrize("moment", ["INSERT", "COMMIT"])
def test_no_receipt_if_the_disk_fails(ledger, monkeypatch, moment):
    class Failing:
        """Fails at a moment of a transaction that writes."""

        def __init__(self, connection):
            self.real, self.writes = connection, False

        def __getattr__(self, name):
            return getattr(self.real, name)

        def execute(self, statement, *arguments):
            self.writes |= statement == "BEGIN IMMEDIATE"
            if self.writes and statement.startswith(moment):
                error = sqlite3.OperationalError("disk I/O error")
                error.sqlite_errorname = "SQLITE_IOERR_FSYNC"
                raise error
            return self.real.execute(statement, *arguments)

    ledger.check(table("1/2"), scope="", purpose="warm up")
    real = ledger_store.connect
    ledger.close()
    monkeypatch.setattr(ledger_store, "connect", lambda *where: Failing(real(*where)))
    with pytest.raises(LedgerFileError, match="no receipt was given"):
        pay(ledger, table("1/2"))
    monkeypatch.undo()
    assert ledger.spent == 0
    pay(ledger, table("1/2"))
    assert ledger.spent == 0.5


def test_the_row_is_committed_before_the_receipt_exists(ledger):
    seen = []

    class Watching(LedgerFile):
        """Only a receipt is handed the source of noise."""

        @property
        def noise(self):
            seen.append(LedgerFile(ledger.path).spent)
            return Noise()

        @noise.setter
        def noise(self, source):
            pass

    pay(Watching(ledger.path), table("1/2"))
    assert seen == [0.5]


# The file and its log


def test_a_charge_is_in_the_file_itself_when_its_receipt_is_given(ledger, tmp_path):
    reader = held_open(ledger.path)
    pay(ledger, table("1/2"))
    copy = tmp_path / "copy.ledger"  # as somebody would who does not know about logs
    copy.write_bytes(ledger.path.read_bytes())
    copy.chmod(0o600)
    assert LedgerFile(copy).spent == 0.5
    reader.close()


def test_locks_that_were_dropped_cost_no_row(ledger):
    """To open and close the file elsewhere in the process, as in copying, drops its locks."""
    other = (
        "import sys; from dpfair.privacy.ledger_file import LedgerFile; "
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


def test_without_room_in_the_file_there_is_no_receipt(ledger):
    reader = sqlite3.connect(ledger.path)
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM entry").fetchall()  # the log cannot be copied below a reader
    with pytest.raises(LedgerFileError, match="no receipt was given"):
        pay(LedgerFile(ledger.path, patience=0.1), table("1/2"))
    reader.close()
    assert LedgerFile(ledger.path).spent == 0.5
