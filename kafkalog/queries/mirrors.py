"""Mirrored topics beside their sources: the same records in the same order, whatever their offsets are.

MirrorMaker, a restore and a migration write records again: at other offsets, in other batches, but into the partition
of the same number, with the same key, value, headers and timestamp. What read_committed consumers are given of both is
compared; a source's open transactions and its aborted records are in no mirror.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

import numpy as np

from kafkalog.auditing.partition import is_cleaned
from kafkalog.auditing.topics import policies
from kafkalog.columns.sorted_rows import last_of_each
from kafkalog.columns.table import Columns
from kafkalog.errors import UnsupportedError
from kafkalog.findings import Finding
from kafkalog.kafka.topic_partition import TopicPartition
from kafkalog.kernel import buffers
from kafkalog.log_dirs.clusters import open_clusters
from kafkalog.narrowing import EVERYTHING, nothing_matches
from kafkalog.quantities import many
from kafkalog.queries.alignment import DIGESTS, Aligned, Differences, aligned
from kafkalog.queries.given_file import GivenLogs
from kafkalog.queries.given_logs import given_logs
from kafkalog.queries.reading import SelectedBlock, selected_blocks
from kafkalog.segments.selection import Selection
from kafkalog.tables.verify_tables import MIRRORS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kafkalog.auditing.transactions import LogAudit
    from kafkalog.auditing.verification import Verification
    from kafkalog.files.limits import Limits
    from kafkalog.queries.given_file import GivenFile

__all__ = ["Mirroring", "compare_mirror"]

_COMMITTED: Final = Selection(data_only=True, visible_only=True)
_SYNCS: Final = "mm2-offset-syncs.*.internal"
# MirrorMaker's own topics and Kafka's: a mirror has others.
_OWN: Final = ("__*", "mm2-*", "heartbeats", "*.heartbeats", "*.checkpoints.internal")

_NO_ROWS: Final = Columns.empty(DIGESTS)


@dataclass(slots=True)
class Mirroring:
    """The rows of the table ``mirrors``, the findings about them, and inputs that could not be read."""

    rows: list[tuple[object, ...]] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    refused: list[Finding] = field(default_factory=list)

    def add_to(self, found: Verification) -> None:
        """Make it a part of a verification of the same inputs."""
        found.mirrors = self.rows
        found.refuse(self.refused)
        found.tell(self.findings)


def compare_mirror(
    paths: Sequence[str], limits: Limits, topics: Sequence[str] = (), jobs: int | None = 1
) -> Mirroring:  # fmt: skip
    """Compare each partition of the source's topics with its mirror.

    The directories of the first one's cluster are the source, those of others the mirror; of one cluster, or without
    ids, the first of two is the source. A topic's mirror has its name, or its name after an alias and a dot, as
    MirrorMaker makes it. `topics` name them, and those alone, as ``SOURCE=MIRROR``, where ``*`` stands for the same
    part of both. Raises UnsupportedError where it can't be told which is which, NothingMatchesError if no topic of the
    source is meant.
    """
    result = Mirroring()
    sides = [_Side.of(part, limits, jobs) for part in _sides(paths, topics)]
    for side in sides:
        result.refused += side.given.refused
    source, mirror = sides
    named = _mirrors(sorted({topic for topic, _ in source.logs}), {topic for topic, _ in mirror.logs}, topics)
    syncs = _offset_syncs(sides, limits)
    for topic, partition in sorted(source.logs):
        if topic in named:
            place, other = TopicPartition(topic, partition), TopicPartition(named[topic], partition)
            _compare(_Pair(source, place, mirror, other, syncs.get(place, {})), limits, result)
    return result


def _sides(paths: Sequence[str], topics: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """Return the paths of the source and of the mirror."""
    ids = [{cluster.cluster_id for cluster in open_clusters([path])[0]} for path in paths]
    others = [path for path, of_path in zip(paths, ids, strict=True) if None not in of_path and of_path != ids[0]]
    if others and None not in ids[0]:
        return [path for path in paths if path not in others], others
    if len(paths) == 2:
        return paths[:1], paths[1:]
    if len(paths) == 1 and topics:  # a topic that was restored beside the old one
        return paths, paths
    raise UnsupportedError(
        f"which of {len(paths)} inputs are the source can't be told: they are not of two clusters; give two directories"
    )


@dataclass(frozen=True, slots=True)
class _Side:
    """What was given of the source or of the mirror."""

    given: GivenLogs
    logs: dict[TopicPartition, LogAudit]
    files: dict[TopicPartition, list[GivenFile]]
    compacted: frozenset[str]

    @classmethod
    def of(cls, paths: Sequence[str], limits: Limits, jobs: int | None) -> _Side:
        given = given_logs(paths, EVERYTHING, _COMMITTED, limits, with_fates=True, jobs=jobs)
        logs: dict[str, LogAudit] = {}
        compacted = set[str]()
        for cluster in given.audit.clusters if given.audit is not None else ():
            for log in cluster.logs:
                directory = log.partition.directory
                logs[directory.log] = log
                known = policies(cluster.metadata, directory.topic)
                if is_cleaned(directory.topic, log.partition.cleaned_to, known):
                    compacted.add(directory.topic)
        files: dict[TopicPartition, list[GivenFile]] = {}
        of_place: dict[TopicPartition, LogAudit] = {}
        for file in given.files:
            fates = file.fates
            if fates is not None and fates.topic is not None and fates.partition is not None and fates.log in logs:
                place = TopicPartition(fates.topic, fates.partition)
                files.setdefault(place, []).append(file)
                of_place[place] = logs[fates.log]
        return cls(given, of_place, files, frozenset(compacted))


def _mirrors(topics: Sequence[str], others: set[str], named: Sequence[str]) -> dict[str, str]:
    """Return the name of each topic's mirror; a topic that is asked for has one, whether it is there or not."""
    found: dict[str, str] = {}
    for rule in named:
        before, sign, after = rule.partition("=")
        if not sign or not before or not after or before.count("*") != after.count("*") or before.count("*") > 1:
            raise UnsupportedError(f"--topics {rule}: not SOURCE=MIRROR, with one * in both or in none")
        head, _, tail = before.partition("*")
        for topic in topics:
            if fnmatchcase(topic, before) and topic not in found:
                found[topic] = after.replace("*", topic[len(head) : len(topic) - len(tail)])
    if named:
        if not found:
            raise nothing_matches("topic", tuple(rule.partition("=")[0] for rule in named), topics)
        return found
    for topic in topics:
        if any(fnmatchcase(topic, pattern) for pattern in _OWN):
            continue
        candidates = [other for other in others if other.endswith(f".{topic}")]
        found[topic] = topic if topic in others or len(candidates) != 1 else candidates[0]
    return found


def _offset_syncs(sides: Sequence[_Side], limits: Limits) -> dict[TopicPartition, dict[int, int]]:
    """Return the offsets that MirrorMaker says are of one record (OffsetSync), by the source's topic and partition."""
    found: dict[TopicPartition, dict[int, int]] = {}
    files = [
        file for side in sides for (topic, _), of in side.files.items() if fnmatchcase(topic, _SYNCS) for file in of
    ]
    for file in {file.path: file for file in files}.values():
        for item in selected_blocks(file, _COMMITTED, limits):
            if isinstance(item, Finding):
                continue
            for row in item.rows():
                key, value = item.block.key(row) or b"", item.block.value(row) or b""
                size = int.from_bytes(key[:2], "big")
                if len(key) == size + 6 and len(value) == 16:
                    topic, partition = key[2 : 2 + size].decode(errors="replace"), key[-4:]
                    place = TopicPartition(topic, int.from_bytes(partition, "big", signed=True))
                    upstream, downstream = struct.unpack(">qq", value)
                    found.setdefault(place, {})[upstream] = downstream
    return found


class _Records:
    """What consumers are given of a partition, as `DIGESTS`; remembers what compaction may remove of it.

    Digests have a key of this run's own, so that nobody can choose records of the same digest.
    """

    _SECRET: Final = os.urandom(16)

    def __init__(self, side: _Side, place: TopicPartition, limits: Limits, *, compacted: bool) -> None:
        self.count = 0
        self.compacted = compacted
        self._files = side.files.get(place, ())
        self._limits = limits
        self._keys: list[Columns] = []
        self._tombstones: list[int] = []

    def __iter__(self) -> Iterator[Columns]:
        for file in self._files:
            for item in selected_blocks(file, _COMMITTED, self._limits):
                if isinstance(item, Finding):  # the verification reports it
                    continue
                rows = Columns.of_rows([self._row(item, row) for row in item.rows()], DIGESTS)
                self.count += len(rows)
                if self.compacted:
                    self._keys.append(rows)
                yield rows

    def _row(self, item: SelectedBlock, row: int) -> tuple[int, int, int, int]:
        block, cell = item.block, item.block.recs.cell
        key, value, headers = block.key(row), block.value(row), block.headers(row)
        offset = cell(buffers.OFFSET, row)
        if self.compacted and value is None:
            self._tombstones.append(offset)
        whole = blake2b(
            repr((len(key or b""), key is None, value is None, headers)).encode(), digest_size=8, key=self._SECRET
        )
        whole.update(key or b"")
        whole.update(value or b"")
        of_key = blake2b(b"0" if key is None else b"1" + key, digest_size=8, key=self._SECRET)
        digest, key_digest = (int.from_bytes(one.digest(), "big", signed=True) for one in (whole, of_key))
        return offset, digest, key_digest, cell(buffers.TIMESTAMP, row)

    def may_be_cleaned(self, rows: Columns) -> NDArray[np.bool_]:
        """Say of which rows a cleaner may remove the record: the key comes again later, or it is a tombstone."""
        if not self.compacted or not len(rows):
            return np.zeros(len(rows), np.bool_)
        everything = Columns.concat(self._keys, DIGESTS)
        keys, last = last_of_each(everything["key"])
        comes_again = everything["offset"][last[np.searchsorted(keys, rows["key"])]] > rows["offset"]
        found: NDArray[np.bool_] = comes_again | np.isin(rows["offset"], self._tombstones)
        return found


@dataclass(frozen=True, slots=True)
class _Pair:
    """A partition of the source and its mirror; `syncs` maps offsets of the first to those of the second."""

    source: _Side
    place: TopicPartition
    mirror: _Side
    other: TopicPartition
    syncs: Mapping[int, int]


def _compare(pair: _Pair, limits: Limits, result: Mirroring) -> None:
    """Compare one partition."""
    source, mirror = pair.source.logs[pair.place].partition, None
    row: dict[str, object] = dict.fromkeys(MIRRORS.names)
    row |= {
        **pair.place._asdict(), "mirror_topic": pair.other.topic,
        "log": source.directory.log, "log_start_offset": source.log_start_offset,
        "last_stable_offset": source.last_stable_offset,
    }  # fmt: skip
    if pair.other not in pair.mirror.logs:
        message = f"{pair.place} has no mirror {pair.other} among the inputs"
        result.findings.append(_finding(pair, "mirror-absent", message))
        result.rows.append(MIRRORS.of(**row | {"state": "absent"}))
        return
    mirror = pair.mirror.logs[pair.other].partition
    sides = (pair.source, pair.place), (pair.mirror, pair.other)
    compacted = any(place[0] in side.compacted for side, place in sides)
    records = [_Records(side, place, limits, compacted=compacted) for side, place in sides]
    seen = _Seen(pair.syncs)
    found = aligned(iter(records[0]), iter(records[1]), seen.add)
    told = _InWords.of(found, records, (source.log_start_offset, mirror.log_start_offset))
    result.findings += told.findings(pair)
    if seen.wrong:
        upstream, expected, downstream = seen.wrong[0]
        message = (
            f"{many(len(seen.wrong), 'offset sync', grouped=True)} of MirrorMaker name another record: the first says"
            f" that source offset {upstream} is mirror offset {downstream}, but the same record is at {expected}"
        )
        result.findings.append(_finding(pair, "mirror-sync-wrong", message, upstream))
    row |= {
        "state": told.state, "mirror_log": mirror.directory.log, "mirror_log_start_offset": mirror.log_start_offset,
        "mirror_last_stable_offset": mirror.last_stable_offset,
        "records": records[0].count, "mirror_records": records[1].count, "same_records": found.same,
        "missing_records": len(told.missing) + found.uncompared[0],
        "extra_records": len(told.extra) + found.uncompared[1],
        "changed_records": len(found.changed.one), "reordered_records": len(found.moved.one),
        "cleaned_records": told.cleaned,
        "before_records": len(told.before), "after_records": len(told.after), "other_times": seen.other_times,
        "first_difference_offset": told.first(0), "mirror_first_difference_offset": told.first(1),
        "offset_syncs": seen.syncs, "wrong_offset_syncs": len(seen.wrong),
    }  # fmt: skip
    result.rows.append(MIRRORS.of(**row))


class _Seen:
    """Looks at the records that are the same: their times, and the offset syncs about them."""

    def __init__(self, syncs: Mapping[int, int]) -> None:
        self.other_times = self.syncs = 0
        self.wrong: list[tuple[int, int, int]] = []
        self._syncs = syncs
        self._upstream = np.array(sorted(syncs), np.int64)

    def add(self, same: Aligned) -> None:
        self.other_times += int((same.one["timestamp"] != same.other["timestamp"]).sum())
        for at in np.flatnonzero(np.isin(same.one["offset"], self._upstream)).tolist():
            upstream, downstream = int(same.one["offset"][at]), int(same.other["offset"][at])
            self.syncs += 1
            if self._syncs[upstream] != downstream:
                self.wrong.append((upstream, downstream, self._syncs[upstream]))


@dataclass(frozen=True, slots=True)
class _InWords:
    """How a partition and its mirror differ, in the words of the table."""

    found: Differences
    missing: Columns
    extra: Columns
    before: Columns
    after: Columns
    cleaned: int

    @classmethod
    def of(cls, found: Differences, records: Sequence[_Records], starts: tuple[int, int]) -> _InWords:
        """Tell what is legal from what is not: a mirror may begin later, be behind, or have been cleaned.

        `starts` are the log start offsets of both.
        """
        source, mirror = records
        late = (found.before[0], _NO_ROWS) if starts[1] > 0 else (_NO_ROWS, found.before[0])
        before, missing = late[0], late[1] + found.one
        extra = (_NO_ROWS if starts[0] > 0 else found.before[1]) + found.other + found.after[1]
        parts = [(of, rows, of.may_be_cleaned(rows)) for of, rows in (
            (source, missing), (mirror, extra), (source, before), (source, found.after[0])
        )]  # fmt: skip
        missing, extra, before, after = (rows.take(~cleaned) for _, rows, cleaned in parts)
        return cls(found, missing, extra, before, after, sum(int(cleaned.sum()) for _, _, cleaned in parts))

    @property
    def state(self) -> str:
        parts = (self.missing, self.extra, self.found.changed.one, self.found.moved.one)
        if any(map(len, parts)) or any(self.found.uncompared):
            return "differs"
        if len(self.before) or len(self.after):
            return "partial"
        return "cleaned" if self.cleaned else "same"

    def first(self, side: int) -> int | None:
        """Return the first offset of the source (0) or of the mirror (1) with something wrong."""
        both = (self.found.changed, self.found.moved)
        rows = [(pair.one, pair.other)[side] for pair in both] + [(self.missing, self.extra)[side]]
        return min((int(one["offset"].min()) for one in rows if len(one)), default=None)

    def findings(self, pair: _Pair) -> Iterator[Finding]:
        """Yield a finding for each way in which they differ."""
        topic, mirror = pair.place, pair.other
        if count := len(self.missing) + self.found.uncompared[0]:
            message = f"{many(count, 'committed record', grouped=True)} of {topic} {_are(count)} missing in {mirror}"
            yield _finding(pair, "mirror-lacks", f"{message}{_at(self.missing)}", *_ends(self.missing))
        if count := len(self.extra) + self.found.uncompared[1]:
            message = (
                f"{many(count, 'committed record', grouped=True)} of {mirror} {_are(count)} not in {topic}, or there"
                " more often"
            )
            yield _finding(pair, "mirror-adds", f"{message}{_at(self.extra, 'mirror offset')}")
        changed, moved = self.found.changed, self.found.moved
        if count := len(changed.one):
            have = "has" if count == 1 else "have"
            message = f"{many(count, 'record', grouped=True)} of {topic} {have} other content in {mirror}"
            yield _finding(pair, "mirror-changed", f"{message}{_first_of(changed)}", *_ends(changed.one))
        if count := len(moved.one):
            message = f"{many(count, 'record', grouped=True)} of {topic} {_are(count)} in another order in {mirror}"
            yield _finding(pair, "mirror-reordered", f"{message}{_first_of(moved)}", *_ends(moved.one))
        for rows, what in ((self.before, "begins after"), (self.after, "ends before")):
            if len(rows):
                message = f"{mirror} {what} {many(len(rows), 'committed record', grouped=True)} of {topic}{_at(rows)}"
                yield _finding(pair, "mirror-partial", message, *_ends(rows))


def _ends(rows: Columns) -> tuple[int | None, int | None]:
    return (int(rows["offset"].min()), int(rows["offset"].max())) if len(rows) else (None, None)


def _at(rows: Columns, what: str = "offset") -> str:
    if not len(rows):
        return ""
    first, last = _ends(rows)
    return f": {what} {first}" if first == last else f": the first is at {what} {first}, the last at {last}"


def _first_of(pairs: Aligned) -> str:
    return f": the first is at offset {pairs.one['offset'][0]}, in the mirror at {pairs.other['offset'][0]}"


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _finding(pair: _Pair, code: str, message: str, offset: int | None = None, last: int | None = None) -> Finding:
    log = pair.source.logs[pair.place].partition.directory.log
    return Finding.of(
        code,
        log,
        message,
        offset=offset,
        log=log,
        **pair.place._asdict(),
        last_offset=last,
    )
