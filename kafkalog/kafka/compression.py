"""Decompression with a ceiling: every decoder is capped and proves that its stream ended.

The codecs are Kafka's (CompressionType): one or more gzip members, snappy raw or in xerial's framing, one LZ4 frame,
zstd frames. Bytes after a stream's end are ignored where Kafka ignores them.
"""

from __future__ import annotations

import re
import threading
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, Final

from kafkalog.kernel.records import zstd_frame

__all__ = [
    "CODECS",
    "MAX_ZSTD_WINDOW",
    "XERIAL_MAGIC",
    "DecompressionError",
    "OverLimitError",
    "bytes_after_gzip",
    "decompress",
    "isal_zlib_or_none",
    "stream_words",
    "zstd_at_once",
]


CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")

XERIAL_MAGIC: Final = b"\x82SNAPPY\x00"

_XERIAL_HEADER: Final = 16

_XERIAL_EMPTY: Final = 5  # bytes that a block without content has at most

_XERIAL_AGAIN: Final = 0x82534E41  # a chunk length that is the first four bytes of another header

_LZ4_MAGIC: Final = b"\x04\x22\x4d\x18"

_PLAIN_GZIP: Final = b"\x1f\x8b\x08\0"

_MAGICS: Final = {1: b"\x1f\x8b", 3: _LZ4_MAGIC}

_MOST_TIMES: Final = (1, 1032, 64, 255, 0)  # its size that a stream decompresses to at most; what zstd gave is known

MAX_ZSTD_WINDOW: Final = 128 << 20

_GZIP_STEP: Final = 1 << 7

_ZSTD_STEP: Final = 1 << 16

_LZ4_STEP: Final = 1 << 14

# What adds nothing may be there by the million: members of gzip, blocks and repeated headers of xerial's framing. So
# many of them are passed over at once: a possessive repeat has no bound, and Python 3.11.2 matches it wrongly.
_EMPTY_MEMBERS: Final = re.compile(rb"(?:\x1f\x8b\x08\0[\s\S]{6}(?:\x03\0|\x01\0\0\xff\xff)\0{8}){1,4096}")

_EMPTY_BLOCKS: Final = re.compile(rb"(?:\0\0\0(?:\x01|\x02\x80|\x03\x80\x80|\x04\x80{3}|\x05\x80{4})\0){1,4096}")

_HEADERS: Final = re.compile(rb"(?:\x82SNAPPY\0[\s\S]{8}){1,4096}")

_of_thread = threading.local()


class DecompressionError(ValueError):
    """The bytes are not a stream of the codec, or it does not end; caught where their position is known.

    `code` is the finding's; `size` is how many bytes were decompressed before, or may have been.
    """

    def __init__(self, message: str, code: str = "decompression-failed", size: int = 0) -> None:
        super().__init__(message)
        self.code = code
        self.size = size


class OverLimitError(ValueError):
    """The stream decompresses to more than the limit; caught where its position is known."""


def decompress(codec: int, payload: memoryview, limit: int, *, magic: int = 2) -> bytes | bytearray:
    """Decompress `payload` to at most `limit` bytes.

    Raises OverLimitError if there is more, DecompressionError if the stream is broken or cut.
    """
    if not 0 < codec < len(CODECS):
        raise DecompressionError(f"codec {codec} does not exist")
    if not len(payload):
        raise DecompressionError(f"{CODECS[codec]}: the stream is missing", "compressed-stream-missing")
    try:
        return _DECODERS[codec](payload, limit, magic)
    except (DecompressionError, OverLimitError):
        raise
    except (zlib.error, RuntimeError, ValueError, OSError, MemoryError, EOFError) as error:
        foreign = codec in _MAGICS and not bytes(payload[:4]).startswith(_MAGICS[codec])
        code = "compressed-stream-foreign" if foreign else "decompression-failed"
        size = 0 if foreign else min(limit, _MOST_TIMES[codec] * len(payload))
        raise DecompressionError(f"{CODECS[codec]}: {error}", code, size) from error


def _gzip(payload: memoryview, limit: int, _magic: int) -> bytes | bytearray:
    whole = _inflated(payload, limit)
    if whole is not None:
        return whole
    decoder = zlib.decompressobj(31)
    first = decoder.decompress(payload, limit + 1)
    position = len(payload) - len(decoder.unused_data)
    if len(first) > limit:
        raise OverLimitError
    if decoder.eof and position == len(payload):
        return first
    out = bytearray(first)
    if not decoder.eof or not _gzip_members(payload, position, limit, out):
        raise DecompressionError("gzip: the member does not end", "compressed-stream-cut", len(out))
    return out


def _inflated(payload: memoryview, limit: int) -> bytes | None:
    """Return what a whole member without optional fields contains, by isal, in less than half of zlib's time.

    None leaves anything else to zlib: isal accepts flags that do not exist, and stops elsewhere in a broken stream.
    """
    if bytes(payload[:4]) != _PLAIN_GZIP:
        return None
    if (isal_zlib := isal_zlib_or_none()) is None:
        return None
    decoder = isal_zlib.decompressobj(31)
    try:
        data: bytes = decoder.decompress(payload, limit + 1)
    except isal_zlib.error:
        return None
    return data if decoder.eof and not decoder.unused_data and len(data) <= limit else None


@cache
def isal_zlib_or_none() -> Any:
    """Return isal's reader of gzip, None on a machine that it is not built for."""
    try:
        from isal import isal_zlib
    except ImportError:
        return None
    return isal_zlib


def _gzip_members(payload: memoryview, position: int, limit: int, out: bytearray) -> bool:
    """Add what the members after the first one contain; say whether the last one ends.

    Java's reader accepts another member and ignores anything else. Each is fed in growing steps, because the bytes
    that a decoder does not use are copied; empty ones are passed over together.
    """
    while bytes(payload[position : position + 2]) == _MAGICS[1]:
        if found := _EMPTY_MEMBERS.match(payload, position):
            position = found.end()
            continue
        decoder = zlib.decompressobj(31)
        step = _GZIP_STEP
        while not decoder.eof and position < len(payload):
            piece = payload[position : position + step]
            out += decoder.decompress(piece, limit + 1 - len(out))
            if len(out) > limit:
                raise OverLimitError
            position += len(piece) - len(decoder.unused_data)
            step = min(4 * step, 1 << 20)
        if not decoder.eof:
            return False
    return True


def _snappy_block(block: memoryview, limit: int) -> bytes:
    import snappy

    size = shift = 0
    for byte in block[:5] if len(block) and block[0] > 127 else block[:1]:
        size |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            break
    if size > limit:
        raise OverLimitError
    if size > 64 * len(block):  # a copy of 64 bytes takes at least 2: no real block can be so large
        message = f"snappy: a block of {len(block)} bytes can't decompress to {size} bytes, as it declares"
        raise DecompressionError(message, "snappy-size-lies")
    try:
        return bytes(snappy.uncompress(block))
    except snappy.UncompressError as error:
        raise DecompressionError(f"snappy: {error}", size=size) from error


def _snappy(payload: memoryview, limit: int, _magic: int) -> bytes | bytearray:
    if len(payload) < _XERIAL_HEADER or bytes(payload[:8]) != XERIAL_MAGIC:
        return _snappy_block(payload, limit)
    out = bytearray()
    position, end = _XERIAL_HEADER, len(payload)
    while position < end:
        length = int.from_bytes(payload[position : position + 4], "big")
        if length <= _XERIAL_EMPTY and (found := _EMPTY_BLOCKS.match(payload, position)):
            position = found.end()
            continue
        position += 4
        if length == _XERIAL_AGAIN:
            found = _HEADERS.match(payload, position - 4)
            position = position + _XERIAL_HEADER - 4 if found is None else found.end()
            continue
        if length > end - position:
            left = max(0, end - position)
            message = f"snappy: a block needs {length} bytes, found {left}"
            raise DecompressionError(message, "snappy-block-past-end", len(out))
        block = payload[position : position + length]
        if 2 < length <= 62 and block[0] == length - 2 and block[1] == length - 3 << 2 and len(out) + length <= limit:
            out += block[2:]  # one short literal, of which there may be millions
        else:
            out += _snappy_block(block, limit - len(out))
        position += length
    return out


def _lz4(payload: memoryview, limit: int, magic: int) -> bytes:
    import lz4.frame

    frame: bytes | memoryview = payload
    if magic == 0 and bytes(payload[:4]) == _LZ4_MAGIC and len(payload) >= 7:
        frame = _with_right_lz4_checksum(payload)
    decoder = lz4.frame.LZ4FrameDecompressor()
    step = max(_LZ4_STEP, 4 * len(payload))  # the decoder allocates all that it may return
    data: bytes = decoder.decompress(frame, min(limit + 1, step))
    parts, size = [data], len(data)
    while not decoder.eof and not decoder.needs_input and size <= limit:
        step *= 2
        data = decoder.decompress(b"", min(limit + 1 - size, step))
        parts.append(data)
        size += len(data)
    if size > limit:
        raise OverLimitError
    if not decoder.eof:
        raise DecompressionError("lz4: the frame does not end", "compressed-stream-cut", size)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _with_right_lz4_checksum(frame: memoryview) -> bytes:
    """Correct the header checksum: writers of magic 0 included the frame's magic number in it."""
    end = 6 + (8 if frame[4] & 0x08 else 0) + (4 if frame[4] & 0x01 else 0)
    return bytes(frame[:end]) + bytes([_xxh32(bytes(frame[4:end])) >> 8 & 0xFF]) + bytes(frame[end + 1 :])


def _xxh32(data: bytes) -> int:
    """Return the xxHash-32, seed 0, of fewer than 16 bytes: all that an LZ4 frame's descriptor has."""
    mask = 0xFFFFFFFF
    value = (374761393 + len(data)) & mask
    whole = len(data) // 4 * 4
    for i in range(0, whole, 4):
        value = (value + int.from_bytes(data[i : i + 4], "little") * 3266489917) & mask
        value = ((value << 17 | value >> 15) & mask) * 668265263 & mask
    for byte in data[whole:]:
        value = (value + byte * 374761393) & mask
        value = ((value << 11 | value >> 21) & mask) * 2654435761 & mask
    value = (value ^ value >> 15) * 2246822519 & mask
    value = (value ^ value >> 13) * 3266489917 & mask
    return value ^ value >> 16


def zstd_at_once(payload: memoryview, most: int) -> bytes | None:
    """Decompress one zstd frame to at most `most` bytes, and no more than it states: None if that fails."""
    import zstandard

    try:
        content: bytes = _zstd_decompressor().decompress(payload, max_output_size=most)
    except zstandard.ZstdError:
        return None
    return content


def _zstd_decompressor() -> Any:
    if (decompressor := getattr(_of_thread, "zstd", None)) is None:  # making one costs more than unpacking a batch
        import zstandard

        decompressor = _of_thread.zstd = zstandard.ZstdDecompressor(max_window_size=MAX_ZSTD_WINDOW)
    return decompressor


def _zstd(payload: memoryview, limit: int, _magic: int) -> bytes | bytearray:
    import zstandard

    end, declared = zstd_frame(payload)
    most = min(limit, max(_ZSTD_STEP, 4 * len(payload)))
    if end == len(payload) and 0 <= declared <= most > 0:  # one frame, as writers make it
        whole = zstd_at_once(payload, most)
        if whole is not None:
            return whole
    reader = _zstd_decompressor().stream_reader(payload, read_across_frames=True)
    out = bytearray(most + 1)  # never by the size that a frame declares
    size = 0
    try:
        while got := reader.readinto(memoryview(out)[size:]):
            size += got
            if size > limit:
                raise OverLimitError
            if size == len(out):
                out.extend(bytes(min(limit + 1, 2 * size) - size))
    except zstandard.ZstdError as error:
        code = "decompression-failed" if _is_zstd(payload) else "compressed-stream-foreign"
        raise DecompressionError(f"zstd: {error}", code, size) from error
    if end < 0:
        # ZstdDecompressor reads a cut stream to where it was cut, and raises nothing.
        raise DecompressionError("zstd: the frame does not end", "compressed-stream-cut", size)
    del out[size:]
    return out


def _is_zstd(payload: memoryview) -> bool:
    """Say whether a frame begins here: a data frame or a skippable one."""
    magic = int.from_bytes(payload[:4], "little")
    return magic == 0xFD2FB528 or magic & 0xFFFFFFF0 == 0x184D2A50


_Decoder = Callable[[memoryview, int, int], bytes | bytearray]

_DECODERS: Final[dict[int, _Decoder]] = {1: _gzip, 2: _snappy, 3: _lz4, 4: _zstd}


# What is odd about a compressed stream that decompresses: bytes after its end, frames that Kafka refuses.


GZIP, LZ4 = 1, 3

_INDEPENDENT, _BLOCK_SUMS, _SIZE, _SUM, _DICTIONARY = 0x20, 0x10, 0x08, 0x04, 0x01  # of an LZ4 frame's flags

_STEP: Final = 1 << 16


def stream_words(codec: int, payload: memoryview, size: int) -> Iterator[tuple[str, str]]:
    """Say what is odd about a whole stream that decompresses to `size` bytes: a finding's code and its words."""
    if codec == LZ4:
        yield from _lz4_oddities(payload)
    elif codec == GZIP and int.from_bytes(payload[-4:], "little") != size & 0xFFFFFFFF:
        rest = bytes_after_gzip(payload)  # several members, or bytes after the last one
        if rest:
            yield "compressed-stream-rest", f"{rest} bytes after the gzip stream's end"


def _lz4_oddities(payload: memoryview) -> Iterator[tuple[str, str]]:
    flags = payload[4]
    if not flags & _INDEPENDENT:
        yield "lz4-frame-refused", "the LZ4 frame's blocks depend on each other, which Kafka refuses"
    if flags & _DICTIONARY:
        yield "lz4-frame-refused", "the LZ4 frame names a dictionary, which Kafka refuses"
    at = 7 + (8 if flags & _SIZE else 0) + (4 if flags & _DICTIONARY else 0)
    while at + 4 <= len(payload):
        block = int.from_bytes(payload[at : at + 4], "little") & 0x7FFFFFFF
        at += 4
        if not block:
            rest = len(payload) - at - (4 if flags & _SUM else 0)
            if rest > 0:
                yield "compressed-stream-rest", f"{rest} bytes after the LZ4 frame's end"
            return
        at += block + (4 if flags & _BLOCK_SUMS else 0)


def bytes_after_gzip(payload: memoryview) -> int:
    """Return how many bytes follow the last gzip member; Java's reader reads all members."""
    at = 0
    while bytes(payload[at : at + 2]) == b"\x1f\x8b":
        decoder = zlib.decompressobj(31)
        while not decoder.eof and at < len(payload):
            piece = payload[at : at + _STEP]
            try:
                rest = decoder.decompress(piece, _STEP)
                while decoder.unconsumed_tail and not decoder.eof:
                    rest = decoder.decompress(decoder.unconsumed_tail, _STEP)
            except zlib.error:
                return len(payload) - at
            del rest
            at += len(piece) - len(decoder.unused_data)
        if not decoder.eof:
            return 0
    return len(payload) - at
