"""Results of long computations, kept in the user's cache folder for later processes.

Only public parameters and what follows from them are kept, never anything about a record. Privacy
must not depend on what is kept, either: noise that is found from it is certified again.

The folder is ``dpfair`` in the usual place of the system for caches; the environment variable
``DPFAIR_CACHE`` names another one, or is ``off``. Only the user may read it. A result is found
again for exactly the same inputs, by the same code and the same versions of what it is computed
with. Files that another user owns or may write, and files that cannot be read, are as if they were
not there; so is a folder that cannot be used.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import dpfair
from dpfair.errors import InputError
from dpfair.files import writing

__all__ = ["kept"]

_PACKAGES = ("dp-accounting", "numpy", "scipy")
_NAME = re.compile(r"[0-9a-f]{64}\.json")
_MOST_FILES, _MOST_BYTES = 1000, 1 << 16
_FAILURES = (OSError, ValueError, RuntimeError, ImportError, InputError)


def kept(
    what: str, inputs: Any, compute: Callable[[], Any], valid: Callable[[Any], bool] | None = None
) -> Any:
    """What ``compute()`` returns, or returned earlier for the same inputs.

    Inputs and result are plain data, as in JSON, whose numbers are exact. A result is kept and used
    only if it is ``valid``.

    >>> kept("sum", [0.1, 0.2], lambda: 0.1 + 0.2, lambda value: 0 < value < 1)
    0.30000000000000004
    """
    try:
        folder, key = _folder(), _key(what, inputs)
    except _FAILURES:
        return compute()
    if folder is None:
        return compute()
    file = folder / f"{hashlib.sha256(key.encode()).hexdigest()}.json"
    accepted = valid or (lambda value: True)
    found = _read(file, key)
    if found is not None and accepted(found[0]):
        return found[0]
    result = compute()
    if accepted(result):
        _write(file, key, result)
    return result


def _folder() -> Path | None:
    named = os.environ.get("DPFAIR_CACHE", "")
    if named:
        return None if named == "off" else Path(named)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData/Local") / "dpfair"
    if sys.platform == "darwin":
        return Path.home() / "Library/Caches/dpfair"
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (base if base.is_absolute() else Path.home() / ".cache") / "dpfair"


def _key(what: str, inputs: Any) -> str:
    return json.dumps([what, inputs, _code()], sort_keys=True)


@cache
def _code() -> list[str]:
    """What computes: the versions of Python and of packages, and the files of dpfair."""
    files = hashlib.sha256(repr(sorted(_sources(Path(dpfair.__file__).parent))).encode())
    versions = [f"{package} {version(package)}" for package in _PACKAGES]
    return [f"dpfair {dpfair.__version__} {files.hexdigest()}", f"Python {sys.version}", *versions]


def _sources(folder: Path) -> Iterator[tuple[str, int, int]]:
    """Name, size and time of the files of dpfair, which change while its version stays the same."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                yield from _sources(Path(entry))
            elif entry.name.endswith(".py"):
                yield entry.path, entry.stat().st_size, entry.stat().st_mtime_ns


def _read(file: Path, key: str) -> tuple[Any] | None:
    """The result in a file that nobody else can have written, if it is that of the key."""
    # A link is not followed, and a pipe does not block.
    how = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        if not _own(file.parent.stat()):
            return None
        with open(os.open(file, how), "rb") as opened:
            if not _own(os.fstat(opened.fileno())):
                return None
            stated, result = json.loads(opened.read(_MOST_BYTES))
    except (*_FAILURES, TypeError):
        return None
    return (result,) if stated == key else None


def _write(file: Path, key: str, result: Any) -> None:
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _own(file.parent.stat()):
            return
        _make_room(file.parent)
        with writing(file) as draft:
            draft.chmod(0o600)
            draft.write_text(json.dumps([key, result]), encoding="utf-8")
    except _FAILURES:
        pass


def _own(status: os.stat_result) -> bool:
    """Whether only this user can write to a file or folder, as far as the system tells."""
    return os.name != "posix" or (status.st_uid == os.geteuid() and not status.st_mode & 0o022)


def _make_room(folder: Path) -> None:
    """Remove the older half if there are too many results."""
    results = [file for file in folder.iterdir() if _NAME.fullmatch(file.name)]
    if len(results) >= _MOST_FILES:
        for file in sorted(results, key=lambda file: file.stat().st_mtime)[: _MOST_FILES // 2]:
            file.unlink(missing_ok=True)
