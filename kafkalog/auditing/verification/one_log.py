"""One log verified as of one moment: its segments checked, joined and compared with its other files.

Where files of the directory moved meanwhile it is read again, as in an audit.
"""

from __future__ import annotations

import os
import time
from dataclasses import replace
from itertools import chain

from kafkalog.auditing.partition import (
    gone_finding,
    join,
    located,
    log_findings,
    marker_findings,
    steady_findings,
    unreadable_while_moving,
    with_note,
)
from kafkalog.auditing.side_files import compare_partition
from kafkalog.auditing.topics import Metadata, policies
from kafkalog.auditing.verification.result import LogFacts
from kafkalog.auditing.verification.segment_check import SegmentCheck, VerifyOptions, check_segment
from kafkalog.auditing.verification.segment_tasks import segment_tasks
from kafkalog.errors import UnreadableError
from kafkalog.files.names import is_remote
from kafkalog.log_dirs.log_directory import LogDirectory, PartitionDirectory, Segment
from kafkalog.log_dirs.moving import (
    PAUSES,
    READINGS,
    Movement,
    is_same_file,
    is_unsettled,
    list_again,
    movement,
    stays,
    with_gone,
)
from kafkalog.segments.folded import counted

__all__ = ["log_of", "settled_log"]

Checks = dict[str, SegmentCheck]


def settled_log(
    node: LogDirectory, directory: PartitionDirectory, checks: Checks, metadata: Metadata | None, options: VerifyOptions
) -> LogFacts | None:  # fmt: skip
    """Join the checks of a log, again with checks of what is new while its files move; None for a deleted topic."""
    readings: list[LogFacts] = []
    movements: list[Movement] = []
    for pause in PAUSES:
        if readings:
            time.sleep(pause)
            newer = list_again(node, directory)
            checks = {
                task.segment.path: checks[task.segment.path]
                if task.segment.path in checks and _stays(task.segment, directory, newer)
                else check_segment(task, options)
                for task in segment_tasks(newer)
            }
            directory = newer
        log = log_of(node, directory, checks, metadata, movements)
        readings.append(log)
        try:
            moved = None if is_remote(directory.log) and not readings[1:] else movement(node, directory)
            moved = with_gone(moved, directory, log.findings)
        except UnreadableError as error:
            log.findings = [*log.findings, gone_finding(directory, error)]
            return log
        if moved is not None and moved.is_gone:
            node.findings.extend(steady_findings((), (), directory, moved))
            return None
        if moved is None and not (len(readings) < READINGS and is_unsettled(directory)):
            return log
        movements += [moved] if moved is not None else []
    if moved is not None:
        unread = [located(finding, directory) for finding in unreadable_while_moving(directory, movements)]
        earlier = [[*one.findings, *unread] for one in readings[:-1]]
        log.findings = steady_findings([*log.findings, *unread], earlier, directory, moved)
    return log


def log_of(
    node: LogDirectory, directory: PartitionDirectory, checks: Checks, metadata: Metadata | None,
    movements: list[Movement],
) -> LogFacts:  # fmt: skip
    """Join the checks of a log's segments, and compare them with each other and the side files."""
    found = [checks[segment.path] for segment in directory.segments]
    growing = bool(found) and found[-1].facts.state == "grew"
    if growing and not directory.running:
        directory = replace(directory, running=True)
    partition = join(directory, [check.scan for check in found], policies(metadata, directory.topic))
    partition = with_note(partition, movements)
    of_files = chain(marker_findings(partition), (finding for check in found for finding in check.findings))
    findings = counted(
        chain(
            log_findings(partition),
            (located(finding, directory) for finding in of_files),
            compare_partition(partition, [check.side for check in found]),
        )
    )
    return LogFacts(partition, [check.content for check in found], findings, node, [check.facts for check in found])


def _stays(segment: Segment, then: PartitionDirectory, now: PartitionDirectory) -> bool:
    """Say whether nothing changed that a check of a segment has read: itself, its indexes, what follows it."""
    if not stays(segment, then, now):
        return False
    stem = os.path.basename(segment.path).removesuffix(".log")
    beside = (f"{stem}.index", f"{stem}.timeindex", f"{stem}.txnindex")
    if not all(is_same_file(then.files, now.files, name) for name in beside):
        return False
    at, was = now.segments.index(segment), then.segments.index(segment)
    following = now.segments[at + 1 : at + 2]
    if not following or [s.base_offset for s in following] != [s.base_offset for s in then.segments[was + 1 : was + 2]]:
        return False
    inside = range(segment.base_offset, following[0].base_offset + 1)
    return {o for o in now.snapshots if o in inside} == {o for o in then.snapshots if o in inside}
