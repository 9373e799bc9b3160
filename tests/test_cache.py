"""What is kept is found again for the same inputs, and is never worse than nothing."""

from __future__ import annotations

import json
import os
import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from dpfair import cache
from dpfair.cache import kept

POSIX = pytest.mark.skipif(os.name != "posix", reason="permissions and links of POSIX")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    folder = tmp_path / "cache"
    monkeypatch.setenv("DPFAIR_CACHE", str(folder))
    return folder


@pytest.fixture
def computed():
    return []


@pytest.fixture
def ask(computed):
    """Ask for a value; ``computed`` has the inputs that were computed."""

    def ask(inputs=(0.1, "a"), value=0.1 + 0.2, valid=None):
        def compute():
            computed.append(inputs)
            return value

        return kept("test", inputs, compute, valid)

    return ask


def only(folder):
    [file] = folder.iterdir()
    return file


@pytest.mark.parametrize(
    "value", [0.1 + 0.2, 1e-300, 3, None, "é", [1, 2.5], {"b": 1.0, "a": None}]
)
def test_the_same_value_without_computing_it_again(folder, ask, computed, value):
    assert ask(value=value) == ask(value=value) == value
    assert len(computed) == 1


def test_other_inputs_are_computed(folder, ask, computed):
    for inputs in ((0.1, "a"), (0.1 + 2**-56, "a"), (0.1, "b"), (0.1,), {"a": 0.1}):
        ask(inputs)
        ask(inputs)
    assert len(computed) == 5
    assert kept("another", (0.1, "a"), lambda: 7) == 7


@pytest.mark.parametrize("package", ["dpfair", "Python", "dp-accounting", "numpy", "scipy"])
def test_other_code_computes_again(folder, ask, computed, monkeypatch, package):
    ask()
    right = cache._code()
    assert sum(line.startswith(f"{package} ") for line in right) == 1
    changed = [line + ".1" if line.startswith(f"{package} ") else line for line in right]
    monkeypatch.setattr(cache, "_code", lambda: changed)
    ask()
    assert len(computed) == 2


def test_a_changed_file_of_dpfair_is_other_code(tmp_path, monkeypatch):
    source = tmp_path / "part" / "module.py"
    source.parent.mkdir()
    source.write_text("x = 1")
    monkeypatch.setattr(cache.dpfair, "__file__", str(tmp_path / "__init__.py"))
    before = cache._code.__wrapped__()
    source.write_text("x = 10")
    assert cache._code.__wrapped__() != before


def replace(file, *, key=None, result=None):
    stated, found = json.loads(file.read_text())
    file.write_text(json.dumps([key or stated, result or found]))


@pytest.mark.parametrize("content", ["", "{", "[1]", "7", '{"a": 1}', "[" * 60_000, "\0\xff"])
def test_a_malformed_file_is_ignored_and_replaced(folder, ask, computed, content):
    ask()
    file = only(folder)
    file.write_bytes(content.encode("latin-1"))
    assert ask() == ask() == 0.1 + 0.2
    assert len(computed) == 2


def test_a_file_of_other_inputs_is_ignored(folder, ask, computed):
    ask()
    replace(only(folder), key="another", result=7)
    assert ask() == 0.1 + 0.2


def test_a_result_that_is_not_valid_is_neither_used_nor_kept(folder, ask, computed):
    ask(valid=lambda value: False)
    assert not folder.exists()
    ask()
    replace(only(folder), result=7)
    assert ask() == 7  # what is kept is not certified by the cache itself
    assert ask(valid=lambda value: value < 1) == ask(valid=lambda value: value < 1) == 0.1 + 0.2
    assert len(computed) == 3


@POSIX
@pytest.mark.parametrize("mode", [0o666, 0o620, 0o602])
def test_a_file_that_others_may_write_is_ignored(folder, ask, computed, mode):
    ask()
    only(folder).chmod(mode)
    replace(only(folder), result=7)
    assert ask() == 0.1 + 0.2
    assert len(computed) == 2


@POSIX
@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
def test_a_folder_that_others_may_write_is_ignored(folder, ask, computed, mode):
    ask()
    replace(only(folder), result=7)
    before = only(folder).read_bytes()
    folder.chmod(mode)
    assert ask() == 0.1 + 0.2
    assert only(folder).read_bytes() == before


@POSIX
@pytest.mark.parametrize("foreign", ["file", "folder"])
def test_what_another_user_owns_is_ignored(folder, ask, computed, monkeypatch, foreign):
    ask()
    replace(only(folder), result=7)
    own, number = cache._own, (only(folder) if foreign == "file" else folder).stat().st_ino

    def foreign_owner(status):
        changed = list(status)
        changed[4] += status.st_ino == number  # st_uid
        return own(os.stat_result(changed))

    monkeypatch.setattr(cache, "_own", foreign_owner)
    assert ask() == 0.1 + 0.2


@POSIX
def test_links_and_pipes_are_not_followed(folder, ask, computed, tmp_path):
    ask()
    file = only(folder)
    replace(file, result=7)
    file.rename(tmp_path / "elsewhere")
    file.symlink_to(tmp_path / "elsewhere")
    assert ask() == 0.1 + 0.2
    file.unlink()
    os.mkfifo(file)
    assert ask() == 0.1 + 0.2


@POSIX
def test_only_the_user_may_read(folder, ask):
    old = os.umask(0)
    try:
        ask()
    finally:
        os.umask(old)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert only(folder).stat().st_mode & 0o777 == 0o600


def test_a_folder_that_cannot_be_made_fails_nothing(tmp_path, ask, computed, monkeypatch):
    (tmp_path / "file").write_text("")
    for name in (tmp_path / "file" / "cache", tmp_path / "file", "\udcff" * 300):
        monkeypatch.setenv("DPFAIR_CACHE", str(name))
        assert ask() == 0.1 + 0.2


def test_packages_without_a_version_fail_nothing(folder, ask, computed, monkeypatch):
    def version(package):
        raise PackageNotFoundError(package)

    monkeypatch.setattr(cache, "version", version)
    monkeypatch.setattr(cache, "_code", cache._code.__wrapped__)
    assert ask() == ask() == 0.1 + 0.2
    assert len(computed) == 2


def test_off(tmp_path, ask, computed, monkeypatch):
    monkeypatch.setenv("DPFAIR_CACHE", "off")
    monkeypatch.chdir(tmp_path)
    ask()
    ask()
    assert len(computed) == 2
    assert not list(tmp_path.iterdir())


def test_the_usual_places(monkeypatch, tmp_path):
    for name in ("DPFAIR_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    usual = {
        "linux": tmp_path / ".cache/dpfair",
        "darwin": tmp_path / "Library/Caches/dpfair",
        "win32": tmp_path / "AppData/Local/dpfair",
    }
    for system, place in usual.items():
        monkeypatch.setattr(sys, "platform", system)
        assert cache._folder() == place
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache._folder() == tmp_path / "xdg/dpfair"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache._folder() == usual["linux"]


def test_old_results_make_room(folder, ask, monkeypatch):
    monkeypatch.setattr(cache, "_MOST_FILES", 10)
    folder.mkdir(mode=0o700)
    (folder / "of the user.json").write_text("")
    for number in range(50):
        ask([number])
    assert 5 <= len(list(folder.iterdir())) <= 11
    assert (folder / "of the user.json").exists()
