"""Index files compared with the segment beside them by kafka-dump-log's rule: each entry names the end of a batch.

Brokers also write entries that break this rule and do no harm; whether an index misleads readers is what `verify`
checks (``index-mismatch``, ``time-index-mismatch``). Zeros that a broker preallocated are never compared with anything.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, field

from kafkalog.errors import UnreadableError
from kafkalog.files.names import parse_name, sibling
from kafkalog.files.opening import SizedSource, open_source, read_small
from kafkalog.findings import Finding
from kafkalog.kafka.batch import SIZE_UP_TO_MAGIC, last_offset_of, magic_of, size_of, smallest_size
from kafkalog.kafka.index import Entries, OffsetEntry, TimeEntry, offset_entries, time_entries
from kafkalog.kafka.layout import OFFSET_INDEX_ENTRY, RECORD_BATCH, TIME_INDEX_ENTRY
from kafkalog.kernel import buffers
from kafkalog.segments.chunk import Chunk
from kafkalog.segments.segment import scan
from kafkalog.settle import Reason, lowered

__all__ = ["OffsetIndexCheck", "TimeIndexCheck", "TimeIndexErrors", "check_offset_index", "check_time_index"]


@dataclass(frozen=True, slots=True)
class OffsetIndexCheck:
    """An offset index and how it agrees with its segment.

    `slots` counts the file's entries and the preallocated ones, `listed` are those that kafka-dump-log lists,
    `mismatches` pairs of an entry's offset and the last offset of the batch at its position; `sane` says whether a
    broker would accept the file as it is.
    """

    slots: int
    listed: list[OffsetEntry]
    sane: bool
    mismatches: list[tuple[int, int]]
    findings: list[Finding]


@dataclass(frozen=True, slots=True)
class TimeIndexErrors:
    """Where a time index disagrees, as pairs: (in the index, in the log or in the entry before)."""

    mismatches: list[tuple[int, int]] = field(default_factory=list)
    out_of_order: list[tuple[int, int]] = field(default_factory=list)
    not_found: list[tuple[int, int]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class TimeIndexCheck:
    """A time index and how it agrees with its segment; see OffsetIndexCheck."""

    slots: int
    listed: list[TimeEntry]
    sane: bool
    errors: TimeIndexErrors
    findings: list[Finding]


def _base_offset(path: str) -> int:
    offset = parse_name(os.path.basename(path)).offset
    if offset is None:
        raise UnreadableError(f"{path}: the name does not begin with an offset")
    return offset


def _segment(path: str) -> str:
    """Return the path of the segment that an index belongs to."""
    return sibling(path, os.path.basename(path).partition(".")[0] + ".log")


def _shape(file: str, entries: Entries[OffsetEntry] | Entries[TimeEntry], size: int) -> list[Finding]:
    findings = []
    if entries.zeros:
        noun = "entry" if len(entries.rows) == 1 else "entries"
        findings.append(
            lowered(
                Finding.of(
                    "index-preallocated",
                    file,
                    f"{entries.zeros} zero bytes after {len(entries.rows)} {noun}",
                    position=(entries.slots * size) - entries.zeros,
                    found=entries.zeros,
                ),
                Reason.MAY_BE_WRITTEN_TO,
            )
        )
    if entries.rest:
        findings.append(
            Finding.of(
                "index-truncated",
                file,
                f"{entries.rest} bytes after the last entry; an entry has {size} bytes",
                position=entries.slots * size,
                needed=size,
                found=entries.rest,
            )
        )
    return findings


def check_offset_index(path: str | os.PathLike[str], max_message_size: int | None = None) -> OffsetIndexCheck:
    """Read an offset index and compare its entries with the segment beside it.

    `max_message_size` is kafka-dump-log's: a batch above it is not read. Raises UnreadableError if the index can't be
    read.

    Positions and sizes are bytes.

    >>> kafkalog.check_offset_index("fixtures/v2.8-hanging/data/ledger-1/00000000000000000000.index").mismatches
    []
    """
    file = os.fspath(path)
    base = _base_offset(file)
    entries = offset_entries(read_small(file), base)
    findings = _shape(file, entries, OFFSET_INDEX_ENTRY.size)
    last = entries.rows[-1].offset if entries.rows and not entries.zeros else base
    sane = not entries.rest and last >= base
    if not sane:
        findings.append(
            Finding.of("index-insane", file, "a broker would rebuild the index", offset=last, needed=base, found=last)
        )
    listed = _until_base(entries, base)
    mismatches: list[tuple[int, int]] = []
    try:
        log = open_source(_segment(file))
    except UnreadableError as error:
        findings.append(Finding.of("sibling-missing", file, str(error)))
        return OffsetIndexCheck(entries.slots, listed, sane, mismatches, findings)
    try:
        if not entries.rows and entries.slots and log.size >= RECORD_BATCH.size:
            listed = [OffsetEntry(base, 0)]  # the tool lists the first zeros if the segment has a batch to read
        for number, entry in enumerate(entries.rows[: len(listed)]):
            at = number * OFFSET_INDEX_ENTRY.size
            there = _last_offset(log, entry.position, max_message_size)
            if there is None:
                findings.append(
                    Finding.of(
                        "index-entry-not-last-offset",
                        file,
                        f"the entry has position {entry.position}, where no batch can be read in the segment",
                        position=at,
                        offset=entry.offset,
                        needed="a batch",
                    )
                )
            elif there != entry.offset:
                mismatches.append((entry.offset, there))
                findings.append(
                    Finding.of(
                        "index-entry-not-last-offset",
                        file,
                        f"the entry has offset {entry.offset}, the batch at position {entry.position} ends at {there}",
                        position=at,
                        offset=entry.offset,
                        needed=there,
                        found=entry.offset,
                    )
                )
    finally:
        log.close()
    return OffsetIndexCheck(entries.slots, listed, sane, mismatches, findings)


def _until_base(entries: Entries[OffsetEntry], base: int) -> list[OffsetEntry]:
    for number, entry in enumerate(entries.rows):
        if number and entry.offset == base:
            return entries.rows[:number]
    return entries.rows


def _last_offset(log: SizedSource, position: int, limit: int | None) -> int | None:
    head = log.read_bytes(position, RECORD_BATCH.size) if position >= 0 else b""
    if len(head) < SIZE_UP_TO_MAGIC:
        return None
    size = size_of(head)
    if size < smallest_size(0) or position + size > log.size or (limit is not None and size > limit):
        return None
    return last_offset_of(head) if magic_of(head) < 2 or len(head) == RECORD_BATCH.size else None


def check_time_index(path: str | os.PathLike[str]) -> TimeIndexCheck:
    """Read a time index and compare its entries with the segment beside it, in one pass over the segment.

    Raises UnreadableError if the index can't be read.

    Timestamps are ms since 1970.

    >>> path = "fixtures/v2.8-hanging/data/ledger-1/00000000000000000000.timeindex"
    >>> kafkalog.check_time_index(path).errors.out_of_order
    []
    """
    file = os.fspath(path)
    base = _base_offset(file)
    entries = time_entries(read_small(file), base)
    findings = _shape(file, entries, TIME_INDEX_ENTRY.size)
    rows = entries.rows
    sane = not entries.rest and (not rows or (rows[-1].timestamp >= rows[0].timestamp and rows[-1].offset >= base))
    if not sane:
        findings.append(Finding.of("index-insane", file, "a broker would rebuild the index"))
    stop = next((n for n, entry in enumerate(rows) if n and entry.offset == base), len(rows))
    listed = rows[:stop] if rows or not entries.slots else [TimeEntry(0, base)]
    errors = TimeIndexErrors()
    try:
        found = _batches_at(_segment(file), sorted({entry.offset for entry in rows[:stop]}))
    except UnreadableError as error:
        findings.append(Finding.of("sibling-missing", file, str(error)))
        return TimeIndexCheck(entries.slots, listed, sane, errors, findings)
    before = -1
    for number, entry in enumerate(rows[:stop]):
        last, timestamp = found.get(entry.offset, (-1, -1))
        if last != entry.offset:
            errors.not_found.append((entry.offset, last))
        else:
            if timestamp != entry.timestamp:
                errors.mismatches.append((entry.timestamp, timestamp))
            if before >= entry.timestamp:
                errors.out_of_order.append((entry.timestamp, before))
        if last != entry.offset or timestamp != entry.timestamp or before >= entry.timestamp:
            earlier = f"; the entry before has timestamp {before}" if number else ""
            findings.append(
                Finding.of(
                    "time-index-entry-unlike-batch",
                    file,
                    f"the entry has timestamp {entry.timestamp} for offset {entry.offset};"
                    f" {_in_log(entry, last, timestamp)}{earlier}",
                    position=number * TIME_INDEX_ENTRY.size,
                    offset=entry.offset,
                    needed=timestamp,
                    found=entry.timestamp,
                )
            )
        before = entry.timestamp
    return TimeIndexCheck(entries.slots, listed, sane, errors, findings)


def _in_log(entry: TimeEntry, last: int, timestamp: int) -> str:
    """Say what the log has at an entry's offset: the batch that ends there, else the next one, -1 if there is none."""
    if last == entry.offset:
        return f"the batch that ends there has {timestamp}"
    return "no batch ends there or later" if last == -1 else f"no batch ends there, the next one ends at offset {last}"


def _batches_at(segment: str, offsets: list[int]) -> dict[int, tuple[int, int]]:
    """Find for each offset the first batch that ends at or after it: its last offset and its newest timestamp.

    Timestamps are read only if the batch ends exactly at the offset.
    """
    found: dict[int, tuple[int, int]] = {}
    at = 0
    for chunk in scan(segment):
        if at == len(offsets):
            break
        lasts = chunk.heads.column(buffers.LAST_OFFSET)
        exact: dict[int, int] = {}
        while at < len(offsets) and len(lasts) and lasts[-1] >= offsets[at]:
            row = bisect_left(lasts, offsets[at])
            found[offsets[at]] = (lasts[row], -1)
            if lasts[row] == offsets[at]:
                exact[row] = offsets[at]
            at += 1
        for row, timestamp in _newest(chunk, exact.keys()).items():
            found[exact[row]] = (exact[row], timestamp)
    return found


def _newest(chunk: Chunk, rows: Iterable[int]) -> dict[int, int]:
    """Return the newest timestamp of each row's records, -1 for a row without records."""
    newest = dict.fromkeys(rows, -1)
    for row in range(chunk.heads.count):
        if row not in newest:
            chunk.skip(row)
    if newest:
        for block in chunk.records():
            batches = block.recs.column(buffers.BATCH)
            for batch, timestamp in zip(batches, block.recs.column(buffers.TIMESTAMP), strict=True):
                row = batch if block.outer is None else block.outer
                newest[row] = max(newest[row], timestamp)
    return newest
