"""The records of the state topic as columns: the same that each record is alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import build
from kafkalog.api import open as opened
from kafkalog.findings import Finding
from kafkalog.kafka.message import MalformedError
from kafkalog.kafka.message_definitions import message
from kafkalog.kafka.message_writer import encode
from kafkalog.kafka.state_records import StateColumns
from kafkalog.kafka.transaction_state import StateRecord, state_record
from kafkalog.segments.state_blocks import read_state_columns
from messages import messages
from official import FIXTURES
from transition_model import state_records

SCHEMA = message("transaction_state", "TransactionLogValue")
KEY = message("transaction_state", "TransactionLogKey")


def alone(path: Path) -> tuple[list[tuple[int, int, StateRecord]], list[str]]:
    """Read every record by itself: offsets, times and records, and what is wrong."""
    found, wrong = [], []
    for record in opened(path, on_finding=lambda _: None).records():
        try:
            state = state_record(record.key, record.value)
        except MalformedError as error:
            wrong.append(f"the record at offset {record.offset}: {error}")
        else:
            if state is not None:
                times = {name: max(getattr(state, name), -1) for name in ("last_update_timestamp", "start_timestamp")}
                found.append((record.offset, record.timestamp, state._replace(**times)))  # below -1 is no time
    return found, wrong


def rows(columns: StateColumns) -> list[tuple[int, int, StateRecord]]:
    """Return the columns' rows."""
    return list(zip(columns["offset"].tolist(), columns["timestamp"].tolist(), state_records(columns), strict=True))


def messages_of(findings: list[Finding]) -> list[str]:
    """Return what findings say."""
    assert all(one.code == "state-record-malformed" and one.position is not None for one in findings)
    return [one.message for one in findings]


values = st.one_of([messages(SCHEMA, version).map(lambda one, version=version: (version, one)) for version in (0, 1)])
names = st.sampled_from(["a", "b", "é", "tx-1"]) | st.text(max_size=4)


@st.composite
def pieces(draw: st.DrawFn) -> tuple[bytes | None, bytes | None]:
    """Draw a key and a value, often of a known state and a known version, sometimes with a byte changed."""
    version, fields = draw(values)
    fields["transactionStatus"] = draw(st.integers(0, 7) | st.just(fields["transactionStatus"]))
    name = draw(names)
    key = b"\0\0" + encode(KEY, 0, {"transactionalId": name})
    value = version.to_bytes(2, "big") + encode(SCHEMA, version, fields)
    match draw(st.sampled_from(["whole"] * 6 + ["tombstone", "key", "value", "longer", "type", "none"])):
        case "tombstone":
            return key, None
        case "key":
            return build.flipped(key, draw(st.integers(0, 8 * len(key) - 1))), value
        case "value":
            return key, build.flipped(value, draw(st.integers(0, 8 * len(value) - 1)))
        case "longer":
            return key + draw(st.binary(max_size=2)), value + draw(st.binary(max_size=2))
        case "type":
            return b"\0\1" + key[2:], value
        case "none":
            return draw(st.none() | st.binary(max_size=3)), draw(st.none() | st.binary(max_size=3))
    return key, value


@given(st.lists(pieces(), max_size=12), st.integers(1, 4))
@settings(deadline=None)
def test_columns_have_what_each_record_is(
    tmp_path_factory: pytest.TempPathFactory, all_pieces: list[tuple[bytes | None, bytes | None]], some: int
) -> None:
    """Records of any content: the same rows and the same findings, in order."""
    path = tmp_path_factory.mktemp("state") / f"{0:020}.log"
    batches = [all_pieces[at : at + some] for at in range(0, len(all_pieces), some)]
    path.write_bytes(
        b"".join(
            build.batch(
                *(build.record(value, key, delta=n) for n, (key, value) in enumerate(batch)), base_offset=at * some
            )
            for at, batch in enumerate(batches)
        )
    )
    columns = read_state_columns(str(path), "log")
    found, wrong = alone(path)

    assert rows(columns) == found
    assert messages_of(columns.findings) == wrong


def test_columns_have_what_brokers_wrote() -> None:
    """Every state segment of the fixtures; a row takes no more than 78 bytes, and a listed partition 8."""
    paths = sorted(FIXTURES.glob("[kv]*/data*/__transaction_state-*/*.log"))
    parts = [read_state_columns(str(path), "log") for path in paths]
    found = [alone(path)[0] for path in paths]

    assert [rows(part) for part in parts] == found
    whole = StateColumns.concat(parts)
    assert len(whole) > 100
    assert rows(whole) == [one for part in found for one in part]
    tables = (whole.records, whole.listed)
    size = sum(rows[name].nbytes for rows in tables for name in rows.names)
    assert size <= 78 * (len(whole) + 1) + 8 * len(whole.listed)
    assert len(set(whole.ids)) == len(whole.ids)


def test_no_segments_are_no_rows() -> None:
    """A log without segments has columns, too."""
    assert rows(StateColumns.concat([])) == []


def test_ids_that_read_the_same_are_one_id(tmp_path: Path) -> None:
    """Bytes that are not UTF-8 are escaped: a text with a backslash may be the same."""
    path = tmp_path / f"{0:020}.log"
    keys = [b"\0\0" + len(name).to_bytes(2, "big") + name for name in (b"\xff", b"\\xff", b"a")]
    path.write_bytes(build.batch(*(build.record(None, key, delta=at) for at, key in enumerate(keys))))
    columns = read_state_columns(str(path), "log")

    assert ([*columns.ids], columns["transactional_id"].tolist()) == (["\\xff", "a"], [0, 0, 1])
