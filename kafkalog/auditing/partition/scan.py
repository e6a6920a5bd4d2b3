"""One pass over one segment: transactions, producers, gaps and sequences, from headers and markers alone."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

import numpy as np

from kafkalog.auditing.partition.header_rules import check_headers
from kafkalog.auditing.partition.neighbours import BatchEnd, Neighbours
from kafkalog.errors import UnreadableError
from kafkalog.files.limits import Limits
from kafkalog.files.names import METADATA_TOPIC, OFFSETS_TOPIC, SHARE_TOPIC, STATE_TOPIC
from kafkalog.findings import Finding
from kafkalog.folds.fold import Fold, FoldedLog
from kafkalog.kafka.state_records import StateColumns
from kafkalog.kernel import buffers, headers
from kafkalog.log_dirs.log_directory import Segment
from kafkalog.segments.chunk import Chunk
from kafkalog.segments.repeated_findings import FileFindings, is_of_damage
from kafkalog.segments.segment import segment_chunks
from kafkalog.segments.state_blocks import read_state_columns
from kafkalog.severity import Severity
from kafkalog.unread import is_not_read, not_read

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["DamagedBytes", "SegmentScan", "last_before", "scan_segment"]


class DamagedBytes(NamedTuple):
    """An extent of a file's bytes that is no whole batch; `last_offset` is that of the batch before it, if any."""

    file: str
    position: int
    length: int
    last_offset: int | None


def last_before(chunk: Chunk, position: int, last_offset: int | None) -> int | None:
    """Return the last offset of the whole batch before a position in or after a chunk."""
    row = bisect_left(chunk.heads.column(buffers.POSITION), position) - 1
    while row >= 0 and not chunk.heads.cell(buffers.VALID, row):
        row -= 1
    return last_offset if row < 0 else chunk.heads.cell(buffers.LAST_OFFSET, row)


class LogName(Protocol):
    """Names the log of a segment: its directory's path, its topic and partition."""

    @property
    def log(self) -> str: ...
    @property
    def topic(self) -> str: ...
    @property
    def partition(self) -> int: ...


NO_STATES: Final = StateColumns()  # of all segments but those of the state topic
_FEW: Final = 64  # cells that Python looks through in less time than NumPy


@dataclass(slots=True)
class SegmentScan:
    """What one pass over a segment gives.

    `damaged` are the extents that no whole batch covers. `zero_tail` is the finding about zeros up to the file's end.
    `transactions` counts those with a part here, `oldest` (ms) is the first time of a producer's batch or a marker, -1
    for none. `states` are the records of a segment of the state topic. `last_position` is where the last batch begins
    that was seen, -1 without any, `end` are the last two.
    """

    segment: Segment
    folded: FoldedLog
    damaged: Sequence[DamagedBytes] = ()
    zero_tail: Finding | None = None
    findings: list[Finding] = field(default_factory=list)
    transactions: int = 0
    oldest: int = -1
    states: StateColumns = field(default_factory=lambda: NO_STATES)
    last_position: int = -1
    end: tuple[BatchEnd, ...] = ()

    def shares(self, count: int) -> Iterator[SegmentScan]:
        """Yield the scan for each of the log's shares (``shares_of``): with its transactions alone, and all else."""
        return (replace(self, folded=folded) for folded in self.folded.shares(count))


def scan_segment(
    log: LogName,
    segment: Segment,
    limits: Limits | None = None,
    chunks: Iterable[Chunk] | None = None,
    look: Callable[[Chunk], None] = lambda _: None,
) -> SegmentScan:
    """Read a segment once, headers and transaction markers only; one of the state topic with its records.

    `chunks` are the segment's own where the caller reads it, and checks their headers; `look` gets each once its base
    offsets are corrected.
    """
    fold = Fold()
    reported = _Reported(segment.path)
    types, coordinator_epochs = array("q"), array("q")
    last_position = -1
    around = Neighbours(segment.path, segment.base_offset)
    try:
        own = segment_chunks(segment.path, limits=limits, max_bytes=segment.size)
        for chunk in chunks or _checked(own, log.topic):
            reported.of_chunk(chunk, fold.last_offset)
            heads = chunk.heads
            if not heads.count:
                continue
            last_position = heads.cell(buffers.POSITION, heads.count - 1)
            for finding in around.take_chunk(chunk):
                reported.kept.add(finding)
            look(chunk)
            if len(types) < heads.capacity:
                types = array("q", bytes(8 * heads.capacity))
                coordinator_epochs = types[:]
            if headers.markers(chunk.buf, heads.cells, heads.count, types, coordinator_epochs):
                chunk.open_wrappers()
            fold.batches(heads, types, coordinator_epochs)
    except UnreadableError as error:
        reported.kept.add(not_read(segment.path, error))
        reported.damaged.append(DamagedBytes(segment.path, 0, segment.size, fold.last_offset))
    folded = fold.result()
    fold.close()
    if log.topic in _BY_BROKERS:
        folded = replace(folded, newest_broker=folded.newest)
    reported.of_markers(folded)
    scan = SegmentScan(
        segment, folded, reported.damaged, reported.zero_tail, reported.kept.all(),
        len(folded.finished) + len(folded.opened), _oldest(folded), last_position=last_position,
        end=around.end,
    )  # fmt: skip
    if log.topic == STATE_TOPIC:
        _read_states(log, scan, limits)
    return scan


def _checked(chunks: Iterable[Chunk], topic: str) -> Iterator[Chunk]:
    """Yield chunks with what is wrong with headers; of records, and what only is odd, a verification says it."""
    for chunk in chunks:
        chunk.findings += (one for one in check_headers(chunk, topic, records=True) if one.severity > Severity.NOTE)
        yield chunk


_BY_BROKERS: Final = (METADATA_TOPIC, OFFSETS_TOPIC, SHARE_TOPIC, STATE_TOPIC)  # brokers set all times in them


def _oldest(folded: FoldedLog) -> int:
    """Return the first time that a producer's batch or a marker has, -1 where there is none."""
    oldest = _least(folded.producers["first_timestamp"])
    for rows in folded.finished.blocks("marker_timestamp"):
        low = _least(rows["marker_timestamp"])
        oldest = low if oldest < 0 else min(oldest, low) if low >= 0 else oldest
    return oldest


def _least(times: NDArray[np.int64]) -> int:
    """Return the lowest time that is known, -1 for none."""
    if not len(times):
        return -1
    if len(times) < _FEW:
        return min([time for time in times.tolist() if time >= 0], default=-1)
    low = int(times.min())
    if low >= 0:
        return low
    known = times[times >= 0]
    return int(known.min()) if len(known) else -1


def _read_states(log: LogName, scan: SegmentScan, limits: Limits | None) -> None:
    """Read a coordinator's records."""
    path = scan.segment.path
    try:
        states = read_state_columns(path, log.log, limits=limits, max_bytes=scan.segment.size)
        scan.findings += states.findings
        states.findings = []
        scan.states = states
    except UnreadableError as error:
        if not any(is_not_read(finding) for finding in scan.findings):  # it vanished since the first read
            scan.findings.append(not_read(path, error))


class _Reported:
    """A scan's findings, and the bytes that they make damaged."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.damaged: list[DamagedBytes] = []
        self.zero_tail: Finding | None = None
        self.kept = FileFindings()

    def of_chunk(self, chunk: Chunk, last_offset: int | None) -> None:
        """Keep a chunk's findings, except gaps: these are rows of the table of gaps.

        `last_offset` is that of the batch before the chunk.
        """
        for finding in chunk.findings:
            if finding.code == "tail-preallocated":
                self.zero_tail = finding
                continue
            if finding.length and is_of_damage(finding):
                before = last_before(chunk, finding.position or 0, last_offset)
                self.damaged.append(DamagedBytes(self.file, finding.position or 0, finding.length, before))
            if finding.code != "offset-gap":
                self.kept.add(finding)

    def of_markers(self, folded: FoldedLog) -> None:
        """Report the markers that can't be read."""
        for offset, position, size in folded.unreadable_markers:
            message = f"the transaction marker at offset {offset} can't be read"
            self.kept.add(
                Finding.of(
                    "control-record-malformed", self.file, message, position=position, length=size, offset=offset
                )
            )
