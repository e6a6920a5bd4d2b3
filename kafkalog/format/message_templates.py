"""The programs by which ``message_text`` writes messages as JSON, made from what the reading programs fill."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from typing import Final

from kafkalog.format import message_ops as ops
from kafkalog.format.message_program import MISSING, Program, ProgramSet, ReadField, Structure
from kafkalog.format.message_tables import UNKNOWN_TAGS
from kafkalog.format.schema import Value

__all__ = ["JsonPrograms"]

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
