"""Files are written whole or not at all, and never over a ledger."""

from __future__ import annotations

import os

import pytest

from dpfair import InputError, LedgerFile
from dpfair.errors import LedgerFileError
from dpfair.files import check_place, write_file


def test_a_file_is_written_and_replaced_and_nothing_else_is_left(tmp_path):
    path = tmp_path / "file"
    assert write_file(str(path), b"one") == path
    path.chmod(0o600)
    write_file(path, b"two")
    assert path.read_bytes() == b"two"
    assert path.stat().st_mode & 0o777 == 0o600
    check_place(path)
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "link").symlink_to("file")
    write_file(tmp_path / "link", b"one")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_bytes() == b"one"


def test_a_failure_leaves_the_old_file_and_no_draft(tmp_path, monkeypatch):
    path = tmp_path / "file"
    write_file(path, b"one")

    def fail(*_):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(InputError, match=r"file cannot be written: Input/output error\.$"):
        write_file(path, b"two")
    assert path.read_bytes() == b"one"
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_a_name_may_be_as_long_as_the_system_allows(tmp_path):
    path = tmp_path / ("a" * 255)
    check_place(path)
    assert write_file(path, b"one").read_bytes() == b"one"


@pytest.mark.parametrize("name", ["a.ledger", "a.ledger-wal", "a.ledger-shm", "link", "second"])
@pytest.mark.parametrize("write", [check_place, lambda path: write_file(path, b"one")])
def test_a_ledger_is_never_overwritten(name, write, tmp_path):
    ledger = tmp_path / "a.ledger"
    LedgerFile.create(ledger, 1, 1e-5).close()
    (tmp_path / "link").symlink_to("a.ledger")
    os.link(ledger, tmp_path / "second")
    before = ledger.read_bytes()
    with pytest.raises(InputError, match="a ledger file is never overwritten"):
        write(tmp_path / name)
    assert ledger.read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 3


def test_other_databases_and_short_files_may_be_replaced(tmp_path):
    for content in (b"", b"SQLite format 3\0" + bytes(100), bytes(68) + b"dplg"):
        (tmp_path / "file").write_bytes(content)
        write_file(tmp_path / "file", b"one")
        assert (tmp_path / "file").read_bytes() == b"one"


def test_a_file_that_was_no_ledger_can_be_written_afterwards(tmp_path):
    path = tmp_path / "page.html"
    path.write_bytes(b"no ledger")
    path.chmod(0o600)
    with pytest.raises(LedgerFileError):
        LedgerFile(path)
    write_file(path, b"page")
    assert path.read_bytes() == b"page"
