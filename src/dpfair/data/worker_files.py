"""Table files that the workers of a cluster read, piece by piece."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dpfair.data.file_pieces import file_pieces
from dpfair.data.schema import Schema
from dpfair.data.table_files import TableFiles

__all__ = ["FilesOnWorkers"]


@dataclass(frozen=True)
class FilesOnWorkers:
    """The rows of some files, to be read by workers that find them under the same names.

    ``fit`` takes it instead of a table.

    Parameters
    ----------
    files
        The files, and about how many bytes the rows of a piece may take.
    client
        The connection to the cluster.
    """

    files: TableFiles
    client: Any

    def tables(self, schema: Schema, names: Sequence[str]) -> list[tuple[Any, Any]]:
        """The pieces with the columns of these names, to be read later; no labels apart."""
        from dask.delayed import delayed

        files = self.files.read_by(schema)
        files.check(names)
        files.check_truth_values(schema)
        pieces = file_pieces(files, len(names))
        return [(delayed(piece.read, pure=False)([*names]), None) for piece in pieces]
