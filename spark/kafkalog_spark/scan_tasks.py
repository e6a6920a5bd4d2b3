"""What scans segments in Spark's Python workers: places in, messages of their scans out.

Rows between stages carry messages (``kafkalog.columns.wire``) of some MiB: a row of Spark's costs more than a
transaction.
"""

from __future__ import annotations

import json
import os
import platform
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from kafkalog.auditing.partition import MESSAGE_ROWS, scan_messages
from kafkalog.auditing.pipeline import Clock, Keeping, KnownSegment, PlaceScan, SegmentPlace
from kafkalog.auditing.transactions import Reused
from kafkalog.columns.sorted_rows import among
from kafkalog.files.limits import Limits
from kafkalog.files.names import STATE_TOPIC
from kafkalog.files.object_stores import requests_here
from kafkalog.files.tree import FileIdentity
from kafkalog.findings import Finding
from kafkalog.folds.fold import FoldedLog
from kafkalog.folds.shares import shares_of
from kafkalog.log_dirs.log_directory import Segment
from kafkalog.unread import is_not_read
from kafkalog_spark.between_tasks import FileAccess, Row, begin_task, cells, rows_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["HEADS", "KEPT", "MANY_ROWS", "PLACES", "SCANNED", "heads", "place_row", "routed", "scan", "to_each_share"]

KEPT: Final = "kept"  # a row's kind whose content is the name of a kept scan
MANY_ROWS: Final = 1 << 13  # transactions, some 20 bytes each

_NAMES: Final = ("log", "topic", "path")  # bytes: a file's name need not be UTF-8
PLACES: Final = pa.schema(
    [
        *((name, pa.int32()) for name in ("task", "log_number", "cluster", "group", "shares", "split_no", "partition")),
        *((name, pa.int64()) for name in ("base_offset", "size")),
        ("key", pa.string()), ("inode", pa.int64()), ("mtime_ns", pa.int64()), ("by_inode", pa.bool_()),
        ("candidate", pa.binary()), ("tried_on", pa.string()), *((name, pa.binary()) for name in _NAMES),
    ]
)  # fmt: skip
_OF_KNOWN: Final = ("key", "inode", "mtime_ns", "by_inode", "candidate")
SCANNED: Final = pa.schema(
    [
        ("group", pa.int32()), ("share", pa.int32()), ("log", pa.int32()), ("split_no", pa.int32()),
        ("row_no", pa.int32()), ("kind", pa.string()), ("failed", pa.bool_()), ("host", pa.string()),
        ("newest", pa.int64()), ("newest_broker", pa.int64()), ("findings", pa.int32()),
        ("opened", pa.int64()), ("scanned_ms", pa.int64()), ("sha256", pa.string()), ("producers", pa.binary()),
        ("asked", pa.string()), ("content", pa.binary()),
    ]
)  # fmt: skip
# What the segments of a log have together; `about` is JSON, of what most logs have nothing of.
HEADS: Final = pa.schema(
    [
        ("log", pa.int32()), ("newest", pa.int64()), ("newest_broker", pa.int64()), ("findings", pa.int64()),
        ("opened", pa.int64()), ("scanned", pa.int64()), ("resumed", pa.int64()), ("taken", pa.int64()),
        ("oldest_ms", pa.int64()), ("producers", pa.binary()), ("about", pa.binary()),
    ]
)  # fmt: skip


def place_row(place: SegmentPlace, tried_on: str | None = None) -> Row:
    """Make a segment to scan a row of `PLACES`; one that could not be read was `tried_on` a machine."""
    names = (os.fsencode(name) for name in (place.log, place.topic, place.segment.path))
    known = place.known
    about: Row = (None, 0, 0, False, None)
    if known is not None:
        candidate = None if known.candidate is None else os.fsencode(known.candidate)
        about = (known.key, known.file.inode, known.file.mtime_ns, known.by_inode, candidate)
    return (
        place.task, place.log_number, place.cluster, place.group, place.shares, place.split_no, place.partition,
        place.segment.base_offset, place.segment.size, *about, tried_on, *names,
    )  # fmt: skip


def _untried(batch: pa.RecordBatch) -> Iterator[tuple[dict[str, Any], str | None]]:
    return zip(batch.drop_columns("tried_on").to_pylist(), batch["tried_on"].to_pylist(), strict=True)


def _place(row: dict[str, Any]) -> SegmentPlace:
    log, topic, path = (os.fsdecode(row.pop(name)) for name in _NAMES)
    segment = Segment(path, row.pop("base_offset"), row.pop("size"))
    key, inode, mtime_ns, by_inode, candidate = (row.pop(name) for name in _OF_KNOWN)
    known = None
    if key is not None:
        file = FileIdentity(inode, segment.size, mtime_ns)
        known = KnownSegment(key, file, by_inode, None if candidate is None else os.fsdecode(candidate), 0)
    return SegmentPlace(**row, log=log, topic=topic, segment=segment, known=known)


def routed(group: int, shares: int, log: int, number: int, kind: str, content: bytes) -> Row:
    """Make a row of `SCANNED` of what the driver sends to the judges of all `shares` of a partition, once."""
    return (group, shares, log, -1, number, kind, *_NOTHING, content)


def to_each_share(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Make of each row that ``routed`` made one for each share."""
    shares = [len(shares_of(count)) for count in batch["share"].to_pylist()]
    rows = np.repeat(np.arange(len(shares)), shares)
    numbers = np.arange(len(rows)) - np.repeat(np.cumsum(shares) - shares, shares)
    at = SCANNED.get_field_index("share")
    return batch.take(pa.array(rows)).set_column(at, SCANNED.field(at), pa.array(numbers, pa.int32()))


def scan(
    batches: Iterable[pa.RecordBatch], limits: Limits, reach: FileAccess, keeping: Keeping
) -> Iterator[pa.RecordBatch]:
    """Scan segments: each gives a row with all but its finished transactions, and rows with these.

    What could not be read has `failed` in all of its rows, unless it was tried before, perhaps on another machine.
    """
    begin_task(reach)
    places = ((_place(row), tried_on) for batch in batches for row, tried_on in _untried(batch))
    yield from rows_of((row for place in places for row in _scanned(*place, limits, keeping)), SCANNED)


def _scanned(place: SegmentPlace, tried_on: str | None, limits: Limits, keeping: Keeping) -> Iterator[Row]:
    before = requests_here()
    found = keeping.scan(place, limits)
    asked = requests_here() - before
    whole, by_name = found.scan, _goes_by_name(place, found)
    here = platform.node()
    failed = any(is_not_read(one) and one.file == place.segment.path for one in whole.findings)
    if failed and tried_on is not None:
        whole.findings[:] = [_with_hosts(one, tried_on, here, keeping.listed_on) for one in whole.findings]
    folded = whole.folded
    if place.topic != STATE_TOPIC:
        assert not len(whole.states)  # only the state topic's are read
    producers = _producers(folded).tobytes()
    first = (folded.newest, folded.newest_broker, len(whole.findings), len(folded.opened))
    shares = zip(shares_of(place.shares), whole.shares(place.shares), strict=True)
    for share, of_share in shares:
        nothing = (failed and tried_on is None, *_NOTHING[1:])
        about: Row = (
            (nothing[0], here, *first, found.scanned_ms, found.sha256, producers, json.dumps(asked))
            if share.number == 0
            else nothing
        )
        where = (place.group, share.number, place.log_number, place.split_no)
        if by_name:
            yield (*where, 0, KEPT, *about, found.kept.encode())
            continue
        messages = found.messages() if place.shares == 1 else scan_messages(of_share, MESSAGE_ROWS)
        for number, message in enumerate(messages):
            yield (*where, number, "rows" if number else "scan", *(nothing if number else about), message)


def _with_hosts(finding: Finding, first: str, second: str, driver: str) -> Finding:
    """Say which machines could not read a file; in a job on one machine nobody asks."""
    if not is_not_read(finding) or {first, second} == {driver}:
        return finding
    tried = f"tried twice on {first}" if first == second else f"tried on {first} and on {second}"
    return finding._replace(message=f"{finding.message} ({tried})")


def heads(batches: Iterable[pa.RecordBatch], begun_ms: int) -> Iterator[pa.RecordBatch]:
    """Join the heads of each log's segments, which come together, to a row of `HEADS`.

    Of a segment that failed it says on which machine, and counts nothing else: it is scanned again. A machine that
    read is named with one log: the driver wants them together, and of many machines each log's row would be long.
    """
    begin_task()
    yield from rows_of(_joined_heads(batches, begun_ms), HEADS)


def _joined_heads(batches: Iterable[pa.RecordBatch], begun_ms: int) -> Iterator[Row]:
    names = ("log", *(name for name in SCANNED.names if name not in _NO_HEAD))
    told: set[str] = set()
    for log, rows in groupby((dict(zip(names, row, strict=True)) for row in cells(batches, *names)), itemgetter("log")):
        clock, reused, found, opened = Clock(), Reused(), 0, 0
        producers: list[NDArray[np.int64]] = []
        asked: Counter[str] = Counter()
        failed: dict[str, list[int]] = {}  # the machines' names once: of a lost mount all segments are here
        sums: list[tuple[int, str | None]] = []
        hosts: set[str] = set()
        for row in rows:
            asked.update(json.loads(row["asked"]))
            hosts.add(row["host"])
            if row["failed"]:
                failed.setdefault(row["host"], []).append(row["split_no"])
                continue
            clock = clock.with_scan(row["newest"], row["newest_broker"])
            reused = reused.with_scan(row["scanned_ms"], begun_ms)
            found, opened = found + row["findings"], opened + row["opened"]
            producers.append(np.frombuffer(row["producers"], np.int64))
            if row["sha256"] is not None:
                sums.append((row["split_no"], row["sha256"]))
        ids = np.unique(np.concatenate(producers)) if producers else np.empty(0, np.int64)
        about = {"asked": asked, "failed": failed, "hosts": sorted(hosts - told), "sha256": sums}
        told |= hosts
        yield (
            log, *clock, found, opened, reused.scanned, reused.resumed, reused.taken, reused.oldest_ms, ids.tobytes(),
            json.dumps(about).encode(),
        )  # fmt: skip


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


_NOTHING: Final[Row] = (False, None, -1, -1, 0, 0, -1, None, None, None)
_NO_HEAD: Final = ("group", "share", "log", "row_no", "kind", "content")  # columns that no head has
