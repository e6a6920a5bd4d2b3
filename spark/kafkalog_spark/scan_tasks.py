"""What scans segments in Spark's Python workers: places in, messages of their scans out.

Rows between stages carry messages (``kafkalog.txn.wire``) of some MiB: a row of Spark's costs more than a transaction.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any, Final

import numpy as np
import pyarrow as pa

from kafkalog.auditing.partition import scan_messages
from kafkalog.auditing.pipeline import SegmentPlace, scan_place, sha256_of
from kafkalog.log.chunk import Limits
from kafkalog.log.logdir import Segment
from kafkalog.log.names import STATE_TOPIC
from kafkalog.log.storage_options import StorageOptions, set_storage_options
from kafkalog.txn.shares import shares_of
from kafkalog_spark.rows import Row, rows_of

__all__ = ["MESSAGE_ROWS", "PLACES", "SCANNED", "place_row", "routed", "scan"]

MESSAGE_ROWS: Final = 1 << 14  # transactions, some 30 bytes each
_NAMES: Final = ("log", "topic", "path")  # bytes: a file's name need not be UTF-8
PLACES: Final = pa.schema(
    [
        *((name, pa.int32()) for name in ("task", "log_number", "cluster", "group", "shares", "split_no", "partition")),
        *((name, pa.int64()) for name in ("base_offset", "size")),
        *((name, pa.binary()) for name in _NAMES),
    ]
)
SCANNED: Final = pa.schema(
    [
        ("group", pa.int32()), ("share", pa.int32()), ("log", pa.int32()), ("split_no", pa.int32()),
        ("row_no", pa.int32()), ("kind", pa.string()), ("size", pa.int64()), ("newest", pa.int64()),
        ("newest_broker", pa.int64()), ("findings", pa.int32()), ("sha256", pa.string()),
        ("producers", pa.binary()), ("content", pa.binary()),
    ]
)  # fmt: skip


def place_row(place: SegmentPlace) -> Row:
    """Make a segment to scan a row of `PLACES`."""
    names = (os.fsencode(name) for name in (place.log, place.topic, place.segment.path))
    return (
        place.task, place.log_number, place.cluster, place.group, place.shares, place.split_no, place.partition,
        place.segment.base_offset, place.segment.size, *names,
    )  # fmt: skip


def _place(row: dict[str, Any]) -> SegmentPlace:
    log, topic, path = (os.fsdecode(row.pop(name)) for name in _NAMES)
    segment = Segment(path, row.pop("base_offset"), row.pop("size"))
    return SegmentPlace(**row, log=log, topic=topic, segment=segment)


def routed(group: int, share: int, log: int, number: int, kind: str, content: bytes) -> Row:
    """Make a row of `SCANNED` of what the driver sends to a partition's judge."""
    return (group, share, log, -1, number, kind, *_NOTHING, content)


def scan(
    batches: Iterable[pa.RecordBatch], limits: Limits, storage: StorageOptions, *, hashed: bool
) -> Iterator[pa.RecordBatch]:
    """Scan segments: each gives a row with all but its finished transactions, and rows with these."""
    set_storage_options(storage)
    places = (_place(row) for batch in batches for row in batch.to_pylist())
    yield from rows_of((row for place in places for row in _scanned(place, limits, hashed=hashed)), SCANNED)


def _scanned(place: SegmentPlace, limits: Limits, *, hashed: bool) -> Iterator[Row]:
    whole = scan_place(place, limits)
    stretch = whole.stretch
    if place.topic != STATE_TOPIC:
        assert not len(whole.states)  # only the state topic's are read
    first = (place.segment.size, stretch.newest, stretch.newest_broker, len(whole.findings))
    checksum = sha256_of(place.segment) if hashed else None
    producers = np.union1d(stretch.extents["producer_id"], stretch.producers["producer_id"]).tobytes()
    for share in shares_of(place.shares):
        about: Row = (*first, checksum, producers) if share.number == 0 else _NOTHING
        where = (place.group, share.number, place.log_number, place.split_no)
        for number, message in enumerate(scan_messages(whole.share(share), MESSAGE_ROWS)):
            yield (*where, number, "rows" if number else "scan", *(_NOTHING if number else about), message)


_NOTHING: Final[Row] = (0, -1, -1, 0, None, None)
