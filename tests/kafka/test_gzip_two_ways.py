"""gzip streams give the same bytes, or the same error, whether isal is there or not."""

from __future__ import annotations

import zlib
from unittest import mock

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import build
from kafkalog.kafka import compression
from kafkalog.kafka.compression import DecompressionError, OverLimitError, decompress

TEXTS = st.one_of(st.binary(max_size=300), st.lists(st.sampled_from([b"order", b"paid", b"\0" * 40]), max_size=400))
STRATEGIES = st.sampled_from([zlib.Z_DEFAULT_STRATEGY, zlib.Z_FIXED, zlib.Z_HUFFMAN_ONLY, zlib.Z_RLE])


@st.composite
def streams(draw: st.DrawFn) -> bytes:
    """Draw members of every kind, then change bits of them, cut them short, or add to them."""
    stream = b""
    for text in draw(st.lists(TEXTS, min_size=1, max_size=2)):
        writer = zlib.compressobj(draw(st.integers(0, 9)), zlib.DEFLATED, 31, 9, draw(STRATEGIES))
        stream += writer.compress(text if isinstance(text, bytes) else b"".join(text)) + writer.flush()
    changed = bytearray(stream)
    for bit in draw(st.lists(st.integers(0, 8 * len(stream) - 1), max_size=3)):
        changed[bit >> 3] ^= 1 << (bit & 7)
    return bytes(changed[: draw(st.integers(0, len(changed)))] if draw(st.booleans()) else changed)


def given_back(stream: bytes, limit: int) -> tuple[str, object]:
    """Return what a reader gets: the bytes, or the words, code and size of the error."""
    try:
        return "bytes", bytes(decompress(build.GZIP, memoryview(stream), limit))
    except OverLimitError:
        return "over the limit", limit
    except DecompressionError as error:
        return "broken", (str(error), error.code, error.size)


@given(streams(), st.sampled_from([0, 1, 100, 1 << 20]))
@example(build.gzipped(b"paid")[:3] + b"\xe0" + build.gzipped(b"paid")[4:], 100)  # flags that do not exist
@example(build.gzipped(b"paid")[:-8] + bytes(8), 100)  # another checksum
def test_isal_never_decides_otherwise(stream: bytes, limit: int) -> None:
    """zlib is what Java's reader is; isal may only be faster."""
    with_isal = given_back(stream, limit)
    with mock.patch.object(compression, "isal_zlib_or_none", return_value=None):
        assert given_back(stream, limit) == with_isal


def test_a_whole_member_is_read_by_isal() -> None:
    """Otherwise the test above would compare zlib with itself."""
    pytest.importorskip("isal.isal_zlib", reason="isal is not built for this machine")
    with mock.patch.object(compression.zlib, "decompressobj", side_effect=AssertionError("zlib was asked")):
        assert decompress(build.GZIP, memoryview(build.gzipped(b"paid")), 100) == b"paid"
