"""A directory and its entries as an interface, the same for a disk and for an object store."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple, Protocol, TypeVar

__all__ = ["DirectoryEntry", "DirectoryIdentity", "FileIdentity", "Tree"]

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


class DirectoryIdentity(NamedTuple):
    """What tells a log directory from another one at its path, which a rename or an unmount puts there.

    `device` and `inode` are 0 in an object store, and as another machine knows them: then `properties`, the content of
    its meta.properties, decides. `is_marked` says that it has a file that brokers keep only in log directories.
    """

    device: int
    inode: int
    properties: str
    is_marked: bool

    def elsewhere(self) -> DirectoryIdentity:
        """Return what another machine can compare: it has devices and inodes of its own."""
        return self._replace(device=0, inode=0)

    def is_still(self, now: DirectoryIdentity) -> bool:
        """Say whether the directory that is there now is this one, with a broker's files as before."""
        if self.is_marked and not now.is_marked:
            return False
        if self.inode and now.inode:
            return (self.device, self.inode) == (now.device, now.inode)
        return self.properties == now.properties


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
        """Return a file's size in bytes, 0 if it vanished or the file system can't say."""

    @property
    def identity(self) -> FileIdentity | None:
        """Return which file it is, None if it vanished.

        Raises UnreadableError if the file system can't say.
        """


class Tree(Protocol):
    """A directory and all below it."""

    def entries(self, path: str, /) -> list[DirectoryEntry]:
        """List a directory: the tree's root or one below it.

        Raises UnreadableError if it is not a directory or can't be listed.
        """

    def each(self, function: Callable[[_In], _Out], items: Iterable[_In], /) -> list[_Out]:
        """Call a function that reads files of the tree for each item; in an object store several at once."""
