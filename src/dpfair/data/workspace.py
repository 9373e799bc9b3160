"""A folder for temporary files of one process, which does not outlive it for long.

The folder can be read by its owner only. It is removed when it is no longer used or when the
process ends. If the process is killed, the next one of the same user that needs such a folder
removes it: a process holds a lock on a file in its folder, which the system releases whatever
happens to the process.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import IO

from dpfair.errors import NoRoomError
from dpfair.files import lock_file

__all__ = ["Workspace", "writing_temporary"]

# A folder gets its final name when its lock is held, so a folder of that name without a holder of
# its lock is abandoned.
_NEW, _PREFIX, _LOCK = "dpfair-new-", "dpfair-records-", "lock"
_NAME = re.compile(rf"{_PREFIX}[a-z0-9_]{{8}}")
_MARK = b"The folder of a process of dpfair, which holds a lock on this file.\n"


class Workspace:
    """A folder of temporary files.

    Parameters
    ----------
    parent
        Where to make it; None for the system's folder of temporary files (``TMPDIR``).
    """

    def __init__(self, parent: str | Path | None = None) -> None:
        # Windows renames no folder of an open file; it removes none, either.
        prefix = _PREFIX if os.name == "nt" else _NEW
        where = _system_folder() if parent is None else Path(parent)
        with writing_temporary(where):
            made = Path(tempfile.mkdtemp(prefix=prefix, dir=where))  # of mode 0700
            try:
                (made / _LOCK).write_bytes(_MARK)
                self._lock = (made / _LOCK).open("r+b")
                lock_file(self._lock)
                self.folder = made.with_name(made.name.replace(_NEW, _PREFIX))
                if made != self.folder:
                    made.rename(self.folder)
            except BaseException:
                shutil.rmtree(made, ignore_errors=True)
                raise
        self._numbers = count()
        self.close: Callable[[], None] = weakref.finalize(
            self, _remove, self.folder, self._lock, os.getpid()
        )
        with suppress(OSError):  # others may hide what is in their folder
            _remove_abandoned(self.folder)

    def new_folder(self) -> Path:
        """An empty folder in it."""
        folder = self.folder / str(next(self._numbers))
        with writing_temporary(folder):
            folder.mkdir(mode=0o700)
        return folder

    def check_room(self, size: int, why: str) -> None:
        """Refuse if there is no room for so many bytes more."""
        place = shutil.disk_usage(self.folder)
        if place.total and place.free < size:  # some network folders state no sizes
            raise NoRoomError(
                f"The temporary folder {self.folder.parent} has too little room for {why}: set "
                "TMPDIR to a folder with more room."
            )


def _system_folder() -> Path:
    """The system's folder of temporary files; an error rather than another one than was named."""
    named = os.environ.get("TMPDIR")
    if not named:
        return Path(tempfile.gettempdir())
    if not (os.path.isdir(named) and os.access(named, os.W_OK | os.X_OK)):
        raise NoRoomError(f"TMPDIR names {named}, which is no folder that can be written to.")
    return Path(named)  # which Python would replace if it is full


@contextmanager
def writing_temporary(path: Path) -> Iterator[None]:
    """Say what to do if a temporary file cannot be written."""
    try:
        yield
    except OSError as error:
        raise NoRoomError(
            f"The temporary file {path} cannot be written ({error.strerror or error}): set TMPDIR "
            "to a folder with more room."
        ) from None


def _remove(folder: Path, lock: IO[bytes], owner: int) -> None:
    if os.getpid() == owner:  # not a child that was forked
        shutil.rmtree(folder, ignore_errors=True)
        lock.close()
        shutil.rmtree(folder, ignore_errors=True)  # Windows removes no file that is open


def _remove_abandoned(own: Path) -> None:
    """Remove the folders beside the own one whose processes have ended."""
    for folder in own.parent.iterdir():
        if folder != own and _NAME.fullmatch(folder.name):
            with suppress(OSError):
                _remove_unlocked(folder)


def _remove_unlocked(folder: Path) -> None:
    status = folder.lstat()
    if hasattr(os, "getuid") and status.st_uid != os.getuid():
        return
    flags = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0)
    with os.fdopen(os.open(folder / _LOCK, flags), "r+b") as lock:
        if lock.read(len(_MARK) + 1) != _MARK:
            return
        lock.seek(0)
        lock_file(lock)  # fails if the process is alive
        shutil.rmtree(folder, ignore_errors=True)
    with suppress(OSError):
        shutil.rmtree(folder)
