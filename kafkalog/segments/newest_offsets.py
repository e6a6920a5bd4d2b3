"""The newest offset of each key, by a hash of the key: what a pass of the cleaner keeps, and what replicas give."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Final

import numpy as np

from kafkalog.kernel import buffers
from kafkalog.kernel import records as kernel_records
from kafkalog.kernel.slots import secret_bits
from kafkalog.segments.decoded import RecordBlock

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["NewestOffsets", "key_secret"]

_FIRST_SLOTS: Final = 1 << 12


def key_secret() -> int:
    """Return a secret for the hashes of keys: maps with the same one can be compared."""
    return secret_bits(61) * 2 + 1


class NewestOffsets:
    """Hashes of keys with the newest offset of each, at most so many keys, of records from an offset on."""

    def __init__(self, most: int, first_offset: int, secret: int | None = None) -> None:
        self.hashes = array("q", bytes(8 * _FIRST_SLOTS))
        self.newest = array("q", bytes(8 * _FIRST_SLOTS))
        self.secret = key_secret() if secret is None else secret
        self.state = array("q", [0, most, self.secret, first_offset])  # by MAP_…

    def put(self, block: RecordBlock, at: int = 0) -> int | None:
        """Put a block's keys into the map, from a record on; the number of the first without room, or None."""
        recs = block.recs
        while True:
            at = kernel_records.put(block.buf, recs.cells, at, recs.count, self.hashes, self.newest, self.state)
            if at >= recs.count:
                return None
            if self.state[buffers.MAP_ENTRIES] >= self.state[buffers.MAP_MOST]:
                return at
            size = 2 * len(self.hashes)
            hashes, newest = array("q", bytes(8 * size)), array("q", bytes(8 * size))
            kernel_records.move(self.hashes, self.newest, hashes, newest)
            self.hashes, self.newest = hashes, newest

    def keep(self, part: int, parts: int) -> bool:
        """Leave out the keys that are not in one of some parts of all hashes; say if half of the room is left then."""
        hashes = np.frombuffer(self.hashes, np.int64)
        kept = np.flatnonzero((hashes != 0) & ((hashes.view(np.uint64) >> 40) % parts == part))
        if 2 * len(kept) > self.state[buffers.MAP_MOST]:
            return False
        of_part = array("q", hashes[kept].tobytes()), array("q", np.frombuffer(self.newest, np.int64)[kept].tobytes())
        empty = bytes(8 * len(self.hashes))
        self.hashes, self.newest = array("q", empty), array("q", empty)
        kernel_records.move(of_part[0], of_part[1], self.hashes, self.newest)
        self.state[buffers.MAP_ENTRIES] = len(kept)
        return True

    def entries(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the hashes in order, and the newest offset of each."""
        hashes = np.frombuffer(self.hashes, np.int64)
        used = np.flatnonzero(hashes)
        used = used[np.argsort(hashes[used])]
        return hashes[used], np.frombuffer(self.newest, np.int64)[used]
