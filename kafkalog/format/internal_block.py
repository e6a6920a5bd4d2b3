"""The records of a block of an internal topic, read together into columns."""

from __future__ import annotations

from array import array
from typing import Final, NamedTuple

from kafkalog.format import message_kinds
from kafkalog.format import message_ops as ops
from kafkalog.format.batch import CellTable
from kafkalog.format.internal import Internal, record_types
from kafkalog.format.kernel import Bytes
from kafkalog.format.message_program import Program, ProgramSet
from kafkalog.format.message_tables import MessageTables
from kafkalog.format.records.record_type import RecordType
from kafkalog.format.schema import EVERY_RELEASE, Release

__all__ = ["DOUBT", "TYPE", "VERSION", "InternalBlock", "KindPrograms"]

TYPE, VERSION, DOUBT = range(len(message_kinds.FACTS))
_UNKNOWN: Final = (-1, 0, 0)


class KindPrograms(NamedTuple):
    """A kind of record with the programs of its key, and of its value by version."""

    kind: RecordType
    key: Program | None
    values: tuple[Program, ...]


class InternalBlock:
    """Reads one block of records after the other with the schemas that `release` knows.

    After `read`, rows of `facts`, `keys` and `values` are the block's records: the type, the version (-1 in a
    tombstone) and whether the record is in doubt; the rows of `tables` that key and value became. What a record in
    doubt is, ``internal_record`` says: it may be malformed, or read with a remark. The next block uses the same tables.
    """

    def __init__(self, internal: Internal, release: Release = EVERY_RELEASE) -> None:
        self.internal = internal
        self.kinds: dict[int, KindPrograms] = {}
        programs = ProgramSet()
        types = record_types(internal)
        self._kinds = array("q", _UNKNOWN * (max(types) + 1))
        self._is_keyed = any(kind.key is not None for kind in types.values())
        for number, kind in types.items():
            if not kind.known_in(release):
                continue
            key = None if kind.key is None else programs.add(kind.key, 0, release)
            versions = range(kind.value.newest_in(release) + 1)
            values = tuple(programs.add(kind.value, version, release) for version in versions)
            self.kinds[number] = KindPrograms(kind, key, values)
            cells = (0 if key is None else key.number, len(values), values[0].number)
            self._kinds[3 * number : 3 * number + 3] = array("q", cells)
        self.tables = MessageTables(programs)
        self._room(0)

    def _room(self, capacity: int) -> None:
        self.facts = CellTable(len(message_kinds.FACTS), capacity)
        self.keys, self.values = (CellTable(len(ops.MESSAGE_COLUMNS), capacity) for _ in range(2))

    def read(self, buf: Bytes, recs: CellTable) -> None:
        """Read the records of the kernel's table `recs`, whose bytes are `buf`."""
        if self.facts.capacity != recs.capacity:
            self._room(recs.capacity)
        count, room, tables = recs.count, recs.capacity, self.tables
        for table in (self.facts, self.keys, self.values):
            table.count = count
        tables.clear()
        cells = (recs.cells, room, count, self._kinds)
        messages = (self.keys, self.values) if self._is_keyed else (self.values,)
        if self._is_keyed:
            message_kinds.keyed(buf, *cells, self.keys.cells, self.values.cells, self.facts.cells)
        else:
            message_kinds.framed(buf, *cells, self.values.cells, self.facts.cells)
        for table in messages:
            tables.read(buf, table)
            message_kinds.doubts(count, room, table.cells, tables.column(0, 0), self.facts.cells)
