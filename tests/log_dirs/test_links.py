"""Links in evidence: none leads out of a given log directory, and what two names lead to is read once."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import plain
from invoke import Ended, kafkalog
from kafkalog.errors import UnreadableError
from kafkalog.files.opening import confine, open_source
from kafkalog.log_dirs.clusters import open_clusters
from plain import Batch

SECRET = "password-hunter2"
OUTSIDE = {
    "meta.properties": f"version=1\nnode.id=77\ncluster.id={SECRET}\n",
    "replication-offset-checkpoint": f"{SECRET}\n1\n{SECRET} 0 5\n",
    "recovery-point-offset-checkpoint": f"0\n1\n{SECRET} 0 5\n",
    "log-start-offset-checkpoint": f"0\n1\n{SECRET} 0 5\n",
    "cleaner-offset-checkpoint": f"0\n1\n{SECRET} 0 5\n",
    ".kafka_cleanshutdown": SECRET,
    "bootstrap.checkpoint": SECRET,
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A log directory with one partition; what is outside of it is named like its own files."""
    home = tmp_path / "data"
    plain.write_segments(home / "orders-0", [Batch(0, 0, 0, "plain")])
    (home / "meta.properties").write_text("version=1\nnode.id=1\ncluster.id=mrRvX3n0T5eHzYfTz7Zb3A\n")
    (tmp_path / "outside").mkdir()
    for name, text in OUTSIDE.items():
        (tmp_path / "outside" / name).write_text(text)
    return home


def linked(root: Path, name: str) -> Path:
    path = root / name
    path.unlink(missing_ok=True)
    path.symlink_to(root.parent / "outside" / name)
    return path


def told(ended: Ended, path: Path) -> list[object]:
    return [row["code"] for row in ended.table("findings") if row["file"] == str(path)]


@pytest.mark.parametrize("name", OUTSIDE)
@pytest.mark.parametrize("command", ["txn-audit", "verify"])
def test_a_log_directory_s_own_file_is_not_read_elsewhere(command: str, name: str, root: Path) -> None:
    """It is one finding, the answer is incomplete, and nothing of the other file is printed or believed."""
    path = linked(root, name)
    ended = kafkalog(command, "--format", "ndjson", root)

    assert told(ended, path) == ["link-leaves"]
    assert ended.status == 3
    assert SECRET not in ended.text + ended.err


@pytest.mark.parametrize("name", ["meta.properties", "replication-offset-checkpoint"])
def test_neither_is_that_around_a_partition_that_was_given_alone(name: str, root: Path) -> None:
    """The log directory above is not read elsewhere either: by commands about directories, and by those about files."""
    path = linked(root, name)
    audit = kafkalog("txn-audit", "--format", "ndjson", root / "orders-0")
    dump = kafkalog("dump", "--format", "ndjson", "--table", "findings", root / "orders-0" / f"{0:020}.log")

    assert told(audit, path) == ["link-leaves"]
    assert audit.status == 3
    assert SECRET not in audit.text + dump.text
    assert [row.get("node_id") for row in dump.rows if row.get("node_id") == "77"] == []


@pytest.mark.parametrize("what", ["the partition", "a segment"])
def test_a_link_that_comes_after_the_listing_leads_nowhere(what: str, root: Path) -> None:
    """Each file below the log directory is opened part by part: who changes a part of its path later gains nothing."""
    plain.write_segments(root.parent / "outside" / "orders-0", [Batch(0, 0, 0, "plain")])
    (cluster,), _ = open_clusters([root])
    segment = cluster.nodes[0].partitions[0].segments[0].path
    place = root / "orders-0" if what == "the partition" else Path(segment)
    place.rename(root.parent / "before")
    place.symlink_to(root.parent / "outside" / os.path.relpath(place, root))

    with pytest.raises(UnreadableError, match="a symbolic link out of"):
        open_source(segment)


def test_a_link_inside_is_followed_as_far_as_it_stays_inside(tmp_path: Path) -> None:
    """Over any number of links; the innermost directory around a file decides, and its own path is any path."""
    (tmp_path / "given" / "in").mkdir(parents=True)
    (tmp_path / "given" / "file").write_bytes(b"inside")
    (tmp_path / "given" / "in" / "one").symlink_to("../file")
    (tmp_path / "given" / "two").symlink_to("in/one")
    (tmp_path / "itself").symlink_to("given")
    for place in ("given", "itself"):
        confine(str(tmp_path / place))

        assert open_source(tmp_path / place / "two").read_bytes(0, 10) == b"inside"
    confine(str(tmp_path / "given" / "in"))
    with pytest.raises(UnreadableError, match="a symbolic link out of"):
        open_source(tmp_path / "given" / "in" / "one")


def test_a_directory_of_two_names_is_read_once(root: Path) -> None:
    """Under its own name; the link is a note, and counts no byte a second time."""
    (root / "also-0").symlink_to("orders-0")
    audit = kafkalog("txn-audit", "--all", "--format", "ndjson", root)
    verified = kafkalog("verify", "--format", "ndjson", "--all", root)

    assert [row["topic"] for row in audit.table("partitions")] == ["orders"]
    assert told(audit, root / "also-0") == told(verified, root / "also-0") == ["link-inside"]
    assert [row["file"] for row in verified.table("files") if row["file"].endswith(".log")] == [
        str(root / "orders-0" / f"{0:020}.log")
    ]
    assert (audit.status, verified.status) == (0, 0)
