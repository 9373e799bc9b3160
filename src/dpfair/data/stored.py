"""Parts of records in temporary files, mapped into memory while they are looked at.

Nothing of a part stays in memory between two looks, so that a table of any size needs the memory of
one part. The system keeps pages of the files as long as there is room. All columns of a part are in
one file, because a process may have few files open and a table may have many columns.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.format import open_memmap
from numpy.typing import DTypeLike, NDArray

from dpfair.data.compact import Numbers
from dpfair.data.kept import Drawer, Kept
from dpfair.data.records import Addends, Records
from dpfair.data.workspace import Workspace, writing_temporary

__all__ = ["StoredPart"]

_COLUMNS = ("groups", "labels", "irregular", "offsets")
_ALIGNED = 8


class StoredPart:
    """Some records in the files of a workspace.

    ``stored`` has the places of arrays that are in files already, by their identity.
    """

    def __init__(
        self, workspace: Workspace, records: Records, stored: Mapping[int, _Place] | None = None
    ) -> None:
        self._workspace, self._kept = workspace, _FileKept(workspace)
        self._rows, self._first = len(records), records.first
        self._numbers, self._codes = len(records.numeric), len(records.codes)
        self._words = tuple(records.words)
        self._places, stored = dict[str, _Place](), stored or {}
        path = workspace.new_folder() / "columns"
        with writing_temporary(path), path.open("wb") as file:
            for name, array in _arrays_of(records):
                place = stored.get(id(array))
                if place is None:
                    # Never no bytes at all, which could not be mapped.
                    file.write(bytes(_ALIGNED - file.tell() % _ALIGNED))
                    place = _Place(path, file.tell(), array.shape, array.dtype)
                    file.write(np.ascontiguousarray(array).data)
                self._places[name] = place

    def __len__(self) -> int:
        return self._rows

    def _mapped(self) -> dict[str, NDArray[Any]]:
        paths = {place.path for place in self._places.values()}
        files = {path: np.memmap(path, np.uint8, "r+") for path in paths}
        return {name: place.look(files[place.path]) for name, place in self._places.items()}

    def _open(self, arrays: Mapping[str, NDArray[Any]]) -> Records:
        return Records(
            numeric=tuple(
                Numbers(arrays[f"values {i}"], arrays.get(f"places {i}"))
                for i in range(self._numbers)
            ),
            codes=tuple(arrays[f"codes {i}"] for i in range(self._codes)),
            groups=arrays["groups"],
            labels=arrays.get("labels"),
            irregular=arrays.get("irregular"),
            offsets=arrays.get("offsets"),
            words=_Words({name: arrays[f"words {name}"] for name in self._words}),
            first=self._first,
        ).keeping(self._kept)

    def total(self, measure: Callable[[Records], Addends]) -> Addends:
        """What the measure says about these records."""
        return measure(self._open(self._mapped()))

    def map(self, change: Callable[[Records], Records]) -> StoredPart:
        """The records after a change; what it leaves as it is stays where it is."""
        arrays = self._mapped()
        before = self._open(arrays)
        after = change(before)
        if after is before:
            return self
        stored = {id(array): self._places[name] for name, array in arrays.items()}
        return StoredPart(self._workspace, after, stored)

    def forget(self) -> None:
        """Drop what was kept."""
        self._kept.clear()


@dataclass(frozen=True)
class _Place:
    """Where an array is."""

    path: Path
    start: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    def look(self, file: NDArray[np.uint8]) -> NDArray[Any]:
        return np.ndarray(self.shape, self.dtype, file, self.start)


class _Words(Mapping[str, tuple[str, ...]]):
    """The words of columns, which are read when they are looked at."""

    def __init__(self, texts: Mapping[str, NDArray[np.uint8]]) -> None:
        self.texts = texts

    @classmethod
    def of(cls, words: Mapping[str, tuple[str, ...]]) -> _Words:
        if isinstance(words, _Words):
            return words
        texts = {name: json.dumps(listed, ensure_ascii=False) for name, listed in words.items()}
        # A data frame may have halves of a pair of surrogates, which are no text.
        codes = {name: text.encode("utf-8", "surrogatepass") for name, text in texts.items()}
        return cls({name: np.frombuffer(code, np.uint8) for name, code in codes.items()})

    def __getitem__(self, name: str) -> tuple[str, ...]:
        return tuple(json.loads(self.texts[name].tobytes().decode("utf-8", "surrogatepass")))

    def __iter__(self) -> Iterator[str]:
        return iter(self.texts)

    def __len__(self) -> int:
        return len(self.texts)


def _arrays_of(records: Records) -> Iterator[tuple[str, NDArray[Any]]]:
    for i, column in enumerate(records.numeric):
        yield f"values {i}", column.values
        if column.codes is not None:
            yield f"places {i}", column.codes
    for i, codes in enumerate(records.codes):
        yield f"codes {i}", codes
    for name, text in _Words.of(records.words).texts.items():
        yield f"words {name}", text
    for name in _COLUMNS:
        if (found := getattr(records, name)) is not None:
            yield name, found


class _FileArrays(MutableMapping[str, NDArray[Any]]):
    """Arrays in files of their own, mapped at every look."""

    def __init__(self) -> None:
        self._paths: dict[str, Path] = {}

    def __getitem__(self, name: str) -> NDArray[Any]:
        array: NDArray[Any] = np.load(self._paths[name], mmap_mode="r+")
        return array

    def __setitem__(self, name: str, array: NDArray[Any]) -> None:
        assert isinstance(array, np.memmap)
        self._paths[name] = Path(str(array.filename))

    def __delitem__(self, name: str) -> None:
        del self._paths[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)


class _FileDrawer(Drawer):
    def __init__(self, key: object, folder: Path) -> None:
        super().__init__(key)
        self.arrays: MutableMapping[str, NDArray[Any]] = _FileArrays()
        self._folder = folder

    def empty(self, name: str, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """A new array in a file."""
        path = self._folder / f"{name}.npy"
        with writing_temporary(path):
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
