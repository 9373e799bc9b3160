"""Where a ledger file may be, who may read it, and how it is created."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Callable
from pathlib import Path

from dpfair.errors import LedgerFileError
from dpfair.files import LEDGER_LOGS, is_ledger, sync_folder

__all__ = ["create_once", "identity", "mounted_as", "refuse_network"]

# Locks and shared memory do not work across machines. For FUSE types, the part after the dot.
# fmt: off
NETWORK = {
    "9p", "afs", "beegfs", "ceph", "cephfs", "cifs", "coda", "davfs", "davfs2", "gcsfuse",
    "gfs", "gfs2", "glusterfs", "gpfs", "juicefs", "lustre", "ncpfs", "nfs", "nfs3", "nfs4",
    "ocfs2", "orangefs", "panfs", "prl_fs", "pvfs2", "rclone", "s3fs", "seaweedfs", "smb",
    "smb2", "smb3", "smbfs", "sshfs", "vboxsf", "vmhgfs", "vmhgfs-fuse",
}
# fmt: on
MOUNTS = Path("/proc/self/mounts")


def identity(path: Path) -> tuple[int, int]:
    """The device and number of a ledger file; an error if a ledger cannot be stored there."""
    try:
        status = path.stat()
    except OSError as error:
        raise LedgerFileError(
            f"There is no ledger file {path}; dpfair ledger init makes one."
        ) from error
    if not stat.S_ISREG(status.st_mode):
        raise LedgerFileError(f"{path} is no file.")
    if os.name == "posix" and status.st_mode & 0o077:
        if not is_ledger(path):
            raise LedgerFileError(f"{path} is no ledger file; dpfair ledger init makes one.")
        raise LedgerFileError(
            f"{path} is open to other users of this machine; run chmod 600 on it."
        )
    if status.st_nlink > 1:
        raise LedgerFileError(
            f"{path} has a second name (a hard link), under which it would be written to without "
            "a common lock; remove that name."
        )
    return status.st_dev, status.st_ino


def refuse_network(path: Path, mounts: Path | None = None) -> None:
    """Refuse network file systems, where two machines cannot lock a file reliably."""
    kind = mounted_as(path, mounts)
    if kind.removeprefix("fuse.") in NETWORK:
        raise LedgerFileError(
            f"{path} lies on a network file system ({kind}), where a lock may fail; keep the "
            "ledger on a local disk."
        )


def mounted_as(path: Path, mounts: Path | None = None) -> str:
    """The type of the file system of a path; empty if the operating system does not report it.

    ``mounts`` is the table of mounts, by default the system's.
    """
    try:
        table = (mounts or MOUNTS).read_text(errors="surrogateescape")
    except OSError:
        return ""
    longest, kind = -1, ""
    for line in table.splitlines():
        _, where, what, *_ = line.split(" ")
        place = Path(_unescape(where))
        # A later mount at the same path hides the earlier one.
        if path.is_relative_to(place) and len(place.parts) >= longest:
            longest, kind = len(place.parts), what
    return kind


def _unescape(word: str) -> str:
    """The mount table writes a blank in a path as ``\\040``."""
    for code, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        word = word.replace(code, character)
    return word


def create_once(path: Path, write: Callable[[Path], None]) -> None:
    """Create a file that is complete, durable and private as soon as it has its name.

    ``write`` gets an empty file. An existing file is never overwritten, and the log of an earlier
    file is never used.
    """
    refuse_network(path)
    for suffix in () if path.exists() else LEDGER_LOGS:
        if Path(f"{path}{suffix}").exists():
            raise LedgerFileError(
                f"{path}{suffix} is left from another ledger of this name; bring that ledger back "
                "or use another name."
            )
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        try:
            write(draft)
            with draft.open("rb+") as file:
                os.fsync(file.fileno())
            os.link(draft, path)  # unlike a renaming, it fails if the name is taken
        finally:
            for suffix in ("", *LEDGER_LOGS):
                Path(f"{draft}{suffix}").unlink(missing_ok=True)
        sync_folder(path)
    except FileExistsError as error:
        raise LedgerFileError(f"{path} exists already; a ledger is never overwritten.") from error
    except OSError as error:
        raise LedgerFileError(f"{path} cannot be written: {error.strerror}.") from error
