"""What kafka-dump-log prints, byte for byte: of 4.3 (the Java tool), or of 4.2 (the Scala one) where asked.

Left out of its summaries on standard error, being false: ``-1 is followed by`` before a segment's first record, and
what comes only from the zeros that a broker allocates in advance behind an index's entries.
"""

from __future__ import annotations

import os
import re
from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

import kafkalog
from kafkalog import Batch, Chunk, Finding, Record, RecordBlock
from kafkalog.format import kernel, lines
from kafkalog.format.internal import Internal
from kafkalog.log.names import is_remote
from kafkalog_cli.escape import escape, escape_bytes, escape_json

__all__ = ["DECODERS", "KafkaText", "Options", "java_path"]

_OUT: Final = 1 << 20
_CODEC_WORDS: Final = (*kafkalog.CODECS, "unknown(5)", "unknown(6)", "unknown(7)")
_FALSE_TRUE: Final = ("false", "true")

# A line's text with its values: (literal before it, kind, column, mask, words, other column).
_Step = tuple[str, int, int, int, tuple[str, ...], int]


def _integer(name: str, column: int) -> _Step:
    return (f" {name}: ", lines.INTEGER, column, 0, (), 0)


def _flag(name: str, column: int, mask: int) -> _Step:
    return (f" {name}: ", lines.FLAG, column, mask, _FALSE_TRUE, 0)


def _tail(timestamp_type: _Step) -> list[_Step]:
    return [
        _integer("position", kernel.POSITION),
        timestamp_type,
        (": ", lines.INTEGER, kernel.MAX_TIMESTAMP, 0, (), 0),
        _integer("size", kernel.SIZE),
        _integer("magic", kernel.MAGIC),
        (" compresscodec: ", lines.WORD, kernel.ATTRIBUTES, 7, _CODEC_WORDS, 0),
        _integer("crc", kernel.CRC),
        _flag("isvalid", kernel.VALID, 1),
        ("\n", lines.NOTHING, 0, 0, (), 0),
    ]


_TIMESTAMP_TYPE: Final[_Step] = (" ", lines.FLAG, kernel.ATTRIBUTES, 8, ("CreateTime", "LogAppendTime"), 0)
_NO_TIMESTAMP: Final[_Step] = (" NoTimestampType", lines.NOTHING, 0, 0, (), 0)
_LEGACY: Final[list[_Step]] = [("offset: ", lines.INTEGER, kernel.LAST_OFFSET, 0, (), 0)]
_CURRENT: Final[list[_Step]] = [
    ("baseOffset: ", lines.INTEGER, kernel.BASE_OFFSET, 0, (), 0),
    _integer("lastOffset", kernel.LAST_OFFSET),
    _integer("count", kernel.COUNT),
    _integer("baseSequence", kernel.BASE_SEQUENCE),
    _integer("lastSequence", kernel.LAST_SEQUENCE),
    _integer("producerId", kernel.PRODUCER_ID),
    _integer("producerEpoch", kernel.PRODUCER_EPOCH),
    _integer("partitionLeaderEpoch", kernel.LEADER_EPOCH),
    _flag("isTransactional", kernel.ATTRIBUTES, 0x10),
    _flag("isControl", kernel.ATTRIBUTES, 0x20),
    (
        " deleteHorizonMs: ",
        lines.OPTIONAL,
        kernel.ATTRIBUTES,
        0x40,
        ("OptionalLong[", "]", "OptionalLong.empty"),
        kernel.BASE_TIMESTAMP,
    ),
    *_tail(_TIMESTAMP_TYPE),
]


class _Literals:
    """Bytes that lines are made of, each stored once."""

    def __init__(self) -> None:
        self.data = bytearray()

    def add(self, text: str) -> tuple[int, int]:
        encoded = text.encode()
        at = self.data.find(encoded)
        if at < 0:
            at = len(self.data)
            self.data += encoded
        return at, len(encoded)


def _template(programs: Iterable[list[_Step]], literals: _Literals) -> array[int]:
    """Lay the lines' steps and words out as ``format.lines`` reads them."""
    programs = list(programs)
    cells = array("q", [0] * len(programs))
    words_at: list[tuple[int, tuple[str, ...]]] = []
    for number, steps in enumerate(programs):
        cells[number] = len(cells)
        for text, kind, column, mask, words, other in steps:
            words_at.append((len(cells) + 5, words))
            cells.extend([*literals.add(text), kind, column, mask, 0, other])
        cells.append(-1)
    for at, words in words_at:
        cells[at] = len(cells)
        for word in words:
            cells.extend(literals.add(word))
    return cells


def _decode_integer(size: int) -> Callable[[bytes], str | None]:
    def decode(data: bytes) -> str | None:
        return str(int.from_bytes(data[:size], "big", signed=True)) if len(data) >= size else None

    return decode


# Decoder classes by their names; each gives None for bytes that it cannot decode.
DECODERS: Final[dict[str, Callable[[bytes], str | None]]] = {
    "org.apache.kafka.tools.api.StringDecoder": lines.java_text,
    "org.apache.kafka.tools.api.LongDecoder": _decode_integer(8),
    "org.apache.kafka.tools.api.IntegerDecoder": _decode_integer(4),
}
_STRING: Final = DECODERS["org.apache.kafka.tools.api.StringDecoder"]


@dataclass(frozen=True, slots=True)
class Options:
    """What the official tool's options say, and kafkalog's own `dialect` and `escape` (for terminals)."""

    deep_iteration: bool = False
    print_data_log: bool = False
    skip_record_metadata: bool = False
    verify_index_only: bool = False
    index_sanity_check: bool = False
    max_bytes: int | None = None
    max_message_size: int = 5 * 1024 * 1024
    key_decoder: Callable[[bytes], str | None] = _STRING
    value_decoder: Callable[[bytes], str | None] = _STRING
    internal: Internal | None = None
    dialect: str = "4.3"
    escape: bool = False

    @property
    def deep(self) -> bool:
        """Say whether records are read."""
        return self.deep_iteration or self.print_data_log or self.internal is not None


def java_path(path: str) -> str:
    """Write a path as java.io.File does: slashes once, none at the end. A URI stays what it is."""
    if is_remote(path):
        return path
    text = re.sub(r"/+", "/", path)
    return text if text == "/" else text.rstrip("/")


class KafkaText:
    """Writes the tool's text to `out` and collects its summaries until `summaries` asks for them."""

    def __init__(self, out: BinaryIO, options: Options, report: Callable[[Finding], None]) -> None:
        self.out = out
        self.options = options
        self.report = report
        literals = _Literals()
        self.template = _template(
            [_LEGACY + _tail(_NO_TIMESTAMP), _LEGACY + _tail(_TIMESTAMP_TYPE), _CURRENT], literals
        )
        first_payload = " payload: " if options.dialect == "4.2" else "| payload: "
        texts = (
            "| offset: ", " CreateTime: ", " LogAppendTime: ", " keySize: ", " valueSize: ", " sequence: ",
            " headerKeys: [", "]", " key: ", " payload: ", "| key: ", first_payload,
            " endTxnMarker: ABORT coordinatorEpoch: ", " endTxnMarker: COMMIT coordinatorEpoch: ",
        )  # fmt: skip
        self.pieces = array("q", [cell for text in texts for cell in literals.add(text)])
        self.literals = bytes(literals.data) + bytes(32)  # the kernel copies short ones in steps of 32
        self.buffer = bytearray(_OUT)
        self.used = 0
        self.index_mismatches: dict[str, list[tuple[int, int]]] = {}
        self.time_errors: list[tuple[str, kafkalog.TimeIndexErrors]] = []
        self.breaks: dict[str, array[int]] = {}
        self.undecoded: dict[tuple[str, str], list[Any]] = {}
        self.current = ""  # the file that is written
        self.last_file = ""
        self.last_offset = 0

    # Writing.

    def flush(self) -> None:
        if self.used:
            self.out.write(memoryview(self.buffer)[: self.used])
            self.used = 0

    def line(self, text: str) -> None:
        """Write a line; its text is ours, or escaped already where that is asked for."""
        data = text.encode("utf-8", "surrogateescape") + b"\n"
        if self.used + len(data) > len(self.buffer):
            self.flush()
        if len(data) > len(self.buffer):
            self.out.write(data)
            return
        self.buffer[self.used : self.used + len(data)] = data
        self.used += len(data)

    def name(self, text: str) -> str:
        return escape(text) if self.options.escape else text

    def json(self, text: str) -> str:
        return escape_json(text) if self.options.escape else text

    # Logs.

    def begin(self, path: str) -> None:
        self.line(f"Dumping {self.name(java_path(path))}")

    def log_start(self, name: kafkalog.FileName) -> None:
        if name.kind is kafkalog.FileKind.LOG:
            if name.offset is not None:
                self.line(f"Log starting offset: {name.offset}")
        elif name.offset is None:
            self.line("KRaft bootstrap snapshot")
        else:
            self.line(f"Snapshot end offset: {name.offset}, epoch: {name.epoch}")

    def chunk(self, path: str, chunk: Chunk) -> None:
        """Write a chunk's lines, with its records' where they are asked for."""
        heads = chunk.heads
        row = 0
        if self.options.deep:
            row = self.records(path, chunk)
        while row < heads.count:
            row, self.used = lines.batch_lines(
                heads.cells, heads.capacity, row, heads.count, self.template, self.literals, self.buffer, self.used
            )
            if row < heads.count:
                self.flush()
        for finding in chunk.findings:
            if finding.code == "batch-truncated" and self.options.max_bytes is None:
                self.line(f"Found {finding.found} invalid bytes at the end of {self.name(os.path.basename(path))}")

    def batch(self, chunk: Chunk, row: int) -> None:
        """Write one batch's line."""
        if len(self.buffer) - self.used < lines.LINE_ROOM:
            self.flush()
        heads = chunk.heads
        _, self.used = lines.batch_lines(
            heads.cells, heads.capacity, row, row + 1, self.template, self.literals, self.buffer, self.used
        )

    def records(self, path: str, chunk: Chunk) -> int:
        row = 0
        for block in chunk.records():
            if block.outer is not None and row <= block.outer:
                while row <= block.outer:
                    self.batch(chunk, row)
                    row += 1
            self.note_breaks(path, block)
            row = self.block(block, row, chunk)
            for finding in block.findings:
                self.report(finding)
        return row

    def block(self, block: RecordBlock, row: int, chunk: Chunk) -> int:
        options = self.options
        heads, recs = block.heads, block.recs
        by_kernel = not (options.escape or options.internal) and options.key_decoder is options.value_decoder is _STRING
        number, at = 0, -1
        while number < recs.count:
            if by_kernel and block.outer is None:
                number, self.used, row, why = lines.record_lines(
                    block.buf, heads.cells, heads.capacity, recs.cells, recs.capacity, number, recs.count, row,
                    not options.skip_record_metadata, options.print_data_log,
                    self.template, self.literals, self.pieces, self.buffer, self.used,
                )  # fmt: skip
                if why == lines.NO_ROOM:
                    self.flush()
                if why != lines.SPECIAL:
                    continue
            elif block.outer is None:
                while row <= recs.cell(kernel.BATCH, number):
                    self.batch(chunk, row)
                    row += 1
            if recs.cell(kernel.BATCH, number) != at:
                at = recs.cell(kernel.BATCH, number)
                batch = Batch.of(heads, at)
            self.record(block, number, batch)
            number += 1
        return row

    def record(self, block: RecordBlock, number: int, batch: Batch | None = None) -> None:
        """Write one record's line the long way."""
        batch = batch or Batch.of(block.heads, block.recs.cell(kernel.BATCH, number))
        record = block.record(number)
        text = "" if self.options.skip_record_metadata else self.metadata(batch, record)
        if not batch.is_control:
            text += self.contents(record, batch)
        self.line(text)

    def text(self, data: bytes) -> str:
        return escape_bytes(data) if self.options.escape else lines.java_text(data)

    def metadata(self, batch: Batch, record: Record) -> str:
        kinds = {"create_time": "CreateTime", "log_append_time": "LogAppendTime", "none": "NoTimestampType"}
        text = (
            f"| offset: {record.offset} {kinds[batch.timestamp_type]}: {record.timestamp}"
            f" keySize: {-1 if record.key is None else len(record.key)}"
            f" valueSize: {-1 if record.value is None else len(record.value)}"
        )
        if batch.magic >= 2:
            text += (
                f" sequence: {record.sequence} headerKeys: [{','.join(self.text(key) for key, _ in record.headers)}]"
            )
        else:
            stray = "}" if self.options.dialect == "4.2" else ""
            text += f" isValid: {_FALSE_TRUE[bool(record.crc_holds)]} crc: {record.crc}{stray}"
        return text + self.control(batch, record) if batch.is_control else text

    def control(self, batch: Batch, record: Record) -> str:
        try:
            control = kafkalog.control_record(record.key, record.value)
        except kafkalog.MalformedError as error:
            self.report(kafkalog.control_finding(self.current, batch, record, error))
            return ""
        if control.coordinator_epoch is not None:
            return f" endTxnMarker: {control.name.upper()} coordinatorEpoch: {control.coordinator_epoch}"
        words = {
            "leader_change": "LeaderChange:",
            "snapshot_header": "SnapshotHeader",
            "snapshot_footer": "SnapshotFooter",
            "kraft_version": "KRaftVersion",
            "kraft_voters": "KRaftVoters",
        }
        if control.name in words:
            return f" {words[control.name]} {self.json(control.json)}"
        return f" controlType: UNKNOWN({control.type})"

    def contents(self, record: Record, batch: Batch) -> str:
        if self.options.internal:
            key, payload = self.internal(self.options.internal, record, batch)
        elif self.options.print_data_log:
            key = self.decoded(self.options.key_decoder, record.key, "key", record, batch)
            payload = self.decoded(self.options.value_decoder, record.value, "value", record, batch)
        else:
            return ""
        skip = self.options.skip_record_metadata
        text = "" if key is None else f"{'| ' if skip else ' '}key: {key}"
        if payload is not None:
            bar = "| " if skip and not text and self.options.dialect != "4.2" else " "
            text += f"{bar}payload: {payload}"
        return text

    def internal(self, internal: Internal, record: Record, batch: Batch) -> tuple[str | None, str | None]:
        """Return what the internal topic's decoder makes of a record, and keep what is wrong with it."""
        from kafkalog_cli.render.decoders import shown

        key, payload, doubtful = shown(internal, record, self.options.dialect)
        if doubtful:
            from kafkalog.log.internals import internal_findings

            for finding in internal_findings(self.current, batch, record, internal):
                self.undecoded.setdefault((self.current, finding.code), [finding, 0])[1] += 1
        return key if key is None else self.json(key), payload if payload is None else self.json(payload)

    def decoded(
        self, decoder: Callable[[bytes], str | None], data: bytes | None, what: str, record: Record, batch: Batch
    ) -> str | None:
        if data is None:
            return None
        if decoder is _STRING:
            return self.text(data)
        decoded = decoder(data)
        if decoded is None:
            first = kafkalog.key_undecodable(self.current, batch, record.offset, what, len(data))
            self.undecoded.setdefault((self.current, what), [first, 0])[1] += 1
        return decoded

    def undecodable(self) -> Iterator[Finding]:
        """Yield a finding for each file and kind of thing that a decoder cannot read, or finds odd."""
        for first, count in self.undecoded.values():
            more = f", and {count - 1} more" if count > 1 else ""
            yield first._replace(message=first.message + more)

    def note_breaks(self, path: str, block: RecordBlock) -> None:
        """Keep the pairs of offsets that do not follow each other."""
        recs = block.recs
        if not recs.count:
            return
        kept = self.breaks.setdefault(path, array("q"))
        previous = self.last_offset if self.last_file == path else None
        found = array("q", bytes(8 * recs.count))
        offsets = recs.column(kernel.OFFSET)
        start = offsets[0] - 1 if previous is None else previous
        for i in found[: lines.breaks(recs.cells, recs.capacity, recs.count, start, found)]:
            kept.extend((offsets[i - 1] if i else start, offsets[i]))
        self.last_file, self.last_offset = path, offsets[recs.count - 1]

    # Side files.

    def offset_index(self, path: str, check: kafkalog.OffsetIndexCheck) -> None:
        """Write an offset index's entries and keep what does not agree with the log."""
        shown = self.name(java_path(path))
        if not check.slots:
            self.line(f"{shown} is empty.")
            return
        if self.options.index_sanity_check:
            if check.sane:
                self.line(f"{shown} passed sanity check.")
            return
        for entry in check.listed:
            if not self.options.verify_index_only:
                self.line(f"offset: {entry.offset} position: {entry.position}")
        if check.mismatches:
            self.index_mismatches[path] = check.mismatches

    def time_index(self, path: str, check: kafkalog.TimeIndexCheck) -> None:
        """Write a time index's entries and keep what does not agree with the log."""
        if self.options.index_sanity_check:
            if check.sane:
                self.line(f"{self.name(java_path(path))} passed sanity check.")
            return
        for entry in check.listed:
            if not self.options.verify_index_only:
                self.line(f"timestamp: {entry.timestamp} offset: {entry.offset}")
        self.time_errors.append((path, check.errors))

    def transaction_index(self, entries: list[kafkalog.AbortedTransaction]) -> None:
        for entry in entries:
            self.line(
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
            elif self.options.dialect == "4.2":
                text += " "
            self.line(text)

    def plain(self, row: tuple[object, ...], names: tuple[str, ...]) -> None:
        """Write a row of a file that the official tool does not know, in its manner."""
        self.line(" ".join(f"{name}: {self.name(str(value))}" for name, value in zip(names, row, strict=True)))

    # Summaries.

    def summaries(self) -> list[str]:
        """Return what the tool writes to standard error behind all files."""
        text: list[str] = []
        scala = self.options.dialect == "4.2"
        for path, mismatches in self.index_mismatches.items():
            text.append(f"Mismatches in :{self.absolute(path)}")
            pairs = list(reversed(mismatches)) if scala else sorted(dict(mismatches).items(), reverse=True)
            text += [f"  Index offset: {index}, log offset: {log}" for index, log in pairs]
        for path, errors in self.time_errors:
            if errors.mismatches:
                text.append(f"Found timestamp mismatch in :{self.absolute(path)}")
                text += [f"  Index timestamp: {index}, log timestamp: {log}" for index, log in errors.mismatches]
        for path, errors in self.time_errors:
            if errors.out_of_order:
                text.append(f"Found out of order timestamp in :{self.absolute(path)}")
                text += [
                    f"  Index timestamp: {index}, Previously indexed timestamp: {before}"
                    for index, before in errors.out_of_order
                ]
        for path, errors in self.time_errors:
            if errors.not_found:
                where = "the log." if scala else f":{self.absolute(path)}"
                text.append(f"The following indexed offsets are not found in {where}")
                text += [f"Indexed offset: {index}, found log offset: {log}" for index, log in errors.not_found]
        for path, cells in self.breaks.items():
            pairs = list(zip(cells[::2], cells[1::2], strict=True))
            if not pairs:
                continue
            pairs = pairs[::-1] if scala else sorted(dict(pairs).items())
            text.append(f"Non-consecutive offsets in {self.absolute(path)}")
            text += [f"  {before} is followed by {after}" for before, after in pairs]
        return text

    def absolute(self, path: str) -> str:
        return path if is_remote(path) else str(Path(java_path(path)).absolute())
