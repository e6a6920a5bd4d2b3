"""Every file's bytes, each counted once: good, damaged, preallocated or trailing."""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

from kafkalog.errors import UnreadableError
from kafkalog.few_of_many import IN_A_FILE
from kafkalog.files.hashing import HashedSource
from kafkalog.files.names import FileKind, local_path, parse_name
from kafkalog.files.opening import MOST_OF_SIDE_FILE, FileSource, SizedSource, open_source
from kafkalog.findings import Bytes, Finding
from kafkalog.kafka.batch import CellTable
from kafkalog.kafka.checkpoint import leader_epochs, partition_metadata, partition_offsets, properties, quorum_state
from kafkalog.kafka.index import aborted_transactions, offset_entries, time_entries
from kafkalog.kafka.layout import PRODUCER_SNAPSHOT, PRODUCER_STATE_ENTRY
from kafkalog.kafka.snapshot import producer_snapshot
from kafkalog.kernel import buffers, headers
from kafkalog.segments.chunk import Chunk
from kafkalog.segments.repeated_findings import DamagedPlaces, is_of_damage
from kafkalog.tables.verify_tables import EXTENTS, FILES
from kafkalog.unread import not_read

__all__ = ["FileFacts", "Survey", "account_side_file", "open_file"]


# One segment's headers, looked at once by the kernel for all that a verification asks of them.


class Survey:
    """Sums of each chunk's whole batches: call `chunk` for each chunk in order, and `done` when it was looked at.

    `known` rows before the chunk exist, at most two; `base_offset` is the lowest offset that the segment may have.
    """

    __slots__ = ("_before", "found", "known")

    def __init__(self, base_offset: int = 0) -> None:
        self._before = CellTable(buffers.NEIGHBOUR_COLUMNS, 2)
        for column, cell in (
            (buffers.BEFORE_BASE_OFFSET, buffers.NONE), (buffers.BEFORE_LAST_OFFSET, base_offset - 1),
            (buffers.BEFORE_LEADER_EPOCH, buffers.NONE), (buffers.BEFORE_VALID, 1),
        ):  # fmt: skip
            self._before.set(column, 1, cell)
        self.known = 1
        self.found = array("q", bytes(8 * buffers.SUM_CELLS))

    def take_chunk(self, chunk: Chunk) -> None:
        """Take in the next batches."""
        heads = chunk.heads
        headers.sums(heads.cells, heads.count, self._before.cells, self.known, self.found)

    def done(self, chunk: Chunk) -> None:
        """Keep the chunk's last rows for the next one."""
        heads = chunk.heads
        headers.last_two(heads.cells, heads.count, self._before.cells)
        self.known = min(2, self.known + heads.count)

    @property
    def sums(self) -> array[int]:
        """Return how many whole batches the chunk has, their records and bytes, the rows of the first and the last."""
        return self.found[: buffers.SUM_SHORT]

    @property
    def fingerprint(self) -> int:
        """Return what stands for the CRCs of all batches so far, in their order."""
        return self.found[buffers.SUM_CRCS]

    @property
    def is_plain(self) -> bool:
        """Say whether nothing can contradict the chunk's batches: each continues the one before it."""
        return bool(self.found[buffers.SUM_PLAIN])


@dataclass(slots=True)
class FileFacts:
    """A file's row of the table ``files``; sizes are in bytes. See there.

    `more_follow` says that it is a segment that is not its partition's last: zeros at its end are damage. `extents` are
    those of its damage, by the findings' codes.
    """

    file: str
    kind: FileKind
    removed: str = ""
    size: int = 0
    good: int = 0
    damaged: int = 0
    preallocated: int = 0
    trailing: int = 0
    state: str = "whole"
    sha256: str | None = None
    batches: int | None = None
    records: int | None = None
    first_offset: int | None = None
    last_offset: int | None = None
    log: str | None = None
    topic: str | None = None
    partition: int | None = None
    input: str = ""
    more_follow: bool = False
    extents: dict[str, DamagedPlaces] = field(default_factory=dict)

    @classmethod
    def of(cls, file: str) -> FileFacts:
        """Begin with the kind that the file's name says."""
        name = parse_name(os.path.basename(file))
        return cls(file, name.kind, name.removed)

    @property
    def name(self) -> str:
        """Return the path below the argument that the file was found under."""
        return os.path.relpath(self.file, self.input) if self.file != self.input else os.path.basename(self.file)

    def row(self) -> tuple[Any, ...]:
        """Make it a row of the table ``files``."""
        return FILES.of(
            file=self.file,
            input=self.input,
            name=self.name,
            log=self.log,
            topic=self.topic,
            partition=self.partition,
            kind=self.kind.name.lower(),
            removed=self.removed or None,
            size_bytes=self.size,
            good_bytes=self.good,
            damaged_bytes=self.damaged,
            preallocated_bytes=self.preallocated,
            trailing_bytes=self.trailing,
            state=self.state,
            sha256=self.sha256,
            batches=self.batches,
            records=self.records,
            first_offset=self.first_offset,
            last_offset=self.last_offset,
        )

    def extent_rows(self) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of the table ``extents``: the places of damage that one finding counts."""
        for code, extents in self.extents.items():
            if len(extents) > IN_A_FILE:
                for position, length in extents:
                    yield EXTENTS.of(
                        file=self.file,
                        log=self.log,
                        topic=self.topic,
                        partition=self.partition,
                        code=code,
                        position=position,
                        length=length,
                    )

    def count_chunk(self, chunk: Chunk, survey: Survey) -> None:
        """Count a segment's next batches, and the bytes that are no batch."""
        heads = chunk.heads
        batches, records, size, first, last = survey.sums
        self.batches = (self.batches or 0) + batches
        self.records = (self.records or 0) + records
        self.good += size
        if batches:
            if self.first_offset is None:
                base = heads.cell(buffers.BASE_OFFSET, first)
                self.first_offset = heads.cell(buffers.LAST_OFFSET, first) if base == buffers.NONE else base
            self.last_offset = heads.cell(buffers.LAST_OFFSET, last)
        for finding in chunk.findings:
            if is_of_damage(finding):
                self.extents.setdefault(finding.code, DamagedPlaces(finding)).add(finding)
            length = finding.length or 0
            is_zeros = finding.code == "tail-preallocated"
            if finding.bytes is Bytes.LOST or (is_zeros and self.more_follow):
                self.damaged += length
            elif is_zeros:
                self.preallocated += length
            elif finding.bytes is Bytes.SUSPECT:
                self.trailing += length

    def end(self, source: SizedSource | HashedSource) -> None:
        """Record the state of the file after the read, and its checksum if it was asked for."""
        opened = source.source if isinstance(source, HashedSource) else source
        self.state = opened.state() if isinstance(opened, FileSource) else "whole"
        if self.state == "whole" and opened.is_cut:  # since it was listed
            self.state = "grew"
        if isinstance(source, HashedSource):
            self.sha256 = source.hexdigest()

    def fail(self) -> None:
        """Record that the file could not be opened, or not be read to its end."""
        self.state = "unreadable"
        if not self.size:
            try:
                self.size = os.lstat(local_path(self.file)).st_size
            except (OSError, ValueError):
                self.size = 0
        self.rest_is_damaged()

    def rest_is_damaged(self) -> None:
        """Count the bytes that are not accounted for as damaged: they could not be read, or are gone."""
        self.damaged += self.size - self.good - self.damaged - self.preallocated - self.trailing


def open_file(file: str, hashed: str | None, max_bytes: int | None = None) -> SizedSource | HashedSource:
    """Open a file for one read, which also hashes it if `hashed` names a checksum; `max_bytes` makes it end there.

    Raises UnreadableError where it can't be opened.
    """
    source = open_source(file, max_bytes=max_bytes)
    return source if hashed is None else HashedSource(source, hashed)


def account_side_file(facts: FileFacts, hashed: str | None) -> Finding | None:
    """Count the bytes of a file that is no segment; return a finding where it could not be read."""
    try:
        with closing(open_file(facts.file, hashed)) as source:
            facts.size = source.size
            if facts.kind is not FileKind.UNKNOWN:
                _split(facts, source.read_bytes(0, MOST_OF_SIDE_FILE))
            facts.end(source)
    except UnreadableError as error:
        facts.fail()
        return not_read(facts.file, error)
    facts.trailing += facts.size - facts.good - facts.damaged - facts.preallocated - facts.trailing
    return None


def _split(facts: FileFacts, data: bytes) -> None:
    """Count entries, zeros and the rest of a side file."""
    kind = facts.kind
    if kind in (FileKind.OFFSET_INDEX, FileKind.TIME_INDEX, FileKind.TXN_INDEX):
        if kind is FileKind.TXN_INDEX:
            rows, _, zeros, rest = aborted_transactions(data)
            count = len(rows)
        elif kind is FileKind.OFFSET_INDEX:
            entries, _, zeros, rest = offset_entries(data, 0)
            count = len(entries)
        else:
            times, _, zeros, rest = time_entries(data, 0)
            count = len(times)
        facts.records = count
        facts.preallocated = zeros
        facts.good = len(data) - zeros - rest
    elif kind is FileKind.PRODUCER_SNAPSHOT:
        snapshot = producer_snapshot(data)
        facts.records = len(snapshot.entries)
        whole = PRODUCER_SNAPSHOT.size + len(snapshot.entries) * PRODUCER_STATE_ENTRY.size
        facts.good = 0 if snapshot.wrong else min(whole, len(data))
        facts.damaged = len(data) if snapshot.wrong else 0
    else:
        _split_text(facts, data)


def _split_text(facts: FileFacts, data: bytes) -> None:
    """Count the lines of a text file, those that break its format as damaged."""
    if facts.kind in (FileKind.OFFSET_CHECKPOINT, FileKind.LEADER_EPOCH_CHECKPOINT):
        read = leader_epochs if facts.kind is FileKind.LEADER_EPOCH_CHECKPOINT else partition_offsets
        checkpoint = read(data)
        wrong, facts.records = checkpoint.wrong, len(checkpoint.rows)
    else:
        of_kind = {FileKind.QUORUM_STATE: quorum_state, FileKind.PARTITION_METADATA: partition_metadata}
        found = of_kind.get(facts.kind, properties)(data)
        wrong, facts.records = found.wrong, len(found.values)
    if wrong:
        lines = [data] if facts.kind is FileKind.QUORUM_STATE else BytesIO(data).readlines()
        bad = {number for number, _ in wrong}
        facts.damaged = sum(len(line) for number, line in enumerate(lines, start=1) if number in bad)
    facts.good = len(data) - facts.damaged
