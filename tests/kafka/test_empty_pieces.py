"""Streams of pieces that contain nothing, or a byte: their decoders are linear, cheap, and keep nothing for a piece."""

from __future__ import annotations

import struct
import time
import tracemalloc
from collections.abc import Callable
from typing import Final

import pytest
import snappy
from hypothesis import given
from hypothesis import strategies as st

import build
from kafkalog.kafka.compression import decompress

LIMIT: Final = 128 << 20


def _named(data: bytes) -> bytes:
    """Write a gzip member with a file name in its header."""
    return b"\x1f\x8b\x08\x08" + bytes(6) + b"name\0" + build.gzipped(data)[10:]


def _stored() -> bytes:
    """Write an empty gzip member whose one block is stored."""
    return b"\x1f\x8b\x08" + bytes(7) + b"\x01\0\0\xff\xff" + bytes(8)


def _block(packed: bytes) -> bytes:
    return struct.pack(">i", len(packed)) + packed


EMPTY: Final[dict[str, tuple[int, bytes, bytes]]] = {  # codec, the stream's start, the piece
    "gzip members": (build.GZIP, build.gzipped(b"first"), build.gzipped(b"")),
    "stored gzip members": (build.GZIP, build.gzipped(b"first"), _stored()),
    "xerial blocks": (build.SNAPPY, build.XERIAL, _block(b"\0")),
    "xerial blocks of a long zero": (build.SNAPPY, build.XERIAL, _block(b"\x80\x80\x80\0")),
    "xerial headers": (build.SNAPPY, build.XERIAL, build.XERIAL),
}


@pytest.mark.parametrize("name", EMPTY)
def test_empty_pieces_cost_next_to_nothing(name: str) -> None:
    """A quarter of a million pieces take less than so many steps of an empty loop, and no memory."""
    codec, start, piece = EMPTY[name]
    count = 250_000
    stream = memoryview(start + piece * count)
    begun = time.process_time()
    for _ in range(count):
        pass
    loop = time.process_time() - begun
    tracemalloc.start()
    begun = time.process_time()
    data = decompress(codec, stream, LIMIT)
    spent = time.process_time() - begun
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert bytes(data) == (b"first" if codec == build.GZIP else b"")
    assert spent < 30 * loop
    assert peak < 2 * len(stream) + (1 << 20)  # zlib copies what follows the first member


@pytest.mark.some(every=2)
@pytest.mark.parametrize(
    ("codec", "piece"),
    [
        (build.GZIP, build.gzipped(b"a")),
        (build.GZIP, _named(b"")),
        (build.SNAPPY, build.XERIAL + _block(snappy.compress(b"a"))),
        (build.SNAPPY, _block(snappy.compress(b"a"))),
    ],
)
def test_small_pieces_are_linear(codec: int, piece: bytes) -> None:
    """Four times the pieces take about four times the time, and memory only for what they contain."""
    start = build.XERIAL if codec == build.SNAPPY else b""

    def spent(count: int) -> float:
        stream = memoryview(start + piece * count)
        begun = time.process_time()
        decompress(codec, stream, LIMIT)
        return time.process_time() - begun

    assert min(spent(40_000) for _ in range(3)) < 10 * max(spent(10_000) for _ in range(3))
    tracemalloc.start()
    decompress(codec, memoryview(start + piece * 10_000), LIMIT)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10_000 * (3 * len(piece) + 8) + (1 << 20)


_content = st.binary(max_size=70)
_ways: Final[dict[int, list[Callable[[bytes], bytes]]]] = {
    build.GZIP: [
        build.gzipped,
        _named,
        lambda data: build.gzipped(data) + _stored(),
        lambda data: _stored() * 2 + build.gzipped(data),
    ],
    build.SNAPPY: [
        lambda data: _block(snappy.compress(data)),
        lambda data: build.XERIAL + _block(snappy.compress(data)),
        lambda data: _block(b"\0") * 3 + _block(b"\x80\0") + _block(snappy.compress(data)) + build.XERIAL * 2,
    ],
}


@given(st.lists(st.tuples(_content, st.integers(0, 3)), min_size=1, max_size=8), st.sampled_from(sorted(_ways)))
def test_what_is_between_empty_pieces_is_kept(pieces: list[tuple[bytes, int]], codec: int) -> None:
    """Whatever is passed over together adds nothing, and all else is there in order."""
    ways = _ways[codec]
    stream = b"".join(ways[way % len(ways)](data) for data, way in pieces)
    stream = build.XERIAL + stream if codec == build.SNAPPY else stream

    assert bytes(decompress(codec, memoryview(stream), LIMIT)) == b"".join(data for data, _ in pieces)
