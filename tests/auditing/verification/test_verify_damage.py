"""One damage, one finding: what follows from it is a note, and the finding names its witness."""

from __future__ import annotations

import shutil
import struct
from pathlib import Path
from typing import Final

import pytest

import build
from invoke import Ended, in_full, kafkalog
from kafkalog.findings import Finding, Severity
from kafkalog.segments.readers import batches
from official import FIXTURES, materialize
from side_damage import CASE, DAMAGE, LOG, other_index, snapshot_entry
from verified import codes, serious, verified

# What the scan of the log tells of the damages of which side files say nothing.
BY_THE_LOG: Final = {
    "inner segment removed": ["offset-gap-lost"],
    "last batch of the log torn": ["batch-truncated", "log-end-falls-back"],
    "last batch of an inner segment torn": ["batch-truncated"],
    "a batch of the log overwritten": ["batch-length-wrong"],
    "a batch of an inner segment overwritten": ["batch-length-wrong"],
}


@pytest.mark.some(every=2)
@pytest.mark.parametrize("what", DAMAGE)
def test_one_damage_gives_one_finding(what: str, tmp_path: Path) -> None:
    """A segment removed or put in, an index of another one, a snapshot's entry, a marker cut off, a checkpoint ahead."""
    damage, expected = DAMAGE[what]
    root = materialize(FIXTURES / CASE, tmp_path) / "data"
    damage(root / LOG)

    assert codes(serious(verified(root))) == BY_THE_LOG.get(what, expected)


# Segments of another partition.


def only(found: list[Finding], code: str) -> Finding:
    """The one serious finding, which is of this code."""
    (finding,) = found
    assert finding.code == code, str(finding)
    return finding


PAIRS: Final = [
    ("k4-c-group-offsets-tv0", 6),
    ("k4-h-upgraded", 6),
    ("v0.11-mixed-magic", 6),
    ("v2.8-codecs", 6),
    ("v3.9-codecs", 6),
]


@pytest.mark.parametrize(("case", "most"), PAIRS, ids=str)
def test_a_segment_of_another_partition_is_told(case: str, most: int, tmp_path: Path) -> None:
    """Copied over one of its own, a segment is told as foreign, with the partition that has it too; nothing else is."""
    (root,) = sorted(materialize(FIXTURES / case, tmp_path).glob("data*"))
    segments = [path for path in sorted(root.glob("*/*.log")) if path.stat().st_size and "__" not in path.parent.name]
    pairs = [(here, there) for here in segments for there in segments if here.parent != there.parent][:most]
    assert pairs
    for here, there in pairs:
        own = here.read_bytes()
        here.write_bytes(there.read_bytes())
        finding = only(serious(verified(root)), "segment-foreign")
        assert finding.file == str(here)
        assert f"those of {there.parent.name}: " in finding.message
        here.write_bytes(own)


def test_a_segment_that_was_moved_is_told(tmp_path: Path) -> None:
    """Where the other partition lacks it, the hole there and its producers say where it belongs."""
    root = materialize(FIXTURES / CASE, tmp_path) / "data"
    other = root / "trades-sensors.68-0"
    here, there = sorted((root / LOG).glob("*.log"))[1], sorted(other.glob("*.log"))[1]
    there.replace(here)
    told = {(finding.code, Path(finding.file).parent.name) for finding in serious(verified(root))}

    assert told == {("segment-foreign", LOG), ("offset-gap-lost", other.name)}
    (finding,) = [one for one in verified(root).findings() if one.code == "segment-foreign"]
    assert f"fill the gap of {other.name} at offset" in finding.message


@pytest.mark.parametrize(("has_other_index", "suffix"), [(False, ".snapshot"), (True, ".log")])
def test_two_files_that_agree_against_a_segment_show_that_it_is_foreign(
    has_other_index: bool, suffix: str, tmp_path: Path
) -> None:
    """The snapshots at its end and at the next one's, or its index and the snapshot at its end."""
    folder = materialize(FIXTURES / CASE, tmp_path) / "data" / LOG
    for number in (0, 1):  # the producer writes nothing between the two
        snapshot_entry("last_sequence", number=number)(folder)
    if has_other_index:
        other_index(".index", 0, 2)(folder)
    told = [finding for finding in verified(folder.parent).findings() if finding.code == "segment-foreign"]

    assert [(one.severity, one.file) for one in told] == [(Severity.ERROR, str(min(folder.glob(f"*{suffix}"))))]


@pytest.mark.parametrize("producer_id", [7, -1])
def test_exchanged_segments_of_equal_sizes_are_told_by_their_times(producer_id: int, tmp_path: Path) -> None:
    """The time index and the producer snapshot at the end know the times; without producers the former alone."""
    for name, time in (("a-0", 1000), ("b-0", 2000)):
        log = tmp_path / "data" / name
        log.mkdir(parents=True)
        of = {"producer_id": producer_id, "producer_epoch": min(producer_id, 0), "first_timestamp": time}
        for base in (0, 1):
            data = build.batch(
                build.record(), base_offset=base, base_sequence=min(producer_id, base), max_timestamp=time + base, **of
            )
            (log / f"{base:020}.log").write_bytes(data)
            (log / f"{base:020}.index").touch()
            (log / f"{base:020}.timeindex").write_bytes(struct.pack(">qi", time + base, 0))
        entries = [(7, 0, 0, 0, 0, time, -1, -1)] * (producer_id > 0)
        (log / f"{1:020}.snapshot").write_bytes(build.snapshot(*entries))
    (tmp_path / "data" / "meta.properties").write_text("version=1\ncluster.id=c\nnode.id=1\n")
    assert not serious(verified(tmp_path))
    assert kafkalog("txn-audit", "data", cwd=tmp_path).text.startswith("OK")
    one, other = (tmp_path / "data" / name / f"{0:020}.log" for name in ("a-0", "b-0"))
    mine = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(mine)
    told = {finding.code for finding in serious(verified(tmp_path))}
    assert told == {"segment-foreign" if producer_id > 0 else "time-index-mismatch"}
    assert kafkalog("txn-audit", "data", cwd=tmp_path).text.startswith("SUSPICIOUS")


@pytest.mark.parametrize("has_time", [True, False])
def test_a_closed_segment_that_was_emptied_is_not_one_that_the_cleaner_emptied(has_time: bool, tmp_path: Path) -> None:
    """Its time index still has the newest time; the cleaner makes an empty one."""
    log = tmp_path / "data" / "c-0"
    log.mkdir(parents=True)
    (tmp_path / "data" / "meta.properties").write_text("version=1\ncluster.id=c\nnode.id=1\n")
    (log / f"{0:020}.log").touch()
    (log / f"{0:020}.index").touch()
    (log / f"{0:020}.timeindex").write_bytes(struct.pack(">qi", 1000, 3) if has_time else b"")
    (log / f"{4:020}.log").write_bytes(build.batch(build.record(), base_offset=4))

    assert ("its .timeindex has offset 3" in in_full("txn-audit", "data", cwd=tmp_path).text) == has_time


@pytest.mark.parametrize("suffix", [".log", ".index"])
def test_segments_that_were_exchanged_are_told_by_their_indexes(suffix: str, tmp_path: Path) -> None:
    """Each has its batches where the other's index has them; where all else fits, it is the indexes."""
    for name, size, time in (("a-0", 5, 1000), ("b-0", 9, 2000)):
        (tmp_path / name).mkdir()
        each = [
            build.batch(
                build.record(value=b"v" * size * 9), base_offset=number, first_timestamp=time, max_timestamp=time
            )
            for number in range(6)
        ]
        stem = tmp_path / name / f"{0:020}"
        stem.with_suffix(".log").write_bytes(b"".join(each))
        entries = [struct.pack(">ii", number, len(each[0]) * number) for number in (2, 4)]
        stem.with_suffix(".index").write_bytes(b"".join(entries))
        stem.with_suffix(".timeindex").write_bytes(struct.pack(">qi", time, 0))
    one, other = (tmp_path / name / f"{0:020}{suffix}" for name in ("a-0", "b-0"))
    mine = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(mine)
    told = {(finding.code, finding.file) for finding in serious(verified(tmp_path))}

    if suffix == ".log":
        assert told == {("segment-foreign", str(one)), ("segment-foreign", str(other))}
    else:
        assert {code for code, _ in told} == {"index-mismatch"}


def test_two_partitions_alike_are_told_where_nothing_says_which(tmp_path: Path) -> None:
    """Without side files that tell, both partitions hold what one of them must have got from the other."""
    data = b"".join(build.log(10, 20, 30))
    for name in ("a-0", "b-0"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{0:020}.log").write_bytes(data)
    assert only(serious(verified(tmp_path)), "segments-alike").file.endswith(f"b-0/{0:020}.log")

    (tmp_path / "b-0").rename(tmp_path / "b-0.0dc3a58e6bb548a38f9a45f0bcfe9e70-delete")
    assert serious(verified(tmp_path)) == []


def test_replicas_of_one_partition_are_no_foreigners(tmp_path: Path) -> None:
    """Two brokers' directories hold the same segments: that is what they are for."""
    root = materialize(FIXTURES / CASE, tmp_path) / "data"
    shutil.copytree(root, tmp_path / "other")
    about = tmp_path / "other" / "meta.properties"
    about.write_text(about.read_text().replace("node.id=1", "node.id=2"))

    assert [finding for finding in serious(verified(root, tmp_path / "other")) if "segment" in finding.code] == []


# Fields outside the checksum.

FLIPPED: Final = [
    ("k4-a-interleaved-tv2", "parcels-riders.94-0"),
    (CASE, LOG),
    ("k4-i-retention-delete-records", None),
]


def segment_of(case: str, log: str | None, folder: Path) -> tuple[Path, Path]:
    """A case's directory, and a segment in it with batches to choose from."""
    root = materialize(FIXTURES / case, folder) / "data"
    found = [path for path in sorted(root.glob(f"{log or '*'}/*.log")) if path.parent.name[0] != "_"]
    return root, max(found, key=lambda path: path.stat().st_size)


@pytest.mark.parametrize(("case", "log"), FLIPPED)
@pytest.mark.parametrize("bit", [0, 1, 4, 13, 31, 47, 62, 63])
def test_a_wrong_base_offset_is_told_by_its_neighbours(case: str, log: str | None, bit: int, tmp_path: Path) -> None:
    """Whichever bit of it is flipped in the middle of a segment: one finding, which knows the offset that fits."""
    root, segment = segment_of(case, log, tmp_path)
    whole, rows = segment.read_bytes(), list(batches(segment))
    batch = rows[len(rows) // 2]
    segment.write_bytes(build.flipped(whole, 8 * (batch.position + 7 - bit // 8) + bit % 8))
    finding = only(serious(verified(root)), "base-offset-wrong")

    assert (finding.position, finding.needed) == (batch.position, batch.base_offset)
    assert f"the batch before it ends at offset {rows[len(rows) // 2 - 1].last_offset}" in finding.message


@pytest.mark.parametrize(("case", "log"), FLIPPED)
@pytest.mark.parametrize("bit", [0, 1, 9, 30, 31])
def test_a_wrong_leader_epoch_is_told_by_its_neighbours(case: str, log: str | None, bit: int, tmp_path: Path) -> None:
    """Between two batches of one epoch there is no other."""
    root, segment = segment_of(case, log, tmp_path)
    whole, rows = segment.read_bytes(), list(batches(segment))
    batch = rows[len(rows) // 2]
    segment.write_bytes(build.flipped(whole, 8 * (batch.position + 15 - bit // 8) + bit % 8))
    finding = only(serious(verified(root)), "leader-epoch-wrong")

    assert (finding.position, finding.needed) == (batch.position, batch.partition_leader_epoch)


def test_a_last_batch_has_the_epoch_checkpoint_for_witness(tmp_path: Path) -> None:
    """Behind it nothing stands; leader-epoch-checkpoint knows the epoch."""
    root, segment = segment_of(CASE, LOG, tmp_path)
    segment = max(segment.parent.glob("*.log"))
    whole, rows = segment.read_bytes(), list(batches(segment))
    segment.write_bytes(build.flipped(whole, 8 * (rows[-1].position + 15)))

    assert only(serious(verified(root)), "leader-epochs-mismatch").file.endswith("leader-epoch-checkpoint")


# Markers.


def marked(tmp_path: Path, *markers: bytes) -> list[Finding]:
    """What is said of a producer's data of epoch 1 and the markers behind it."""
    fields = {"producer_id": 7, "producer_epoch": 1, "base_sequence": 0, "attributes": build.TRANSACTIONAL}
    home = tmp_path / "t-0"
    home.mkdir()
    (home / f"{0:020}.log").write_bytes(build.batch(build.record(), **fields) + b"".join(markers))
    return serious(verified(home))


def marker(offset: int, epoch: int, coordinator: int) -> bytes:
    """A marker of the producer."""
    return build.marker(base_offset=offset, producer_id=7, producer_epoch=epoch, coordinator_epoch=coordinator)


def test_markers_epochs_do_not_fall(tmp_path: Path) -> None:
    """A marker is of its data's epoch or a newer one, and its coordinator not older than the one before."""
    for name in ("a", "b", "c"):
        (tmp_path / name).mkdir()
    assert marked(tmp_path / "a", marker(1, 1, 3), marker(2, 2, 3)) == []

    finding = only(marked(tmp_path / "b", marker(1, 0, 3)), "marker-epoch-wrong")
    assert (finding.offset, finding.needed, finding.found) == (1, 1, 0)

    finding = only(marked(tmp_path / "c", marker(1, 1, 3), marker(2, 1, 2)), "coordinator-epoch-decreasing")
    assert (finding.offset, finding.needed, finding.found) == (2, 3, 2)


@pytest.mark.parametrize(("case", "log"), FLIPPED)
@pytest.mark.parametrize("bit", [0, 4, 41, 62, 63])
def test_an_audit_tells_a_wrong_base_offset_as_one_finding(
    case: str, log: str | None, bit: int, tmp_path: Path
) -> None:
    """No gap of trillions, no broken order: transactions and offsets are those of the whole log."""
    root, segment = segment_of(case, log, tmp_path)
    whole, rows = segment.read_bytes(), list(batches(segment))
    before = kafkalog("txn-audit", "--format", "ndjson", root)
    for batch in (rows[len(rows) // 2], rows[-1]):
        segment.write_bytes(build.flipped(whole, 8 * (batch.position + 7 - bit // 8) + bit % 8))
        after = kafkalog("txn-audit", "--format", "ndjson", root)
        found = only_new(before, after)
        if bit == 63 and batch is rows[-1]:  # no log has it: a marker there ends nothing
            found = [row for row in found if row["code"] != "transaction-undecided"]
        (finding,) = found
        assert (finding["code"], finding["position"]) == ("base-offset-wrong", batch.position)
        for table in ("gaps", "transactions"):
            if batch is not rows[-1] or table == "gaps":
                assert after.table(table) == before.table(table)


def only_new(before: Ended, after: Ended) -> list[dict[str, object]]:
    known = {row["id"] for row in before.table("findings")}
    return [row for row in after.table("findings") if row["id"] not in known and row["severity"] != "note"]
