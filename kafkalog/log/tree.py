"""A directory and its entries as an interface, the same for a disk and for an object store."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple, Protocol, TypeVar

__all__ = ["DirectoryEntry", "FileIdentity", "Tree"]

_INODE: Final = 2**63 - 1  # some file systems use 64 bits, a message has 63
_In = TypeVar("_In")
_Out = TypeVar("_Out")


class FileIdentity(NamedTuple):
    """What tells a file from another one of its name, and from itself at another time; an object has no inode: 0."""

    inode: int
    size: int
    mtime_ns: int

    @classmethod
    def of(cls, status: os.stat_result) -> FileIdentity:
        """Make it of a local file's status."""
        return cls(status.st_ino & _INODE, status.st_size, status.st_mtime_ns)


class DirectoryEntry(Protocol):
    """An entry of a directory: a file, a directory, a link or something else."""

    @property
    def name(self) -> str: ...

    @property
    def path(self) -> str: ...

    @property
    def is_link(self) -> bool: ...

    @property
    def is_directory(self) -> bool: ...

    @property
    def size(self) -> int:
        """Return a file's size in bytes, 0 if it vanished."""

    @property
    def identity(self) -> FileIdentity | None:
        """Return which file it is, None if it vanished."""


class Tree(Protocol):
    """A directory and all below it."""

    def entries(self, path: str, /) -> list[DirectoryEntry]:
        """List a directory: the tree's root or one below it.

        Raises UnreadableError if it is not a directory or can't be listed.
        """

    def each(self, function: Callable[[_In], _Out], items: Iterable[_In], /) -> list[_Out]:
        """Call a function that reads files of the tree for each item; in an object store several at once."""
