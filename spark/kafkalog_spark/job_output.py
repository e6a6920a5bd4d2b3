"""The directory that a job writes to: any place that pyarrow's filesystems know."""

from __future__ import annotations

import fcntl
import hashlib
import os
import stat
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import pyarrow as pa
from pyarrow import fs

from kafkalog.auditing.pipeline import Keeping, KeptScans, LocalFolder, as_text, begun_before, begun_text
from kafkalog.errors import OutputError, UnsupportedError
from kafkalog.files.names import is_remote, local_path, why_no_place
from kafkalog.files.object_stores import with_advice
from kafkalog.files.off_limits import real_place
from kafkalog.provenance import (
    BEGUN,
    PROVENANCE,
    SCANS,
    SUCCESS,
    WORK,
    is_linked,
    mark,
    new_folder,
    refusal,
    remove_listed,
    remove_written,
    replace_folder,
)
from kafkalog.tables import Table
from kafkalog.tables.arrow import ParquetFile, arrow_schema
from kafkalog.tables.manifest import MANIFEST, Manifest, Run, TableFile, read_manifest
from kafkalog_spark.parts import CANNOT_WRITE, STORE_ERRORS, HashedStream, PartFile, filesystem_of

__all__ = ["HELD", "HeldError", "Output", "TaskFolder", "held_in_store", "held_on_disk"]


# One job at a time writes to an output: on a disk it holds a lock, in an object store an object that it renews.
#
# A store has no locks that pyarrow's filesystems know. Each job writes its object first and looks for others' then, so
# that of two jobs at least one sees the other; of two that begin in the same moment both may be refused. The object of
# a job that was killed counts until it is too old, by the store's own clock.


HELD: Final = "_held"  # what names of such files begin with; readers of tables leave them out

_RENEWED: Final = 20.0  # s

_TOO_OLD: Final = 120  # s


class HeldError(OSError):
    """Another job holds the output."""


@contextmanager
def held_on_disk(path: str) -> Iterator[Callable[[], None]]:
    """Hold a directory, which is made if it is missing; one that stays empty goes again.

    A disk without locks is not held. Gives what raises HeldError when the directory is no longer held. Raises HeldError
    and OSError.
    """
    os.makedirs(path, exist_ok=True)
    name = f"{path}/{HELD}"
    descriptor = os.open(name, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)  # NFS locks only what may be written
    try:
        _lock(descriptor, name)
        try:
            yield lambda: _check_lock(descriptor, name)
        finally:
            with suppress(OSError):  # the job removed its output, or another command replaced it
                _check_lock(descriptor, name)
                os.unlink(name)
            with suppress(OSError):  # it is used
                os.rmdir(path)
    finally:
        os.close(descriptor)


def _lock(descriptor: int, name: str) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise HeldError("another job is writing to it") from error
    except OSError:  # a disk without locks
        return
    _check_lock(descriptor, name)


def _check_lock(descriptor: int, name: str) -> None:
    """Raise HeldError where the file that is locked is no longer that of its name."""
    try:
        is_there = os.path.samestat(os.stat(name), os.fstat(descriptor))
    except FileNotFoundError:
        is_there = False
    if not is_there:
        raise HeldError("another command replaced or removed it meanwhile")


@contextmanager
def held_in_store(filesystem: fs.FileSystem, path: str) -> Iterator[Callable[[], None]]:
    """Hold a directory of a store.

    Gives what raises HeldError when the directory is no longer held: a job that was stopped for long comes too late.
    Raises HeldError and OSError.
    """
    base = f"{HELD}-{uuid.uuid4().hex}"
    name, ended = f"{path}/{base}", threading.Event()
    renewing = threading.Thread(target=_renew, args=(filesystem, name, ended), daemon=True)
    _write(filesystem, name)
    try:
        found = {info.base_name: info for info in filesystem.get_file_info(fs.FileSelector(path))}
        if base not in found:
            raise OSError(f"{name} was written, and the store does not list it")
        for other, info in found.items():
            if other.startswith(HELD) and other != base:
                if found[base].mtime_ns - info.mtime_ns < _TOO_OLD * 10**9:
                    raise HeldError(
                        f"another job is writing to it, or one was killed less than {_TOO_OLD // 60} minutes ago"
                    )
                filesystem.delete_file(info.path)
        renewing.start()
        yield lambda: _check(filesystem, name)
    finally:
        ended.set()
        if renewing.is_alive():
            renewing.join()
        with suppress(OSError):
            filesystem.delete_file(name)


def _check(filesystem: fs.FileSystem, name: str) -> None:
    if filesystem.get_file_info(name).type is not fs.FileType.File:
        raise HeldError("another job took it over, because this one did not go on for long")


def _renew(filesystem: fs.FileSystem, name: str, ended: threading.Event) -> None:
    while not ended.wait(_RENEWED):
        with suppress(OSError):  # the next time, perhaps; the job's own writes say what is wrong
            if filesystem.get_file_info(name).type is fs.FileType.File:  # else another job took the place
                _write(filesystem, name)


def _write(filesystem: fs.FileSystem, name: str) -> None:
    with filesystem.open_output_stream(name) as stream:
        stream.write(b"{}\n")


# The folder of kept scans as tasks have it: on a disk that all share, or in an object store.


@dataclass(frozen=True, slots=True)
class TaskFolder:
    """A folder that tasks write to, by its path or its URI in a store; the driver knows its errors."""

    path: str

    def put(self, name: str, data: bytes) -> None:
        """Write a file; an object of a store appears when it is whole."""
        with _in_words():
            if not is_remote(self.path):
                LocalFolder(self.path).put(name, data)
                return
            filesystem, folder = filesystem_of(self.path)
            with filesystem.open_output_stream(f"{folder}/{name}") as stream:
                stream.write(data)

    def take_over(self, path: str, name: str, data: bytes) -> None:
        """Link a file that another folder has, or write it; an object that is here already stays."""
        if not is_remote(self.path):
            with _in_words():
                LocalFolder(self.path).take_over(path, name, data)
        elif path != f"{self.path}/{name}":
            self.put(name, data)


@contextmanager
def _in_words() -> Iterator[None]:
    try:
        yield
    except STORE_ERRORS as error:
        raise OSError(f"{CANNOT_WRITE}{error}") from error


_COMING: Final = f"{WORK}/coming.json"  # a manifest of the files of a commit and of those that it replaces

_LASTING: Final = tuple(os.path.basename(name) for name in (SCANS, BEGUN, _COMING))

_MOVERS: Final = 8


class Output:
    """A directory for one run of a command: tasks write below `work`, the driver says what counts, in a manifest.

    What a run with the same arguments scanned before it was ended is the next one's, since `begun_ms`. An output that
    is replaced stays until the commit. On a disk the new one comes to be beside it, and takes its name. In an object
    store it comes to be in the same place, with files of other names: the manifest is the commit.
    """

    def __init__(self, name: str, command: str = "txn-audit") -> None:
        """Name the directory. Raises UnsupportedError where no filesystem is known for it, OutputError."""
        if wrong := why_no_place(name):
            raise UnsupportedError(wrong)
        self.name = name
        self.command = command
        self.is_store = is_remote(name)
        self.uri = name.rstrip("/") if self.is_store else Path(local_path(name)).resolve().as_uri()
        self.reach()
        self.begun_ms = 0
        self.resumed = False
        self._replaced: Path | None = None  # the output whose name this one gets
        self._is_above = False  # the output that is replaced is in the same place
        self._ending = ExitStack()  # what goes when the directory is no longer held
        self._check_held: Callable[[], None] = lambda: None
        self.written: list[PartFile] = []  # by the driver
        self.run: Run | None = None  # said in files and in the manifest

    @property
    def work(self) -> str:
        """Return the URI of the place for tasks' files."""
        return f"{self.uri}/{WORK}"

    @property
    def work_path(self) -> str:
        """Return its path in the filesystem."""
        return f"{self.path}/{WORK}"

    def reach(self) -> None:
        """Find the filesystem, by the options that are set for object stores now. Raises OutputError."""
        with self._in_words():
            self.filesystem, self.path = filesystem_of(self.uri)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the directory: until the end no other job writes to it. Raises OutputError where one does."""
        holding = held_in_store(self.filesystem, self.path) if self.is_store else held_on_disk(self.path)
        with self._ending:
            with self._in_words():
                self._check_held = self._ending.enter_context(holding)
            yield

    def is_at(self, name: str) -> bool:
        """Say whether a directory is this one."""
        return real_place(self.name) == real_place(name)

    def refuse_existing(self, *, overwrite: bool, arguments: Sequence[str] | None = None) -> bool:
        """Say whether there is a directory whose content goes. Raises UnsupportedError where it may not, OutputError.

        The unfinished output of a run with the same `arguments` is gone on with, if there are any to compare.
        """
        with self._in_words():
            if self._is_nothing():
                return False
            before = None if arguments is None else self._begun_before(arguments)
            self.resumed, self.begun_ms = before is not None, before or 0
            if not self.resumed:
                said = refusal(self.name, self.command, overwrite=overwrite, provenance=partial(self._read, PROVENANCE))
                if said:
                    raise UnsupportedError(said)
        return True

    def _is_nothing(self) -> bool:
        """Say whether there is no such directory, or one that a job only held."""
        about = self.filesystem.get_file_info(self.path)
        if about.type is not fs.FileType.Directory:
            return bool(about.type is fs.FileType.NotFound)
        names = [found.base_name for found in self.filesystem.get_file_info(fs.FileSelector(self.path))]
        return bool(names) and all(name.startswith(HELD) for name in names)

    def make_directory(self, *, overwrite: bool, arguments: Sequence[str] | None = None) -> None:
        """Make the directory; one that is there is refused, gone on with, or replaced by the commit.

        Raises UnsupportedError where it is refused, OutputError.
        """
        with self._in_words():
            is_there = self.refuse_existing(overwrite=overwrite, arguments=arguments)
            if is_there and not self.resumed and not self.is_store:
                self._replaced = Path(self.path)
                made = self._ending.enter_context(new_folder(self._replaced))
                made.chmod(stat.S_IMODE(self._replaced.stat().st_mode))
                self.uri, self.path = made.as_uri(), str(made)
            self._is_above = is_there and not self.resumed and self.is_store
            self.filesystem.create_dir(self.path)
            self._sweep()
            if self.resumed:
                self._remove([*(file.name for file in self._listed(MANIFEST) if file.name != PROVENANCE), MANIFEST])
                self._empty(self.work_path, kept=_LASTING)
            elif not self._is_above:
                self.write_text(PROVENANCE, as_text(mark(self.command)))  # of a job that fails, too
            if arguments is not None and not self.resumed:
                self.filesystem.create_dir(f"{self.path}/{SCANS}")
                text, self.begun_ms = begun_text(arguments)
                self.write_text(BEGUN, text)

    def _empty(self, path: str, kept: Sequence[str]) -> None:
        for found in self.filesystem.get_file_info(fs.FileSelector(path, allow_not_found=True)):
            if found.base_name in kept or found.base_name.startswith(HELD):
                continue
            if found.type is fs.FileType.Directory:
                self.filesystem.delete_dir(found.path)
            else:
                self.filesystem.delete_file(found.path)

    def _begun_before(self, arguments: Sequence[str]) -> int | None:
        """Return when an unfinished run with the same arguments began the directory; None without such a run.

        Raises OSError where a link would lead out of it.
        """
        if self.filesystem.get_file_info(f"{self.path}/{SUCCESS}").type is not fs.FileType.NotFound:
            return None
        try:
            begun = begun_before(self._read(BEGUN), arguments)
        except OSError:
            return None
        for name in (SCANS, BEGUN):
            if begun is not None and not self.is_store and is_linked(Path(self.path), name):
                raise OSError(f"{name} is a link, or behind one: kafkalog did not make it")
        return begun

    def kept(self, earlier: Sequence[str], *, hashed: bool) -> KeptScans:
        """Keep scans here, and take those of an earlier run and of the folders of `earlier` audits."""
        scans = f"{self.uri if self.is_store else self.path}/{SCANS}"  # a local URI is quoted
        mine = (scans,) if self.resumed else ()
        return KeptScans(Keeping(TaskFolder(scans), hashed), (*earlier, *mine), self.begun_ms)

    def _read(self, name: str) -> bytes:
        with self.filesystem.open_input_stream(f"{self.path}/{name}") as stream:
            content: bytes = stream.read()
        return content

    def _listed(self, name: str) -> list[TableFile]:
        """Return the files in a manifest; none where it is missing or damaged."""
        try:
            return list(read_manifest(self._read(name)).files())
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return []

    def discard(self) -> None:
        """Remove what this run wrote; an output that it was to replace stays."""
        if self._replaced is not None:
            return  # who holds the output removes it
        with self._in_words():
            if self._is_above:
                self._sweep()
            elif self.is_store:
                self._remove([*(file.name for file in self._listed(MANIFEST)), MANIFEST, PROVENANCE])
                self.filesystem.delete_dir(self.work_path)
            else:
                remove_written(Path(self.path))

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

    def commit(self, parts: Iterable[PartFile], said: Mapping[str, str] | None = None) -> None:
        """Let the driver's files and these `parts` of tasks count, which get the names that the manifest lists.

        `said` are the texts of further files, in the order in which they are written. An output that was there before
        is replaced, and its files are removed. Raises OutputError.
        """
        said = said or {}
        with self._in_words():
            self._check_held()
            moves, manifest = self._named([*self.written, *parts], said)
            old = self._listed(MANIFEST)
            self.write_text(_COMING, Manifest({}, [*manifest.files(), *old]).text())
            try:
                for table in manifest.tables:
                    self.filesystem.create_dir(f"{self.path}/{table}")
                with ThreadPoolExecutor(_MOVERS) as pool:  # an object store copies each
                    for done in [pool.submit(self.filesystem.move, *move) for move in moves]:
                        done.result()
                self.write_text(MANIFEST, manifest.text())
                for name, text in said.items():
                    self.write_text(name, text)
                if self._is_above:
                    self._remove_old_scans()
            finally:
                self._sweep()
            if self._replaced is not None:
                replace_folder(Path(self.path), self._replaced)
                self.path, self.uri, self._replaced = str(self._replaced), self._replaced.as_uri(), None

    def _named(
        self, parts: Iterable[PartFile], said: Mapping[str, str]
    ) -> tuple[list[tuple[str, str]], Manifest]:  # fmt: skip
        """Return which files of the work get which names, and the manifest with these.

        In a store no name is used twice: readers of the old files do not get the new ones.
        """
        run = f"-{uuid.uuid4().hex[:8]}" if self.is_store else ""
        moves, tables = [], dict[str, list[TableFile]]()
        for table, file in parts:
            files = tables.setdefault(table, [])
            name = f"{table}/part-{len(files):05}{run}.parquet"
            files.append(file._replace(name=name))
            moves.append((f"{self.work_path}/{file.name}", f"{self.path}/{name}"))
        others = [
            TableFile(name, len(text.encode()), None, hashlib.sha256(text.encode()).hexdigest())
            for name, text in said.items()
            if not name.startswith("_")
        ]
        return moves, Manifest(tables, others, self.run)

    def _sweep(self) -> None:
        """Remove what a commit, of this run or of one that was killed, has made or replaced and the manifest lacks."""
        counting = {file.name for file in self._listed(MANIFEST)}
        coming = [file.name for file in self._listed(_COMING)]
        if coming:
            self._remove([name for name in coming if name not in counting])
            self._remove([_COMING])

    def _remove(self, names: Iterable[str]) -> None:
        """Remove files of the directory that are there."""
        if not self.is_store:
            remove_listed(Path(self.path), names)
            return
        for name in names:
            with suppress(FileNotFoundError):
                self.filesystem.delete_file(f"{self.path}/{name}")

    def _remove_old_scans(self) -> None:
        """Remove scans and rows that were kept before this run began, by the store's clock."""
        begun = self.filesystem.get_file_info(f"{self.path}/{BEGUN}").mtime_ns
        for found in self.filesystem.get_file_info(fs.FileSelector(f"{self.path}/{SCANS}", allow_not_found=True)):
            if begun is not None and found.mtime_ns is not None and found.mtime_ns < begun:
                self.filesystem.delete_file(found.path)

    def write_table(self, table: Table, batches: Iterable[pa.RecordBatch]) -> None:
        """Write the driver's file of a table. Raises OutputError."""
        name = f"{table.name}-driver.parquet"
        with self._in_words():
            self.filesystem.create_dir(self.work_path)
            with closing(HashedStream(self.filesystem.open_output_stream(f"{self.work_path}/{name}"))) as stream:
                file = ParquetFile(stream, arrow_schema(table), self.run)
                for batch in batches:
                    file.write_batch(batch)
                file.close()
            self.written.append(PartFile(table.name, stream.file(name, file.rows)))

    def write_text(self, name: str, text: str) -> None:
        """Write a small file. Raises OutputError."""
        with self._in_words(), self.filesystem.open_output_stream(f"{self.path}/{name}") as stream:
            stream.write(text.encode())

    @contextmanager
    def _in_words(self) -> Iterator[None]:
        try:
            yield
        except STORE_ERRORS as error:
            raise OutputError(f"{self.name}: {with_advice(' '.join(str(error).split()))}") from error
