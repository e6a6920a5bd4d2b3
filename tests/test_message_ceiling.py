"""A message of millions of values is not read: kilobytes of a file may unpack to it, and its values to gigabytes."""

from __future__ import annotations

import pytest

from kafkalog.kafka.internal_block import DOUBT, InternalBlock
from kafkalog.kafka.internal_records import internal_record
from kafkalog.kafka.internal_topics import Internal
from kafkalog.kafka.message import MalformedError
from kafkalog.kafka.message_tables import MOST_CELLS
from kafkalog.kafka.message_writer import encode_uvarint
from offsets_topic import commit_key, commit_value
from test_internal_block import Pair, block_of


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
    reader.read(*block_of([commit, member(MOST_CELLS), commit]))
    assert list(reader.facts.column(DOUBT)) == [0, 1, 0]
    assert len(reader.tables.cells) <= MOST_CELLS

    reader.read(*block_of([member(3), commit]))
    assert list(reader.facts.column(DOUBT)) == [0, 0]
