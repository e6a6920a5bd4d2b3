"""A scan as a file that lasts: what it is a scan of, its messages, and a checksum of all.

Who reads such a file believes nothing of it that the checksum or the identity does not prove: a damaged file, one of
another version or about another segment is no scan at all. The checksum has no key: whoever may write to the folder can
make one, so that cells that no scan has are refused, too.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from kafkalog.auditing.partition.scan import SegmentScan
from kafkalog.auditing.partition.scan_message import SCAN_VERSION, read_extents, read_scan
from kafkalog.format.records.transaction_state import TransactionState
from kafkalog.format.state_columns import StateColumns
from kafkalog.txn.columns import NONE, Columns
from kafkalog.txn.fold import Break
from kafkalog.txn.loops import PRODUCER_COLUMNS
from kafkalog.txn.wire import Schema, WireError, WireTable, read_message, write_message

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["DIGEST_SIZE", "KeptAbout", "kept_about", "kept_bytes", "kept_scan", "may_be_kept"]


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


_KEPT: Final = Schema(
    "kept-scan", SCAN_VERSION, (WireTable("about", KeptAbout._fields[:5], KeptAbout._fields[5:]),)
)  # fmt: skip
_MOST: Final = 2**63 - 1
_MOST_COUNT: Final = 1 << 40  # of batches, records, bytes in a segment: sums of them fit into 64 bits
_NUMBERS: Final = ("batches", "records", "control_records", "first_offset", "last_offset", "first_position", "newest",
                   "newest_broker")  # fmt: skip
_OF_DATA: Final = (
    "first_offset",
    "last_offset",
    "min_timestamp",
    "max_timestamp",
    "first_epoch",
    "last_epoch",
    "position",
)
_OF_MARKERS: Final = (
    "log_id", "producer_id", "batches", "records", "size", "older_records", "marker_offset", "marker_epoch",
    "coordinator_epoch", "marker_timestamp",
)  # fmt: skip
# By the end of a column's name: its lowest and its highest cell.
_LIMITS: Final = {
    "log_id": (0, 0), "batches": (0, _MOST_COUNT), "records": (0, _MOST_COUNT), "size": (0, _MOST_COUNT),
    "coordinator_epoch": (-1, 2**31 - 1), "epoch": (-1, 2**15 - 1),
    "sequence": (-1, 2**31 - 1), "offset": (0, _MOST), "position": (0, _MOST),
}  # fmt: skip
_MAY_BE_MISSING: Final = frozenset(
    name for name in ("older_records", *PRODUCER_COLUMNS, *Break._fields) if name not in ("log_id", "producer_id")
)
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
    for message in (write_message(_KEPT, {"about": [tuple(about)]}), *messages):
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
    about = read_message(_KEPT, _messages(data, 1)[0]).rows("about")
    if len(about) != 1 or None in about[0]:
        raise WireError("kept-scan: it does not say what it is about")
    return KeptAbout(*about[0])


def kept_scan(data: bytes) -> SegmentScan:
    """Return a file's scan, whose digest is the file's. Raises WireError for bytes that are no scan."""
    try:
        _, head, *more = _messages(data)
        scan = read_scan(head)
        for message in more:
            scan.stretch.finished.extend(read_extents(message))
        _refuse_impossible(scan, len(data))
    except (ValueError, TypeError, OverflowError) as error:  # cells that no scan has
        raise WireError(f"kept-scan: {error}") from error
    scan.digest = data[:DIGEST_SIZE]
    return scan


def _refuse_impossible(scan: SegmentScan, size: int) -> None:
    """Raise WireError for cells that no scan in a file of `size` bytes has: they would be taken for places."""
    stretch = scan.stretch
    if not may_be_kept(scan) or max(len(stretch.finished), len(stretch.opened), len(stretch.producers)) > size:
        raise WireError("kept-scan: it has findings, or more rows than bytes")
    numbers = [getattr(stretch, name) for name in _NUMBERS] + [scan.transactions, scan.oldest, scan.last_position]
    _within("the segment", np.array(numbers), -1, _MOST)
    for rows in stretch.finished.blocks():
        has_data = rows["batches"] > 0
        _extents(rows.take(has_data))
        _within("marker_type", rows["marker_type"], 0, 1)
        _columns(rows, _OF_MARKERS)
        for name in _OF_DATA:
            if (rows[name][~has_data] != NONE).any():
                raise WireError(f"kept-scan: {name} of a transaction without batches")
    for rows in stretch.opened.blocks():
        _within("batches", rows["batches"], 1, _MOST_COUNT)
        _extents(rows)
        _within("marker_type", rows["marker_type"], -1, -1)
    for rows in stretch.producers.blocks():
        _columns(rows, PRODUCER_COLUMNS)
    for table in (stretch.gaps, stretch.others):
        _columns(table, table.names)
    for row in stretch.breaks:
        _columns(Columns({name: np.array([NONE if cell is None else cell]) for name, cell in row._asdict().items()}),
                 row._fields)  # fmt: skip
    if not stretch.leader_epochs:
        raise WireError("kept-scan: it has no leader epoch")
    for epoch, offset in stretch.leader_epochs:
        _within("leader_epoch", np.array([epoch, offset]), -1, _MOST)
    for marker in stretch.unreadable_markers:
        _within("unreadable_markers", np.array(marker), 0, _MOST)
    _states(scan.states)


def _extents(rows: Columns) -> None:
    _columns(rows, ("log_id", "producer_id", "records", "size", *_OF_DATA))
    if (rows["first_offset"] > rows["last_offset"]).any():
        raise WireError("kept-scan: a transaction ends before it begins")


def _states(states: StateColumns) -> None:
    _within("transactional_id", states.transactional_id, 0, len(states.ids) - 1)
    _within("state", states.state, -1, max(TransactionState))
    _within("listed_topic", states.listed_topic, 0, len(states.topics) - 1)
    for name in ("offset", "timestamp", "producer_id", "producer_epoch", "partitions_count", "listed_partition"):
        _within(name, getattr(states, name), -1, _MOST)
    if int(np.maximum(states.partitions_count, 0).sum(dtype=np.int64)) != len(states.listed_topic):
        raise WireError("kept-scan: records list other partitions than it has")


def _columns(rows: Columns, names: Iterable[str]) -> None:
    """Refuse cells that a column can't have, by its name; what a producer without sequences has not may be missing."""
    for name in names:
        cells = rows[name]
        lowest, highest = next((limits for end, limits in _LIMITS.items() if name.endswith(end)), (-1, _MOST))
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
