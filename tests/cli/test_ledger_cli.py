"""``dpfair ledger`` as a user types it: results, messages and exit codes."""

from __future__ import annotations

import json
import os
import sqlite3

import pytest
from cli import commands
from privacy.ledger_file.forging import forge_rows, make_first_format
from sample_tables import LOANS

from dpfair import BudgetError, PrivateFairClassifier, Schema, cli
from dpfair.privacy.events import noisy_table
from dpfair.privacy.journal import journal_place
from dpfair.privacy.ledger_file import LedgerFile
from dpfair.privacy.ledger_file.rows import Declared


@pytest.fixture
def path(tmp_path):
    return tmp_path / "loans.ledger"


@pytest.fixture
def ledger(path):
    ledger = LedgerFile.create(path, 3, 1e-5, name="loans")
    event = noisy_table("1/2", "add_remove")
    ledger.add_scope("2025")
    ledger.add_scope("2025/north")
    ledger.charge(event, scope="2025/north", purpose="count \x1b[31mloans", key="monday")
    ledger.charge(event, scope="", purpose="fit")
    ledger.close()
    return ledger


def run(capsys, *arguments):
    return commands.run(capsys, "ledger", *arguments)


def run_json(capsys, *arguments, code=0):
    return commands.run_json(capsys, "ledger", *arguments, code=code)


def refused(capsys, *arguments, code=2):
    return commands.refused(capsys, "ledger", *arguments, code=code)


def init(path, *options):
    return ["init", path, "--epsilon", "3", "--delta", "1e-5", *options]


def test_without_a_command_there_is_help(capsys):
    code, out, _ = run(capsys)
    assert code == 0
    for command in ("init", "show", "scope", "history", "verify", "export"):
        assert command in out


def test_init_makes_a_budget_and_says_so(capsys, path):
    code, out, _ = run(capsys, *init(path, "--name", "loans"))
    assert code == 0
    assert "epsilon 3 at delta 1e-05" in out
    made = LedgerFile(path)
    assert (made.name, made.epsilon, made.delta, made.unit) == ("loans", 3, 1e-5, None)
    assert made.head in out


def test_init_takes_exact_numbers_and_units(capsys, path):
    options = ["--relation", "replace_one", "--unit", "person", "--rows-per-unit", "2"]
    result = run_json(capsys, "init", path, "--epsilon", "1/3", "--delta", "1/7", *options)
    assert (result["unit"], result["rows_per_unit"]) == ("person", 2)
    assert result["relation"] == "replace_one"
    assert LedgerFile(path).budget_epsilon * 3 == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--epsilon", "3"], "Missing option '--delta'"),
        (["--epsilon", "-1", "--delta", "1e-5"], "Expected epsilon > 0 and finite, got -1"),
        (["--epsilon", "1e999999999", "--delta", "1e-5"], "Expected epsilon > 0"),
        (["--epsilon", "3", "--delta", "2"], "Expected 0 < delta < 1, got 2"),
        (["--epsilon", "3", "--delta", "1e-5", "--relation", "swap"], "Expected relation"),
        (["--epsilon", "3", "--delta", "1e-5", "--rows-per-unit", "2"], "needs unit"),
        (["--epsilon", "3", "--delta", "1e-5", "--rows-per-unit", "x"], "--rows-per-unit"),
    ],
)
def test_init_refuses_a_bad_budget(capsys, path, options, said):
    assert said in refused(capsys, "init", path, *options)
    assert not path.exists()


def test_init_refuses_a_place_that_is_taken_or_missing(capsys, ledger, path, tmp_path):
    assert "exists already" in refused(capsys, *init(path))
    assert "No such file" in refused(capsys, *init(tmp_path / "no" / "x"))
    assert LedgerFile(path).spent == 1


def test_show_tells_what_is_spent_and_what_fits(capsys, ledger, path):
    result = run_json(capsys, "show", path)
    assert result == {
        "file": str(path),
        "name": "loans",
        "epsilon": 3.0,
        "delta": 1e-5,
        "relation": "add_remove",
        "planned": False,
        "unit": None,
        "rows_per_unit": 1,
        "spent": 1.0,
        "next": {"scope": "", "pure": 2.0, "fit": 1.763, "fit_that_names_values": 1.763},
        "charges": 2,
        "scopes": [
            {"scope": "", "spent": 1.0},
            {"scope": "2025", "spent": 1.0},
            {"scope": "2025/north", "spent": 1.0},
        ],
        "head": ledger.head,
    }
    code, out, _ = run(capsys, "show", path)
    assert code == 0
    for part in (
        "loans",
        "spent    epsilon 1.0000 by 2 charges",
        "next     epsilon 2 at most for a pure job (delta 0",
        "epsilon 1.763 at most for a fit (default settings, delta 1e-05)",
        "scope    2025/north: epsilon 1.0000 spent",
    ):
        assert part in out


def test_what_show_says_is_granted(capsys, path):
    LedgerFile.create(path, 3, 1e-5)
    folder = path.parent
    (folder / "loans.json").write_text(json.dumps(LOANS))
    asked = ["fit", "none.csv", "--schema", str(folder / "loans.json"), "--ledger", str(path)]
    asked += ["--dry-run", "--epsilon"]
    model = PrivateFairClassifier(2, schema=Schema.from_dict(LOANS))
    LedgerFile(path).charge(model.plan().event, scope="", purpose="fit")
    most = run_json(capsys, "show", path)["next"]
    assert most["fit"] < 0.9  # of the 1 that is not spent
    assert cli.run([*asked, str(most["fit"])]) == 0
    assert cli.run([*asked, str(1.01 * most["fit"])]) == 3
    assert "would be granted to this job" in capsys.readouterr().err
    ledger = LedgerFile(path)
    ledger.check(noisy_table(str(most["pure"]), "add_remove"), scope="", purpose="x")
    with pytest.raises(BudgetError):
        ledger.check(noisy_table(1.01 * most["pure"], "add_remove"), scope="", purpose="x")


def test_show_tells_what_fits_in_a_part(capsys, ledger, path):
    ledger.add_scope("2026")
    event = noisy_table("3/2", "add_remove")
    ledger.charge(event, scope="2025/north", purpose="count")
    assert run_json(capsys, "show", path)["next"]["pure"] == 0.5
    assert run_json(capsys, "show", path, "--scope", "2026")["next"]["pure"] == 2.5
    assert "on 2026 (delta 0" in run(capsys, "show", path, "--scope", "2026")[1]
    assert "was not declared" in refused(capsys, "show", path, "--scope", "2027")


def test_a_scope_is_declared_once(capsys, path):
    LedgerFile.create(path, 3, 1e-5)
    code, out, _ = run(capsys, "scope", "add", path, "north", "2025", "2025/north", "north")
    assert code == 0
    assert out.splitlines()[1:] == [
        f"{scope}: epsilon 0.0000 spent" for scope in ("north", "2025", "2025/north")
    ]
    found = run_json(capsys, "scope", "add", path, "south")
    assert run_json(capsys, "scope", "list", path) == found
    assert [s["scope"] for s in found["scopes"]] == ["", "north", "2025", "2025/north", "south"]
    assert found["head"] == LedgerFile(path).head
    for name in ("North", "n\u043erth", "n0rth", "2025 /north", "2025/NORTH"):
        assert "looks like" in refused(capsys, "scope", "add", path, name)
    assert "declare that one first" in refused(capsys, "scope", "add", path, "2026/north")
    assert "Missing argument" in refused(capsys, "scope", "add", path)
    assert LedgerFile(path).head == found["head"]


def test_a_ledger_of_another_format_is_told_what_to_do(capsys, path):
    make_first_format(path)
    for command in ("show", "verify", "export"):
        assert "is of format 1" in refused(capsys, command, path)


def test_history_lists_the_charges_and_cannot_steer_the_terminal(capsys, ledger, path):
    code, out, _ = run(capsys, "history", path)
    assert code == 0
    assert "\x1b" not in out
    header, first, second = out.splitlines()
    assert header.split() == ["time", "(UTC)", "scope", "purpose", "key", "epsilon", "spent"]
    assert "2025/north" in first
    assert "monday" in first
    assert second.split()[2:] == ["all", "fit", "-", "0.5000", "1.0000"]
    charges = run_json(capsys, "history", path)["charges"]
    assert [c["key"] for c in charges] == ["monday", None]
    assert [c["spent"] for c in charges] == [0.5, 1.0]


def test_history_tells_which_jobs_can_go_on(capsys, ledger, path):
    place = journal_place(path, "monday")
    place.write_bytes(b"")
    assert "The job 'monday' has kept no result. Started again" in run(capsys, "history", path)[1]
    charges = run_json(capsys, "history", path)["charges"]
    assert [c["resumable"] for c in charges] == [True, False]
    ledger.keep("monday", b"the result")
    assert not place.exists()
    place.write_bytes(b"")  # the process was killed before it removed the journal
    assert "kept no result" not in run(capsys, "history", path)[1]


def test_verify_finds_a_ledger_in_order(capsys, ledger, path):
    code, out, _ = run(capsys, "verify", path)
    assert code == 0
    assert "is in order (rows: 5, charges: 2)" in out
    assert "only with --head" in out
    result = run_json(capsys, "verify", path, "--head", ledger.head)
    assert result["verified"] is True
    assert (result["rows"], result["charges"], result["image"]) == (5, 2, True)


def test_a_failed_verification_exits_with_one(capsys, ledger, path):
    assert "rows are missing" in refused(capsys, "verify", path, "--head", "0" * 64, code=1)
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("DROP TRIGGER entry_update")
    connection.close()
    assert "triggers" in refused(capsys, "verify", path, code=1)
    result = run_json(capsys, "verify", path, code=1)
    assert result["verified"] is False
    assert "triggers" in result["reason"]
    assert "triggers" in refused(capsys, "show", path)


def test_what_cannot_be_verified_is_bad_input(capsys, ledger, path, tmp_path):
    assert "64 hexadecimal digits" in refused(capsys, "verify", path, "--head", "abc")
    assert "no ledger file" in refused(capsys, "verify", tmp_path / "nothing")


def test_another_layout_is_said(capsys, ledger, path):
    forge_rows(path, Declared("elsewhere", sqlite="3.99.0"))
    whole = bytearray(path.read_bytes())
    whole[whole.index(bytes(64), 4096)] ^= 1
    path.write_bytes(whole)
    code, out, _ = run(capsys, "verify", path)
    assert code == 0
    assert "Another version of SQLite" in out


def test_export_writes_the_chain(capsys, ledger, path, tmp_path):
    code, out, _ = run(capsys, "export", path)
    assert code == 0
    lines = [json.loads(line) for line in out.splitlines()]
    assert lines[-1]["hash"] == ledger.head
    assert run_json(capsys, "export", path)["rows"] == lines
    target = tmp_path / "export.jsonl"
    assert run_json(capsys, "export", path, "--out", target) == {"export": str(target), "rows": 5}
    assert target.read_text() == out
    assert "cannot be written" in refused(capsys, "export", path, "--out", tmp_path)


@pytest.mark.parametrize("command", ["show", "history", "verify", "export"])
def test_every_command_refuses_what_is_no_ledger(capsys, ledger, path, tmp_path, command):
    assert "dpfair ledger init" in refused(capsys, command, tmp_path / "nothing")
    assert "is no file" in refused(capsys, command, tmp_path)
    assert "Missing argument 'FILE'" in refused(capsys, command)
    path.chmod(0o644)
    assert "chmod 600" in refused(capsys, command, path)
    path.chmod(0o600)
    os.link(path, tmp_path / "second")
    assert "second name" in refused(capsys, command, path)
    csv = tmp_path / "loans.csv"
    csv.write_text("a,b\n1,2\n")
    csv.chmod(0o600)
    code = 1 if command == "verify" else 2
    assert "no ledger file" in refused(capsys, command, csv, code=code)


def test_a_plan_is_said_when_the_file_is_made(capsys, tmp_path):
    new = tmp_path / "planned.ledger"
    code, out, _ = run(capsys, "init", new, "--epsilon", "3", "--delta", "1e-5", "--planned")
    assert code == 0
    assert "chosen beforehand" in out
    assert LedgerFile(new).composition == "tight"


def test_a_table_is_no_ledger_whoever_may_read_it(capsys, tmp_path):
    table = tmp_path / "loans.csv"
    table.write_text("age,sex\n1,f\n")
    for mode in (0o644, 0o600):
        table.chmod(mode)
        code, _, err = run(capsys, "show", table)
        assert code == 2
        assert "no ledger file" in err
        assert "chmod" not in err
