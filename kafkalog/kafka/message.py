"""Kafka's generated-message encoding: one message as values.

It reads as Kafka's own code does and is as lenient: a negative version is read as version 0, one above the newest as
the newest unless there is a nested structure, the size of a tagged field counts only if its tag is unknown, and bytes
after the last field are left to the caller. What Kafka only tolerates becomes a remark.

The kernel's loop reads; many messages are read at once, into columns, by ``MessageTables``.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from kafkalog.kafka.batch import CellTable
from kafkalog.kafka.message_primitives import MalformedError, Text
from kafkalog.kafka.message_program import Program, ProgramSet, known_version
from kafkalog.kafka.message_schema import EVERY_RELEASE, Message, Release, Value
from kafkalog.kafka.message_tables import UNKNOWN_TAGS, MessageTables
from kafkalog.kernel import message_ops as ops
from kafkalog.kernel.buffers import Bytes

__all__ = ["UNKNOWN_TAGS", "Decoded", "MalformedError", "decode", "escaped_text"]

_ROOM = 4  # rows of a table at first
_MOST_CELLS = 1 << 21  # a cell becomes some hundred bytes of values


class Decoded(NamedTuple):
    """A message: its fields in the schema's order, how many bytes they took, and the oddities that Kafka accepts.

    A tagged field that has its default is left out; unknown tags are kept as `UNKNOWN_TAGS`.
    """

    fields: dict[str, Value]
    taken: int
    remarks: tuple[str, ...]


def escaped_text(data: bytes) -> str:
    """Read UTF-8; bytes that are not UTF-8 are escaped with backslashes."""
    return data.decode("utf-8", "backslashreplace")


def decode(
    message: Message, version: int, data: Bytes, *, release: Release = EVERY_RELEASE, text: Text = escaped_text
) -> Decoded:
    """Read `data` as `message` in `version`, with the fields that `release` knows and strings as `text` reads them.

    Raises MalformedError if the bytes are not such a message, or very many.
    """
    if len(data) > ops.MOST_BYTES:
        raise MalformedError(f"the message has {len(data)} bytes, more than are read of one message")
    programs, program = _program(message, known_version(message, version), release)
    tables, one = MessageTables(programs, _ROOM, _MOST_CELLS), CellTable(len(ops.MESSAGE_COLUMNS), 1)
    one.count = 1
    one.set(ops.M_SIZE, 0, len(data))
    tables.read(data, one)
    error = tables.error(one, 0, version)
    if error is not None:
        raise error
    fields = tables.values(program.structure, one.cell(ops.M_ROW, 0), text)
    return Decoded(fields, one.cell(ops.M_TAKEN, 0), tuple(remark.text for remark in tables.remarks()))


@lru_cache(maxsize=512)
def _program(message: Message, version: int, release: Release) -> tuple[ProgramSet, Program]:
    programs = ProgramSet()
    return programs, programs.add(message, version, release)
