"""The text files of a log directory are held to what a broker refuses or changes, and to nothing else."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from invoke import in_full, kafkalog
from kafkalog.auditing.starting import row_of_file
from official import FIXTURES, materialize
from verified import serious, verified

CASE = FIXTURES / "k4-f-hanging-late-produce-tv0"
LOG = "tickets-tickets.26-0"
META = "meta.properties"


def root_of(folder: Path, *, path: str, data: bytes, metadata: bool = False) -> Path:
    """The case with one small file replaced; a meta.properties without the metadata, which knows its ids."""
    root = materialize(CASE, folder) / "data"
    (root / path).write_bytes(data)
    if path == META and not metadata:
        shutil.rmtree(root / "__cluster_metadata-0")
    return root


def meta(text: str) -> bytes:
    return f"#\n#Thu Jan 01\n{text}\n".encode()


CLUSTER = "cluster.id=c\nversion=1\n"


@pytest.mark.parametrize(
    "text",
    [
        f"{CLUSTER}node.id=1",
        "cluster.id=MkU3OEVBNTcwNTJENDM2Qk\nversion=1\nnode.id=1",
        "cluster.id=Some(4L6g3nShT-eMCtK--X86sw)\nversion=1\nnode.id=1",
        "cluster.id=\nversion=1\nnode.id=1",
        f"{CLUSTER}node.id=1\nsome.tool=yes",
        f"{CLUSTER}node.id=1\nbroker.id=none",
        "cluster.id: a\\:b\r\nversion 1\r\nnode.id = \\\r\n  1",
        f"{CLUSTER}node.id=1\ndirectory.id=nJyc_vUO0PJMSy_Vxb8SHx==",
        "version=0\nbroker.id=1",
        "broker.id=1\nnode.id=no",
    ],
)
def test_what_a_broker_takes_is_not_wrong(text: str, tmp_path: Path) -> None:
    """Any cluster id, unknown keys, the key of the other version, and all that java.util.Properties reads."""
    assert serious(verified(root_of(tmp_path, path=META, data=meta(text)))) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cluster.id=c\nversion=2\nnode.id=1", "malformed: version is 2"),
        ("cluster.id=c\nversion=one\nnode.id=1", "malformed: version is one"),
        (f"{CLUSTER}broker.id=1", "malformed: node.id is missing"),
        ("version=1\nnode.id=1", "malformed: cluster.id is missing"),
        (f"{CLUSTER}node.id=-1", "malformed: node.id is not a number"),
        (f"{CLUSTER}node.id=3000000000", "malformed: node.id is not a number"),
        ("version=0\nnode.id=1", "wrong: broker.id is missing"),
        (f"{CLUSTER}node.id=1\ndirectory.id=none", "malformed: directory.id is not an id"),
        ("", "wrong: The file is empty: brokers with KRaft, and brokers up to 2.7, do not start"),
    ],
)
def test_what_a_broker_refuses_is_one_finding(text: str, message: str, tmp_path: Path) -> None:
    """A broker of some release does not start on it, or goes on without the directory."""
    (finding,) = serious(verified(root_of(tmp_path, path=META, data=meta(text) if text else b"")))

    assert f"{finding.code}: {finding.message}".startswith(f"meta-properties-{message}")


@pytest.mark.parametrize(("release", "starts"), [("3.6.2", True), ("3.7", False)])
def test_a_reserved_directory_id_stops_brokers_that_know_ids(release: str, starts: bool, tmp_path: Path) -> None:
    """A release of the metadata, or the one that is asked for; where nothing shows one, an audit has a note."""
    root = root_of(tmp_path, path=META, data=meta(f"{CLUSTER}node.id=1\ndirectory.id={'A' * 21}Q"), metadata=True)
    assert [one.code for one in serious(verified(root))] == ["directory-id-reserved"]
    shutil.rmtree(root / "__cluster_metadata-0")
    assert serious(verified(root)) == []

    ask = ("verify", "--restorable", "--kafka-version", release, root, "--format", "ndjson", "--table", "restorable")
    said = [row["what"] for row in kafkalog(*ask).rows if row["subject"] == "broker"]
    assert said == ["starts" if starts else "refuses"]


@pytest.mark.parametrize(("directory_id", "gone", "told"), [
    (None, None, True), ("C" * 21 + "A", None, True), (None, LOG, False), ("", None, False),
])  # fmt: skip
def test_the_directory_id_is_that_in_which_the_metadata_has_the_logs(
    directory_id: str | None, gone: str | None, told: bool, tmp_path: Path
) -> None:
    """Else they get no leader. Where the metadata has more in that directory than is here, it is another one."""
    root = materialize(CASE, tmp_path) / "data"
    lines = [one for one in (root / META).read_text().splitlines() if directory_id == "" or "directory.id" not in one]
    (root / META).write_text("\n".join([*lines, f"directory.id={directory_id}" if directory_id else ""]))
    if gone is not None:
        shutil.rmtree(root / gone)
    rows = kafkalog("verify", "--restorable", root, "--format", "ndjson")

    assert ("directory-id-differs" in {row["code"] for row in rows.table("findings")}) is told
    assert any("gets no leader" in row["message"] for row in rows.table("restorable")) is told


def test_a_meta_properties_that_is_missing_is_told(tmp_path: Path) -> None:
    """A directory that was stopped cleanly had one."""
    root = materialize(CASE, tmp_path) / "data"
    (root / META).unlink()
    (finding,) = serious(verified(root))

    assert finding.code == "meta-properties-wrong"
    assert finding.message.startswith("The file is missing: a broker with KRaft does not start")


OF_PARTITION = f"{LOG}/partition.metadata"
QUORUM = "__cluster_metadata-0/quorum-state"


@pytest.mark.parametrize(
    ("path", "data", "codes"),
    [
        (OF_PARTITION, b"", ["checkpoint-malformed"]),
        (OF_PARTITION, b"version: 0", ["checkpoint-malformed"]),
        (OF_PARTITION, b"version:0\ntopic_id: x", ["checkpoint-malformed"]),
        (OF_PARTITION, b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA", ["partition-metadata-wrong"]),
        (QUORUM, b"", ["checkpoint-malformed"]),
        (QUORUM, b'{"leaderEpoch":9,"data_version":1}', ["quorum-state-wrong"]),
        (
            QUORUM,
            b'{"leaderId":1,"leaderEpoch":9,"votedId":1,"votedDirectoryId":"A","more":1,"data_version":1}\nmore',
            [],
        ),
        ("recovery-point-offset-checkpoint", b"0 \n0\n", ["checkpoint-malformed"]),
        ("cleaner-offset-checkpoint", b"0\n", []),
        ("cleaner-offset-checkpoint", b"0\r\n+0\r\n", []),
        ("cleaner-offset-checkpoint", b"", []),
    ],
)
def test_one_line_that_a_broker_refuses_is_one_finding(
    path: str, data: bytes, codes: list[str], tmp_path: Path
) -> None:
    """An empty file, a line without a value, an id of nothing; what is more than needed is read by no broker."""
    found = [finding.code for finding in serious(verified(root_of(tmp_path, path=path, data=data)))]

    assert [code for code in found if code != "checkpoint-wrong"] == codes


def test_unused_bits_of_a_topic_id_are_no_other_id(tmp_path: Path) -> None:
    """A broker decodes them to the same 16 bytes."""
    root = materialize(CASE, tmp_path) / "data"
    path = root / OF_PARTITION
    text = path.read_text()
    assert text[-1] in "AQgw"
    path.write_text(text[:-1] + chr(ord(text[-1]) + 1))

    assert serious(verified(root)) == []


def test_a_version_that_old_brokers_refuse_is_told(tmp_path: Path) -> None:
    """Brokers up to 3.6 read version 0 only."""
    root = materialize(CASE, tmp_path) / "data"
    path = root / OF_PARTITION
    path.write_text(path.read_text().replace("version: 0", "version: 1"))

    assert [finding.code for finding in serious(verified(root))] == ["version-unknown"]
    fates = [row_of_file("version-unknown", str(path), release) for release in ((3, 6), (3, 7), None)]
    assert [fate is not None for fate in fates] == [True, False, False]


def test_one_broker_with_a_partition_twice_is_told_by_both(tmp_path: Path) -> None:
    """It refuses to start; the two directories may hold the same batches."""
    root = materialize(CASE, tmp_path) / "data"
    other = tmp_path / "other"
    shutil.copytree(root / LOG, other / LOG)
    about = "".join(line for line in (root / META).read_text().splitlines(keepends=True) if "directory.id" not in line)
    (other / META).write_text(about)
    for command in ("verify", "txn-audit"):
        said = in_full(command, root, other).text
        assert f"One broker has two directories of {LOG}" in said
        assert "Replicas differ" not in said


def test_of_two_entries_of_a_partition_a_broker_takes_the_last(tmp_path: Path) -> None:
    """That there are two is a note, however wrong the one before is."""
    root = materialize(CASE, tmp_path) / "data"
    path = root / "recovery-point-offset-checkpoint"
    version, count, *rows = path.read_text().splitlines()
    other = " ".join([*rows[0].split()[:2], "1"])
    for first, last, codes in ((other, rows[0], []), (rows[0], other, ["checkpoint-wrong"])):
        path.write_text("\n".join([version, str(int(count) + 1), first, *rows[1:], last, ""]))

        assert [finding.code for finding in serious(verified(root))] == codes


def test_an_epoch_that_is_there_twice_is_one(tmp_path: Path) -> None:
    """A broker ignores an entry that says again what the one before it says; one of an older epoch cuts the list."""
    root = materialize(CASE, tmp_path) / "data"
    path = root / LOG / "leader-epoch-checkpoint"
    assert path.read_text() == "0\n1\n0 0\n"
    for text, codes in (("0\n2\n0 0\n0 0\n", []), ("0\n2\n1 5\n0 0\n", ["leader-epochs-mismatch"])):
        path.write_text(text)

        assert [finding.code for finding in serious(verified(root))] == codes


def test_a_partition_whose_topic_id_is_missing_is_told(tmp_path: Path) -> None:
    """A broker with KRaft puts it aside as -stray; brokers that knew no ids, and empty logs, have no such file."""
    root = materialize(CASE, tmp_path) / "data"
    (root / OF_PARTITION).unlink()
    (finding,) = serious(verified(root))

    assert (finding.code, finding.log) == ("partition-metadata-missing", str(root / LOG))
    assert "-stray, and an empty" in finding.message
    for segment in (root / LOG).glob("*.*"):
        segment.unlink()
    assert "partition-metadata-missing" not in [one.code for one in serious(verified(root))]
