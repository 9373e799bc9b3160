"""A ledger file lies on a local disk, closed to others, under one name."""

import os
import stat
from pathlib import Path

import pytest

from dpfair import LedgerFile
from dpfair.errors import LedgerFileError
from dpfair.privacy.ledger_file import filesystem
from dpfair.privacy.ledger_file.filesystem import create_once, identity, mounted_as, refuse_network

TABLE = r"""
/dev/vda / ext4 rw 0 0
proc /proc proc rw 0 0
server:/home /home nfs4 rw 0 0
/dev/vdb /home/local\040disk xfs rw 0 0
bucket /cloud fuse.s3fs rw 0 0
/dev/vdc /cloud ext4 rw 0 0
tmpfs /home/nfs tmpfs rw 0 0
host /shared 9p rw 0 0
me@host: /far fuse.sshfs rw 0 0
crypt /near fuse.gocryptfs rw 0 0
"""


@pytest.fixture
def mounts(tmp_path):
    (tmp_path / "mounts").write_text(TABLE.strip() + "\n")
    return tmp_path / "mounts"


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/x.ledger", "ext4"),
        ("/home/x.ledger", "nfs4"),
        ("/homes/x.ledger", "ext4"),
        ("/home/local disk/x.ledger", "xfs"),
        ("/cloud/x.ledger", "ext4"),
        ("/home/nfs/a/b/x.ledger", "tmpfs"),
    ],
)
def test_the_innermost_and_latest_mount_counts(path, kind, mounts):
    assert mounted_as(Path(path), mounts) == kind


@pytest.mark.parametrize("path", ["/home/x.ledger", "/shared/x.ledger", "/far/a/x.ledger"])
def test_network_file_systems_are_refused(path, mounts):
    with pytest.raises(LedgerFileError, match="network file system"):
        refuse_network(Path(path), mounts)


@pytest.mark.parametrize("path", ["/x", "/home/local disk/x", "/near/x", "/home/nfs/x"])
def test_local_ones_are_not(path, mounts):
    refuse_network(Path(path), mounts)


def test_without_a_mount_table_nothing_is_refused(tmp_path):
    assert mounted_as(tmp_path, tmp_path / "missing") == ""
    refuse_network(tmp_path, tmp_path / "missing")


def test_the_real_table_knows_where_we_are(tmp_path):
    assert mounted_as(tmp_path) or not filesystem.MOUNTS.exists()


def write(draft):
    draft.write_bytes(b"content")


def test_a_new_file_is_complete_closed_and_alone(tmp_path):
    path = tmp_path / "x.ledger"
    create_once(path, write)
    assert path.read_bytes() == b"content"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["x.ledger"]
    assert identity(path) == (path.stat().st_dev, path.stat().st_ino)


def test_the_draft_was_never_open_to_others(tmp_path):
    seen = []
    old = os.umask(0)
    try:
        create_once(tmp_path / "x", lambda draft: seen.append(draft.stat().st_mode & 0o777))
    finally:
        os.umask(old)
    assert seen == [0o600]


def test_an_existing_file_is_never_overwritten(tmp_path):
    path = tmp_path / "x.ledger"
    path.write_text("mine")
    with pytest.raises(LedgerFileError, match="exists already"):
        create_once(path, write)
    assert path.read_text() == "mine"
    assert os.listdir(tmp_path) == ["x.ledger"]


def test_a_file_that_appears_meanwhile_is_not_overwritten_either(tmp_path):
    path = tmp_path / "x.ledger"

    def slow(draft):
        write(draft)
        path.write_text("theirs")

    with pytest.raises(LedgerFileError, match="exists already"):
        create_once(path, slow)
    assert path.read_text() == "theirs"


def test_a_failure_leaves_nothing_behind(tmp_path):
    def fail(draft):
        (tmp_path / f"{draft.name}-wal").touch()
        raise OSError(28, "No space left on device")

    with pytest.raises(LedgerFileError, match="No space left"):
        create_once(tmp_path / "x", fail)
    with pytest.raises(LedgerFileError, match="No such file"):
        create_once(tmp_path / "no" / "x", write)
    assert os.listdir(tmp_path) == []


def test_files_that_cannot_be_ledgers_are_refused_with_a_reason(tmp_path):
    path = tmp_path / "x.ledger"
    with pytest.raises(LedgerFileError, match="dpfair ledger init"):
        identity(path)
    with pytest.raises(LedgerFileError, match="is no file"):
        identity(tmp_path)
    path.touch()
    path.chmod(0o640)
    with pytest.raises(LedgerFileError, match="is no ledger file"):
        identity(path)
    path.unlink()
    LedgerFile.create(path, 1.0, 1e-6).close()
    for mode in (0o640, 0o604, 0o610, 0o601, 0o666):
        path.chmod(mode)
        with pytest.raises(LedgerFileError, match="chmod 600"):
            identity(path)
    path.chmod(0o600)
    os.link(path, tmp_path / "second")
    with pytest.raises(LedgerFileError, match="second name"):
        identity(path)
