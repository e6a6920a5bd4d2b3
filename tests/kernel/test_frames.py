"""Streams that the kernel decompresses have the content that their packages find; it leaves all others to these."""

from __future__ import annotations

from random import Random
from typing import Final

import lz4.block
import lz4.frame
import pytest
import snappy
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from kafkalog.kafka.batch import CellTable
from kafkalog.kafka.compression import DecompressionError, OverLimitError, decompress, zstd_at_once
from kafkalog.kernel import buffers, headers, interpreted
from kafkalog.kernel import records as kernel_records

PLAIN: Final = interpreted("records", "tests_interpreted_frames")
needs_compiled = pytest.mark.skipif(not headers.COMPILED, reason="interpreted, the packages decompress everything")
_LIMIT: Final = 1 << 20
_SNAPPY, _LZ4, _ZSTD = 2, 3, 4

words = st.lists(st.binary(min_size=1, max_size=40), min_size=1, max_size=8)
# What compresses: words again and again, at all distances, and stretches of one byte.
texts = st.builds(
    lambda words, picks: b"".join(words[pick % len(words)] * (1 + pick % 7) for pick in picks),
    words,
    st.lists(st.integers(0, 2**16), max_size=400),
)


def _xerial(content: bytes, piece: int) -> bytes:
    blocks = [snappy.compress(content[at : at + piece]) for at in range(0, len(content), piece)]
    return b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01" + b"".join(len(one).to_bytes(4, "big") + one for one in blocks)


def _streams(content: bytes) -> list[tuple[int, bytes]]:
    """Return the content as the writers of each codec make it."""
    return [
        (_SNAPPY, snappy.compress(content)),
        (_SNAPPY, _xerial(content, 32 << 10)),
        (_SNAPPY, _xerial(content, 100)),
        (_LZ4, lz4.frame.compress(content, block_linked=False, store_size=False)),
        (_LZ4, lz4.frame.compress(content, block_linked=True, store_size=False)),
        (_LZ4, lz4.frame.compress(content, block_linked=False, store_size=False, compression_level=9)),
        (_LZ4, lz4.frame.compress(content, content_checksum=True, block_checksum=True)),
        (_ZSTD, zstandard.ZstdCompressor().compress(content)),
        (_ZSTD, zstandard.ZstdCompressor(write_content_size=False, write_checksum=True).compress(content)),
    ]


def _taken(streams: list[tuple[int, bytes]], limit: int = _LIMIT) -> list[bytes]:
    """Return the contents of the first streams, as far as the kernel decompresses them."""
    heads = CellTable(len(buffers.BATCH_COLUMNS), len(streams))
    heads.count = len(streams)
    buf = b"before" + b"".join(stream for _, stream in streams)
    at = 6
    for row, (codec, stream) in enumerate(streams):
        heads.set(buffers.MAGIC, row, 2)
        heads.set(buffers.ATTRIBUTES, row, codec)
        heads.set(buffers.SECTION_START, row, at)
        at += len(stream)
        heads.set(buffers.SECTION_STOP, row, at)
        heads.set(buffers.COUNT, row, 3)
    source, out = memoryview(buf), memoryview(bytearray(kernel_records.ROOM))
    row, size, records = kernel_records.unpack(
        source, heads.cells, 0, heads.count, out, limit, source, out, zstd_at_once
    )
    ends = [heads.cell(buffers.SECTION_STOP, done) for done in range(row)]
    starts = [heads.cell(buffers.SECTION_START, done) for done in range(row)]
    assert starts == [0, *ends][:row]
    assert size == (ends[-1] if ends else 0)
    assert records == sum(min(3, (end - start) // 7) for start, end in zip(starts, ends, strict=True))
    return [bytes(out[start:end]) for start, end in zip(starts, ends, strict=True)]


@needs_compiled
@given(texts)
def test_writers_streams_have_their_content(content: bytes) -> None:
    """A stream of any writer has the content that was compressed; only those with other sums are left to the package."""
    for codec, stream in _streams(content):
        has_sums = codec == _LZ4 and stream[4] & 0x14
        assert _taken([(codec, stream)] * 2) == ([] if has_sums else [content] * 2)


@needs_compiled
@pytest.mark.parametrize("size", [0, 1, 12, 13, 64 << 10, (64 << 10) + 1, 200_000, (1 << 20) - 1, 1 << 20])
def test_sizes_at_the_edges(size: int) -> None:
    """A batch of a MiB is decompressed, whatever repeats in it; one that is beyond the limit is not."""
    for period in (1, 2, 3, 5, 7, 8, 15, 16, 17, 33, 70_000):
        content = (Random(period).randbytes(period) * (size // period + 1))[:size]
        for codec, stream in _streams(content)[:5]:
            assert _taken([(codec, stream)]) == [content]
            assert _taken([(codec, stream)], limit=max(size - 1, 0)) == ([] if size else [content])


@needs_compiled
@given(texts, st.randoms(use_true_random=False))
def test_changed_streams_are_as_their_packages_have_them(content: bytes, random: Random) -> None:
    """What the kernel takes of a changed stream, its package accepts, too, with the same content."""
    for codec, stream in _streams(content):
        changed = bytearray(stream)
        for _ in range(random.randint(1, 3)):
            at = random.randrange(len(changed))
            what = random.randrange(3)
            if what == 0:
                changed[at] = random.choice((0, 1, 4, 15, 16, 127, 128, 240, 255, random.randrange(256)))
            elif what == 1:
                del changed[at : at + random.randint(1, 4)]
            else:
                changed[at:at] = random.randbytes(random.randint(1, 4))
            if not changed:
                break
        taken = _taken([(codec, bytes(changed))])
        if not taken:
            continue
        try:
            assert bytes(decompress(codec, memoryview(changed), _LIMIT)) == taken[0]
        except (DecompressionError, OverLimitError) as error:
            pytest.fail(f"the package refuses {changed.hex()}, which has codec {codec}: {error}")


@needs_compiled
@given(st.lists(st.tuples(st.binary(max_size=20), st.integers(0, 40), st.integers(0, 60)), max_size=6), st.binary())
def test_blocks_that_no_writer_makes(sequences: list[tuple[bytes, int, int]], last: bytes) -> None:
    """A block of LZ4 with any sequences is decompressed as the package does, or left to it."""
    block = bytearray()
    for literal, size, offset in sequences:
        block += bytes([min(len(literal), 15) << 4 | min(size, 15)])
        block += bytes([len(literal) - 15]) if len(literal) >= 15 else b""
        block += literal + offset.to_bytes(2, "little")
        block += bytes([size - 15]) if size >= 15 else b""
    block += bytes([min(len(last), 15) << 4])
    if len(last) >= 15:
        block += b"\xff" * ((len(last) - 15) // 255) + bytes([(len(last) - 15) % 255])
    block += last
    header = lz4.frame.compress(b"", block_linked=False, store_size=False)[:7]
    frame = header + len(block).to_bytes(4, "little") + bytes(block) + bytes(4)
    taken = _taken([(_LZ4, frame)])
    if taken:
        assert bytes(decompress(_LZ4, memoryview(frame), _LIMIT)) == taken[0]


@given(st.binary(max_size=300), st.booleans(), st.booleans(), st.integers(0, 3), st.integers(0, 400))
def test_the_end_of_a_zstd_frame(content: bytes, stated: bool, summed: bool, skipped: int, cut: int) -> None:
    """A frame's end and the size that it states are found in both forms, after skippable frames, too."""
    compressor = zstandard.ZstdCompressor(write_content_size=stated, write_checksum=summed)
    skippable = bytes.fromhex("532a4d1803000000616263") * skipped
    whole = skippable + compressor.compress(content)
    if not stated:
        whole = skippable
        chunker = zstandard.ZstdCompressor(write_checksum=summed).chunker()
        whole += b"".join((*chunker.compress(content), *chunker.finish()))
    expected = (len(whole), len(content) if stated else 0)
    cut = min(cut, len(whole) - 1)
    for form in (kernel_records, PLAIN):
        assert form.zstd_frame(whole) == expected
        assert form.zstd_frame(whole + b"more") == expected
        end = form.zstd_frame(whole[:cut])[0]
        assert end == (0 if cut % len(skippable[:11] or b" ") == 0 and cut <= len(skippable) else -1)


def test_interpreted_leaves_all_to_the_packages() -> None:
    """Interpreted, nothing is decompressed: the packages are faster."""
    heads = CellTable(len(buffers.BATCH_COLUMNS), 1)
    view = memoryview(bytearray(9))
    assert PLAIN.unpack(view, heads.cells, 0, 1, view, 9, view, view, zstd_at_once) == (0, 0, 0)
