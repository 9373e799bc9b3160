"""What is released is paid for, whenever the process dies, stalls or runs out of disk.

A child charges and releases in a loop, under a fresh key each time; releasing is appending the key
to a file that is synced to the disk. After every kill each released key must be a charged one.
"""

from __future__ import annotations

import itertools
import os
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from dpfair.errors import LedgerFileError
from dpfair.privacy.events import noisy_table
from dpfair.privacy.ledger_file import LedgerFile

EVENT = noisy_table("1/1000", "add_remove")
BUDGET = 10**6

Release = Callable[[], None]
# Made once per process from the ledger's path; called with a fresh key and what releases it.
Job = Callable[[str, Release], None]


def counting(path: Path) -> Job:
    """The cheapest honest job: charge, draw, release."""
    ledger = LedgerFile(path)

    def job(key: str, release: Release) -> None:
        receipt = ledger.charge(EVENT, scope="", purpose="crash", key=key)
        receipt.draw(EVENT).discrete_laplace([0])
        release()

    return job


def releasing_first(path: Path) -> Job:
    """A broken job: it pays for what is already out."""
    ledger = LedgerFile(path)

    def job(key: str, release: Release) -> None:
        release()
        ledger.charge(EVENT, scope="", purpose="crash", key=key)

    return job


@dataclass
class Damage:
    """What was seen after all kills."""

    kills: int = 0
    released: int = 0
    charged: int = 0
    unpaid: set[str] = field(default_factory=set)
    seconds: float = 0.0


def kill_at_random(
    folder: Path,
    kills: int = 1000,
    make_job: Callable[[Path], Job] = counting,
    *,
    children: int = 2,
    longest: float = 0.2,
    stop: bool = False,
    seed: int = 0,
) -> Damage:
    """Kill -9 all children of a round at random moments; with ``stop``, freeze them first."""
    path, releases = folder / "crash.ledger", folder / "releases"
    ledger = LedgerFile.create(path, BUDGET, 1e-5)
    releases.touch()
    rng, damage, began = random.Random(seed), Damage(), time.perf_counter()
    while damage.kills < kills:
        pids = [_child(path, releases, make_job) for _ in range(children)]
        for pid in pids:
            time.sleep(rng.uniform(0, longest))
            if stop:
                os.kill(pid, signal.SIGSTOP)
                time.sleep(rng.uniform(0, longest))
                os.kill(pid, signal.SIGCONT)
                time.sleep(rng.uniform(0, longest))
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
            _, status = os.waitpid(pid, 0)
            assert os.WIFSIGNALED(status), f"a child gave up: {status}"
        damage.kills += len(pids)
        _look(ledger, releases, damage)
        if damage.kills % 100 < children:
            ledger.verify()
    ledger.verify()
    damage.seconds = time.perf_counter() - began
    return damage


def _look(ledger: LedgerFile, releases: Path, damage: Damage) -> None:
    charged = {charge.key for charge in ledger.history}
    released = releases.read_text().split("\n")
    damage.released, damage.charged = len(released) - 1, len(charged)
    # The last line may be torn: then whatever it was the beginning of is out.
    torn = [key for key in released[-1:] if key and not any(c.startswith(key) for c in charged)]
    damage.unpaid |= {key for key in released[:-1] if key not in charged} | set(torn)


def _child(path: Path, releases: Path, make_job: Callable[[Path], Job]) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        job, out, n = make_job(path), os.open(releases, os.O_WRONLY | os.O_APPEND), 0
        while True:
            key = f"{os.getpid()}-{time.time_ns()}-{n}"

            def release(line: bytes = f"{key}\n".encode()) -> None:
                os.write(out, line)
                os.fsync(out)

            job(key, release)
            n += 1
    except BaseException as error:
        os.write(2, f"{error!r}\n".encode())
    finally:
        os._exit(1)


def torn_logs(folder: Path, charges: int = 50, step: int = 1) -> tuple[int, int]:
    """Truncate the log of a crashed process at every ``step``-th byte, as a power cut may.

    Returns the number of truncations and of charges that were lost.
    """
    path, log = folder / "torn.ledger", folder / "torn.ledger-wal"
    LedgerFile.create(path, BUDGET, 1e-5).close()
    pid = os.fork()
    if pid == 0:
        reader = sqlite3.connect(path)  # the log is there as long as somebody has the file open
        reader.execute("SELECT count(*) FROM entry").fetchall()
        ledger = LedgerFile(path)
        for n in range(charges):
            ledger.charge(EVENT, scope="", purpose="torn", key=str(n))
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(pid, 0)
    whole = log.read_bytes()
    lost = tried = 0
    copy = folder / "copy.ledger"
    for length in range(0, len(whole) + 1, step):
        shutil.copy(path, copy)
        Path(f"{copy}-wal").write_bytes(whole[:length])
        Path(f"{copy}-shm").unlink(missing_ok=True)
        ledger = LedgerFile(copy)  # checks the chain
        lost += charges - len(ledger.entries)
        tried += 1
        ledger.close()
    return tried, lost


@contextmanager
def small_disk(folder: Path, kilobytes: int, wanted: bool = True) -> Iterator[Path | None]:
    """A disk of this size, or None if it is not wanted or the system does not let us have one."""
    place = folder / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(place)]
    possible = wanted and not os.geteuid() and shutil.which("mount") is not None
    if not possible or subprocess.run(mount).returncode:
        yield None
        return
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def fill_disk(folder: Path, kilobytes: int = 200, *, disk: bool = True) -> tuple[int, int]:
    """Charge until the disk is full: (receipts, charges in the file), and it goes on afterwards.

    Without a small disk the largest size of a file is limited instead.
    """
    with small_disk(folder, kilobytes, disk) as place:
        path = (place or folder) / "full.ledger"
        ledger = LedgerFile.create(path, BUDGET, 1e-5)
        old = resource.getrlimit(resource.RLIMIT_FSIZE)
        if place is None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (kilobytes * 1024, old[1]))
        try:
            receipts, reason = _receipts_until_full(ledger)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, old)
        assert "no receipt was given" in reason, reason
        if place is not None:
            subprocess.run(
                ["mount", "-o", f"remount,size={4 * kilobytes}k", str(place)], check=True
            )
        charges = len(LedgerFile(path).entries)
        ledger.charge(EVENT, scope="", purpose="there is room again")
        assert ledger.verify().charges == charges + 1
        ledger.close()
        return receipts, charges


def _receipts_until_full(ledger: LedgerFile) -> tuple[int, str]:
    for receipts in itertools.count():
        try:
            ledger.charge(EVENT, scope="", purpose="x" * 900)
        except LedgerFileError as error:
            return receipts, str(error)
    raise AssertionError
