"""Keys, results and exports: what the rows of a ledger file say to all processes."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest
from privacy.ledger_file.forging import charge_row, written_meanwhile
from privacy.ledger_file.paying import pay, table

from dpfair.errors import (
    InputError,
    LedgerTamperedError,
    PaidBeforeError,
)
from dpfair.privacy.events import compose
from dpfair.privacy.ledger_file import LedgerFile

SCRIPT = Path(__file__).parents[3] / "scripts" / "verify_ledger_export.py"


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


def test_another_job_under_the_same_key_is_an_error(ledger):
    pay(ledger, table("1/4"), key="k", job="one")
    with pytest.raises(PaidBeforeError):
        pay(ledger, table("1/4"), key="k", job="one")
    with pytest.raises(InputError, match="belongs to another job"):
        pay(ledger, table("1/4"), key="k", job="two")


def test_a_key_that_another_process_takes_meanwhile_is_refused(ledger):
    with (
        written_meanwhile(ledger.path, charge_row(table("1/4"), key="monday")),
        pytest.raises(PaidBeforeError),
    ):
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


def test_a_result_has_a_largest_size(ledger):
    pay(ledger, table("1/2"), key="monday")
    with pytest.raises(InputError, match="at most 256 MiB"):
        ledger.keep("monday", bytes((1 << 28) + 1))


def test_lost_rows_are_noticed_by_a_handle_that_knew_them(ledger, tmp_path):
    ledger.close()
    early = ledger.path.read_bytes()
    pay(ledger, table("1/2"))
    ledger.close()
    ledger.path.write_bytes(early)  # the same file, an earlier state
    with pytest.raises(LedgerTamperedError, match="lost rows"):
        ledger.check(table("1/2"), scope="", purpose="test")


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
