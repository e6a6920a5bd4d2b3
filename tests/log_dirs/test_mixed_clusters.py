"""Directories of two clusters together: each is audited alone, and one incident says so."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

import kafkalog
from invoke import kafkalog as command_line
from kafkalog.log_dirs.clusters import open_clusters
from official import FIXTURES, materialize

ONE, OTHER = "k4-f-hanging-late-produce-tv0", "k4-g-foreign-markers"


def copied(case: str, to: Path, cluster_id: str | None = None) -> Path:
    """Copy a fixture's directory; with a cluster id, as if the cluster had been made from another's example file."""
    root = materialize(FIXTURES / case, to) / "data"
    if cluster_id is not None:
        about = root / "meta.properties"
        about.write_text(re.sub(r"cluster\.id=.*", f"cluster.id={cluster_id}", about.read_text()))
    return root


def id_of(root: Path) -> str:
    (found,) = re.findall(r"cluster\.id=(.*)", (root / "meta.properties").read_text())
    return str(found)


def rows(*paths: Path) -> list[dict[str, Any]]:
    """The incidents of an audit, those about transactions that were aborted left out."""
    found = kafkalog.open(paths).audit(snapshot=True).incidents
    return [row for row in found if row["kind"] not in ("transactions-aborted", "writer-fenced")]


def told(incidents: list[dict[str, Any]]) -> set[tuple[str, str, tuple[str, ...]]]:
    return {
        (row["kind"], row["cause"], tuple(row["partitions"])) for row in incidents if row["kind"] != "clusters-mixed"
    }


@pytest.mark.parametrize("same_id", [False, True])
def test_each_cluster_is_audited_alone(tmp_path: Path, *, same_id: bool) -> None:
    """Whatever their ids: the incidents are those of each alone, and one more is about both."""
    one = copied(ONE, tmp_path)
    other = copied(OTHER, tmp_path, id_of(one) if same_id else None)
    together = rows(one, other)

    assert told(together) == told(rows(one)) | told(rows(other))
    (mixed,) = [row for row in together if row["kind"] == "clusters-mixed"]
    assert (mixed["cause"], mixed["severity"]) == (("topic-ids", "warning") if same_id else ("cluster-ids", "note"))
    assert str(one) in mixed["title"]
    assert str(other) in mixed["title"]
    assert mixed["findings_total"] == 1


def test_verify_says_it_too(tmp_path: Path) -> None:
    """Of the same directories, with one cluster id."""
    one = copied(ONE, tmp_path)
    found = list(kafkalog.open([one, copied(OTHER, tmp_path, id_of(one))]).verify().incidents)

    assert [row["cause"] for row in found if row["kind"] == "clusters-mixed"] == ["topic-ids"]


def test_brokers_of_one_cluster_stay_together(tmp_path: Path) -> None:
    """Their topics have the same ids."""
    root = materialize(FIXTURES / "k4-f-marker-leaderless", tmp_path)
    clusters, _ = open_clusters(sorted(root.glob("data-*")))

    assert [len(cluster.nodes) for cluster in clusters] == [2]
    assert [row for row in rows(*sorted(root.glob("data-*"))) if row["kind"] == "clusters-mixed"] == []


def test_one_topic_that_was_created_again_is_no_other_cluster(tmp_path: Path) -> None:
    """A broker was down while a topic was deleted and created again: the other topics have the same ids."""
    root = materialize(FIXTURES / "k4-f-marker-leaderless", tmp_path)
    shutil.copytree(root / "data-1", root / "data-3")
    about = root / "data-3" / "meta.properties"
    about.write_text(re.sub(r"(?m)^node\.id=.*\n|^directory\.id=.*\n", "", about.read_text()) + "node.id=3\n")
    for about in (root / "data-3").glob("quotes-orders*/partition.metadata"):
        about.write_text(re.sub(r"topic_id: .*", "topic_id: AAAAAAAAAAAAAAAAAAAAaA", about.read_text()))
    clusters, _ = open_clusters([root / "data-1", root / "data-3"])

    assert [len(cluster.nodes) for cluster in clusters] == [2]


def test_one_cluster_alone_is_not_mixed(tmp_path: Path) -> None:
    """Nor with a partition's directory that has no cluster id."""
    one = copied(ONE, tmp_path)
    other = copied(OTHER, tmp_path)
    (other / "meta.properties").unlink()

    assert [row for row in rows(one, other) if row["kind"] == "clusters-mixed"] == []


@pytest.mark.parametrize("command", ["txn-audit", "space", "groups", "transactions", "metadata"])
@pytest.mark.parametrize("known_by", ["directory.id", "logs"])
def test_two_copies_of_one_broker_are_not_one_cluster(command: str, known_by: str, tmp_path: Path) -> None:
    """Same cluster, same node, same directory.id or the same logs: only the first is read, a warning says so."""
    first, second = (
        Path(shutil.copytree(FIXTURES / "k4-c-group-offsets-tv0" / "data", tmp_path / name)) for name in "ab"
    )
    if known_by == "logs":
        for copy in (first, second):
            about = copy / "meta.properties"
            about.write_text(re.sub(r"(?m)^directory\.id=.*\n", "", about.read_text()))
    else:  # the second one is older
        shutil.rmtree(second / "__consumer_offsets-1")
    alone = command_line(command, "--format", "ndjson", first)
    ended = command_line(command, "--format", "ndjson", first, second)

    assert ended.status == 1
    told = [row for row in ended.rows if row.get("code") == "directory-twice" and row["table"] == "findings"]
    assert [(row["file"], row["severity"]) for row in told] == [(str(second), "warning")]
    assert "kafkalog diff OLD NEW" in told[0]["message"]
    counted = {"partitions", "transactions", "space", "groups", "committed", "transitions", "brokers", "topics"}
    assert [row for row in ended.rows if row["table"] in counted] == [
        row for row in alone.rows if row["table"] in counted
    ]


def test_the_disks_of_one_broker_are_no_copies(tmp_path: Path) -> None:
    """They have the node in common, not their logs, but for one that was on its way from one to the other."""
    first = Path(shutil.copytree(FIXTURES / "k4-c-group-offsets-tv0" / "data", tmp_path / "a"))
    second = tmp_path / "b"
    second.mkdir()
    about = (first / "meta.properties").read_text()
    (second / "meta.properties").write_text(re.sub(r"(?m)^directory\.id=.*", "directory.id=" + "B" * 21 + "A", about))
    for name in ("__consumer_offsets-1", "__consumer_offsets-2"):
        (first / name).rename(second / name)
    shutil.copytree(second / "__consumer_offsets-1", first / "__consumer_offsets-1")
    clusters, _ = open_clusters([first, second])

    assert [len(cluster.nodes) for cluster in clusters] == [2]


def test_two_copies_are_one_finding_of_verify(tmp_path: Path) -> None:
    """It reads both, and does not report each partition that they share."""
    paths = [shutil.copytree(FIXTURES / "k4-c-group-offsets-tv0" / "data", tmp_path / name) for name in "ab"]
    ended = command_line("verify", "--format", "ndjson", "--table", "findings", *paths)

    assert ended.status == 1
    assert [row["code"] for row in ended.rows if row["severity"] != "note"] == ["directory-twice"]
