"""The records of internal topics as Kafka's own decoders write them, and as JSON in rows, a block at a time."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final

from kafkalog.kafka.batch import CellTable
from kafkalog.kafka.control import CONTROL_MESSAGES
from kafkalog.kafka.internal_block import DOUBT, InternalBlock, KindPrograms, topic_programs
from kafkalog.kafka.internal_topics import Internal
from kafkalog.kafka.message import MessageTables
from kafkalog.kafka.message_definitions import message
from kafkalog.kafka.message_json import JsonPrograms, JsonTexts
from kafkalog.kafka.message_program import ProgramSet
from kafkalog.kafka.message_schema import Release
from kafkalog.kafka.transaction_state import TransactionState
from kafkalog.kernel import buffers
from kafkalog.kernel import message_ops as ops
from kafkalog.kernel.buffers import Bytes

__all__ = ["STATES_BY_NAME", "BlockText", "ControlText", "metadata_word"]

STATES_BY_NAME: Final[Release] = (4, 4)  # from here on states of transactions are written as names

_DELETE: Final = "<DELETE>"

Texts = tuple[str | None, str | None]


def metadata_word(name: str) -> str:
    """Return the name of a kind of metadata record as Kafka's tools write it: TOPIC_RECORD."""
    return "".join(f"_{letter}" if letter.isupper() and at else letter for at, letter in enumerate(name)).upper()


class BlockText:
    """Writes the texts of keys and payloads of one block of records after the other, with a release's schemas.

    After `write` they are in `content`, and `places` has four columns of the records' table's capacity: start and size
    of the key's text, and of the payload's; a size of -1 is no text. Kafka's texts say the type and the version, and
    what a tombstone does; those of rows, in another `dialect` of ``message_ops``, are the fields alone.
    """

    def __init__(self, internal: Internal, release: Release, dialect: int = ops.KAFKA_JSON) -> None:
        self.places = CellTable(buffers.TEXT_COLUMNS, 0)
        self.block = InternalBlock(internal, release, protocol=True)
        self._says_delete = dialect == ops.KAFKA_JSON
        self._texts = JsonTexts(_json_programs(internal, release, dialect), self.block.tables)
        self._special: set[int] = set()

    @property
    def content(self) -> bytearray:
        """Return the buffer that has the texts."""
        return self._texts.content

    def write_records(self, buf: Bytes, recs: CellTable, slowly: Callable[[int, bool], Texts | None]) -> None:
        """Write the records of the kernel's table `recs`, whose bytes are `buf`; some of them `slowly`.

        That is called with a record's number, and whether its texts are right and only what is wrong with it must be
        found.
        """
        by_hand = self.write_most(buf, recs)
        doubts = self.block.facts.column(DOUBT)
        if 1 in doubts:
            by_hand |= {number for number in range(recs.count) if doubts[number]}
        for number in sorted(by_hand):
            texts = slowly(number, self.has(number))
            if texts is not None:
                self.put(number, texts)

    def has(self, number: int) -> bool:
        """Say whether the texts of a record in doubt are there all the same: it has a value, and only a remark."""
        block = self.block
        for messages in (block.keys, block.values) if block.is_keyed else (block.values,):
            if messages.cell(ops.M_PROGRAM, number) < 0 or messages.cell(ops.M_ERROR, number):
                return False
        has_rest = block.values.cell(ops.M_TAKEN, number) != block.values.cell(ops.M_SIZE, number)
        return number not in self._special and (block.is_keyed or not has_rest)

    def write_most(self, buf: Bytes, recs: CellTable, *, texts: bool = True) -> set[int]:
        """Write the records that can be read; return those with messages that only `put` can write.

        Without `texts`, records are only read.
        """
        block, room = self.block, recs.capacity
        block.read_records(buf, recs)
        self._texts.clear()
        self.places = places = CellTable(buffers.TEXT_COLUMNS, room)
        places.count = room
        sizes = {buffers.TEXT_KEY_SIZE: -1, buffers.TEXT_PAYLOAD_SIZE: -1}
        if self._says_delete:
            _, sizes[buffers.TEXT_PAYLOAD_SIZE] = self._texts.put(_DELETE)  # the first text
        for column, size in sizes.items():
            places.column(column)[:] = array("q", [size]) * room
        self._special = set()
        if not texts:
            return set()
        written = [(block.values, buffers.TEXT_PAYLOAD)]
        if block.is_keyed:
            written.insert(0, (block.keys, buffers.TEXT_KEY))
        for messages, column in written:
            sizes_of = places.column(column + 1)
            self._special |= self._texts.write_messages(buf, messages, places.column(column), sizes_of)
        return set(self._special)

    def put(self, number: int, texts: Texts) -> None:
        """Set the texts of one record."""
        for column, text in zip((buffers.TEXT_KEY, buffers.TEXT_PAYLOAD), texts, strict=True):
            start, size = (0, -1) if text is None else self._texts.put(text)
            self.places.set(column, number, start)
            self.places.set(column + 1, number, size)


@lru_cache(maxsize=32)
def _json_programs(internal: Internal, release: Release, dialect: int) -> JsonPrograms:
    """Make the programs that write a topic's records, once."""
    topic = topic_programs(internal, release, protocol=True)
    states = [state.name.title().replace("_", "") for state in TransactionState]
    by_name = dialect == ops.KAFKA_JSON and internal is Internal.TRANSACTION_LOG and release >= STATES_BY_NAME
    json = JsonPrograms(topic.programs, {"transactionStatus": states} if by_name else {}, dialect)
    for kind in topic.kinds.values():
        _add_kind(json, kind)
    for program in topic.protocol.programs if topic.protocol is not None else ():
        json.add(program)
    return json


def _add_kind(json: JsonPrograms, of: KindPrograms) -> None:
    """Add the programs of a kind of record; what Kafka writes says what they are."""
    kind, key, values = of
    if json.dialect != ops.KAFKA_JSON:
        for program in (key, *values):
            if program is not None:
                json.add(program)
        return
    if key is not None:
        json.add(key, f'{{"type":"{kind.number}","data":', "}")
    for version, value in enumerate(values):
        name = f'"type":"{metadata_word(kind.name)}",' if key is None else ""
        said = f'"{version}"' if key is not None else f"{version}"
        json.add(value, f'{{{name}"version":{said},"data":', "}")


# The messages of KRaft's control records as JSON, those of a block together.


_MOST_CELLS: Final = 1 << 21  # of a block


class ControlText:
    """Writes the values of KRaft's control records in a `dialect` of ``message_ops``; their texts are in `content`."""

    def __init__(self, dialect: int) -> None:
        programs, self._of_types, json = _control_programs(dialect)
        self._tables = MessageTables(programs, most=_MOST_CELLS)
        self._texts = JsonTexts(json, self._tables)
        self._messages = CellTable(len(ops.MESSAGE_COLUMNS), 0)

    @property
    def content(self) -> bytearray:
        """Return the buffer that has the texts."""
        return self._texts.content

    def write_values(
        self, buf: Bytes, recs: CellTable, types: Sequence[tuple[int, int, int]], starts: memoryview, sizes: memoryview
    ) -> set[int]:
        """Write the values of some records: `types` are of each its row of `starts` and `sizes`, its number and type.

        Types that no message is known for are left alone. Returns the rows that must be read one by one.
        """
        self._texts.clear()
        self._tables.clear()
        messages = self._messages
        if messages.capacity < len(types):
            messages = self._messages = CellTable(len(ops.MESSAGE_COLUMNS), len(types))
        messages.count = len(types)
        messages.column(ops.M_PROGRAM)[:] = array("q", [-1]) * len(types)
        slow: set[int] = set()
        for at, (row, number, kind) in enumerate(types):
            size = max(recs.cell(buffers.VALUE_SIZE, number), 0)
            if size > ops.MOST_BYTES:
                slow.add(row)
            elif kind in self._of_types:
                messages.set(ops.M_PROGRAM, at, self._of_types[kind])
                messages.set(ops.M_START, at, recs.cell(buffers.VALUE_START, number) if size else 0)
                messages.set(ops.M_SIZE, at, size)
        self._tables.read_messages(buf, messages)
        places = memoryview(array("q", [0]) * len(types) + array("q", [-1]) * len(types))
        special = self._texts.write_messages(buf, messages, places[: len(types)], places[len(types) :])
        for at, (row, _, _) in enumerate(types):
            starts[row], sizes[row] = places[at], places[len(types) + at]
            if at in special or (messages.cell(ops.M_PROGRAM, at) >= 0 and messages.cell(ops.M_ERROR, at)):
                slow.add(row)
        return slow

    def put(self, text: str) -> tuple[int, int]:
        """Add a text: return where it begins, and its size."""
        return self._texts.put(text)


@lru_cache(maxsize=3)
def _control_programs(dialect: int) -> tuple[ProgramSet, dict[int, int], JsonPrograms]:
    """Make the programs that read the messages, their numbers by type, and the programs that write them, once."""
    programs = ProgramSet()
    made = {int(kind): programs.add(message("control_records", name), 0) for kind, name in CONTROL_MESSAGES.items()}
    json = JsonPrograms(programs, dialect=dialect)
    for program in made.values():
        json.add(program)
    return programs, {kind: program.number for kind, program in made.items()}, json
