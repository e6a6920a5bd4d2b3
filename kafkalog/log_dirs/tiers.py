"""A partition's two tiers: what of its log is in the remote store, what is on this disk, and one log of both.

The states of remote segments are those of ``__remote_log_metadata``; what is in the store, its listing says. Both are
read again where they contradict each other: brokers upload and delete meanwhile.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final, NamedTuple

from kafkalog.errors import UnreadableError
from kafkalog.files.tree import DirectoryIdentity
from kafkalog.findings import Finding, Severity
from kafkalog.kafka.internal_topics import Internal
from kafkalog.kafka.remote_log_metadata import RemoteLogMetadata, SegmentStates, metadata_partition
from kafkalog.kernel import buffers
from kafkalog.log_dirs.log_directory import LogDirectory, PartitionDirectory, Segment
from kafkalog.log_dirs.remote_segments import COPIED, DELETED, DELETING, STARTED, RemoteSegment, Tier
from kafkalog.log_dirs.remote_store import LOCAL_TIERED_STORAGE, PartitionKey, Remote, Stored
from kafkalog.quantities import many, offset_range
from kafkalog.segments.internal_blocks import InternalRecords, internal_blocks
from kafkalog.segments.segment import segment_chunks
from kafkalog.settle import Reason, lowered
from kafkalog.unread import not_read

__all__ = ["TierMetadata", "join_tiers", "partitions_of", "read_remote_log_metadata", "tier_again", "with_tier"]

REMOTE_METADATA_TOPIC: Final = "__remote_log_metadata"

_SIDE: Final = ("index", "leader_epoch_checkpoint", "snapshot", "timeindex")  # what each segment has beside its log
_READINGS: Final = 3
_PAUSE_S: Final = 0.3  # before another reading
_NO_END: Final = 2**61  # offsets from here on stand for an end that nothing says
_SHOWN: Final = 3  # segment ids that a message names


# Reading: the metadata's records, and the store's listing.


def read_remote_log_metadata(logs: Iterable[Sequence[Segment]], report: list[Finding]) -> RemoteLogMetadata:
    """Read the records of logs of ``__remote_log_metadata``; what can't be read is reported."""
    found = RemoteLogMetadata()
    for segments in logs:
        for segment in segments:
            try:
                _read(segment, found)
            except UnreadableError as error:
                report.append(not_read(segment.path, error, topic=REMOTE_METADATA_TOPIC))
    return found


def _read(segment: Segment, found: RemoteLogMetadata) -> None:
    for block in internal_blocks(segment.path, Internal.REMOTE_LOG_METADATA, max_bytes=segment.size):
        if not isinstance(block, InternalRecords):
            continue  # damaged bytes are findings of the log itself
        for number, item in block.numbered():
            if not isinstance(item, Finding) and item.content is not None:
                found.apply(item.content.value, block.block.key(number))


def partitions_of(nodes: Sequence[LogDirectory]) -> dict[PartitionKey, list[tuple[LogDirectory, int]]]:
    """Return the partitions of topics that may be tiered: which nodes have them, each with its place there."""
    found: dict[PartitionKey, list[tuple[LogDirectory, int]]] = {}
    for node in nodes:
        for number, one in enumerate(node.partitions):
            if not one.suffix and one.segments and not one.topic.startswith("__"):
                found.setdefault(PartitionKey(one.topic, one.partition, one.topic_id), []).append((node, number))
    return found


class TierMetadata(NamedTuple):
    """What a cluster's logs of ``__remote_log_metadata`` say: `paths` are theirs, `findings` what can't be read."""

    said: RemoteLogMetadata
    paths: Mapping[int, str]
    findings: list[Finding]

    @classmethod
    def of(cls, nodes: Sequence[LogDirectory]) -> TierMetadata:
        """Read the longest replica of each partition of the topic."""
        logs: dict[int, PartitionDirectory] = {}
        for node in nodes:
            for directory in node.partitions:
                if directory.topic == REMOTE_METADATA_TOPIC and directory.segments and not directory.suffix:
                    known = logs.get(directory.partition)
                    if known is None or _reach(directory) > _reach(known):
                        logs[directory.partition] = directory
        report: list[Finding] = []
        said = read_remote_log_metadata([logs[number].segments for number in sorted(logs)], report)
        return cls(said, {number: logs[number].log for number in sorted(logs)}, report)

    @property
    def keys(self) -> list[PartitionKey]:
        """Return the partitions that have records."""
        return [PartitionKey(self.said.names[id_], number, id_) for id_, number in self.said.partitions]


def join_tiers(
    nodes: Sequence[LogDirectory], store: Remote, metadata: TierMetadata, stored: Sequence[PartitionKey]
) -> Iterator[LogDirectory]:
    """Join the remote segments of a cluster's partitions as the earlier part of their logs, and report on both tiers.

    The layout of the `store` was found, `stored` are the partitions that it has. Of those, and of the metadata's,
    that no directory has, the logs are yielded as those of directories of their own.
    """
    joining = _Joining(store, metadata, is_running=any(node.running for node in nodes))
    wanted = partitions_of(nodes)
    for key, places in wanted.items():
        joining.on_disk(key, places)
    left: list[Finding] = []
    for key, has_objects in _on_no_disk(wanted, metadata, stored):
        node, report = joining.on_no_disk(key, nodes[0].cluster_id if nodes else None, has_objects=has_objects)
        if node is None:
            left += report
        else:
            node.findings.extend(report)
            yield node
    if nodes:
        nodes[0].findings.extend((*metadata.findings, *left, joining.summary()))


def _on_no_disk(
    wanted: Iterable[PartitionKey], metadata: TierMetadata, stored: Sequence[PartitionKey]
) -> Iterator[tuple[PartitionKey, bool]]:
    """Yield the partitions that no directory has, and whether the store has objects of each."""
    known = {place for key in wanted for place in (_place(key), (key.topic, key.partition))}
    there = set(map(_place, stored))
    for key in dict.fromkeys((*metadata.keys, *stored)):
        place = _place(key)
        if place not in known and not key.topic.startswith("__"):
            known.add(place)
            yield key, place in there


def _place(key: PartitionKey) -> tuple[str, int]:
    return key.topic_id or key.topic, key.partition


class _Joining:
    """Joins the tiers of one partition after the other, and counts what the store has of them."""

    def __init__(self, store: Remote, metadata: TierMetadata, *, is_running: bool) -> None:
        self._store = store
        self._metadata = metadata
        self._is_running = is_running
        self._read = self._objects = self._size = 0

    def on_disk(self, key: PartitionKey, places: Sequence[tuple[LogDirectory, int]]) -> None:
        """Join a partition that directories have; what is wrong is reported to the first of them."""
        report: list[Finding] = []
        node, number = places[0]
        tier = self._tier(key, node.partitions[number], report)
        if tier is not None:
            for other, at in places:
                other.partitions[at] = with_tier(other.partitions[at], tier)
            report += tier_findings(tier, node.partitions[number])
        log = node.partitions[number].log
        node.findings.extend(one._replace(log=log, topic=key.topic, partition=key.partition) for one in report)

    def on_no_disk(
        self, key: PartitionKey, cluster_id: str | None, *, has_objects: bool
    ) -> tuple[LogDirectory | None, list[Finding]]:
        """Return what the store has of a partition as a directory of its own, None without any, and what is wrong."""
        report: list[Finding] = []
        node: LogDirectory | None = None
        tier = self._tier(key, None, report, has_objects=has_objects)
        if tier is not None:
            directory = with_tier(_alone(tier), tier)
            if tier.is_deleted:
                report += _of_deleted(tier)
            elif not any(one.objects for one in tier.segments):
                report += _of_neither(tier)
            else:
                report += tier_findings(tier, directory)
            if directory.segments:
                report.append(_is_alone(tier, directory))
                node = LogDirectory(
                    directory.log, self._store.path, cluster_id, None, clean_shutdown=False, locked=False,
                    partitions=[directory], identity=DirectoryIdentity(0, 0, "", is_marked=False),
                )  # fmt: skip
        return node, [one._replace(topic=key.topic, partition=key.partition) for one in report]

    def _tier(
        self,
        key: PartitionKey,
        directory: PartitionDirectory | None,
        report: list[Finding],
        *,
        has_objects: bool = True,
    ) -> Tier | None:
        """Read a partition's tier, again where it contradicts itself beside a broker that runs."""
        paths = self._metadata.paths
        try:
            tier = _tier(
                self._store, key, self._metadata.said, paths.keys(), tuple(paths.values()), report,
                has_objects=has_objects,
            )  # fmt: skip
            if self._is_running and has_objects and tier is not None and _is_odd(tier, directory or _alone(tier)):
                tier = tier_again(tier, report)
        except UnreadableError as error:
            message = f"the remote tier could not be listed: {error}"
            report.append(not_read(self._store.path, message))
            return None
        if tier is not None:
            self._read += 1
            self._objects += sum(len(one.objects) for one in tier.segments)
            self._size += sum(one.object_bytes for one in tier.segments)
        return tier

    def summary(self) -> Finding:
        """Say how much the store has."""
        assert self._store.layout is not None
        return Finding.of(
            "remote-store-read", self._store.path,
            f"{self._store.path} has {self._objects} objects, {self._size} bytes, of {self._read} partitions, named as"
            f" by {self._store.layout.name}",
            found=self._objects,
        )  # fmt: skip


def _alone(tier: Tier) -> PartitionDirectory:
    """Return a partition that no broker's directory has, without its segments."""
    topic, partition, topic_id = tier.key
    return PartitionDirectory(
        tier.log_name, topic, partition, "", (), {}, (), (), topic_id, (), {}, running=False, clean_shutdown=False,
        txn_indexes=frozenset(),
    )  # fmt: skip


def _of_deleted(tier: Tier) -> Iterator[Finding]:
    """Yield what is left of a partition whose topic was deleted."""
    left = [one for one in tier.segments if one.objects]
    if left:
        size = sum(one.object_bytes for one in left)
        yield Finding.of(
            "remote-object-orphan", tier.place,
            f"objects of {len(left)} segments, {size} bytes, are in the store: {REMOTE_METADATA_TOPIC} says that"
            f" {tier.key.topic}-{tier.key.partition} was deleted", found=size,
        )  # fmt: skip


def _of_neither(tier: Tier) -> Iterator[Finding]:
    """Yield that a partition's copies, and its local log, are not among the inputs."""
    if tier.copied:
        name, size = f"{tier.key.topic}-{tier.key.partition}", sum(one.size for one in tier.copied)
        first = tier.copied[0].start_offset
        found = Finding.of(
            "remote-object-missing", tier.remote.path,
            f"{REMOTE_METADATA_TOPIC} says that {len(tier.copied)} segments of {name}, offsets {first} to"
            f" {tier.highest_remote_offset}, {size} bytes, are copied; neither the store nor a log directory among the"
            " inputs has any of them: nothing of it was read",
            offset=first, last_offset=tier.highest_remote_offset,
        )  # fmt: skip
        yield lowered(found, Reason.NEITHER_TIER)


def _is_alone(tier: Tier, directory: PartitionDirectory) -> Finding:
    top = tier.highest_remote_offset
    start, end = directory.log_start_offset, f" to {top}" if top < _NO_END else " on"
    return Finding.of(
        "remote-log-alone", directory.log,
        f"no log directory among the inputs has {tier.key.topic}-{tier.key.partition}: its offsets from {start}{end}"
        " were read from the remote store; what was not copied is not here",
        offset=top + 1 if top < _NO_END else start, log=directory.log,
    )  # fmt: skip


def _reach(directory: PartitionDirectory) -> tuple[int, int]:
    return directory.segments[-1].base_offset, directory.segments[-1].size


def _is_odd(tier: Tier, directory: PartitionDirectory) -> bool:
    """Say whether metadata and store contradict each other, as they do for a moment while a broker works."""
    return any(finding.severity > Severity.NOTE for finding in tier_findings(tier, with_tier(directory, tier)))


def tier_again(tier: Tier, report: list[Finding]) -> Tier:
    """Read the metadata and the listing again, until two readings are the same or three were made.

    Raises UnreadableError if the objects can't be listed.
    """
    from kafkalog.files.directories import open_tree
    from kafkalog.files.names import FileKind, parse_name

    for _ in range(_READINGS - 1):
        time.sleep(_PAUSE_S)
        logs = []
        for path in tier.metadata_logs:
            try:
                entries = open_tree(path, deep=False).entries(path)
            except UnreadableError:
                continue
            named = [(parse_name(entry.name), entry) for entry in entries]
            segments = [
                Segment(entry.path, parsed.offset, entry.size)
                for parsed, entry in named
                if parsed.kind is FileKind.LOG and parsed.offset is not None and not parsed.removed
            ]
            logs.append(sorted(segments, key=lambda one: one.base_offset))
        known = {int(path.rpartition("-")[2]) for path in tier.metadata_logs}
        report_of: list[Finding] = []
        metadata = read_remote_log_metadata(logs, report_of)
        newer = _tier(tier.remote, tier.key, metadata, known, tier.metadata_logs, report_of)
        if newer is None or newer.segments == tier.segments:
            break
        tier = newer
        report[:] = report_of
    return tier


def _tier(
    store: Remote, key: PartitionKey, metadata: RemoteLogMetadata, given: Collection[int], paths: tuple[str, ...],
    report: list[Finding], *, has_objects: bool = True,
) -> Tier | None:  # fmt: skip
    """Make the tier of a partition; None where neither the metadata nor the store knows it.

    Raises UnreadableError if its objects can't be listed.
    """
    place = (key.topic_id or "", key.partition)
    states = metadata.partitions.get(place, {})
    stored = store.stored(key, report) if has_objects else {}
    if not states and not stored and not report:
        return None
    layout = store.layout
    assert layout is not None
    folder = layout.folder(key)
    segments = _segments(states, stored)
    found = Tier(
        key, store, f"{store.path.rstrip('/')}/{folder}".rstrip("/"), segments,
        bool(states) or _is_given(key, given), metadata.newest.get(place, ""), paths, place in metadata.deleted,
    )  # fmt: skip
    found.expect_sizes()
    return found


def _is_given(key: PartitionKey, given: Collection[int]) -> bool:
    """Say whether the partition of the metadata topic that has the records about a partition is here."""
    if not given or key.topic_id is None:
        return False
    try:
        return metadata_partition(key.topic_id, key.partition, max(given) + 1) in given
    except ValueError:
        return False


def _segments(
    states: Mapping[str, SegmentStates], stored: Mapping[tuple[str | None, int], Stored]
) -> tuple[RemoteSegment, ...]:
    """Join records and objects by segment id; by start offset where names have no id."""
    left = dict(stored)
    by_id = {name: key for key in left if (name := key[0]) is not None}
    by_start = {start: key for key in left if key[0] is None for start in (key[1],)}
    found = []
    for name, one in states.items():
        at = by_id.get(name)
        if at is None and one.state == COPIED:
            at = by_start.get(one.start_offset)
        objects = left.pop(at).objects if at is not None and at in left else ()
        start = at[1] if one.start_offset < 0 and at is not None else one.start_offset
        found.append(
            RemoteSegment(name, start, one.end_offset, one.size, tuple(one.states), objects, one.txn_index_empty)
        )
    found += [RemoteSegment(one.segment_id or "", one.start_offset, -1, -1, (), one.objects) for one in left.values()]
    found.sort(key=lambda one: (one.start_offset, one.end_offset, one.segment_id))
    return _ended(found) if not states else tuple(found)


def _ended(segments: Sequence[RemoteSegment]) -> tuple[RemoteSegment, ...]:
    """Return segments of which no record says where they end, each up to where the next one begins."""
    starts = sorted({one.start_offset for one in segments})
    after = dict(pairwise(starts))
    return tuple(replace(one, end_offset=after.get(one.start_offset, 2**62) - 1) for one in segments)


# One log of both tiers.


def with_tier(directory: PartitionDirectory, tier: Tier) -> PartitionDirectory:
    """Return a partition with its remote segments before the local ones; where both have an offset it counts once."""
    local = tuple(one for one in directory.segments if not one.is_remote)
    local_start = local[0].base_offset if local else tier.highest_remote_offset + 1
    start = tier.log_start(directory.checkpoints.get("log_start"), local_start)
    segments, snapshots, indexed = [], dict(directory.snapshots), set(directory.txn_indexes)
    for one, until in tier.chain(start, local_start):
        log = one.log
        assert log is not None  # the chain has no others
        size = tier.read_size(one)
        if until <= one.end_offset:
            size = _size_before(log.path, size, until)
        segments.append(Segment(log.path, one.start_offset, size, is_remote=True, beside=one.side_files))
        files = dict(one.side_files)
        if ".txnindex" in files:
            indexed.add(one.start_offset)
        if ".snapshot" in files and until == one.end_offset + 1:  # it was taken where the segment ends
            snapshots.setdefault(until, files[".snapshot"])
    return replace(
        directory, segments=(*segments, *local), snapshots=snapshots, txn_indexes=frozenset(indexed), tier=tier,
    )  # fmt: skip


def _size_before(path: str, size: int, offset: int) -> int:
    """Return how many bytes of a segment are before the batch that has an offset, or is after it."""
    try:
        for chunk in segment_chunks(path, max_bytes=size):
            heads = chunk.heads
            for row in range(heads.count):
                if heads.cell(buffers.BASE_OFFSET, row) >= offset:
                    return heads.cell(buffers.POSITION, row)
    except UnreadableError:
        return size  # the scan says so
    return size


# What the tiers lack, or have twice.


def tier_findings(tier: Tier, directory: PartitionDirectory) -> Iterator[Finding]:
    """Yield what the two tiers of a partition show: lost offsets, missing and left objects, copies that wait.

    The states of remote segments, and what each promises, are those of KIP-405.
    """
    local = [one for one in directory.segments if not one.is_remote]
    local_start = local[0].base_offset if local else tier.highest_remote_offset + 1
    start = tier.log_start(directory.checkpoints.get("log_start"), local_start)
    yield from _lost(tier, directory)
    yield from _without_epochs(tier, directory, start)
    for one in tier.segments:
        yield from _of_segment(tier, one, start, local_start)
    yield from _overlaps(tier)
    yield from _waiting(tier, local)
    if not tier.has_metadata:
        message = (
            f"the records of {REMOTE_METADATA_TOPIC} about {tier.key.topic}-{tier.key.partition} are not among the"
            " inputs: each object with a log is taken for a whole copy"
        )
        yield Finding.of("remote-metadata-missing", tier.place, message)


def _named(one: RemoteSegment) -> str:
    return (
        f"remote segment {one.segment_id}" if one.segment_id else f"the remote segment from offset {one.start_offset}"
    )


def _lost(tier: Tier, directory: PartitionDirectory) -> Iterator[Finding]:
    for first, last in directory.remote_holes:
        of = [one for one in tier.copied if one.log is None and one.start_offset <= last and one.end_offset >= first]
        ids = ", ".join(one.segment_id for one in of[:_SHOWN]) + (" and more" if len(of) > _SHOWN else "")
        why = (
            f"the store lacks the log of segment {ids}, which {REMOTE_METADATA_TOPIC} says is copied"
            if of
            else "no whole copy of them is in the remote store"
        )
        left = [
            one
            for one in tier.segments
            if one not in tier.copied and one.log is not None and one.start_offset <= last and first <= _end(one)
        ]
        kept = (
            "" if not left else f". Objects without a finished copy may have them: {left[0].log and left[0].log.path}"
        )
        verb = "is" if first == last else "are"
        yield Finding.of(
            "remote-offsets-lost", tier.place,
            f"{offset_range(first, last).capitalize()} {verb} neither local nor remote: {why}{kept}",
            offset=first, last_offset=last, found=last - first + 1,
        )  # fmt: skip


def _without_epochs(tier: Tier, directory: PartitionDirectory, start: int) -> Iterator[Finding]:
    """Yield that a broker finds no leader epoch for offsets of remote segments: by that it looks segments up.

    RemoteLogManager.read asks the leader epoch cache first, and deletes segments as unreferenced whose epochs it lacks.
    """
    begins = min((first for _, first in directory.leader_epochs), default=start)
    copied = [one for one in tier.copied if one.log is not None]
    hidden = [one for one in copied if one.end_offset >= start and one.start_offset < begins]
    if begins <= start or not hidden:
        return
    objects = (name for one in reversed(tier.copied) for suffix, name in one.side_files if suffix == _EPOCHS)
    kept = next(objects, None)
    path = os.path.join(directory.log, "leader-epoch-checkpoint")
    yield directory.finding(
        "remote-epochs-missing", path,
        f"leader-epoch-checkpoint begins at offset {begins}, the log at {start}: the broker has no leader epoch for"
        f" {offset_range(start, begins - 1)}, and finds none of the {many(len(hidden), 'remote segment')} there"
        f"{'' if kept is None else f'; {kept} has the epochs'}",
        offset=start, last_offset=begins - 1, needed=start, found=begins,
    )  # fmt: skip


_EPOCHS: Final = ".leader_epoch_checkpoint"


def _end(one: RemoteSegment) -> int:
    return one.end_offset if one.end_offset >= 0 else 2**62


def _of_segment(tier: Tier, one: RemoteSegment, start: int, local_start: int) -> Iterator[Finding]:
    first, last = max(one.start_offset, 0), one.end_offset if one.end_offset >= 0 else None
    offsets = f", {offset_range(one.start_offset, one.end_offset)}" if one.end_offset >= 0 else ""
    which = f"{_named(one)}{offsets}"
    if one.state == COPIED:
        yield from _of_copy(tier, one, which, start, local_start)
    elif one.states and one.state in (STARTED, DELETING):
        at_work = one.segment_id == tier.newest and not _copied_again(tier, one)
        code = "remote-copy-unfinished" if one.state == STARTED else "remote-delete-unfinished"
        what = "copy" if one.state == STARTED else "deletion"
        why = "it is under way, or its broker ended" if at_work else "a later record shows that it was given up"
        size = f"; {len(one.objects)} of its objects, {one.object_bytes} bytes, are in the store" if one.objects else ""
        found = Finding.of(
            code, tier.place, f"The {what} of {which} began and did not end: {why}{size}",
            offset=first, last_offset=last, found=one.state,
        )  # fmt: skip
        yield lowered(found, Reason.AT_WORK) if at_work else found
    elif one.objects and tier.has_metadata:
        why = (
            f"{REMOTE_METADATA_TOPIC} says that it was deleted"
            if one.states
            else f"{REMOTE_METADATA_TOPIC} has no record about it"
        )
        yield Finding.of(
            "remote-object-orphan", one.objects[0].path,
            f"{len(one.objects)} objects of {which}, {one.object_bytes} bytes, are in the store: {why}",
            offset=first, last_offset=last, found=one.object_bytes,
        )  # fmt: skip


def _copied_again(tier: Tier, one: RemoteSegment) -> bool:
    """Say whether a segment's offsets were copied under another id."""
    return any(
        other is not one and other.start_offset <= one.start_offset and one.end_offset <= other.end_offset
        for other in tier.copied
    )


def _of_copy(tier: Tier, one: RemoteSegment, which: str, start: int, local_start: int) -> Iterator[Finding]:
    first, last = one.start_offset, one.end_offset
    log = one.log
    if log is None:
        found = Finding.of(
            "remote-object-missing", tier.place,
            f"{REMOTE_METADATA_TOPIC} says that {which}, {one.size} bytes, is copied, but its log is not in the store",
            offset=first, last_offset=last,
        )  # fmt: skip
        is_needed = one.end_offset >= start and one.start_offset < local_start
        yield found if is_needed else lowered(found, Reason.HAD_ELSEWHERE)
        return
    if one.size >= 0 and log.size != one.size and not tier.layout.is_packed:
        yield Finding.of(
            "remote-object-size", log.path,
            f"The log of {which} has {log.size} bytes in the store, {REMOTE_METADATA_TOPIC} says {one.size}",
            offset=first, last_offset=last, needed=one.size, found=log.size,
        )  # fmt: skip
    types = {suffix[1:] for suffix, _ in one.side_files}
    known = {suffix[1:] for every in tier.copied for suffix, _ in every.side_files}
    is_local = tier.layout.pattern == LOCAL_TIERED_STORAGE
    missing = [kind for kind in _SIDE if kind not in types and (is_local or kind in known)]
    if tier.layout.is_packed:
        missing = [kind for kind in ("indexes", "rsm_manifest") if kind not in types]
    missing += ["txnindex"] if "txnindex" not in types and "txnindex" in known and not one.txn_index_empty else []
    if missing and one.states:
        found = Finding.of(
            "remote-object-missing", tier.place,
            f"{REMOTE_METADATA_TOPIC} says that {which} is copied, but these objects of it are not in the store:"
            f" {', '.join(missing)}", offset=first, last_offset=last,
        )  # fmt: skip
        yield lowered(found, Reason.HAD_ELSEWHERE)


def _overlaps(tier: Tier) -> Iterator[Finding]:
    order = sorted((one for one in tier.copied if one.start_offset >= 0), key=lambda one: one.start_offset)
    reach: RemoteSegment | None = None
    for one in order:
        if reach is not None and one.start_offset <= reach.end_offset:
            first, last = one.start_offset, min(one.end_offset, reach.end_offset)
            yield Finding.of(
                "remote-segments-overlap", tier.place,
                f"Remote segments {reach.segment_id} and {one.segment_id} both have {offset_range(first, last)}; each"
                " offset was read once", offset=first, last_offset=last,
            )  # fmt: skip
        if reach is None or one.end_offset > reach.end_offset:
            reach = one


def _waiting(tier: Tier, local: Sequence[Segment]) -> Iterator[Finding]:
    """Yield the closed local segments that have no whole copy yet, and how often a copy of them failed."""
    top = tier.highest_remote_offset
    if not tier.has_metadata:
        return
    waiting = [(one, after.base_offset - 1) for one, after in pairwise(local) if one.base_offset > top and one.size]
    if not waiting:
        return
    first, last = waiting[0][0].base_offset, waiting[-1][1]
    size = sum(one.size for one, _ in waiting)
    failed = [
        one
        for one in tier.segments
        if not one.was_copied and one.state in (DELETING, DELETED) and first <= one.start_offset <= last
    ]
    what = f"{many(len(waiting), 'closed local segment')} ({offset_range(first, last)}, {size} bytes)"
    if failed:
        since = min(time for one in failed for _, time in one.states[:1])
        yield Finding.of(
            "remote-copy-failing", tier.place,
            f"{what} {'is' if len(waiting) == 1 else 'are'} not in the remote store: {len(failed)} copies failed",
            offset=first, last_offset=last, found=len(failed), needed=since,
        )  # fmt: skip
    else:
        verb = "waits" if len(waiting) == 1 else "wait"
        yield Finding.of(
            "remote-copy-pending",
            tier.place,
            f"{what} {verb} for the copy",
            offset=first,
            last_offset=last,
            found=len(waiting),
        )
