"""An audit as a directory of Parquet files, one a table, with where it comes from beside them."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kafkalog.audit.rows import audit_rows
from kafkalog.audit.run import Audit
from kafkalog.audit.summary import Summary
from kafkalog.errors import UnreadableError
from kafkalog.format.kernel import form
from kafkalog.log.files import FileSource
from kafkalog.log.logdir import Segment
from kafkalog.tables import SCHEMA_VERSION, TABLES, Table
from kafkalog.version import VERSION
from kafkalog_cli.exit import OutputError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["write_audit"]

_ROWS: Final = 1 << 16
_PIECE: Final = 1 << 20


def _schema(table: Table) -> pa.Schema:
    import pyarrow as pa

    types = {
        "int64": pa.int64(), "int32": pa.int32(), "int16": pa.int16(), "int8": pa.int8(), "bool": pa.bool_(),
        "string": pa.string(), "json": pa.string(),
    }  # fmt: skip
    fields = [
        pa.field(column.name, types[column.type], metadata={"meaning": column.meaning, "unit": column.unit})
        for column in table.columns
    ]
    return pa.schema(fields, metadata={"schema_version": str(SCHEMA_VERSION), "table": table.name, "row": table.row})


def _value(value: Any) -> Any:
    if isinstance(value, (list, dict)):
        return json.dumps(value, ensure_ascii=False)
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value


def write_audit(
    audit: Audit, output: Path, tables: Sequence[str], test_of: Callable[[Table], Callable[[Sequence[Any]], bool]],
    *, paths: Sequence[str], arguments: Sequence[str], hashed: bool, started: float,
) -> None:  # fmt: skip
    """Write the tables and provenance.json to `output`, a directory that must not exist yet.

    `test_of` gives the test that a table's rows must pass.

    Everything is written beside it first and appears under its name at the end. Raises OutputError where that can't be
    done, or where pyarrow is missing. `started` is when the audit began, in seconds.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise OutputError("Parquet needs pyarrow: pip install 'kafkalog[parquet]'") from error
    target = output.absolute()
    if target.exists():
        raise OutputError(f"{output}: is there already")
    if any(target.resolve().is_relative_to(Path(path).resolve()) for path in paths):
        raise OutputError(f"{output}: lies in a directory that is read; nothing is ever written there")
    try:
        temporary = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    except OSError as error:
        raise OutputError(f"{output}: {error.strerror}") from error
    try:
        for name in tables:
            schema = _schema(TABLES[name])
            with pq.ParquetWriter(temporary / f"{name}.parquet", schema, compression="zstd") as writer:
                rows: list[tuple[Any, ...]] = []
                for row in filter(test_of(TABLES[name]), audit_rows(audit, name)):
                    rows.append(row)
                    if len(rows) == _ROWS:
                        writer.write_table(_arrow(rows, schema))
                        rows = []
                if rows:
                    writer.write_table(_arrow(rows, schema))
        provenance = _provenance(audit, arguments, started, hashed=hashed)
        provenance["pyarrow"] = pa.__version__
        (temporary / "provenance.json").write_text(json.dumps(provenance, indent=1) + "\n")
        temporary.chmod(0o755)
        os.rename(temporary, target)
    except OSError as error:
        raise OutputError(f"{output}: {error.strerror or error}") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _arrow(rows: list[tuple[Any, ...]], schema: pa.Schema) -> pa.Table:
    import pyarrow as pa

    columns = zip(*rows, strict=True)
    arrays = [
        pa.array([_value(value) for value in column], field.type) for column, field in zip(columns, schema, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=schema)


def _provenance(audit: Audit, arguments: Sequence[str], started: float, *, hashed: bool) -> dict[str, Any]:
    summary = Summary.of(audit)
    return {
        "kafkalog": VERSION,
        "kernel": form(),
        "python": platform.python_version(),
        "schema_version": SCHEMA_VERSION,
        "arguments": list(arguments),
        "started_ms": round(started * 1000),
        "ended_ms": round(time.time() * 1000),
        "verdict": summary.verdict(),
        "worst": None if summary.worst is None else summary.worst.word,
        "complete": summary.complete,
        "files": [
            {"file": segment.path, "size_bytes": segment.size, **({"sha256": _sha256(segment)} if hashed else {})}
            for cluster in audit.clusters
            for log in cluster.logs
            for segment in log.partition.directory.segments
        ],
    }


def _sha256(segment: Segment) -> str | None:
    """Return the checksum of the bytes that were audited, None where they can't be read: the findings say why."""
    digest = hashlib.sha256()
    try:
        with closing(FileSource(segment.path, max_bytes=segment.size)) as source:
            for position in range(0, source.size, _PIECE):
                digest.update(source.read(position, _PIECE))
    except UnreadableError:
        return None
    return digest.hexdigest()
