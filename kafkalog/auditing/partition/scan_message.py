"""A segment's scan as bytes with a schema and a version: the message to the task that joins it.

The many finished transactions may follow in messages of their own, so that no message grows with the segment.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from kafkalog.auditing.partition.scan import DamagedBytes, SegmentScan
from kafkalog.findings import Finding, Severity
from kafkalog.format.records.transaction_state import StateRecord, TransactionState
from kafkalog.log.logdir import Segment
from kafkalog.txn.columns import Packed
from kafkalog.txn.coordinator import Entry
from kafkalog.txn.fold import GAP_COLUMNS, Break, FoldedLog
from kafkalog.txn.loops import EXTENT_COLUMNS, PRODUCER_COLUMNS
from kafkalog.txn.wire import Schema, WireTable, read_message, write_message

__all__ = ["SCAN_VERSION", "read_extents", "read_scan", "scan_messages"]

SCAN_VERSION: Final = 1

_COUNTS: Final = ("batches", "records", "control_records", "first_offset", "last_offset", "first_position", "newest",
                  "newest_broker", "cleaned")  # fmt: skip
_FINDING_NUMBERS: Final = ("severity", "position", "length", "offset", "partition", "producer_id", "last_offset",
                           "leader", "needed_number", "found_number")  # fmt: skip
_FINDING_TEXTS: Final = ("code", "file", "message", "needed", "found", "certainty", "log", "topic", "remedy")
_RECORD_NUMBERS: Final = tuple(
    name for name in StateRecord._fields if name not in ("transactional_id", "state", "partitions")
)
_SCAN: Final = Schema(
    "segment-scan",
    SCAN_VERSION,
    (
        WireTable("segment", ("base_offset", "size", "transactions", "oldest", *_COUNTS), ("path",)),
        WireTable("opened", EXTENT_COLUMNS),
        WireTable("producers", PRODUCER_COLUMNS),
        WireTable("gaps", GAP_COLUMNS),
        WireTable("breaks", Break._fields),
        WireTable("leader_epochs", ("epoch", "first_offset")),
        WireTable("unreadable_markers", ("offset", "position", "size")),
        WireTable("damaged", ("position", "length", "last_offset")),
        WireTable("findings", ("is_zero_tail", *_FINDING_NUMBERS), _FINDING_TEXTS),
        WireTable(
            "state_records",
            ("log_partition", "offset", "timestamp", "state", "listed", *_RECORD_NUMBERS),
            ("transactional_id", "log"),
        ),
        WireTable("listed_partitions", ("partition",), ("topic",)),
    ),
)
_EXTENTS: Final = Schema("extents", SCAN_VERSION, (WireTable("finished", EXTENT_COLUMNS),))


def scan_messages(scan: SegmentScan, rows: int) -> Iterator[bytes]:
    """Yield a scan without its finished transactions, then these, some `rows` a message."""
    yield _head(scan)
    for some in scan.stretch.finished.pieces(rows):
        yield write_message(_EXTENTS, {"finished": some})


def read_extents(data: bytes) -> Packed:
    """Return the finished transactions of one of the messages after the first. Raises WireError."""
    return read_message(_EXTENTS, data).packed("finished")


def _head(scan: SegmentScan) -> bytes:
    segment, stretch = scan.segment, scan.stretch
    counts = (getattr(stretch, name) for name in _COUNTS)
    findings = [(0, *_finding_row(finding)) for finding in scan.findings]
    if scan.zero_tail is not None:
        findings.append((1, *_finding_row(scan.zero_tail)))
    return write_message(
        _SCAN,
        {
            "segment": [(segment.base_offset, segment.size, scan.transactions, scan.oldest, *counts, segment.path)],
            "opened": stretch.opened,
            "producers": stretch.producers,
            "gaps": stretch.gaps,
            "breaks": stretch.breaks,
            "leader_epochs": stretch.leader_epochs,
            "unreadable_markers": stretch.unreadable_markers,
            "damaged": [(extent.position, extent.length, extent.last_offset) for extent in scan.damaged],
            "findings": findings,
            "state_records": map(_entry_row, scan.entries),
            "listed_partitions": (
                (number, topic) for entry in scan.entries for topic, number in entry.record.partitions or ()
            ),
        },
    )


def read_scan(data: bytes) -> SegmentScan:
    """Return the scan of the first message, to which the finished transactions are yet to be added.

    Raises WireError where the bytes are no such message.
    """
    message = read_message(_SCAN, data)
    [(base_offset, size, transactions, oldest, *counts, path)] = message.rows("segment")
    opened, producers, gaps = (message.columns(name) for name in ("opened", "producers", "gaps"))
    breaks = [Break(**row) for row in message.columns("breaks")]
    epochs = [(row["epoch"], row["first_offset"]) for row in message.columns("leader_epochs")]
    markers = [(row["offset"], row["position"], row["size"]) for row in message.columns("unreadable_markers")]
    *others, cleaned = counts
    damaged = [DamagedBytes(path, *row) for row in message.rows("damaged")]
    findings = [(is_tail, _finding(row)) for is_tail, *row in message.rows("findings")]
    records = message.rows("state_records")
    listed = iter(message.rows("listed_partitions"))
    about = dict(zip(_COUNTS, (*others, bool(cleaned)), strict=True))
    stretch = FoldedLog(
        finished=Packed(EXTENT_COLUMNS), opened=opened, producers=producers, gaps=gaps, breaks=breaks,
        leader_epochs=epochs, unreadable_markers=markers, **about,
    )  # fmt: skip
    return SegmentScan(
        Segment(path, base_offset, size),
        stretch,
        damaged,
        next((finding for is_tail, finding in findings if is_tail), None),
        [finding for is_tail, finding in findings if not is_tail],
        transactions,
        oldest,
        [_entry(row, listed) for row in records],
    )


def _finding_row(finding: Finding) -> tuple[Any, ...]:
    numbers = [int(finding.severity), *(getattr(finding, name) for name in _FINDING_NUMBERS[1:-2])]
    needed, found = finding.needed, finding.found
    numbers += [value if _is_number(value) else None for value in (needed, found)]
    texts = [getattr(finding, name) for name in _FINDING_TEXTS]
    return (*numbers, *(None if text is None or _is_number(text) else str(text) for text in texts))


def _is_number(value: int | str | None) -> bool:
    """Say whether a value goes into a column of numbers; one that is too big becomes text."""
    return isinstance(value, int) and -(2**63) < value < 2**63


def _finding(row: list[Any]) -> Finding:
    cells = dict(zip((*_FINDING_NUMBERS, *_FINDING_TEXTS), row, strict=True))
    for name in ("needed", "found"):
        number = cells.pop(f"{name}_number")
        cells[name] = cells[name] if number is None else number
    return Finding(**cells | {"severity": Severity(cells["severity"])})


def _entry_row(entry: Entry) -> tuple[Any, ...]:
    record = entry.record
    return (
        entry.partition, entry.offset, entry.timestamp, record.state,
        None if record.partitions is None else len(record.partitions),
        *(getattr(record, name) for name in _RECORD_NUMBERS), record.transactional_id, entry.log,
    )  # fmt: skip


def _entry(row: tuple[Any, ...], listed: Iterator[tuple[Any, ...]]) -> Entry:
    partition, offset, timestamp, state, count, *numbers, transactional_id, log = row
    partitions = None
    if count is not None:
        partitions = tuple((topic, number) for number, topic in (next(listed) for _ in range(count)))
    record = StateRecord(
        transactional_id=transactional_id, state=None if state is None else TransactionState(state),
        partitions=partitions, **dict(zip(_RECORD_NUMBERS, numbers, strict=True)),
    )  # fmt: skip
    return Entry(log, partition, offset, timestamp, record)
