"""Tables as Arrow and Parquet: the types and the metadata that files of every engine have alike.

What a column means stands in the footer's ``org.apache.spark.sql.parquet.row.metadata``, which Spark writes and reads
for its own columns' comments; so a file has it whoever wrote it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from kafkalog.tables import SCHEMA_VERSION, Table

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray
    from pyarrow import RecordBatch as RecordBatch  # noqa: PLC0414  # for whoever names the type

    ArrowTable = pa.Table  # for whoever names the type

__all__ = ["arrow_batch", "arrow_batches", "arrow_schema", "arrow_table", "spark_schema"]

_ROW_METADATA: Final = "org.apache.spark.sql.parquet.row.metadata"
_ROWS: Final = 1 << 14
_SPARK: Final = {
    "int64": "long", "int32": "integer", "int16": "short", "int8": "byte", "bool": "boolean", "string": "string",
    "json": "string",
}  # fmt: skip


def spark_schema(table: Table) -> dict[str, Any]:
    """Return a table's schema as Spark's StructType has it in JSON: what a column means is its comment."""
    fields = []
    for column in table.columns:
        about: dict[str, Any] = {"comment": column.meaning, "table": table.name, "schema_version": SCHEMA_VERSION}
        if column.unit:
            about["unit"] = column.unit
        fields.append({"name": column.name, "type": _SPARK[column.type], "nullable": True, "metadata": about})
    return {"type": "struct", "fields": fields}


def arrow_schema(table: Table) -> pa.Schema:
    """Return a table's schema; its metadata goes into a Parquet file's footer. Needs pyarrow."""
    import pyarrow as pa

    types = {
        "int64": pa.int64(), "int32": pa.int32(), "int16": pa.int16(), "int8": pa.int8(), "bool": pa.bool_(),
        "string": pa.string(), "json": pa.string(),
    }  # fmt: skip
    fields = [pa.field(column.name, types[column.type]) for column in table.columns]
    said = json.dumps(spark_schema(table), ensure_ascii=False, separators=(",", ":"))
    return pa.schema(fields, metadata={_ROW_METADATA: said})


def arrow_batches(rows: Iterable[tuple[Any, ...]], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield rows as Arrow batches of some thousand. Text that is no UTF-8 has its bytes as ``\\xNN``."""
    import pyarrow as pa

    rows = iter(rows)
    while some := list(islice(rows, _ROWS)):
        columns = zip(zip(*some, strict=True), schema, strict=True)
        arrays = [pa.array(map(_value, column) if _is_text(field) else column, field.type) for column, field in columns]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def arrow_table(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    """Put batches together. Needs pyarrow."""
    import pyarrow as pa

    return pa.Table.from_batches(batches, schema)


def arrow_batch(columns: Iterable[NDArray[Any]], schema: pa.Schema, none: int) -> pa.RecordBatch:
    """Make columns an Arrow batch: numbers as int64 with `none` where there is none, text as objects."""
    import pyarrow as pa

    arrays = []
    for column, field in zip(columns, schema, strict=True):
        if column.dtype == object:
            try:
                arrays.append(pa.array(column, field.type))
            except UnicodeEncodeError:
                arrays.append(pa.array(map(_value, column), field.type))
        else:
            absent = column == none
            array = pa.array(column, pa.int64(), mask=absent if absent.any() else None)
            arrays.append(array if field.type == pa.int64() else array.cast(field.type))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _is_text(field: pa.Field) -> bool:
    return str(field.type) == "string"


def _value(value: Any) -> Any:
    if isinstance(value, (list, dict)):
        return json.dumps(value, ensure_ascii=False)
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value
