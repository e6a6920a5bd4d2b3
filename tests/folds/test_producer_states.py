"""Producers' states rebuilt as a fold, held to a broker's own way; snapshots held against them."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import build
import plain
from beside import told
from kafkalog.auditing.side_files.snapshots import differences, states_of
from kafkalog.columns.table import NONE, Columns
from kafkalog.findings import Severity
from kafkalog.folds.producer_states import ProducerStates, collapse
from kafkalog.kafka.snapshot import producer_snapshot
from kafkalog.kernel.buffers import STATE_COLUMNS
from plain import Batch, Broker

LOGS = plain.logs(count=1)
FIELDS = (
    ("producer_epoch", "epoch"), ("last_sequence", "last_sequence"), ("last_offset", "last_offset"),
    ("offset_delta", "offset_delta"), ("timestamp", "timestamp"), ("coordinator_epoch", "coordinator_epoch"),
)  # fmt: skip


def of(batches: list[Batch]) -> Columns:
    states = ProducerStates()
    states.batches(*plain.as_heads(batches))
    return states.result()[0]


@given(LOGS)
def test_the_fold_is_what_a_broker_keeps(log: list[Batch]) -> None:
    """Epoch, last batch, times, coordinator epoch and open transaction of every producer."""
    broker = Broker()
    for batch in log:
        broker.append(batch)
    rows = {row["producer_id"]: row for row in collapse(of(log))}

    assert rows.keys() == broker.producers.keys()
    for number, state in broker.producers.items():
        for column, name in FIELDS:
            absent = 0 if name == "offset_delta" else -1
            found = absent if rows[number][column] == NONE else rows[number][column]
            assert found == getattr(state, name), (number, name)
        first = broker.open[number].batches[0].offset if number in broker.open else NONE
        assert rows[number]["current_txn_first_offset"] == first


@given(LOGS, plain.cuts, st.lists(st.integers(0, 100)))
def test_a_log_may_be_cut_anywhere(log: list[Batch], cuts: list[int], choices: list[int]) -> None:
    """Stretches may be joined in any grouping."""
    parts = [of(log[low:high]) for low, high in plain.cut(cuts, len(log))]
    joined = plain.tree(parts, lambda a, b: collapse(a + b), choices)

    assert collapse(joined) == collapse(of(log))


@given(LOGS, st.integers(0, 40), st.integers(0, 40))
def test_a_snapshot_goes_on_where_it_was_taken(log: list[Batch], at: int, more: int) -> None:
    """What a snapshot says and the log behind it give the snapshot of later."""
    broker = Broker()
    for batch in log[:at]:
        broker.append(batch)
    states = states_of(producer_snapshot(broker.snapshot).entries)
    for batch in log[at : at + more]:
        broker.append(batch)
    later = producer_snapshot(broker.snapshot).entries

    assert differences(later, collapse(states + collapse(of(log[at : at + more]))), None) == []


@given(LOGS, st.integers(0, 1000), st.integers(0, 7), st.sampled_from([-3, -1, 1, 2, 50]))
def test_a_changed_entry_is_found(log: list[Batch], which: int, field: int, more: int) -> None:
    """Whatever number of it: no other producer than its own is named, but one whose number it takes."""
    broker = Broker()
    for batch in log:
        broker.append(batch)
    entries = producer_snapshot(broker.snapshot).entries
    if not entries:
        return
    number = which % len(entries)
    values = list(entries[number])
    values[field] += more
    rows = collapse(of(log))
    row = next(row for row in rows if row["producer_id"] == entries[number].producer_id)
    untimed = -1 if row["data_timestamp"] == NONE else row["data_timestamp"]
    # A producer without a coordinator epoch may have expired and come back; brokers up to 0.11 store a marker's offset,
    # those up to 2.3 no marker's time.
    if (field, values[field]) in {(6, -1), (3, row["marker_offset"]), (5, untimed)}:
        return
    changed = [*entries[:number], type(entries[0])(*values), *entries[number + 1 :]]
    found = differences(changed, rows, None)

    assert found
    assert {one.producer_id for one in found} <= {entries[number].producer_id, values[0]}


def partition(folder: Path, log: list[Batch], cuts: list[int]) -> Path:
    """A log with everything that a broker writes beside it, in segments; stopped cleanly."""
    pieces = [log[low:high] for low, high in plain.cut(cuts, len(log)) if low < high]
    directory = plain.write_segments(folder / "t-0", *pieces)
    broker = Broker()
    for piece in pieces:
        base, newest = piece[0].offset, -1
        if base:
            (directory / f"{base:020}.snapshot").write_bytes(broker.snapshot)
        times, aborts, position = b"", b"", 0
        index = b""
        for batch in piece:
            ended = len(broker.aborted)
            broker.append(batch)
            if batch.timestamp > newest:
                newest = batch.timestamp
                times += newest.to_bytes(8, "big") + (batch.last_offset - base).to_bytes(4, "big")
            if position:
                index += (batch.last_offset - base).to_bytes(4, "big") + position.to_bytes(4, "big")
            position += batch.size
            for producer, first, marker in broker.aborted[ended:]:
                aborts += build.aborted(0, producer, first, marker, broker.last_stable_offset)
        for suffix, data in ((".index", index), (".timeindex", times), (".txnindex", aborts)):
            if data or suffix != ".txnindex":
                (directory / f"{base:020}{suffix}").write_bytes(data)
    if pieces:
        (directory / f"{broker.end:020}.snapshot").write_bytes(broker.snapshot)
        plain.write_epochs(directory, (0, 0))
        plain.write_checkpoint(folder, "recovery-point-offset-checkpoint", ("t", 0, broker.end))
    plain.write_mark(folder)
    return folder


LEGAL = plain.logs(("data", "data", "plain", "commit", "abort", "fence", "bump", "idempotent", "again"), count=1)


@given(st.data())
def test_side_files_of_any_legal_log_are_told_nothing_of(data: st.DataObject) -> None:
    """Whatever producers do, and wherever segments are rolled."""
    log = data.draw(LEGAL)
    with tempfile.TemporaryDirectory() as folder:
        root = partition(Path(folder), log, data.draw(plain.cuts))

        assert [str(finding) for finding in told(root) if finding.severity > Severity.NOTE] == []


def test_entries_in_any_order_are_gone_on_with(tmp_path: Path) -> None:
    """A broker writes them as its map has them; no producer wrote between this snapshot and the next one."""
    steps = [(1, "data"), (0, "data"), (0, "data"), (0, "plain")]
    log = plain.played(plain.Step(0, producer, what, 1, 0) for producer, what in steps)
    root = partition(tmp_path, log, [3])

    assert len(list(root.glob("t-0/*.snapshot"))) == 2
    assert [str(finding) for finding in told(root) if finding.severity > Severity.NOTE] == []


def test_rows_of_no_batch_are_no_states() -> None:
    """Without producers there is nothing to keep."""
    assert len(collapse(of([Batch(0, 0, 0, "plain")]))) == 0
    assert collapse(Columns.empty(STATE_COLUMNS)).names == STATE_COLUMNS
    assert np.array_equal(collapse(of([]))["producer_id"], [])
