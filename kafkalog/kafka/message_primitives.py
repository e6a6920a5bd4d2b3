"""What generated messages are made of, outside the programs that read them: numbers, uuids, how text is read."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Final, TypeAlias

from kafkalog.errors import KafkaLogError
from kafkalog.kernel import message_ops as ops

__all__ = ["FIXED", "MalformedError", "Text", "malformed", "remark", "uuid_text", "uvarint"]

Text: TypeAlias = Callable[[bytes], str]


# What is wrong with generated messages, in words: ours, and those of Kafka's own code.


_MOST_TAGS: Final = 10000


class MalformedError(KafkaLogError, ValueError):
    """Bytes that are not a message of the schema; caught where their position is known, and reported as a finding.

    `kafka` is the message of Kafka's own code, the word null if it has none. `code` is the finding's if the bytes are a
    control record's.
    """

    def __init__(self, message: str, kafka: str = "null", *, code: str = "control-record-malformed") -> None:
        super().__init__(message)
        self.kafka = kafka
        self.code = code


def malformed(code: int, name: str, at: int, a: int, b: int, left: int) -> MalformedError:
    """Say what the loop found: the number of an error with the cells beside it; `left` bytes are left at `at`."""
    if code == ops.TOO_MANY:
        return MalformedError(f"it has more values than are read of one message, some {a:,}")
    if code == ops.TAKE_TAG:
        return _taken(f"tag {b}", at, a, left)
    return _WORDS[code](name, at, a, left)


def remark(code: int, name: str, a: int, b: int) -> str:
    """Say what Kafka tolerates."""
    if code == ops.TAG_ORDER:
        return f"tag {a} comes after tag {b}"
    if code == ops.TAG_SIZE:
        return f"{name} takes {a} bytes, but its tag's size is {b}"
    return f"{name} is {a}"


def _taken(what: str, at: int, size: int, left: int) -> MalformedError:
    if size < 0:
        return MalformedError(f"{what} at {at} has size {size}", str(size))
    kafka = f"Error reading byte array of {size} byte(s): only {left} byte(s) available"
    return MalformedError(f"{what} needs {size} bytes at {at}, found {left}", kafka)


def _long(what: str, at: int, value: int, _: int) -> MalformedError:
    kafka = f"Varint is too long, the most significant bit in the 5th byte is set, converted value: {value:x}"
    return MalformedError(f"{what} is a variable-length integer of more than 5 bytes at {at}", kafka)


def _null(name: str, at: int, _: int, __: int) -> MalformedError:
    kafka = f"non-nullable field {name} was serialized as null"
    return MalformedError(f"{name} is null before {at}, which its schema does not allow", kafka)


def _string(name: str, at: int, size: int, _: int) -> MalformedError:
    kafka = f"string field {name} had invalid length {size}"
    return MalformedError(f"{name} before {at} has length {size}, the limit is 32767", kafka)


def _elements(name: str, at: int, count: int, left: int) -> MalformedError:
    kafka = f"Tried to allocate a collection of size {count}, but there are only {left} bytes remaining."
    return MalformedError(f"{name} has {count} elements at {at}, but only {left} bytes are left", kafka)


def _tags(_: str, at: int, count: int, left: int) -> MalformedError:
    if count < 0:
        kafka = f"Invalid negative number of tagged fields {count}"
    elif count > left:
        kafka = f"Tried to read {count} tagged fields, but there are only {left} bytes remaining."
    else:
        kafka = f"Tried to read {count} tagged fields, which exceeds the maximum allowed count of {_MOST_TAGS}."
    return MalformedError(f"{count} tagged fields are declared before {at}, but only {left} bytes are left", kafka)


_WORDS: Final[dict[int, Callable[[str, int, int, int], MalformedError]]] = {
    ops.SHORT: lambda name, at, size, left: MalformedError(f"{name} needs {size} bytes at {at}, found {left}"),
    ops.ENDED: lambda name, at, _, __: MalformedError(f"{name} needs 1 byte at {at}, found 0"),
    ops.LONG_VARINT: _long,
    ops.IS_NULL: _null,
    ops.STRING_LENGTH: _string,
    ops.TAKE: _taken,
    ops.ELEMENTS: _elements,
    ops.REFUSED: lambda text, at, _, __: MalformedError(f"{text}, at {at}", text),
    ops.TAG_COUNT: _tags,
}


# The types of fixed width, as ``struct`` writes them.
FIXED: Final = {
    "bool": "?",
    "int8": "b",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "float64": "d",
    "uuid": "16s",
}


def uuid_text(data: bytes) -> str:
    """Write 16 bytes as Kafka writes a UUID: URL-safe base64 without padding."""
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def uvarint(data: bytes, at: int, what: str) -> tuple[int, int]:
    """Read an unsigned varint as Java does: into 32 bits, so that it may become negative."""
    value = shift = 0
    while True:
        if at >= len(data):
            raise MalformedError(f"{what} needs 1 byte at {at}, found 0")
        byte = data[at]
        at += 1
        value |= (byte if shift == 28 else byte & 127) << shift
        if byte < 128:
            value &= 0xFFFFFFFF
            return value - (1 << 32) if value >> 31 else value, at
        if shift == 28:
            kafka = (
                "Varint is too long, the most significant bit in the 5th byte is set, "
                f"converted value: {value & 0xFFFFFFFF:x}"
            )
            raise MalformedError(f"{what} is a variable-length integer of more than 5 bytes at {at - 5}", kafka)
        shift += 7
