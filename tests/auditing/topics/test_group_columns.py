"""Groups and commits from columns: row for row what a plain reading of one record after the other gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import build
from group_model import modelled_rows
from kafkalog.auditing.topics.commits import STATES, UNKNOWN, CommitFates
from kafkalog.auditing.topics.groups import GROUP_TABLES, group_rows
from kafkalog.columns.table import Columns
from kafkalog.columns.texts import Numbered
from kafkalog.errors import NothingMatchesError
from kafkalog.findings import Finding
from kafkalog.folds import fold
from kafkalog.kafka.internal_records import record_types
from kafkalog.kafka.internal_topics import Internal
from kafkalog.kafka.message_writer import encode
from kafkalog.segments.file_rows import one_by_one
from kafkalog.segments.moment import Moment
from kafkalog.tables.internal_tables import COMMIT_EVENTS, COMMIT_LINES
from messages import messages
from offsets_topic import Marker, T, Write, write_offsets

TYPES = record_types(Internal.OFFSETS)
# The escaped form of bytes that are not UTF-8 is also a text that one can write.
NAMES = [b"g", b"h", b"\xff", b"\\xff", "é".encode()]
PRODUCERS = [1000, 2000]
_LINES = (COMMIT_LINES, COMMIT_EVENTS)  # which are made of them, and have tests of their own
_STEPS = ("offset-went-back", "offset-deleted")  # which the rows of ``committed`` have, too


def key_of(number: int, names: list[bytes], partition: int) -> bytes:
    """Encode a key whose strings are the next of `names`."""
    key = TYPES[number].key
    assert key is not None
    strings = (len(name).to_bytes(2, "big") + name for name in names)
    parts = (partition.to_bytes(4, "big") if field.type == "int32" else next(strings) for field in key.fields)
    return number.to_bytes(2, "big") + b"".join(parts)


@st.composite
def writes(draw: st.DrawFn) -> Write:
    """Draw a record of any type and version, mostly commits, sometimes with a bit changed or bytes after it."""
    number = draw(st.sampled_from([1, 1, 1, 0, 2, *TYPES]))
    key = key_of(number, draw(st.lists(st.sampled_from(NAMES), min_size=2, max_size=2)), draw(st.integers(0, 1)))
    version = draw(st.integers(0, TYPES[number].value.newest))
    fields: dict[str, Any] = draw(messages(TYPES[number].value, version))
    fields = {name: 0 if value == -(2**63) else value for name, value in fields.items()}  # columns have it for no value
    value: bytes | None = version.to_bytes(2, "big") + encode(TYPES[number].value, version, fields)
    match draw(st.sampled_from(["whole"] * 6 + ["tombstone"] * 2 + ["key", "value", "longer", "none"])):
        case "tombstone":
            value = None
        case "key":
            key = build.flipped(key, draw(st.integers(0, 8 * len(key) - 1)))
        case "value":
            value = build.flipped(value or b"", draw(st.integers(0, 8 * len(value or b"") - 1)))
        case "longer":
            key, value = key + draw(st.binary(max_size=1)), (value or b"") + draw(st.binary(max_size=1))
        case "none":
            value = draw(st.binary(max_size=3))
    return Write(key, value, draw(st.sampled_from([-1, -1, *PRODUCERS])))


written = st.lists(
    writes() | writes() | writes() | st.builds(Marker, st.sampled_from(PRODUCERS), st.booleans()), max_size=16
)
moments = st.sampled_from([Moment(), Moment(3), Moment(8), Moment(None, T + 5000), Moment(9, T + 4000)])


@pytest.mark.parametrize("group", [None, "g", "\\xff", "nobody"])
@given(written, moments)
def test_the_columns_are_what_each_record_alone_says(
    tmp_path_factory: pytest.TempPathFactory, group: str | None, records: list[Write | Marker], moment: Moment
) -> None:
    """All tables and findings, in the same order, at every moment, whatever was written."""
    folder = write_offsets(tmp_path_factory.mktemp("log"), *records)
    found, named = [], True
    try:
        groups = () if group is None else (group,)
        every = one_by_one(group_rows([folder], moment, groups=groups, tables=GROUP_TABLES))
        found.extend(one for one in every if not (one.code in _STEPS if isinstance(one, Finding) else one[0] in _LINES))
    except NothingMatchesError:
        named = False

    expected = list(modelled_rows(str(folder), moment, group))
    assert found == expected
    assert named or not [item for item in expected if not isinstance(item, Finding)]


def test_metadata_that_is_no_longer_in_force_is_forgotten() -> None:
    """Only the strings that are asked for are kept, numbered in that order."""
    strings = Numbered()
    data = b"abcabd"
    starts, sizes = np.array([0, 2, 3, 4]), np.array([2, 1, 3, 0])
    assert strings.numbers(data, starts.data, sizes.data).tolist() == [0, 1, 2, 3]
    kept = strings.only([3, 0])

    assert (list(kept), kept.size, strings.size) == ([b"", b"ab"], 2, 6)


spans = st.tuples(
    st.integers(0, 3), st.integers(0, 30), st.integers(0, 6), st.sampled_from([fold.OPEN, fold.COMMIT, fold.ABORT])
)  # fmt: skip


@given(st.lists(spans, max_size=12), st.lists(st.tuples(st.integers(0, 4), st.integers(0, 40)), max_size=20))
def test_a_record_belongs_to_the_last_transaction_of_its_producer_that_covers_it(
    of_producers: list[tuple[int, int, int, int]], asked: list[tuple[int, int]]
) -> None:
    """Whatever transactions a log has: the one that begins last before the record, if it reaches it."""
    cells = {name: np.zeros(len(of_producers), np.int64) for name in fold.COLUMNS}
    for at, (producer, first, size, kind) in enumerate(of_producers):
        values = {"producer_id": producer, "first_offset": first, "last_offset": first + size, "marker_type": kind}
        for name, value in (values | {"marker_offset": first + size + 1}).items():
            cells[name][at] = value
    packed = Columns.empty(fold.COLUMNS)
    packed += Columns(cells).packed()
    fates = CommitFates(packed)
    rows = fates.spans.find_rows(
        np.array([one[0] for one in asked], np.int64), np.array([one[1] for one in asked], np.int64)
    )
    states = fates.states(rows, Moment(20))
    words = {fold.OPEN: "pending", fold.COMMIT: "committed", fold.ABORT: "aborted"}
    for (producer, offset), state in zip(asked, states.tolist(), strict=True):
        before = [one for one in of_producers if one[0] == producer and one[1] <= offset]
        last = max(before, key=lambda one: one[1], default=None)
        if last is None:
            assert state == UNKNOWN
        elif [one[1] for one in before].count(last[1]) == 1:
            is_pending = last[1] + last[2] + 1 > 20
            wanted = None if offset > last[1] + last[2] else "pending" if is_pending else words[last[3]]
            assert STATES[state] == wanted
