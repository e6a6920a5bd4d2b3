"""The consumer protocol inside of classic groups' records: what members subscribe to and are assigned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kafkalog.format import message_kinds
from kafkalog.format import message_ops as ops
from kafkalog.format.batch import CellTable
from kafkalog.format.definitions import message
from kafkalog.format.kernel import Bytes
from kafkalog.format.message_program import Program, ProgramSet, ReadField, Structure
from kafkalog.format.message_tables import MessageTables

__all__ = ["MEMBER_FIELDS", "ConsumerProtocol"]

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

    def read(self, buf: Bytes, tables: MessageTables) -> None:
        """Read what is inside of the groups that `tables` have, whose bytes are `buf`."""
        for group in self._groups:
            if tables.rows(group.table):
                fields = {field.name: field for field in group.structure.fields}
                self._group(buf, tables, group.table, fields["protocolType"], fields["members"])

    def _group(self, buf: Bytes, tables: MessageTables, table: int, kind: ReadField, members: ReadField) -> None:
        assert isinstance(members.of, ReadField)
        assert isinstance(members.of.of, Structure)
        child, count = members.child, tables.rows(members.child)
        for field in members.of.of.fields:
            if not field.is_linked:
                continue
            program, newest = self._versions[field.name]
            inside = CellTable(len(ops.MESSAGE_COLUMNS), count)
            inside.count = count
            types, lists, data = (
                [tables.column(of, one.column + number) for number in (0, 1)]
                for of, one in ((table, kind), (table, members), (child, field))
            )
            message_kinds.embedded(
                buf, types[0], types[1], lists[0], lists[1], data[0], data[1], _TYPE, program, newest, inside.cells,
                count,
            )  # fmt: skip
            tables.read(buf, inside)
            for column, cells in ((2, ops.M_PROGRAM), (3, ops.M_ROW)):
                tables.column(child, field.column + column)[:] = inside.column(cells)
