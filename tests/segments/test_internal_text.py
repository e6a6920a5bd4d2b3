"""The decoders of internal topics: the official tools' text, rows, and what is said of records that are not right."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from crc32c import crc32c

import kafkalog as library
from dumped import dumped as rows_one_by_one
from handmade import batch, one, record, segment
from invoke import Row, kafkalog
from kafkalog.findings import Finding
from kafkalog.kafka.internal_records import record_types
from kafkalog.kafka.internal_topics import Internal
from kafkalog.kafka.message_writer import encode
from kafkalog.segments.selection import Selection
from kafkalog_cli.render.kafka.segment_lines import KafkaText
from kafkalog_cli.render.kafka.tool_options import KafkaTextOptions
from messages import TOPICS
from official import FIXTURES
from pseudo import acting, on_terminal, plain

MADE: Final = FIXTURES / "made-internal"
STEP: Final = 61  # every so many bits are in the sample
# Segments that brokers wrote, each with its decoder; all are flipped bit by bit.
SEGMENTS: Final = {
    "k4-m-metadata-groups-44/data/__consumer_offsets-3/00000000000000000000.log": Internal.OFFSETS,
    "k4-m-expired-ids/data/__consumer_offsets-2/00000000000000000000.log": Internal.OFFSETS,
    "k4-m-metadata-groups-44/data/__share_group_state-0/00000000000000000000.log": Internal.SHARE_GROUP_STATE,
    "k4-m-metadata-groups-44/data/__cluster_metadata-0/00000000000000000047-0000000001.checkpoint": (
        Internal.CLUSTER_METADATA
    ),
    "k4-d-fencing-tv2-400/data/__transaction_state-3/00000000000000000000.log": Internal.TRANSACTION_LOG,
    "v2.8-hanging/data/__transaction_state-0/00000000000000000000.log": Internal.TRANSACTION_LOG,
    "made-internal/data/__remote_log_metadata-0/00000000000000000000.log": Internal.REMOTE_LOG_METADATA,
}


def runs() -> Iterator[tuple[str, list[str], str]]:
    """Yield what was recorded of the made records: the release, the arguments, and where the text is."""
    for version in ("4.3.1", "4.2.1"):
        recorded = json.loads((MADE / "expected" / version / "commands.json").read_text())
        for command in recorded["commands"]:
            yield version, command["arguments"], command["stdout"]


@pytest.mark.parametrize(("version", "arguments", "stdout"), list(runs()), ids=lambda value: str(value)[-24:])
def test_made_records_are_shown_as_the_official_tools_do(version: str, arguments: list[str], stdout: str) -> None:
    """Every kind and version, good and spoiled: the text is that of both tools, their words for errors included."""
    ended = kafkalog("dump", *arguments, "--dialect", version[:3], cwd=MADE / "data")

    assert ended.out == (MADE / stdout).read_bytes()


def key(kind: int = 1, internal: Internal = Internal.OFFSETS, **fields: object) -> bytes:
    """A coordinator record's key."""
    schema = record_types(internal)[kind].key
    assert schema is not None  # coordinators' records are keyed
    return kind.to_bytes(2, "big") + encode(schema, 0, fields)


def value(version: int, kind: int = 1, internal: Internal = Internal.OFFSETS, **fields: object) -> bytes:
    """A coordinator record's value."""
    return version.to_bytes(2, "big") + encode(record_types(internal)[kind].value, version, fields)


def dumped(
    folder: Path, *records: tuple[bytes | None, bytes | None], options: tuple[str, ...]
) -> tuple[list[str], str, int]:
    """Dump records of one batch: the lines behind the batch's, what stands on standard error, and the status."""
    encoded = [record(one_key, content, delta=delta) for delta, (one_key, content) in enumerate(records)]
    ended = kafkalog("dump", *options, segment(folder, batch(*encoded)))
    return ended.text.split("\n")[3:-1], ended.err, ended.status


@pytest.mark.parametrize(
    ("dialect", "shown"),
    [("4.2", "3"), ("4.3", "3"), ("4.4", '"PrepareAbort"')],
)
def test_from_4_4_on_a_transaction_s_state_has_its_name(tmp_path: Path, dialect: str, shown: str) -> None:
    """Older tools write its number."""
    pair = (
        key(0, Internal.TRANSACTION_LOG, transactionalId="t"),
        value(1, 0, Internal.TRANSACTION_LOG, transactionStatus=3),
    )
    lines, _, _ = dumped(tmp_path, pair, options=("--transaction-log-decoder", "--dialect", dialect))

    assert f'"transactionStatus":{shown},' in lines[0]


NAMES = ("Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead",
         "PrepareEpochFence", "8")  # fmt: skip


@pytest.mark.parametrize("number", range(len(NAMES)))
def test_names_of_states_in_4_4(tmp_path: Path, number: int) -> None:
    """A number without a name stays a number, as text."""
    pair = (
        key(0, Internal.TRANSACTION_LOG, transactionalId="t"),
        value(0, 0, Internal.TRANSACTION_LOG, transactionStatus=number),
    )
    lines, _, _ = dumped(tmp_path, pair, options=("--transaction-log-decoder", "--dialect", "4.4"))

    assert f'"transactionStatus":"{NAMES[number]}",' in lines[0]


def test_a_kind_that_only_4_4_knows(tmp_path: Path) -> None:
    """UnregisterControllerRecord came with 4.4: an older tool says that it does not know it; for us it is no finding."""
    pair = (None, b"\1\x1d\0\0\0\0\7\0")
    new, err, _ = dumped(tmp_path, pair, options=("--cluster-metadata-decoder", "--dialect", "4.4"))
    old, _, _ = dumped(tmp_path, pair, options=("--cluster-metadata-decoder",))

    assert new[0].endswith('payload: {"type":"UNREGISTER_CONTROLLER_RECORD","version":0,"data":{"controllerId":7}}')
    assert old[0].endswith("UnsupportedVersionException: Unknown metadata id 29")
    assert err == ""


def test_the_first_of_several_decoders_is_taken(tmp_path: Path) -> None:
    """The official tool prefers offsets to transactions; the order of the options does not matter."""
    pair = (key(group="g", topic="t", partition=1), None)
    lines, _, _ = dumped(tmp_path, pair, options=("--transaction-log-decoder", "--offsets-decoder"))

    assert lines[0].endswith('key: {"type":"1","data":{"group":"g","topic":"t","partition":1}} payload: <DELETE>')


@pytest.mark.parametrize(("dialect", "payload"), [("4.3", "| payload: {"), ("4.2", " payload: {")])
def test_keys_and_payloads_alone(tmp_path: Path, dialect: str, payload: str) -> None:
    """Without records' metadata a line begins with the key, or the payload where there is none."""
    options = ("--skip-record-metadata", "--dialect", dialect)
    keyed, _, _ = dumped(tmp_path, (key(2, group="g"), None), options=("--offsets-decoder", *options))
    keyless, _, _ = dumped(tmp_path, (None, b"\1\x14\0\0"), options=("--cluster-metadata-decoder", *options))

    assert keyed == ['| key: {"type":"2","data":{"group":"g"}} payload: <DELETE>']
    assert keyless[0].startswith(payload)


@pytest.mark.parametrize(
    ("pair", "code", "severity", "status"),
    [
        ((None, b"\0\0"), "internal-record-malformed", "error", 1),  # where the official tool throws
        ((b"\0", b"\0\0"), "internal-record-malformed", "error", 1),
        ((key(), b"\0\3\0"), "internal-record-malformed", "error", 1),
        ((b"\0\x63", b"\0\0"), "internal-record-unknown", "note", 0),
        ((key(), b"\0\x09"), "internal-record-unknown", "note", 0),
        ((key(), value(3) + b"\0"), "internal-record-odd", "warning", 0),
        ((key() + b"\0", None), "internal-record-odd", "warning", 0),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_record_is_a_finding(
    tmp_path: Path, pair: tuple[bytes | None, bytes | None], code: str, severity: str, status: int
) -> None:
    """Malformed is an error, unknown a note, odd a warning; the records around it are shown, as text and as rows."""
    good = (key(group="g", topic="t"), value(3, metadata="m"))
    lines, err, exit_code = dumped(tmp_path, good, pair, pair, good, options=("--offsets-decoder",))
    path = tmp_path / "00000000000000000000.log"
    rows = kafkalog("dump", "--offsets-decoder", "--format", "ndjson", path)

    assert [number for number, line in enumerate(lines) if '"metadata":"m"' in line] == [0, 3]
    assert err.startswith(f"kafkalog: {severity}: {path}@0: {code}: the record at offset 1: ")
    assert err.endswith(", and 1 more\n")
    assert exit_code == rows.status == status
    assert [(row["code"], row["offset"]) for row in rows.table("findings")] == [(code, 1), (code, 2)]
    written = rows.table("internal")
    assert [row["offset"] for row in written] == ([0, 3] if severity == "error" else [0, 1, 2, 3])
    assert [row["unknown"] for row in written] == [severity == "note" and row["offset"] in (1, 2) for row in written]


def test_rows_hold_what_a_record_says(tmp_path: Path) -> None:
    """Kind, version and fields; the consumer protocol inside of group metadata is read, unknown tags are kept."""
    folder = tmp_path / "__consumer_offsets-7"
    folder.mkdir()
    member = {"memberId": "m", "clientId": "c", "clientHost": "h", "sessionTimeout": 5, "assignment": b"\xff",
              "subscription": b"\0\0\0\0\0\1\0\1t\xff\xff\xff\xff"}  # fmt: skip
    group = value(3, 2, protocolType="consumer", protocol="range", leader=None, members=[member])
    commit = value(4, offset=9, metadata="said", _unknownTaggedFields=[[77, b"\0\1"]])
    path = segment(folder, one(key(2, group="g"), group), one(key(group="g", topic="t"), commit, base_offset=1))
    first, second = kafkalog("dump", "--offsets-decoder", "--format", "ndjson", path).table("internal")

    where = {"log": str(folder), "topic": "__consumer_offsets", "partition": 7, "tombstone": False, "unknown": False}
    assert where.items() <= first.items()
    assert (first["kind"], first["type"], first["version"], first["key"]) == ("GroupMetadata", 2, 3, {"group": "g"})
    shown = first["value"]["members"][0]
    assert shown["subscription"] == {"topics": ["t"], "userData": None}
    assert shown["assignment"] == "/w=="  # no assignment: the bytes as they are
    assert (second["kind"], second["value"]["metadata"]) == ("OffsetCommit", "said")
    assert second["value"]["_unknownTaggedFields"] == [{"tag": 77, "data": "AAE="}]


def test_the_table_internal_needs_a_decoder() -> None:
    """Which kinds of records a file holds is not guessed."""
    ended = kafkalog("dump", "--format", "ndjson", "--table", "internal", MADE / "data/__consumer_offsets-0/0.log")

    assert ended.status == 2
    assert "--table internal needs a decoder" in ended.err


def test_a_csv_holds_the_decoded_records() -> None:
    """With a decoder the one table of a csv is ``internal``."""
    name = "k4-c-group-offsets-tv0/data/__consumer_offsets-3/00000000000000000000.log"
    ended = kafkalog("dump", "--offsets-decoder", "--format", "csv", "--columns", "kind,value", FIXTURES / name)

    assert ended.text.splitlines()[0] == "kind,value"
    assert ended.text.splitlines()[1].startswith('OffsetCommit,"{""offset"":')


@pytest.mark.process
@pytest.mark.parametrize("form", ["kafka", "table", "ndjson", "csv"])
def test_nothing_decoded_acts_on_a_terminal(tmp_path: Path, form: str) -> None:
    """Names and metadata are escaped inside of the JSON, which stays JSON."""
    hostile = "\x1b[2J\x9b31m\u202e\r\nforged \U000e0041"
    pair = one(key(group=hostile, topic="t"), value(3, metadata=hostile))
    status, screen, _ = on_terminal("dump", "--offsets-decoder", "--format", form, segment(tmp_path, pair))

    assert status == 0
    assert acting(screen.replace(b"\r\n", b"\n")) == ""
    if form == "kafka":
        shown = plain(screen).partition(" payload: ")[2].splitlines()[0]
        assert json.loads(shown)["data"]["metadata"] == hostile


# One flipped bit inside the records, the checksum made right.


def resealed(data: bytes, at: int, size: int) -> bytes:
    """Put the right checksum into a batch."""
    return data[: at + 17] + crc32c(data[at + 21 : at + size]).to_bytes(4, "big") + data[at + 21 :]


def rows_of(data: bytes, internal: Internal) -> tuple[list[Row], list[Row], list[Finding]]:
    """Read bytes as a dump does: rows of ``internal``, rows of ``records`` but control records, and findings."""
    items = list(rows_one_by_one("x", library.scan(data), {"internal", "records"}, Selection(), internal))
    rows = {"internal": [], "records": []}
    for item in items:
        if not isinstance(item, Finding):
            rows[item[0].name].append(dict(zip(item[0].usual, item[1], strict=True)))
    kept = [row for row in rows["records"] if not row["is_control"]]
    return rows["internal"], kept, [item for item in items if isinstance(item, Finding)]


def check_flips(name: str, step: int) -> int:
    """Flip every so many bits of a segment's records; return how many flips were made."""
    data = (FIXTURES / name).read_bytes()
    internal = SEGMENTS[name]
    flips = 0
    for one_batch in library.batches(FIXTURES / name):
        alone = data[one_batch.position : one_batch.position + one_batch.size]
        for bit in range(8 * 61, 8 * len(alone), step):
            spoiled = bytearray(alone)
            spoiled[bit >> 3] ^= 1 << (bit & 7)
            whole = resealed(bytes(spoiled), 0, len(spoiled))
            said, records, findings = rows_of(whole, internal)
            told = [finding for finding in findings if finding.code == "internal-record-malformed"]
            assert len(said) + len(told) == len(records), (name, one_batch.position, bit)
            assert records or findings or one_batch.is_control, (name, one_batch.position, bit)
            text = KafkaText(io.BytesIO(), KafkaTextOptions(internal=internal), lambda _: None)
            for chunk in library.scan(whole):
                text.write_chunk("x", chunk)
            flips += 1
    return flips


@pytest.mark.some(every=4)
@pytest.mark.parametrize("name", SEGMENTS)
def test_a_flipped_bit_in_a_record_is_a_row_or_told(name: str) -> None:
    """Each record of the batch is a row, of a known or an unknown kind, or a finding; nothing raises."""
    assert check_flips(name, STEP) > 10


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", SEGMENTS)
def test_every_flipped_bit_in_a_record_is_a_row_or_told(name: str) -> None:
    """All flips."""
    assert check_flips(name, 1) > 1000


def test_every_topic_of_the_made_records_is_known() -> None:
    """The fixture holds a segment of each internal topic, and no record in it is left without a row or a finding."""
    for topic, internal in TOPICS.items():
        data = (MADE / "data" / f"{topic}-0" / "00000000000000000000.log").read_bytes()
        said, records, findings = rows_of(data, internal)
        malformed = [finding for finding in findings if finding.code == "internal-record-malformed"]
        names = {kind.name for kind in record_types(internal).values()}

        assert len(said) + len(malformed) == len(records) > 20
        assert {row["kind"] for row in said if row["kind"]} == names
