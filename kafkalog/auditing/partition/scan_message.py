"""A segment's scan as bytes with a schema and a version: the message to the task that joins it.

The many finished transactions may follow in messages of their own, so that no message grows with the segment.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from kafkalog.auditing.partition.neighbours import BatchEnd
from kafkalog.auditing.partition.scan import NO_STATES, DamagedBytes, SegmentScan
from kafkalog.columns.table import NONE, Columns
from kafkalog.columns.texts import TextColumn
from kafkalog.columns.wire import Schema, WireError, WireMessage, WireTable, read_message, write_message
from kafkalog.findings import Finding, Severity
from kafkalog.folds.fold import GAP_COLUMNS, MARKER_COLUMNS, Break, FoldedLog
from kafkalog.kafka.state_records import LISTED_TYPES, STATE_TYPES, StateColumns
from kafkalog.kafka.transaction_state import TransactionState
from kafkalog.kernel.buffers import EXTENT_COLUMNS, PRODUCER_COLUMNS
from kafkalog.log_dirs.log_directory import Segment
from kafkalog.segments.cursor import allowed_offsets

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "DIGEST_SIZE",
    "KEPT_SCAN",
    "MESSAGE_ROWS",
    "SCAN_VERSION",
    "KeptAbout",
    "kept_about",
    "kept_bytes",
    "kept_scan",
    "may_be_kept",
    "read_extents",
    "read_scan",
    "scan_messages",
]


SCAN_VERSION: Final = 12

MESSAGE_ROWS: Final = 1 << 14  # transactions, some 30 bytes each

_COUNTS: Final = ("batches", "records", "control_records", "first_offset", "last_offset", "first_position", "newest",
                  "newest_broker", "cleaned")  # fmt: skip

_FINDING_NUMBERS: Final = ("severity", "position", "length", "offset", "partition", "producer_id", "last_offset",
                           "leader", "needed_number", "found_number")  # fmt: skip

_FINDING_TEXTS: Final = ("code", "file", "message", "needed", "found", "certainty", "log", "topic", "remedy")

_EPOCHS: Final = ("leader_epoch", "first_offset")

_MARKERS: Final = ("offset", "position", "size")

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
        WireTable("leader_epochs", _EPOCHS),
        WireTable("unreadable_markers", _MARKERS),
        WireTable("damaged", ("position", "length", "last_offset")),
        WireTable("findings", ("is_zero_tail", *_FINDING_NUMBERS), _FINDING_TEXTS),
        WireTable("state_records", tuple(STATE_TYPES)),
        WireTable("listed_partitions", tuple(LISTED_TYPES)),
        WireTable("transactional_ids", (), ("name",)),
        WireTable("listed_topics", (), ("name",)),
    ),
)

_NAMES: Final = ("transactional_ids", "listed_topics")

_EXTENTS: Final = Schema("extents", SCAN_VERSION, (WireTable("finished", EXTENT_COLUMNS),))


def scan_messages(scan: SegmentScan, rows: int) -> Iterator[bytes]:
    """Yield a scan without its finished transactions, then these, some `rows` a message."""
    yield _head(scan)
    for some in scan.folded.finished.pieces(rows):
        yield write_message(_EXTENTS, {"finished": some})


def read_extents(data: bytes) -> Columns:
    """Return the finished transactions of one of the messages after the first. Raises WireError."""
    return read_message(_EXTENTS, data).columns("finished")


def _names_in(message: WireMessage, table: str) -> TextColumn:
    """Return a table of names. Raises WireError for one that is missing, or not UTF-8."""
    names = message.columns(table).texts("name")
    if len(names) and ((names.sizes < 0).any() or not names.is_utf8()):
        raise WireError(f"{message.schema.name}: a text of {table} is missing or not UTF-8")
    return names


def _head(scan: SegmentScan) -> bytes:
    segment, folded = scan.segment, scan.folded
    counts = (getattr(folded, name) for name in _COUNTS)
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
            "opened": folded.opened,
            "producers": folded.producers,
            "gaps": folded.gaps,
            "others": folded.others,
            "breaks": folded.breaks,
            "end": scan.end,
            "leader_epochs": folded.leader_epochs,
            "unreadable_markers": folded.unreadable_markers,
            "damaged": [(extent.position, extent.length, extent.last_offset) for extent in scan.damaged],
            "findings": findings,
            "state_records": scan.states.records,
            "listed_partitions": scan.states.listed,
            "transactional_ids": Columns({"name": scan.states.ids}),
            "listed_topics": Columns({"name": scan.states.topics}),
        },
    )  # fmt: skip


def read_scan(data: bytes) -> SegmentScan:
    """Return the scan of the first message, to which the finished transactions are yet to be added.

    Raises WireError where the bytes are no such message.
    """
    message = read_message(_SCAN, data)
    [(base_offset, size, transactions, oldest, last_position, *counts, path)] = message.columns("segment").rows()
    opened, producers, gaps, others = map(message.columns, ("opened", "producers", "gaps", "others"))
    breaks = [Break(*row) for row in message.columns("breaks").tuples()]
    end = tuple(BatchEnd(*row) for row in message.columns("end").tuples())
    epochs = [(epoch, first) for epoch, first in message.columns("leader_epochs").tuples()]
    markers = [(offset, at, length) for offset, at, length in message.columns("unreadable_markers").tuples()]
    *numbers, cleaned = counts
    damaged = [DamagedBytes(path, *row) for row in message.columns("damaged").rows()]
    findings = [(is_tail, _finding(row)) for is_tail, *row in message.columns("findings").rows()]
    records, listed = message.columns("state_records"), message.columns("listed_partitions")
    ids, topics = (_names_in(message, name) for name in _NAMES)
    has_states = len(records) or len(listed) or ids or topics  # most segments are not the state topic's
    about = dict(zip(_COUNTS, (*numbers, bool(cleaned)), strict=True))
    folded = FoldedLog(
        finished=Columns.empty(EXTENT_COLUMNS), opened=opened, producers=producers, gaps=gaps, breaks=breaks,
        leader_epochs=epochs, unreadable_markers=markers, others=others, **about,
    )  # fmt: skip
    return SegmentScan(
        Segment(path, base_offset, size),
        folded,
        damaged,
        next((finding for is_tail, finding in findings if is_tail), None),
        [finding for is_tail, finding in findings if not is_tail],
        transactions,
        oldest,
        StateColumns.moved([records], [listed], ids, topics) if has_states else NO_STATES,
        last_position,
        end,
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


# A scan as a file that lasts: what it is a scan of, its messages, and a checksum of all.
#
# Who reads such a file believes nothing of it that the checksum or the identity does not prove: a damaged file, one of
# another version or about another segment is no scan at all. The checksum has no key: whoever may write to the folder
# can make one, so that cells that no scan has are refused, too.


class KeptAbout(NamedTuple):
    """What a kept scan says of the segment. Times are ms, the sums those of the first and the last batch's header.

    `key` is everything else that identifies the segment, and what the scan's result depends on, as a digest. `etag` and
    `sha256` are empty where they are not known.
    """

    scanned_ms: int
    inode: int
    last_position: int
    first_sum: int
    last_sum: int
    key: str
    etag: str
    sha256: str


KEPT_SCAN: Final = Schema(
    "kept-scan", SCAN_VERSION, (WireTable("about", KeptAbout._fields[:5], KeptAbout._fields[5:]),)
)  # fmt: skip

_MOST: Final = 2**63 - 1

_MOST_COUNT: Final = 1 << 40  # of batches, records, bytes in a segment: sums of them fit into 64 bits

_OF_DATA: Final = (
    "first_offset",
    "last_offset",
    "min_timestamp",
    "max_timestamp",
    "first_epoch",
    "last_epoch",
    "position",
)

_OF_MARKER: Final = ("marker_offset", "marker_epoch", "coordinator_epoch", "marker_timestamp")

_OF_BOTH: Final = ("log_id", "producer_id", "batches", "records", "size", "older_records")

# By the end of a column's name: its lowest and its highest cell, for a segment of any offsets and size.
_LIMITS: Final = {
    "log_id": (0, 0), "batches": (0, _MOST_COUNT), "records": (0, _MOST_COUNT), "size": (0, _MOST_COUNT),
    "coordinator_epoch": (-1, 2**31 - 1), "leader_epoch": (-1, 2**31 - 1), "epoch": (-1, 2**15 - 1),
    "sequence": (-1, 2**31 - 1), "offset": (0, _MOST), "position": (0, _MOST),
}  # fmt: skip

# Where all batches are of one epoch; of the last batches, where they are of magic 0 or 1 or there is one alone.
_MAY_BE_MISSING: Final = frozenset(("older_records", "base_offset", "leader_epoch"))

_LAST_BATCHES: Final = 2

_Limits = Mapping[str, tuple[int, int]]

DIGEST_SIZE: Final = 32  # of SHA-256, which processors have instructions for: what a file begins with

_LENGTH: Final = struct.Struct("<Q")


def may_be_kept(scan: SegmentScan) -> bool:
    """Say whether a scan may stand for its segment in later audits: only if nothing is wrong in it.

    What is damaged is read again each time. It depends on more than the segment's bytes: on its index, on disks.
    """
    return scan.last_position >= 0 and not scan.findings and not scan.damaged and scan.zero_tail is None


def kept_bytes(about: KeptAbout, messages: Iterable[bytes]) -> bytes:
    """Return the file of a scan; `messages` are those of ``scan_messages``."""
    parts = [b""]
    for message in (write_message(KEPT_SCAN, {"about": [tuple(about)]}), *messages):
        parts += [_LENGTH.pack(len(message)), message]
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    parts[0] = digest.digest()
    return b"".join(parts)


def kept_about(data: bytes) -> KeptAbout:
    """Return what a file's scan is about. Raises WireError for bytes that are no kept scan of this version."""
    if hashlib.sha256(memoryview(data)[DIGEST_SIZE:]).digest() != data[:DIGEST_SIZE]:
        raise WireError("kept-scan: its checksum is wrong")
    about = list(read_message(KEPT_SCAN, _messages(data, 1)[0]).columns("about").rows())
    if len(about) != 1 or None in about[0]:
        raise WireError("kept-scan: it does not say what it is about")
    return KeptAbout(*about[0])


def kept_scan(data: bytes) -> SegmentScan:
    """Return a file's scan. Raises WireError for bytes that are no scan."""
    try:
        _, head, *more = _messages(data)
        scan = read_scan(head)
        for message in more:
            scan.folded.finished += read_extents(message)
        _refuse_impossible(scan, len(data))
    except (ValueError, TypeError, OverflowError) as error:  # cells that no scan has
        raise WireError(f"kept-scan: {error}") from error
    return scan


def _refuse_impossible(scan: SegmentScan, size: int) -> None:
    """Raise WireError for cells that no scan in a file of `size` bytes has: they would be taken for places."""
    folded, segment = scan.folded, scan.segment
    if not may_be_kept(scan) or folded.unreadable_markers:
        raise WireError("kept-scan: it has findings")
    if max(len(folded.finished), len(folded.opened), len(folded.producers)) > size:
        raise WireError("kept-scan: it has more rows than bytes")
    _within("the segment", np.array([segment.base_offset, segment.size]), 0, _MOST)
    limits = _LIMITS | {
        "offset": allowed_offsets(segment.base_offset), "position": (0, segment.size), "size": (0, segment.size),
    }  # fmt: skip
    about = {name: getattr(folded, name) for name in _COUNTS} | {
        "transactions": scan.transactions, "oldest": scan.oldest, "last_position": scan.last_position,
    }  # fmt: skip
    _columns(Columns({name: np.array([cell], np.int64) for name, cell in about.items()}), about, limits)
    for rows in folded.finished.blocks():
        has_data = rows["batches"] > 0
        _within("marker_type", rows["marker_type"], 0, 1)
        _columns(rows, (*_OF_BOTH, *_OF_MARKER), limits)
        _with_data(rows.take(has_data), limits)
        _missing(rows.take(~has_data), _OF_DATA)
    for rows in folded.opened.blocks():
        _within("batches", rows["batches"], 1, _MOST_COUNT)
        _within("marker_type", rows["marker_type"], -1, -1)
        _columns(rows, _OF_BOTH, limits)
        _with_data(rows, limits)
        _missing(rows, _OF_MARKER)
    breaks, end = Columns.of_rows(folded.breaks, Break._fields), Columns.of_rows(scan.end, BatchEnd._fields)
    epochs = Columns.of_rows(folded.leader_epochs, _EPOCHS)
    if not len(epochs):
        raise WireError("kept-scan: it has no leader epoch")
    for table in (folded.producers, folded.gaps, folded.others, breaks, epochs):
        for rows in table.blocks():
            _columns(rows, table.names, limits)
    lowest, highest = limits["offset"]
    _columns(end, end.names, limits | {"offset": (lowest - 1, highest), "valid": (0, 1)})  # what is before the first
    if len(end) > _LAST_BATCHES:
        raise WireError("kept-scan: it has more last batches than a segment has")
    _kept_states(scan.states, limits)


def _with_data(rows: Columns, limits: _Limits) -> None:
    _columns(rows, _OF_DATA, limits)
    if (rows["first_offset"] > rows["last_offset"]).any():
        raise WireError("kept-scan: a transaction ends before it begins")


def _missing(rows: Columns, names: Iterable[str]) -> None:
    for name in names:
        _within(name, rows[name], NONE, NONE)


def _kept_states(states: StateColumns, limits: _Limits) -> None:
    _within("transactional_id", states["transactional_id"], 0, len(states.ids) - 1)
    _within("state", states["state"], -1, max(TransactionState))
    _within("topic", states.listed["topic"], 0, len(states.topics) - 1)
    _within("offset", states["offset"], *limits["offset"])
    for name in ("timestamp", "producer_id", "producer_epoch", "partitions_count"):
        _within(name, states[name], -1, _MOST)
    _within("partition", states.listed["partition"], -1, _MOST)
    if int(np.maximum(states["partitions_count"], 0).sum(dtype=np.int64)) != len(states.listed):
        raise WireError("kept-scan: records list other partitions than it has")


def _columns(rows: Columns, names: Iterable[str], limits: _Limits) -> None:
    """Refuse cells that a column can't have, by its name."""
    for name in names:
        cells = rows[name]
        lowest, highest = next((both for end, both in limits.items() if name.endswith(end)), (-1, _MOST))
        _within(name, cells[cells != NONE] if name in _MAY_BE_MISSING else cells, lowest, highest)


def _within(name: str, cells: NDArray[Any], lowest: int, highest: int) -> None:
    if len(cells) and not (lowest <= cells.min() and cells.max() <= highest):
        raise WireError(f"kept-scan: {name} is out of its range")


def _messages(data: bytes, most: int | None = None) -> list[bytes]:
    found: list[bytes] = []
    position = DIGEST_SIZE
    while position < len(data) and len(found) != most:
        start = position + _LENGTH.size
        if start > len(data):
            raise WireError("kept-scan: it ends in a length")
        (length,) = _LENGTH.unpack_from(data, position)
        position = start + length
        if position > len(data):
            raise WireError(f"kept-scan: needed {length} bytes at {start}, the file has {len(data)}")
        found.append(data[start:position])
    if not found:
        raise WireError("kept-scan: it is empty")
    return found
