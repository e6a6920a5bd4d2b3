"""What replicas that differ have: each record once, with the replicas that have it; what one of them gives."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, Final

import pytest

from invoke import kafkalog
from unlike_replicas import NODES, cleaned_tombstone, differences, write_unlike

SEEDS: Final = range(3)


def identity(row: dict[str, Any]) -> tuple[object, ...]:
    return row["offset"], row["timestamp_ms"], row["key"], row["value"], row["key_base64"]


def of_each(root: Path) -> dict[tuple[object, ...], list[str]]:
    """The nodes that have each data record, each replica read by itself."""
    found: dict[tuple[object, ...], list[str]] = {}
    for node in NODES:
        for row in kafkalog("find", "--format", "ndjson", node, cwd=root).rows:
            found.setdefault(identity(row), []).append(node)
    return found


@pytest.mark.parametrize("seed", SEEDS)
def test_each_record_of_any_replica_comes_once(seed: int, tmp_path: Path) -> None:
    """With the replicas that have it, as each alone shows; questions leave the same out as ever."""
    write_unlike(tmp_path, NODES, seed)
    expected = of_each(tmp_path)
    rows = kafkalog("find", "--format", "ndjson", *NODES, cwd=tmp_path).rows
    some = kafkalog("find", "--format", "ndjson", "--key", "u7", *NODES, cwd=tmp_path).rows
    text = kafkalog("find", *NODES, cwd=tmp_path).text.splitlines()
    dumped = kafkalog("dump", "--format", "ndjson", *NODES, cwd=tmp_path).table("records")

    assert {identity(row): row["replicas"].split(", ") for row in rows} == expected
    assert len(rows) == len(text) == len(expected)
    assert [identity(row) for row in some] == [identity(row) for row in rows if row["key"] == "u7"]
    assert [row["replicas"] for row in some] == [row["replicas"] for row in rows if row["key"] == "u7"]
    assert sum(" only in the replica" in line for line in text) == sum(nodes != [*NODES] for nodes in expected.values())
    assert [identity(row) for row in dumped if not row["is_control"]] == [identity(row) for row in rows]


@pytest.mark.parametrize("seed", SEEDS)
def test_an_extract_is_one_replicas_and_counts_the_rest(seed: int, tmp_path: Path) -> None:
    """The leader's, or that of a node; together with those that are counted it is what any has."""
    write_unlike(tmp_path, NODES, seed)
    expected = of_each(tmp_path)
    for node in ("", *NODES):
        words = ("extract", "--view", "read-uncommitted", "--columns", "*", *(("--from", node) if node else ()))
        ended = kafkalog(*words, *NODES, cwd=tmp_path)
        [read] = {row["log"] for row in ended.rows}
        left = [line for line in ended.err.splitlines() if "that only other replicas have" in line]
        number = int(left[0].split()[1]) if left else 0
        assert not node or read == f"{node}/t-0"
        assert {identity(row) for row in ended.rows} == {one for one, nodes in expected.items() if read[0] in nodes}
        assert len(ended.rows) + number == len(expected)


def test_what_no_node_has_is_said(tmp_path: Path) -> None:
    """Which there are; and what says otherwise which records are meant leaves no choice."""
    write_unlike(tmp_path, NODES, 0)

    unknown = kafkalog("extract", "--from", "7", *NODES, cwd=tmp_path)
    assert (unknown.status, "no node matches '7'; 3 nodes: 1, 2, 3" in unknown.err) == (3, True)
    assert kafkalog("extract", "--from", "1", "--lost", *NODES, cwd=tmp_path).status == 2


def test_batches_come_once_each(tmp_path: Path) -> None:
    """A batch that a cleaner wrote anew is another one; what it has others have, too."""
    write_unlike(tmp_path, NODES, 3)
    ended = kafkalog("dump", "--table", "batches", "--format", "ndjson", "--columns", "*", *NODES, cwd=tmp_path)
    rows = ended.table("batches")
    each = [(row["last_offset"], row["crc"]) for row in rows]

    assert len(each) == len(set(each))
    assert all(row["log"].split("/")[0] in row["replicas"].split(", ") for row in rows)


@pytest.mark.parametrize("order", ["123", "321"])
def test_where_no_leader_is_known_most_decide(order: str, tmp_path: Path) -> None:
    """Of three with the same end two have the records that the first one's cleaner removed."""
    write_unlike(tmp_path, NODES[:2], next(seed for seed in range(40) if differences(0, seed) == [cleaned_tombstone]))
    shutil.copytree(tmp_path / "2", tmp_path / "3")
    (tmp_path / "3" / "meta.properties").write_text("version=1\ncluster.id=c\nnode.id=3\n")
    rows = kafkalog("extract", "--columns", "log", *order, cwd=tmp_path).rows

    assert {row["log"] for row in rows} == {"2/t-0"}
