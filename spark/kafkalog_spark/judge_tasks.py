"""What judges in Spark's Python workers: rows of scans in, rows of verdicts out.

Rows between stages carry messages (``kafkalog.columns.wire``) of some MiB: a row of Spark's costs more than a
transaction.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, groupby
from operator import itemgetter
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from kafkalog.auditing.incidents import is_lost, needed
from kafkalog.auditing.partition import MESSAGE_ROWS, SegmentScan, open_offsets, read_extents, read_scan
from kafkalog.auditing.pipeline import (
    KeptScans,
    LogPlace,
    judge_partition,
    keys_of_partition,
)
from kafkalog.auditing.transactions import (
    KEY_COLUMNS,
    MANY_ROWS,
    Contradictions,
    Judgement,
    LogAudit,
    LogSummary,
    Surroundings,
    conflicts,
    gap_rows,
    log_rows,
    notable_columns,
    own_epoch_keys,
)
from kafkalog.columns.table import Columns
from kafkalog.files.object_stores import requests_here
from kafkalog.findings import Finding, Severity
from kafkalog.folds.coordinator import Coordinator
from kafkalog.folds.shares import Share
from kafkalog.segments.file_rows import finding_rows
from kafkalog.tables import TABLES, Table
from kafkalog.tables.arrow import arrow_schema
from kafkalog.tables.audit_tables import FINDINGS, GAPS, NOTABLE, PRODUCERS, TRANSACTIONS
from kafkalog.tables.manifest import Run
from kafkalog_spark.between_tasks import FileAccess, Row, Seal, begin_task, cells, rows_of
from kafkalog_spark.parts import PartFiles, TableRows, part_rows
from kafkalog_spark.scan_tasks import KEPT

__all__ = [
    "ASKED",
    "COMPARED",
    "CONFLICTS",
    "CONTRADICTED",
    "COORDINATOR",
    "EXPLAINED",
    "JUDGED",
    "LOST",
    "OF_KEYS",
    "OPENED",
    "CompareKeys",
    "Contradicted",
    "Judge",
    "OpenOffsets",
    "conflict",
    "joined",
    "kept_scan",
]

JUDGED: Final = pa.schema(
    [("kind", pa.string()), ("cluster", pa.int32()), ("share", pa.int32()), ("rows", pa.int64()),
     ("content", pa.binary())]
)  # fmt: skip
OPENED: Final = pa.schema([("log", pa.int32()), ("count", pa.int64()), ("offsets", pa.binary())])
CONTRADICTED: Final = pa.schema(
    [
        ("cluster", pa.int32()),
        ("log", pa.int32()),
        ("of_log", pa.bool_()),
        ("count", pa.int64()),
        ("finding", pa.binary()),
    ]
)
COMPARED: Final = pa.schema([("group", pa.int32()), ("content", pa.binary())])
CONFLICTS: Final = pa.schema([("cluster", pa.int32()), ("content", pa.binary())])

# Which sizes that a task sends are of what it asked of object stores.
ASKED: Final = {name: f"asked: {name}" for name in ("list", "look", "read", "read_bytes")}
OF_KEYS: Final = -2  # stands for the log in rows of what its replicas' newest records say
COORDINATOR: Final = -1  # stands for the log in rows of what the coordinator says of a partition


def joined(rows: Iterable[tuple[str, bytes]], kept: Callable[[int, str], SegmentScan]) -> list[SegmentScan]:
    """Put one log's scans together again, each with its transactions.

    `kept` reads the scan of a segment, by its number in the log, from a file with this name.
    """
    scans: list[SegmentScan] = []
    for kind, content in rows:
        if kind == KEPT:
            scans.append(kept(len(scans), content.decode()))
            continue
        if kind == "scan":
            scans.append(read_scan(content))
        else:
            scans[-1].folded.finished += read_extents(content)
    return scans


class _Replicas(NamedTuple):
    """The replicas of a partition, as a share of their producers has them, with what the driver says of them."""

    share: int
    logs: list[LogPlace]
    scans: dict[int, list[SegmentScan]]
    coordinator: Coordinator | None
    of_keys: list[Finding]


def _replicas(batches: Iterable[pa.RecordBatch], kept: KeptScans, seal: Seal) -> Iterator[_Replicas]:
    """Yield what one task judges at once: its rows come together, in the order of log, split and row."""
    rows = cells(batches, "group", "share", "log", "split_no", "row_no", "kind", "content")
    last: Row = ()
    for (_, share), of_group in groupby(rows, key=itemgetter(0, 1)):
        found = _Replicas(share, [], {}, None, [])
        for number, of_log in groupby(of_group, key=itemgetter(2)):
            content = []
            for row in of_log:
                if not last < row[:5]:
                    raise AssertionError(f"rows out of order: {row[:5]} after {last}")
                last = row[:5]
                content.append(row[5:])
            if number == OF_KEYS:
                found.of_keys.extend(chain.from_iterable(seal.unpacked(part) for _, part in content))
            elif number == COORDINATOR:
                found = found._replace(coordinator=Coordinator.of_parts(seal.unpacked(part) for _, part in content))
            else:
                assert content[0][0] == "log"  # its row sorts before all others
                found.logs.append(_place(seal, kept, content[0][1]))
                found.scans[number] = joined(content[1:], partial(kept_scan, kept, found.logs[-1]))
        yield found


def _around(around: Mapping[int, Surroundings], found: _Replicas) -> Surroundings:
    """Return a cluster's surroundings, with the coordinator's part of what is about a partition."""
    one = around[found.logs[0].cluster]
    return one if found.coordinator is None else replace(one, coordinator=found.coordinator)


@dataclass(frozen=True, slots=True)
class CompareKeys:
    """Compares the newest records of logs that are shared out, whose replicas come together as their logs' shares."""

    around: Mapping[int, Surroundings]
    reach: FileAccess
    kept: KeptScans
    seal: Seal

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        begin_task(self.reach)
        yield from rows_of(self._rows(batches), COMPARED)

    def _rows(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Row]:
        for found in _replicas(batches, self.kept, self.seal):
            told = keys_of_partition(found.logs, found.scans, _around(self.around, found))
            if told:
                yield (found.logs[0].group, self.seal.packed(told))


@dataclass(frozen=True, slots=True)
class Judge:
    """Judges partition by partition: the rows of each come together, in the order of log, split and row.

    Rows of the `tables` go to files in the folder `work`, what else is of the `kinds` to the driver. The producers that
    partitions are compared by are shared out to `key_shares`. `kept` says which scans are kept and taken. What goes to
    other tasks and to the driver is under the `seal`.
    """

    around: Mapping[int, Surroundings]
    tables: tuple[str, ...]
    kinds: tuple[str, ...]
    work: str
    reach: FileAccess
    key_shares: int
    kept: KeptScans
    seal: Seal
    run: Run | None

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        begin_task(self.reach)
        with PartFiles(self.work, self.run) as files:
            yield from rows_of(self._rows(batches, files), JUDGED)

    def _rows(self, batches: Iterable[pa.RecordBatch], files: PartFiles) -> Iterator[Row]:
        tables = _Tables(self.tables, self.kinds, files)
        before = requests_here()
        for found in _replicas(batches, self.kept, self.seal):
            yield from self._judged(found, tables)
        asked = requests_here() - before
        tables.sizes.update({of_task: asked[name] for name, of_task in ASKED.items()})
        yield from tables.rest()
        yield ("counts", -1, 0, 0, self.seal.packed((tables.codes, tables.sizes)))

    def _judged(self, given: _Replicas, tables: _Tables) -> Iterator[Row]:
        logs, number = given.logs, given.share
        cluster, share = logs[0].cluster, Share(number, logs[0].shares)
        found = judge_partition(logs, given.scans, _around(self.around, given), share, given.of_keys)
        yield from tables.add(cluster, share, found)
        numbers = [log.number for log in logs]
        for row in self._keys(cluster, numbers, found):
            tables.sizes["keys"] += len(row[-1])
            yield row
        for log_number, log in zip(numbers, found.logs, strict=True):
            yield ("summary", cluster, number, log_number, self.seal.packed(LogSummary.of(log)))

    def _keys(self, cluster: int, numbers: list[int], found: Judgement) -> Iterator[Row]:
        for log, number in zip(found.logs, numbers, strict=True):
            keys: dict[int, list[Columns]] = {}
            for some in own_epoch_keys(log.judged, number):
                shares = some["producer_id"] % self.key_shares
                for key_share in sorted(set(shares.tolist())):
                    keys.setdefault(key_share, []).append(some.take(shares == key_share).packed())
            for key_share, of_share in keys.items():
                for some_keys in Columns.chained(of_share, KEY_COLUMNS).pieces(MESSAGE_ROWS):
                    yield ("keys", cluster, key_share, len(some_keys), self.seal.packed(some_keys))


@dataclass(frozen=True, slots=True)
class Contradicted:
    """Finds what logs contradict in the word that all is of one moment: of each share of a log the first, and how many.

    Its rows come as those of ``Judge``; `found_by` is by the clusters' numbers.
    """

    found_by: Mapping[int, Contradictions]
    reach: FileAccess
    kept: KeptScans
    seal: Seal

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        begin_task(self.reach)
        yield from rows_of(self._rows(batches), CONTRADICTED)

    def _rows(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Row]:
        for given in _replicas(batches, self.kept, self.seal):
            first = given.logs[0]
            found_by, share = self.found_by[first.cluster], Share(given.share, first.shares)
            if given.coordinator is not None:
                found_by = found_by.by(given.coordinator)
            for log in given.logs:
                found = list(found_by.of_log(log.node, log.directory, given.scans[log.number], share))
                if found:
                    yield (log.cluster, log.number, share.of_log, len(found), self.seal.packed(found[0]))


@dataclass(frozen=True, slots=True)
class OpenOffsets:
    """Finds the open transactions of each share of each log: how many, and the first `most` first offsets.

    Its rows come as those of ``Judge``, but without the coordinator's.
    """

    reach: FileAccess
    kept: KeptScans
    seal: Seal
    most: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        begin_task(self.reach)
        yield from rows_of(self._rows(batches), OPENED)

    def _rows(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Row]:
        rows = cells(batches, "share", "log", "kind", "content")
        for (share, number), of_log in groupby(rows, key=itemgetter(0, 1)):
            (_, _, _, content), *others = of_log  # the log's own row sorts before all others
            place = _place(self.seal, self.kept, content)
            scans = joined((row[2:] for row in others), partial(kept_scan, self.kept, place))
            offsets = open_offsets(place.directory, scans, Share(share, place.shares))
            yield (number, len(offsets), offsets[: self.most].tobytes())


def _place(seal: Seal, kept: KeptScans, content: bytes) -> LogPlace:
    """Return where a log is; of its remote objects each has the size that its listing said."""
    found: LogPlace = seal.unpacked(content)
    if kept.keeping.is_elsewhere:
        found = found.by_size_and_time()
    if found.directory.tier is not None:
        found.directory.tier.expect_sizes()
    return found


def kept_scan(kept: KeptScans, log: LogPlace, number: int, name: str) -> SegmentScan:
    """Read the scan of a log's segment that a task of this job kept."""
    return kept.keeping.again(name, log.directory.segments[number])


def conflict(batches: Iterable[pa.RecordBatch], seal: Seal) -> Iterator[pa.RecordBatch]:
    """Find transactions that ended differently in different partitions, one share of the producers at a time."""
    begin_task()
    yield from rows_of(_conflicts(cells(batches, "cluster", "share", "content"), seal), CONFLICTS)


def _conflicts(rows: Iterable[Row], seal: Seal) -> Iterator[Row]:
    for (cluster, _), of_share in groupby(rows, key=itemgetter(0, 1)):
        keys = Columns.concat([seal.unpacked(content) for *_, content in of_share], KEY_COLUMNS)
        for one, other in conflicts(keys.take(np.argsort(keys["log"], kind="stable"))):
            yield (cluster, seal.packed((one, other)))


# The tables of what one task judges. Rows of many partitions are put together: making a batch of Arrow costs as much as
# some hundred rows of it.


EXPLAINED: Final = "explained"  # the findings that incidents need
LOST: Final = "lost"  # the gaps that they need

_OF_FILE: Final = (-1, -1, 0)  # cluster, share and rows in a row of `JUDGED` that has a table's file
_GATHERED: Final = 1 << 14  # rows that are columns
_COLUMNS: Final[dict[str, Callable[[Iterable[LogAudit]], Iterator[Columns]]]] = {
    TRANSACTIONS.name: MANY_ROWS[TRANSACTIONS.name],
    PRODUCERS.name: MANY_ROWS[PRODUCERS.name],
    NOTABLE.name: notable_columns,
}
_TABLES: Final[dict[str, Table]] = {**TABLES, NOTABLE.name: NOTABLE, EXPLAINED: FINDINGS, LOST: GAPS}


class _Tables:
    """What a task makes of its partitions: rows of the `tables` in files, those of the `kinds` for the driver, counts.

    `codes` counts the findings; `sizes` are bytes of what else the task sends, by its kind.
    """

    def __init__(self, tables: tuple[str, ...], kinds: tuple[str, ...], files: PartFiles) -> None:
        self._tables = tables
        self._kinds = kinds
        self._files = files
        self.codes: Counter[tuple[str, Severity]] = Counter()
        self.sizes: Counter[str] = Counter()
        self._rows = TableRows(_TABLES, self._written)
        self._columns: dict[tuple[str, int], list[Columns]] = {}  # not yet in a batch, by table and cluster
        self._gathered_rows: Counter[tuple[str, int]] = Counter()

    def add(self, cluster: int, share: Share, found: Judgement) -> Iterator[Row]:
        """Add what was judged; yield rows of `JUDGED` of what is complete."""
        self.codes.update((finding.code, finding.severity) for finding in found.findings)
        for log in found.logs:
            self.codes.update((finding.code, finding.severity) for finding in log.findings)
        for name in (*self._tables, *self._kinds):
            if name in _COLUMNS:
                for columns in _COLUMNS[name](found.logs):
                    yield from self._gathered(name, cluster, columns)
            else:
                yield from self._rows.add(name, cluster, _rows_of(name, share, found))

    def _gathered(self, name: str, cluster: int, columns: Columns) -> Iterator[Row]:
        """Add rows that are columns; yield rows of `JUDGED` of what is complete."""
        key = (name, cluster)
        self._columns.setdefault(key, []).append(columns)
        self._gathered_rows[key] += len(columns)
        if self._gathered_rows[key] >= _GATHERED:
            yield from self._together(*key)

    def _together(self, name: str, cluster: int) -> Iterator[Row]:
        parts, self._gathered_rows[name, cluster] = self._columns.pop((name, cluster)), 0
        whole = Columns.chained(parts, parts[0].names)
        yield from self._written(name, cluster, whole.to_arrow(arrow_schema(_TABLES[name])))

    def rest(self) -> Iterator[Row]:
        """Yield rows of `JUDGED` of all that is left; files are complete then."""
        yield from self._rows.rest()
        for name, cluster in list(self._columns):
            yield from self._together(name, cluster)
        yield from part_rows(self._files.close(), *_OF_FILE)

    def _written(self, name: str, cluster: int, batch: pa.RecordBatch) -> Iterator[Row]:
        if name in self._tables:
            yield from part_rows(self._files.write_rows(name, batch), *_OF_FILE)
        else:
            yield (name, cluster, 0, batch.num_rows, _ipc(batch))


def _rows_of(name: str, share: Share, found: Judgement) -> Iterable[Row]:
    """Return the rows of a table or a kind; of what is about whole logs, those that are this share's."""
    if name == EXPLAINED:
        return filter(needed, _findings(found))
    if name == "findings":
        return _findings(found)
    if name == LOST:
        gaps = chain.from_iterable(gap_rows(log.partition) for log in found.logs if share.of_log)
        return filter(is_lost, gaps)
    if name == GAPS.name and not share.of_log:
        return ()  # whoever wrote in the log
    return chain.from_iterable(log_rows(log, name) for log in found.logs)


def _findings(found: Judgement) -> Iterator[Row]:
    of_logs = (row for log in found.logs for row in finding_rows(log.findings, log.node.node_id))
    return chain(finding_rows(found.findings), of_logs)


def _ipc(batch: pa.RecordBatch) -> bytes:
    """Return a batch as bytes, with only the names and types of its schema."""
    batch = batch.replace_schema_metadata(None)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue())
