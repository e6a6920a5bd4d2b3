"""A decision has one marker of its own in each partition that it lists; what other markers ended is judged by that."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, NamedTuple
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import plain
from kafkalog.auditing.pipeline.run import audit
from kafkalog.auditing.transactions.audit_result import Audit
from kafkalog.auditing.transactions.own_markers import Answered, OwnMarkers
from kafkalog.auditing.transactions.summary import Summary
from kafkalog.auditing.transactions.surroundings import AuditOptions
from kafkalog.columns.table import NONE, Columns
from kafkalog.folds import fold
from kafkalog.folds.coordinator import DECISION_COLUMNS
from metadata_topic import write_leader
from plain import Batch, table
from state_topic import T, value, write_state

COMMITTED: Final = (1, 2, 4)  # Ongoing, PrepareCommit, CompleteCommit
ABORTED: Final = (1, 3, 5)


def data(offset: int, epoch: int = 0, at: int = 0, producer: int = 1000) -> Batch:
    """A transactional batch, `at` ms after the beginning."""
    return Batch(0, offset, offset, "data", producer, epoch, 0, timestamp=T + at)


def marker(offset: int, epoch: int = 0, kind: str = "commit", at: int = 0, producer: int = 1000) -> Batch:
    """A marker, `at` ms after the beginning."""
    return Batch(0, offset, offset, kind, producer, epoch, coordinator_epoch=0, timestamp=T + at)


@pytest.mark.parametrize(
    ("own", "epoch", "record"), [((0, -1, -1), 0, 11), ((-1, -1, -1), 0, 10), ((0, 1, -1), 0, -1), ((0, 1, 2), 1, -1)]
)
def test_open_data_is_of_the_first_decision_without_its_marker(
    own: tuple[int, ...], epoch: int, record: int
) -> None:  # fmt: skip
    """Nothing is said of data of another epoch, or where all decisions have their markers."""
    markers = OwnMarkers(mock.Mock(), mock.Mock(), np.array([10, 11, 12, 13]))
    columns = {"producer_id": (5, 5, 5, 6), "data_epoch": (0, 0, 1, 0), "own": (*own, -1)}
    decisions = Columns({name: np.array(cells) for name, cells in columns.items()})

    answered = [Answered(decisions, mock.Mock(), mock.Mock())]
    with mock.patch.object(markers, "answered", return_value=answered):
        found = markers.of_open(np.array([5, 4, 7]), np.array([epoch, 0, 0]))

    assert found.tolist() == [record, -1, -1]


OLD: Final = [data(0, producer=7, at=-500_000), marker(1, producer=7, at=-400_000)]


def decided(root: Path, *states: int, raised: bool = False) -> None:
    """Write a coordinator's records of one transaction of t-0; with `raised` its decision has an epoch of its own."""
    rows = [
        value(
            state,
            epoch=int(raised and state > 1),
            partitions=[] if state > 3 else [("t", [0])],
            update=T + 1000 * state,
        )
        for state in states
    ]
    write_state(root, *(("tx-1", row) for row in rows))


def audited(root: Path, batches: list[Batch], *states: int, raised: bool = False) -> Audit:
    """Audit t-0 with these batches after an older transaction, and before a newer one, of other producers."""
    end = batches[-1].offset + 1
    newer = [data(end, producer=8, at=50_000), marker(end + 1, producer=8, at=50_001)]
    plain.write_segments(root / "t-0", [*OLD, *batches, *newer])
    decided(root, *states, raised=raised)
    return audit([root], AuditOptions(snapshot=True))


def broken(found: Audit) -> list[tuple[int | None, Any]]:
    """The first offset of each finding about a broken atomicity, and what was found."""
    return [(one.offset, one.found) for one in found.findings() if one.code == "atomicity-broken"]


def causes(found: Audit) -> list[tuple[int | None, str, str | None]]:
    """First offset, state and cause of the producer's transactions."""
    rows = [row for row in table(found, "transactions") if row["producer_id"] == 1000]
    return [(row["first_offset"], row["state"], row["cause"]) for row in rows]


def test_late_data_is_not_held_to_the_decision(tmp_path: Path) -> None:
    """Data that an administrator aborted after the decision's own marker belongs to no decision."""
    late = [data(2, at=500), marker(3, at=2500), data(4, at=900), marker(5, kind="abort", at=9000)]
    found = audited(tmp_path, late, *COMMITTED)

    assert broken(found) == []
    assert causes(found) == [(2, "committed", None), (4, "aborted", "administrator-abort")]


@pytest.mark.parametrize(("number", "cause"), [(1, "administrator-abort"), (2, None)])
def test_only_all_decisions_show_that_nobody_decided(tmp_path: Path, number: int, cause: str | None) -> None:
    """Beside the state partitions 0 and 2 there is one that may have the decision that an ABORT marker follows."""
    late = [data(2, at=500), marker(3, at=2500), data(4, at=900), marker(5, kind="abort", at=9000)]
    newer = [data(6, producer=8, at=50_000), marker(7, producer=8, at=50_001)]
    plain.write_segments(tmp_path / "t-0", [*OLD, *late, *newer])
    decided(tmp_path, *COMMITTED)
    write_state(tmp_path, ("tx-9", value(5, producer=9, update=T + 60_000)), number=number)
    found = audit([tmp_path], AuditOptions(snapshot=True))

    assert causes(found) == [(2, "committed", None), (4, "aborted", cause)]


def test_an_abort_after_the_own_abort_is_an_administrators(tmp_path: Path) -> None:
    """One decision to abort explains one ABORT marker, not two."""
    late = [data(2, at=500), marker(3, kind="abort", at=3500), data(4, at=900), marker(5, kind="abort", at=9000)]

    assert causes(audited(tmp_path, late, *ABORTED)) == [(2, "aborted", None), (4, "aborted", "administrator-abort")]


def test_the_own_marker_comes_after_the_decision(tmp_path: Path) -> None:
    """Of two ABORT markers since the transaction began, that before the decision is an administrator's."""
    both = [data(2, at=500), marker(3, kind="abort", at=900), data(4, at=1000), marker(5, kind="abort", at=3500)]

    assert causes(audited(tmp_path, both, *ABORTED)) == [(2, "aborted", "administrator-abort"), (4, "aborted", None)]


def test_data_before_the_own_marker_is_held_to_the_decision(tmp_path: Path) -> None:
    """An ABORT that came while the transaction ran took a part of what the coordinator committed afterwards."""
    cut = [data(2, at=500), marker(3, kind="abort", at=900), data(4, at=1000), marker(5, at=2500)]

    assert broken(audited(tmp_path, cut, *COMMITTED)) == [(2, "aborted")]


def test_a_commit_that_nobody_decided_is_broken(tmp_path: Path) -> None:
    """The coordinator's own ABORT found nothing left to end."""
    forged = [data(2, at=500), marker(3, at=900), marker(4, kind="abort", at=3500)]

    assert broken(audited(tmp_path, forged, *ABORTED)) == [(2, "committed")]


def test_an_administrators_abort_of_what_was_aborted_agrees(tmp_path: Path) -> None:
    """The coordinator's marker never came, and the administrator's says the same."""
    found = audited(tmp_path, [data(2, at=500), marker(3, kind="abort", at=9000)], *ABORTED, raised=True)

    assert broken(found) == []
    assert causes(found) == [(2, "aborted", "administrator-abort")]


def test_an_administrators_abort_of_what_was_committed_is_said_once(tmp_path: Path) -> None:
    """The records are lost: that is one finding about them, and none about the marker that is missing, too."""
    found = audited(tmp_path, [data(2, at=500), marker(3, kind="abort", at=9000)], *COMMITTED, raised=True)

    assert broken(found) == [(2, "aborted")]
    [message] = [one.message for one in found.findings() if one.code == "atomicity-broken"]
    assert "the coordinator's marker would have epoch 1, this one has 0" in message


def test_a_lost_transaction_that_was_aborted_is_nothing(tmp_path: Path) -> None:
    """Nobody would have read its records; a lost one that was committed is an error."""
    others = [data(2, producer=9, at=500), marker(3, producer=9, at=600)]

    assert broken(audited(tmp_path / "aborted", others, *ABORTED, raised=True)) == []
    assert broken(audited(tmp_path / "committed", others, *COMMITTED, raised=True)) == [(6, "no marker")]


@pytest.mark.parametrize(
    ("later", "said"),
    [(30_000, []), (600_000, ["note"]), (36_000_000, ["warning"])],
    ids=["soon", "later", "much later"],
)
def test_producers_clocks_prove_no_loss_in_a_copy(later: int, said: list[str], tmp_path: Path) -> None:
    """Only a producer's time is after the transaction's end: its clock may be fast, and the marker not copied yet."""
    plain.write_segments(tmp_path / "t-0", [*OLD, Batch(0, 2, 2, "plain", timestamp=T + later)])
    decided(tmp_path, *COMMITTED, raised=True)
    found = [one for one in audit([tmp_path]).findings() if one.code == "atomicity-broken"]

    assert [one.severity.word for one in found] == said
    assert {one.certainty for one in found} <= {"unless-copied-while-running"}


def test_an_own_marker_among_lost_offsets_is_not_claimed_to_be_missing(tmp_path: Path) -> None:
    """Where offsets are missing before data that was aborted, the decision's own marker may have been among them."""
    gap = [
        data(2, at=500),
        marker(3, epoch=-1, kind="abort", at=600, producer=9),
        data(9),
        marker(10, 0, "abort", 9000),
    ]

    assert broken(audited(tmp_path, [gap[1]._replace(offset=2, last_offset=2), *gap[2:]], *COMMITTED)) == []


def test_a_slow_clock_does_not_hide_the_own_marker(tmp_path: Path) -> None:
    """The marker's broker may be some seconds slow: its marker is the decision's all the same."""
    late = [data(2, at=500), marker(3, at=1500), data(4, at=900), marker(5, kind="abort", at=9000)]

    assert broken(audited(tmp_path, late, *COMMITTED)) == []


def replicas(root: Path, logs: dict[int, list[Batch]], leader: int | None = None, *states: int) -> Audit:
    """Audit several nodes' replicas of t-0; node 1 has the state topic, and the metadata log where there is a leader."""
    for node, batches in logs.items():
        home = root / f"node-{node}"
        plain.write_segments(home / "t-0", batches)
        (home / "meta.properties").write_text(f"version=1\ncluster.id=c\nnode.id={node}\n")
    decided(root / "node-1", *states, raised=True)
    if leader is not None:
        write_leader(root / "node-1", "t", list(logs), leader)
    return audit([root / f"node-{node}" for node in logs], AuditOptions(snapshot=True))


def loud(found: Audit) -> list[tuple[str, str | None, bool]]:
    """Code, node and whether there is a remedy, of each finding above a note."""
    return [
        (one.code, None if one.log is None else one.log.split("node-")[1][0], one.remedy is not None)
        for one in found.findings()
        if one.severity > one.severity.NOTE
    ]


NEWER: Final = [data(5, producer=8, at=50_000), marker(6, producer=8, at=50_001)]
HANGS: Final = [*OLD, data(2, at=500), *NEWER]


def test_what_all_replicas_show_is_said_once(tmp_path: Path) -> None:
    """One transaction hangs: one finding and one command, for the leader by the metadata log."""
    filled = [*HANGS[:3], data(3, producer=9), marker(4, producer=9, at=700), *NEWER]
    found = replicas(tmp_path, {1: filled, 2: filled, 3: filled}, 2, *ABORTED)

    assert loud(found) == [("transaction-hanging", "2", True)]
    assert [log.log.split("node-")[1][0] for log, _ in Summary.of(found).blocked()] == ["2"]


def test_a_break_of_a_sequence_is_said_once(tmp_path: Path) -> None:
    """It is a producer's, whatever the number of replicas that got its batches."""
    twice = [*OLD, data(2, producer=7, at=500), marker(3, producer=7, at=600), marker(4, producer=9), *NEWER]

    assert loud(replicas(tmp_path, {1: twice, 2: twice}, 1, *ABORTED)) == [("sequence-broken", "1", False)]


def test_a_broken_atomicity_is_said_once(tmp_path: Path) -> None:
    """All replicas have the administrator's marker."""
    ended = [*OLD, data(2, at=500), marker(3, kind="abort", at=9000), marker(4, producer=9), *NEWER]

    assert loud(replicas(tmp_path, {1: ended, 2: ended, 3: ended}, None, *COMMITTED)) == [
        ("atomicity-broken", "1", False)
    ]


def test_the_replica_that_still_has_a_lost_marker_is_named(tmp_path: Path) -> None:
    """After an unclean election the old leader's log alone has the marker, whose transaction hangs in the new one's."""
    old = [*OLD, data(2, at=500), marker(3, 1, at=2500)]
    new = [
        *HANGS[:3],
        *(batch._replace(leader_epoch=2, offset=at, last_offset=at) for at, batch in enumerate(NEWER, 3)),
    ]
    found = replicas(tmp_path, {1: old, 2: new}, 2, *COMMITTED)
    messages = {one.code: one.message for one in found.findings()}

    assert sorted(loud(found)) == [("replicas-fork", "1", False), ("transaction-hanging", "2", True)]
    assert f"{tmp_path}/node-1/t-0 still has its COMMIT marker, at offset 3." in messages["transaction-hanging"]
    assert "1 offset is only here, 2 only there." in messages["replicas-fork"]


def test_there_is_nothing_to_abort_in_the_log_of_an_old_leader(tmp_path: Path) -> None:
    """What hangs only in a history that was given up is a note without a command: no consumer reads it."""
    old = [*OLD, marker(2, producer=9), data(3, at=500)]
    new = [*OLD, *(batch._replace(leader_epoch=2, offset=at, last_offset=at) for at, batch in enumerate(NEWER, 2))]
    found = replicas(tmp_path, {1: old, 2: new}, 2, *ABORTED)
    [hanging] = [one for one in found.findings() if one.code == "transaction-hanging"]

    assert loud(found) == [("replicas-fork", "1", False)]
    assert (hanging.severity.word, hanging.remedy) == ("note", None)
    assert "No consumer reads this replica: from offset 2 on" in hanging.message


class Ended(NamedTuple):
    """A transaction of transaction.version 0, and whether late data after it was aborted by an administrator."""

    committed: bool
    duration: int
    delay: int
    aborted_late: bool


@given(st.lists(st.builds(Ended, st.booleans(), *[st.integers(1, 50)] * 2, st.booleans()), max_size=20))
def test_each_decision_has_the_marker_that_its_coordinator_wrote(ended: list[Ended]) -> None:
    """Administrators' ABORT markers between transactions are nobody's own, though all have one epoch."""
    now, own, rows, decisions = 0, [], [], []
    for number, one in enumerate(ended):
        started, taken = now + 1, now + 1 + one.duration
        own.append(len(rows))
        rows.append((fold.COMMIT if one.committed else fold.ABORT, taken + one.delay))
        now = taken + one.delay + 1
        if one.aborted_late:
            rows.append((fold.ABORT, now))
            now += 1
        decisions.append((0, 1, 0, 0, one.committed, started, taken, now + 1, number, 10**6, taken))
    log = mock.Mock()
    log.transactions.blocks = lambda *_: [_columns(rows)]
    log.transactions.take = lambda places, *_: _columns(rows).take(places)
    cells = np.array(decisions, np.int64).reshape(-1, len(DECISION_COLUMNS)).T
    coordinator = mock.Mock()
    coordinator.decisions = lambda _: Columns(dict(zip(DECISION_COLUMNS, cells, strict=True)))
    markers = OwnMarkers(log, coordinator, np.arange(len(decisions)))

    [answered] = markers.answered()
    assert answered.decisions["own"].tolist() == own
    assert markers.offsets.tolist() == [10 * number for number in own]


def _columns(rows: list[tuple[int, int]]) -> Columns:
    kinds, times = (np.array([row[at] for row in rows], np.int64) for at in (0, 1))
    zeros = np.zeros(len(rows), np.int64)
    return Columns(
        {
            "marker_type": kinds, "marker_timestamp": times, "marker_offset": 10 * np.arange(len(rows)),
            "marker_epoch": zeros, "first_offset": 10 * np.arange(len(rows)) - 5,
            "older_records": np.full_like(zeros, NONE), "last_epoch": zeros, "producer_id": zeros + 1, "last_offset": zeros, "position": zeros,
        }
    )  # fmt: skip
