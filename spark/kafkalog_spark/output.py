"""The directory that a job writes to: any place that pyarrow's filesystems know."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import pyarrow as pa
from pyarrow import fs

from kafkalog.auditing.pipeline import SUCCESS, as_text
from kafkalog.errors import KafkaLogError
from kafkalog.log.names import local_path
from kafkalog.provenance import PROVENANCE, refusal
from kafkalog.tables import Table
from kafkalog.tables.manifest import MANIFEST, TableFile, as_manifest
from kafkalog.tables.parquet import ParquetFile
from kafkalog.version import VERSION
from kafkalog_spark.parts import Part, filesystem_of

__all__ = ["Output", "OutputFailedError"]

_WORK: Final = "_work"  # what readers of tables leave out: its name begins with _
_MOVERS: Final = 8


class OutputFailedError(KafkaLogError):
    """The output could not be written, or is refused."""


class Output:
    """A new directory for one run: tasks write below `work`, the driver says what counts, in a manifest."""

    def __init__(self, name: str) -> None:
        """Name the directory. Raises OutputFailedError where its filesystem is not known, or can't be reached."""
        self.name = name
        self.uri = name if "://" in name else Path(os.path.abspath(name)).as_uri()
        with self._in_words():
            self.filesystem, self.path = filesystem_of(self.uri)
        self.work = f"{self.uri.rstrip('/')}/{_WORK}"
        self._files: dict[str, list[TableFile]] = {}  # that count

    def refuse_within(self, inputs: Sequence[str]) -> None:
        """Refuse a directory that is in an input directory or contains one. Raises OutputFailedError."""
        for path in inputs:
            one, other = self._place(self.name), self._place(path)
            if one.startswith(other) or other.startswith(one):
                said = "is in" if one.startswith(other) else "contains"
                raise OutputFailedError(f"{self.name}: {said} an input directory; kafkalog never writes there")

    @staticmethod
    def _place(name: str) -> str:
        """Write a directory's name so that it is a prefix of the names of the directories below it."""
        scheme, there, path = name.partition("://")
        if not there or scheme == "file":
            return f"{str(Path(local_path(name)).resolve()).rstrip('/')}/"
        return f"{scheme.replace('s3a', 's3')}://{path.rstrip('/')}/"

    def refuse_existing(self, *, overwrite: bool) -> bool:
        """Say whether there is a directory that is to be replaced. Raises OutputFailedError where it may not be."""
        with self._in_words():
            if self.filesystem.get_file_info(self.path).type is fs.FileType.NotFound:
                return False
            if said := refusal(self.name, overwrite=overwrite, provenance=self._provenance):
                raise OutputFailedError(said)
        return True

    def make(self, *, overwrite: bool) -> None:
        """Make the directory; an existing one is refused, or emptied if kafkalog wrote it. Raises OutputFailedError.

        What says that a run is complete goes first, and what says whose directory it is stays: an interrupted run
        leaves nothing that looks like an audit, and may be overwritten again.
        """
        with self._in_words():
            if self.refuse_existing(overwrite=overwrite):
                with suppress(FileNotFoundError):
                    self.filesystem.delete_file(f"{self.path}/{SUCCESS}")
                for found in self.filesystem.get_file_info(fs.FileSelector(self.path)):
                    if found.type is fs.FileType.Directory:
                        self.filesystem.delete_dir(found.path)
                    elif found.base_name != PROVENANCE:
                        self.filesystem.delete_file(found.path)
            self.filesystem.create_dir(self.path)
            self.write(PROVENANCE, as_text({"kafkalog": VERSION}))  # of a job that fails, too

    def _provenance(self) -> bytes:
        with self.filesystem.open_input_stream(f"{self.path}/{PROVENANCE}") as stream:
            content: bytes = stream.read()
        return content

    def remove(self) -> None:
        """Remove the directory and its content."""
        self.filesystem.delete_dir(self.path)

    @contextmanager
    def working(self) -> Iterator[None]:
        """Give tasks a place for their files, and remove it with all that did not come to count."""
        with self._in_words():
            self.filesystem.create_dir(f"{self.path}/{_WORK}")
        try:
            yield
        finally:
            with suppress(OSError):
                self.filesystem.delete_dir(f"{self.path}/{_WORK}")

    def commit(self, parts: Iterable[Part]) -> None:
        """Write the manifest: the driver's files and these `parts` of tasks count, which get the names that it lists.

        Raises OutputFailedError.
        """
        moves = []
        counts = Counter[str]()
        for table, file in parts:
            name = f"{table}/part-{counts[table]:05}.parquet"
            counts[table] += 1
            self._files.setdefault(table, []).append(file._replace(name=name))
            moves.append((f"{self.path}/{_WORK}/{file.name}", f"{self.path}/{name}"))
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
