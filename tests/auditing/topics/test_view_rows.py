"""The table ``internal`` of commands over whole logs: what each record alone says, whichever records are wanted."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import build
from internal_pairs import Pair, drawn
from invoke import kafkalog
from kafkalog.auditing.topics import commits
from kafkalog.auditing.topics.internal import split
from kafkalog.auditing.topics.metadata_at import metadata_view
from kafkalog.auditing.topics.transaction_steps import transition_rows
from kafkalog.errors import NothingMatchesError
from kafkalog.findings import Finding
from kafkalog.kafka.internal_topics import Internal
from kafkalog.kafka.message_definitions import message
from kafkalog.kafka.message_primitives import uuid_text
from kafkalog.kafka.message_writer import encode, encode_uvarint
from kafkalog.log_dirs.log_directory import open_log_directory
from kafkalog.narrowing import matches
from kafkalog.segments.file_rows import one_by_one
from kafkalog.segments.internal_blocks import TOPICS, internal_row
from kafkalog.segments.moment import Moment
from kafkalog.tables.internal_tables import INTERNAL
from official import FIXTURES
from one_by_one import of_directory

OTHERS = {"groups": "committed", "transactions": "step", "metadata": "rack"}  # columns of another table
NAMES = {internal: name for name, internal in TOPICS.items()}
CASES = {
    "groups": "k4-m-metadata-groups-44",
    "transactions": "k4-c-group-offsets-tv0",
    "metadata": "k4-m-metadata-groups-44",
}


def written(folder: Path, pairs: list[Pair]) -> Path:
    """Write a partition's directory with two segments."""
    folder.mkdir(parents=True)
    half = len(pairs) // 2
    for base, some in ((0, pairs[:half]), (half, pairs[half:])):
        data = b"".join(
            build.batch(build.record(value, key), base_offset=base + at) for at, (key, value) in enumerate(some)
        )
        (folder / f"{base:020}.log").write_bytes(data)
    return folder


@pytest.mark.parametrize("internal", [Internal.TRANSACTION_LOG, Internal.CLUSTER_METADATA])
@given(data=st.data())
def test_rows_of_a_log_are_those_of_each_record_alone(
    tmp_path_factory: pytest.TempPathFactory, internal: Internal, data: st.DataObject
) -> None:
    """At every moment, and of some transactional ids only."""
    pairs = data.draw(st.lists(drawn(internal), max_size=8))
    folder = written(tmp_path_factory.mktemp("log") / f"{NAMES[internal]}-0", pairs)
    moment = data.draw(st.sampled_from([Moment(), Moment(2)]))
    ids = data.draw(st.sampled_from([(), ("*",), ("a*", "?")])) if internal is Internal.TRANSACTION_LOG else ()
    (directory,) = open_log_directory(str(folder)).partitions
    wanted = []
    for record in split(of_directory(directory), []):
        key = (None if record.content is None else record.content.key) or {}
        if moment.holds(record.offset, record.timestamp) and matches(key.get("transactionalId"), ids):
            wanted.append(internal_row(record, directory.topic, directory.log, directory.partition))
    if internal is Internal.TRANSACTION_LOG:
        items = transition_rows([folder], moment, tables=(INTERNAL.name,), ids=ids)
    else:
        items = metadata_view([folder], moment, tables=(INTERNAL.name,))
    try:
        found = [item[1] for item in one_by_one(items) if not isinstance(item, Finding) and item[0] is INTERNAL]
    except NothingMatchesError:  # no id of those has a state
        return

    assert repr(found) == repr(wanted)


@pytest.mark.parametrize("command", ["groups", "transactions", "metadata"])
def test_all_formats_have_the_same_rows(tmp_path: Path, command: str) -> None:
    """ndjson, csv, json, Arrow and a directory of Parquet, with all columns and with some in another order."""
    case = FIXTURES / CASES[command]
    rows = kafkalog(command, "--table", "internal", "--format", "ndjson", case).table("internal")
    assert rows
    shown = json.loads(kafkalog(command, "--table", "internal", "--format", "json", case).out)["internal"]
    assert shown == rows

    kafkalog(
        command,
        "--table",
        "internal",
        "-o",
        tmp_path.parent / f"{tmp_path.name}.arrow",
        "--columns",
        "kind,offset,value",
        case,
    )
    of_arrow = pa.ipc.open_file(tmp_path.parent / f"{tmp_path.name}.arrow").read_all()
    assert of_arrow.column_names == ["kind", "offset", "value"]
    texts = [None if row["value"] is None else json.dumps(row["value"], ensure_ascii=False) for row in rows]
    assert of_arrow.to_pydict() == {
        "kind": [row["kind"] for row in rows], "offset": [row["offset"] for row in rows], "value": texts
    }  # fmt: skip

    lines = kafkalog(command, "--table", "internal", "--format", "csv", "--columns", "offset", case).text.splitlines()
    assert lines == ["offset", *(str(row["offset"]) for row in rows)]

    none = kafkalog(command, "--table", "internal", "--format", "csv", "--columns", OTHERS[command], case).text
    assert none.splitlines() == ['""'] * (len(rows) + 1)

    shown_to_people = kafkalog(
        command, "--table", "internal", "--format", "table", "--columns", "kind,offset", case
    ).text
    assert shown_to_people.startswith(f"internal: {len(rows)} rows")
    assert all(f" {row['offset']}" in shown_to_people for row in rows)
    assert '"' not in shown_to_people

    kafkalog(command, "--table", "internal", "--format", "parquet", "-o", tmp_path / "out", case)
    assert pq.read_table(tmp_path / "out" / "internal").column("offset").to_pylist() == [row["offset"] for row in rows]


@pytest.mark.parametrize("most", [1 << 21, 20_000, 0])
def test_offsets_have_what_clients_stored(tmp_path: Path, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Text that is not UTF-8 is escaped, empty is not null, ids of topics are text; more than a block has is in two."""
    monkeypatch.setattr(commits, "MOST_STORED", most)
    stored = [b"", b"\xff\xfe", b'a,"b"\n', "é€".encode(), b"x" * 32_000, b"y" * 30]
    ids = [bytes(16), bytes(range(16)), b"\xff" * 16]
    schema = message("consumer_offsets", "OffsetCommitValue")
    pairs: list[Pair] = [(b"\0\1\0\1g\0\1t\0\0\0\0", None)]
    for at, data in enumerate(stored):
        value = encode(schema, 4, {"offset": 2**63 - 1, "leaderEpoch": -1, "metadata": "?", "commitTimestamp": -(2**63),
                                   "topicId": uuid_text(ids[at % 3])})  # fmt: skip
        mark = encode_uvarint(2) + b"?"
        pairs.append((pairs[0][0], b"\0\4" + value.replace(mark, encode_uvarint(len(data) + 1) + data, 1)))
    folder = written(tmp_path / "__consumer_offsets-0", pairs)
    rows = kafkalog("groups", "--table", "offsets", "--format", "ndjson", folder).table("offsets")

    assert [row["metadata"] for row in rows] == [None, *(one.decode("utf-8", "backslashreplace") for one in stored)]
    assert [row["topic_id"] for row in rows] == [None, *([None, uuid_text(ids[1]), uuid_text(ids[2])] * 2)]
    assert [row["offset"] for row in rows] == [None, *[2**63 - 1] * len(stored)]
    assert [row["commit_timestamp_ms"] for row in rows] == [None, *[-(2**63)] * len(stored)]
    kafkalog("groups", "--table", "offsets", "-o", tmp_path.parent / f"{tmp_path.name}.arrow", folder)
    assert pa.ipc.open_file(tmp_path.parent / f"{tmp_path.name}.arrow").read_all().to_pylist() == rows
    columns = ("--table", "offsets", "--columns", "metadata")
    lines = kafkalog("groups", *columns, "--format", "csv", folder).text
    assert list(csv.reader(io.StringIO(lines, newline=""))) == [
        ["metadata"],
        *([row["metadata"] or ""] for row in rows),
    ]
