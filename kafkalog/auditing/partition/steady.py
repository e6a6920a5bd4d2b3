"""What may be said of a partition whose files moved during each reading: what all readings show, the rest is a note."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence

from kafkalog.errors import UnreadableError
from kafkalog.findings import Finding, Severity
from kafkalog.log.logdir import PartitionDirectory
from kafkalog.log.moving import READINGS, Movement
from kafkalog.log.storage import exists

__all__ = ["gone_finding", "moving_finding", "steady_findings", "unreadable_while_moving"]

_SHOWN = 5


def steady_findings(
    newest: Sequence[Finding], earlier: Sequence[Sequence[Finding]], directory: PartitionDirectory, moved: Movement
) -> list[Finding]:  # fmt: skip
    """Return the newest reading's findings that the `earlier` ones also have, notes, and one note about the others.

    A file that is there and could not be read did not move: that is kept, too.
    """
    if moved.is_gone:
        return [moving_finding(directory, moved, ())]
    known = [{_key(finding) for finding in findings} for findings in earlier]
    kept: list[Finding] = []
    once: list[Finding] = []
    for finding in newest:
        is_steady = finding.severity is Severity.NOTE or all(_key(finding) in keys for keys in known)
        is_steady |= finding.code == "file-unreadable" and exists(finding.file)
        (kept if is_steady else once).append(finding)
    return [*kept, moving_finding(directory, moved, once)] if once else kept


def _key(finding: Finding) -> tuple[object, ...]:
    return (finding.code, finding.file, finding.position, finding.offset, finding.last_offset, finding.producer_id)


def gone_finding(directory: PartitionDirectory, error: UnreadableError) -> Finding:
    """Report a partition that can't be listed again, though no broker deleted it: what was read may not be all."""
    name = f"{directory.topic}-{directory.partition}"
    return Finding.of(
        "file-unreadable", directory.log, f"{name} could not be listed again after it was read: {error}",
        log=directory.log, topic=directory.topic, partition=directory.partition,
    )  # fmt: skip


def moving_finding(directory: PartitionDirectory, moved: Movement, once: Sequence[Finding]) -> Finding:
    """Make the note about a partition that moved; `once` are the findings that not every reading has."""
    name = f"{directory.topic}-{directory.partition}"
    if moved.is_gone:
        message = f"{name} was deleted while it was read"
    elif not once:
        message = f"{_few(moved)} went while {name} was read; it was read again without"
    else:
        codes = ", ".join(f"{count} {code}" for code, count in sorted(Counter(f.code for f in once).items()))
        message = (
            f"files of {name} moved during each of {READINGS} readings, the last time {_few(moved)}; not every reading"
            f" shows these findings, so they are not reported: {codes}"
        )
    return Finding.of(
        "partition-moving", directory.log, message, found=len(moved.files),
        log=directory.log, topic=directory.topic, partition=directory.partition,
    )  # fmt: skip


def _few(moved: Movement) -> str:
    names = sorted(moved.files)
    return ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")


def unreadable_while_moving(directory: PartitionDirectory, movements: Sequence[Movement]) -> list[Finding]:
    """Report the closed segments that were replaced or written to during every one of all readings."""
    if len(movements) < READINGS:
        return []
    always = frozenset.intersection(*(moved.files for moved in movements))
    return [
        Finding.of(
            "file-unreadable", segment.path,
            f"{segment.path}: it was replaced or written to during each of {READINGS} readings",
        )
        for segment in directory.segments[:-1]
        if os.path.basename(segment.path) in always
    ]  # fmt: skip
