"""The loop that reads generated messages: what the model reads, in both forms, whatever the bytes."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any, Final
from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import message_model
from kafkalog.kafka import message as message_module
from kafkalog.kafka.batch import CellTable
from kafkalog.kafka.message import MessageTables, decode, escaped_text
from kafkalog.kafka.message_definitions import definitions
from kafkalog.kafka.message_primitives import MalformedError
from kafkalog.kafka.message_program import ProgramSet
from kafkalog.kafka.message_schema import EVERY_RELEASE, Array, Message, MessageField, Release, Struct
from kafkalog.kafka.message_writer import encode
from kafkalog.kernel import buffers, headers, interpreted
from kafkalog.kernel import message_ops as ops
from kafkalog.kernel import messages as kernel_messages
from messages import messages

PLAIN_LOOP = interpreted("messages", "tests_interpreted_message_loop")
FORMS: Final = pytest.mark.parametrize(
    "form",
    [
        pytest.param(kernel_messages, id="in use"),
        pytest.param(PLAIN_LOOP, id="interpreted", marks=pytest.mark.skipif(not headers.COMPILED, reason="in use")),
    ],
)
_FOLDERS: Final = (
    "cluster_metadata", "consumer_offsets", "consumer_protocol", "control_records", "remote_log_metadata",
    "share_group_state", "transaction_state",
)  # fmt: skip
MESSAGES: Final = [one.message for folder in _FOLDERS for one in definitions(folder).values()]
RELEASES: Final[tuple[Release, ...]] = (EVERY_RELEASE, (4, 2), (4, 3), (4, 4))
SOME: Final = settings(
    max_examples=10, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much], deadline=None
)
# Everything that a message may hold, beside one another, and what no message of Kafka's has yet.
_INNER: Final = Struct(
    "Inner",
    (
        MessageField("flag", "bool"),
        MessageField("names", Array("string"), nullable_since=1),
        MessageField("late", "uint16", since=1, until=1),
        MessageField("deep", Array(Struct("Deep", (MessageField("data", "bytes", nullable_since=0),)))),
        MessageField("note", "string", tag=0, default="none"),
        MessageField("more", Array("bool"), tag=2, nullable_since=0, default=None),
    ),
)
EVERYTHING: Final = [
    Message(
        "Everything",
        (
            MessageField("first", "float64"),
            MessageField("maybe", _INNER, nullable_since=0),
            MessageField("whole", _INNER),
            MessageField("several", Array(_INNER), nullable_since=0),
            MessageField("ids", Array("uuid")),
            MessageField("wide", "uint32"),
            MessageField("tagged", _INNER, nullable_since=0, tag=1, default=None),
            MessageField("later", "uuid", tag=5, since=1),
        ),
        flexible_since=flexible,
        newest=2,
    )
    for flexible in (0, 1)
]


def answer(read: Callable[..., Any], *of: Any, **more: Any) -> Any:
    """Return what a decoder answers, or the words of its error."""
    try:
        return read(*of, **more)
    except MalformedError as error:
        return f"{error}", error.kafka


@st.composite
def spoiled(draw: st.DrawFn, message: Message, version: int) -> bytes:
    """Draw a message's bytes, often with some changed, cut, repeated or put in."""
    said = min(max(version, 0), message.newest)
    data = bytearray(encode(message, said, draw(messages(message, said))))
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, max(len(data) - 1, 0)))
        match draw(st.sampled_from(["byte", "byte", "bit", "cut", "repeat", "insert", "long"])):
            case "byte":
                data[at : at + 1] = bytes([draw(st.sampled_from([0, 1, 2, 3, 127, 128, 254, 255]))])
            case "bit" if data:
                data[at] ^= 1 << draw(st.integers(0, 7))
            case "cut":
                del data[at:]
            case "repeat":
                data[at:at] = data[at : at + 4]
            case "insert":
                data[at:at] = draw(st.binary(max_size=4))
            case "long":
                data[at:at] = b"\xff" * draw(st.integers(1, 5))
    return bytes(data)


def check(message: Message, data: st.DataObject, form: ModuleType) -> None:
    """Compare the loop with the model on one drawn message."""
    version = data.draw(st.integers(-1, message.newest + 2) | st.sampled_from([-32768, 32767]))
    release = data.draw(st.sampled_from(RELEASES))
    whole = data.draw(spoiled(message, version) | st.binary(max_size=30))
    with mock.patch.object(message_module, "kernel_messages", form):
        found = answer(decode, message, version, whole, release=release)

    assert repr(found) == repr(answer(message_model.decode, message, version, whole, release=release))


@pytest.mark.some(every=3)
@pytest.mark.parametrize("message", [*MESSAGES, *EVERYTHING], ids=lambda message: message.name)
@FORMS
@given(data=st.data())
@SOME
def test_every_message_is_read_as_the_model_reads_it(form: ModuleType, message: Message, data: st.DataObject) -> None:
    """Every schema, any version and release, any bytes: fields, size, remarks, or the same words about the error."""
    check(message, data, form)


@pytest.mark.exhaustive
@pytest.mark.parametrize("message", [*MESSAGES, *EVERYTHING], ids=lambda message: message.name)
@given(data=st.data())
@settings(SOME, max_examples=3000)
def test_every_message_is_read_as_the_model_reads_it_long(message: Message, data: st.DataObject) -> None:
    """As above, for long."""
    check(message, data, kernel_messages)


def loaded(
    form: ModuleType, room: int, kinds: list[tuple[Message, int]], pieces: list[tuple[int, bytes]]
) -> tuple[list[Any], list[Any]]:
    """Read messages of several programs in one call into tables of little room: values or errors, and the remarks."""
    programs = ProgramSet()
    made = [programs.add(message, version) for message, version in kinds]
    tables = MessageTables(programs, room)
    table = CellTable(len(ops.MESSAGE_COLUMNS), len(pieces) or 1)
    table.count = len(pieces)
    buf = b""
    for row, (which, data) in enumerate(pieces):
        for column, cell in ((ops.M_PROGRAM, which), (ops.M_START, len(buf)), (ops.M_SIZE, len(data))):
            table.set(column, row, cell)
        buf += data
    with mock.patch.object(message_module, "kernel_messages", form):
        tables.read_messages(buf, table)
    found: list[Any] = []
    for row, (which, _) in enumerate(pieces):
        error = tables.error(table, row, kinds[which][1])
        at = table.cell(ops.M_ROW, row)
        taken = table.cell(ops.M_TAKEN, row)
        found.append(
            (f"{error}", error.kafka) if error else (tables.values(made[which].structure, at, escaped_text), taken)
        )
    return found, list(tables.remarks())


@pytest.mark.parametrize("room", [1, 1000])
@FORMS
@given(data=st.data())
@SOME
def test_messages_are_read_together_as_each_alone(form: ModuleType, room: int, data: st.DataObject) -> None:
    """Messages of several kinds in one block: tables grow in the middle of one, and a malformed one leaves nothing."""
    messages_of = data.draw(st.lists(st.sampled_from([*MESSAGES, *EVERYTHING]), min_size=1, max_size=3))
    kinds = [(message, data.draw(st.integers(0, message.newest))) for message in messages_of]
    which = st.integers(0, len(kinds) - 1)
    pieces = [(one, data.draw(spoiled(*kinds[one]))) for one in data.draw(st.lists(which, max_size=6))]
    found, remarks = loaded(form, room, kinds, pieces)

    alone = [answer(message_model.decode, *kinds[one], whole) for one, whole in pieces]
    assert repr(found) == repr([one if len(one) == 2 else (one.fields, one.taken) for one in alone])
    assert remarks == [(row, text) for row, one in enumerate(alone) if len(one) == 3 for text in one.remarks]


def test_a_table_grows_without_losing_its_rows() -> None:
    """An array larger than the table has room for, after messages that are there already."""
    message = Message("Numbers", (MessageField("numbers", Array("int64")),), flexible_since=buffers.BATCH)
    pieces = [(0, encode(message, 0, {"numbers": list(range(size))})) for size in (3, 5000, 0, 1)]
    found, _ = loaded(kernel_messages, 2, [(message, 0)], pieces)

    assert [one["numbers"] for one, _ in found] == [list(range(size)) for size in (3, 5000, 0, 1)]


def test_places_outside_of_the_buffer_are_refused() -> None:
    """The loop checks no bounds as it reads: a message that does not lie in the buffer stops it first."""
    programs = ProgramSet()
    programs.add(EVERYTHING[0], 0)
    table = CellTable(len(ops.MESSAGE_COLUMNS), 1)
    table.count = 1
    for start, size in ((0, 4), (4, 0), (-1, 1), (0, -1), (2**62, 2**62)):
        table.set(ops.M_START, 0, start)
        table.set(ops.M_SIZE, 0, size)
        with pytest.raises(IndexError):
            MessageTables(programs).read_messages(b"123", table)
