"""The lines of batches and records as the kernel's formatter reads them: literals and the values between."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Final, NamedTuple

from kafkalog.kafka.compression import CODECS
from kafkalog.kernel import buffers, kafka_text

__all__ = ["FALSE_TRUE", "LineTemplate", "line_template"]

FALSE_TRUE: Final = ("false", "true")
_CODEC_WORDS: Final = (*CODECS, "unknown(5)", "unknown(6)", "unknown(7)")
_WORDS_AT: Final = 5  # the step's cell that says where its words are
_OVERRUN: Final = 32  # bytes: the kernel copies short literals in steps of this size


class _Step(NamedTuple):
    """A literal of a line and the value after it; `other` is the second column that a value may need."""

    text: str
    kind: int = kafka_text.NOTHING
    column: int = 0
    mask: int = 0
    words: tuple[str, ...] = ()
    other: int = 0


def _integer(name: str, column: int) -> _Step:
    return _Step(f" {name}: ", kafka_text.INTEGER, column)


def _flag(name: str, column: int, mask: int) -> _Step:
    return _Step(f" {name}: ", kafka_text.FLAG, column, mask, FALSE_TRUE)


def _tail(timestamp_type: _Step) -> list[_Step]:
    return [
        _integer("position", buffers.POSITION),
        timestamp_type,
        _Step(": ", kafka_text.INTEGER, buffers.MAX_TIMESTAMP),
        _integer("size", buffers.SIZE),
        _integer("magic", buffers.MAGIC),
        _Step(" compresscodec: ", kafka_text.WORD, buffers.ATTRIBUTES, 7, _CODEC_WORDS),
        _integer("crc", buffers.CRC),
        _flag("isvalid", buffers.VALID, 1),
        _Step("\n"),
    ]


_TIMESTAMP_TYPE: Final = _Step(" ", kafka_text.FLAG, buffers.ATTRIBUTES, 8, ("CreateTime", "LogAppendTime"))
_NO_TIMESTAMP: Final = _Step(" NoTimestampType")
_LEGACY: Final = [_Step("offset: ", kafka_text.INTEGER, buffers.LAST_OFFSET)]
_CURRENT: Final = [
    _Step("baseOffset: ", kafka_text.INTEGER, buffers.BASE_OFFSET),
    _integer("lastOffset", buffers.LAST_OFFSET),
    _integer("count", buffers.COUNT),
    _integer("baseSequence", buffers.BASE_SEQUENCE),
    _integer("lastSequence", buffers.LAST_SEQUENCE),
    _integer("producerId", buffers.PRODUCER_ID),
    _integer("producerEpoch", buffers.PRODUCER_EPOCH),
    _integer("partitionLeaderEpoch", buffers.LEADER_EPOCH),
    _flag("isTransactional", buffers.ATTRIBUTES, 0x10),
    _flag("isControl", buffers.ATTRIBUTES, 0x20),
    _Step(
        " deleteHorizonMs: ",
        kafka_text.OPTIONAL,
        buffers.ATTRIBUTES,
        0x40,
        ("OptionalLong[", "]", "OptionalLong.empty"),
        buffers.BASE_TIMESTAMP,
    ),
    *_tail(_TIMESTAMP_TYPE),
]
# By magic.
_BATCHES: Final = (_LEGACY + _tail(_NO_TIMESTAMP), _LEGACY + _tail(_TIMESTAMP_TYPE), _CURRENT)


class LineTemplate(NamedTuple):
    """The input of ``kernel.kafka_text``: a batch's line by magic, the parts of a record's line, all their bytes."""

    batches: array[int]
    records: array[int]
    literals: bytes


def line_template(dialect: str) -> LineTemplate:
    """Lay out the lines of the official tool of a version."""
    literals = _Literals()
    batches = _laid_out(_BATCHES, literals)
    first_payload = " payload: " if dialect == "4.2" else "| payload: "
    texts = (
        "| offset: ", " CreateTime: ", " LogAppendTime: ", " keySize: ", " valueSize: ", " sequence: ",
        " headerKeys: [", "]", " key: ", " payload: ", "| key: ", first_payload,
        " endTxnMarker: ABORT coordinatorEpoch: ", " endTxnMarker: COMMIT coordinatorEpoch: ",
    )  # fmt: skip
    records = array("q", [cell for text in texts for cell in literals.add(text)])
    return LineTemplate(batches, records, bytes(literals.data) + bytes(_OVERRUN))


class _Literals:
    """Bytes that lines are made of, each stored once."""

    def __init__(self) -> None:
        self.data = bytearray()

    def add(self, text: str) -> tuple[int, int]:
        """Return where a text's bytes are and how many."""
        encoded = text.encode()
        at = self.data.find(encoded)
        if at < 0:
            at = len(self.data)
            self.data += encoded
        return at, len(encoded)


def _laid_out(programs: Sequence[list[_Step]], literals: _Literals) -> array[int]:
    """Lay the lines' steps and words out as ``kernel.kafka_text`` reads them."""
    cells = array("q", [0] * len(programs))
    words_at: list[tuple[int, tuple[str, ...]]] = []
    for number, steps in enumerate(programs):
        cells[number] = len(cells)
        for step in steps:
            words_at.append((len(cells) + _WORDS_AT, step.words))
            cells.extend([*literals.add(step.text), step.kind, step.column, step.mask, 0, step.other])
        cells.append(-1)
    for at, words in words_at:
        cells[at] = len(cells)
        for word in words:
            cells.extend(literals.add(word))
    return cells
