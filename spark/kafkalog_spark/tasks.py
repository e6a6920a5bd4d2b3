"""What runs in Spark's Python workers: rows in, the library's functions, rows out.

Rows between stages carry their content packed, in pieces of some MiB: a row of Spark's costs more than a transaction.
"""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

import numpy as np
import pyarrow as pa

from kafkalog.audit.atomicity import KEY_COLUMNS, conflicts, own_epoch_keys
from kafkalog.audit.batches import log_batches
from kafkalog.audit.judge import Judgement, judge
from kafkalog.audit.partition import join
from kafkalog.audit.provenance import sha256_of
from kafkalog.audit.scan import STATE_TOPIC, SegmentScan, scan_segment
from kafkalog.audit.summary import LogSummary
from kafkalog.audit.surroundings import Surroundings
from kafkalog.log.chunk import Limits
from kafkalog.log.rows import finding_rows
from kafkalog.log.storage_options import StorageOptions, set_storage_options
from kafkalog.tables import TABLES
from kafkalog.tables.arrow import arrow_batches, arrow_schema
from kafkalog.txn.columns import Columns, Packed
from kafkalog.txn.loops import EXTENT_COLUMNS
from kafkalog_spark.splits import Log, Piece

__all__ = [
    "CONFLICTS",
    "JUDGED",
    "PIECES",
    "SCANNED",
    "Judge",
    "conflict",
    "joined",
    "packed",
    "rows_of",
    "scan",
    "unpack",
]

PIECES: Final = pa.schema([("task", pa.int32()), ("piece", pa.binary())])
SCANNED: Final = pa.schema(
    [
        ("group", pa.int32()), ("share", pa.int32()), ("log", pa.int32()), ("split_no", pa.int32()),
        ("row_no", pa.int32()), ("kind", pa.string()), ("size", pa.int64()), ("newest", pa.int64()),
        ("newest_broker", pa.int64()), ("findings", pa.int32()), ("sha256", pa.string()),
        ("content", pa.binary()),
    ]
)  # fmt: skip
JUDGED: Final = pa.schema(
    [("kind", pa.string()), ("cluster", pa.int32()), ("share", pa.int32()), ("rows", pa.int64()),
     ("content", pa.binary())]
)  # fmt: skip
CONFLICTS: Final = pa.schema([("cluster", pa.int32()), ("content", pa.binary())])

_PIECE_ROWS: Final = 1 << 14  # transactions, some 30 bytes each
_KEY_SHARES: Final = 64

Row = tuple[Any, ...]


def packed(value: object) -> bytes:
    """Return a value as bytes that travel in a row."""
    return pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)


def rows_of(rows: Iterable[Row], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield rows as Arrow batches, one batch a row: they are few and big."""
    for row in rows:
        yield pa.RecordBatch.from_arrays(
            [pa.array([value], field.type) for value, field in zip(row, schema, strict=True)], schema=schema
        )


def scan(
    batches: Iterable[pa.RecordBatch], limits: Limits, storage: StorageOptions, *, hashed: bool
) -> Iterator[pa.RecordBatch]:
    """Scan segments: of each a row with all but its finished transactions, and rows with these."""
    set_storage_options(storage)
    for batch in batches:
        for content in batch["piece"].to_pylist():
            yield from rows_of(_scanned(pickle.loads(content), limits, hashed=hashed), SCANNED)


def _scanned(piece: Piece, limits: Limits, *, hashed: bool) -> Iterator[Row]:
    whole = scan_segment(piece.directory, piece.segment, limits)
    size, stretch = piece.segment.size, whole.stretch
    told = len(whole.findings) + len(whole.malformed)
    sha256 = sha256_of(piece.segment) if hashed else None
    for share in range(piece.shares):
        scanned = whole.share(share, piece.shares)
        finished = scanned.stretch.finished
        head = replace(scanned, stretch=replace(scanned.stretch, finished=Packed(EXTENT_COLUMNS)))
        if piece.directory.topic != STATE_TOPIC:
            assert not head.entries  # only the state topic's are read
        where = (piece.group, share, piece.log, piece.split_no)
        first = (size, stretch.newest, stretch.newest_broker, told, sha256) if share == 0 else (0, -1, -1, 0, None)
        yield (*where, 0, "scan", *first, packed(head))
        for number, some in enumerate(finished.pieces(_PIECE_ROWS)):
            yield (*where, number + 1, "rows", 0, -1, -1, 0, None, packed(some))


def _flat(batches: Iterable[pa.RecordBatch], *names: str) -> Iterator[Row]:
    for batch in batches:
        yield from zip(*(batch[name].to_pylist() for name in names), strict=True)


def joined(rows: Iterable[tuple[str, bytes]]) -> tuple[Log, list[SegmentScan]]:
    """Put one log's rows together again: where it lies, then each segment's scan with its transactions."""
    log: Log | None = None
    scans: list[SegmentScan] = []
    for kind, content in rows:
        if kind == "log":
            log = pickle.loads(content)
        elif kind == "scan":
            scans.append(pickle.loads(content))
        else:
            scans[-1].stretch.finished.extend(pickle.loads(content))
    assert log is not None  # its row sorts before all others
    return log, scans


class Judge:
    """Judges partition by partition: the rows of each stand together, in the order of log, split and row."""

    def __init__(self, around: Mapping[int, Surroundings], tables: tuple[str, ...], storage: StorageOptions) -> None:
        self.around = around
        self.tables = tables
        self.storage = storage

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        set_storage_options(self.storage)
        rows = _flat(batches, "group", "share", "log", "split_no", "row_no", "kind", "content")
        last: Row = ()
        for (_, share), of_group in groupby(rows, key=itemgetter(0, 1)):
            logs = []
            for _, of_log in groupby(of_group, key=itemgetter(2)):
                content = []
                for row in of_log:
                    if not last < row[:5]:
                        raise AssertionError(f"rows out of order: {row[:5]} behind {last}")
                    last = row[:5]
                    content.append(row[5:])
                logs.append(joined(content))
            yield from rows_of(self.judged(share, logs), JUDGED)

    def judged(self, share: int, logs: list[tuple[Log, list[SegmentScan]]]) -> Iterator[Row]:
        about = logs[0][0]
        replicas = [(log.node, join(log.directory, scans)) for log, scans in logs]
        found = judge(replicas, self.around[about.cluster], share=share, of=about.shares)
        numbers = [log.number for log, _ in logs]
        sizes: Counter[str] = Counter()
        for table in self.tables:
            for batch in self._batches(table, share, found):
                content = _ipc(batch)
                sizes[table] += len(content)
                yield (table, about.cluster, share, batch.num_rows, content)
        for row in self._keys(about.cluster, numbers, found):
            sizes["keys"] += len(row[-1])
            yield row
        yield from self._summaries(about.cluster, share, numbers, found, sizes)

    def _keys(self, cluster: int, numbers: list[int], found: Judgement) -> Iterator[Row]:
        for log, number in zip(found.logs, numbers, strict=True):
            keys: dict[int, Packed] = {}
            for some in own_epoch_keys(log.judged, number):
                shares = some["producer_id"] % _KEY_SHARES
                for key_share in sorted(set(shares.tolist())):
                    keys.setdefault(key_share, Packed(KEY_COLUMNS)).append(some.take(shares == key_share))
            for key_share, of_share in keys.items():
                for some_keys in of_share.pieces(_PIECE_ROWS):
                    yield ("keys", cluster, key_share, len(some_keys), packed(some_keys))

    def _summaries(
        self, cluster: int, share: int, numbers: list[int], found: Judgement, sizes: Counter[str]
    ) -> Iterator[Row]:
        for number, log in zip(numbers, found.logs, strict=True):
            yield ("summary", cluster, share, number, packed(LogSummary.of(log)))
        codes = Counter((finding.code, finding.severity) for finding in found.findings)
        for log in found.logs:
            codes.update((finding.code, finding.severity) for finding in log.findings)
        yield ("counts", cluster, share, 0, packed((codes, sizes)))

    def _batches(self, table: str, share: int, found: Judgement) -> Iterator[pa.RecordBatch]:
        if table == "findings":
            yield from arrow_batches(finding_rows(found.findings), arrow_schema(TABLES[table]))
        if table == "gaps" and share:
            return  # they are the log's, whoever wrote in it
        for log in found.logs:
            yield from log_batches(log, table)


def _ipc(batch: pa.RecordBatch) -> bytes:
    """Return a batch as bytes, with names and types and no more of its schema."""
    batch = batch.replace_schema_metadata(None)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue())


def unpack(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a table that ``Judge`` packed."""
    for (content,) in _flat(batches, "content"):
        with pa.ipc.open_stream(content) as reader:
            yield from reader


def conflict(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Find what ended in different ways in different partitions, producers' share by producers' share."""
    rows = _flat(batches, "cluster", "share", "content")
    for (cluster, _), of_share in groupby(rows, key=itemgetter(0, 1)):
        keys = Columns.concat([k for *_, content in of_share for k in pickle.loads(content).blocks()], KEY_COLUMNS)
        for pair in conflicts(keys.take(np.argsort(keys["log"], kind="stable"))):
            yield from rows_of([(cluster, packed(pair))], CONFLICTS)
