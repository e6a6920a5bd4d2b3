"""Producer snapshots, ``.snapshot`` (ProducerStateManager): producers' states before the offset in the file's name."""

from __future__ import annotations

from typing import Final, NamedTuple

from kafkalog.kafka.layout import PRODUCER_SNAPSHOT, PRODUCER_STATE_ENTRY
from kafkalog.kernel import headers

__all__ = ["ProducerSnapshot", "ProducerState", "producer_snapshot"]

_CRC_FROM: Final = 6
_VERSION: Final = 1


class ProducerState(NamedTuple):
    """What a broker remembers of a producer; -1 stands for no value, `timestamp` is in ms."""

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int
    coordinator_epoch: int
    current_txn_first_offset: int

    @property
    def first_sequence(self) -> int:
        """Return the sequence of the last batch's first record (DefaultRecordBatch.decrementSequence)."""
        if self.last_sequence < self.offset_delta:
            first = 2**31 - 1 - (self.offset_delta - self.last_sequence) + 1
        else:
            first = self.last_sequence - self.offset_delta
        return (first + 2**31) % 2**32 - 2**31  # as Java's int, whatever the entry says


class ProducerSnapshot(NamedTuple):
    """A snapshot's entries, and what is wrong with the file: for any of these the broker deletes it."""

    version: int
    crc: int
    computed_crc: int
    entries: list[ProducerState]
    wrong: str


def producer_snapshot(data: bytes) -> ProducerSnapshot:
    """Read a snapshot as far as it goes."""
    if len(data) < PRODUCER_SNAPSHOT.size:
        return ProducerSnapshot(-1, 0, 0, [], f"the file needs {PRODUCER_SNAPSHOT.size} bytes, found {len(data)}")
    version, crc, count = PRODUCER_SNAPSHOT.packed.unpack_from(data)
    computed = int(headers.crc32c(data, _CRC_FROM, len(data)))
    whole = (len(data) - PRODUCER_SNAPSHOT.size) // PRODUCER_STATE_ENTRY.size
    kept = max(0, min(count, whole))
    stop = PRODUCER_SNAPSHOT.size + kept * PRODUCER_STATE_ENTRY.size
    rows = PRODUCER_STATE_ENTRY.packed.iter_unpack(data[PRODUCER_SNAPSHOT.size : stop])
    wrong = ""
    if version != _VERSION:
        wrong = f"the version is {version}, not {_VERSION}"
    elif crc != computed:
        wrong = f"stored CRC 0x{crc:08x}, computed 0x{computed:08x}"
    elif stop != len(data) or kept != count:
        needed = PRODUCER_SNAPSHOT.size + count * PRODUCER_STATE_ENTRY.size
        wrong = f"{count} entries need {needed} bytes, found {len(data)}"
    return ProducerSnapshot(version, crc, computed, [ProducerState(*row) for row in rows], wrong)
