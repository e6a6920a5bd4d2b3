"""KRaft snapshots, ``<offset>-<epoch>.checkpoint``: whole from header to footer, and of the epoch that they name."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterator
from typing import Final

from kafkalog.auditing.partition import PartitionAudit
from kafkalog.errors import UnreadableError
from kafkalog.files.directories import exists, open_tree
from kafkalog.files.names import METADATA_TOPIC, FileKind, FileName, parse_name
from kafkalog.files.opening import read_small
from kafkalog.findings import Finding, Severity
from kafkalog.kafka.control import ControlType
from kafkalog.kafka.internal_topics import Internal
from kafkalog.kernel import buffers
from kafkalog.log_dirs.log_directory import PartitionDirectory
from kafkalog.segments.internal_blocks import InternalRecords, internal_blocks
from kafkalog.segments.readers import control_records
from kafkalog.segments.segment import segment_chunks
from kafkalog.settle import Reason, lowered
from kafkalog.unread import NOT_READ

__all__ = ["bootstrap_snapshot", "head_missing", "kraft_snapshots", "snapshot_offsets"]


def kraft_snapshots(audit: PartitionAudit) -> Iterator[Finding]:
    """Yield what is wrong with the snapshots in a metadata log's directory; damaged batches have their own findings.

    A start loads the newest one: what is wrong with an older one is a note, and so is what is wrong with one of offset
    0 beside a log from 0 on, which has all that comes after the format.
    """
    directory, whole = audit.directory, list[int]()
    wrong: list[tuple[FileName, Finding]] = []
    listed = list(_listed(directory))
    for name, parsed in listed:
        path = os.path.join(directory.log, name)
        try:
            message = _wrong(path, parsed.epoch) or _unlike_log(audit, parsed.offset, parsed.epoch)
        except UnreadableError as error:
            if exists(path):  # the broker deletes old ones
                yield directory.finding(NOT_READ, path, str(error))
            continue
        if message:
            found = directory.finding("kraft-snapshot-wrong", path, message, offset=parsed.offset)
            wrong.append((parsed, found))
        elif parsed.offset is not None:
            whole.append(parsed.offset)
    for parsed, finding in wrong:
        if parsed != listed[-1][1] or parsed.offset == 0 == directory.log_start_offset:
            yield lowered(finding, Reason.NOT_LOADED)
        else:
            yield finding._replace(message=f"{finding.message}; {_instead(directory, whole)}")


def _instead(directory: PartitionDirectory, whole: list[int]) -> str:
    """Say what is left of the state without a log's newest snapshot; `whole` are the offsets of the other ones."""
    start = directory.log_start_offset
    if start == 0:
        return "the log begins at 0 and has all that it had: remove it before the start"
    older = max((one for one in whole if one >= start), default=None)
    if older is None:
        return f"the log begins at {start}, and no other snapshot has what was before: take another controller's"
    return f"the snapshot at {older} and the log, which begins at {start}, have all of it: remove it before the start"


def head_missing(directory: PartitionDirectory) -> Iterator[Finding]:
    """Yield a finding where a metadata log begins after 0 and no snapshot has the state of what was before.

    Follows KRaftControlRecordStateMachine.maybeLoadSnapshot.
    """
    first = directory.segments[0].base_offset if directory.segments else 0
    if directory.topic != METADATA_TOPIC or directory.suffix or not directory.size or directory.covered_to >= first:
        return
    if first > 0:
        has = "there is no .checkpoint"
        if directory.covered_to > 0:
            has = f"the newest .checkpoint ends at {directory.covered_to}"
        message = (
            f"the metadata log begins at offset {first}, but {has}: the topics, settings and brokers that were defined"
            f" before offset {first} are lost here"
        )
        yield directory.finding(
            "metadata-head-missing", directory.log, message, offset=0, last_offset=first - 1, needed=0, found=first
        )


def snapshot_offsets(directory: PartitionDirectory) -> set[int]:
    """Return the end offsets of the snapshots in a metadata log's directory."""
    return {parsed.offset for _, parsed in _listed(directory) if parsed.offset is not None}


def _listed(directory: PartitionDirectory) -> Iterator[tuple[str, FileName]]:
    try:
        names = sorted(entry.name for entry in open_tree(directory.log, deep=False).entries(directory.log))
    except UnreadableError:
        return
    for name in names:
        parsed = parse_name(name)
        if parsed.kind is FileKind.KRAFT_SNAPSHOT and not parsed.removed and name.endswith(".checkpoint"):
            yield name, parsed


def bootstrap_snapshot(home: str) -> Iterator[Finding]:
    """Yield what is wrong with the ``bootstrap.checkpoint`` of a log directory, if it has one.

    A start needs one record of it, so that of one whose end is missing only a note is left. A directory without the
    metadata log may have one that nobody reads.

    Follows BootstrapDirectory.readFromBinaryFile and BootstrapMetadata.fromRecords.
    """
    path = os.path.join(home, "bootstrap.checkpoint")
    if not exists(path):
        return
    try:
        message = _wrong(path, None)
        level = _has_level(path)
    except UnreadableError:  # it is reported with the other files
        return
    if not level:
        size = "it is empty" if not read_small(path) else message or "it was read to its end"
        text = f"it has no FeatureLevelRecord for metadata.version: {size}"
        yield Finding.of("bootstrap-wrong", path, text)
    elif message:
        yield lowered(Finding.of("kraft-snapshot-wrong", path, message), Reason.NOT_LOADED)


_FEATURE_LEVEL: Final = 12


def _has_level(path: str) -> bool:
    """Say whether a whole batch of a bootstrap snapshot has the record with the level of metadata.version."""
    for block in internal_blocks(path, Internal.CLUSTER_METADATA):
        for record in block.written() if isinstance(block, InternalRecords) else ():
            content = None if isinstance(record, Finding) or record.type != _FEATURE_LEVEL else record.content
            if content is not None and content.value is not None and content.value.get("name") == "metadata.version":
                return True
    return False


def _wrong(path: str, epoch: int | None) -> str:
    """Say what is wrong inside a snapshot, whose damaged batches have their own findings, too."""
    offset = 0
    epochs: set[int] = set()
    for chunk in segment_chunks(path):
        if damage := [one for one in chunk.findings if one.severity is not Severity.NOTE]:
            return f"the snapshot is damaged: {damage[0].message}"
        for row in range(chunk.heads.count):
            base = chunk.heads.cell(buffers.BASE_OFFSET, row)
            if base != offset:
                return f"a batch begins at offset {base}, not {offset}: a snapshot counts from 0 without gaps"
            offset = chunk.heads.cell(buffers.LAST_OFFSET, row) + 1
            epochs.add(chunk.heads.cell(buffers.LEADER_EPOCH, row))
    if epoch is not None and epochs - {epoch}:
        return f"the file name has epoch {epoch}, but a batch has epoch {min(epochs - {epoch})}"
    types = [control.type for _, _, control in control_records(path, on_finding=lambda _: None)]
    if not types or types[0] != ControlType.SNAPSHOT_HEADER:
        return "the snapshot does not begin with a SNAPSHOT_HEADER"
    if types[-1] != ControlType.SNAPSHOT_FOOTER:
        return "the snapshot does not end with a SNAPSHOT_FOOTER: its end is missing"
    return ""


def _unlike_log(audit: PartitionAudit, offset: int | None, epoch: int | None) -> str:
    """Say where the epoch of the offset before the snapshot's contradicts the log, which may end before it."""
    if offset is None or not audit.log_start_offset < offset <= audit.log_end_offset:
        return ""
    at = bisect_right([first for _, first in audit.epochs], offset - 1) - 1
    if at >= 0 and audit.epochs[at][0] != epoch:
        return f"the file name has epoch {epoch}, but the log has epoch {audit.epochs[at][0]} at offset {offset - 1}"
    return ""
