"""A pipe as a source: read forward as needed; bytes that may be needed again are kept, few of them in memory."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import BinaryIO, Final

from kafkalog.errors import UnreadableError
from kafkalog.files.system_calls import read_at, waiter, write_at

__all__ = ["BLOCK", "FORGOTTEN", "IN_MEMORY", "LEAST_READ", "MOST_READ", "StreamSource"]

LEAST_READ: Final = 1 << 16  # bytes per read at least, however few are needed
MOST_READ: Final = 1 << 20
IN_MEMORY: Final = 4 << 20  # bytes that stay in memory when the older ones go to the file
BLOCK: Final = 1 << 16  # written as a hole in the file if all of it is zero
FORGOTTEN: Final = 64 << 20  # bytes that may stay in the file although no reader needs them any more


class StreamSource:
    """A pipe. What was not released is kept: some MiB in memory, older bytes in a temporary file without a name.

    `before_waiting` is called before a read that has to wait. Raises UnreadableError if a read fails or the temporary
    file can't be written; that is in ``TMPDIR``, or in ``/tmp`` if this is not set.
    """

    size: int | None = None

    def __init__(
        self,
        stream: BinaryIO,
        name: str = "<stdin>",
        *,
        max_bytes: int | None = None,
        before_waiting: Callable[[], object] | None = None,
    ) -> None:
        self.name = name
        self.is_cut = False
        self._max = max_bytes
        self._before_waiting = before_waiting
        self._read_some = _reader(stream)
        self._wait = _waiter(stream)
        self._kept = bytearray()
        self._start = 0  # position of the first byte in memory
        self._spill: _Spill | None = None

    @property
    def _stop(self) -> int:
        """Return the position after the last byte read."""
        return self._start + len(self._kept)

    def read_into(self, position: int, view: memoryview, least: int, /) -> int:
        self._reach(position + min(least, len(view)), position + len(view))
        there = max(0, min(len(view), self._stop - position))
        self._copy(position, view[:there])
        return there

    def read_bytes(self, position: int, size: int) -> bytes:
        self._reach(position + size, position + size)
        data = bytearray(max(0, min(size, self._stop - position)))
        self._copy(position, memoryview(data))
        return bytes(data)

    def _reach(self, least: int, most: int) -> None:
        """Read on to the position `least`, and up to `most` as far as no read has to wait."""
        while self.size is None and (self._stop < least or (self._stop < most and self._is_ready())):
            self._read_on(most - self._stop)

    def _is_ready(self) -> bool:
        return self._wait is None or self._wait(0)

    def _read_on(self, wanted: int) -> None:
        if self._before_waiting is not None and not self._is_ready():
            self._before_waiting()
        try:
            data = self._read_some(max(LEAST_READ, min(wanted, MOST_READ)))
        except OSError as error:
            raise UnreadableError(f"{self.name}: {error.strerror}") from error
        if data is None:  # a non-blocking stream has nothing yet
            if self._wait is not None:
                self._wait(None)
            return
        self._kept += data
        if not data:
            self.size = self._stop
        elif self._max is not None and self._stop > self._max:
            self.is_cut = True
            self.size = self._max
            del self._kept[self._max - self._start :]
        if len(self._kept) > 2 * IN_MEMORY:
            self._spill_oldest()

    def _spill_oldest(self) -> None:
        count = len(self._kept) - IN_MEMORY
        try:
            if self._spill is None:
                self._spill = _Spill(self._start)
            with memoryview(self._kept) as kept, kept[:count] as oldest:
                self._spill.add(oldest)
        except OSError as error:
            raise self._no_room(error) from error
        del self._kept[:count]
        self._start += count

    def _no_room(self, error: OSError) -> UnreadableError:
        from kafkalog.files.off_limits import no_room

        return no_room(f"{self.name}: part of the stream must be read again, but a temporary file for it", error)

    def _copy(self, position: int, view: memoryview) -> None:
        """Fill `view` with bytes that were read and not released."""
        spilled = max(0, min(len(view), self._start - position))
        if spilled and self._spill is not None:
            self._spill.read_into(position, view[:spilled])
        at = position + spilled - self._start
        with memoryview(self._kept) as kept:
            view[spilled:] = kept[at : at + len(view) - spilled]

    def release(self, position: int) -> None:
        if position >= self._start:
            self.close()
            del self._kept[: position - self._start]
            self._start = position
        elif self._spill is not None:
            try:
                self._spill = self._spill.released(position)
            except OSError as error:
                raise self._no_room(error) from error

    def close(self) -> None:
        if self._spill is not None:
            self._spill.close()
            self._spill = None

    def changes(self) -> None: ...


def _reader(stream: BinaryIO) -> Callable[[int], bytes | None]:
    """Return a function that reads once: b"" is the end, None means nothing yet."""
    read1: Callable[[int], bytes] | None = getattr(stream, "read1", None)
    if read1 is None:
        return stream.read
    return lambda size: read1(size) or stream.read(1)  # read1 also returns b"" for nothing yet


def _waiter(stream: BinaryIO) -> Callable[[float | None], bool] | None:
    """Return what waits for bytes to read, None if the stream has no file descriptor."""
    try:
        return waiter(stream.fileno())
    except (AttributeError, OSError):
        return None


class _Spill:
    """Bytes of a stream from `start` on, in a file that has no name."""

    def __init__(self, start: int) -> None:
        import tempfile  # few streams need it

        from kafkalog.files.off_limits import temporary_folder

        self._file = tempfile.TemporaryFile(buffering=0, dir=temporary_folder())  # noqa: SIM115  # closed by close
        self._start = self._stop = start

    def add(self, data: memoryview) -> None:
        """Append `data`; blocks of zeros are not written but become holes in the file."""
        descriptor = self._file.fileno()
        at = 0
        while at < len(data):
            block = bytes(data[at : at + BLOCK])
            is_hole = block.count(0) == len(block)
            if not is_hole:
                write_at(descriptor, block, self._stop - self._start + at)
            at += len(block)
        self._stop += len(data)
        os.ftruncate(descriptor, self._stop - self._start)

    def read_into(self, position: int, view: memoryview) -> None:
        done = 0
        while done < len(view):
            done += read_at(self._file.fileno(), view[done:], position - self._start + done)

    def released(self, position: int) -> _Spill:
        """Return the bytes from `position` on: this file, or a new one if most of this one is no longer needed."""
        if position - self._start <= max(FORGOTTEN, self._stop - position):
            return self
        rest = _Spill(position)
        view = memoryview(bytearray(MOST_READ))
        for at in range(position, self._stop, MOST_READ):
            piece = view[: self._stop - at]
            self.read_into(at, piece)
            rest.add(piece)
        self.close()
        return rest

    def close(self) -> None:
        self._file.close()
