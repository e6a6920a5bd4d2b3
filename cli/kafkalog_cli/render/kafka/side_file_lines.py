"""The lines of files other than segments: indexes, snapshots, and those that the official tool does not know."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import kafkalog
from kafkalog import FileKind, Finding
from kafkalog.segments.file_rows import side_file_rows
from kafkalog_cli.render.kafka.summaries import Summaries
from kafkalog_cli.render.kafka.tool_options import KafkaTextOptions
from kafkalog_cli.render.kafka.writer import LineWriter, java_path

__all__ = ["write_side_file"]


def write_side_file(
    writer: LineWriter, file: str, kind: FileKind, options: KafkaTextOptions, summaries: Summaries
) -> list[Finding]:
    """Write a file's lines, keep for the summaries what does not agree with the log, and return the findings."""
    findings: list[Finding] = []
    lines: Iterable[str]
    shown = writer.name(java_path(file))
    if kind is FileKind.OFFSET_INDEX:
        index = kafkalog.check_offset_index(file, options.max_message_size)
        findings = index.findings
        entries = (f"offset: {entry.offset} position: {entry.position}" for entry in index.listed)
        lines = _index(index, entries, shown, options) if index.slots else [f"{shown} is empty."]
        if index.slots and index.mismatches and not options.index_sanity_check:
            summaries.offset_index(file, index.mismatches)
    elif kind is FileKind.TIME_INDEX:
        times = kafkalog.check_time_index(file)
        findings = times.findings
        entries = (f"timestamp: {entry.timestamp} offset: {entry.offset}" for entry in times.listed)
        lines = _index(times, entries, shown, options)
        if not options.index_sanity_check:
            summaries.time_index(file, times.errors)
    elif kind is FileKind.TXN_INDEX:
        lines = map(_aborted, kafkalog.read_aborted_transactions(file, on_finding=findings.append))
    elif kind is FileKind.PRODUCER_SNAPSHOT:
        states = kafkalog.read_snapshot(file, on_finding=findings.append)
        lines = (_producer(state, options.dialect) for state in states)
    else:
        lines = _plain(file, kind, writer, findings)
    for line in lines:
        writer.line(line)
    return findings


def _index(
    check: kafkalog.OffsetIndexCheck | kafkalog.TimeIndexCheck,
    lines: Iterable[str],
    shown: str,
    options: KafkaTextOptions,
) -> Iterator[str]:
    if options.index_sanity_check:
        if check.sane:
            yield f"{shown} passed sanity check."
    elif not options.verify_index_only:
        yield from lines


def _aborted(entry: kafkalog.AbortedTransaction) -> str:
    return (
        f"version: {entry.version} producerId: {entry.producer_id} firstOffset: {entry.first_offset}"
        f" lastOffset: {entry.last_offset} lastStableOffset: {entry.last_stable_offset}"
    )


def _producer(entry: kafkalog.ProducerState, dialect: str) -> str:
    first = entry.current_txn_first_offset
    text = (
        f"producerId: {entry.producer_id} producerEpoch: {entry.producer_epoch}"
        f" coordinatorEpoch: {entry.coordinator_epoch} currentTxnFirstOffset:"
        f" {'OptionalLong.empty' if first < 0 else f'OptionalLong[{first}]'} lastTimestamp: {entry.timestamp}"
    )
    if entry.last_offset < 0:
        return text + " " if dialect == "4.2" else text
    return (
        f"{text} firstSequence: {entry.first_sequence} lastSequence: {entry.last_sequence}"
        f" lastOffset: {entry.last_offset} offsetDelta: {entry.offset_delta} timestamp: {entry.timestamp}"
    )


def _plain(file: str, kind: FileKind, writer: LineWriter, findings: list[Finding]) -> Iterable[str]:
    """Yield the rows of a file that the official tool does not know, in that tool's style."""
    for item in side_file_rows(file, kind):
        if isinstance(item, Finding):
            findings.append(item)
        else:
            table, row = item
            values = zip(table.names[1:], row[1:], strict=True)
            yield " ".join(f"{name}: {writer.name(str(value))}" for name, value in values)
