"""An audit as a directory of tables, each a directory of Parquet files, with where they come from beside them."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from kafkalog.audit.provenance import PROVENANCE, SUCCESS, VERDICT, as_text, provenance, sha256_of, verdict_of
from kafkalog.audit.rows import audit_rows
from kafkalog.audit.run import Audit
from kafkalog.audit.summary import Summary
from kafkalog.log.names import local_path
from kafkalog.outcome import Exit
from kafkalog.tables import TABLES, Table
from kafkalog.tables.arrow import arrow_batches, arrow_schema
from kafkalog_cli.exit import OutputError

__all__ = ["write_audit"]


def write_audit(
    audit: Audit, summary: Summary, status: Exit, output: Path, tables: Sequence[str],
    test_of: Callable[[Table], Callable[[Sequence[Any]], bool]],
    *, paths: Sequence[str], arguments: Sequence[str], hashed: bool, started: float,
) -> None:  # fmt: skip
    """Write the tables, verdict.json and provenance.json to `output`, a directory that must not exist yet.

    `summary` and `status` are the audit's; `test_of` gives the test that a table's rows must pass.

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
    if any(target.resolve().is_relative_to(Path(local_path(path)).resolve()) for path in paths):
        raise OutputError(f"{output}: lies in a directory that is read; nothing is ever written there")
    try:
        temporary = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    except OSError as error:
        raise OutputError(f"{output}: {error.strerror}") from error
    try:
        for name in tables:
            schema = arrow_schema(TABLES[name])
            (temporary / name).mkdir()
            file = temporary / name / "part-00000.parquet"
            with pq.ParquetWriter(file, schema, compression="zstd", store_schema=False) as writer:
                for batch in arrow_batches(filter(test_of(TABLES[name]), audit_rows(audit, name)), schema):
                    writer.write_batch(batch)
                writer.add_key_value_metadata(schema.metadata)
        origin = provenance(summary, _files(audit, hashed=hashed), arguments, started, f"pyarrow {pa.__version__}")
        (temporary / VERDICT).write_text(as_text(verdict_of(summary, status)))
        (temporary / PROVENANCE).write_text(as_text(origin))
        (temporary / SUCCESS).touch()
        temporary.chmod(0o755)
        os.rename(temporary, target)
    except OSError as error:
        raise OutputError(f"{output}: {error.strerror or error}") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _files(audit: Audit, *, hashed: bool) -> Iterator[dict[str, Any]]:
    for cluster in audit.clusters:
        for log in cluster.logs:
            for segment in log.partition.directory.segments:
                about = {"file": segment.path, "size_bytes": segment.size}
                yield about | {"sha256": sha256_of(segment)} if hashed else about
