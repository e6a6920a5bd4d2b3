"""Turns generated messages' schemas into the programs that ``messages.read_messages`` runs.

Each version of a message becomes one row of steps, and a structure that says which columns of which tables its fields
fill. Programs are made once, in sets: those of an internal topic are run together.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection
from typing import Final, NamedTuple

from kafkalog.kafka.message_primitives import FIXED
from kafkalog.kafka.message_schema import EVERY_RELEASE, Array, Message, MessageField, Release, Struct, Value
from kafkalog.kernel import message_ops as ops
from kafkalog.kernel.buffers import NONE

__all__ = ["MISSING", "Program", "ProgramSet", "ReadField", "Structure", "known_version"]

_COUNT_IS_BOUNDED: Final[Release] = (4, 4)  # older releases read tagged fields until one of them fails
_FIXED: Final = {
    "int8": ops.INT8, "int16": ops.INT16, "int32": ops.INT32, "int64": ops.INT64, "uint16": ops.UINT16,
    "uint32": ops.UINT32, "bool": ops.BOOL, "float64": ops.INT64, "uuid": ops.UUID,
}  # fmt: skip
_SIZES: Final = {"int8": 1, "int16": 2, "int32": 4, "int64": 8}
MISSING: Final = -1  # instead of 0 and 1: a structure that is missing, and has a default that is not null
_NOWHERE: Final = -1
_TEXT_DEFAULT: Final = -2  # the size of a string that is missing and has a default that is not empty


class ReadField(NamedTuple):
    """A field in a table: its first column there; `of` is its structure, or what an array has in the table `child`."""

    name: str
    kind: str  # a plain type, ``array`` or ``struct``
    column: int
    nullable: bool = False
    is_tagged: bool = False
    default: Value = None
    of: Structure | ReadField | None = None
    child: int = _NOWHERE
    is_linked: bool = False  # bytes that may hold a message


class Structure(NamedTuple):
    """The fields of a structure in a table, in the schema's order.

    `unknown` is the first of the two columns of unknown tags, which are in the table `unknown_table`.
    """

    table: int
    fields: tuple[ReadField, ...]
    unknown: int = _NOWHERE
    unknown_table: int = _NOWHERE


class Program(NamedTuple):
    """One version of a message: its number in the set, its table, and what its fields fill."""

    number: int
    table: int
    structure: Structure


def known_version(message: Message, version: int) -> int:
    """Return the version as which Kafka reads one: 0 for a negative one, and all above the newest are alike."""
    return min(max(version, 0), message.newest + 1)


class ProgramSet:
    """Programs and what they share: steps, names, and the widths of tables. `depth` is that of the deepest one."""

    def __init__(self) -> None:
        self.steps = array("q")
        self.programs = array("q")
        self.widths = [len(ops.REMARK_COLUMNS)]
        self.names = ["the count of tagged fields", "a tag", "a tagged field's size"]
        self.depth = 1
        self._numbers = {name: number for number, name in enumerate(self.names)}

    def add(
        self, message: Message, version: int, release: Release = EVERY_RELEASE, linked: Collection[str] = ()
    ) -> Program:
        """Add a version of a message, with the fields that `release` knows; those `linked` may hold a message."""
        start, first = len(self.steps), len(self.widths)
        maker = _Maker(self, message, known_version(message, version), release, linked)
        table = self.table()
        structure = maker.structure(message.fields, table, 1)
        maker.step(ops.END)
        number = len(self.programs) // ops.PROGRAM
        self.programs.extend((start, table, first, len(self.widths)))
        return Program(number, table, structure)

    def table(self) -> int:
        """Add a table without columns."""
        self.widths.append(0)
        return len(self.widths) - 1

    def columns(self, table: int, count: int) -> int:
        """Add columns to a table: the first one's number."""
        first = self.widths[table]
        self.widths[table] += count
        return first

    def name(self, name: str) -> int:
        """Return a name's number."""
        if name not in self._numbers:
            self._numbers[name] = len(self.names)
            self.names.append(name)
        return self._numbers[name]


class _Maker:
    """Makes the steps of one version of a message."""

    def __init__(
        self, to: ProgramSet, message: Message, version: int, release: Release, linked: Collection[str]
    ) -> None:
        self.to = to
        self.linked = linked
        self.version = version
        self.newest = message.newest_in(release)
        self.release = release
        self.flexible = version >= message.flexible_since or not message.flexible_since
        self.short = ops.COMPACT if self.flexible else ops.PLAIN16
        self.int = ops.COMPACT if self.flexible else ops.PLAIN32

    def step(
        self, op: int, column: int = 0, name: str = "", nullable: bool = False,
        more: tuple[int, int, int, int] = (0, 0, 0, 0),
    ) -> int:  # fmt: skip
        at = len(self.to.steps)
        self.to.steps.extend((op, column, self.to.name(name), int(nullable), *more))
        return at

    def structure(self, fields: tuple[MessageField, ...], table: int, depth: int) -> Structure:
        known = [field for field in fields if field.since <= self.newest and field.release <= self.release]
        made = {field.name: self.field(field, table, depth) for field in known if field.tag is None and self.has(field)}
        if not self.flexible:
            return Structure(table, tuple(made[field.name] for field in known if field.name in made))
        unknown = self.to.columns(table, 2)
        unknown_table = self.to.table()
        self.to.columns(unknown_table, 3)
        tagged = self.tags([field for field in known if field.tag is not None], table, depth, unknown, unknown_table)
        made |= tagged
        order = tuple(made[field.name] for field in known if field.name in made)
        return Structure(table, order, unknown, unknown_table)

    def has(self, field: MessageField) -> bool:
        return field.since <= self.version <= field.until

    def field(self, field: MessageField, table: int, depth: int) -> ReadField:
        nullable = self.version >= field.nullable_since
        made = self.value(field.type, field.name, table, depth, nullable=nullable, tagged=field.tag is not None)
        return made._replace(is_tagged=field.tag is not None, default=field.fallback)

    def value(
        self, kind: str | Array | Struct, name: str, table: int, depth: int, *, nullable: bool = False,
        tagged: bool = False,
    ) -> ReadField:  # fmt: skip
        if isinstance(kind, Struct):
            return self.struct(kind, name, table, depth, nullable=nullable, tagged=tagged)
        if isinstance(kind, Array):
            return self.array(kind.of, name, table, depth, nullable=nullable)
        if kind in FIXED:
            column = self.to.columns(table, 1)
            self.step(_FIXED[kind], column, name)
        else:
            is_text = kind == "string"
            is_linked = name in self.linked
            column = self.to.columns(table, 4 if is_linked else 2)
            length = self.short if is_text else self.int
            self.step(ops.STRING if is_text else ops.BYTES, column, name, nullable, (length, 0, 0, 0))
            return ReadField(name, kind, column, nullable, is_linked=is_linked)
        return ReadField(name, kind, column, nullable)

    def struct(
        self, kind: Struct, name: str, table: int, depth: int, *, nullable: bool, tagged: bool
    ) -> ReadField:  # fmt: skip
        if self.version > self.newest:
            self.step(ops.REFUSE, 0, f"Can't read version {{version}} of {kind.name}")
            return ReadField(name, "struct", self.to.columns(table, 1), True, of=Structure(table, ()))
        if not nullable:
            if tagged:
                raise ValueError(f"{name}: no message has a tagged structure that can't be null")
            return ReadField(name, "struct", _NOWHERE, of=self.structure(kind.fields, table, depth))
        column = self.to.columns(table, 1)
        at = self.step(ops.MARK, column, f"the mark of {name}", more=(int(tagged), 0, column + 1, 0))
        inner = self.structure(kind.fields, table, depth)
        self.to.steps[at + 5] = len(self.to.steps)
        self.to.steps[at + 7] = self.to.widths[table]
        return ReadField(name, "struct", column, nullable, of=inner)

    def array(self, of: str | Struct | Array, name: str, table: int, depth: int, *, nullable: bool) -> ReadField:
        column = self.to.columns(table, 2)
        child = self.to.table()
        element = f"{name} element"
        if isinstance(of, str) and of in _SIZES:
            self.to.columns(child, 1)
            numbers = (self.int, child, _SIZES[of], self.to.name(element))
            self.step(ops.NUMBERS, column, name, nullable, numbers)
            return ReadField(name, "array", column, nullable, of=ReadField(element, of, 0), child=child)
        self.to.depth = max(self.to.depth, depth + 1)
        at = self.step(ops.ARRAY, column, name, nullable, (self.int, child, 0, 0))
        made = self.value(of, element, child, depth + 1)
        self.step(ops.ELEMENT_END, more=(table, 0, 0, 0))
        self.to.steps[at + 6] = len(self.to.steps)
        return ReadField(name, "array", column, nullable, of=made, child=child)

    def tags(
        self, fields: list[MessageField], table: int, depth: int, unknown: int, unknown_table: int
    ) -> dict[str, ReadField]:
        """Make the steps of a structure's tagged fields, those of each field after the step that finds its tag."""
        self.to.depth = max(self.to.depth, depth + 1)
        bounded = int(self.release >= _COUNT_IS_BOUNDED)
        name = self.to.names[ops.COUNT_OF_TAGS]
        begin = self.step(ops.TAGS, unknown, name, more=(0, 0, bounded, unknown_table))
        self.step(ops.TAG_NEXT)
        made: dict[str, ReadField] = {}
        starts: list[int] = []
        cells = [unknown, 0, unknown + 1, 0]
        for field in fields:
            starts += [field.tag or 0, len(self.to.steps)]
            if self.has(field):
                before = self.to.widths[table]
                one = made[field.name] = self.field(field, table, depth + 1)
                for column in range(before, self.to.widths[table]):
                    cells += [column, _missing(one, column - one.column)]
            else:
                self.step(ops.REFUSE, 0, f"Tag {field.tag} is not valid for version {{version}}")
            self.step(ops.TAG_END, 0, field.name)
        at = len(self.to.steps)
        self.to.steps.extend((len(cells) // 2, *cells, len(starts) // 2, *starts))
        self.to.steps[begin + 4] = at
        self.to.steps[begin + 5] = len(self.to.steps)
        return made


def _missing(field: ReadField, number: int) -> int:
    """Return what the `number`-th column of a tagged field has where the field is missing."""
    default = field.default
    if field.kind == "array":
        return (0, -1 if default is None else 0)[number]
    if field.kind in ("string", "bytes"):
        return (0, -1 if default is None else _TEXT_DEFAULT if default else 0)[number]
    if field.kind == "struct":
        return NONE if number else 0 if default is None else MISSING
    return _NOWHERE if field.kind == "uuid" else int(default)
