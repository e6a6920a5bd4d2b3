"""The folder of kept scans as tasks have it: on a disk that all share, or in an object store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from kafkalog.auditing.pipeline import LocalFolder, ScanFolder
from kafkalog.log.names import is_remote
from kafkalog_spark.parts import CANNOT_WRITE, filesystem_of

__all__ = ["task_folder"]


@dataclass(frozen=True, slots=True)
class _OnDisk:
    """A folder on a disk, whose errors the driver knows."""

    folder: LocalFolder

    def put(self, name: str, data: bytes) -> None:
        """Write a file."""
        with _in_words():
            self.folder.put(name, data)

    def take_over(self, path: str, name: str, data: bytes) -> None:
        """Link a file, or write it."""
        with _in_words():
            self.folder.take_over(path, name, data)


@dataclass(frozen=True, slots=True)
class _InStore:
    """A folder in an object store, where an object appears when it is whole."""

    uri: str

    def put(self, name: str, data: bytes) -> None:
        """Write an object."""
        with _in_words():
            filesystem, path = filesystem_of(self.uri)
            with filesystem.open_output_stream(f"{path}/{name}") as stream:
                stream.write(data)

    def take_over(self, path: str, name: str, data: bytes) -> None:
        """Write an object that another folder has; one that is here already stays."""
        if path != f"{self.uri}/{name}":
            self.put(name, data)


def task_folder(name: str) -> ScanFolder:
    """Return the folder of a path or a URI of a store; it goes to tasks."""
    return _InStore(name) if is_remote(name) else _OnDisk(LocalFolder(name))


@contextmanager
def _in_words() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OSError(f"{CANNOT_WRITE}{error}") from error
