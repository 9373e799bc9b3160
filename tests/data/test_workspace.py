"""Temporary files: nobody else reads them, and they do not outlive their process for long."""

from __future__ import annotations

import gc
import os
import signal
import stat
import subprocess
import sys
import tempfile

import pytest

from dpfair.data.workspace import Workspace
from dpfair.errors import NoRoomError

WAIT = """
import sys, time
from dpfair.data.workspace import Workspace
from dpfair.errors import NoRoomError
place = Workspace(sys.argv[1])
(place.new_folder() / "codes.npy").write_bytes(b"secret")
print(place.folder, flush=True)
time.sleep(60)
"""


@pytest.fixture
def other(tmp_path):
    """Another process with a workspace in the same place, and its folder."""
    command = [sys.executable, "-c", WAIT, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        yield process, tmp_path / process.stdout.readline().strip()
        process.kill()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_only_the_owner_reads_the_folders(tmp_path):
    before = os.umask(0)
    try:
        place = Workspace(tmp_path)
        folders = [place.folder, place.new_folder()]
    finally:
        os.umask(before)
    assert [stat.S_IMODE(folder.stat().st_mode) for folder in folders] == [0o700, 0o700]


def test_new_folders_are_empty_and_different(tmp_path):
    place = Workspace(tmp_path)
    folders = {place.new_folder() for _ in range(3)}
    assert len(folders) == 3
    assert not any(list(folder.iterdir()) for folder in folders)


def test_the_folder_is_gone_when_it_is_closed_or_no_longer_used(tmp_path):
    place = Workspace(tmp_path)
    (place.new_folder() / "codes.npy").write_bytes(b"x")
    place.close()
    assert not list(tmp_path.iterdir())
    place = Workspace(tmp_path)
    (place.new_folder() / "codes.npy").write_bytes(b"x")
    del place
    gc.collect()
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_that_was_forked_removes_nothing(tmp_path):
    place = Workspace(tmp_path)
    child = os.fork()
    if not child:
        place.close()
        Workspace(tmp_path)
        os._exit(0)
    os.waitpid(child, 0)
    assert place.folder.is_dir()


def test_the_folder_is_gone_when_its_process_ends(tmp_path):
    code = WAIT.replace("time.sleep(60)", "raise SystemExit(3)")
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False)
    assert not list(tmp_path.iterdir())


def test_the_folder_of_a_killed_process_is_removed_by_the_next_one(other, tmp_path):
    process, folder = other
    process.send_signal(getattr(signal, "SIGKILL", signal.SIGTERM))
    process.wait()
    assert (folder / "0" / "codes.npy").is_file()
    place = Workspace(tmp_path)
    assert [*tmp_path.iterdir()] == [place.folder]


def test_the_folder_of_a_living_process_stays(other, tmp_path):
    _, folder = other
    here = Workspace(tmp_path)
    Workspace(tmp_path)
    assert (folder / "0" / "codes.npy").is_file()
    assert here.folder.is_dir()


def test_a_folder_that_is_being_made_stays(tmp_path):
    new = tmp_path / "dpfair-records-new"
    new.mkdir()
    (new / "lock").touch()  # before the lock is held
    Workspace(tmp_path)
    assert new.is_dir()


def test_a_full_disk_says_what_to_do(tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pathlib.Path.write_bytes", full)
        with pytest.raises(NoRoomError, match=r"left on device\): set TMPDIR to a folder"):
            Workspace(tmp_path)
    assert not list(tmp_path.iterdir())
    place = Workspace(tmp_path)
    monkeypatch.setattr("pathlib.Path.mkdir", full)
    with pytest.raises(NoRoomError, match=r"left on device\): set TMPDIR to a folder"):
        place.new_folder()


def test_a_folder_that_cannot_be_listed_will_do(tmp_path, monkeypatch):
    def hidden(_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.iterdir", hidden)
    assert Workspace(tmp_path).new_folder().is_dir()


def test_records_are_not_kept_elsewhere_than_named(tmp_path, monkeypatch):
    """A program that cannot write to TMPDIR usually takes another folder."""
    (tmp_path / "file").touch()
    for name in ("missing", "file"):
        monkeypatch.setenv("TMPDIR", str(tmp_path / name))
        with pytest.raises(NoRoomError, match=f"{name}, which is no folder"):
            Workspace()
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", "/")  # where Python has found room before
    assert Workspace().folder.parent == tmp_path
