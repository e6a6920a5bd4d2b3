"""Compression as the clients and brokers do it, so that a redacted batch is packed as the original was."""

from __future__ import annotations

import gzip
from typing import Any, Final

from kafkalog.kafka.compression import XERIAL_MAGIC, bytes_after_gzip

__all__ = ["compress"]

_XERIAL_BLOCK: Final = 32768
_GZIP_LEVEL: Final = 6


def compress(codec: int, data: bytes | bytearray, original: memoryview) -> bytes:
    """Pack `data` with a codec, snappy in the framing of the `original`; zeros for the bytes after its stream's end."""
    if codec == 1:
        return gzip.compress(data, _GZIP_LEVEL, mtime=0) + bytes(bytes_after_gzip(original))
    if codec == 2:
        return _snappy(data, original)
    if codec == 3:
        import lz4.frame

        packed: bytes = lz4.frame.compress(
            data, block_linked=False, store_size=False, block_size=lz4.frame.BLOCKSIZE_MAX64KB
        )
        return packed + bytes(_after_lz4(original))
    import zstandard

    return zstandard.ZstdCompressor(write_content_size=False, write_checksum=False).compress(data)


def _after_lz4(payload: memoryview) -> int:
    """Return how many bytes follow the frame; Kafka reads none of them."""
    import lz4.frame

    decoder = lz4.frame.LZ4FrameDecompressor()
    try:
        decoder.decompress(payload)
    except RuntimeError:  # a frame of magic 0, whose checksum is of more bytes
        return 0
    return len(decoder.unused_data or b"")


def _snappy(data: bytes | bytearray, original: memoryview) -> bytes:
    import snappy

    pack: Any = snappy.compress
    if bytes(original[: len(XERIAL_MAGIC)]) != XERIAL_MAGIC:
        return bytes(pack(bytes(data)))
    blocks = [bytes(pack(bytes(data[at : at + _XERIAL_BLOCK]))) for at in range(0, len(data), _XERIAL_BLOCK)]
    header = XERIAL_MAGIC + b"\0\0\0\1\0\0\0\1"
    return header + b"".join(len(block).to_bytes(4, "big") + block for block in blocks)
