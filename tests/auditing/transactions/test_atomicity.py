"""Atomicity: one outcome for a transaction in all of its partitions, and what can't be identified."""

from __future__ import annotations

from pathlib import Path

import pytest

import plain
from kafkalog.auditing.pipeline.run import audit
from kafkalog.auditing.transactions.audit_result import Audit
from kafkalog.auditing.transactions.summary import Summary
from kafkalog.auditing.transactions.surroundings import AuditOptions
from plain import Batch, table
from state_topic import T, value, write_state


def data(offset: int, epoch: int = 0, producer: int = 1000, at: int = 0) -> Batch:
    """A transactional batch, `at` ms behind the beginning."""
    return Batch(0, offset, offset, "data", producer, epoch, 0, timestamp=T + at)


def marker(offset: int, epoch: int = 0, kind: str = "commit", producer: int = 1000, at: int = 0) -> Batch:
    """A marker, `at` ms behind the beginning."""
    return Batch(0, offset, offset, kind, producer, epoch, coordinator_epoch=0, timestamp=T + at)


def codes(found: Audit) -> list[tuple[str, int | None]]:
    """Which partitions a broken atomicity is told of."""
    return [(row["topic"], row["partition"]) for row in table(found, "findings") if row["code"] == "atomicity-broken"]


OLDER = [data(0, producer=7, at=-500_000), marker(1, producer=7, at=-400_000)]
NEWER = [data(2, producer=8, at=9000), marker(3, producer=8, at=9500)]


def two_partitions(root: Path, other: list[Batch], states: tuple[int, ...] = (1, 2, 4)) -> Audit:
    """Audit a committed transaction of a stopped broker that lists t-0, with its marker, and t-1, with `other`."""
    plain.write_segments(root / "t-0", [data(0, at=500), marker(1, at=2500)])
    plain.write_segments(root / "t-1", other)
    listed = [("t", [0, 1])]
    rows = [value(state, partitions=[] if state > 3 else listed, update=T + 1000 * state) for state in states]
    write_state(root, *(("tx-1", row) for row in rows))
    plain.write_mark(root)
    return audit([root])


def test_a_missing_marker_is_told(tmp_path: Path) -> None:
    """A partition without data of a completed transaction must have its marker all the same."""
    assert codes(two_partitions(tmp_path, [*OLDER, *NEWER])) == [("t", 1)]


def test_a_bare_marker_is_enough(tmp_path: Path) -> None:
    """The marker of a transaction that wrote nothing to a partition is all that is there."""
    there = [*OLDER, marker(2, at=2500), data(3, producer=8, at=9000)]

    assert codes(two_partitions(tmp_path, there)) == []


def test_a_marker_of_another_transaction_is_not_enough(tmp_path: Path) -> None:
    """A marker of the same producer and epoch long before the transaction began is not its marker."""
    there = [*OLDER, marker(2, at=-300_000), data(3, producer=8, at=9000)]

    assert codes(two_partitions(tmp_path, there)) == [("t", 1)]


def test_a_pending_marker_is_not_missing(tmp_path: Path) -> None:
    """At PrepareCommit the markers are still on their way."""
    assert codes(two_partitions(tmp_path, [*OLDER, *NEWER], (1, 2))) == []


def test_a_younger_partition_misses_nothing(tmp_path: Path) -> None:
    """A topic that was deleted and made again has no older marker."""
    younger = [batch._replace(offset=batch.offset - 2, last_offset=batch.last_offset - 2) for batch in NEWER]

    assert codes(two_partitions(tmp_path, younger)) == []


def test_deleted_records_take_markers_with_them(tmp_path: Path) -> None:
    """Below the log's start a marker may have stood."""
    plain.write_checkpoint(tmp_path, "log-start-offset-checkpoint", ("t", 1, 2))

    assert codes(two_partitions(tmp_path, [*OLDER, *NEWER])) == []


def test_a_marker_may_be_among_what_is_lost(tmp_path: Path) -> None:
    """Where offsets are missing the marker may be among them: the gap is told, no more."""
    behind = [batch._replace(offset=batch.offset + 5, last_offset=batch.last_offset + 5) for batch in NEWER]
    found = two_partitions(tmp_path, [*OLDER, *behind])

    assert codes(found) == []
    assert [(row["first_offset"], row["last_offset"]) for row in table(found, "gaps")] == [(2, 6)]


def _ended_apart(root: Path, bump: int) -> Audit:
    plain.write_segments(root / "t-0", [data(0), marker(1, bump)])
    plain.write_segments(root / "t-1", [data(0), marker(1, bump, "abort")])
    return audit([root])


def test_partitions_that_ended_differently_are_told(tmp_path: Path) -> None:
    """A marker's epoch that is above its data's belongs to one transaction: it can't be committed and aborted."""
    found = _ended_apart(tmp_path, 1)

    assert len(codes(found)) == 1
    assert "not checkable" not in Summary.of(found).totals()


def test_what_cannot_be_identified_is_counted(tmp_path: Path) -> None:
    """Under transaction.version 0 and 1 all transactions of a producer have one epoch: nothing is guessed."""
    found = _ended_apart(tmp_path, 0)

    assert codes(found) == []
    assert "2 transactions not checkable" in Summary.of(found).totals()


@pytest.mark.parametrize(("forked", "expected"), [(False, "abort-pending"), (True, "hanging")])
def test_a_replica_that_is_behind(tmp_path: Path, forked: bool, expected: str) -> None:
    """What another replica goes on to end is pending here; one that forked says nothing of this one."""
    logs = {1: [data(0)], 2: [data(0), marker(1, 0, "abort")]}
    for node, batches in logs.items():
        root = tmp_path / f"data-{node}"
        folder = plain.write_segments(root / "t-0", batches)
        if forked and node == 2:
            path = folder / f"{0:020}.log"
            whole = bytearray(path.read_bytes())
            whole[12:16] = (3).to_bytes(4, "big")  # the first batch's leader epoch
            path.write_bytes(whole)
        (root / "meta.properties").write_text(f"version=1\ncluster.id=c\nnode.id={node}\n")
        write_state(root, ("tx-2", value(0, producer=2000)))
    found = audit([tmp_path / f"data-{node}" for node in logs], AuditOptions(snapshot=True))

    assert [(row["state"]) for row in table(found, "transactions")] == [expected, "aborted"]
