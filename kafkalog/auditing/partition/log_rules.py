"""Findings about a log as a whole: damage, gaps, leftovers."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Final

import numpy as np

from kafkalog.auditing.partition.facts import PartitionAudit
from kafkalog.auditing.partition.gaps import LostOffsets
from kafkalog.auditing.partition.outside_transactions import outside_findings
from kafkalog.auditing.partition.short_batches import missing_in_batches
from kafkalog.columns.table import AFTER_ALL, NONE, Columns
from kafkalog.files.names import METADATA_TOPIC, OFFSETS_TOPIC, SHARE_TOPIC, STATE_TOPIC
from kafkalog.findings import Finding
from kafkalog.folds.fold import Break, has_data, has_marker, tally
from kafkalog.kernel import buffers
from kafkalog.kernel.fold import sequence_break
from kafkalog.kernel.numbers import add_sequence
from kafkalog.log_dirs.left_over import left_over, put_in_place
from kafkalog.log_dirs.log_directory import PartitionDirectory, remote_part
from kafkalog.quantities import many, offset_range
from kafkalog.settle import Reason, lowered
from kafkalog.severity import Severity

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "BREAKS",
    "absent_offsets",
    "break_kind",
    "broken_sequences",
    "covered",
    "file_of",
    "late_beginnings",
    "located",
    "log_findings",
    "marker_findings",
]


_WHY: Final = {
    ("damage", "lost-segment"): "a segment is lost",
    ("damage", "missing-batches"): "batches are lost, and the topic was never compacted",
    ("unexplained", "missing-batches"): "the available files show no legal cause, and do not rule one out",
}


def log_findings(audit: PartitionAudit) -> Iterator[Finding]:
    """Yield the findings about a log as a whole, not about single producers."""
    found = chain(
        audit.findings, left_over(audit.directory), _gaps(audit), missing_in_batches(audit),
        remote_part(audit.directory),
    )  # fmt: skip
    return (located(finding, audit.directory) for finding in found)


def located(finding: Finding, directory: PartitionDirectory) -> Finding:
    """Return a finding with its log."""
    return finding._replace(log=directory.log, topic=directory.topic, partition=directory.partition)


def covered(finding: Finding, directory: PartitionDirectory) -> Finding:
    """Return a finding about missing offsets: a warning where a newer .checkpoint of a metadata log has their state."""
    last = finding.offset if finding.last_offset is None else finding.last_offset
    if last is None or last >= directory.covered_to:
        return finding
    message = f"{finding.message.rstrip('.')}. A .checkpoint has the state up to offset {directory.covered_to}."
    return lowered(finding._replace(message=message), Reason.IN_CHECKPOINT)


def file_of(directory: PartitionDirectory, offset: int) -> str:
    """Return the path of the segment with an offset, of the directory where no segment has it."""
    segments = directory.segments
    number = bisect_right(segments, offset, key=lambda segment: segment.base_offset) - 1
    return segments[number].path if number >= 0 else directory.log


def _gaps(audit: PartitionAudit) -> Iterator[Finding]:
    gaps = audit.gaps  # of unreadable bytes the bytes have their own finding
    if not gaps:
        return
    holes = audit.directory.remote_holes  # which have their own finding, as what .swap files have
    if audit.directory.left_over and (swapped := put_in_place(audit.directory)) is not None:
        holes = [*holes, (swapped[0], swapped[1] - 1)]
    for gap in gaps.chosen(~(gaps.of_kind("legal") | gaps.of_cause("unreadable-bytes"))):
        if any(first <= gap.first_offset and gap.last_offset <= last for first, last in holes):
            continue
        code = "offset-gap-lost" if gap.kind == "damage" else "offset-gap-unexplained"
        missing = offset_range(gap.first_offset, gap.last_offset).capitalize()
        verb = "is" if gap.first_offset == gap.last_offset else "are"
        finding = Finding.of(
            code,
            gap.file,
            f"{missing} {verb} missing: {_WHY[gap.kind, gap.cause]} ({gap.cause}).",
            position=gap.position,
            offset=gap.first_offset,
            last_offset=gap.last_offset,
        )
        yield covered(finding, audit.directory)


_MISSING: Final = frozenset({"offset-gap-lost", "offset-gap-unexplained", "log-missing"})


def absent_offsets(audit: PartitionAudit, findings: Sequence[Finding]) -> Iterator[Finding]:
    """Yield the offsets of a log that no reader is given and no rule explains: missing, unreadable, in a wrong object.

    What is missing is what the log's `findings` say above a note. A remote object that begins before its segment does
    has the bytes of another one: all of the segment is missing. One with other leader epochs is said as it is.
    """
    directory, segments = audit.directory, audit.directory.segments
    told = [one for one in findings if one.severity > Severity.NOTE]
    wrong = {one.file for one in told if one.code == "offset-not-increasing" and not one.position}
    ranges: list[tuple[int, int]] = []
    for number, segment in enumerate(segments):
        if segment.is_remote and segment.path in wrong:
            end = segments[number + 1].base_offset if number + 1 < len(segments) else audit.log_end_offset
            ranges.append((segment.base_offset, end - 1))
            yield _absent(directory, segment.path, *ranges[-1], "the remote object has the bytes of another segment")
    for finding in told:
        if finding.code == "leader-epochs-mismatch" or (
            finding.code in _MISSING and not any(first <= (finding.offset or 0) <= last for first, last in ranges)
        ):
            yield finding
    for gap in audit.gaps.chosen(audit.gaps.of_cause("unreadable-bytes")):
        if not any(gap.first_offset <= last and first <= gap.last_offset for first, last in ranges):
            yield _absent(directory, gap.file, gap.first_offset, gap.last_offset, "bytes are damaged")


def _absent(directory: PartitionDirectory, file: str, first: int, last: int, why: str) -> Finding:
    message = f"{offset_range(first, last).capitalize()} can't be read: {why}"
    return located(Finding.of("offset-gap-lost", file, message, offset=first, last_offset=last), directory)


# A transaction's marker, compared with the data that it ends and the producer's markers before it.


_NAMES: Final = ("producer_id", "first_offset", "last_epoch", "marker_offset", "marker_epoch", "coordinator_epoch")


_WORDS: Final = {
    "marker_epoch": ("producer epoch", "the data that it ends"),
    "coordinator_epoch": ("coordinator epoch", "the producer's marker before it"),
}


def marker_findings(audit: PartitionAudit) -> Iterator[Finding]:
    """Yield what a leader refuses: data outside of its open transaction, markers of an older epoch or coordinator."""
    yield from outside_findings(audit)
    if tally(audit.transactions).in_order:  # of most logs, which cost as little as possible
        return
    lowest, highest = AFTER_ALL, NONE
    for rows in audit.transactions.blocks(*_NAMES):
        marked = has_marker(rows)
        older = marked & has_data(rows) & (rows["last_epoch"] >= 0)
        older &= rows["marker_epoch"] < rows["last_epoch"]
        for row in np.flatnonzero(older).tolist():
            yield _of("marker-epoch-wrong", audit, rows, row, "marker_epoch", int(rows["last_epoch"][row]))
        epochs = rows["coordinator_epoch"]
        lowest = min(lowest, int(np.min(epochs, where=marked, initial=AFTER_ALL)))
        highest = max(highest, int(np.max(epochs, where=marked, initial=NONE)))
    if lowest >= highest:  # nearly all logs; also one without a marker
        return
    columns = audit.transactions.columns(*_NAMES)
    rows = columns.take(has_marker(columns), *_NAMES)
    epochs = rows["coordinator_epoch"]
    known = np.flatnonzero(epochs >= 0)
    order = known[np.lexsort((rows["marker_offset"][known], rows["producer_id"][known]))]
    before, after = order[:-1], order[1:]
    falls = (rows["producer_id"][before] == rows["producer_id"][after]) & (
        rows["coordinator_epoch"][after] < rows["coordinator_epoch"][before]
    )
    for at in np.flatnonzero(falls).tolist():
        needed = int(rows["coordinator_epoch"][before[at]])
        yield _of(
            "coordinator-epoch-decreasing",
            audit,
            rows,
            int(after[at]),
            "coordinator_epoch",
            needed,
        )


def _of(code: str, audit: PartitionAudit, rows: Columns, row: int, name: str, needed: int) -> Finding:
    what, before = _WORDS[name]
    offset, producer, found = (int(rows[key][row]) for key in ("marker_offset", "producer_id", name))
    return Finding.of(
        code,
        file_of(audit.directory, offset),
        f"the marker of producer {producer} at offset {offset} has {what} {found}, {before} has {needed}",
        offset=offset,
        producer_id=producer,
        needed=needed,
        found=found,
    )


# Sequences: each producer's batch compared with its previous batch (ProducerAppendInfo's rules, magic 2); what a leader
# would have refused, where nothing excuses or explains it.


# What can be wrong between two batches of a producer.
BREAKS: Final = {
    buffers.HOLE: "hole",
    buffers.OVERLAP: "overlap",
    buffers.EPOCH_DECREASING: "epoch-decreasing",
    buffers.EPOCH_NOT_FROM_ZERO: "epoch-not-from-zero",
}


def break_kind(found: Break) -> tuple[str, int]:
    """Say what is wrong between two batches, one of BREAKS, and which sequence was needed."""
    kind = sequence_break(found.epoch, found.last_sequence, found.next_epoch, found.first_sequence)
    return BREAKS[kind], 0 if kind == buffers.EPOCH_NOT_FROM_ZERO else add_sequence(found.last_sequence, 1)


# Topics whose producers are coordinators: their sequences mean nothing.
_COORDINATORS: Final = frozenset({OFFSETS_TOPIC, SHARE_TOPIC, STATE_TOPIC, METADATA_TOPIC})

_EXPIRATION_MS: Final = 86_400_000  # producer.id.expiration.ms by default


def broken_sequences(audit: PartitionAudit) -> Iterator[Finding]:
    """Yield the breaks of a log's sequences that a leader would have refused.

    The rules are ProducerAppendInfo's for what clients append: a follower checks nothing.
    """
    if audit.directory.topic in _COORDINATORS:
        return
    epochs, legal = sorted(first for _, first in audit.epochs), audit.gaps.of_kind("legal")
    allowed, lost = LostOffsets(audit.gaps.chosen(legal)), LostOffsets(audit.gaps.chosen(~legal))
    for found in audit.breaks:
        before, offset = found.last_offset, found.first_offset
        if before < audit.cleaned_to or offset <= audit.log_start_offset:
            continue
        if found.next_timestamp - found.last_timestamp > _EXPIRATION_MS:
            continue  # a leader has forgotten the producer: it may continue with any sequence
        if bisect_right(epochs, before) < bisect_right(epochs, offset):
            continue  # a new leader knows only what was replicated
        kind, needed = break_kind(found)
        is_hole = kind in ("hole", "epoch-not-from-zero")
        if is_hole and allowed.between(before, offset):
            continue
        finding = Finding.of(
            "sequence-broken",
            audit.directory.log,
            f"producer {found.producer_id}'s sequence breaks between offsets {before} and {offset} ({kind}):"
            f" sequence {needed} was needed, {found.first_sequence} was found",
            offset=before,
            last_offset=offset,
            producer_id=found.producer_id,
            needed=needed,
            found=found.first_sequence,
        )
        # Of offsets that are missing between, which have a finding, the sequences say whose records they were.
        yield lowered(finding, Reason.FOLLOWS if is_hole and lost.between(before, offset) else None)


# A producer's first batch: nothing is known of what was before, unless the log is whole from offset 0 on.


_FAR: Final = 2**30  # sequences go round: from here on one is before 0, as likely as after it


def late_beginnings(audit: PartitionAudit) -> Iterator[Finding]:
    """Yield the producers whose first batch has a sequence above 0 in a log that is whole from offset 0 up to there.

    A leader that knows nothing of a producer accepts any sequence: what was before was refused, or lost on the way.
    """
    if not _is_late(audit.producers).any() or not _begins_whole(audit):
        return
    changed = audit.epochs[1][1] if len(audit.epochs) > 1 else AFTER_ALL  # a new leader knows what was replicated
    late = audit.producers.where(lambda rows: _is_late(rows) & (rows["before_offset"] < changed))
    missing = LostOffsets(audit.gaps)
    damaged = min((-1 if one.last_offset is None else one.last_offset for one in audit.damaged), default=AFTER_ALL)
    for producer, sequence, offset in late.tuples("producer_id", "before_sequence", "before_offset"):
        if missing.between(-1, offset) or damaged < offset:
            continue  # its batches may have been there, and that has a finding
        records = many(sequence, "record")
        yield Finding.of(
            "sequence-begins-late",
            file_of(audit.directory, offset),
            f"producer {producer}'s first batch, at offset {offset}, has sequence {sequence}, although the log starts"
            f" at 0 and nothing was deleted: its first {records} (sequences 0-{sequence - 1}) never reached the log,"
            " unless the topic was made again while the producer went on",
            offset=offset,
            producer_id=producer,
            needed=0,
            found=sequence,
        )


def _is_late(producers: Columns) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = (producers["before_sequence"] > 0) & (producers["before_sequence"] < _FAR)
    return found


def _begins_whole(audit: PartitionAudit) -> bool:
    """Say whether a topic's log is there from offset 0 on, and neither deleted nor cleaned from."""
    if audit.directory.topic in _COORDINATORS or audit.log_start_offset or audit.cleaned_to > 0:
        return False
    return bool(audit.epochs) and audit.epochs[0][1] == 0
