"""What a remote store has beside the segments that are part of a log: copies of local ones, and side objects.

The segments that a log has there alone are checked with it. Of all other whole copies the batches and the indexes are
checked, one by one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Set
from dataclasses import replace

from kafkalog.auditing.partition import PartitionAudit, located, moving_finding
from kafkalog.auditing.side_files import epochs_of_copy
from kafkalog.auditing.verification.accounting import FileFacts, account_side_file
from kafkalog.auditing.verification.segment_check import SegmentTask, VerifyOptions, check_segment
from kafkalog.errors import UnreadableError
from kafkalog.files.directories import exists
from kafkalog.files.names import FileKind
from kafkalog.files.packed_segments import owner_of_part
from kafkalog.findings import Finding
from kafkalog.log_dirs.log_directory import PartitionDirectory, Segment
from kafkalog.log_dirs.moving import Movement
from kafkalog.log_dirs.remote_segments import RemoteSegment, Tier
from kafkalog.log_dirs.tiers import tier_again
from kafkalog.segments.file_rows import side_file_rows
from kafkalog.unread import is_not_read, not_read

__all__ = ["check_copies"]

_KINDS = {
    "index": FileKind.OFFSET_INDEX, "timeindex": FileKind.TIME_INDEX, "txnindex": FileKind.TXN_INDEX,
    "snapshot": FileKind.PRODUCER_SNAPSHOT, "leader_epoch_checkpoint": FileKind.LEADER_EPOCH_CHECKPOINT,
}  # fmt: skip
_READ_ALONE = (FileKind.TXN_INDEX, FileKind.PRODUCER_SNAPSHOT)


def check_copies(partition: PartitionAudit, options: VerifyOptions) -> Iterator[FileFacts | Finding]:
    """Yield the files of a log's remote tier that were not read with the log, and what is wrong with them."""
    directory = partition.directory
    tier = directory.tier
    if tier is None:
        return
    read = {segment.path for segment in directory.segments}
    newest = tier
    gone: set[str] = set()
    for one in tier.segments:
        items = [
            *_of_segment(directory, tier, one, read, options),
            *(located(found, directory) for found in epochs_of_copy(partition, one) if one in tier.copied),
        ]
        unread = {item.file for item in items if isinstance(item, Finding) and is_not_read(item)}
        vanished = [path for path in unread if not exists(path)]
        if vanished and newest is tier:
            newest = _again(tier)
        if vanished and not any(one.segment_id == other.segment_id for other in newest.copied):
            gone.update(map(os.path.basename, vanished))  # a broker deleted it meanwhile
        else:
            yield from items
    if gone:
        yield moving_finding(directory, Movement(frozenset(gone)), ())


def _again(tier: Tier) -> Tier:
    try:
        return tier_again(tier, [])
    except UnreadableError:
        return tier


def _of_segment(
    directory: PartitionDirectory, tier: Tier, one: RemoteSegment, read: Set[str], options: VerifyOptions
) -> Iterator[FileFacts | Finding]:  # fmt: skip
    """Yield the objects of a segment that were not read with the log; what is not a whole copy is not judged."""
    log, is_whole = one.log, one in tier.copied
    if log is not None and log.path not in read and is_whole:
        segment = Segment(log.path, one.start_offset, tier.read_size(one), is_remote=True, beside=one.side_files)
        yield from _copy(directory, one, segment, options)
    for suffix, path in one.side_files:
        if is_whole and owner_of_part(path) is not None:
            yield from _read_alone(directory, _KINDS[suffix[1:]], path)
    for other in one.objects:
        if other.type != "log" or (log is not None and log.path not in read and not is_whole):
            yield from _object(directory, other.type, other.path, options, is_whole=is_whole)


def _copy(
    directory: PartitionDirectory, one: RemoteSegment, segment: Segment, options: VerifyOptions
) -> Iterator[FileFacts | Finding]:  # fmt: skip
    """Check one copy by itself: its bytes, its batches and records, its indexes."""
    after = Segment("", one.end_offset + 1, 0)
    alone = replace(directory, segments=(segment, after), snapshots={}, left_over=(), orphans=(), files={})
    check = check_segment(SegmentTask(alone, segment), options)
    check.facts.more_follow = True
    yield check.facts
    for finding in (*check.scan.findings, *check.findings):
        yield located(finding, directory)


def _object(
    directory: PartitionDirectory, kind: str, path: str, options: VerifyOptions, *, is_whole: bool
) -> Iterator[FileFacts | Finding]:  # fmt: skip
    facts = FileFacts.of(path)
    facts.kind = _KINDS.get(kind, FileKind.UNKNOWN)
    failed = account_side_file(facts, options.hashed)
    yield facts
    if failed is not None:
        yield located(failed, directory)
    elif is_whole:
        yield from _read_alone(directory, facts.kind, path)


def _read_alone(directory: PartitionDirectory, kind: FileKind, path: str) -> Iterator[Finding]:
    """Yield what is wrong with a file that nothing else has to be read for."""
    if kind not in _READ_ALONE:
        return
    try:
        rows = list(side_file_rows(path, kind))
    except UnreadableError as error:
        rows = [not_read(path, error)]
    yield from (located(item, directory) for item in rows if isinstance(item, Finding))
