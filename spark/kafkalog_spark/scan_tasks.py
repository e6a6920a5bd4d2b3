"""What scans segments in Spark's Python workers: places in, messages of their scans out.

Rows between stages carry messages (``kafkalog.columns.wire``) of some MiB: a row of Spark's costs more than a
transaction.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from kafkalog.auditing.partition import MESSAGE_ROWS, scan_messages
from kafkalog.auditing.pipeline import Keeping, KnownSegment, PlaceScan, SegmentPlace
from kafkalog.columns.sorted_rows import among
from kafkalog.files.limits import Limits
from kafkalog.files.names import STATE_TOPIC
from kafkalog.files.object_stores import StorageOptions, requests_here
from kafkalog.files.tree import FileIdentity
from kafkalog.folds.fold import FoldedLog
from kafkalog.folds.shares import shares_of
from kafkalog.log_dirs.log_directory import Segment
from kafkalog_spark.between_tasks import Row, begin_task, rows_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["KEPT", "MANY_ROWS", "PLACES", "SCANNED", "place_row", "routed", "scan"]

KEPT: Final = "kept"  # a row's kind whose content is the name of a kept scan
MANY_ROWS: Final = 1 << 13  # transactions, some 20 bytes each

_NAMES: Final = ("log", "topic", "path")  # bytes: a file's name need not be UTF-8
PLACES: Final = pa.schema(
    [
        *((name, pa.int32()) for name in ("task", "log_number", "cluster", "group", "shares", "split_no", "partition")),
        *((name, pa.int64()) for name in ("base_offset", "size")),
        ("key", pa.string()), ("inode", pa.int64()), ("mtime_ns", pa.int64()), ("by_inode", pa.bool_()),
        ("candidate", pa.binary()), *((name, pa.binary()) for name in _NAMES),
    ]
)  # fmt: skip
_OF_KNOWN: Final = ("key", "inode", "mtime_ns", "by_inode", "candidate")
SCANNED: Final = pa.schema(
    [
        ("group", pa.int32()), ("share", pa.int32()), ("log", pa.int32()), ("split_no", pa.int32()),
        ("row_no", pa.int32()), ("kind", pa.string()), ("size", pa.int64()), ("newest", pa.int64()),
        ("newest_broker", pa.int64()), ("findings", pa.int32()),
        ("opened", pa.int64()), ("scanned_ms", pa.int64()), ("sha256", pa.string()), ("producers", pa.binary()),
        ("asked", pa.string()), ("content", pa.binary()),
    ]
)  # fmt: skip


def place_row(place: SegmentPlace) -> Row:
    """Make a segment to scan a row of `PLACES`."""
    names = (os.fsencode(name) for name in (place.log, place.topic, place.segment.path))
    known = place.known
    about: Row = (None, 0, 0, False, None)
    if known is not None:
        candidate = None if known.candidate is None else os.fsencode(known.candidate)
        about = (known.key, known.file.inode, known.file.mtime_ns, known.by_inode, candidate)
    return (
        place.task, place.log_number, place.cluster, place.group, place.shares, place.split_no, place.partition,
        place.segment.base_offset, place.segment.size, *about, *names,
    )  # fmt: skip


def _place(row: dict[str, Any]) -> SegmentPlace:
    log, topic, path = (os.fsdecode(row.pop(name)) for name in _NAMES)
    segment = Segment(path, row.pop("base_offset"), row.pop("size"))
    key, inode, mtime_ns, by_inode, candidate = (row.pop(name) for name in _OF_KNOWN)
    known = None
    if key is not None:
        file = FileIdentity(inode, segment.size, mtime_ns)
        known = KnownSegment(key, file, by_inode, None if candidate is None else os.fsdecode(candidate), 0)
    return SegmentPlace(**row, log=log, topic=topic, segment=segment, known=known)


def routed(group: int, share: int, log: int, number: int, kind: str, content: bytes) -> Row:
    """Make a row of `SCANNED` of what the driver sends to a partition's judge."""
    return (group, share, log, -1, number, kind, *_NOTHING, content)


def scan(
    batches: Iterable[pa.RecordBatch], limits: Limits, storage: StorageOptions, keeping: Keeping
) -> Iterator[pa.RecordBatch]:
    """Scan segments: each gives a row with all but its finished transactions, and rows with these."""
    begin_task(storage)
    places = (_place(row) for batch in batches for row in batch.to_pylist())
    yield from rows_of((row for place in places for row in _scanned(place, limits, keeping)), SCANNED)


def _scanned(place: SegmentPlace, limits: Limits, keeping: Keeping) -> Iterator[Row]:
    before = requests_here()
    found = keeping.scan(place, limits)
    asked = requests_here() - before
    whole, by_name = found.scan, _goes_by_name(place, found)
    folded = whole.folded
    if place.topic != STATE_TOPIC:
        assert not len(whole.states)  # only the state topic's are read
    producers = _producers(folded).tobytes()
    first = (place.segment.size, folded.newest, folded.newest_broker, len(whole.findings), len(folded.opened))
    shares = zip(shares_of(place.shares), whole.shares(place.shares), strict=True)
    for share, of_share in shares:
        about: Row = (
            (*first, found.scanned_ms, found.sha256, producers, json.dumps(asked)) if share.number == 0 else _NOTHING
        )
        where = (place.group, share.number, place.log_number, place.split_no)
        if by_name:
            yield (*where, 0, KEPT, *about, found.kept.encode())
            continue
        messages = found.messages() if place.shares == 1 else scan_messages(of_share, MESSAGE_ROWS)
        for number, message in enumerate(messages):
            yield (*where, number, "rows" if number else "scan", *(_NOTHING if number else about), message)


def _producers(folded: FoldedLog) -> NDArray[np.int64]:
    """Return the producers of a segment's batches and markers; of few producers, most rows are of those that wrote."""
    wrote = np.unique(folded.producers["producer_id"])
    parts = [wrote]
    for rows in folded.extents.blocks("producer_id"):
        ids = rows["producer_id"]
        parts.append(ids[~among(ids, wrote)])
    return np.unique(np.concatenate(parts))


def _goes_by_name(place: SegmentPlace, found: PlaceScan) -> bool:
    """Say whether a judge reads a kept scan from its file: one that costs more to send than to read.

    Each share's judge would read the whole file.
    """
    if not found.kept or place.topic == STATE_TOPIC or place.shares > 1:
        return False
    return len(found.scan.folded.finished) >= MANY_ROWS


_NOTHING: Final[Row] = (0, -1, -1, 0, 0, -1, None, None, None)
