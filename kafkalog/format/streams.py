"""What is odd about a compressed stream that decompresses: bytes after its end, frames that Kafka refuses."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Final

__all__ = ["stream_words"]

GZIP, LZ4 = 1, 3
_INDEPENDENT, _BLOCK_SUMS, _SIZE, _SUM, _DICTIONARY = 0x20, 0x10, 0x08, 0x04, 0x01  # of an LZ4 frame's flags
_STEP: Final = 1 << 16


def stream_words(codec: int, payload: memoryview, size: int) -> Iterator[tuple[str, str]]:
    """Say what is odd about a whole stream that decompresses to `size` bytes: a finding's code and its words."""
    if codec == LZ4:
        yield from _lz4(payload)
    elif codec == GZIP and int.from_bytes(payload[-4:], "little") != size & 0xFFFFFFFF:
        rest = _after_gzip(payload)  # several members, or bytes after the last one
        if rest:
            yield "compressed-stream-rest", f"{rest} bytes after the gzip stream's end"


def _lz4(payload: memoryview) -> Iterator[tuple[str, str]]:
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


def _after_gzip(payload: memoryview) -> int:
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
