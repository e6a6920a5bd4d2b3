"""A pipe as a source: read forward as asked for; what may be asked for again is kept, little of it in memory."""

from __future__ import annotations

import os
import select
from collections.abc import Callable
from typing import BinaryIO, Final

from kafkalog.errors import UnreadableError

__all__ = ["StreamSource"]

_LEAST: Final = 1 << 16  # asked of the stream at once, whatever is needed
_MOST: Final = 1 << 20
_IN_MEMORY: Final = 4 << 20  # what stays there of the bytes kept when the older ones go to the file
_BLOCK: Final = 1 << 16  # a hole in the file where all of it is zero
_FORGOTTEN: Final = 64 << 20  # bytes in the file that nobody needs any more and that may stay there all the same


class StreamSource:
    """A pipe. What was not released is kept: some MiB in memory, older bytes in a temporary file without a name.

    Where the stream has nothing for now, `before_waiting` is called. Raises UnreadableError where a read fails or the
    temporary file can't be written; ``TMPDIR`` says where that lies, ``/tmp`` if it is not set.
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
        self._poll = _poll(stream)
        self._kept = bytearray()
        self._start = 0  # position of the first byte in memory
        self._spill: _Spill | None = None

    @property
    def _stop(self) -> int:
        """Return the position behind the last byte read."""
        return self._start + len(self._kept)

    def read_into(self, position: int, view: memoryview, least: int, /) -> int:
        self._reach(position + min(least, len(view)), position + len(view))
        there = max(0, min(len(view), self._stop - position))
        self._copy(position, view[:there])
        return there

    def read(self, position: int, size: int) -> bytes:
        self._reach(position + size, position + size)
        data = bytearray(max(0, min(size, self._stop - position)))
        self._copy(position, memoryview(data))
        return bytes(data)

    def _reach(self, least: int, most: int) -> None:
        """Read on to the position `least`, and as far as `most` where there is nothing to wait for."""
        while self.size is None and (self._stop < least or (self._stop < most and self._is_ready())):
            self._read_on(most - self._stop)

    def _is_ready(self) -> bool:
        return self._poll is None or bool(self._poll.poll(0))

    def _read_on(self, wanted: int) -> None:
        if self._before_waiting is not None and not self._is_ready():
            self._before_waiting()
        try:
            data = self._read_some(max(_LEAST, min(wanted, _MOST)))
        except OSError as error:
            raise UnreadableError(f"{self.name}: {error.strerror}") from error
        if data is None:  # nothing yet from a stream that does not wait
            if self._poll is not None:
                self._poll.poll()
            return
        self._kept += data
        if not data:
            self.size = self._stop
        elif self._max is not None and self._stop > self._max:
            self.is_cut = True
            self.size = self._max
            del self._kept[self._max - self._start :]
        if len(self._kept) > 2 * _IN_MEMORY:
            self._spill_oldest()

    def _spill_oldest(self) -> None:
        count = len(self._kept) - _IN_MEMORY
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
        return UnreadableError(
            f"{self.name}: a part of the stream that must be looked at again does not go into a temporary file in"
            f" {_folder()} (TMPDIR names another): {error.strerror}"
        )

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
    """Return what reads once: b"" is the end, None nothing for now."""
    read1: Callable[[int], bytes] | None = getattr(stream, "read1", None)
    if read1 is None:
        return stream.read
    return lambda size: read1(size) or stream.read(1)  # to read1 nothing for now is b"", too


def _poll(stream: BinaryIO) -> select.poll | None:
    """Return what says whether there is anything to read, None for what is no file of the system's."""
    try:
        descriptor = stream.fileno()
    except (AttributeError, OSError):
        return None
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return poll


def _folder() -> str:
    return os.environ.get("TMPDIR") or "/tmp"


class _Spill:
    """Bytes of a stream from `start` on, in a file that has no name."""

    def __init__(self, start: int) -> None:
        import tempfile  # only few streams need it

        # The folder is named: left to itself, tempfile may fall back on the working directory, where evidence may lie.
        self._file = tempfile.TemporaryFile(buffering=0, dir=_folder())  # noqa: SIM115  # closed by close
        self._start = self._stop = start

    def add(self, data: memoryview) -> None:
        """Write `data` behind what is there; zeros are left out, so that a file's hole stands for them."""
        descriptor = self._file.fileno()
        at = 0
        while at < len(data):
            block = bytes(data[at : at + _BLOCK])
            is_hole = block.count(0) == len(block)
            at += len(block) if is_hole else os.pwrite(descriptor, block, self._stop - self._start + at)
        self._stop += len(data)
        os.ftruncate(descriptor, self._stop - self._start)

    def read_into(self, position: int, view: memoryview) -> None:
        done = 0
        while done < len(view):
            done += os.preadv(self._file.fileno(), [view[done:]], position - self._start + done)

    def released(self, position: int) -> _Spill:
        """Return what is left from `position` on: this file, or a new one where most of this is needed no more."""
        if position - self._start <= max(_FORGOTTEN, self._stop - position):
            return self
        rest = _Spill(position)
        view = memoryview(bytearray(_MOST))
        for at in range(position, self._stop, _MOST):
            piece = view[: self._stop - at]
            self.read_into(at, piece)
            rest.add(piece)
        self.close()
        return rest

    def close(self) -> None:
        self._file.close()
