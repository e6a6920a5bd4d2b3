"""The directory of an audit: its scans are there at once, its tables and their provenance when it is complete.

What was scanned survives whatever ends the run. The same command goes on from there.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from kafkalog.auditing.incidents import batches_of_audit
from kafkalog.auditing.pipeline import (
    Keeping,
    KeptScans,
    LocalFolder,
    as_text,
    begun_before,
    begun_text,
    run_of,
    sha256_of,
)
from kafkalog.auditing.transactions import Audit
from kafkalog.errors import OutputError, UnreadableError
from kafkalog.files.opening import open_file, read_small
from kafkalog.provenance import (
    BEGUN,
    PROVENANCE,
    SCANS,
    SUCCESS,
    VERDICT,
    WORK,
    is_linked,
    listed,
    new_folder,
    parents_made,
    remove_listed,
    remove_written,
    write_manifest,
)
from kafkalog.reports import MadeSource
from kafkalog.tables import TABLES, Table
from kafkalog.tables.arrow import ParquetFile, arrow_batches, arrow_schema
from kafkalog.tables.incident_tables import INCIDENTS
from kafkalog.tables.manifest import MANIFEST, Run
from kafkalog_cli.output import Target, say, write_provenance
from kafkalog_cli.render.showing import Showing
from kafkalog_cli.render.sinks import write_folder

__all__ = ["AuditFolder", "audit_folder", "files_of", "locked_folder", "write_audit", "write_directory"]

Row = Sequence[Any]

_TABLES: Final = f"{WORK}/tables"


@dataclass(frozen=True, slots=True)
class AuditFolder:
    """A directory that an audit writes to, since `begun_ms`."""

    path: Path
    begun_ms: int
    resumed: bool = False

    def kept(self, earlier: Sequence[str], *, hashed: bool) -> KeptScans:
        """Keep scans here, and take those of an earlier run and of the folders of `earlier` audits."""
        scans = str(self.path / SCANS)
        mine = (scans,) if self.resumed else ()
        return KeptScans(Keeping(LocalFolder(scans), hashed), (*earlier, *mine), self.begun_ms)

    def write_run(self, write: Callable[[Path], None], run: Run) -> None:
        """Let `write` fill a directory for a run; what it made comes here when it is whole, its list first."""
        made = self.path / _TABLES
        made.mkdir()
        write(made)
        write_manifest(made, run)
        names = [MANIFEST, *listed(made)]
        for name in names:
            if is_linked(self.path, name):
                raise OSError(errno.ELOOP, f"{name} is a link, or behind one: kafkalog did not make it")
        for name in names:
            (self.path / name).parent.mkdir(exist_ok=True)
            (made / name).rename(self.path / name)
        shutil.rmtree(made)
        (self.path / SUCCESS).touch()


@contextlib.contextmanager
def audit_folder(target: Target, inputs: Sequence[str], arguments: Sequence[str]) -> Iterator[AuditFolder]:
    """Give the directory that an audit of `inputs` writes to: a new one, or what a run with the same arguments left.

    With --overwrite a complete one is replaced when the new one is complete; such a run leaves nothing for another.
    Raises OutputError if that can't be done, UnsupportedError where nothing is written.
    """
    assert target.path is not None
    place = target.place(inputs)
    try:
        begun = _begun_before(place, arguments)
        if begun is None and os.path.lexists(place):
            with target.folder(inputs) as temporary:
                yield _begin(temporary, target.command, arguments)
            return
        with parents_made(place):
            new = _begin_new(place, target.command, arguments) if begun is None else None
            folder = new or AuditFolder(place, begun or 0, resumed=True)
            with locked_folder(place, target.path):
                if folder.resumed:
                    _clear(place)
                try:
                    yield folder
                    place.chmod(0o755)
                except BaseException:
                    _leave(place, target.path)
                    raise
    except OSError as error:
        raise OutputError(f"{target.path}: {error.strerror or error}") from error


def _begun_before(place: Path, arguments: Sequence[str]) -> int | None:
    """Return when an unfinished run with the same arguments began a directory; None without such a run.

    Raises OSError where a link would lead out of it.
    """
    if (place / SUCCESS).exists():
        return None
    try:
        begun = begun_before(read_small(place / BEGUN), arguments)
    except UnreadableError:
        return None
    for name in (SCANS, BEGUN):
        if begun is not None and is_linked(place, name):
            raise OSError(errno.ELOOP, f"{name} is a link, or behind one: kafkalog did not make it")
    return begun


def _begin(place: Path, command: str, arguments: Sequence[str]) -> AuditFolder:
    text, begun = begun_text(arguments)
    (place / SCANS).mkdir(parents=True)
    write_provenance(place, command)
    (place / BEGUN).write_text(text)
    return AuditFolder(place, begun)


def _begin_new(place: Path, command: str, arguments: Sequence[str]) -> AuditFolder:
    """Make the directory with what says whose it is, in one step."""
    with new_folder(place) as temporary:
        begun = _begin(temporary, command, arguments)
        temporary.rename(place)
    return replace(begun, path=place)


@contextlib.contextmanager
def locked_folder(place: Path, name: Path) -> Iterator[None]:
    """Refuse a directory that another run is writing to. Raises OutputError."""
    with open_file(str(place / BEGUN)) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise OutputError(f"{name}: another run of the same command is writing to it") from error
        except OSError:  # a file system without locks
            pass
        yield


def _clear(place: Path) -> None:
    """Remove what an unfinished run left, except its scans and what says whose directory it is."""
    remove_listed(place, [*(name for name in listed(place) if name != PROVENANCE), MANIFEST])
    shutil.rmtree(place / _TABLES, ignore_errors=True)
    for left in (place / SCANS).glob(".*"):
        left.unlink()


def _leave(place: Path, name: Path) -> None:
    """Keep the scans of a run that ended early, and nothing else, and say so; without any leave nothing."""
    if (place / SUCCESS).exists():  # it ended after its last file
        return
    _clear(place)
    count = len(list((place / SCANS).glob("*.scan")))
    if count:
        say(f"{name} has the scans of {count:,} segments: the same command goes on from there")
    else:
        remove_written(place)


# What a complete one has: each table as a directory of files, the verdict, and where the tables come from.


def write_audit(
    audit: Audit, source: MadeSource, ended: Callable[[Run], dict[str, Any]], folder: AuditFolder, showing: Showing,
    test_of: Callable[[Table], Callable[[Row], bool]] | None, origin: Callable[[str], dict[str, Any]], started: float,
) -> None:  # fmt: skip
    """Write the tables, verdict.json and provenance.json to a directory.

    `source` and `ended`, what verdict.json has, are the audit's; `test_of` gives the test that a table's rows must
    pass, None if all do. `origin` gives what provenance.json has, `started` is when the audit began, in seconds. Raises
    OutputError if that can't be done, or if pyarrow is missing.
    """
    engine = showing.form.engine

    def batches(table: Table) -> Iterable[Any]:
        if test_of is None and table is not INCIDENTS:
            return batches_of_audit(audit, table.name)
        return arrow_batches(rows(table), arrow_schema(table))

    def rows(table: Table) -> Iterable[tuple[Any, ...]]:
        found = source.cells(table.name)
        return found if test_of is None else filter(test_of(table), found)

    run = run_of(started, (cluster.cluster_id for cluster in audit.clusters))
    tables = [TABLES[name] for name in showing.tables]
    if showing.form.parts:
        write = partial(_write_batches, ((table, batches(table)) for table in tables), run=run)
    else:
        write = partial(write_folder, showing, [(table, rows(table)) for table in tables])
    about = {"about": [one._asdict() for one in source.about()]}
    folder.write_run(partial(_write_all, write, ended(run) | about, partial(origin, engine)), run)


def write_directory(
    target: Target, paths: Sequence[str], write: Callable[[Path], None], ended: dict[str, Any],
    origin: Callable[[], dict[str, Any]],
) -> None:  # fmt: skip
    """Make a directory of what `write` puts into it, verdict.json with `ended`, and provenance.json with `origin`.

    Everything is first written beside it and appears under its name at the end. Raises OutputError if that can't be
    done.
    """
    with target.folder(paths) as folder:
        _write_all(write, ended, origin, folder)
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
                file.write_batch(batch)
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
