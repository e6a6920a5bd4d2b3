"""One record's line, with key and value as its decoder shows them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import kafkalog
from kafkalog import Batch, Finding, Record
from kafkalog_cli.render.kafka.options import STRING, Decoder, KafkaTextOptions
from kafkalog_cli.render.kafka.templates import FALSE_TRUE
from kafkalog_cli.render.kafka.writer import LineWriter

__all__ = ["RecordText"]

_TIMESTAMP_TYPES: Final = {"create_time": "CreateTime", "log_append_time": "LogAppendTime", "none": "NoTimestampType"}
_CONTROL_WORDS: Final = {
    "leader_change": "LeaderChange:",
    "snapshot_header": "SnapshotHeader",
    "snapshot_footer": "SnapshotFooter",
    "kraft_version": "KRaftVersion",
    "kraft_voters": "KRaftVoters",
}


class RecordText:
    """Makes the lines of records and keeps what could not be decoded in them; `file` is the file that they are in."""

    def __init__(self, writer: LineWriter, options: KafkaTextOptions, report: Callable[[Finding], None]) -> None:
        self.file = ""
        self._writer = writer
        self._options = options
        self._report = report
        self._first: dict[tuple[str, str], Finding] = {}  # by file and what is wrong
        self._counts: dict[tuple[str, str], int] = {}

    def line(self, record: Record, batch: Batch) -> str:
        """Return a record's line."""
        text = "" if self._options.skip_record_metadata else self._metadata(batch, record)
        return text if batch.is_control else text + self._contents(record, batch)

    def internal(self, record: Record, batch: Batch) -> tuple[str | None, str | None]:
        """Return a record's key and value as the topic's decoder shows them, and keep what is wrong with it."""
        from kafkalog_cli.render.decoders import shown

        internal = self._options.internal
        assert internal is not None  # the caller's options say so
        key, payload, doubtful = shown(internal, record, self._options.dialect)
        if doubtful:
            self.doubt(record, batch)
        json = self._writer.json
        return key if key is None else json(key), payload if payload is None else json(payload)

    def doubt(self, record: Record, batch: Batch) -> None:
        """Keep what is wrong with a record of an internal topic."""
        from kafkalog.log.internals import internal_findings

        assert self._options.internal is not None  # the caller's options say so
        for finding in internal_findings(self.file, batch, record, self._options.internal):
            self._count(finding.code, finding)

    def undecodable(self) -> Iterator[Finding]:
        """Yield a finding for each file and kind of thing that a decoder cannot read, or finds odd."""
        for which, first in self._first.items():
            count = self._counts[which]
            more = f", and {count - 1} more" if count > 1 else ""
            yield first._replace(message=first.message + more)

    def _metadata(self, batch: Batch, record: Record) -> str:
        key_size, value_size = (-1 if data is None else len(data) for data in (record.key, record.value))
        return self.metadata(batch, record, key_size, value_size)

    def metadata(self, batch: Batch, record: Record, key_size: int, value_size: int) -> str:
        """Return what a line says before key and value, which `record` need not have."""
        text = (
            f"| offset: {record.offset} {_TIMESTAMP_TYPES[batch.timestamp_type]}: {record.timestamp}"
            f" keySize: {key_size} valueSize: {value_size}"
        )
        if batch.magic >= 2:
            keys = ",".join(self._writer.text(key) for key, _ in record.headers)
            text += f" sequence: {record.sequence} headerKeys: [{keys}]"
        else:
            stray = "}" if self._options.dialect == "4.2" else ""
            text += f" isValid: {FALSE_TRUE[bool(record.crc_holds)]} crc: {record.crc}{stray}"
        return text + self._control(batch, record) if batch.is_control else text

    def _control(self, batch: Batch, record: Record) -> str:
        try:
            control = kafkalog.control_record(record.key, record.value)
        except kafkalog.MalformedError as error:
            self._report(kafkalog.control_finding(self.file, batch, record, error))
            return ""
        if control.coordinator_epoch is not None:
            return f" endTxnMarker: {control.name.upper()} coordinatorEpoch: {control.coordinator_epoch}"
        if control.name in _CONTROL_WORDS:
            return f" {_CONTROL_WORDS[control.name]} {self._writer.json(control.json)}"
        return f" controlType: UNKNOWN({control.type})"

    def _contents(self, record: Record, batch: Batch) -> str:
        options = self._options
        if options.internal:
            key, payload = self.internal(record, batch)
        elif options.print_data_log:
            key = self._decoded(options.key_decoder, record.key, "key", record, batch)
            payload = self._decoded(options.value_decoder, record.value, "value", record, batch)
        else:
            return ""
        skip = options.skip_record_metadata
        text = "" if key is None else f"{'| ' if skip else ' '}key: {key}"
        if payload is not None:
            bar = "| " if skip and not text and options.dialect != "4.2" else " "
            text += f"{bar}payload: {payload}"
        return text

    def _decoded(self, decoder: Decoder, data: bytes | None, what: str, record: Record, batch: Batch) -> str | None:
        if data is None:
            return None
        if decoder is STRING:
            return self._writer.text(data)
        decoded = decoder(data)
        if decoded is None:
            self._count(what, kafkalog.key_undecodable(self.file, batch, record.offset, what, len(data)))
        return decoded

    def _count(self, what: str, finding: Finding) -> None:
        which = (self.file, what)
        self._first.setdefault(which, finding)
        self._counts[which] = self._counts.get(which, 0) + 1
