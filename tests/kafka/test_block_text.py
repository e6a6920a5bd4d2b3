"""The texts of blocks of internal topics' records: what each record's text is alone, in both forms."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Final
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from internal_pairs import Pair, block_of, drawn
from kafkalog import Record
from kafkalog.kafka import internal_block, message_json
from kafkalog.kafka.internal_text import BlockText, Texts
from kafkalog.kafka.internal_topics import Internal
from kafkalog.kernel import headers, interpreted, messages
from kafkalog_cli.render.decoders import DIALECTS, shown
from messages import TOPICS, internal_segments, plain_records
from official import FIXTURES

FORMS: Final = pytest.mark.parametrize("compiled", [True, False] if headers.COMPILED else [False])
PLAIN = interpreted("messages", "tests_interpreted_messages")
JSON: Final = [one for one in Internal if one is not Internal.REMOTE_LOG_METADATA]


@contextlib.contextmanager
def form(compiled: bool) -> Iterator[None]:
    """Run with one of both forms of the loops."""
    loops = messages if compiled else PLAIN
    patch = mock.patch.object
    with patch(message_json, "kernel_messages", loops), patch(internal_block, "kernel_messages", loops):
        yield


def alone(internal: Internal, pair: Pair, dialect: str) -> Texts:
    """Return one record's texts, the long way."""
    record = Record(0, 0, 0, *pair, (), 0, 0, 2, None, None)
    return shown(internal, record, dialect)[:2]


def check(writer: BlockText, internal: Internal, pairs: list[Pair], dialect: str) -> int:
    """Compare a block's texts with each record's; return how many were written slowly."""
    slow: list[int] = []

    def slowly(number: int, is_written: bool) -> Texts | None:
        slow.append(number)
        return None if is_written else alone(internal, pairs[number], dialect)

    buf, recs = block_of(pairs)
    writer.write_records(buf, recs, slowly)
    for row, pair in enumerate(pairs):
        found = []
        for column in (0, 2):
            start, size = writer.places.cell(column, row), writer.places.cell(column + 1, row)
            found.append(None if size < 0 else writer.content[start : start + size].decode())
        assert tuple(found) == alone(internal, pair, dialect)
    return len(slow)


@pytest.mark.some(every=3)
@pytest.mark.parametrize("internal", JSON)
@pytest.mark.parametrize("dialect", DIALECTS)
@FORMS
def test_what_brokers_wrote_needs_no_long_way(internal: Internal, dialect: str, compiled: bool) -> None:
    """Every record of the fixtures, in every dialect: hardly one is written alone."""
    writer, count, slow = BlockText(internal, DIALECTS[dialect]), 0, 0
    with form(compiled):
        for path in internal_segments(FIXTURES):
            if TOPICS[path.parent.name.rpartition("-")[0]] is internal:
                pairs = [(record.key, record.value) for record in plain_records(path)]
                slow += check(writer, internal, pairs, dialect)
                count += len(pairs)

    assert count
    assert slow < count / 20


@pytest.mark.some(every=2)
@pytest.mark.parametrize("internal", JSON)
@FORMS
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_records_of_any_content(internal: Internal, compiled: bool, data: st.DataObject) -> None:
    """Control characters, text that is not UTF-8, defaults, nulls, unknown tags, spoiled bytes."""
    dialect = data.draw(st.sampled_from(list(DIALECTS)))
    writer = BlockText(internal, DIALECTS[dialect])
    with form(compiled):
        check(writer, internal, data.draw(st.lists(drawn(internal), max_size=8)), dialect)


@FORMS
@pytest.mark.parametrize(
    "text", [bytes(range(0x80)), bytes(range(0x80, 0x100)), b'\\"u001f\x1f', b"\xed\xa0\x80\xf0\x9f"]
)
def test_strings_are_written_as_java_and_jackson_do(compiled: bool, text: bytes) -> None:
    """Every character below 128, and bytes that are no text."""
    name = len(text).to_bytes(2, "big") + text
    pairs: list[Pair] = [(b"\0\1" + name + name + b"\0\0\0\1", None)]
    with form(compiled):
        assert check(BlockText(Internal.OFFSETS, (4, 3)), Internal.OFFSETS, pairs, "4.3") == 0
