"""An audit as a directory of tables, each a directory of Parquet files, with their provenance beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from kafkalog.auditing.incidents import batches_of_audit, rows_of_audit
from kafkalog.auditing.pipeline import as_text, provenance, run_of, sha256_of, verdict_of
from kafkalog.auditing.transactions import Audit, Summary
from kafkalog.outcome import Exit
from kafkalog.provenance import PROVENANCE, SUCCESS, VERDICT
from kafkalog.reports import AuditSource, first_screen
from kafkalog.tables import TABLES, Table
from kafkalog.tables.arrow import ParquetFile, arrow_batches, arrow_schema
from kafkalog.tables.incident_tables import INCIDENTS
from kafkalog.tables.manifest import Run
from kafkalog_cli.audit_folder import AuditFolder
from kafkalog_cli.output import Target, parquet_engine
from kafkalog_cli.render.folders import write_tables

__all__ = ["files_of", "write_audit", "write_directory"]


Row = Sequence[Any]


def write_audit(
    audit: Audit, source: AuditSource, summary: Summary, status: Exit, folder: AuditFolder, form: str,
    tables: Sequence[str], test_of: Callable[[Table], Callable[[Row], bool]] | None,
    *, command: str, arguments: Sequence[str], hashed: bool, started: float,
) -> None:  # fmt: skip
    """Write the tables, verdict.json and provenance.json to a directory.

    `source`, `summary` and `status` are the audit's; `test_of` gives the test that a table's rows must pass, None if
    all do. `started` is when the audit began, in seconds. Raises OutputError if that can't be done, or if pyarrow is
    missing.
    """
    engine = form if form == "ndjson" else parquet_engine()

    def batches(table: Table) -> Iterable[Any]:
        if test_of is None:
            return batches_of_audit(audit, table.name)
        return arrow_batches(filter(test_of(table), rows_of_audit(audit, table.name)), arrow_schema(table))

    def rows(table: Table) -> Iterable[Row]:
        found = rows_of_audit(audit, table.name)
        return found if test_of is None else filter(test_of(table), found)

    def origin() -> dict[str, Any]:
        files = files_of(audit, hashed=hashed)
        return provenance(command, summary, files, arguments, started, engine)

    run = run_of(started, (cluster.cluster_id for cluster in audit.clusters))
    if form == "parquet":
        write = partial(_write_batches, ((TABLES[name], batches(TABLES[name])) for name in tables), run=run)
    else:
        write = partial(write_tables, form, [(TABLES[name], rows(TABLES[name])) for name in tables])
    screen = first_screen(source, list(source.rows(INCIDENTS.name)))
    told = {"headline": screen.headline, "scope": source.scope, "about": [one._asdict() for one in source.about()]}
    folder.write(partial(_write_all, write, verdict_of(summary, status, run) | told, origin), run)


def write_directory(
    target: Target, paths: Sequence[str], write: Callable[[Path], None], summary: Summary, status: Exit,
    origin: Callable[[], dict[str, Any]],
) -> None:  # fmt: skip
    """Make a directory of what `write` puts into it, verdict.json, and provenance.json with `origin`.

    Everything is first written beside it and appears under its name at the end. Raises OutputError if that can't be
    done.
    """
    with target.folder(paths) as folder:
        _write_all(write, verdict_of(summary, status), origin, folder)
        (folder / SUCCESS).touch()


def _write_all(
    write: Callable[[Path], None], verdict: dict[str, Any], origin: Callable[[], dict[str, Any]], folder: Path
) -> None:
    """Write tables, how the run ended, and where the tables come from."""
    write(folder)
    (folder / VERDICT).write_text(as_text(verdict))
    (folder / PROVENANCE).write_text(as_text(origin()))


def _write_batches(tables: Iterable[tuple[Table, Iterable[Any]]], folder: Path, run: Run) -> None:
    """Write each table as a file, one without rows, too: it has the columns."""
    for table, batches in tables:
        (folder / table.name).mkdir()
        with (folder / table.name / "part-00000.parquet").open("wb") as stream:
            file = ParquetFile(stream, arrow_schema(table), run)
            for batch in batches:
                file.write(batch)
            file.close()


def files_of(audit: Audit, *, hashed: bool) -> Iterator[dict[str, Any]]:
    """Yield what provenance says of each segment: path, size and, if `hashed`, checksum."""
    for cluster in audit.clusters:
        for log in cluster.logs:
            for segment in log.partition.directory.segments:
                about: dict[str, Any] = {"file": segment.path, "size_bytes": segment.size}
                if hashed:
                    known = audit.sha256.get(segment)
                    about["sha256"] = sha256_of(segment) if known is None else known
                yield about
