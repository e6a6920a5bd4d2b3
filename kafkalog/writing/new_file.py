"""A file that appears whole, under its name, or not at all."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, BinaryIO

from kafkalog.errors import UnsupportedError

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

__all__ = ["NewFile", "already_there"]


def already_there(path: Path) -> UnsupportedError:
    """Return what is raised where an output is there already and is not to be replaced."""
    return UnsupportedError(f"{path}: exists already; give a new name, or replace it with --overwrite")


def _only_ours(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


class NewFile:
    """A file that is made, under a temporary name beside its own, when the first byte comes; `keep` gives it its name.

    What is not kept leaves nothing: no file, and none of the directories that were made for it.
    """

    def __init__(self, path: Path, *, replaces: bool) -> None:
        from kafkalog.provenance import beside

        self._path = path
        self._replaces = replaces
        self._place = path.absolute().parent.resolve() / path.name
        self._temporary = beside(self._place)
        self._made = contextlib.ExitStack()
        self._file: BinaryIO | None = None

    def __enter__(self) -> NewFile:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._made.close()

    def write(self, data: bytes | bytearray | memoryview) -> int:
        return self._opened().write(data)

    def flush(self) -> None:
        if self._file is not None:
            self._file.flush()

    def keep(self) -> None:
        """Give the file its name; one without a byte is an answer, too. Raises OSError, UnsupportedError."""
        file = self._opened()
        file.flush()
        os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        os.fchmod(file.fileno(), 0o666 & ~mask)
        if self._replaces:
            os.replace(self._temporary, self._place)
            return
        try:
            os.link(self._temporary, self._place)  # fails where a file of this name has come meanwhile
        except FileExistsError as error:
            raise already_there(self._path) from error
        except OSError:  # a file system without hard links
            if os.path.lexists(self._place):
                raise already_there(self._path) from None
            os.rename(self._temporary, self._place)

    def _opened(self) -> BinaryIO:
        if self._file is None:
            from kafkalog.provenance import parents_made

            self._made.enter_context(parents_made(self._place))
            self._made.callback(self._remove)  # before it is there: a signal may come between
            opened = open(self._temporary, "xb", opener=_only_ours)  # noqa: SIM115  # the stack closes it
            self._file = self._made.enter_context(opened)
        return self._file

    def _remove(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._temporary)
