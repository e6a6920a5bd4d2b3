"""The directory that a job writes to: any place that pyarrow's filesystems know."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

import pyarrow as pa
from pyarrow import fs

from kafkalog.auditing.pipeline import (
    BEGUN,
    SCANS,
    SUCCESS,
    WORK,
    Keeping,
    KeptScans,
    as_text,
    begun_before,
    begun_text,
)
from kafkalog.errors import KafkaLogError
from kafkalog.log.names import is_remote, local_path
from kafkalog.provenance import PROVENANCE, refusal
from kafkalog.tables import Table
from kafkalog.tables.manifest import MANIFEST, TableFile, as_manifest
from kafkalog.tables.parquet import ParquetFile
from kafkalog.version import VERSION
from kafkalog_spark.held_output import HELD, held_in_store, held_on_disk
from kafkalog_spark.kept_folder import task_folder
from kafkalog_spark.parts import PartFile, filesystem_of

__all__ = ["Output", "OutputFailedError"]

_LASTING: Final = tuple(os.path.basename(name) for name in (SCANS, BEGUN))
_MOVERS: Final = 8


class OutputFailedError(KafkaLogError):
    """The output could not be written, or is refused."""


class Output:
    """A directory for one run: tasks write below `work`, the driver says what counts, in a manifest.

    What a run with the same arguments scanned before it was ended is the next one's, since `begun_ms`.
    """

    def __init__(self, name: str) -> None:
        """Name the directory. Raises OutputFailedError where its filesystem is not known, or can't be reached."""
        self.name = name
        self.uri = name if "://" in name else Path(os.path.abspath(name)).as_uri()
        self.reach()
        self.work = f"{self.uri.rstrip('/')}/{WORK}"
        self.work_path = f"{self.path}/{WORK}"
        self.begun_ms = 0
        self.resumed = False
        self._check_held: Callable[[], None] = lambda: None
        self._files: dict[str, list[TableFile]] = {}  # that count

    def reach(self) -> None:
        """Find the filesystem, by the options that are set for object stores now. Raises OutputFailedError."""
        with self._in_words():
            self.filesystem, self.path = filesystem_of(self.uri)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the directory: until the end no other job writes to it. Raises OutputFailedError where one does."""
        in_store = is_remote(self.uri)
        holding = held_in_store(self.filesystem, self.path) if in_store else held_on_disk(self.path)
        with ExitStack() as stack:
            with self._in_words():
                self._check_held = stack.enter_context(holding)
            yield

    def refuse_within(self, inputs: Sequence[str]) -> None:
        """Refuse a directory that is in an input directory or contains one. Raises OutputFailedError."""
        for path in inputs:
            one, other = self._place(self.name), self._place(path)
            if one.startswith(other) or other.startswith(one):
                said = "is in" if one.startswith(other) else "contains"
                raise OutputFailedError(f"{self.name}: {said} an input directory; kafkalog never writes there")

    def is_at(self, name: str) -> bool:
        """Say whether a directory is this one."""
        return self._place(self.name) == self._place(name)

    @staticmethod
    def _place(name: str) -> str:
        """Write a directory's name so that it is a prefix of the names of the directories below it."""
        scheme, there, path = name.partition("://")
        if not there or scheme == "file":
            return f"{str(Path(local_path(name)).resolve()).rstrip('/')}/"
        return f"{scheme.replace('s3a', 's3')}://{path.rstrip('/')}/"

    def refuse_existing(self, *, overwrite: bool, arguments: Sequence[str] | None = None) -> bool:
        """Say whether there is a directory whose content goes. Raises OutputFailedError where it may not.

        The unfinished output of a run with the same `arguments` is gone on with, if there are any to compare.
        """
        with self._in_words():
            if self._is_nothing():
                return False
            before = None if arguments is None else self._begun_before(arguments)
            self.resumed, self.begun_ms = before is not None, before or 0
            if not self.resumed and (said := refusal(self.name, overwrite=overwrite, provenance=self._provenance)):
                raise OutputFailedError(said)
        return True

    def _is_nothing(self) -> bool:
        """Say whether there is no such directory, or one that a job only held."""
        about = self.filesystem.get_file_info(self.path)
        if about.type is not fs.FileType.Directory:
            return bool(about.type is fs.FileType.NotFound)
        names = [found.base_name for found in self.filesystem.get_file_info(fs.FileSelector(self.path))]
        return bool(names) and all(name.startswith(HELD) for name in names)

    def make(self, *, overwrite: bool, arguments: Sequence[str] | None = None) -> None:
        """Make the directory; an existing one is refused, or emptied if kafkalog wrote it. Raises OutputFailedError.

        What says that a run is complete goes first, and what says whose directory it is stays: an interrupted run
        leaves nothing that looks like an audit, and may be overwritten again.
        """
        with self._in_words():
            if self.refuse_existing(overwrite=overwrite, arguments=arguments):
                with suppress(FileNotFoundError):
                    self.filesystem.delete_file(f"{self.path}/{SUCCESS}")
                self._empty(self.path, kept=(PROVENANCE, WORK) if self.resumed else (PROVENANCE,))
            self.filesystem.create_dir(self.path)
            self.write(PROVENANCE, as_text({"kafkalog": VERSION}))  # of a job that fails, too
            if self.resumed:
                self._empty(self.work_path, kept=_LASTING)
            elif arguments is not None:
                self.filesystem.create_dir(f"{self.path}/{SCANS}")
                text, self.begun_ms = begun_text(arguments)
                self.write(BEGUN, text)

    def _empty(self, path: str, kept: Sequence[str]) -> None:
        for found in self.filesystem.get_file_info(fs.FileSelector(path, allow_not_found=True)):
            if found.base_name in kept or found.base_name.startswith(HELD):
                continue
            if found.type is fs.FileType.Directory:
                self.filesystem.delete_dir(found.path)
            else:
                self.filesystem.delete_file(found.path)

    def _begun_before(self, arguments: Sequence[str]) -> int | None:
        """Return when an unfinished run with the same arguments began the directory; None without such a run."""
        if self.filesystem.get_file_info(f"{self.path}/{SUCCESS}").type is not fs.FileType.NotFound:
            return None
        try:
            with self.filesystem.open_input_stream(f"{self.path}/{BEGUN}") as stream:
                return begun_before(stream.read(), arguments)
        except OSError:
            return None

    def kept(self, earlier: Sequence[str], *, hashed: bool) -> KeptScans:
        """Keep scans here, and take those of an earlier run and of the folders of `earlier` audits."""
        scans = f"{self.uri.rstrip('/') if is_remote(self.uri) else self.path}/{SCANS}"  # a local URI is quoted
        mine = (scans,) if self.resumed else ()
        return KeptScans(Keeping(task_folder(scans), hashed), (*earlier, *mine), self.begun_ms)

    def _provenance(self) -> bytes:
        with self.filesystem.open_input_stream(f"{self.path}/{PROVENANCE}") as stream:
            content: bytes = stream.read()
        return content

    def remove(self) -> None:
        """Remove the directory and its content."""
        self.filesystem.delete_dir(self.path)

    @contextmanager
    def working(self) -> Iterator[None]:
        """Give tasks a place for their files, and remove what did not come to count; scans stay."""
        with self._in_words():
            self.filesystem.create_dir(self.work_path)
        try:
            yield
        finally:
            with suppress(OSError):
                if self.begun_ms:
                    self._empty(self.work_path, kept=_LASTING)
                else:
                    self.filesystem.delete_dir(self.work_path)

    def commit(self, parts: Iterable[PartFile]) -> None:
        """Write the manifest: the driver's files and these `parts` of tasks count, which get the names that it lists.

        Raises OutputFailedError.
        """
        with self._in_words():
            self._check_held()
        moves = []
        counts = Counter[str]()
        for table, file in parts:
            name = f"{table}/part-{counts[table]:05}.parquet"
            counts[table] += 1
            self._files.setdefault(table, []).append(file._replace(name=name))
            moves.append((f"{self.path}/{WORK}/{file.name}", f"{self.path}/{name}"))
        self.write(MANIFEST, as_text(as_manifest(self._files)))
        with self._in_words():
            for table in counts:
                self.filesystem.create_dir(f"{self.path}/{table}")
            with ThreadPoolExecutor(_MOVERS) as pool:  # an object store copies each
                for done in [pool.submit(self.filesystem.move, *move) for move in moves]:
                    done.result()

    def write_table(self, table: Table, batches: Iterable[pa.RecordBatch]) -> None:
        """Write the driver's file of a table. Raises OutputFailedError."""
        name = f"{table.name}/part-driver.parquet"
        with self._in_words():
            self.filesystem.create_dir(f"{self.path}/{table.name}")
            with self.filesystem.open_output_stream(f"{self.path}/{name}") as stream:
                file = ParquetFile(stream, table)
                for batch in batches:
                    file.write(batch)
                file.close()
                self._files.setdefault(table.name, []).append(TableFile(name, stream.tell(), file.rows))

    def write(self, name: str, text: str) -> None:
        """Write a small file. Raises OutputFailedError."""
        with self._in_words(), self.filesystem.open_output_stream(f"{self.path}/{name}") as stream:
            stream.write(text.encode())

    @contextmanager
    def _in_words(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise OutputFailedError(f"{self.name}: {error}") from error
