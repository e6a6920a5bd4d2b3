"""Numbers that no broker writes, in text files and in batches: each is a finding, and nothing counts with it."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Final

import pytest

import build
import state_topic
from invoke import kafkalog
from kafkalog.auditing.verification.replica_compare import ReplicaBatches
from kafkalog.log_dirs.left_over import end_of_segment
from kafkalog.log_dirs.log_directory import open_log_directory
from kafkalog.segments.segment import scan

TOO_BIG = {
    "recovery-point-offset-checkpoint": ("t 2147483648 1", "t -2147483649 1", f"t 0 {2**63}", f"t 0 -{2**63 + 1}"),
    "leader-epoch-checkpoint": ("2147483648 1", f"1 {2**63}", "-9999999999999999999 1"),
}
FORMS = ("kafka", "table", "ndjson", "json", "csv", "arrow", "parquet")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", TOO_BIG)
def test_a_number_that_does_not_fit_is_a_finding(name: str, form: str, tmp_path: Path) -> None:
    """A warning for each, and the other lines are rows, whatever the format."""
    path = tmp_path / "in" / name
    path.parent.mkdir()
    good = "t 7 2147483647" if "offset" in name else "7 2147483647"
    path.write_text("\n".join(["0", str(len(TOO_BIG[name]) + 1), *TOO_BIG[name], good, ""]))
    ended = kafkalog("dump", "--format", form, *(() if form == "kafka" else ("-o", tmp_path / "out")), path)

    assert ended.status == 0, ended.err
    if form == "ndjson":
        rows = kafkalog("dump", "--format", form, path).rows
        assert sum(row["table"] == "findings" for row in rows) == len(TOO_BIG[name])
        assert sum(row["table"] != "findings" for row in rows) == 1


SEGMENT = f"{0:020}.log"
TRANSACTION = {"attributes": build.TRANSACTIONAL, "producer_id": 7, "producer_epoch": 0}
COMMANDS = (("txn-audit",), ("txn-audit", "--format", "html"), ("timeline",), ("timeline", "--by", "time"), ("verify",),
            ("space", "--keys"))  # fmt: skip


def written(root: Path, *batches: bytes) -> Path:
    """A log directory with one partition."""
    (root / "t-0").mkdir(parents=True)
    (root / "t-0" / SEGMENT).write_bytes(b"".join(batches))
    return root


@pytest.mark.parametrize("control", [False, True])
@pytest.mark.parametrize("offset", [2**63 - 1, -1, -(2**63), -(2**63) + 1])
def test_a_batch_at_an_offset_that_no_log_has(offset: int, control: bool, tmp_path: Path) -> None:
    """It is one finding, and no part of a transaction; the batch after it continues the one before."""
    odd = (
        build.marker(1, producer_id=7, producer_epoch=0)
        if control
        else build.batch(build.record(b"b"), **TRANSACTION, base_sequence=1)
    )
    first = build.batch(build.record(b"a"), **TRANSACTION, base_sequence=0)
    after = build.batch(build.record(b"c"), base_offset=1)
    root = written(tmp_path / "in", first, build.with_field(odd, 0, offset, 8), after)
    for command in COMMANDS:
        ended = kafkalog(*command, root)
        assert ended.status in (0, 1), (command, ended.err)

    ended = kafkalog("txn-audit", "--format", "ndjson", root)
    assert [row["code"] for row in ended.table("findings") if row["severity"] == "error"] == ["offset-outside-segment"]
    [row] = ended.table("transactions")
    assert (row["first_offset"], row["last_offset"], row["marker_offset"]) == (0, 0, None)
    shown = kafkalog("dump", root / "t-0" / SEGMENT).out.decode()
    assert f"baseOffset: {offset} " in shown  # what is there


@pytest.mark.parametrize("time", [-(2**63), -(2**63) + 1, -2])
def test_a_time_below_none_is_none(time: int, tmp_path: Path) -> None:
    """In a marker, in a batch and in the coordinator's record: commands end as with a time of -1."""
    found = []
    for number in (-1, time):
        root = written(
            tmp_path / str(number),
            build.batch(
                build.record(b"a"), **TRANSACTION, base_sequence=0, base_timestamp=number, max_timestamp=number
            ),
            build.marker(
                0, base_offset=1, producer_id=7, producer_epoch=0, base_timestamp=number, max_timestamp=number
            ),
        )
        state_topic.write_state(
            root, ("id", state_topic.value(1, 7, partitions=[("t", [0])], update=number, start=number)),
            ("id", state_topic.value(3, 7, partitions=[("t", [0])], update=number, start=number)),
            ("id", state_topic.value(5, 7, update=number, start=number)),
        )  # fmt: skip
        assert [kafkalog(*command, root).status in (0, 1) for command in COMMANDS] == [True] * len(COMMANDS)
        rows = kafkalog("txn-audit", "--format", "ndjson", root).table("transactions")
        found.append([{name: cell for name, cell in row.items() if name not in ("log", "file")} for row in rows])
    assert found[0] == found[1]


# Offsets past the last one that there can be: as Kafka's long they wrap.


LAST = 2**63 - 1
CONTENT = {".index": struct.pack(">ii", 5, 70), ".timeindex": struct.pack(">qi", 1000, 5)}


@pytest.mark.parametrize("form", ["kafka", "table", "ndjson", "csv", "arrow", "parquet"])
@pytest.mark.parametrize("suffix", CONTENT)
def test_every_format_has_such_an_entry(suffix: str, form: str, tmp_path: Path) -> None:
    """No format fails on it; its offset is what Kafka's sum of two numbers gives."""
    path = tmp_path / "in" / "t-0" / f"{LAST:020}{suffix}"
    path.parent.mkdir(parents=True)
    path.write_bytes(CONTENT[suffix])
    ended = kafkalog(
        "dump", "--format", form, *(("-o", tmp_path / "out") if form in ("arrow", "parquet") else ()), path
    )

    assert ended.status in (0, 1), ended.err
    if form == "ndjson":
        [row] = [row for row in ended.rows if row["table"] != "findings"]
        assert row["offset"] == -(2**63) + 4


NOWHERE: Final = (-(2**63), -1, 2**63 - 1)  # base offsets of a batch that no log has: 2**63 - 1 has no next one


def with_such_a_batch(path: Path, offset: int) -> bytes:
    """Write two whole batches, then one with this base offset, which its CRC does not cover; answer the two."""
    whole = b"".join(build.log(5, 5))
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(whole + build.with_field(build.log(5)[0], 0, offset, 8))
    return whole


@pytest.mark.parametrize("offset", NOWHERE)
def test_a_file_of_any_name_has_no_such_batch(offset: int, tmp_path: Path) -> None:
    """Also where no name says at which offset a segment begins; what is salvaged of it is the rest."""
    whole = with_such_a_batch(tmp_path / "in" / "renamed.log", offset)
    [found] = [
        finding for chunk in scan(tmp_path / "in" / "renamed.log") for finding in chunk.findings if finding.length
    ]
    kafkalog("salvage", tmp_path / "in" / "renamed.log", "-o", tmp_path / "out.log")

    assert (found.code, found.position) == ("offset-outside-segment", len(whole))
    assert found.needed == f"0..{2**63 - 2}"
    assert (tmp_path / "out.log").read_bytes() == whole


@pytest.mark.parametrize("offset", NOWHERE)
def test_what_replicas_and_swap_files_are_compared_by_is_without_it(offset: int, tmp_path: Path) -> None:
    """A segment's end and a replica's batches are those that a log can have."""
    with_such_a_batch(tmp_path / "t-0" / f"{0:020}.log", offset)
    [partition] = open_log_directory(tmp_path).partitions
    batches = ReplicaBatches(partition, -(2**63))

    assert end_of_segment(str(tmp_path / "t-0" / f"{0:020}.log"), 0) == 2
    assert len(batches) == 2
