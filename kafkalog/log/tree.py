"""What a directory is to those who list it, on a disk or in an object store."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol, TypeVar

__all__ = ["DirectoryEntry", "Tree"]

_In = TypeVar("_In")
_Out = TypeVar("_Out")


class DirectoryEntry(Protocol):
    """A name in a directory. What is neither a file, a directory nor a link is none of them."""

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
        """Return a file's size in bytes, 0 where it vanished."""


class Tree(Protocol):
    """A directory and all below it."""

    def entries(self, path: str, /) -> list[DirectoryEntry]:
        """List a directory: the tree's root or one below it.

        Raises UnreadableError where it is none or can't be listed.
        """

    def each(self, function: Callable[[_In], _Out], items: Iterable[_In], /) -> list[_Out]:
        """Call a function that reads files of the tree for each item, side by side where waiting is all it costs."""
