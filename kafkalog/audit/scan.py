"""One pass over one segment: extents, producers, gaps and sequences, from headers and markers alone."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from kafkalog.errors import UnreadableError
from kafkalog.findings import Finding
from kafkalog.format import kernel
from kafkalog.log.chunk import Chunk, Limits
from kafkalog.log.logdir import Segment
from kafkalog.log.readers import segment_chunks
from kafkalog.txn import extents, gaps, producers, sequences
from kafkalog.txn.columns import NONE, Columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["SegmentScan", "scan_segment"]

_BATCHES: Final = 1 << 16  # how many are folded at once
_USED: Final = tuple(kernel.BATCH_COLUMNS[: kernel.SECTION_START])


@dataclass(slots=True)
class SegmentScan:
    """What one pass over a segment gives. Offsets are None where it holds no batch.

    `damaged` are ranges of bytes that no whole batch covers, each with the last offset in front of it. `newest` is the
    newest time that a client or a broker wrote, `newest_broker` the newest that a broker wrote for sure (markers,
    LogAppendTime), -1 for none.
    """

    segment: Segment
    extents: Columns
    producers: Columns
    sequences: sequences.Sequences
    gaps: Columns
    batches: int = 0
    records: int = 0
    control_records: int = 0
    first_offset: int | None = None
    last_offset: int | None = None
    first_position: int = 0
    epochs: list[tuple[int, int]] = field(default_factory=list)
    newest: int = -1
    newest_broker: int = -1
    cleaned: bool = False
    damaged: list[tuple[int, int, int | None]] = field(default_factory=list)
    zero_tail: Finding | None = None
    findings: list[Finding] = field(default_factory=list)


def scan_segment(segment: Segment, limits: Limits | None = None) -> SegmentScan:
    """Read a segment once, headers and transaction markers only."""
    scan = SegmentScan(
        segment, Columns.empty(extents.COLUMNS), Columns.empty(producers.COLUMNS), sequences.Sequences(),
        Columns.empty(gaps.COLUMNS),
    )  # fmt: skip
    parts = _Parts(scan)
    try:
        for chunk in segment_chunks(segment.path, limits=limits, max_bytes=segment.size):
            parts.add(chunk)
    except UnreadableError as error:
        scan.findings.append(Finding.of("file-unreadable", segment.path, str(error)))
        scan.damaged.append((0, segment.size, parts.last_whole))
    parts.finish()
    return scan


class _Parts:
    """Gathers batches until there are enough to fold."""

    def __init__(self, scan: SegmentScan) -> None:
        self.scan = scan
        self.waiting: list[dict[str, NDArray[np.int64]]] = []
        self.rows = 0
        self.last_whole: int | None = None  # the last offset so far
        self.extents: list[Columns] = []
        self.producers: list[Columns] = []
        self.gaps: list[Columns] = []
        capacity = 4096
        self.types, self.epochs = array("q", bytes(8 * capacity)), array("q", bytes(8 * capacity))

    def add(self, chunk: Chunk) -> None:
        heads = chunk.heads
        for finding in chunk.findings:
            if finding.code in _DAMAGE and finding.position is not None and finding.length:
                self.scan.damaged.append((finding.position, finding.length, self.last_whole))
            if finding.code == "tail-preallocated":
                self.scan.zero_tail = finding
            elif finding.code != "offset-gap":  # told by the table of gaps
                self.scan.findings.append(finding)
        if not heads.count:
            return
        wrong = kernel.markers(chunk.buf, heads.cells, heads.capacity, heads.count, self.types, self.epochs)
        chunk.open_wrappers()
        cells = np.frombuffer(heads.cells, np.int64).reshape(len(kernel.BATCH_COLUMNS), heads.capacity)
        columns = {name: cells[i, : heads.count].copy() for i, name in enumerate(_USED)}
        columns["marker_type"] = np.frombuffer(self.types, np.int64)[: heads.count].copy()
        columns["coordinator_epoch"] = np.frombuffer(self.epochs, np.int64)[: heads.count].copy()
        if wrong:
            self._markers_wrong(columns)
        whole = np.flatnonzero(columns["valid"])
        if len(whole):
            self.last_whole = int(columns["last_offset"][whole[-1]])
        self.waiting.append(columns)
        self.rows += heads.count
        if self.rows >= _BATCHES:
            self.fold()

    def _markers_wrong(self, columns: dict[str, NDArray[np.int64]]) -> None:
        for row in np.flatnonzero((columns["marker_type"] == -2) & (columns["valid"] != 0)).tolist():
            offset, position = int(columns["base_offset"][row]), int(columns["position"][row])
            self.scan.findings.append(
                Finding.of(
                    "control-record-malformed",
                    self.scan.segment.path,
                    f"the transaction marker at offset {offset} can't be read",
                    position=position,
                    length=int(columns["size"][row]),
                    offset=offset,
                )
            )

    def fold(self) -> None:
        """Fold what is waiting."""
        if not self.rows:
            return
        batches = {name: np.concatenate([part[name] for part in self.waiting]) for name in self.waiting[0]}
        self.waiting, self.rows = [], 0
        valid = batches["valid"] != 0
        if not valid.all():
            batches = {name: column[valid] for name, column in batches.items()}
            if not len(batches["valid"]):
                return
        scan, base = self.scan, self.scan.segment.base_offset
        first = np.where(batches["base_offset"] == NONE, batches["last_offset"], batches["base_offset"])
        known = batches["base_offset"] != NONE
        if not known.all():  # a wrapper that can't be opened may begin right behind the batch before it
            behind = np.append(np.int64(NONE), batches["last_offset"][:-1]) + 1
            first = np.where(known | (behind == NONE + 1), first, behind)
        self.gaps.append(gaps.gaps(first, batches["last_offset"], base, batches["position"], scan.last_offset))
        control = (batches["attributes"] & 32 != 0) & (batches["magic"] > 1)
        counts = np.where(batches["count"] == NONE, 1, batches["count"])
        scan.batches += int((~control).sum())
        scan.records += int(counts[~control].sum())
        scan.control_records += int(counts[control].sum())
        if scan.first_offset is None:
            scan.first_offset, scan.first_position = int(first[0]), int(batches["position"][0])
        scan.last_offset = int(batches["last_offset"][-1])
        self._epochs(batches["partition_leader_epoch"], first)
        scan.newest = max(scan.newest, int(batches["max_timestamp"].max()))
        broker = (batches["marker_type"] >= 0) | ((batches["attributes"] & 8 != 0) & (batches["magic"] > 0))
        if broker.any():
            scan.newest_broker = max(scan.newest_broker, int(batches["max_timestamp"][broker].max()))
        deltas = batches["last_offset"] - first + 1
        horizon = (batches["attributes"] & 64 != 0) & (batches["magic"] > 1)
        scan.cleaned = scan.cleaned or bool(((counts < deltas) & known & ~control).any() or (horizon & control).any())
        self._producers(batches, control)
        self._extents(batches, control)

    def _epochs(self, epochs: NDArray[np.int64], first: NDArray[np.int64]) -> None:
        before = self.scan.epochs[-1][0] if self.scan.epochs else None
        changes = np.flatnonzero(np.diff(epochs, prepend=epochs[0] - 1 if before is None else before))
        self.scan.epochs += [(int(epochs[i]), int(first[i])) for i in changes]

    def _producers(self, batches: dict[str, NDArray[np.int64]], control: NDArray[np.bool_]) -> None:
        of_producer = (batches["producer_id"] >= 0) & ~control & (batches["magic"] > 1)
        if of_producer.any():
            data = Columns({name: column[of_producer] for name, column in batches.items()})
            self.producers.append(producers.of_batches(data))
            self.scan.sequences.add(data)

    def _extents(self, batches: dict[str, NDArray[np.int64]], control: NDArray[np.bool_]) -> None:
        marker = batches["marker_type"] >= 0
        data = (batches["attributes"] & 16 != 0) & ~control & (batches["magic"] > 1) & (batches["producer_id"] >= 0)
        chosen = np.flatnonzero(marker | data)
        if not len(chosen):
            return
        rows = {name: column[chosen] for name, column in batches.items()}
        is_data = rows["marker_type"] < 0
        none = np.full(len(chosen), NONE, np.int64)
        base = np.full(len(chosen), self.scan.segment.base_offset, np.int64)

        def of_data(column: NDArray[np.int64]) -> NDArray[np.int64]:
            return np.where(is_data, column, none)

        def of_marker(column: NDArray[np.int64]) -> NDArray[np.int64]:
            return np.where(is_data, none, column)

        top = np.iinfo(np.int64).max
        by_client = rows["attributes"] & (8 | 64) == 0  # else the base timestamp is none of a record's
        earliest = np.where(by_client, np.minimum(rows["base_timestamp"], rows["max_timestamp"]), rows["max_timestamp"])
        self.extents.append(
            extents.collapse(
                Columns(
                    {
                        "log_id": np.zeros(len(chosen), np.int64),
                        "producer_id": rows["producer_id"],
                        "first_offset": of_data(rows["base_offset"]),
                        "last_offset": of_data(rows["last_offset"]),
                        "batches": is_data.astype(np.int64),
                        "records": np.where(is_data, rows["count"], 0),
                        "size": np.where(is_data, rows["size"], 0),
                        "min_timestamp": np.where(is_data, earliest, top),
                        "max_timestamp": of_data(rows["max_timestamp"]),
                        "first_epoch": of_data(rows["producer_epoch"]),
                        "last_epoch": of_data(rows["producer_epoch"]),
                        "first_sequence": of_data(rows["base_sequence"]),
                        "last_sequence": of_data(rows["last_sequence"]),
                        "segment": of_data(base),
                        "position": of_data(rows["position"]),
                        "marker_type": rows["marker_type"],
                        "marker_offset": of_marker(rows["base_offset"]),
                        "marker_epoch": of_marker(rows["producer_epoch"]),
                        "coordinator_epoch": of_marker(rows["coordinator_epoch"]),
                        "marker_timestamp": of_marker(rows["max_timestamp"]),
                        "marker_segment": of_marker(base),
                        "marker_position": of_marker(rows["position"]),
                    }
                )
            )
        )

    def finish(self) -> None:
        """Join the folds."""
        self.fold()
        scan = self.scan
        scan.extents = extents.collapse(Columns.concat(self.extents, extents.COLUMNS))
        scan.producers = producers.collapse(Columns.concat(self.producers, producers.COLUMNS))
        scan.gaps = Columns.concat(self.gaps, gaps.COLUMNS)


# Findings about bytes that hold no whole batch.
_DAMAGE: Final = frozenset(
    {"crc-mismatch", "batch-length-wrong", "bytes-unreadable", "bytes-zero", "batch-truncated", "batch-over-limit"}
)
