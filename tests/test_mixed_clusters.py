"""Directories of two clusters together: each is audited alone, and one incident says so."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

import kafkalog
from kafkalog.log.clusters import open_clusters
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
    found = kafkalog.audit(paths, snapshot=True).rows("incidents")
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
    found = list(kafkalog.verify([one, copied(OTHER, tmp_path, id_of(one))]).rows("incidents"))

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
