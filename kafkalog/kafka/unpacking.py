"""Compressed files as streams: gzip, zstd and lz4, a zip's bzip2 and LZMA, read in pieces, each with a ceiling.

A stream that is cut or broken is an error, never a shorter file.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any, Final, Protocol

from kafkalog.kafka.compression import MAX_ZSTD_WINDOW, DecompressionError

__all__ = ["PACKED", "UnpackedStream", "bzip2", "zip_lzma"]

PACKED: Final = {b"\x1f\x8b\x08": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"\x04\x22\x4d\x18": "lz4"}
_PIECE: Final = 1 << 16
_ZSTD_PIECE: Final = 1 << 11  # its decoder gives all that a piece holds: 128 KiB for each 4 bytes
_MAX_LZMA_MEMORY: Final = 128 << 20  # most of it the dictionary
_LZMA_HEAD: Final = 4  # bytes of a zip's own before the properties: version, their size
_LZMA_PROPERTIES: Final = 5


class _Readable(Protocol):
    """A file, as far as it is needed."""

    def read(self, size: int, /) -> bytes:
        """Return the next bytes, none at the end."""


class _Decoder(Protocol):
    """One frame or member; `rest` are input bytes that it has not used."""

    eof: bool
    rest: bytes

    def give(self, data: bytes, most: int) -> bytes:
        """Decode more input, at most `most` bytes of output at once if the codec can; the rest waits in `rest`."""


class _Gzip:
    def __init__(self) -> None:
        self._decoder = zlib.decompressobj(31)
        self.eof, self.rest = False, b""

    def give(self, data: bytes, most: int) -> bytes:
        found = self._decoder.decompress(data, most)
        self.eof = self._decoder.eof
        self.rest = self._decoder.unused_data if self.eof else self._decoder.unconsumed_tail
        return found


class _Zstd:
    def __init__(self) -> None:
        import zstandard

        self._decoder = zstandard.ZstdDecompressor(max_window_size=MAX_ZSTD_WINDOW).decompressobj()
        self.eof, self.rest = False, b""

    def give(self, data: bytes, _most: int) -> bytes:
        found: bytes = self._decoder.decompress(data[:_ZSTD_PIECE])
        self.eof = self._decoder.eof
        self.rest = (self._decoder.unused_data if self.eof else b"") + data[_ZSTD_PIECE:]
        return found


class _Buffered:
    """A decoder that keeps the input that it has not used."""

    def __init__(self, decoder: Any) -> None:
        self._decoder = decoder
        self.eof, self.rest = False, b""

    def give(self, data: bytes, most: int) -> bytes:
        waits = self._decoder.needs_input
        found: bytes = self._decoder.decompress(data if waits else b"", most)
        self.eof = self._decoder.eof
        self.rest = ((self._decoder.unused_data or b"") if self.eof else b"") + (b"" if waits else data)
        return found


class _ZipLzma:
    """LZMA as a zip has it: without `size`, which is unknown where the stream says itself that it ends."""

    def __init__(self, size: int | None) -> None:
        self._size = (1 << 64) - 1 if size is None else size
        self._head = b""
        self._body: _Buffered | None = None
        self.eof, self.rest = False, b""

    def give(self, data: bytes, most: int) -> bytes:
        if self._body is None:
            self._head += data
            start = _LZMA_HEAD + _LZMA_PROPERTIES
            self.rest = b""
            if len(self._head) < start:
                return b""
            import lzma

            self._body = _Buffered(lzma.LZMADecompressor(lzma.FORMAT_ALONE, memlimit=_MAX_LZMA_MEMORY))
            data = self._head[_LZMA_HEAD:start] + self._size.to_bytes(8, "little") + self._head[start:]
        found = self._body.give(data, most)
        self.eof, self.rest = self._body.eof, self._body.rest
        return found


def _lz4() -> _Decoder:
    import lz4.frame

    return _Buffered(lz4.frame.LZ4FrameDecompressor())


def bzip2() -> _Decoder:
    """Return a decoder of bzip2."""
    import bz2

    return _Buffered(bz2.BZ2Decompressor())


def zip_lzma(size: int | None) -> _Decoder:
    """Return a decoder of a zip's LZMA, of `size` bytes; None where the stream marks its end."""
    return _ZipLzma(size)


_DECODERS: Final[dict[str, Callable[[], _Decoder]]] = {"gzip": _Gzip, "zstd": _Zstd, "lz4": _lz4}


class UnpackedStream:
    """What a compressed file contains: frames or members one after the other; other bytes after them are ignored.

    A `decoder` of another codec decodes one stream. Raises DecompressionError where the file is cut or broken.
    """

    def __init__(self, file: _Readable, codec: str, decoder: _Decoder | None = None) -> None:
        self._file = file
        self._codec = codec
        self._magic = next((magic for magic, name in PACKED.items() if name == codec), b"")
        self._decoder = decoder or _DECODERS[codec]()
        self._input = b""
        self._output = bytearray()
        self._ended = False

    def read(self, size: int) -> bytes:
        """Return the next bytes, fewer than `size` only at the end."""
        while len(self._output) < size and not self._ended:
            self._more(size)
        found = bytes(memoryview(self._output)[:size])
        del self._output[:size]
        return found

    def peek(self, size: int) -> bytes:
        """Return the next bytes without moving on."""
        found = self.read(size)
        self._output[:0] = found
        return found

    def _more(self, size: int) -> None:
        read = b"" if self._input else self._file.read(_PIECE)
        data = self._input or read
        if self._decoder.eof:
            data += self._file.read(len(self._magic)) if len(data) < len(self._magic) else b""
            if not self._magic or not data.startswith(self._magic):
                self._ended = True
                return
            self._decoder = _DECODERS[self._codec]()
        try:
            found = self._decoder.give(data, max(size - len(self._output), _PIECE))
        except _errors() as error:
            raise DecompressionError(f"{self._codec}: {error}") from error
        self._input = self._decoder.rest
        self._output += found
        if not data and not found and not self._decoder.eof:
            raise DecompressionError(f"{self._codec}: the file is cut short", "compressed-stream-cut")


def _errors() -> tuple[type[Exception], ...]:
    """Return what decoders raise for input that is broken."""
    import lzma

    import zstandard

    return (
        zlib.error, OSError, RuntimeError, ValueError, EOFError, MemoryError, zstandard.ZstdError, lzma.LZMAError,
    )  # fmt: skip
