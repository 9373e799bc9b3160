"""The answers of a job so far, in a file: a job that was killed goes on where it ended.

A fit that asks its records for sums only is a function of these records, of a few secret keys (of
the split and of coins) and of the noisy answers. Every key and every answer is written to the
journal before it is used. If the process is killed, the next try of the same job takes them from
there: it pays for nothing again, draws no answer again, and computes no sum that was answered.

Privacy
-------
The answers in a journal are those of one run, which is what was paid for. An answer that was drawn
but not written was not used for anything, so it is as if it had never been drawn. Nor was one that
was written and then lost with the power: all lines are on the disk before a fit ends.

A journal is secret, and its owner alone can read it. It holds noisy answers, the keys, and a
number by which the records are recognised: whether they are the same, in the same order, since a
record that moves could be trained on before the interruption and counted after it. The number is a
sum of one pseudo-random number per record, under one of the keys.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from dpfair.errors import InputError, LedgerTamperedError, NoRoomError
from dpfair.files import lock_file, sync_folder
from dpfair.privacy.draw import Question
from dpfair.privacy.event_json import event_to_json
from dpfair.privacy.events import DpEvent
from dpfair.privacy.noise import Noise

__all__ = ["Journal", "JournaledNoise", "journal_place"]

T = TypeVar("T")

_NO_LINE = "0" * 64


def journal_place(ledger: Path, key: str) -> Path:
    """Where the journal of a job is: beside the ledger file that paid for it."""
    return ledger.with_name(f"{ledger.name}-job-{hashlib.sha256(key.encode()).hexdigest()[:16]}")


class Journal:
    """Keys and answers in the order in which they are asked for, one line each.

    Every line begins with a hash of itself and the line before. A last line that was not finished
    was not used, so it is dropped; any other defect is an error.

    Parameters
    ----------
    place
        The file. It is locked while the journal is open, so one process at a time does the job.
    new
        Whether the job may have no journal yet.
    """

    def __init__(self, place: Path, *, new: bool) -> None:
        flags = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
        try:
            descriptor = os.open(place, flags | os.O_CREAT * new, 0o600)
        except OSError as error:
            raise InputError(f"{place} cannot be opened: {error.strerror}.") from error
        self._file = os.fdopen(descriptor, "r+b", buffering=0)
        self._process = os.getpid()
        try:
            lock_file(self._file)
        except OSError as error:
            self.close()
            raise InputError("The job is running in another process.") from error
        try:
            self._keep_secret(place)
            if new:
                sync_folder(place)
            self._read(place)
        except BaseException:
            self.close()
            raise

    def clear(self) -> None:
        """Drop what another ledger of the same name has left; the job was not charged yet."""
        self._file.truncate(0)
        self._file.seek(0)
        self._hash = _NO_LINE
        self._known.clear()

    @property
    def empty(self) -> bool:
        """Whether nothing was written, or all of it was lost."""
        return self._hash == _NO_LINE

    def state(
        self,
        about: str,
        content: str | None,
        otherwise: str = "The job was begun with another plan, by another version of dpfair or for "
        "another ledger.",
    ) -> None:
        """Write what the job belongs to, or check that it is what was written."""
        known = self.next(about)
        if known is None:
            self.write(about, content)
        elif known != content:
            raise InputError(f"{otherwise} Continue it as it was begun, or use another key.")

    def next(self, about: str) -> Any:
        """The next line, which has to be about this; None if there is no further one."""
        if not self._known:
            return None
        known, content = self._known.pop()
        if known != about:
            raise InputError(
                "The job asks for something else than before it was interrupted: its data, "
                "settings or libraries have changed."
            )
        return content

    def write(self, about: str, content: Any) -> None:
        """Append a line, before anybody uses it."""
        if self._known or self._process != os.getpid():
            raise InputError("The job cannot be continued here: it asks something else, or forked.")
        body = json.dumps([about, content])
        line = f"{self._chained(body)} {body}\n".encode()
        try:
            written = self._file.write(line)
        except OSError as error:
            raise _unwritten(error.strerror) from error
        if written != len(line):
            raise _unwritten("the disk may be full")

    def sync(self) -> None:
        """Wait until everything that was written is on the disk."""
        try:
            os.fsync(self._file.fileno())
        except OSError as error:
            raise _unwritten(error.strerror) from error

    def close(self) -> None:
        """Release the file; it stays where it is."""
        self._file.close()

    def _keep_secret(self, place: Path) -> None:
        """Refuse a file that somebody else has put there, and let nobody else read it."""
        if os.name != "posix":
            return
        status = os.fstat(self._file.fileno())
        if not (stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()):
            raise InputError(f"{place} is no file of this user: remove it, or use another key.")
        os.fchmod(self._file.fileno(), 0o600)

    def _read(self, place: Path) -> None:
        """Take what was written before, and drop a last line that was not finished."""
        self._hash, self._known = _NO_LINE, list[tuple[str, Any]]()
        lines, whole = self._file.readall().split(b"\n"), 0
        for line in lines[:-1]:
            found, _, body = line.decode(errors="replace").partition(" ")
            if self._chained(body) != found:
                raise LedgerTamperedError(f"The journal {place} is damaged.")
            self._known.append(tuple(json.loads(body)))
            whole += len(line) + 1
        self._known.reverse()
        self._file.truncate(whole)
        self._file.seek(whole)

    def _chained(self, body: str) -> str:
        self._hash = hashlib.sha256(f"{self._hash} {body}".encode()).hexdigest()
        return self._hash


def _unwritten(why: str | None) -> NoRoomError:
    return NoRoomError(f"The journal of the job could not be written: {why}.")


class JournaledNoise(Noise):
    """The secure source of a job that can be continued: keys and answers are in a journal."""

    def __init__(self) -> None:
        super().__init__()
        self._journal: Journal | None = None
        self._drawing = False

    def __getstate__(self) -> dict[str, object]:
        return super().__getstate__() | {"_journal": None, "_drawing": False}

    def write_to(self, journal: Journal) -> None:
        """Take what the journal knows, and then write to it."""
        self._journal = journal

    def end(self) -> None:
        """Everything is drawn: wait until it is on the disk, before anybody sees it."""
        if self._journal is not None:
            self._journal.sync()
            self._journal = None

    def recall(self, question: object) -> Any:
        """The answer that was given before, if there is one."""
        assert isinstance(question, Question)
        if self._journal is None:
            return None
        known = self._journal.next(_about(question))
        return None if known is None else _answer_from_json(known)

    def answer(self, question: object, noisy: Callable[[], T]) -> T:
        """Draw an answer, and write it before it is used."""
        assert isinstance(question, Question)
        self._drawing = True
        try:
            answer = noisy()
        finally:
            self._drawing = False
        if self._journal is not None and question.kind != "assumed":
            self._journal.write(_about(question), _answer_to_json(answer))
        return answer

    def take(self, count: int) -> bytes:
        """Random bytes. Those that are not for noise are a key, which is written."""
        if self._journal is None or self._drawing:
            return super().take(count)
        about = f"key of {count} bytes"
        known = self._journal.next(about)
        if known is None:
            known = super().take(count).hex()
            self._journal.write(about, known)
        return bytes.fromhex(known)


def _about(question: Question) -> str:
    assert question.event is not None
    about = f"{question.kind} {question.scope} {_event_text(question.event)}"
    if question.units is None:
        return about
    digest = hashlib.sha256(question.units.tobytes()).hexdigest()[:16]
    return f"{about} {question.sensitivity!r} {question.units.shape} {digest}"


@lru_cache(maxsize=64)
def _event_text(event: DpEvent) -> str:
    return json.dumps(event_to_json(event))


def _answer_to_json(answer: Any) -> Any:
    if isinstance(answer, np.ndarray):
        return {
            "type": str(answer.dtype),
            "shape": answer.shape,
            "numbers": answer.ravel().tolist(),
        }
    # Counts; or tables of named counts, whose names are words or numbers.
    return [list(item.items()) if isinstance(item, dict) else item for item in answer]


def _answer_from_json(known: Any) -> Any:
    if isinstance(known, dict):
        return np.array(known["numbers"], known["type"]).reshape(known["shape"])
    return [dict(map(tuple, item)) if isinstance(item, list) else item for item in known]
