"""How large compressed batches become when the cleaner writes what it keeps of them: compressed again, in part.

The first megabytes that are kept are compressed with the batch's own codec; of the rest, the same share is assumed.
"""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from kafkalog.format import kernel
from kafkalog.format.batch import CODEC_MASK
from kafkalog.log.records import RecordBlock

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Rewriter", "Squeezed"]

_XERIAL_CHUNK: Final = 32 << 10


_MEASURED: Final = 8 << 20  # bytes that are compressed; of the rest the share is assumed


@dataclass(slots=True)
class Squeezed:
    """How many bytes were compressed, and to how many."""

    raw: int = 0
    packed: int = 0


class Rewriter:
    """The compressed batches of one chunk that lose records."""

    def __init__(self, rows: int, share: Squeezed) -> None:
        self._share = share
        self._sizes = np.full(rows, -1, np.int64)
        self._row = -1
        self._codec = 0
        self._raw = bytearray()
        self._lost = False

    def take(self, block: RecordBlock, kept: bytearray) -> None:
        """Take in which of a block's records are kept."""
        recs, heads = block.recs, block.heads
        if block.outer is not None or not recs.count or self._share.raw >= _MEASURED:
            return
        batches, sizes = recs.column(kernel.BATCH), recs.column(kernel.RECORD_SIZE)
        row = batches[0]
        if not heads.cell(kernel.ATTRIBUTES, row) & CODEC_MASK:
            return
        rows = np.frombuffer(batches, np.int64)
        widths = np.frombuffer(sizes, np.int64)
        chosen = np.frombuffer(kept, np.uint8)[: recs.count] != 0
        for row in np.unique(rows).tolist():
            if row != self._row:
                self.finish()
                self._row, self._codec = row, heads.cell(kernel.ATTRIBUTES, row) & CODEC_MASK
            mine = np.flatnonzero(rows == row)
            picked = chosen[mine]
            self._lost = self._lost or not picked.all()
            stops = heads.cell(kernel.SECTION_START, row) - widths[mine].sum() + np.cumsum(widths[mine])
            starts = stops - widths[mine]
            view = memoryview(block.buf)
            for start, stop in _runs(starts[picked], stops[picked]):
                self._raw += view[start:stop]

    def finish(self) -> None:
        """Compress what is kept of the batch before."""
        if self._row >= 0 and self._lost and self._raw:
            self._sizes[self._row] = size = _packed_size(self._codec, bytes(self._raw))
            self._share.raw += len(self._raw)
            self._share.packed += size
        self._row, self._lost, self._raw = -1, False, bytearray()

    def sizes(self, before: NDArray[np.int64], plain: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the sizes of the records of each batch, compressed: measured, or by the share of those before.

        `before` are the sizes of the batches as they are, `plain` those of the records that are kept, not compressed.
        """
        share = self._share.packed / self._share.raw if self._share.raw else 1.0
        assumed = np.minimum(before, (plain * share).astype(np.int64))
        return np.where(self._sizes >= 0, self._sizes, assumed)


def _runs(starts: NDArray[np.int64], stops: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Join neighbouring spans of bytes."""
    if not len(starts):
        return []
    breaks = np.flatnonzero(starts[1:] != stops[:-1]) + 1
    firsts, lasts = np.concatenate([[0], breaks]), np.concatenate([breaks, [len(starts)]]) - 1
    return list(zip(starts[firsts].tolist(), stops[lasts].tolist(), strict=True))


def _packed_size(codec: int, raw: bytes) -> int:
    """Return the size of bytes as Kafka compresses them."""
    if codec == 1:
        return len(gzip.compress(raw, 6))
    if codec == 2:
        import snappy

        size = 16
        for at in range(0, len(raw), _XERIAL_CHUNK):
            size += 4 + len(snappy.compress(raw[at : at + _XERIAL_CHUNK]))
        return size
    if codec == 3:
        import lz4.frame

        return len(lz4.frame.compress(raw, block_linked=False, store_size=False))
    if codec == 4:
        import zstandard

        return len(zstandard.ZstdCompressor(level=3).compress(raw))
    return len(raw)
