"""How files are written: whole or not at all, and never over a ledger."""

from __future__ import annotations

import os
import secrets
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from dpfair.errors import InputError

__all__ = [
    "LEDGER_LOGS",
    "LEDGER_NUMBER",
    "OPEN",
    "check_place",
    "is_ledger",
    "lock_file",
    "reading",
    "sync_folder",
    "write_file",
    "writing",
]

# How a ledger file begins: it is an SQLite file with an application number of its own, "dplg".
LEDGER_NUMBER = 0x64706C67
_SQLITE, _NUMBER = b"SQLite format 3\0", slice(68, 72)
# SQLite keeps the newest rows and the locks beside the file.
LEDGER_LOGS = ("-wal", "-shm", "-journal")
# How often this process has a ledger open, by device and number: to open such a file once more, and
# close it, would drop its locks.
OPEN: Counter[tuple[int, int]] = Counter()


@contextmanager
def reading(path: str | Path) -> Iterator[None]:
    """Say which file or directory the operating system does not let us read, and why."""
    try:
        yield
    except OSError as error:
        why = error.strerror or "the operating system refuses"
        raise InputError(f"{path} cannot be read: {why}.") from None


def check_place(path: str | Path) -> None:
    """Refuse a place that cannot be written to, by writing something else beside it."""
    try:
        place = _place(Path(path))
        draft = _draft(place)
        draft.unlink()
    except OSError as error:
        raise _unwritable(path, error) from error


def write_file(path: str | Path, content: bytes) -> Path:
    """Write a file in one step, so that nobody ever sees half of it; see :func:`writing`."""
    with writing(path) as draft:
        draft.write_bytes(content)
    return Path(path)


@contextmanager
def writing(path: str | Path) -> Iterator[Path]:
    """A draft beside a file, which takes its place in one step when all of it is written.

    A link is followed. A file that exists keeps its permissions; a ledger file is never replaced.
    """
    try:
        place = _place(Path(path))
        draft = _draft(place)
        try:
            if place.exists():
                draft.chmod(place.stat().st_mode & 0o7777)
            yield draft
            with draft.open("rb+") as file:
                os.fsync(file.fileno())
            os.replace(draft, place)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        raise _unwritable(path, error) from error


def _place(path: Path) -> Path:
    """Where a path leads to, if a file may be written there."""
    try:
        place = path.resolve()
    except RuntimeError as error:  # links that lead to each other
        raise InputError(f"{path} cannot be written: its links lead nowhere.") from error
    if place.is_dir():
        raise InputError(f"{path} cannot be written: it is a directory.")
    if not place.parent.is_dir():
        raise InputError(f"{path} cannot be written: there is no directory {place.parent}.")
    if place.exists():
        if not place.is_file():
            raise InputError(f"{path} cannot be written: it is no ordinary file.")
        if not os.access(place, os.W_OK):  # replacing it would be possible, but is not wanted
            raise InputError(f"{path} cannot be written: it is protected.")
    for name in {place, *(_without(place, suffix) for suffix in LEDGER_LOGS)}:
        if name.is_file() and is_ledger(name):
            raise InputError(f"{path} cannot be written: a ledger file is never overwritten.")
    return place


def _without(place: Path, suffix: str) -> Path:
    return place.with_name(place.name.removesuffix(suffix) or place.name)


def is_ledger(place: Path) -> bool:
    """Whether a file begins like a ledger."""
    status = place.stat()
    if OPEN[status.st_dev, status.st_ino]:
        return True
    with place.open("rb") as file:
        start = file.read(_NUMBER.stop)
    return start.startswith(_SQLITE) and start[_NUMBER] == LEDGER_NUMBER.to_bytes(4, "big")


def lock_file(file: IO[bytes]) -> None:
    """Lock a file until it is closed, or raise ``OSError`` if another process has locked it."""
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
    else:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def sync_folder(place: Path) -> None:
    """Wait until the name of a new file is on the disk."""
    if os.name == "posix":  # elsewhere a directory cannot be opened
        folder = os.open(place.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _draft(place: Path) -> Path:
    """An empty file in the same folder, under a name that nobody can guess."""
    draft = place.with_name(f".dpfair-{secrets.token_hex(8)}")
    os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    return draft


def _unwritable(path: str | Path, error: OSError) -> InputError:
    return InputError(f"{path} cannot be written: {error.strerror or error}.")
