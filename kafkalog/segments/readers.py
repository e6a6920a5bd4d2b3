"""The library's functions for one file: its contents, row by row or as columns.

What is wrong with a file is a Finding and goes to `on_finding`; without that, warnings and errors become Python
warnings (FindingWarning). A file that can't be read at all raises UnreadableError.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from kafkalog.files.limits import Limits
from kafkalog.files.names import FileKind, parse_name
from kafkalog.files.opening import read_small
from kafkalog.findings import Finding, Severity
from kafkalog.kafka.batch import Batch, Record
from kafkalog.kafka.checkpoint import (
    Checkpoint,
    leader_epochs,
    partition_metadata,
    partition_offsets,
    properties,
    quorum_state,
)
from kafkalog.kafka.control import ControlRecord, control_record
from kafkalog.kafka.index import AbortedTransaction, OffsetEntry, TimeEntry
from kafkalog.kafka.index import aborted_transactions as _aborted
from kafkalog.kafka.layout import ABORTED_TXN
from kafkalog.kafka.message import MalformedError
from kafkalog.kafka.snapshot import ProducerState, producer_snapshot
from kafkalog.kernel import buffers
from kafkalog.segments.indexes import check_offset_index, check_time_index
from kafkalog.segments.segment import segment_chunks
from kafkalog.segments.selection import Selection, all_rows
from kafkalog.values.budget import OVER

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "FindingWarning",
    "batch_columns",
    "batches",
    "control_finding",
    "control_records",
    "offset_index",
    "read_aborted_transactions",
    "read_checkpoint",
    "read_properties",
    "read_snapshot",
    "segment_chunks",
    "time_index",
    "undecodable",
    "warn",
]

PathLike = str | os.PathLike[str]
OnFinding = Callable[[Finding], object]


class FindingWarning(UserWarning):
    """A finding for which no `on_finding` was given."""


def warn(finding: Finding) -> None:
    """Make a Python warning of a finding above a note."""
    if finding.severity > Severity.NOTE:
        warnings.warn(str(finding), FindingWarning, stacklevel=3)


def batches(path: PathLike, *, limits: Limits | None = None, on_finding: OnFinding | None = None) -> Iterator[Batch]:
    """Yield each batch header of a segment or KRaft snapshot (RecordBatch), in file order.

    Raises UnreadableError if the file can't be opened or read.

    `limits` bound the memory of a batch, in bytes; by default they are those of `Limits()`. `on_finding` is called with
    each finding; without it a finding is a `FindingWarning`. Positions and sizes are bytes, timestamps ms.

    >>> path = "fixtures/v2.8-hanging/data/ledger-1/00000000000000000000.log"
    >>> [batch.base_offset for batch in kafkalog.batches(path)]
    [0, 2, 3, 7, 8, 12, 13]
    """
    report = on_finding or warn
    for chunk in segment_chunks(path, limits=limits):
        for row in range(chunk.heads.count):
            yield Batch.of(chunk.heads, row)
        for finding in chunk.findings:
            report(finding)


def control_records(
    path: PathLike, *, limits: Limits | None = None, on_finding: OnFinding | None = None
) -> Iterator[tuple[Batch, Record, ControlRecord]]:
    """Yield each control record with its batch and its raw record; other batches' records are not decoded.

    Raises UnreadableError if the file can't be opened or read.

    `limits` bound the memory of a batch, in bytes; by default they are those of `Limits()`. `on_finding` is called with
    each finding; without it a finding is a `FindingWarning`.

    >>> path = "fixtures/v2.8-hanging/data/ledger-1/00000000000000000000.log"
    >>> [(batch.base_offset, control.name) for batch, _, control in kafkalog.control_records(path)]
    [(2, 'commit'), (7, 'abort'), (12, 'abort')]
    """
    report = on_finding or warn
    for chunk in segment_chunks(path, limits=limits):
        Selection().leave_out_others(chunk.heads, all_rows(chunk.heads), control_only=True)
        for block in chunk.records():
            for number in range(block.recs.count):
                batch = Batch.of(chunk.heads, block.recs.cell(buffers.BATCH, number))
                record = block.record(number)
                try:
                    yield batch, record, control_record(record.key, record.value)
                except MalformedError as error:
                    report(control_finding(os.fspath(path), batch, record, error))
            for finding in block.findings:
                report(finding)
        for finding in chunk.findings:
            report(finding)


def control_finding(file: str, batch: Batch, record: Record, error: MalformedError) -> Finding:
    """Make the finding for a control record whose key or value does not fit its type.

    `file` is the path as given; the finding has the record's log offset and the batch's position in bytes.

    >>> path = "fixtures/v2.8-hanging/data/ledger-1/00000000000000000000.log"
    >>> batch, record, _ = next(kafkalog.control_records(path))
    >>> kafkalog.control_finding("0.log", batch, record, kafkalog.MalformedError("too short")).code
    'control-record-malformed'
    """
    return Finding.of(
        error.code,
        file,
        f"the control record at offset {record.offset}: {error}",
        position=batch.position,
        length=batch.size,
        offset=record.offset,
    )


def undecodable(
    file: str, batch: Batch, offset: int, what: str, size: int, why: str = "too few for the decoder"
) -> Finding:
    """Make the finding for a key or value that the chosen decoder can't read.

    `offset` is the record's log offset, `what` is ``key`` or ``value``, `size` its bytes, `why` what the decoder says.

    >>> batch = next(kafkalog.batches("fixtures/v2.8-hanging/data/ledger-1/00000000000000000000.log"))
    >>> kafkalog.undecodable("0.log", batch, 0, "key", 3).code
    'key-undecodable'
    """
    return Finding.of(
        "decoding-over-budget" if why.startswith(OVER) else f"{what}-undecodable",
        file,
        f"the {what} at offset {offset} has {size} bytes, {why}",
        position=batch.position,
        length=batch.size,
        offset=offset,
        found=size,
    )


def batch_columns(
    path: PathLike, *, limits: Limits | None = None, on_finding: OnFinding | None = None
) -> dict[str, NDArray[np.int64]]:
    """Return every batch header of a segment as NumPy columns of int64, named as Batch's fields.

    A cell without a value is -2**63. Raises UnreadableError if the file can't be opened or read.

    `limits` bound the memory of a batch, in bytes; by default they are those of `Limits()`. `on_finding` is called with
    each finding; without it a finding is a `FindingWarning`. All columns have one cell for each batch; positions and
    sizes are bytes, timestamps ms.

    >>> path = "fixtures/v2.8-hanging/data/ledger-1/00000000000000000000.log"
    >>> kafkalog.batch_columns(path)["base_offset"].shape
    (7,)
    """
    import numpy as np

    names = buffers.BATCH_COLUMNS[: buffers.SECTION_START]
    parts = [np.empty((len(names), 0), np.int64)]
    for chunk in segment_chunks(path, limits=limits):
        parts.append(chunk.heads.numpy()[: len(names)].copy())
        _report_all(chunk.findings, on_finding)
    return dict(zip(names, np.concatenate(parts, axis=1), strict=True))


def _report_all(findings: list[Finding], on_finding: OnFinding | None) -> None:
    for finding in findings:
        (on_finding or warn)(finding)


def offset_index(path: PathLike, *, on_finding: OnFinding | None = None) -> list[OffsetEntry]:
    """Return the entries of a ``.index``, compared with the segment beside it (OffsetIndex).

    `on_finding` is called with each finding; without it a finding is a `FindingWarning`. Positions are bytes in the
    segment. Raises UnreadableError if the file can't be read.

    >>> kafkalog.offset_index("fixtures/v2.8-hanging/data/ledger-1/00000000000000000000.index")
    [OffsetEntry(offset=0, position=0)]
    """
    check = check_offset_index(path)
    _report_all(check.findings, on_finding)
    return check.listed


def time_index(path: PathLike, *, on_finding: OnFinding | None = None) -> list[TimeEntry]:
    """Return the entries of a ``.timeindex``, compared with the segment beside it (TimeIndex).

    `on_finding` is called with each finding; without it a finding is a `FindingWarning`. Timestamps are ms since 1970.
    Raises UnreadableError if the file can't be read.

    >>> kafkalog.time_index("fixtures/v2.8-hanging/data/ledger-2/00000000000000000000.timeindex")
    [TimeEntry(timestamp=0, offset=0)]
    """
    check = check_time_index(path)
    _report_all(check.findings, on_finding)
    return check.listed


def read_aborted_transactions(path: PathLike, *, on_finding: OnFinding | None = None) -> list[AbortedTransaction]:
    """Return the entries of a ``.txnindex`` (TransactionIndex).

    `on_finding` is called with each finding; without it a finding is a `FindingWarning`. Raises UnreadableError if the
    file can't be read.

    >>> path = "fixtures/k4-d-fencing-tv2-400/data/riders-orders.94-1/00000000000000000000.txnindex"
    >>> kafkalog.read_aborted_transactions(path)[0]
    AbortedTransaction(version=0, producer_id=0, first_offset=0, last_offset=1, last_stable_offset=2)
    """
    entries = _aborted(read_small(path))
    odd = [(number, row.version) for number, row in enumerate(entries.rows) if row.version != 0]
    findings = []
    if odd:
        number, version = odd[0]
        more = f"; {len(odd) - 1} more entries have a version other than 0" if len(odd) > 1 else ""
        message = f"the entry has version {version}, not 0{more}"
        findings.append(_simple(path, "version-unknown", number * ABORTED_TXN.size, message))
    if entries.rest:
        position = entries.slots * ABORTED_TXN.size
        message = f"{entries.rest} bytes after the last entry; an entry has {ABORTED_TXN.size} bytes"
        findings.append(_simple(path, "index-truncated", position, message))
    _report_all(findings, on_finding)
    return entries.rows


def read_snapshot(path: PathLike, *, on_finding: OnFinding | None = None) -> list[ProducerState]:
    """Return the producers of a ``.snapshot`` (ProducerStateManager), as far as the file goes.

    `on_finding` is called with each finding; without it a finding is a `FindingWarning`. Timestamps are ms since 1970.
    Raises UnreadableError if the file can't be read.

    >>> path = "fixtures/k4-d-fencing-tv2-400/data/riders-orders.94-1/00000000000000000012.snapshot"
    >>> producers = kafkalog.read_snapshot(path)
    >>> producers[0].producer_epoch
    8
    """
    snapshot = producer_snapshot(read_small(path))
    _report_all([_simple(path, "snapshot-corrupt", None, snapshot.wrong)] if snapshot.wrong else [], on_finding)
    return snapshot.entries


def read_checkpoint(path: PathLike, *, on_finding: OnFinding | None = None) -> Checkpoint:
    """Return the rows of a leader-epoch-checkpoint or of a log directory's checkpoint, by the file's name.

    `on_finding` is called with each finding; without it a finding is a `FindingWarning`. Raises UnreadableError if the
    file can't be read.

    >>> kafkalog.read_checkpoint("fixtures/v2.8-hanging/data/ledger-1/leader-epoch-checkpoint").rows
    [LeaderEpoch(epoch=0, start_offset=0)]
    """
    read = (
        leader_epochs
        if parse_name(os.path.basename(path)).kind is FileKind.LEADER_EPOCH_CHECKPOINT
        else partition_offsets
    )
    checkpoint = read(read_small(path))
    _report_lines(path, checkpoint.wrong, on_finding)
    return checkpoint


def read_properties(path: PathLike, *, on_finding: OnFinding | None = None) -> dict[str, str]:
    """Return the keys and values of partition.metadata, meta.properties or quorum-state, by the file's name.

    `on_finding` is called with each finding; without it a finding is a `FindingWarning`. Raises UnreadableError if the
    file can't be read.

    >>> kafkalog.read_properties("fixtures/v2.8-hanging/data/meta.properties")["broker.id"]
    '1'
    """
    kind = parse_name(os.path.basename(path)).kind
    read = {FileKind.QUORUM_STATE: quorum_state, FileKind.PARTITION_METADATA: partition_metadata}
    found = read.get(kind, properties)(read_small(path))
    _report_lines(path, found.wrong, on_finding)
    return found.values


def _report_lines(path: PathLike, wrong: list[tuple[int, str]], on_finding: OnFinding | None) -> None:
    _report_all(
        [_simple(path, "checkpoint-malformed", None, f"line {line}: {text}") for line, text in wrong], on_finding
    )


def _simple(path: PathLike, code: str, position: int | None, message: str) -> Finding:
    return Finding.of(code, os.fspath(path), message, position=position)
