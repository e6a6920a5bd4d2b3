"""One read of one segment: its bytes accounted for, its batches checked by the rules, its indexes rebuilt."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Final, NamedTuple

import numpy as np

from kafkalog.auditing.partition import SegmentScan, check_headers, scan_segment
from kafkalog.auditing.side_files import RebuiltSegment, SideFiles
from kafkalog.auditing.verification.accounting import FileFacts, Survey, open_file
from kafkalog.auditing.verification.batch_rules import check_records
from kafkalog.auditing.verification.foreign import Content
from kafkalog.errors import UnreadableError
from kafkalog.files.limits import Limits
from kafkalog.findings import Finding
from kafkalog.kafka.state_records import StateColumns
from kafkalog.log_dirs.log_directory import PartitionDirectory, Segment
from kafkalog.segments.chunk import Chunk
from kafkalog.segments.segment import chunks_of_source

__all__ = [
    "DEPTHS",
    "SegmentCheck",
    "SegmentTask",
    "VerifyOptions",
    "check_batches",
    "check_segment",
    "segment_tasks",
]


DEPTHS: Final = ("frame", "records")


@dataclass(frozen=True, slots=True)
class VerifyOptions:
    """How far a verification goes.

    `depth` is one of DEPTHS; `hashed` names the checksum of every file, if any; `replicas` says whether the partitions
    that several directories have in common are compared, which reads them once more. With `compare_keys` the records
    of compacted logs' replicas are read where they differ.
    """

    limits: Limits = field(default_factory=Limits)
    depth: str = "records"
    hashed: str | None = None
    jobs: int | None = None
    replicas: bool = False
    compare_keys: bool = True


@dataclass(slots=True)
class SegmentCheck:
    """What one read of a segment gives; `findings` are those that only its end showed."""

    scan: SegmentScan
    facts: FileFacts
    content: Content
    side: RebuiltSegment
    findings: list[Finding]


def check_segment(task: SegmentTask, options: VerifyOptions) -> SegmentCheck:
    """Read a partition's segment once."""
    directory, segment = task
    facts = FileFacts.of(segment.path)
    facts.more_follow = segment != directory.segments[-1]
    side = SideFiles(directory, segment)
    survey = Survey(segment.base_offset)
    chunks = check_batches(facts, directory.topic, options, survey, segment.size)
    scan = scan_segment(
        directory, segment, options.limits, chunks, lambda chunk: side.take_chunk(chunk, plain=survey.is_plain)
    )
    scan.states = StateColumns()  # only what is wrong with them is needed
    content = Content(
        segment.path, survey.fingerprint, facts.batches or 0, facts.first_offset, facts.last_offset,
        np.unique(scan.folded.producers["producer_id"]),
    )  # fmt: skip
    findings = list(side.finish())
    return SegmentCheck(scan, facts, content, side.rebuilt, findings)


def check_batches(
    facts: FileFacts,
    topic: str | None,
    options: VerifyOptions,
    survey: Survey | None = None,
    max_bytes: int | None = None,
) -> Iterator[Chunk]:
    """Read a segment or KRaft snapshot in chunks, which get the findings about their batches; fills `facts`.

    `max_bytes` makes the file end there. Raises UnreadableError where the file can't be read.
    """
    records = options.depth == "records"
    survey = survey or Survey()
    try:
        with closing(open_file(facts.file, options.hashed, max_bytes)) as source:
            facts.size = source.size
            facts.batches = facts.records = 0
            for chunk in chunks_of_source(source, facts.file, limits=options.limits):
                chunk.findings += check_headers(chunk, topic, records=records)
                if records:
                    chunk.findings += check_records(chunk)
                survey.take_chunk(chunk)  # after the records: old compressed messages show their offsets only then
                facts.count_chunk(chunk, survey)
                survey.done(chunk)
                yield chunk
            facts.end(source)
    except UnreadableError:
        facts.fail()
        raise
    if facts.state in ("shrank", "replaced"):
        facts.rest_is_damaged()


# One segment's part of a verification: the segment, and what of its partition's directory bears on it.

_BASE: Final = attrgetter("base_offset")


class SegmentTask(NamedTuple):
    """A segment to check.

    Of its partition's files `directory` has the segment, the next ones, and the snapshots that were taken inside it and
    last.
    """

    directory: PartitionDirectory
    segment: Segment


def segment_tasks(directory: PartitionDirectory) -> Iterator[SegmentTask]:
    """Yield the tasks of a partition, in the order of its segments."""
    segments, stops = directory.segments, sorted(directory.snapshots)
    for number, segment in enumerate(segments):
        following = bisect_right(segments, segment.base_offset, number, key=_BASE)
        near = dict.fromkeys((segment, *segments[number + 1 : number + 2], *segments[following : following + 1]))
        end = bisect_right(stops, segments[following].base_offset) if following < len(segments) else len(stops)
        inside = dict.fromkeys((*stops[bisect_right(stops, segment.base_offset) : end], *stops[-1:]))
        of_segment = replace(
            directory, segments=tuple(near), snapshots={offset: directory.snapshots[offset] for offset in inside},
            left_over=(), orphans=(), leader_epochs=(), txn_indexes=frozenset(), files={},
        )  # fmt: skip
        yield SegmentTask(of_segment, segment)
