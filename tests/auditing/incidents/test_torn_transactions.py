"""Transactions that a marker of no coordinator ended: who may have sent it, and how their other partitions ended."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

import plain
from kafkalog.auditing.incidents import Incident, incidents_of_audit
from kafkalog.auditing.pipeline.run import audit
from kafkalog.auditing.transactions import AuditOptions
from plain import Batch
from state_topic import T, value, write_state

ONGOING, PREPARE_COMMIT, COMPLETE_COMMIT = 1, 2, 4


def data(offset: int, producer: int = 1000) -> Batch:
    """A record of a transaction."""
    return Batch(0, offset, offset, "data", producer, 0, offset, timestamp=T + 500)


def marker(offset: int, at: int, kind: str = "abort", producer: int = 1000) -> Batch:
    """A marker, some ms after the state topic's first record."""
    return Batch(0, offset, offset, kind, producer, 0, coordinator_epoch=0, timestamp=T + at)


def committed(*at: int, topic: str = "t", partitions: int = 1, producer: int = 1000) -> list[bytes]:
    """What a coordinator writes of transactions that it decides to commit at some times."""
    every = [(topic, list(range(partitions)))]
    return [
        one
        for time in at
        for one in (
            value(ONGOING, producer, partitions=every, update=T + time - 1000),
            value(PREPARE_COMMIT, producer, partitions=every, update=T + time),
            value(COMPLETE_COMMIT, producer, partitions=[], update=T + time + 1),
        )
    ]


def told(root: Path, decisions: list[bytes], /, others: Sequence[bytes] = (), **logs: list[Batch]) -> list[Incident]:
    """Return the incidents of torn transactions of tx-1 and others, where ``t_0`` is the log of the partition t-0."""
    for name, batches in logs.items():
        plain.write_segments(root / name.replace("_", "-"), batches)
    rows = [*(("tx-1", one) for one in decisions), *(("tx-2", one) for one in others)]
    write_state(root, *rows, first=60)  # seconds: it goes on past all markers
    found = incidents_of_audit(audit([root], AuditOptions(snapshot=True, state_partitions=1)))
    return [one for one in found if one.kind == "transaction-torn"]


@pytest.mark.parametrize(("apart", "is_one_hand"), [(59_999, True), (60_000, False)])
def test_foreign_markers_within_a_minute_are_of_one_hand(tmp_path: Path, apart: int, is_one_hand: bool) -> None:
    """Each of the two says it, or neither."""
    both = told(
        tmp_path, committed(2000), committed(2000 + apart, topic="u", producer=2000), t_0=[data(0), marker(1, 1500)],
        u_0=[data(0, 2000), marker(1, 1500 + apart, producer=2000)],
    )  # fmt: skip

    assert len(both) == 2
    for one in both:
        hand = " Most likely the same hand sent 1 more, from 2023-11-14T22:13:21.500Z to 2023-11-14T22:14:21.499Z."
        assert (hand in one.steps[1].text) is ("Most likely" in one.steps[1].text) is is_one_hand
        assert "It was kafka-transactions.sh abort or a program" in one.steps[1].text


def test_what_came_after_the_foreign_marker_is_the_other_half(tmp_path: Path) -> None:
    """If the decision's own marker ended it."""
    log = [data(0), marker(1, 1500), data(2), marker(3, 2500, "commit")]
    [one] = told(tmp_path, committed(2000), t_0=log)

    assert one.title.endswith(" The marker cut it in two: offset 2 of t-0, written after it, was committed.")
    assert one.records == 1


def test_what_the_next_decision_ended_is_no_half(tmp_path: Path) -> None:
    """Its marker came after that decision, too."""
    log = [data(0), marker(1, 1500), data(2), marker(3, 5500, "commit")]
    [one] = told(tmp_path, committed(2000, 5000), t_0=log)

    assert "cut it in two" not in one.title


def test_what_another_foreign_marker_ended_is_no_half(tmp_path: Path) -> None:
    """Both were aborted, and the title names both partitions."""
    [one] = told(tmp_path, committed(2000), t_0=[data(0), marker(1, 1500), data(2), marker(3, 2500)])

    assert "cut it in two" not in one.title
    assert (one.transactions, one.records) == (1, 2)


def test_two_partitions_of_one_decision_are_one_transaction(tmp_path: Path) -> None:
    """The two are one incident, and its title says that a third partition has the right marker."""
    logs = {f"t_{number}": [data(0), marker(1, 1500)] for number in range(2)}
    [one] = told(
        tmp_path, committed(2000, partitions=3), **logs, t_2=[data(0), data(1), marker(2, 2500, "commit")]
    )  # fmt: skip

    assert (one.transactions, one.records, len(one.partitions)) == (1, 2, 2)
    assert one.title.endswith(" Its part in t-2 was committed.")
    assert [step.text.split(":")[0] for step in (one.steps[0], one.steps[2])] == [
        "Save 2 committed records of tx-1 (producer 1000), which read_committed consumers miss",
        "Let their owner send them again from that file, unless it has done so",
    ]


def test_what_a_foreign_commit_gave_consumers_is_too_many(tmp_path: Path) -> None:
    """It is saved, and then undone: no command does that."""
    every = [("t", [0])]
    aborted = [
        value(ONGOING, partitions=every), value(3, partitions=every, update=T + 2000),
        value(5, partitions=[], update=T + 2001),
    ]  # fmt: skip
    [one] = told(tmp_path, aborted, t_0=[data(0), marker(1, 1500, "commit")])

    assert one.consumers.read_committed.endswith("which belong to an aborted transaction: they are too many.")
    assert [step.text.split(" ")[0] for step in one.steps] == ["Save", "Find", "Undo"]
    assert [step.saves is not None for step in one.steps] == [True, False, False]
    assert "it was a program that sends WriteTxnMarkers" in one.steps[1].text
