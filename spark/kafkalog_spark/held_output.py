"""One job at a time writes to an output: on a disk it holds a lock, in an object store an object that it renews.

A store has no locks that pyarrow's filesystems know. Each job writes its object first and looks for others' then, so
that of two jobs at least one sees the other; of two that begin in the same moment both may be refused. The object of a
job that was killed counts until it is too old, by the store's own clock.
"""

from __future__ import annotations

import fcntl
import os
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

from pyarrow import fs

__all__ = ["HELD", "HeldError", "held_in_store", "held_on_disk"]

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
