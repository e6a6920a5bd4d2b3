"""Folders of files that last, on a disk: where an audit keeps its scans and rows. Spark has one for object stores."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from kafkalog.format.secret import secret_bits
from kafkalog.log.names import local_path

__all__ = ["LocalFolder", "ScanFolder"]


class ScanFolder(Protocol):
    """A folder of kept scans; it goes to tasks."""

    @property
    def path(self) -> str:
        """Return its path or URI."""

    def put(self, name: str, data: bytes) -> None:
        """Write a file that appears under its name when it is whole."""

    def take_over(self, path: str, name: str, data: bytes) -> None:
        """Have a file of another folder, whose content is `data`."""


@dataclass(frozen=True, slots=True)
class LocalFolder:
    """A folder of kept scans on a disk."""

    path: str

    def put(self, name: str, data: bytes) -> None:
        """Write a file under another name, then give it its own."""
        temporary = f"{self.path}/.{name}.{secret_bits(32):08x}"
        try:
            with open(temporary, "xb", buffering=0) as file:
                file.write(data)
            os.replace(temporary, f"{self.path}/{name}")
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(temporary)
            raise

    def take_over(self, path: str, name: str, data: bytes) -> None:
        """Link the file, or write it again where that is not possible; one that is here already stays."""
        try:
            os.link(local_path(path), f"{self.path}/{name}")
        except FileExistsError:
            return
        except OSError:  # another file system, another owner
            self.put(name, data)
