"""Times that are moved by one amount: each kind of place, each unit, and nothing of the amount in the output."""

from __future__ import annotations

import json
import os
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import build
from invoke import kafkalog
from kafkalog.kafka.internal_records import record_types
from kafkalog.kafka.internal_topics import Internal
from kafkalog.kafka.message_definitions import definitions
from kafkalog.kafka.message_schema import Array, Message, MessageField, Struct
from kafkalog.kafka.snapshot import producer_snapshot
from kafkalog.redaction import NameChoice, RedactionChoice, redact, shift_of
from kafkalog.redaction.passing_fields import TIMES
from kafkalog.redaction.shifted_times import ShiftedTimes
from official import FIXTURES

DAY_MS = 86_400_000
NOW = 1_795_000_000_000
DURATIONS = {"rebalanceTimeout", "rebalanceTimeoutMs", "sessionTimeout", "sessionTimeoutMs", "transactionTimeoutMs"}


def fields(some: tuple[MessageField, ...]) -> Iterator[MessageField]:
    """All fields of a message, those in arrays and structures too."""
    for field in some:
        yield field
        kind = field.type
        while isinstance(kind, Array):
            kind = kind.of
        if isinstance(kind, Struct):
            yield from fields(kind.fields)


def test_each_time_of_each_internal_record_is_in_the_list() -> None:
    """By its name: one that Kafka adds is a time or a duration, and has to be put into one of the two lists."""
    messages: list[Message] = [one.message for one in definitions("control_records").values()]
    for internal in Internal:
        for kind in record_types(internal).values():
            messages += [kind.value, *([] if kind.key is None else [kind.key])]
    named = {
        field.name
        for message in messages
        for field in fields(message.fields)
        if "time" in field.name.lower() or field.name.endswith("Ms")
    }

    assert named - DURATIONS == TIMES


@pytest.mark.parametrize("unit", [1, 1000, 1_000_000, 1_000_000_000])
def test_a_time_moves_in_its_unit(unit: int) -> None:
    """Clients send seconds, microseconds and nanoseconds, too: as many days later as the others."""
    seconds = NOW // 1000

    assert ShiftedTimes(DAY_MS).of(seconds * unit) == (seconds + 86_400) * unit
    assert ShiftedTimes(-DAY_MS).of(seconds * unit) == (seconds - 86_400) * unit


@pytest.mark.parametrize("time_ms", [-1, 0, 1000, 2**63 - 1])
def test_what_is_no_time_stays(time_ms: int) -> None:
    assert ShiftedTimes(-3650 * DAY_MS).of(time_ms) == time_ms


def test_a_time_is_never_before_1970() -> None:
    """-1 would be none."""
    assert ShiftedTimes(-3650 * DAY_MS).of(120_000_000_000) == 0


@pytest.mark.parametrize(
    ("text", "ms"), [("36h", 36 * 3_600_000), ("-2d", -2 * DAY_MS), ("+90s", 90_000), ("3650d", 3650 * DAY_MS)]
)
def test_an_amount_may_be_given(text: str, ms: int) -> None:
    assert shift_of(text) == ms


@pytest.mark.parametrize("text", ["3651d", "-3651d", "soon", "5", ""])
def test_other_amounts_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a duration|is more than 3650 days"):
        shift_of(text)


def test_a_random_amount_is_up_to_ten_years_back() -> None:
    """Times in the future would be found wrong; no two runs have the same."""
    some = [shift_of("random") for _ in range(50)]

    assert len(set(some)) > 1
    assert all(-3650 * DAY_MS <= one <= -DAY_MS for one in some)


SHIFT_MS = -777 * DAY_MS - 12_345


def timestamps(folder: Path) -> dict[str, list[int]]:
    """The times of all records, those in compressed messages too."""
    return {
        str(path): [
            row["timestamp_ms"]
            for row in kafkalog("dump", "--format", "ndjson", "--table", "records", path).table("records")
        ]
        for path in sorted(folder.rglob("*.log"))
    }


def test_the_times_in_old_messages_move(tmp_path: Path) -> None:
    """Each message has its own, also inside a compressed one."""
    data = FIXTURES / "v0.10-magic1" / "data"

    done = redact(str(data), tmp_path, RedactionChoice(NameChoice.KEEP, shift_ms=SHIFT_MS))

    after = timestamps(tmp_path / done.nodes[str(data)])
    before = list(timestamps(data).values())
    assert sum(map(len, before)) > 10
    assert list(after.values()) == [[one if one < 0 else one + SHIFT_MS for one in some] for some in before]


def one_log(folder: Path) -> Path:
    """A log directory whose files all have a time."""
    log = folder / "orders-0"
    log.mkdir(parents=True)
    batches = [
        build.batch(build.record(), base_timestamp=NOW, max_timestamp=NOW),
        build.batch(build.record(later=NOW), base_offset=1, base_timestamp=0, max_timestamp=NOW),
        build.batch(build.record(), base_offset=2, base_timestamp=-1, max_timestamp=-1),
        build.batch(build.record(), base_offset=3, base_timestamp=NOW, max_timestamp=NOW)[:-3],
    ]
    (log / f"{0:020}.log").write_bytes(b"".join(batches))
    (log / f"{3:020}.snapshot").write_bytes(build.snapshot((1, 0, 0, 2, 0, NOW, -1, -1)))
    (folder / "meta.properties").write_text("#\n#Sat Nov 21 09:01:37 UTC 2026\nnode.id=1\nversion=1\n")
    for path in folder.rglob("*"):
        os.utime(path, (NOW / 1000, NOW / 1000))
    return folder


def test_times_beside_the_records_move_too(tmp_path: Path) -> None:
    """In snapshots, in the date of meta.properties, of files, and in the header of a batch that is torn."""
    data = one_log(tmp_path / "data")

    assert kafkalog("redact", data, "--shift-times", "-10d", "-o", tmp_path / "out").status == 0

    (log,) = (tmp_path / "out" / "data" / "node-1").glob("*-0")
    (segment,), (snapshot,) = log.glob("*.log"), log.glob("*.snapshot")
    assert NOW.to_bytes(8, "big") not in segment.read_bytes()
    assert segment.read_bytes().count((NOW - 10 * DAY_MS).to_bytes(8, "big")) == 5
    read = producer_snapshot(snapshot.read_bytes())
    assert (read.wrong, read.entries[0].timestamp) == ("", NOW - 10 * DAY_MS)
    assert "#Wed Nov 11 09:01:37 UTC 2026" in (log.parent / "meta.properties").read_text()
    assert segment.stat().st_mtime == NOW / 1000 - 864_000


def test_nothing_in_the_output_is_of_now(tmp_path: Path) -> None:
    """When it was written would give the amount away: in the manifest, and in the times of all files."""
    data = one_log(tmp_path / "data")
    ended = kafkalog("redact", data, "--shift-times", "random", "-o", tmp_path / "out")
    assert kafkalog("redact", data, "--shift-times", "random", "-o", tmp_path / "out.tar").status == 0
    yesterday = time.time() - 86_000

    assert ended.status == 0
    said = json.loads((tmp_path / "out" / "bundle.json").read_text())
    assert said["redacted"]["times_shifted"] is True
    assert "shift_ms" not in json.dumps(said)
    assert said["created"].startswith("1970-01-01")  # who gets it knows when that was
    assert all(path.stat().st_mtime < yesterday for path in [tmp_path / "out", *(tmp_path / "out").rglob("*")])
    with tarfile.open(tmp_path / "out.tar") as packed:
        assert all(member.mtime < yesterday for member in packed)


def test_an_audit_says_that_times_were_moved(tmp_path: Path) -> None:
    data = one_log(tmp_path / "data")
    assert kafkalog("redact", data, "--shift-times", "36h", "-o", tmp_path / "out").status == 0

    assert "It is redacted, and all times were moved." in " ".join(kafkalog("txn-audit", tmp_path / "out").text.split())
