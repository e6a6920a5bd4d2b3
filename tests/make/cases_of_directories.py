"""A case of each code about directories, clusters, and files that changed since, beside ones as they should be."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

import build
from build import batch, record
from cases_of_side_files import BATCHES, DATA, OF_SMALL, PLAIN, SEGMENT, SMALL, WHOLE, damaged, edited, running
from code_evidence import CodeCase, Evidence, Maker, case_of, copied, partition, several, written
from invoke import kafkalog
from metadata_topic import append_values, metadata_value
from official import FIXTURES

__all__ = ["OF_DIRECTORIES"]

STATES: Final = [FIXTURES / "moving" / f"state-{number}" for number in (2, 3)]
TWO: Final = copied("k4-f-marker-leaderless")
CLUSTERS: Final = ("k4-d-fencing-tv2-400", "k4-h-upgraded")


def _verified_before(change: Callable[[Path], object], source: Path = FIXTURES / SMALL / "data") -> Maker:
    """Verify a copy of a directory, and change it then."""

    def make(folder: Path) -> None:
        shutil.copytree(source, folder / "data", copy_function=shutil.copyfile)
        (folder / "data" / "notes.txt").write_text("mine")
        kafkalog("verify", "--hash", "sha256", "data", "--format", "ndjson", "-o", "before", cwd=folder)
        change(folder / "data")

    return make


SINCE: Final = ("verify", "data", "--against", "before/provenance.json")


def _bundled(*options: str) -> Maker:
    """Collect a bundle of a fixture."""

    def make(folder: Path) -> None:
        kafkalog("collect", *options, FIXTURES / "v2.8-hanging" / "data", "-o", "bundle", cwd=folder)

    return make


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


def _without_a_table(audit: Path) -> None:
    min(audit.rglob("*.parquet")).unlink()


def _linked(target: str) -> Maker:
    """Write a segment elsewhere, and link to it from a partition."""

    def make(folder: Path) -> None:
        written("out/elsewhere.log", BATCHES[0])(folder)
        partition(BATCHES[0], name="data/u-0")(folder)
        (folder / "data" / "t-0").mkdir()
        (folder / "data" / "t-0" / f"{SEGMENT}.log").symlink_to(target)

    return make


def _named_twice(folder: Path) -> None:
    partition(BATCHES[0], name="data/t-0")(folder)
    (folder / "data" / "u-0").symlink_to("t-0")


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
        shutil.copy(folder / "data/.kafka_cleanshutdown", folder / "other")
        for change in changes:
            change(folder)

    return make


def _second_disk(*changes: Maker) -> Maker:
    """Move one of a fixture's partitions to a second log directory, the one that the metadata log has for all."""

    def make(folder: Path) -> None:
        copied(SMALL)(folder)
        (folder / "other").mkdir()
        for name in ("meta.properties", ".kafka_cleanshutdown"):
            shutil.copy(folder / "data" / name, folder / "other")
        (folder / "data" / OF_SMALL).rename(folder / "other" / OF_SMALL)
        edited("data/meta.properties", r"directory\.id=.*", f"directory.id={'B' * 21}A")(folder)
        for change in changes:
            change(folder)

    return make


def _offline(*, known: bool) -> Maker:
    """Leave the second log directory without a mark, beside a broker that ran, whose registration may lack it."""

    def make(folder: Path) -> None:
        (folder / "other" / ".kafka_cleanshutdown").unlink()
        (folder / "data" / ".kafka_cleanshutdown").rename(folder / "data" / ".lock")
        change = {"brokerId": 1, "brokerEpoch": 1, "fenced": -1, "inControlledShutdown": 0}
        if known:
            change["logDirs"] = [f"{'B' * 21}A"]
        append_values(folder / "data", [metadata_value("BrokerRegistrationChangeRecord", change)])

    return _second_disk(make)


def _moving(old: str | None) -> Maker:
    """Copy a partition to another log directory as a move does; the one that is assigned has its name or a suffix."""

    def make(folder: Path) -> None:
        _second_disk()(folder)
        assigned = folder / "other" / OF_SMALL
        shutil.copytree(assigned, folder / "data" / f"{OF_SMALL}.{'0' * 32}-future")
        if old is not None:
            assigned.rename(f"{assigned}.{'0' * 32}-{old}")

    return make


def _left_over(name: str, data: bytes = b"") -> Maker:
    """Write a file that a broker left, into a partition of three segments."""
    whole = (partition(batch(record(), base_offset=at), base=at) for at in range(3))
    return several(*whole, written(f"t-0/{name}", data))


def _nothing(_: Path) -> None:
    """Change nothing."""


TWO_FILES: Final = several(written("notes.txt", "mine"), written("meta.properties", "mine"))


def _append(path: Path, text: str) -> None:
    path.write_text(path.read_text() + text)


OF_DIRECTORIES: Final[dict[str, CodeCase]] = {
    # What is there, and what can be read.
    "read-while-running": case_of(
        "a directory of a broker that ran", damaged(running), "one of a broker that was stopped", WHOLE, *DATA
    ),
    "file-unreadable": case_of(
        "a directory named like a segment", several(PLAIN, written(f"t-0/{3:020}.log/x", b"")),
        "a segment of this name", several(PLAIN, partition(batch(record(), base_offset=3), base=3)),
    ),
    "file-name-odd": case_of(
        "a snapshot whose name begins with no offset", several(PLAIN, written("t-0/old.snapshot", build.snapshot())),
        "one whose name is an offset", several(PLAIN, written(f"t-0/{11:020}.snapshot", build.snapshot())),
    ),
    "file-unknown": CodeCase(
        "a file of another program", Evidence(TWO_FILES, ("verify", "notes.txt")),
        "a file of this text that is the broker's", Evidence(TWO_FILES, ("verify", "meta.properties")),
    ),
    "link-leaves": case_of(
        "a link out of the directory", _linked("../../out/elsewhere.log"),
        "a link inside of it", _linked(f"../u-0/{SEGMENT}.log"), *DATA,
    ),
    "link-inside": case_of(
        "a second name of a partition's directory", _named_twice, "two partitions", several(
            partition(BATCHES[0], name="data/t-0"), partition(BATCHES[0], name="data/u-0")
        ), *DATA,
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
    "directory-misfit": case_of(
        "the second disk of a broker has another cluster.id", _second_disk(edited("other/meta.properties", r"cluster\.id=.*", "cluster.id=other")),
        "its second disk as it should be", _second_disk(), "verify", "data", "other",
    ),
    "replica-only-aside": case_of(
        "a move was cut off: the old directory is to be deleted, the new one has not its name yet",
        _moving("delete"), "a move under way: the old one is in use", _moving(None), "verify", ".",
    ),
    "directory-not-given": case_of(
        "the metadata log places a partition in a log directory that was not given",
        _second_disk(lambda folder: shutil.rmtree(folder / "other")),
        "both log directories", _second_disk(), "verify", ".",
    ),
    "directory-offline": case_of(
        "the metadata log has the broker that ran without it", _offline(known=True),
        "it may lack the mark in the copy alone", _offline(known=False), "verify", ".", lowered="note",
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
    "bundle-in-part": case_of(
        "a bundle of one topic's partition", _bundled("--topic", "ledger", "--partition", "1"), "one of all that is there",
        _bundled(), "txn-audit", "bundle",
    ),
    "log-cut-in-bundle": case_of(
        "a bundle that ends at a time", _bundled("--until", "2026-11-21T08:55:06.800Z"), "one that ends with the logs",
        _bundled("--until", "2026-11-22"), "txn-audit", "bundle",
    ),
    "output-changed": case_of(
        "an audit without a table that its manifest lists", _audited(_without_a_table), "an audit's tables as they were written",
        _audited(_nothing), "verify", "audit",
    ),
    "output-unlisted": case_of(
        "a file more in an audit's output", _audited(lambda audit: (audit / "findings/more.parquet").touch()),
        "none", _audited(_nothing), "verify", "audit",
    ),
}  # fmt: skip  # fmt: skip
