"""A segment's scan as bytes with a schema and a version: the message to the task that joins it.

The many finished transactions may follow in messages of their own, so that no message grows with the segment.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kafkalog.auditing.partition.damaged_bytes import DamagedBytes, DamagedExtents
from kafkalog.auditing.partition.neighbours import BatchEnd
from kafkalog.auditing.partition.scan import SegmentScan
from kafkalog.findings import Finding, Severity
from kafkalog.format.state_columns import STATE_TYPES, StateColumns
from kafkalog.format.texts import PackedTexts
from kafkalog.log.logdir import Segment
from kafkalog.txn.columns import Columns, Packed
from kafkalog.txn.fold import GAP_COLUMNS, MARKER_COLUMNS, Break, FoldedLog
from kafkalog.txn.loops import EXTENT_COLUMNS, PRODUCER_COLUMNS
from kafkalog.txn.wire import Schema, WireError, WireTable, read_message, write_message

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MESSAGE_ROWS", "SCAN_VERSION", "read_extents", "read_scan", "read_states", "scan_messages", "write_states"]

SCAN_VERSION: Final = 7
MESSAGE_ROWS: Final = 1 << 14  # transactions, some 30 bytes each

_COUNTS: Final = ("batches", "records", "control_records", "first_offset", "last_offset", "first_position", "newest",
                  "newest_broker", "cleaned")  # fmt: skip
_FINDING_NUMBERS: Final = ("severity", "position", "length", "offset", "partition", "producer_id", "last_offset",
                           "leader", "needed_number", "found_number")  # fmt: skip
_FINDING_TEXTS: Final = ("code", "file", "message", "needed", "found", "certainty", "log", "topic", "remedy")
_LISTED: Final = tuple(name for name in STATE_TYPES if name.startswith("listed"))
_OF_STATES: Final = tuple(name for name in STATE_TYPES if name not in _LISTED)
_SCAN: Final = Schema(
    "segment-scan",
    SCAN_VERSION,
    (
        WireTable("segment", ("base_offset", "size", "transactions", "oldest", "last_position", *_COUNTS), ("path",)),
        WireTable("opened", EXTENT_COLUMNS),
        WireTable("producers", PRODUCER_COLUMNS),
        WireTable("gaps", GAP_COLUMNS),
        WireTable("others", MARKER_COLUMNS),
        WireTable("breaks", Break._fields),
        WireTable("end", BatchEnd._fields),
        WireTable("leader_epochs", ("epoch", "first_offset")),
        WireTable("unreadable_markers", ("offset", "position", "size")),
        WireTable("damaged", ("position", "length", "last_offset")),
        WireTable("findings", ("is_zero_tail", *_FINDING_NUMBERS), _FINDING_TEXTS),
        WireTable("state_records", _OF_STATES),
        WireTable("listed_partitions", _LISTED),
        WireTable("transactional_ids", (), ("name",)),
        WireTable("listed_topics", (), ("name",)),
    ),
)
_AT_LEAST: Final = 1 << 20  # rows that any message may have
_AT_ONCE: Final = 1 << 14  # state records that are packed together
_STATES: Final = Schema(
    "state-records",
    SCAN_VERSION,
    (WireTable("state_records", (*_OF_STATES, "of_log")), WireTable("listed_partitions", _LISTED)),
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


def write_states(states: StateColumns, of_log: NDArray[np.int64]) -> bytes:
    """Write some thousand state records, each with the number of its log, without their names."""
    columns = {name: getattr(states, name).astype(np.int64) for name in _OF_STATES} | {"of_log": of_log}
    records = Packed((*_OF_STATES, "of_log"))
    records.append(Columns(columns))
    return write_message(_STATES, {"state_records": records, "listed_partitions": _packed(states, _LISTED)})


def read_states(data: bytes) -> tuple[dict[str, NDArray[Any]], NDArray[np.int64]]:
    """Return the columns of state records, and the numbers of their logs. Raises WireError."""
    message = read_message(_STATES, data)
    records, listed = message.packed("state_records"), message.packed("listed_partitions")
    of_log = records["of_log"]
    records.names = _OF_STATES
    return dict(chain(_unpacked(records), _unpacked(listed))), of_log


def _head(scan: SegmentScan) -> bytes:
    segment, stretch = scan.segment, scan.stretch
    counts = (getattr(stretch, name) for name in _COUNTS)
    findings = [(0, *_finding_row(finding)) for finding in scan.findings]
    if scan.zero_tail is not None:
        findings.append((1, *_finding_row(scan.zero_tail)))
    return write_message(
        _SCAN,
        {
            "segment": [
                (segment.base_offset, segment.size, scan.transactions, scan.oldest, scan.last_position, *counts,
                 segment.path),
            ],
            "opened": stretch.opened,
            "producers": stretch.producers,
            "gaps": stretch.gaps,
            "others": stretch.others,
            "breaks": stretch.breaks,
            "end": scan.end,
            "leader_epochs": stretch.leader_epochs,
            "unreadable_markers": stretch.unreadable_markers,
            "damaged": [(extent.position, extent.length, extent.last_offset) for extent in scan.damaged],
            "findings": findings,
            "state_records": _packed(scan.states, _OF_STATES),
            "listed_partitions": _packed(scan.states, _LISTED),
            "transactional_ids": scan.states.ids,
            "listed_topics": scan.states.topics,
        },
    )  # fmt: skip


def read_scan(data: bytes) -> SegmentScan:
    """Return the scan of the first message, to which the finished transactions are yet to be added.

    Raises WireError where the bytes are no such message.
    """
    message = read_message(_SCAN, data)
    [(base_offset, size, transactions, oldest, last_position, *counts, path)] = message.rows("segment")
    opened, producers = (message.packed(name) for name in ("opened", "producers"))
    gaps, others = (message.columns(name) for name in ("gaps", "others"))
    breaks = [Break(**row) for row in message.columns("breaks")]
    end = tuple(BatchEnd(**row) for row in message.columns("end"))
    epochs = [(row["epoch"], row["first_offset"]) for row in message.columns("leader_epochs")]
    markers = [(row["offset"], row["position"], row["size"]) for row in message.columns("unreadable_markers")]
    *numbers, cleaned = counts
    damaged = DamagedExtents.of([DamagedBytes(path, *row) for row in message.rows("damaged")])
    findings = [(is_tail, _finding(row)) for is_tail, *row in message.rows("findings")]
    records, listed = message.packed("state_records"), message.packed("listed_partitions")
    ids, topics = message.texts("transactional_ids"), message.texts("listed_topics")
    if max(len(records), len(listed)) > max(_AT_LEAST, len(data)):  # a column of one value takes no bytes
        raise WireError("segment-scan: more rows than bytes")
    is_state_topic = len(records) or len(listed) or len(ids) or len(topics)
    about = dict(zip(_COUNTS, (*numbers, bool(cleaned)), strict=True))
    stretch = FoldedLog(
        finished=Packed(EXTENT_COLUMNS), opened=opened, producers=producers, gaps=gaps, breaks=breaks,
        leader_epochs=epochs, unreadable_markers=markers, others=others, **about,
    )  # fmt: skip
    return SegmentScan(
        Segment(path, base_offset, size),
        stretch,
        damaged,
        next((finding for is_tail, finding in findings if is_tail), None),
        [finding for is_tail, finding in findings if not is_tail],
        transactions,
        oldest,
        _states(records, listed, ids, topics) if is_state_topic else _no_states(),
        last_position,
        end,
    )


def _states(records: Packed, listed: Packed, ids: PackedTexts, topics: PackedTexts) -> StateColumns:
    columns = chain(_unpacked(records), _unpacked(listed))
    return StateColumns.of({name: [column] for name, column in columns}, ids, topics)


@cache
def _no_states() -> StateColumns:
    """Return the records of all segments but those of the state topic: one object, as nobody adds to it."""
    return _states(Packed(_OF_STATES), Packed(_LISTED), PackedTexts(), PackedTexts())


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


def _packed(states: StateColumns, names: tuple[str, ...]) -> Packed:
    packed = Packed(names)
    for start in range(0, len(getattr(states, names[0])), _AT_ONCE):
        some = {name: getattr(states, name)[start : start + _AT_ONCE].astype(np.int64) for name in names}
        packed.append(Columns(some))
    return packed


def _unpacked(packed: Packed) -> Iterator[tuple[str, NDArray[Any]]]:
    for name in packed.names:
        pieces = [rows[name].astype(STATE_TYPES[name]) for rows in packed.blocks(name)]
        yield name, np.concatenate([np.empty(0, STATE_TYPES[name]), *pieces])
