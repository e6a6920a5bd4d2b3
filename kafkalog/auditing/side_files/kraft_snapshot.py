"""KRaft snapshots, ``<offset>-<epoch>.checkpoint``: whole from header to footer, and of the epoch that they name."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterator

from kafkalog.auditing.partition import PartitionAudit
from kafkalog.errors import UnreadableError
from kafkalog.files.directories import exists, open_tree
from kafkalog.files.names import FileKind, FileName, parse_name
from kafkalog.findings import Finding
from kafkalog.kafka.control import ControlType
from kafkalog.kernel import buffers
from kafkalog.log_dirs.log_directory import PartitionDirectory
from kafkalog.segments.readers import control_records
from kafkalog.segments.segment import segment_chunks
from kafkalog.unread import NOT_READ

__all__ = ["bootstrap_snapshot", "kraft_snapshots", "snapshot_offsets"]


def kraft_snapshots(audit: PartitionAudit) -> Iterator[Finding]:
    """Yield what is wrong with the snapshots in a metadata log's directory; damaged batches have their own findings."""
    directory = audit.directory
    for name, parsed in _listed(directory):
        path = os.path.join(directory.log, name)
        try:
            message = _wrong(path, parsed.epoch) or _unlike_log(audit, parsed.offset, parsed.epoch)
        except UnreadableError as error:
            if exists(path):  # the broker deletes old ones
                yield directory.finding(NOT_READ, path, str(error))
            continue
        if message:
            yield directory.finding("kraft-snapshot-wrong", path, message, offset=parsed.offset)


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
    """Yield what is wrong with the ``bootstrap.checkpoint`` of a log directory, if it has one."""
    path = os.path.join(home, "bootstrap.checkpoint")
    if not exists(path):
        return
    try:
        message = _wrong(path, None)
    except UnreadableError:  # it is reported with the other files
        return
    if message:
        yield Finding.of("kraft-snapshot-wrong", path, message)


def _wrong(path: str, epoch: int | None) -> str:
    """Say what is wrong inside a snapshot; nothing where its batches are damaged, which have their own findings."""
    offset = 0
    epochs: set[int] = set()
    for chunk in segment_chunks(path):
        if chunk.findings:
            return ""
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
        return "it does not begin with a SNAPSHOT_HEADER"
    if types[-1] != ControlType.SNAPSHOT_FOOTER:
        return "it does not end with a SNAPSHOT_FOOTER: its end is missing"
    return ""


def _unlike_log(audit: PartitionAudit, offset: int | None, epoch: int | None) -> str:
    """Say where the epoch of the offset before the snapshot's contradicts the log, which may end before it."""
    if offset is None or not audit.log_start_offset < offset <= audit.log_end_offset:
        return ""
    at = bisect_right([first for _, first in audit.epochs], offset - 1) - 1
    if at >= 0 and audit.epochs[at][0] != epoch:
        return f"the file name has epoch {epoch}, but the log has epoch {audit.epochs[at][0]} at offset {offset - 1}"
    return ""
