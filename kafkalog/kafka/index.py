"""The entries of ``.index``, ``.timeindex`` and ``.txnindex`` files (OffsetIndex, TimeIndex, TransactionIndex)."""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeVar

from kafkalog.kafka.layout import ABORTED_TXN, OFFSET_INDEX_ENTRY, TIME_INDEX_ENTRY, Layout

__all__ = [
    "AbortedTransaction",
    "Entries",
    "OffsetEntry",
    "TimeEntry",
    "aborted_transactions",
    "offset_entries",
    "time_entries",
]


class OffsetEntry(NamedTuple):
    """The batch at `position` of the segment ends at `offset` (up to Kafka 1.1: begins at it)."""

    offset: int
    position: int


class TimeEntry(NamedTuple):
    """`timestamp` (ms) is the largest up to `offset`, the last of its batch."""

    timestamp: int
    offset: int


class AbortedTransaction(NamedTuple):
    """A transaction that the ABORT marker at `last_offset` ended; `version` is the entry's."""

    version: int
    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


Entry = TypeVar("Entry")


class Entries(NamedTuple, Generic[Entry]):
    """An index file's entries, without preallocated zeros.

    `slots` counts the entries that zeros have room for, too. `zeros` and `rest` are numbers of bytes: zeros at the end,
    and bytes after the last whole entry.
    """

    rows: list[Entry]
    slots: int
    zeros: int
    rest: int


def _split(data: bytes, layout: Layout) -> tuple[bytes, int, int, int]:
    slots, rest = divmod(len(data), layout.size)
    whole = data[: slots * layout.size]
    used = -(-len(whole.rstrip(b"\0")) // layout.size)
    return whole[: used * layout.size], slots, (slots - used) * layout.size, rest


def _sum(base_offset: int, relative: int) -> int:
    """Add as Java does: beyond the last offset that there can be, the sum wraps at 64 bits."""
    return (base_offset + relative + 2**63 & 2**64 - 1) - 2**63


def offset_entries(data: bytes, base_offset: int) -> Entries[OffsetEntry]:
    """Read an offset index; offsets in it are relative to `base_offset`."""
    used, slots, zeros, rest = _split(data, OFFSET_INDEX_ENTRY)
    rows = [
        OffsetEntry(_sum(base_offset, relative), position)
        for relative, position in OFFSET_INDEX_ENTRY.packed.iter_unpack(used)
    ]
    return Entries(rows, slots, zeros, rest)


def time_entries(data: bytes, base_offset: int) -> Entries[TimeEntry]:
    """Read a time index; offsets in it are relative to `base_offset`."""
    used, slots, zeros, rest = _split(data, TIME_INDEX_ENTRY)
    rows = [
        TimeEntry(timestamp, _sum(base_offset, relative))
        for timestamp, relative in TIME_INDEX_ENTRY.packed.iter_unpack(used)
    ]
    return Entries(rows, slots, zeros, rest)


def aborted_transactions(data: bytes) -> Entries[AbortedTransaction]:
    """Read a transaction index; it is never preallocated."""
    slots, rest = divmod(len(data), ABORTED_TXN.size)
    rows = [AbortedTransaction(*row) for row in ABORTED_TXN.packed.iter_unpack(data[: slots * ABORTED_TXN.size])]
    return Entries(rows, slots, 0, rest)
