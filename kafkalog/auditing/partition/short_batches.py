"""Batches with fewer records than offsets in a log that was never cleaned: records are missing in them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

import numpy as np

from kafkalog.auditing.partition.facts import PartitionAudit
from kafkalog.errors import UnreadableError
from kafkalog.files.names import local_path
from kafkalog.findings import Finding
from kafkalog.kernel import buffers
from kafkalog.log_dirs.log_directory import PartitionDirectory
from kafkalog.segments.chunk import Chunk
from kafkalog.segments.repeated_findings import counted
from kafkalog.segments.segment import possible_chunks

__all__ = ["missing_in_batches"]

_CLEANER: Final = "cleaner-offset-checkpoint"


def missing_in_batches(audit: PartitionAudit) -> Iterator[Finding]:
    """Yield the batches that have fewer records than offsets; of most logs no batch is read again."""
    directory, segments = audit.directory, audit.directory.segments
    if not segments or not _never_cleaned(directory):
        return
    known = audit.records + audit.control_records + sum(gap.last_offset - gap.first_offset + 1 for gap in audit.gaps)
    if audit.log_end_offset - segments[0].base_offset > known:
        for segment in segments:
            with suppress(UnreadableError):  # it has a finding of its own
                chunks = possible_chunks(segment.path, max_bytes=segment.size)  # others have no room of that size
                yield from counted(finding for chunk in chunks for finding in _records_missing(chunk))


def _records_missing(chunk: Chunk) -> Iterator[Finding]:
    cells = chunk.heads.numpy()
    offsets = cells[buffers.LAST_OFFSET] - cells[buffers.BASE_OFFSET] + 1
    counts = cells[buffers.COUNT]
    short = (cells[buffers.VALID] != 0) & (cells[buffers.MAGIC] > 1) & (counts >= 0) & (counts < offsets)
    for row in np.flatnonzero(short).tolist():
        first, count = int(cells[buffers.BASE_OFFSET, row]), int(counts[row])
        yield Finding.of(
            "records-missing",
            chunk.file,
            f"the batch at offset {first} has {count} records for {int(offsets[row])} offsets, and was never cleaned",
            position=int(cells[buffers.POSITION, row]),
            length=int(cells[buffers.SIZE, row]),
            offset=first,
            needed=int(offsets[row]),
            found=count,
        )


def _never_cleaned(directory: PartitionDirectory) -> bool:
    """Say whether the cleaner has worked in this broker and never in this partition."""
    home = os.path.dirname(os.path.abspath(local_path(directory.log)))
    if "cleaner" in directory.checkpoints or not os.path.exists(os.path.join(home, _CLEANER)):
        return False
    # It writes its checkpoint last: until then the files that it has replaced tell.
    deleted = {name.removesuffix(".deleted") for name in directory.left_over if name.endswith(".log.deleted")}
    return not any(os.path.basename(segment.path) in deleted for segment in directory.segments if deleted)
