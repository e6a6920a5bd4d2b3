"""The records of a block of an internal topic, read together into columns."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from kafkalog.kafka.batch import CellTable
from kafkalog.kafka.internal_records import RecordType, record_types
from kafkalog.kafka.internal_topics import Internal
from kafkalog.kafka.message import MalformedError, MessageTables, decode, escaped_text
from kafkalog.kafka.message_definitions import message
from kafkalog.kafka.message_primitives import Text
from kafkalog.kafka.message_program import Program, ProgramSet, ReadField, Structure
from kafkalog.kafka.message_schema import EVERY_RELEASE, Release, Value
from kafkalog.kernel import message_ops as ops
from kafkalog.kernel import messages as kernel_messages
from kafkalog.kernel.buffers import Bytes

__all__ = [
    "DOUBT",
    "MEMBER_FIELDS",
    "TYPE",
    "VERSION",
    "InternalBlock",
    "KindPrograms",
    "topic_programs",
    "with_protocol",
]

# The consumer protocol inside of classic groups' records: what members subscribe to and are assigned.


# The members' fields of bytes with the messages that they hold if the group is one of consumers.
MEMBER_FIELDS: Final = {"subscription": "ConsumerProtocolSubscription", "assignment": "ConsumerProtocolAssignment"}

_TYPE: Final = b"consumer"


class ConsumerProtocol:
    """Reads the messages inside of the `groups`' members, which have columns for their programs and rows.

    What can't be read stays bytes; what comes after the last field is not looked at.
    """

    def __init__(self, programs: ProgramSet, groups: Sequence[Program]) -> None:
        self.programs: list[Program] = []
        self._groups = groups
        self._versions: dict[str, tuple[int, int]] = {}  # by the field's name: version 0's program, the newest version
        for field, name in MEMBER_FIELDS.items():
            schema = message("consumer_protocol", name)
            added = [programs.add(schema, version) for version in range(schema.newest + 2)]
            self._versions[field] = added[0].number, schema.newest
            self.programs += added

    def read_assignments(self, buf: Bytes, tables: MessageTables) -> None:
        """Read what is inside of the groups that `tables` have, whose bytes are `buf`."""
        for group in self._groups:
            if tables.rows(group.table):
                fields = {field.name: field for field in group.structure.fields}
                self._group(buf, tables, group.table, fields["protocolType"], fields["members"])

    def _group(self, buf: Bytes, tables: MessageTables, table: int, kind: ReadField, members: ReadField) -> None:
        assert isinstance(members.of, ReadField)
        assert isinstance(members.of.of, Structure)
        child, count = members.child, tables.rows(members.child)
        types, lists = ([tables.column(table, one.column + number) for number in (0, 1)] for one in (kind, members))
        chosen = bytearray(max(count, 1))
        kernel_messages.members_of_type(buf, _TYPE, types[0], types[1], lists[0], lists[1], chosen)
        for field in members.of.of.fields:
            if not field.is_linked:
                continue
            program, newest = self._versions[field.name]
            inside = CellTable(len(ops.MESSAGE_COLUMNS), count)
            inside.count = count
            starts, sizes = (tables.column(child, field.column + number) for number in (0, 1))
            kernel_messages.embedded(buf, chosen, starts, sizes, program, newest, inside.cells)
            tables.read_messages(buf, inside)
            for column, cells in ((2, ops.M_PROGRAM), (3, ops.M_ROW)):
                tables.column(child, field.column + column)[:] = inside.column(cells)


TYPE, VERSION, DOUBT = range(len(ops.FACTS))

_UNKNOWN: Final = (-1, 0, 0)

_CLASSIC_GROUP: Final = "GroupMetadata"


class KindPrograms(NamedTuple):
    """A kind of record with the programs of its key, and of its value by version."""

    kind: RecordType
    key: Program | None
    values: tuple[Program, ...]


class TopicPrograms(NamedTuple):
    """The programs of a topic's records: by type, the same as `cells` for the kernel, and those for groups' members."""

    programs: ProgramSet
    kinds: dict[int, KindPrograms]
    cells: array[int]
    protocol: ConsumerProtocol | None


@lru_cache(maxsize=32)
def topic_programs(internal: Internal, release: Release, *, protocol: bool = False) -> TopicPrograms:
    """Make the programs of a topic with the schemas of a release once, and those of the consumer `protocol`."""
    programs, types = ProgramSet(), record_types(internal)
    kinds: dict[int, KindPrograms] = {}
    groups: list[Program] = []
    cells = array("q", _UNKNOWN * (max(types) + 1))
    for number, kind in types.items():
        if not kind.known_in(release):
            continue
        is_group = protocol and kind.name == _CLASSIC_GROUP
        key = None if kind.key is None else programs.add(kind.key, 0, release)
        versions = range(kind.value.newest_in(release) + 1)
        values = tuple(
            programs.add(kind.value, version, release, MEMBER_FIELDS if is_group else ()) for version in versions
        )
        groups += values if is_group else ()
        kinds[number] = KindPrograms(kind, key, values)
        cells[3 * number : 3 * number + 3] = array(
            "q", (0 if key is None else key.number, len(values), values[0].number)
        )
    return TopicPrograms(programs, kinds, cells, ConsumerProtocol(programs, groups) if groups else None)


class InternalBlock:
    """Reads one block of records after the other with the schemas that `release` knows.

    After `read`, rows of `facts`, `keys` and `values` are the block's records: the type, the version (-1 in a
    tombstone) and whether the record is in doubt; the rows of `tables` that key and value became. What a record in
    doubt is, ``internal_record`` says: it may be malformed, or read with a remark. The next block uses the same tables.
    With `protocol`, what members of classic groups subscribe to and are assigned is read, too.
    """

    def __init__(self, internal: Internal, release: Release = EVERY_RELEASE, *, protocol: bool = False) -> None:
        self.internal = internal
        self._topic = topic_programs(internal, release, protocol=protocol)
        self.kinds = self._topic.kinds
        self.tables = MessageTables(self._topic.programs)
        self._room(0)

    @property
    def is_keyed(self) -> bool:
        """Say whether the topic's records have keys, with the type in them."""
        return next(iter(self.kinds.values())).key is not None

    def _room(self, capacity: int) -> None:
        self.facts = CellTable(len(ops.FACTS), capacity)
        self.keys, self.values = (CellTable(len(ops.MESSAGE_COLUMNS), capacity) for _ in range(2))

    def read_records(self, buf: Bytes, recs: CellTable) -> None:
        """Read the records of the kernel's table `recs`, whose bytes are `buf`."""
        if self.facts.capacity != recs.capacity:
            self._room(recs.capacity)
        count, tables = recs.count, self.tables
        for table in (self.facts, self.keys, self.values):
            table.count = count
        tables.clear()
        cells = (recs.cells, count, self._topic.cells)
        messages = (self.keys, self.values) if self.is_keyed else (self.values,)
        if self.is_keyed:
            kernel_messages.keyed(buf, *cells, self.keys.cells, self.values.cells, self.facts.cells)
        else:
            kernel_messages.framed(buf, *cells, self.values.cells, self.facts.cells)
        for table in messages:
            tables.read_messages(buf, table)
            kernel_messages.doubts(count, table.cells, tables.column(0, 0), self.facts.cells)
        if self._topic.protocol is not None:
            self._topic.protocol.read_assignments(buf, tables)


def with_protocol(fields: dict[str, Value], text: Text = escaped_text) -> dict[str, Value]:
    """Return a group's fields (GroupMetadataValue) with its members' subscriptions and assignments read.

    They are the consumer protocol's if the group's protocol type says so, otherwise opaque bytes. What can't be read
    stays as it is.
    """
    if fields["protocolType"] != "consumer":
        return fields
    members = [
        {
            **member,
            "subscription": _embedded("ConsumerProtocolSubscription", member["subscription"], text),
            "assignment": _embedded("ConsumerProtocolAssignment", member["assignment"], text),
        }
        for member in fields["members"]
    ]
    return {**fields, "members": members}


def _embedded(name: str, data: bytes, text: Text) -> dict[str, Value] | bytes:
    if len(data) < 2:
        return data
    schema = message("consumer_protocol", name)
    try:
        return decode(schema, int.from_bytes(data[:2], "big", signed=True), data[2:], text=text).fields
    except MalformedError:
        return data
