"""The leader epochs that a remote store keeps with each segment, compared with those of the batches."""

from __future__ import annotations

from collections.abc import Iterator

from kafkalog.auditing.partition import PartitionAudit, located
from kafkalog.errors import UnreadableError
from kafkalog.files.directories import exists
from kafkalog.files.opening import read_small
from kafkalog.findings import Finding
from kafkalog.kafka.checkpoint import leader_epochs
from kafkalog.log_dirs.log_directory import PartitionDirectory
from kafkalog.log_dirs.remote_segments import RemoteSegment
from kafkalog.unread import is_not_read, not_read

__all__ = ["epochs_of_copies", "epochs_of_copy", "odd_epochs"]


def odd_epochs(directory: PartitionDirectory, first: int, last: int) -> bool:
    """Say whether a copy between two offsets has other leader epochs than the log's checkpoint, or than the last copy.

    That is why to look closer, and no proof: it is known without a look at the batches.
    """
    copies = () if directory.tier is None else directory.tier.copied
    known = {row: epoch for epoch, row in directory.leader_epochs}
    for one in reversed(copies):
        path = dict(one.side_files).get(".leader_epoch_checkpoint")
        if path is None or one.start_offset > last or one.end_offset < first:
            continue
        try:
            its = {row.start_offset: row.epoch for row in leader_epochs(read_small(path)).rows}
        except UnreadableError:
            return True
        known = known or its
        if its != {start: epoch for start, epoch in known.items() if start <= one.end_offset}:
            return True
    return False


def epochs_of_copies(audit: PartitionAudit) -> Iterator[Finding]:
    """Yield where whole copies of a log's segments have the leader epochs of others; a broker may delete copies."""
    tier = audit.directory.tier
    for one in () if tier is None else tier.copied:
        for finding in epochs_of_copy(audit, one):
            if not is_not_read(finding) or exists(finding.file):
                yield located(finding, audit.directory)


def epochs_of_copy(audit: PartitionAudit, one: RemoteSegment) -> Iterator[Finding]:
    """Compare a copy's leader epochs with those of the log's batches: each that it has, from where it begins.

    RemoteLogManager copies those that begin up to the segment's end: later ones are of another segment's object.
    """
    path = dict(one.side_files).get(".leader_epoch_checkpoint")
    if path is None:
        return
    try:
        read = leader_epochs(read_small(path))
    except UnreadableError as error:
        yield not_read(path, error)
        return
    for line, text in read.wrong:
        yield Finding.of("checkpoint-malformed", path, f"line {line}: {text}")
    entries = [(row.epoch, row.start_offset) for row in read.rows]
    if found := _wrong_epoch(audit, one, entries):
        epoch, message = found
        yield Finding.of(
            "leader-epochs-mismatch", path, message, offset=one.start_offset, last_offset=one.end_offset, found=epoch
        )


def _wrong_epoch(
    audit: PartitionAudit, one: RemoteSegment, entries: list[tuple[int, int]]
) -> tuple[int, str] | None:  # fmt: skip
    """Return the first epoch of a copy that is not as in the log, and what is wrong with it."""
    for epoch, start in entries:
        if start > one.end_offset:
            return epoch, (
                f"epoch {epoch} begins at offset {start}, after the segment's end {one.end_offset}: these are the"
                " leader epochs of another segment"
            )
    runs = [(epoch, first) for epoch, first in audit.epochs if epoch >= 0 and first <= one.end_offset]
    inside = [run for run in runs if run[1] > one.start_offset]
    inside += [(epoch, one.start_offset) for epoch, first in runs if first <= one.start_offset][-1:]
    for epoch, first in inside:
        known = [start for other, start in entries if other == epoch]
        if not known or known[0] > first:
            where = f"begins at offset {known[0]}" if known else "is missing"
            return (
                epoch,
                f"batches from offset {first} on have epoch {epoch}, but it {where} in the copy's leader epochs",
            )
    return None
