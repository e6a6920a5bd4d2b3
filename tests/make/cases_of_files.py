"""A case of each code about files and directories, beside the same files made legal."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

import build
import side_damage
from build import batch, record
from code_evidence import CodeCase, Evidence, Maker, case_of, copied, partition, several, written
from invoke import kafkalog
from official import FIXTURES
from side_damage import LOG, cut, foreign, gone, other_index, removed, segments, snapshot_entry

__all__ = ["OF_FILES", "cut_snapshot", "edited", "running"]

DATA: Final = ("verify", "data")
SEGMENT: Final = f"{0:020}"
BATCHES: Final = build.log(30, 40, 50)
AT: Final = len(BATCHES[0])  # where the second of them begins
PLAIN: Final = partition(*BATCHES)
STATES: Final = [FIXTURES / "moving" / f"state-{number}" for number in (2, 3)]

# Fixtures that were stopped cleanly.
WHOLE: Final = copied(side_damage.CASE)
SMALL: Final = "k4-f-hanging-late-produce-tv0"
OF_SMALL: Final = "tickets-tickets.26-0"
TWO: Final = copied("k4-f-marker-leaderless")
CLUSTERS: Final = ("k4-d-fencing-tv2-400", "k4-h-upgraded")
METADATA: Final = "k4-m-metadata-groups-44"


def _damaged(*changes: Callable[[Path], object]) -> Maker:
    """Copy a fixture of two logs of several segments, and change something in the directory of one."""
    return copied(side_damage.CASE, *((lambda folder, one=one: one(folder / "data" / LOG)) for one in changes))


def running(folder: Path) -> None:
    """Make the log directory that a partition is in one of a broker that ran."""
    (folder.parent / ".kafka_cleanshutdown").rename(folder.parent / ".lock")


def _small(path: str, data: bytes | str) -> Maker:
    """Copy a fixture, and write one of its small files anew."""
    return copied(SMALL, written(f"data/{path}", data))


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


def _verified_before(change: Callable[[Path], object], source: Path = FIXTURES / SMALL / "data") -> Maker:
    """Verify a copy of a directory, and change it then."""

    def make(folder: Path) -> None:
        shutil.copytree(source, folder / "data", copy_function=shutil.copyfile)
        (folder / "data" / "notes.txt").write_text("mine")
        kafkalog("verify", "--hash", "sha256", "data", "--format", "ndjson", "-o", "before", cwd=folder)
        change(folder / "data")

    return make


SINCE: Final = ("verify", "data", "--against", "before/provenance.json")


def _notes(change: Callable[[Path], object]) -> Maker:
    """Verify a directory, and change a file that is not Kafka's."""
    return _verified_before(lambda data: change(data / "notes.txt"))


def _went_on(data: Path) -> None:
    shutil.copytree(STATES[1], data.with_name("later"), copy_function=shutil.copyfile)
    shutil.copy(data / "notes.txt", data.with_name("later"))
    shutil.rmtree(data)
    data.with_name("later").rename(data)


def _audited(change: Callable[[Path], object]) -> Maker:
    """Write an audit's output, and change it then."""

    def make(folder: Path) -> None:
        kafkalog("txn-audit", FIXTURES / SMALL / "data", "-o", "audit", cwd=folder)
        change(folder / "audit")

    return make


def _one_more_byte(audit: Path) -> None:
    path = next(audit.rglob("*.parquet"))
    path.write_bytes(path.read_bytes() + b"x")


def _linked(target: str) -> Maker:
    """Write a segment elsewhere, and link to it from a partition."""

    def make(folder: Path) -> None:
        written("out/elsewhere.log", BATCHES[0])(folder)
        partition(BATCHES[0], name="data/u-0")(folder)
        (folder / "data" / "t-0").mkdir()
        (folder / "data" / "t-0" / f"{SEGMENT}.log").symlink_to(target)

    return make


def edited(path: str, old: str, new: str) -> Maker:
    """Replace what a regular expression finds in a file."""

    def make(folder: Path) -> None:
        text = (folder / path).read_text()
        assert re.search(old, text)
        (folder / path).write_text(re.sub(old, new, text))

    return make


def _moved(old: str, new: str) -> Maker:
    return lambda folder: (folder / old).rename(folder / new)


def _twice(*changes: Maker) -> Maker:
    """Copy a fixture's directory twice, and change the second copy."""
    return several(copied(SMALL), lambda folder: shutil.copytree(folder / "data", folder / "other"), *changes)


def _two_clusters(*changes: Maker) -> Maker:
    return several(copied(CLUSTERS[0]), _moved("data", "one"), copied(CLUSTERS[1]), *changes)


def _same_cluster_id(folder: Path) -> None:
    (cluster,) = re.findall(r"cluster\.id=.*", (folder / "one/meta.properties").read_text())
    edited("data/meta.properties", r"cluster\.id=.*", cluster)(folder)


def _one_disk_more(*changes: Maker) -> Maker:
    """Copy a fixture, and one of its partitions to another directory of the same broker."""

    def make(folder: Path) -> None:
        copied(SMALL)(folder)
        shutil.copytree(folder / "data" / OF_SMALL, folder / "other" / OF_SMALL)
        about = (folder / "data/meta.properties").read_text()
        (folder / "other/meta.properties").write_text(re.sub(r"(?m)^directory\.id=.*\n", "", about))
        for change in changes:
            change(folder)

    return make


def _without(path: str, pattern: str = "*") -> Maker:
    """Delete files of a folder."""

    def make(folder: Path) -> None:
        for one in (folder / path).glob(pattern):
            one.unlink()

    return make


def cut_snapshot(folder: Path) -> None:
    """Cut the newest snapshot of the metadata log before its footer."""
    path = max((folder / "data/__cluster_metadata-0").glob("*.checkpoint"))
    last = kafkalog("dump", "--format", "ndjson", path).table("batches")[-1]
    os.truncate(path, last["position"])


def _left_over(name: str, data: bytes = b"") -> Maker:
    """Write a file that a broker left, into a partition of three segments."""
    whole = (partition(batch(record(), base_offset=at), base=at) for at in range(3))
    return several(*whole, written(f"t-0/{name}", data))


def _nothing(_: Path) -> None:
    """Change nothing."""


TWO_FILES: Final = several(written("notes.txt", "mine"), written("meta.properties", "mine"))
AGREED: Final = '{"leaderId":1,"leaderEpoch":9,"votedId":1,"votedDirectoryId":"A","data_version":1}'

OF_FILES: Final[dict[str, CodeCase]] = {
    # Indexes.
    "index-truncated": case_of(
        "an index with three bytes behind its last entry", _damaged(_appended(1, ".index", b"abc")), "none", WHOLE, *DATA
    ),
    "index-preallocated": case_of(
        "zeros behind the entries of a closed segment's index", _damaged(_appended(1, ".index", bytes(80))),
        "zeros behind those of the newest segment's, of a broker that ran",
        _damaged(_appended(-1, ".index", bytes(80)), running), *DATA, lowered="note",
    ),
    "index-mismatch": case_of(
        "the index of another segment", _damaged(other_index(".index", 1, 2)), "its own", WHOLE, *DATA
    ),
    "time-index-mismatch": case_of(
        "the time index of another segment", _damaged(other_index(".timeindex", 1, 2)), "its own", WHOLE, *DATA
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
        "an entry of version 1", written(f"t-0/{SEGMENT}.txnindex", build.aborted(1, 1, 2, 3, 4)),
        "one of version 0", written(f"t-0/{SEGMENT}.txnindex", build.aborted(0, 1, 2, 3, 4)), *_dump(".txnindex"),
    ),
    "txn-index-mismatch": case_of(
        "no transaction index", _damaged(gone(".txnindex", 2)), "no transaction index and no offset index",
        _damaged(gone(".txnindex", 2), gone(".index", 2)), *DATA, lowered="note",
    ),
    # Snapshots and checkpoints.
    "snapshot-corrupt": case_of(
        "a bit of a snapshot is another one", _damaged(_flipped_snapshot), "a field is another one, under a right CRC",
        _damaged(snapshot_entry("timestamp")), *DATA,
    ),
    "snapshot-mismatch": case_of(
        "a producer's sequence is another one", _damaged(snapshot_entry("last_sequence")), "it is the log's", WHOLE, *DATA
    ),
    "checkpoint-malformed": case_of(
        "a space behind a checkpoint's version", _small(f"{OF_SMALL}/leader-epoch-checkpoint", "0 \n1\n0 0\n"),
        "none behind it", _small(f"{OF_SMALL}/leader-epoch-checkpoint", "0\n1\n0 0\n"), *DATA,
    ),
    "checkpoint-ahead": case_of(
        "a high watermark after the log's end", _damaged(side_damage.ahead("replication-offset-checkpoint")),
        "the same of a broker that ran", _damaged(side_damage.ahead("replication-offset-checkpoint"), running),
        *DATA, lowered="note",
    ),
    "checkpoint-wrong": case_of(
        "a recovery point before the log's end", _damaged(side_damage.ahead("recovery-point-offset-checkpoint", -5)),
        "the same of a broker that ran",
        _damaged(side_damage.ahead("recovery-point-offset-checkpoint", -5), running), *DATA,
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
    "meta-properties-wrong": case_of("a node.id of -1", _meta("node.id=-1"), "one of 1", _meta("node.id=1"), *DATA),
    "partition-metadata-wrong": case_of(
        "a topic id that is none",
        _small(f"{OF_SMALL}/partition.metadata", "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA"),
        "the topic's", copied(SMALL), *DATA,
    ),
    "topic-id-differs": case_of(
        "another id than that of the topic's other partitions",
        copied(SMALL, edited(f"data/{OF_SMALL}/partition.metadata", "topic_id: .*", f"topic_id: {'B' * 21}A")),
        "the same id", copied(SMALL), *DATA,
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
        "another partition's segment", _damaged(foreign(1)), "its own", WHOLE, *DATA
    ),
    "segments-alike": case_of(
        "two partitions of the same batches", several(PLAIN, partition(*BATCHES, name="u-0")),
        "one of them was deleted", several(PLAIN, partition(*BATCHES, name=f"u-0.{'0' * 32}-delete")), "verify", ".",
    ),
    "log-cut-short": case_of(
        "a log without its last batch", _damaged(cut(-1)), "the same of a broker that ran", _damaged(cut(-1), running),
        *DATA, lowered="note",
    ),
    "log-missing": case_of(
        "a partition without its segments", copied(SMALL, _without(f"data/{OF_SMALL}", "*.log")),
        "a partition without any file, which had no offset yet",
        copied(SMALL, lambda folder: (folder / "data/new-0").mkdir()), *DATA,
    ),
    "segment-missing": case_of(
        "indexes without their segment, before the log", _damaged(removed(0)), "the same of a broker that ran",
        _damaged(removed(0), running), *DATA, lowered="note",
    ),
    "side-file-missing": case_of("no index", _damaged(gone(".index", 2)), "an index", WHOLE, *DATA),
    "copy-skewed": case_of(
        "a segment between others is missing, of a broker that ran", _damaged(removed(2), running),
        "the same, and its time index: a deletion was under way",
        _damaged(gone(".timeindex", 2), removed(2), running), *DATA, lowered="note",
    ),
    # What is there, and what can be read.
    "read-while-running": case_of(
        "a directory of a broker that ran", _damaged(running), "one of a broker that was stopped", WHOLE, *DATA
    ),
    "file-unreadable": case_of(
        "a directory named like a segment", several(PLAIN, written(f"t-0/{3:020}.log/x", b"")),
        "a segment of this name", several(PLAIN, partition(batch(record(), base_offset=3), base=3)),
    ),
    "file-name-odd": case_of(
        "a snapshot whose name has two digits", several(PLAIN, written("t-0/11.snapshot", build.snapshot())),
        "one whose name has twenty", several(PLAIN, written(f"t-0/{11:020}.snapshot", build.snapshot())),
    ),
    "file-unknown": CodeCase(
        "a file of another program", Evidence(TWO_FILES, ("verify", "notes.txt")),
        "a file of this text that is the broker's", Evidence(TWO_FILES, ("verify", "meta.properties")),
    ),
    "link-leaves": case_of(
        "a link out of the directory", _linked("../../out/elsewhere.log"),
        "a link inside of it", _linked(f"../u-0/{SEGMENT}.log"), *DATA,
    ),
    "log-directories-below": CodeCase(
        "a path above two log directories", Evidence(TWO, ("verify", ".")), "these two", Evidence(TWO, ("verify", "data-1", "data-2")),
    ),
    "partition-of-file": CodeCase(
        "a segment where a directory is needed", Evidence(PLAIN, ("txn-audit", f"t-0/{SEGMENT}.log")),
        "its directory", Evidence(PLAIN, ("txn-audit", "t-0")),
    ),
    "log-directory-inside": case_of(
        "a log directory in another", several(copied(SMALL), written("data/more/meta.properties", "version=1\n"),
                                              partition(*BATCHES, name="data/more/t-0")),
        "one beside it", several(copied(SMALL), written("more/meta.properties", "version=1\n")), *DATA,
    ),
    "directory-put-aside": case_of(
        "a partition with the suffix -stray", several(PLAIN, partition(*BATCHES, name=f"u-1.{'0' * 32}-stray")),
        "one without", several(PLAIN, partition(*build.log(3), name="u-1")), "verify", ".",
    ),
    "files-deleted": case_of(
        "a segment with the suffix .deleted", _left_over(f"{0:020}.log.deleted"), "one without", _left_over(f"{9:020}.log"),
        "verify", ".",
    ),
    "files-cleaned": case_of(
        "a segment with the suffix .cleaned", _left_over(f"{0:020}.log.cleaned"), "one without", _left_over(f"{9:020}.log"),
        "verify", ".",
    ),
    "files-swap": case_of(
        "a segment with the suffix .swap", _left_over(f"{0:020}.log.swap", batch(record())), "one without", _left_over(f"{9:020}.log"),
        "verify", ".",
    ),
    "files-unfinished": case_of(
        "a checkpoint with the suffix .tmp", _left_over("leader-epoch-checkpoint.tmp"),
        "one without", _left_over("leader-epoch-checkpoint", b"0\n1\n0 0\n"), "verify", ".",
    ),
    # Clusters and brokers.
    "clusters-mixed": case_of(
        "two clusters of one cluster id", _two_clusters(_same_cluster_id), "two of two ids", _two_clusters(),
        "txn-audit", "one", "data", lowered="note",
    ),
    "partition-twice": case_of(
        "a partition in two directories of one broker", _one_disk_more(), "in directories of two brokers",
        _one_disk_more(edited("other/meta.properties", "node.id=.*", "node.id=2")), "verify", "data", "other",
    ),
    "directory-twice": case_of(
        "two copies of one broker's directory", _twice(), "directories of two brokers",
        _twice(edited("other/meta.properties", r"(?m)^(node\.id)=.*\n|^directory\.id=.*\n", ""),
               lambda folder: _append(folder / "other/meta.properties", "node.id=2\n")),
        "verify", "data", "other",
    ),
    # What changed since an earlier verification, or since kafkalog wrote it.
    "file-added": case_of(
        "a file that was not there", _verified_before(lambda data: (data / "new").touch()),
        "a broker that went on, and began a segment", _verified_before(_went_on, STATES[0]), *SINCE, lowered="note",
    ),
    "file-gone": case_of(
        "a file that is not there any more", _notes(Path.unlink),
        "a broker that went on, and deleted segments", _verified_before(_went_on, STATES[0]), *SINCE, lowered="note",
    ),
    "file-size-changed": case_of(
        "a file that is longer", _notes(lambda path: path.write_text("mine!")),
        "a broker that went on, and appended to its segments", _verified_before(_went_on, STATES[0]), *SINCE, lowered="note",
    ),
    "file-content-changed": case_of(
        "a file of other bytes", _notes(lambda path: path.write_text("your")),
        "the same bytes, written again", _notes(lambda path: path.write_text("mine")), *SINCE,
    ),
    "broker-went-on": case_of(
        "a broker went on", _verified_before(_went_on, STATES[0]), "it did not", _verified_before(_nothing, STATES[0]), *SINCE,
    ),
    "output-changed": case_of(
        "an audit's table with a byte more", _audited(_one_more_byte), "an audit's tables as they were written",
        _audited(_nothing), "verify", "audit",
    ),
    "output-unlisted": case_of(
        "a file more in an audit's output", _audited(lambda audit: (audit / "findings/more.parquet").touch()),
        "none", _audited(_nothing), "verify", "audit",
    ),
}  # fmt: skip


def _append(path: Path, text: str) -> None:
    path.write_text(path.read_text() + text)
