"""A case of each code about indexes, snapshots, checkpoints and segments, beside the same files as they should be."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

import build
import side_damage
from code_evidence import CodeCase, Maker, case_of, copied, partition, several, written
from invoke import kafkalog
from side_damage import LOG, cut, foreign, gone, other_index, removed, retained, segments, snapshot_entry

__all__ = [
    "BATCHES",
    "DATA",
    "OF_SIDE_FILES",
    "OF_SMALL",
    "PLAIN",
    "SEGMENT",
    "SMALL",
    "WHOLE",
    "cut_snapshot",
    "damaged",
    "edited",
    "running",
]

DATA: Final = ("verify", "data")
SEGMENT: Final = f"{0:020}"
BATCHES: Final = build.log(30, 40, 50)
AT: Final = len(BATCHES[0])  # where the second of them begins
PLAIN: Final = partition(*BATCHES)
ABORTED: Final = partition(
    build.batch(build.record(), producer_id=7, producer_epoch=0, base_sequence=0, attributes=build.TRANSACTIONAL),
    build.marker(0, base_offset=1, producer_id=7, producer_epoch=0),
)
WHOLE: Final = copied(side_damage.CASE)
SMALL: Final = "k4-f-hanging-late-produce-tv0"
OF_SMALL: Final = "tickets-tickets.26-0"
OF_SMALL_ID: Final = f"data/{OF_SMALL}/partition.metadata"
METADATA: Final = "k4-m-metadata-groups-44"


def damaged(*changes: Callable[[Path], object]) -> Maker:
    """Copy a fixture of two logs of several segments, and change something in the directory of one."""
    return copied(side_damage.CASE, *((lambda folder, one=one: one(folder / "data" / LOG)) for one in changes))


def running(folder: Path) -> None:
    """Make the log directory that a partition is in one of a broker that ran."""
    (folder.parent / ".kafka_cleanshutdown").rename(folder.parent / ".lock")


def _small(path: str, data: bytes | str) -> Maker:
    """Copy a fixture, and write one of its small files anew."""
    return copied(SMALL, written(f"data/{path}", data))


def _without_metadata(folder: Path) -> None:
    shutil.rmtree(folder / "data" / "__cluster_metadata-0")


def _appended(number: int, suffix: str, data: bytes) -> Callable[[Path], object]:
    """Write more bytes to the end of a segment's index."""

    def change(folder: Path) -> None:
        with side_damage.beside(segments(folder)[number], suffix).open("ab") as file:
            file.write(data)

    return change


def _beside(suffix: str, data: bytes, *more: Maker) -> Maker:
    """Write a file beside the plain segment."""
    return several(PLAIN, written(f"t-0/{SEGMENT}{suffix}", data), *more)


def _index(*entries: tuple[int, int]) -> bytes:
    return b"".join(number.to_bytes(4, "big", signed=True) for entry in entries for number in entry)


def _times(*entries: tuple[int, int]) -> bytes:
    return b"".join(time.to_bytes(8, "big") + offset.to_bytes(4, "big", signed=True) for time, offset in entries)


def _dump(suffix: str) -> tuple[str, str]:
    return "dump", f"t-0/{SEGMENT}{suffix}"


def _meta(text: str) -> Maker:
    return _small("meta.properties", f"cluster.id=c\nversion=1\n{text}\n")


def _flipped_snapshot(folder: Path) -> None:
    path = sorted(folder.glob("*.snapshot"))[1]
    path.write_bytes(build.flipped(path.read_bytes(), 8 * 20))


def edited(path: str, old: str, new: str) -> Maker:
    """Replace what a regular expression finds in a file."""

    def make(folder: Path) -> None:
        text = (folder / path).read_text()
        assert re.search(old, text)
        (folder / path).write_text(re.sub(old, new, text))

    return make


def _without(path: str, pattern: str = "*") -> Maker:
    """Delete files of a folder."""

    def make(folder: Path) -> None:
        for one in (folder / path).glob(pattern):
            one.unlink()

    return make


def _last_snapshot_gone(folder: Path) -> None:
    """The snapshot that a clean stop writes, which a running broker does not have."""
    max(folder.glob("*.snapshot")).unlink()


def cut_snapshot(folder: Path) -> None:
    """Cut the newest snapshot of the metadata log before its footer."""
    path = max((folder / "data/__cluster_metadata-0").glob("*.checkpoint"))
    last = kafkalog("dump", "--format", "ndjson", path).table("batches")[-1]
    os.truncate(path, last["position"])


AGREED: Final = '{"leaderId":1,"leaderEpoch":9,"votedId":1,"votedDirectoryId":"A","data_version":1}'


OF_SIDE_FILES: Final[dict[str, CodeCase]] = {
    # Indexes.
    "index-truncated": case_of(
        "an index with three bytes behind its last entry", damaged(_appended(1, ".index", b"abc")), "none", WHOLE, *DATA
    ),
    "index-preallocated": case_of(
        "zeros behind the entries of a closed segment's index", damaged(_appended(1, ".index", bytes(80))),
        "zeros behind those of the newest segment's, of a broker that ran",
        damaged(_appended(-1, ".index", bytes(80)), running), *DATA, lowered="note",
    ),
    "index-mismatch": case_of(
        "the index of another segment", damaged(other_index(".index", 1, 2)), "its own", WHOLE, *DATA
    ),
    "time-index-mismatch": case_of(
        "the time index of another segment", damaged(other_index(".timeindex", 1, 2)), "its own", WHOLE, *DATA
    ),
    "index-entry-not-last-offset": case_of(
        "an entry of the offset before the batch", _beside(".index", _index((0, AT))),
        "one of the batch's offset", _beside(".index", _index((1, AT))), *_dump(".index"),
    ),
    "time-index-entry-unlike-batch": case_of(
        "an entry of a later time than the batch", _beside(".timeindex", _times((build.TIME + 1, 2))),
        "one of its time", _beside(".timeindex", _times((build.TIME, 2))), *_dump(".timeindex"),
    ),
    "index-insane": case_of(
        "a last entry below the segment's base offset", _beside(".index", _index((1, AT), (-1, 2 * AT))),
        "one above it", _beside(".index", _index((1, AT), (2, 2 * AT))), *_dump(".index"),
    ),
    "sibling-missing": case_of(
        "an index whose segment is not there", written(f"t-0/{SEGMENT}.index", _index((1, AT))),
        "one beside its segment", _beside(".index", _index((1, AT))), *_dump(".index"),
    ),
    "version-unknown": case_of(
        "an entry of version 1", several(ABORTED, written(f"t-0/{SEGMENT}.txnindex", build.aborted(1, 7, 0, 1, 2))),
        "one of version 0", several(ABORTED, written(f"t-0/{SEGMENT}.txnindex", build.aborted(0, 7, 0, 1, 2))),
    ),
    "txn-index-mismatch": case_of(
        "no transaction index", damaged(gone(".txnindex", 2)), "no transaction index and no offset index",
        damaged(gone(".txnindex", 2), gone(".index", 2)), *DATA, lowered="note",
    ),
    # Snapshots and checkpoints.
    "snapshot-corrupt": case_of(
        "a bit of a snapshot is another one", damaged(_flipped_snapshot), "a field is another one, under a right CRC",
        damaged(snapshot_entry("timestamp")), *DATA,
    ),
    "snapshot-mismatch": case_of(
        "a producer's sequence is another one", damaged(snapshot_entry("last_sequence")), "it is the log's", WHOLE, *DATA
    ),
    "checkpoint-malformed": case_of(
        "a space behind a checkpoint's version", _small(f"{OF_SMALL}/leader-epoch-checkpoint", "0 \n1\n0 0\n"),
        "none behind it", _small(f"{OF_SMALL}/leader-epoch-checkpoint", "0\n1\n0 0\n"), *DATA,
    ),
    "checkpoint-ahead": case_of(
        "a high watermark after the log's end", damaged(side_damage.ahead("replication-offset-checkpoint")),
        "the same of a broker that ran", damaged(side_damage.ahead("replication-offset-checkpoint"), running),
        *DATA, lowered="note",
    ),
    "checkpoint-wrong": case_of(
        "a recovery point before the log's end", damaged(side_damage.ahead("recovery-point-offset-checkpoint", -5)),
        "the same of a broker that ran",
        damaged(side_damage.ahead("recovery-point-offset-checkpoint", -5), running), *DATA,
    ),
    "checkpoint-names-absent": case_of(
        "a checkpoint of a partition that is not there",
        copied(SMALL, edited("data/recovery-point-offset-checkpoint", r"0\n(\d+)\n", r"0\n6\nu 0 1\n")),
        "none", copied(SMALL), *DATA,
    ),
    "leader-epochs-mismatch": case_of(
        "an older epoch behind a newer one", _small(f"{OF_SMALL}/leader-epoch-checkpoint", "0\n2\n1 5\n0 0\n"),
        "an epoch twice", _small(f"{OF_SMALL}/leader-epoch-checkpoint", "0\n2\n0 0\n0 0\n"), *DATA,
    ),
    "meta-properties-wrong": case_of(
        "an empty file", _small("meta.properties", ""), "one with its lines", _meta("node.id=1"), *DATA
    ),
    "meta-properties-malformed": case_of("a node.id of -1", _meta("node.id=-1"), "one of 1", _meta("node.id=1"), *DATA),
    "directory-id-reserved": case_of(
        "the id that Kafka gives to no directory that it knows",
        copied(SMALL, edited("data/meta.properties", "directory.id=.*", "directory.id=AAAAAAAAAAAAAAAAAAAAAQ")),
        "the first one that is not reserved",
        copied(SMALL, edited("data/meta.properties", "directory.id=.*", "directory.id=AAAAAAAAAAAAAAAAAAAAZA")), *DATA,
    ),
    "directory-id-differs": case_of(
        "no directory.id", copied(SMALL, edited("data/meta.properties", "directory.id=.*", "#")),
        "no metadata that names another one",
        copied(SMALL, _without_metadata, edited("data/meta.properties", "directory.id=.*", "#")), *DATA,
    ),
    "partition-metadata-wrong": case_of(
        "a topic_id of zeros, which Kafka gives no topic",
        _small(f"{OF_SMALL}/partition.metadata", "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA"),
        "the topic's", copied(SMALL), *DATA,
    ),
    "topic-id-differs": case_of(
        "another id than that of the topic's other partitions",
        copied(SMALL, _without_metadata, edited(OF_SMALL_ID, "topic_id: .*", f"topic_id: {'B' * 21}A")),
        "the same id", copied(SMALL, _without_metadata), *DATA,
    ),
    "quorum-state-wrong": case_of(
        "a leader epoch without a leader", _small("__cluster_metadata-0/quorum-state", '{"leaderEpoch":9,"data_version":1}'),
        "one with a leader", _small("__cluster_metadata-0/quorum-state", AGREED), *DATA,
    ),
    "kraft-snapshot-wrong": case_of(
        "a snapshot without its footer", copied(METADATA, cut_snapshot), "one with it", copied(METADATA), *DATA
    ),
    # Segments.
    "segment-foreign": case_of(
        "another partition's segment", damaged(foreign(1)), "its own", WHOLE, *DATA
    ),
    "segments-alike": case_of(
        "two partitions of the same batches", several(PLAIN, partition(*BATCHES, name="u-0")),
        "one of them was deleted", several(PLAIN, partition(*BATCHES, name=f"u-0.{'0' * 32}-delete")), "verify", ".",
    ),
    "log-cut-short": case_of(
        "a log without its last batch, which indexes and checkpoints know", damaged(_last_snapshot_gone, cut(-1)),
        "the same of a broker that ran", damaged(_last_snapshot_gone, cut(-1), running),
        *DATA, lowered="note",
    ),
    "log-missing": case_of(
        "a partition without its segments", copied(SMALL, _without(f"data/{OF_SMALL}", "*.log")),
        "a partition without any file, which had no offset yet",
        copied(SMALL, lambda folder: (folder / "data/new-0").mkdir()), *DATA,
    ),
    "segment-missing": case_of(
        "indexes without their segment, before the log", damaged(removed(0)), "the same of a broker that ran",
        damaged(removed(0), running), *DATA, lowered="note",
    ),
    "side-file-missing": case_of("no index", damaged(gone(".index", 2)), "an index", WHOLE, *DATA),
    "copy-skewed": case_of(
        "a segment between others is missing, of a broker that ran", damaged(retained, removed(2), running),
        "the same, and its time index: a deletion was under way",
        damaged(retained, gone(".timeindex", 2), removed(2), running), *DATA, lowered="note",
    ),
}  # fmt: skip
