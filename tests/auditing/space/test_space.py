"""``kafkalog space``: settings, causes that no recorded case has, tables, and words; on logs that are made here."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kafkalog
from build import SNAPPY, TIME, batch, flipped, marker, record
from invoke import kafkalog as command
from kafkalog.auditing.space.state_topic import StateTopic
from kafkalog.columns.table import Columns
from kafkalog.kafka.batch import CONTROL, DELETE_HORIZON, TRANSACTIONAL
from official import FIXTURES

HOUR = 3_600_000
NOW = TIME + 100 * HOUR
COMPACT = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01"}


def keyed(base: int, count: int, keys: int, **fields: int) -> bytes:
    """A batch whose records have `keys` different keys."""
    some = [record(b"v" * 50, b"k%d" % (n % keys), delta=n) for n in range(count)]
    return batch(*some, base_offset=base, **fields)


def directory(folder: Path, partitions: dict[str, dict[int, bytes]], **checkpoints: list[str]) -> Path:
    """A log directory with these partitions, of segments by base offset, and checkpoints of (topic partition offset)."""
    folder.mkdir(exist_ok=True)
    (folder / "meta.properties").write_text("version=1\ncluster.id=c\nnode.id=1\n")
    for name, lines in checkpoints.items():
        text = "\n".join(["0", str(len(lines)), *lines, ""])
        (folder / f"{name.replace('_', '-')}-offset-checkpoint").write_text(text)
    for name, segments in partitions.items():
        (folder / name).mkdir()
        for base, data in segments.items():
            (folder / name / f"{base:020d}.log").write_bytes(data)
    return folder


def causes(
    path: Path, topics: dict[str, dict[str, str]], properties: str = "", **more: Any
) -> dict[str, dict[str, Any]]:
    """The rows of a directory by folder, under these settings."""
    configs, server = path.parent / "topics.json", path.parent / "server.properties"
    configs.write_text(json.dumps(topics))
    server.write_text(properties)
    found = kafkalog.open(path).space(now=more.pop("now", NOW), topic_configs=configs, server_properties=server, **more)
    return {row["folder"]: row for row in found}


SEGMENTS = {0: keyed(0, 20, 2), 20: keyed(20, 20, 2), 40: keyed(40, 1, 1)}


def test_what_waits_for_the_ratio_is_counted_by_keys(tmp_path: Path) -> None:
    """Of two closed segments with two keys, the two newest records are left, in one batch written again."""
    path = directory(tmp_path / "d", {"t-0": SEGMENTS})
    row = causes(path, {"t": {**COMPACT, "min.cleanable.dirty.ratio": "1.0"}})["t-0"]
    left = len(batch(record(b"v" * 50, b"k0", delta=18), record(b"v" * 50, b"k1", delta=19)))

    assert (row["cause"], row["reclaimable_bytes"]) == ("dirty-ratio", len(SEGMENTS[0]) + len(SEGMENTS[20]) - left)
    assert row["settings_from"] == "topic-configs, defaults"


def test_one_partition_that_was_just_dirtied_is_simply_next(tmp_path: Path) -> None:
    """No cause is said of a single partition that the cleaner may take in a moment; of one that waits long, it is."""
    path = directory(tmp_path / "d", {"t-0": SEGMENTS})
    for name in os.listdir(path / "t-0"):
        os.utime(path / "t-0" / name, (NOW / 1000 - 5, NOW / 1000 - 5))
    assert causes(path, {"t": COMPACT})["t-0"]["cause"] == "none"
    assert causes(path, {"t": COMPACT}, now=NOW + 10 * HOUR)["t-0"]["cause"] == "cleaner-stopped"


def test_two_that_were_just_dirtied_wait_for_a_cleaner_that_stopped(tmp_path: Path) -> None:
    """It would have taken one of them at once: no other partition keeps it."""
    path = directory(tmp_path / "d", {"t-0": SEGMENTS, "t-1": SEGMENTS})
    for file in path.glob("t-*/*.log"):
        os.utime(file, (NOW / 1000 - 5, NOW / 1000 - 5))

    assert {row["cause"] for row in causes(path, {"t": COMPACT}).values()} == {"cleaner-stopped"}


def ending() -> dict[int, bytes]:
    """Segments of which the first can't be decompressed by snappy."""
    whole = batch(*(record(b"v" * 50, b"k%d" % (n % 2), delta=n) for n in range(20)), codec=SNAPPY)
    return {**SEGMENTS, 0: flipped(whole, 8 * 61)}


def test_several_that_wait_are_a_cleaner_that_stopped(tmp_path: Path) -> None:
    """A batch that it can't read makes a partition uncleanable; where that could end its thread, it stopped at it."""
    damaged = {**SEGMENTS, 0: flipped(SEGMENTS[0], 8 * 61 + 6)}
    alone = causes(directory(tmp_path / "a", {"t-0": damaged, "u-0": {0: b""}}), {"t": COMPACT, "u": COMPACT})
    path = directory(tmp_path / "b", {"t-0": damaged, "t-1": ending(), "u-0": SEGMENTS, "u-1": SEGMENTS})
    several = causes(path, {"t": COMPACT, "u": COMPACT})
    found = {name: (row["cause"], row["certainty"]) for name, row in several.items()}

    assert (alone["t-0"]["cause"], alone["t-0"]["certainty"]) == ("partition-uncleanable", "proved")
    assert found.pop("t-0") == ("partition-uncleanable", "proved")
    assert set(found.values()) == {("cleaner-stopped", "possible")}


def test_one_that_waits_beside_what_ends_the_cleaner(tmp_path: Path) -> None:
    """A single partition that waits is enough where another one has a batch at which the cleaner's thread can end."""
    path = directory(tmp_path / "b", {"t-0": ending(), "u-0": SEGMENTS})
    for name in os.listdir(path / "u-0"):
        os.utime(path / "u-0" / name, (NOW / 1000 - 5, NOW / 1000 - 5))

    assert {row["cause"] for row in causes(path, {"t": COMPACT, "u": COMPACT}).values()} == {"cleaner-stopped"}


def test_a_wrong_checksum_alone_does_not_stop_the_cleaner(tmp_path: Path) -> None:
    """It does not compare checksums: a flipped bit in a value is passed on."""
    damaged = {**SEGMENTS, 0: flipped(SEGMENTS[0], 8 * 90), 40: batch(record(b"v", b"own"), base_offset=40)}
    path = directory(tmp_path / "d", {"t-0": damaged}, cleaner=["t 0 40"])

    assert causes(path, {"t": COMPACT})["t-0"]["cause"] == "none"


def test_a_topic_with_a_cleaner_s_checkpoint_is_compacted(tmp_path: Path) -> None:
    """Where no settings are known, the checkpoint tells."""
    path = directory(tmp_path / "d", {"t-0": {**SEGMENTS, 60: keyed(60, 1, 1)}}, cleaner=["t 0 20"])
    found = causes(path, {}, properties="log.cleaner.enable=false\n")["t-0"]

    assert (found["cause"], found["settings_from"]) == ("cleaning-disabled", "cleaner-checkpoint, defaults")


def test_an_open_transaction_holds_what_comes_after_it(tmp_path: Path) -> None:
    """The cleaner stops at the segment with the last stable offset; since when is its first record's time."""
    opened = keyed(0, 2, 1, attributes=TRANSACTIONAL, producer_id=7, producer_epoch=0, base_sequence=0)
    path = directory(tmp_path / "d", {"t-0": {0: opened, 2: keyed(2, 40, 2), 42: keyed(42, 1, 1)}})
    row = causes(path, {"t": COMPACT})["t-0"]

    assert (row["cause"], row["since_offset"], row["since_ms"]) == ("open-transaction", 0, TIME)


def test_an_open_transaction_that_began_below_the_log_s_start_is_named(tmp_path: Path) -> None:
    """Records were deleted up to the middle of its data: it still is whose end the cleaner waits for."""
    opened = keyed(0, 6, 2, attributes=TRANSACTIONAL, producer_id=7, producer_epoch=0, base_sequence=0)
    partition = {0: opened, 6: keyed(6, 40, 2), 46: keyed(46, 1, 1)}
    path = directory(tmp_path / "d", {"t-0": partition}, log_start=["t 0 3"])
    row = causes(path, {"t": COMPACT})["t-0"]

    assert (row["cause"], row["since_offset"], row["since_ms"]) == ("open-transaction", 0, TIME)
    assert "producer 7" in row["evidence"]


def test_markers_stay_until_their_horizon(tmp_path: Path) -> None:
    """A marker without data that was dated goes when its time has come."""
    dated = marker(
        base_offset=5, producer_id=7, producer_epoch=0, attributes=TRANSACTIONAL | CONTROL | DELETE_HORIZON,
        base_timestamp=NOW + HOUR,
    )  # fmt: skip
    path = directory(tmp_path / "d", {"t-0": {0: dated, 20: keyed(20, 1, 1)}}, cleaner=["t 0 20"])
    assert causes(path, {"t": COMPACT})["t-0"]["cause"] == "delete-horizon"
    assert causes(path, {"t": COMPACT})["t-0"]["reclaimable_bytes"] == len(dated)


@pytest.mark.parametrize(("now", "cause"), [(NOW + HOUR - 1, "delete-horizon"), (NOW + HOUR, "cleaner-stopped")])
def test_tombstones_stay_until_their_horizon(now: int, cause: str, tmp_path: Path) -> None:
    """It is the base timestamp of their batch; at that time the cleaner should take them."""
    dated = batch(record(None, b"k"), attributes=DELETE_HORIZON, base_timestamp=NOW + HOUR)
    path = directory(tmp_path / "d", {"t-0": {0: dated, 20: keyed(20, 1, 1)}}, cleaner=["t 0 0"])

    assert causes(path, {"t": COMPACT}, now=now)["t-0"]["cause"] == cause


def test_without_keys_nothing_is_guessed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A large partition's reclaimable bytes are null until --keys."""
    monkeypatch.setattr("kafkalog.auditing.space.measuring.SMALL_BYTES", 0)
    path = directory(tmp_path / "d", {"t-0": SEGMENTS})
    topics = {"t": {**COMPACT, "min.cleanable.dirty.ratio": "1.0"}}

    assert causes(path, topics)["t-0"]["reclaimable_bytes"] is None
    assert causes(path, topics, keys=True)["t-0"]["reclaimable_bytes"] > 0


def test_a_full_map_ends_a_pass(tmp_path: Path) -> None:
    """The cleaner's buffer holds few keys: what comes after them is left as it is."""
    many = {0: keyed(0, 40, 40), 40: keyed(40, 40, 40), 80: keyed(80, 1, 1)}
    path = directory(tmp_path / "d", {"t-0": many})
    topics = {"t": {**COMPACT, "min.cleanable.dirty.ratio": "1.0"}}
    small = causes(path, topics, properties="log.cleaner.dedupe.buffer.size=480\n")["t-0"]
    large = causes(path, topics)["t-0"]

    assert (small["cause"], small["reclaimable_bytes"]) == ("none", 0)
    assert large["reclaimable_bytes"] == len(many[0])


def test_a_directory_that_was_put_aside_is_left_over(tmp_path: Path) -> None:
    """A broker removes -delete, and never -stray."""
    names = {
        "t-0.0123456789abcdef0123456789abcdef-delete": SEGMENTS,
        "u-0.0123456789abcdef0123456789abcdef-stray": SEGMENTS,
    }
    rows = causes(directory(tmp_path / "d", names), {})
    size = sum(map(len, SEGMENTS.values()))

    assert [(row["cause"], row["reclaimable_bytes"]) for _, row in sorted(rows.items())] == [
        ("leftovers", size),
        ("leftovers", 0),
    ]


def test_the_next_start_of_directories_that_were_put_aside(tmp_path: Path) -> None:
    """LogLoader recovers -stray like any other and no broker removes it; -delete is opened and removed, unrecovered."""
    torn = {**SEGMENTS, 40: SEGMENTS[40][:-3]}
    names = {f"t-0.0123456789abcdef0123456789abcdef-{suffix}": torn for suffix in ("delete", "stray")}
    path = directory(tmp_path / "d", names)
    for name in names:
        for base in SEGMENTS:
            (path / name / f"{base:020d}.index").touch()
    rows = kafkalog.open(path).space().next_start
    deleted, stray = sorted(rows, key=lambda row: row["log"])
    size = sum(map(len, torn.values()))

    assert (deleted["recovered_segments"], deleted["truncated_bytes"], deleted["read_bytes"]) == (0, 0, 0)
    assert deleted["deleted_bytes"] == size
    assert (stray["recovered_segments"], stray["deleted_bytes"]) == (3, 0)
    assert stray["truncated_bytes"] > 0
    assert "no broker removes -stray" in stray["does"]


@pytest.mark.parametrize("text", ["", "[]", "{", '{"t": 1}', "[" * 100_000, "\x00"])
def test_settings_that_are_none_are_refused(tmp_path: Path, text: str) -> None:
    """A file of settings is JSON of topics; anything else can't be read, and is no internal error."""
    (tmp_path / "topics.json").write_text(text)
    ended = command("space", "--topic-configs", tmp_path / "topics.json", FIXTURES / "v3.9-compact-txn")

    assert ended.status == 3


@pytest.mark.parametrize("value", ["", "x", "1e400", "-5", "9" * 400, "nan"])
def test_settings_that_make_no_sense_end_nothing(tmp_path: Path, value: str) -> None:
    """Kafka's default counts where a value is no number."""
    path = directory(tmp_path / "d", {"t-0": SEGMENTS})
    topics = dict.fromkeys(("retention.ms", "min.cleanable.dirty.ratio", "delete.retention.ms"), value)
    properties = "".join(f"{name}={value}\n" for name in ("log.cleaner.threads", "log.cleaner.dedupe.buffer.size"))

    assert causes(path, {"t": {"cleanup.policy": "compact", **topics}}, properties)["t-0"]["log_bytes"] > 0


def test_the_next_start_reads_what_was_not_flushed(tmp_path: Path) -> None:
    """After a clean stop nothing; else from the segment with the recovery point on."""
    path = directory(tmp_path / "d", {"t-0": SEGMENTS}, recovery_point=["t 0 25"])
    for name in SEGMENTS:
        (path / "t-0" / f"{name:020d}.index").touch()

    def row() -> dict[str, Any]:
        (found,) = kafkalog.open(path).space().next_start
        return found

    assert (row()["recovered_segments"], row()["first_recovered_offset"]) == (2, 20)
    assert row()["recovered_bytes"] == len(SEGMENTS[20]) + len(SEGMENTS[40])
    (path / ".kafka_cleanshutdown").touch()
    assert (row()["recovered_segments"], row()["read_bytes"]) == (0, 0)
    (path / "t-0" / f"{20:020d}.index").unlink()
    states = len(SEGMENTS[0]) + len(SEGMENTS[40])  # before the segment whose index is made, and after it
    assert (row()["rebuilt_indexes"], row()["rebuilt_bytes"]) == (1, len(SEGMENTS[20]))
    assert (row()["snapshot_bytes"], row()["read_bytes"]) == (states, states + len(SEGMENTS[20]))


def test_transactions_cost_what_their_batches_and_markers_take() -> None:
    """A partition's row has the sums of its batches, counted one by one."""
    case = FIXTURES / "k4-a-interleaved-tv2"
    data = next(case.glob("data*/*-0"))
    rows = list(kafkalog.open(case).space().transaction_costs)
    (mine,) = [row for row in rows if row["scope"] == "partition"]
    batches = [one for path in sorted(data.glob("*.log")) for one in kafkalog.batches(path)]
    markers = [one for one in batches if one.attributes & CONTROL]
    written = [one for one in batches if one.attributes & TRANSACTIONAL and not one.attributes & CONTROL]

    assert mine["transactions"] == len(markers)
    assert mine["marker_bytes"] == sum(one.size for one in markers)
    assert mine["data_bytes"] == sum(one.size for one in written)
    assert mine["records"] == sum(one.records_count or 0 for one in written)
    assert mine["duration_p50_ms"] <= mine["duration_p99_ms"] <= mine["duration_max_ms"]


def test_producers_are_grouped_by_the_beginning_of_their_ids() -> None:
    """All records of a log's producers are in one group or the other."""
    case = FIXTURES / "k4-f-hanging-late-produce-tv0"
    groups = list(kafkalog.open(case).space().producer_groups)
    producers = list(kafkalog.open(case).audit().producers)

    assert sum(row["producer_ids"] for row in groups) == len({row["producer_id"] for row in producers})
    assert sum(row["records"] for row in groups) == sum(row["records"] for row in producers)


def test_a_producer_whose_clock_is_ahead_is_named(tmp_path: Path) -> None:
    """Its records are newer than the marker that a broker wrote after them."""
    data = keyed(
        0, 2, 1, attributes=TRANSACTIONAL, producer_id=7, producer_epoch=0, base_sequence=0, max_timestamp=TIME + 90_000
    )  # fmt: skip
    ended = marker(base_offset=2, producer_id=7, producer_epoch=0, base_timestamp=TIME, max_timestamp=TIME)
    path = directory(tmp_path / "d", {"t-0": {0: data + ended}})
    rows = [row for row in kafkalog.open(path).space(now=NOW).clocks if row["kind"] == "producer"]

    assert [(row["producer_id"], row["ahead_ms"]) for row in rows] == [(7, 90_000)]


def test_clocks_past_the_limit_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A partition with more rows than are listed is not as one with so many: a finding says how many more there are."""
    monkeypatch.setattr("kafkalog.auditing.space.clocks._MOST", 2)
    data = b"".join(
        keyed(
            3 * at, 2, 1, attributes=TRANSACTIONAL, producer_id=at, producer_epoch=0, base_sequence=0,
            max_timestamp=TIME + 90_000,
        ) + marker(base_offset=3 * at + 2, producer_id=at, producer_epoch=0, base_timestamp=TIME, max_timestamp=TIME)
        for at in range(5)
    )  # fmt: skip
    found = kafkalog.open(directory(tmp_path / "d", {"t-0": {0: data}})).space(now=NOW)
    counted = [row for row in found.clocks.outcome.findings if row.code == "not-all-judged"]

    assert len(list(found.clocks)) == 2
    assert [(str(one.found), one.topic, one.severity.word) for one in counted] == [("3", "t", "warning")]


@pytest.mark.parametrize(
    "case", sorted(path for path in FIXTURES.iterdir() if path.is_dir())[::4], ids=lambda path: path.name
)
def test_every_fixture_has_a_row_for_each_directory(case: Path) -> None:
    """Whatever is there, each table is made, and what can be freed is never more than what is there."""
    names = ["space", "space_segments", "blockers", "next_start", "transaction_costs", "producer_groups", "clocks",
             "topic_clocks"]  # fmt: skip
    found = kafkalog.open(case).space(keys=True)
    for name in names:
        rows = list(getattr(found, name))
        if name == "space":
            assert all(row["reclaimable_bytes"] <= row["all_bytes"] for row in rows)
        if name == "space_segments":
            assert all(row["log_bytes"] >= row["control_bytes"] for row in rows)


def test_what_holds_bytes_is_a_note() -> None:
    """The exit status says so only where it is asked for; the finding is space-held."""
    case = FIXTURES / "v3.9-compact-txn"
    assert command("space", case).status == 0
    assert command("space", "--fail-on", "note", case).status == 1
    rows = command("space", "--format", "ndjson", case).rows

    assert {row["code"] for row in rows if row["table"] == "findings"} == {"space-held"}
    assert command("space", case, "--format", "csv").status == 0


def test_the_last_decision_before_a_time_is_that_of_its_producer() -> None:
    """Of equal times the decision counts; another producer's never does."""
    state = StateTopic(decisions=Columns({"producer_id": np.array([1, 3, 1]), "time": np.array([20, 5, 10])}))
    asked = {(1, 9): -1, (1, 10): 10, (1, 19): 10, (1, 99): 20, (2, 99): -1, (3, 4): -1, (3, 5): 5, (4, 5): -1}
    producers, times = (np.array(column) for column in zip(*asked, strict=True))

    assert state.decision_before(producers, times).tolist() == list(asked.values())
    assert StateTopic().decision_before(producers, times).tolist() == [-1] * len(asked)
