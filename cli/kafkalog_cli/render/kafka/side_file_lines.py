"""The lines of files other than segments: indexes, snapshots, and those that the official tool does not know."""

from __future__ import annotations

import kafkalog
from kafkalog_cli.render.kafka.summaries import Summaries
from kafkalog_cli.render.kafka.tool_options import KafkaTextOptions
from kafkalog_cli.render.kafka.writer import LineWriter, java_path

__all__ = ["SideFileText"]


class SideFileText:
    """Writes the entries of side files, and keeps for the summaries what does not agree with the log."""

    def __init__(self, writer: LineWriter, options: KafkaTextOptions, summaries: Summaries) -> None:
        self._writer = writer
        self._options = options
        self._summaries = summaries

    def offset_index(self, path: str, check: kafkalog.OffsetIndexCheck) -> None:
        """Write an offset index's entries and keep what does not agree with the log."""
        shown = self._writer.name(java_path(path))
        if not check.slots:
            self._writer.line(f"{shown} is empty.")
            return
        if self._options.index_sanity_check:
            if check.sane:
                self._writer.line(f"{shown} passed sanity check.")
            return
        for entry in check.listed:
            if not self._options.verify_index_only:
                self._writer.line(f"offset: {entry.offset} position: {entry.position}")
        if check.mismatches:
            self._summaries.offset_index(path, check.mismatches)

    def time_index(self, path: str, check: kafkalog.TimeIndexCheck) -> None:
        """Write a time index's entries and keep what does not agree with the log."""
        if self._options.index_sanity_check:
            if check.sane:
                self._writer.line(f"{self._writer.name(java_path(path))} passed sanity check.")
            return
        for entry in check.listed:
            if not self._options.verify_index_only:
                self._writer.line(f"timestamp: {entry.timestamp} offset: {entry.offset}")
        self._summaries.time_index(path, check.errors)

    def transaction_index(self, entries: list[kafkalog.AbortedTransaction]) -> None:
        for entry in entries:
            self._writer.line(
                f"version: {entry.version} producerId: {entry.producer_id} firstOffset: {entry.first_offset}"
                f" lastOffset: {entry.last_offset} lastStableOffset: {entry.last_stable_offset}"
            )

    def snapshot(self, entries: list[kafkalog.ProducerState]) -> None:
        for entry in entries:
            first = entry.current_txn_first_offset
            text = (
                f"producerId: {entry.producer_id} producerEpoch: {entry.producer_epoch}"
                f" coordinatorEpoch: {entry.coordinator_epoch} currentTxnFirstOffset:"
                f" {'OptionalLong.empty' if first < 0 else f'OptionalLong[{first}]'} lastTimestamp: {entry.timestamp}"
            )
            if entry.last_offset >= 0:
                text += (
                    f" firstSequence: {entry.first_sequence} lastSequence: {entry.last_sequence}"
                    f" lastOffset: {entry.last_offset} offsetDelta: {entry.offset_delta} timestamp: {entry.timestamp}"
                )
            elif self._options.dialect == "4.2":
                text += " "
            self._writer.line(text)

    def plain(self, row: tuple[object, ...], names: tuple[str, ...]) -> None:
        """Write a row of a file that the official tool does not know, in that tool's style."""
        values = zip(names, row, strict=True)
        self._writer.line(" ".join(f"{name}: {self._writer.name(str(value))}" for name, value in values))
