"""Blocks of records of internal topics: each record that is not in doubt is what it is alone."""

from __future__ import annotations

import contextlib
from array import array
from collections.abc import Iterator
from types import ModuleType
from typing import Any, Final
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from internal_pairs import Pair, block_of, drawn
from kafkalog.columns import texts
from kafkalog.columns.texts import Numbered
from kafkalog.kafka import internal_block
from kafkalog.kafka.internal_block import DOUBT, TYPE, VERSION, InternalBlock
from kafkalog.kafka.internal_records import internal_record
from kafkalog.kafka.internal_topics import Internal
from kafkalog.kafka.message import MOST_CELLS, MalformedError, escaped_text
from kafkalog.kafka.message_schema import EVERY_RELEASE, Release
from kafkalog.kafka.message_writer import encode_uvarint
from kafkalog.kernel import headers, interpreted
from kafkalog.kernel import message_ops as ops
from kafkalog.kernel import messages as kernel_messages
from messages import TOPICS, internal_segments, plain_records
from official import FIXTURES
from offsets_topic import commit_key, commit_value

FORMS: Final = pytest.mark.parametrize("compiled", [True, False] if headers.COMPILED else [False])
PLAIN: Final = interpreted("messages", "tests_interpreted_messages")


@contextlib.contextmanager
def form(compiled: bool) -> Iterator[None]:
    """Run with one of both forms of the loops."""
    messages: ModuleType = kernel_messages if compiled else PLAIN
    with mock.patch.object(internal_block, "kernel_messages", messages), mock.patch.object(texts, "messages", messages):
        yield


def check(reader: InternalBlock, pairs: list[Pair], release: Release) -> int:
    """Compare every record with itself alone; return how many are in no doubt."""
    buf, recs = block_of(pairs)
    reader.read_records(buf, recs)
    simple = 0
    for row, pair in enumerate(pairs):
        alone: Any
        try:
            alone = internal_record(reader.internal, *pair, release=release)
        except MalformedError:
            alone = None
        if reader.facts.cell(DOUBT, row):
            continue
        simple += 1
        assert alone is not None
        assert not alone.remarks
        kind = reader.kinds[reader.facts.cell(TYPE, row)]
        version = reader.facts.cell(VERSION, row)
        key = value = None
        if kind.key is not None:
            key = reader.tables.values(kind.key.structure, reader.keys.cell(ops.M_ROW, row), escaped_text)
        if pair[1] is not None:
            value = reader.tables.values(
                kind.values[version].structure, reader.values.cell(ops.M_ROW, row), escaped_text
            )
        assert repr((kind.kind.name, key, version, value)) == repr(
            (alone.name, alone.key, -1 if alone.version is None else alone.version, alone.value)
        )
    return simple


@pytest.mark.parametrize("internal", Internal)
@pytest.mark.parametrize("release", [EVERY_RELEASE, (4, 2)], ids=["every", "4.2"])
@FORMS
def test_what_brokers_wrote_is_in_no_doubt(internal: Internal, release: Release, compiled: bool) -> None:
    """Every record of the fixtures: read in blocks, one after the other, as it is alone."""
    reader, count, simple = InternalBlock(internal, release), 0, 0
    with form(compiled):
        for path in internal_segments(FIXTURES):
            if TOPICS[path.parent.name.rpartition("-")[0]] is internal:
                pairs = [(record.key, record.value) for record in plain_records(path)]
                count += len(pairs)
                simple += check(reader, pairs, release)

    assert simple == count or release != EVERY_RELEASE
    assert simple or internal is Internal.REMOTE_LOG_METADATA  # only the corpus has that topic


@pytest.mark.some(every=2)
@pytest.mark.parametrize("internal", Internal)
@FORMS
@given(data=st.data())
@settings(max_examples=15, deadline=None)
def test_records_of_any_content(internal: Internal, compiled: bool, data: st.DataObject) -> None:
    """Records with the wrong numbers, cut, longer or malformed are in doubt unless they read as they do alone."""
    release = data.draw(st.sampled_from([EVERY_RELEASE, (4, 2), (4, 3)]))
    with form(compiled):
        check(InternalBlock(internal, release), data.draw(st.lists(drawn(internal), max_size=8)), release)


@FORMS
@given(
    st.lists(st.none() | st.binary(max_size=6) | st.sampled_from([b"", b"a" * 3000]), max_size=300), st.integers(1, 3)
)
def test_equal_strings_have_one_number(compiled: bool, strings: list[bytes | None], times: int) -> None:
    """In the order in which they first occur, over several calls; no string has -1."""
    buf, at, starts, sizes = b"".join(one or b"" for one in strings), 0, [], []
    for one in strings:
        starts.append(at)
        sizes.append(-1 if one is None else len(one))
        at += len(one or b"")
    numbers = Numbered()
    with form(compiled):
        for _ in range(times):
            found = numbers.numbers(buf, memoryview(array("q", starts)), memoryview(array("q", sizes)))
    order = list(dict.fromkeys(one for one in strings if one is not None))

    assert list(numbers) == order
    assert list(found) == [-1 if one is None else order.index(one) for one in strings]


# A message of millions of values is not read: kilobytes of a file may unpack to gigabytes of values.


def member(names: int) -> Pair:
    """A member that subscribes to so many topics without a name."""
    value = b"\0\0" + b"\0\0\1\1" + encode_uvarint(names + 1) + b"\1" * names + b"\0" + b"\0\0\0\1" + b"\0\0"
    return b"\0\5\0\1g\0\1m", value


def test_a_message_of_many_values_is_read_and_one_of_too_many_is_malformed() -> None:
    """A name takes two cells; the finding says that the message is too large, not what is wrong with its bytes."""
    read = internal_record(Internal.OFFSETS, *member(1000))
    assert read.value is not None
    assert len(read.value["subscribedTopicNames"]) == 1000

    with pytest.raises(MalformedError, match="more values than are read of one message"):
        internal_record(Internal.OFFSETS, *member(MOST_CELLS // 2))


def test_a_block_with_such_a_message_has_its_other_records_and_the_next_block_all() -> None:
    """Only the message itself is in doubt, and its tables do not stay."""
    reader = InternalBlock(Internal.OFFSETS)
    commit: Pair = (commit_key("g"), commit_value(7))
    reader.read_records(*block_of([commit, member(MOST_CELLS), commit]))
    assert list(reader.facts.column(DOUBT)) == [0, 1, 0]
    assert len(reader.tables.cells) <= MOST_CELLS

    reader.read_records(*block_of([member(3), commit]))
    assert list(reader.facts.column(DOUBT)) == [0, 0]
