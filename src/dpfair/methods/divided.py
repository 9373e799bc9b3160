"""Tables that a fit reads part by part: files, data frames of Dask, files on a cluster."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any

from dpfair.data.containers import get_column, row_count
from dpfair.data.dask_frames import frame_tables, is_dask_frame, same_columns
from dpfair.data.dask_parts import OnWorkers, current_client
from dpfair.data.encode import encode, level_codes
from dpfair.data.in_parts import InParts
from dpfair.data.records import Records
from dpfair.data.schema import Schema
from dpfair.data.stored import StoredPart
from dpfair.data.table_files import TableFiles
from dpfair.data.worker_files import FilesOnWorkers
from dpfair.data.workspace import Workspace
from dpfair.errors import InputError
from dpfair.methods.inputs import declared_schema, label_column
from dpfair.methods.parameters import Sensitive

__all__ = ["divided_records", "divided_schema", "is_divided", "refuse_apart"]


def is_divided(table: Any) -> bool:
    """Whether a table is read part by part."""
    return isinstance(table, (TableFiles, FilesOnWorkers)) or is_dask_frame(table)


def refuse_apart(table: Any, y: Any, sensitive_features: Any) -> None:
    """Refuse labels and groups that are given apart from a table that is read part by part."""
    if sensitive_features is not None or (y is not None and not is_dask_frame(table)):
        what = "table" if is_dask_frame(table) else "files"
        raise InputError(
            f"Labels and groups are read from the {what}, from the columns of the schema."
        )


def divided_schema(schema: Schema | None, sensitive: Sensitive, table: Any) -> Schema:
    """The schema that parts are read by: nothing of it may be read off them."""
    what = "Data frames of Dask" if is_dask_frame(table) else "Files"
    schema = declared_schema(schema, None, table)
    if schema is None:
        raise InputError(f"{what} are read by a schema: declare one.")
    if sensitive is None:
        return schema
    if isinstance(sensitive, int):
        raise InputError(f"{what} have names of columns: give sensitive by name.")
    return schema.with_sensitive(sensitive)


def divided_records(table: Any, y: Any, schema: Schema) -> InParts | OnWorkers:
    """The records in parts: on the workers of a cluster if there is one, or in temporary files."""
    names = [*dict.fromkeys([*schema.names, *([schema.label.name] if y is None else [])])]
    read, client = partial(_labelled, schema), None
    tables: Iterable[tuple[Any, Any]]
    if isinstance(table, TableFiles):
        table.check_truth_values(schema)
        tables = ((frame, None) for frame in table.read_by(schema).frames(names))
    elif isinstance(table, FilesOnWorkers):
        tables, client = table.tables(schema, names), table.client
    else:
        tables, client = frame_tables(table, y, names), current_client()
        if client is None:
            tables = map(_computed, tables)
    records: InParts | OnWorkers
    if client is None:
        records = _stored(read(*each) for each in tables)
    else:
        records = OnWorkers.encoded(client, tables, read)
    if not len(records):
        records.close()
        raise InputError("Found array with 0 sample(s): the table has no rows.")
    return records


def _labelled(schema: Schema, table: Any, labels: Any) -> Records:
    """Records with labels from a column of their own, or else from the one that is declared."""
    if labels is None:
        labels = get_column(table, schema.label.name)
    else:
        labels = label_column(labels, row_count(table))
    return encode(table, schema).with_labels(level_codes(labels, schema.label))


def _computed(table: tuple[Any, Any]) -> tuple[Any, Any]:
    from dask.base import compute

    with same_columns():
        found: tuple[Any, Any] = compute(*table)
    return found


def _stored(records: Iterable[Records]) -> InParts:
    workspace, parts, first = Workspace(), list[StoredPart](), 0
    try:
        for some in records:
            parts.append(StoredPart(workspace, replace(some, first=first)))
            first += len(some)
    except BaseException:
        workspace.close()
        raise
    return InParts(parts, workspace)
