"""Replicas of one partition in several brokers' directories, batch by batch.

Followers copy batches byte for byte. Replicas may legally differ in where they begin and end, and in what a cleaner
removed, which works on each replica alone. Everything else is a divergence, a hole or damage.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Final

import numpy as np

from kafkalog.auditing.partition import LostOffsets, PartitionAudit, fork_of, read_log
from kafkalog.auditing.topics import Metadata
from kafkalog.auditing.transactions import with_own_epoch
from kafkalog.errors import UnreadableError
from kafkalog.files.limits import Limits
from kafkalog.findings import Finding
from kafkalog.kernel import buffers
from kafkalog.log_dirs.log_directory import LogDirectory, PartitionDirectory
from kafkalog.quantities import many, offset_range
from kafkalog.segments.segment import possible_chunks
from kafkalog.tables.verify_tables import REPLICAS

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Comparison", "Pair", "Replica", "ReplicaBatches", "compare_replicas", "compare_two"]


# A replica's batches in the order of their offsets, some thousand at a time, and how two runs of them compare.


BASE, LAST, EPOCH, CRC, SIZE, VALID, PRODUCER, PRODUCER_EPOCH, SEQUENCE, ATTRIBUTES = range(10)

_TAKEN: Final = (
    buffers.BASE_OFFSET, buffers.LAST_OFFSET, buffers.LEADER_EPOCH, buffers.CRC, buffers.SIZE, buffers.VALID,
    buffers.PRODUCER_ID, buffers.PRODUCER_EPOCH, buffers.BASE_SEQUENCE, buffers.ATTRIBUTES,
)  # fmt: skip

_ALL: Final = slice(BASE, SIZE + 1)  # equal in two copies of one batch

_CODEC_TYPE_FLAGS: Final = 0x38  # timestamp type, transactional, control: cleaning keeps them


class ReplicaBatches:
    """The whole batches of one replica from an offset on, taken from the front."""

    def __init__(self, directory: PartitionDirectory, start: int, limits: Limits | None = None) -> None:
        self._tables = _tables(directory, start, limits)
        self.table: NDArray[np.int64] = np.empty((0, len(_TAKEN)), np.int64)
        self._fill()

    def __len__(self) -> int:
        return len(self.table)

    def __getitem__(self, column: int) -> int:
        """Return a column of the first batch."""
        return int(self.table[0, column])

    def skip(self, count: int) -> None:
        """Go past the first `count` batches."""
        self.table = self.table[count:]
        if not len(self.table):
            self._fill()

    def _fill(self) -> None:
        for table in self._tables:
            if len(table):
                self.table = table
                return

    def same(self, other: ReplicaBatches) -> int:
        """Return how many of the next batches are the same in both, byte for byte."""
        count = min(len(self), len(other))
        mine, theirs = self.table[:count], other.table[:count]
        equal = (mine[:, _ALL] == theirs[:, _ALL]).all(axis=1)
        return count if equal.all() else int(np.argmin(equal))

    def is_same_written(self, other: ReplicaBatches) -> bool:
        """Say whether the next batches were one when they were written: cleaning keeps these fields."""
        mine, theirs = self.table[0], other.table[0]
        kept = [LAST, EPOCH, PRODUCER, PRODUCER_EPOCH, SEQUENCE]
        flags = int(mine[ATTRIBUTES] ^ theirs[ATTRIBUTES]) & _CODEC_TYPE_FLAGS
        return bool((mine[kept] == theirs[kept]).all()) and not flags


def _tables(directory: PartitionDirectory, start: int, limits: Limits | None) -> Iterator[NDArray[np.int64]]:
    for segment in directory.segments:
        try:
            for chunk in possible_chunks(segment.path, limits=limits, max_bytes=segment.size):
                heads = chunk.heads
                if not heads.count:
                    continue
                if heads.cell(buffers.MAGIC, 0) < 2 or heads.cell(buffers.MAGIC, heads.count - 1) < 2:
                    chunk.open_wrappers()
                table = heads.numpy()[list(_TAKEN)].T
                yield table[(table[:, LAST] >= start) & (table[:, VALID] != 0)]
        except UnreadableError:  # it is reported when the segment is scanned
            continue


@dataclass(frozen=True)
class Replica:
    """One broker's copy of a partition."""

    node_id: str | None
    audit: PartitionAudit

    @property
    def log(self) -> str:
        return self.audit.directory.log

    @cached_property
    def unreadable(self) -> LostOffsets:
        """Return the offsets in damaged bytes."""
        return LostOffsets(self.audit.gaps.chosen(self.audit.gaps.of_cause("unreadable-bytes")))

    @property
    def newest_epoch(self) -> int:
        """Return the last leader epoch of its checkpoint, of its batches, or that it leads in."""
        return max((epoch for epoch, _ in (*self.audit.directory.leader_epochs, *self.audit.epochs)), default=-1)


@dataclass(slots=True)
class Pair:
    """Two replicas compared; see the table ``replicas`` for the words."""

    one: Replica
    other: Replica
    state: str = "identical"
    identical_up_to: int = 0
    diverged: int | None = None
    epochs: tuple[int | None, int | None] = (None, None)
    crcs: tuple[int | None, int | None] = (None, None)
    only: list[int] = field(default_factory=lambda: [0, 0])
    holes: tuple[list[tuple[int, int]], list[tuple[int, int]]] = field(default_factory=lambda: ([], []))
    damaged: list[tuple[int, int]] = field(default_factory=list)  # which of the two, and the offset
    same_batches: int = 0
    cleaned_batches: int = 0

    @property
    def favoured(self) -> Replica | None:
        """Return the replica whose leader epochs reach further, None where they reach as far."""
        mine, theirs = self.one.newest_epoch, self.other.newest_epoch
        return None if mine == theirs else self.one if mine > theirs else self.other

    @property
    def row(self) -> tuple[object, ...]:
        """Return the pair as a row of the table ``replicas``."""
        one, other = self.one.audit, self.other.audit
        favoured = self.favoured if self.diverged is not None else None
        return REPLICAS.of(
            topic=one.directory.topic,
            partition=one.directory.partition,
            state=self.state,
            log=self.one.log,
            other_log=self.other.log,
            node_id=self.one.node_id,
            other_node_id=self.other.node_id,
            log_start_offset=one.log_start_offset,
            other_log_start_offset=other.log_start_offset,
            log_end_offset=one.log_end_offset,
            other_log_end_offset=other.log_end_offset,
            identical_up_to_offset=self.identical_up_to,
            diverged_offset=self.diverged,
            leader_epoch=self.epochs[0],
            other_leader_epoch=self.epochs[1],
            crc=self.crcs[0],
            other_crc=self.crcs[1],
            favoured_log=None if favoured is None else favoured.log,
            only_offsets=self.only[0],
            other_only_offsets=self.only[1],
            same_batches=self.same_batches,
            cleaned_batches=self.cleaned_batches,
            damaged_batches=len(self.damaged),
        )


@dataclass(slots=True)
class Comparison:
    """All pairs of replicas in some directories, with the findings about them."""

    pairs: list[Pair] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)


def compare_replicas(
    nodes: Sequence[LogDirectory], limits: Limits | None = None, metadata: Mapping[str, Metadata | None] | None = None
) -> Comparison:  # fmt: skip
    """Compare the partitions that several brokers' log directories, or partitions' directories alone, have in common.

    Every two replicas of a partition are a pair. `metadata` has that of the nodes by their paths.
    """
    result = Comparison()
    same_cluster = None in {node.cluster_id for node in nodes}  # a node without an id may be of any cluster
    copies: dict[tuple[str, str, int], list[tuple[LogDirectory, PartitionDirectory]]] = {}
    for node in nodes:
        for directory in node.partitions:
            if not directory.suffix:
                cluster = "" if same_cluster else str(node.cluster_id)
                copies.setdefault((cluster, directory.topic, directory.partition), []).append((node, directory))
    for _, of_one in sorted(copies.items()):
        if len(of_one) < 2:
            continue
        replicas = [
            _replica(node, directory, limits, (metadata or {}).get(node.path)) for node, directory in of_one
        ]  # fmt: skip
        for one, other in combinations(replicas, 2):
            pair = compare_two(one, other, limits)
            result.pairs.append(pair)
            result.findings += pair_findings(pair)
    return result


def _replica(
    node: LogDirectory, directory: PartitionDirectory, limits: Limits | None, metadata: Metadata | None
) -> Replica:  # fmt: skip
    # Only gaps of unreadable bytes are used, which no policy changes.
    return Replica(node.node_id, with_own_epoch(node, read_log(directory, (), limits).partition, metadata))


def compare_two(one: Replica, other: Replica, limits: Limits | None = None) -> Pair:
    """Compare two replicas from the offset on that both have."""
    pair = Pair(one, other)
    start = max(one.audit.log_start_offset, other.audit.log_start_offset)
    pair.identical_up_to = start
    sides = (ReplicaBatches(one.audit.directory, start, limits), ReplicaBatches(other.audit.directory, start, limits))
    while len(sides[0]) and len(sides[1]) and pair.diverged is None:
        count = sides[0].same(sides[1])
        if count:
            pair.same_batches += count
            pair.identical_up_to = int(sides[0].table[count - 1, LAST]) + 1
            for side in sides:
                side.skip(count)
        elif sides[0][LAST] < sides[1][BASE]:
            _alone(pair, 0, sides[0], other)
        elif sides[1][LAST] < sides[0][BASE]:
            _alone(pair, 1, sides[1], one)
        else:
            _differ(pair, sides)
    if pair.diverged is None:
        _by_leader(pair, sides)
    _ends(pair, start)
    return pair


def _alone(pair: Pair, which: int, batches: ReplicaBatches, lacking: Replica) -> None:
    """Pass over a batch that only one replica has; `lacking` is the other."""
    first, last = batches[BASE], batches[LAST]
    if first in lacking.unreadable:
        pair.damaged.append((1 - which, first))
    elif last < lacking.audit.cleaned_to:
        pair.cleaned_batches += 1
    else:
        hole = pair.holes[which]
        if hole and hole[-1][1] == first - 1:
            hole[-1] = (hole[-1][0], last)
        else:
            hole.append((first, last))
        pair.only[which] += last - first + 1
    batches.skip(1)


def _differ(pair: Pair, sides: tuple[ReplicaBatches, ReplicaBatches]) -> None:
    """Judge two batches that are at the same offsets and are not the same."""
    one, other = sides
    cleaned_to = max(pair.one.audit.cleaned_to, pair.other.audit.cleaned_to)
    if one[BASE] == other[BASE] and one.is_same_written(other) and one[LAST] < cleaned_to:
        pair.cleaned_batches += 1
    else:
        _diverge(pair, sides)
        return
    pair.identical_up_to = one[LAST] + 1
    for side in sides:
        side.skip(1)


def _diverge(pair: Pair, sides: tuple[ReplicaBatches, ReplicaBatches]) -> None:
    one, other = sides
    pair.diverged = max(min(one[BASE], other[BASE]), pair.identical_up_to)
    pair.epochs = (one[EPOCH], other[EPOCH])
    pair.crcs = (one[CRC], other[CRC])


def _ends(pair: Pair, start: int) -> None:
    """Set the state of the pair, and count the offsets after the compared ones."""
    ends = (pair.one.audit.log_end_offset, pair.other.audit.log_end_offset)
    if pair.diverged is not None:
        pair.state = "diverged"
        pair.identical_up_to = pair.diverged
        for which in (0, 1):
            pair.only[which] += max(0, ends[which] - pair.diverged)
        return
    pair.identical_up_to = max(start, min(ends))
    if pair.holes[0] or pair.holes[1] or pair.damaged:
        pair.state = "lacking"
        pair.identical_up_to = min([hole[0][0] for hole in pair.holes if hole] + [offset for _, offset in pair.damaged])
    elif ends[0] != ends[1]:
        pair.state = "behind"
    elif pair.cleaned_batches:
        pair.state = "cleaned"
    for which in (0, 1):
        pair.only[which] += max(0, ends[which] - max(start, ends[1 - which]))


def _by_leader(pair: Pair, sides: tuple[ReplicaBatches, ReplicaBatches]) -> None:
    """Say that replicas diverge where one ends that leads and has written nothing yet: the other is not ahead of it."""
    fork = fork_of(pair.one.audit, pair.other.audit)
    if fork is not None and fork[0] == min(pair.one.audit.log_end_offset, pair.other.audit.log_end_offset):
        pair.diverged, *epochs = fork
        pair.epochs = (epochs[0], epochs[1])
        one, other = (side[CRC] if len(side) else None for side in sides)
        pair.crcs = (one, other)


def pair_findings(pair: Pair) -> Iterator[Finding]:
    """Yield what is wrong with two replicas."""
    if pair.diverged is not None:
        yield _of_divergence(pair, pair.diverged)
    replicas = (pair.one, pair.other)
    damaged = [{offset for number, offset in pair.damaged if number == which} for which in (0, 1)]
    for which in (0, 1):
        has, lacks = replicas[which], replicas[1 - which]
        if pair.holes[which]:
            first, last = pair.holes[which][0]
            count = len(pair.holes[which]) - 1
            more = f" and {many(count, 'more range')}" if count else ""
            yield _finding(
                lacks, "replica-lacks",
                f"{offset_range(first, last)}{more} {'is' if first == last and not more else 'are'} missing here,"
                f" but in {has.log}, between offsets that both replicas have",
                offset=first, last_offset=last,
            )  # fmt: skip
        hurt = sorted(damaged[which] - damaged[1 - which])
        if hurt:
            message = (
                f"the batch at offset {hurt[0]} is damaged here, and whole in {lacks.log}"
                if len(hurt) == 1
                else f"{len(hurt)} batches, the first at offset {hurt[0]}, are damaged here, and whole in {lacks.log}"
            )
            yield _finding(has, "replica-damaged", message, offset=hurt[0])


def _of_divergence(pair: Pair, offset: int) -> Finding:
    (mine, theirs), favoured = pair.epochs, pair.favoured
    word = "neither replica: they reach equally far" if favoured is None else favoured.log
    has = [
        f"leads in epoch {epoch} and has written nothing yet"
        if crc is None
        else f"has a batch of leader epoch {epoch} with CRC {crc}"
        for epoch, crc in zip(pair.epochs, pair.crcs, strict=True)
    ]
    message = (
        f"This replica and {pair.other.log} are identical up to offset {offset}, and diverge there: this one {has[0]},"
        f" the other one {has[1]}. The leader epochs favour {word}. From there on {pair.only[0]} offsets are only here,"
        f" and {pair.only[1]} only there."
    )
    code = "replicas-fork" if mine != theirs else "replicas-differ"
    finding = _finding(pair.one, code, message, offset=offset)
    return finding._replace(
        needed=mine if mine != theirs else pair.crcs[0], found=theirs if mine != theirs else pair.crcs[1]
    )


def _finding(replica: Replica, code: str, message: str, offset: int, last_offset: int | None = None) -> Finding:
    directory = replica.audit.directory
    return Finding.of(
        code, replica.log, message, offset=offset, last_offset=last_offset,
        log=directory.log, topic=directory.topic, partition=directory.partition,
    )  # fmt: skip
