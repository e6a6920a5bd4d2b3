"""Messages as JSON: as Kafka's own converters write them, and as values for kafkalog's rows."""

from __future__ import annotations

import base64
import json.encoder
import math
import re
from array import array
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from kafkalog.kafka.batch import CellTable
from kafkalog.kafka.message import UNKNOWN_TAGS, MessageTables
from kafkalog.kafka.message_program import MISSING, Program, ProgramSet, ReadField, Structure
from kafkalog.kafka.message_schema import Value
from kafkalog.kernel import message_ops as ops
from kafkalog.kernel import messages as kernel_messages
from kafkalog.kernel.buffers import Bytes

__all__ = ["JSON_ENCODERS", "JsonPrograms", "JsonTexts", "kafka_json", "plain"]


# Values as text, by the dialects of rows: as ``messages.write_messages`` writes them.
JSON_ENCODERS: Final[dict[int, Callable[[Value], str]]] = {
    ops.ASCII_JSON: json.JSONEncoder(separators=(",", ":")).encode,
    ops.SPACED_JSON: json.JSONEncoder(ensure_ascii=False).encode,
}

_LOWER: Final = [text for number in range(32) if (text := f"\\u{number:04x}") != f"\\u{number:04X}"]

# A number that is not an integer, or text in a string that looks like one.
_DOUBLE: Final = re.compile(r'(?:^|[":,\[])-?(?:\d+\.|\d+e|Infinity|NaN)')


def kafka_json(value: Value) -> str:
    """Write a message's fields as Kafka's generated converters do: compact, unknown tags left out."""
    text = _encoded(value)
    if UNKNOWN_TAGS in text or (_may_hold_double(text) and _DOUBLE.search(text)):
        text = _slowly(value)
    if "\\u00" in text:  # Java writes these digits in upper case
        text = text.replace("\\\\", "\0")  # what is after an escaped backslash is no escape
        for lower in _LOWER:
            text = text.replace(lower, f"\\u{lower[2:].upper()}")
        text = text.replace("\0", "\\\\")
    return text


def _may_hold_double(text: str) -> bool:
    """Say whether a text may contain a double, fast for most texts: the search is slow."""
    return "." in text or "e-" in text or "e+" in text or "N" in text or "I" in text


def _slowly(value: Value) -> str:
    """Write what the encoder of the standard library writes differently: doubles and fields that are left out."""
    if isinstance(value, dict):
        members = (f'"{name}":{_slowly(content)}' for name, content in value.items() if name != UNKNOWN_TAGS)
        return f"{{{','.join(members)}}}"
    if isinstance(value, list):
        return f"[{','.join(map(_slowly, value))}]"
    return java_double(value) if isinstance(value, float) else _encoded(value)


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _encoder() -> Callable[[Value], str]:
    """Make the encoder of the standard library once: ``json.dumps`` makes one for every call."""
    pieces = getattr(json.encoder, "c_make_encoder", None)
    if pieces is None:
        return json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=_base64).encode
    encode = pieces(None, _base64, json.encoder.encode_basestring, None, ":", ",", False, False, True)
    return lambda value: "".join(encode(value, 0))


_encoded: Final = _encoder()


def java_double(number: float) -> str:
    """Write a double as Java does; NaN and infinities in quotes."""
    if math.isnan(number) or math.isinf(number):
        return f'"{"NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"}"'
    if not number:
        return f"{number}"
    sign = "-" if number < 0 else ""
    digits, exponent = _shortest(abs(number))
    figures = digits.replace(".", "").rstrip("0")
    point = int(exponent) + 1  # the point's place in the figures
    if -3 < point <= 0:
        return f"{sign}0.{'0' * -point}{figures}"
    if 0 < point <= 7:  # from 10^7 on Java writes an exponent
        return f"{sign}{figures[:point].ljust(point, '0')}.{figures[point:] or '0'}"
    return f"{sign}{figures[0]}.{figures[1:] or '0'}E{point - 1}"


def _shortest(number: float) -> tuple[str, int]:
    """Return the fewest digits that identify a number, at least two, and the exponent of the first."""
    for places in range(1, 17):
        text = f"{number:.{places}e}"
        if float(text) == number:
            break
    digits, _, exponent = text.partition("e")
    return digits, int(exponent)


def plain(value: Value) -> Value:
    """Make a message's fields values of JSON: bytes in base64, unknown tags as objects of tag and data."""
    if isinstance(value, dict):
        return {
            name: [{"tag": tag, "data": plain(data)} for tag, data in content]
            if name == UNKNOWN_TAGS
            else plain(content)
            for name, content in value.items()
        }
    if isinstance(value, list):
        return [plain(one) for one in value]
    if isinstance(value, bytes):
        return _base64(value)
    if isinstance(value, float) and not math.isfinite(value):
        return json.loads(java_double(value))
    return value


# The programs by which ``messages.write_messages`` writes messages as JSON, made from what the reading programs fill.


_BEGIN: Final = b"nullAAAAAAAAAAAAAAAAAAAAAAtruefalse"

_KINDS: Final = {"bool": ops.W_BOOL, "uuid": ops.W_UUID, "float64": ops.W_SPECIAL}


class JsonPrograms:
    """Programs that write the messages of a set of reading programs.

    `words` are what numbers in a field are written as, by its name; `dialect` is one of ``message_ops``.
    """

    def __init__(
        self, programs: ProgramSet, words: Mapping[str, Sequence[str]] | None = None, dialect: int = ops.KAFKA_JSON
    ) -> None:
        self.dialect = dialect
        blank = " " if dialect == ops.SPACED_JSON else ""
        self._comma, self._colon = f",{blank}", f":{blank}"
        self.steps = array("q")
        self.literals = bytearray(_BEGIN)
        self.programs = array("q", (0, 0)) * (len(programs.programs) // ops.PROGRAM)
        self._words = {name: self._listed(texts) for name, texts in (words or {}).items()}
        self._known: dict[bytes, int] = {}
        tag = f'{{"tag"{self._colon}'
        _, self._around_tags = self._listed(
            (f"[{tag}", f'{self._comma}"data"{self._colon}"', f'"}}{self._comma}{tag}', '"}]')
        )

    def add(self, program: Program, before: str = "", after: str = "") -> None:
        """Write a program's messages with text before and after their fields, which are in braces."""
        self.programs[2 * program.number : 2 * program.number + 2] = array("q", (len(self.steps), program.table))
        self._literal(before)
        self._structure(program.structure)
        self._literal(after)
        self._step(ops.W_RETURN)

    def _listed(self, texts: Sequence[str]) -> tuple[int, int]:
        """Put words where no step is: their number, and where their places are."""
        places = []
        for text in texts:
            places += [len(self.literals), len(text)]
            self.literals += text.encode()
        at = len(self.steps)
        self.steps.extend(places)
        return len(texts), at

    def _step(
        self, op: int, literal: str = "", column: int = 0, tagged: bool = False, more: tuple[int, int, int] = (0, 0, 0)
    ) -> int:
        data = literal.encode()
        if data not in self._known:
            self._known[data] = len(self.literals)
            self.literals += data
        at = len(self.steps)
        self.steps.extend((op, self._known[data], len(data), column, int(tagged), *more))
        return at

    def _literal(self, text: str) -> None:
        if text:
            self._step(ops.W_LITERAL, text)

    def _structure(self, structure: Structure) -> None:
        self._literal("{")
        comma, certain = "", False
        for field in structure.fields:
            if field.is_tagged:
                comma = self._comma  # the loop leaves it out where nothing is before it
            elif comma and not certain:
                self._step(ops.W_SPECIAL)  # no message has such a field after tagged ones alone
            self._field(field, f'{comma}"{field.name}"{self._colon}')
            comma, certain = self._comma, certain or not field.is_tagged
        if structure.unknown >= 0 and self.dialect != ops.KAFKA_JSON:
            literal = f'{self._comma}"{UNKNOWN_TAGS}"{self._colon}'
            more = (0, structure.unknown_table, self._around_tags)
            self._step(ops.W_UNKNOWN, literal, structure.unknown, True, more)
        self._literal("}")

    def _field(self, field: ReadField, literal: str) -> None:
        kind, column, tagged = field.kind, field.column, field.is_tagged
        if kind == "struct":
            self._struct(field, literal)
        elif kind == "array":
            self._array(field, literal)
        elif kind in ("string", "bytes"):
            size = -1 if field.default is None else 0
            if field.is_linked:
                self._step(ops.W_EMBEDDED, literal, column)
            else:
                op = ops.W_STRING if kind == "string" else ops.W_BASE64
                self._step(op, literal, column, tagged, (0, size, 0))
        elif field.name in self._words:
            self._step(ops.W_WORD, literal, column, more=(*self._words[field.name], 0))
        else:
            self._step(_KINDS.get(kind, ops.W_INTEGER), literal, column, tagged, (_number(field.default), 0, 0))

    def _struct(self, field: ReadField, literal: str) -> None:
        assert isinstance(field.of, Structure)
        if not field.nullable:
            self._literal(literal)
            self._structure(field.of)
            return
        missing = 0 if field.default is None else MISSING
        at = self._step(ops.W_STRUCT, literal, field.column, field.is_tagged, (missing, 0, 0))
        self._structure(field.of)
        self.steps[at + 7] = len(self.steps)

    def _array(self, field: ReadField, literal: str) -> None:
        assert isinstance(field.of, ReadField)
        missing = -1 if field.default is None else 0
        at = self._step(ops.W_ARRAY, literal, field.column, field.is_tagged, (missing, field.child, 0))
        self._field(field.of, "")
        self._step(ops.W_ELEMENT_END)
        self.steps[at + 7] = len(self.steps)


def _number(default: Value) -> int:
    return int(default) if isinstance(default, int) else 0


# Messages that were read as JSON, one after the other in a buffer that the next block of them uses again.


_FIRST_ROOM: Final = 1 << 16


class JsonTexts:
    """Writes the messages of `tables` by the programs of `json`; their texts are the `used` bytes of `content`."""

    def __init__(self, json: JsonPrograms, tables: MessageTables) -> None:
        self.content = bytearray(_FIRST_ROOM)
        self.json = json
        self.tables = tables
        self.stack: array[int] | memoryview = array("q", bytes(8 * ops.FRAME * 2 * (tables.programs.depth + 2)))
        self.used = 0

    def clear(self) -> None:
        """Forget all texts."""
        self.used = 0

    def write_messages(self, buf: Bytes, messages: CellTable, starts: memoryview, sizes: memoryview) -> set[int]:
        """Write messages, whose bytes are `buf`, and where each of them is; return those that only `put` can write."""
        done = 0
        special: set[int] = set()
        while True:
            done, self.used, why = kernel_messages.write_messages(buf, messages, done, self, starts, sizes)
            if why == kernel_messages.DONE:
                return special
            if why == kernel_messages.NO_ROOM:
                self.content += bytes(len(self.content))
            else:
                special.add(done)
                done += 1

    def put(self, text: str) -> tuple[int, int]:
        """Add a text: return where it begins, and its size."""
        data = text.encode("utf-8", "surrogateescape")
        start = self.used
        self.content[start : start + len(data)] = data
        self.used += len(data)
        return start, len(data)
