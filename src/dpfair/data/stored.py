"""Parts of records in temporary files, mapped into memory while they are looked at.

Nothing of a part stays in memory between two looks, so that a table of any size needs the memory of
one part. The system keeps pages of the files as long as there is room.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from contextlib import contextmanager
from mmap import mmap
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.format import open_memmap
from numpy.typing import DTypeLike, NDArray

from dpfair.data.compact import Numbers
from dpfair.data.kept import Drawer, Kept
from dpfair.data.records import Addends, Records
from dpfair.data.workspace import Workspace
from dpfair.errors import InputError

__all__ = ["StoredPart"]

_COLUMNS = ("groups", "labels", "irregular", "offsets")


class StoredPart:
    """Some records in the files of a workspace."""

    def __init__(self, workspace: Workspace, records: Records) -> None:
        self._workspace, self._kept = workspace, _FileKept(workspace)
        self._rows, self._first, self._words = len(records), records.first, records.words
        # The values that codes mean are few, and stay in memory.
        self._values = [None if c.codes is None else c.values for c in records.numeric]
        self._categories = len(records.codes)
        self._arrays = _FileArrays(workspace.new_folder())
        for i, column in enumerate(records.numeric):
            self._arrays[f"numbers {i}"] = column.values if column.codes is None else column.codes
        for i, codes in enumerate(records.codes):
            self._arrays[f"codes {i}"] = codes
        for name in _COLUMNS:
            if (found := getattr(records, name)) is not None:
                self._arrays[name] = found

    def __len__(self) -> int:
        return self._rows

    def _open(self) -> Records:
        arrays = self._arrays
        return Records(
            numeric=_Columns(len(self._values), self._numbers),
            codes=_Columns(self._categories, lambda i: arrays[f"codes {i}"]),
            groups=arrays["groups"],
            labels=arrays.get("labels"),
            irregular=arrays.get("irregular"),
            offsets=arrays.get("offsets"),
            words=self._words,
            first=self._first,
        ).keeping(self._kept)

    def _numbers(self, i: int) -> Numbers:
        values, array = self._values[i], self._arrays[f"numbers {i}"]
        return Numbers(array) if values is None else Numbers(values, array)

    def total(self, measure: Callable[[Records], Addends]) -> Addends:
        """What the measure says about these records."""
        return measure(self._open())

    def map(self, change: Callable[[Records], Records]) -> StoredPart:
        """The records after a change, in files of their own unless they are the same."""
        before = self._open()
        after = change(before)
        return self if after is before else StoredPart(self._workspace, after)

    def forget(self) -> None:
        """Drop what was kept."""
        self._kept.clear()


class _Columns(Sequence[Any]):
    """Columns that are mapped when they are looked at, because most measures need few."""

    def __init__(self, count: int, column: Callable[[int], Any]) -> None:
        self._count, self._column = count, column

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, i: Any) -> Any:
        if not 0 <= i < self._count:
            raise IndexError(i)
        return self._column(i)


@contextmanager
def _room_for(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(
            f"The temporary file {path} cannot be written ({error.strerror or error}): set TMPDIR "
            "to a folder with more room."
        ) from None


class _FileArrays(MutableMapping[str, NDArray[Any]]):
    """Arrays in the files of a folder, mapped at every look; a mapped one stays where it is."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._paths: dict[str, Path] = {}

    def __getitem__(self, name: str) -> NDArray[Any]:
        array: NDArray[Any] = np.load(self._paths[name], mmap_mode="r+")
        return array

    def __setitem__(self, name: str, array: NDArray[Any]) -> None:
        if isinstance(array, np.memmap) and isinstance(array.base, mmap) and array.filename:
            self._paths[name] = Path(array.filename)  # all of a file
            return
        path = self._folder / f"{len(self._paths)}.npy"
        with _room_for(path):
            np.save(path, array)
        self._paths[name] = path

    def __delitem__(self, name: str) -> None:
        del self._paths[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)


class _FileDrawer(Drawer):
    def __init__(self, key: object, folder: Path) -> None:
        super().__init__(key)
        self.arrays: MutableMapping[str, NDArray[Any]] = _FileArrays(folder)
        self._folder = folder

    def empty(self, name: str, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """A new array in a file."""
        path = self._folder / f"{name}.npy"
        with _room_for(path):
            array = open_memmap(path, "w+", dtype, shape)
            if hasattr(os, "posix_fallocate"):
                # To write to a mapped file for which there is no room would end the process.
                with path.open("r+b") as file:
                    os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
        self.arrays[name] = array
        return self.arrays[name]

    def close(self) -> None:
        """Remove the files."""
        shutil.rmtree(self._folder, ignore_errors=True)


class _FileKept(Kept):
    """What is kept of some records, in files."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self._workspace = workspace

    def new_drawer(self, purpose: str, key: object) -> Drawer:
        return _FileDrawer(key, self._workspace.new_folder())
