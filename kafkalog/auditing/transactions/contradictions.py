"""What can't be in inputs of one moment: a marker without its decision, a decision without its marker, a short log.

A quiet coordinator, a decision that was cleaned and an administrator's abort are no contradictions. Nor is what a
volume snapshot of a running broker lacks: pages that the system had not written yet, file by file.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from kafkalog.auditing.partition import SegmentScan
from kafkalog.auditing.topics import leader_now, leader_spans, leaderless
from kafkalog.auditing.transactions.surroundings import Surroundings
from kafkalog.auditing.transactions.verdict_facts import opened_at
from kafkalog.certainty import Inputs
from kafkalog.columns.table import NONE, Columns
from kafkalog.files.names import STATE_TOPIC
from kafkalog.findings import Finding
from kafkalog.folds import fold
from kafkalog.folds.coordinator import Coordinator
from kafkalog.folds.shares import Share
from kafkalog.kafka.transaction_state import TransactionState
from kafkalog.log_dirs.log_directory import LogDirectory, PartitionDirectory
from kafkalog.quantities import CLOCKS_MS, iso

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Contradictions", "may_lack_its_end"]

_PAGE: Final = 4096
_KINDS: Final = {  # of what is in the log before a broker writes that; only before the first was it flushed, too
    "recovery_point": "recovery-point-offset-checkpoint",
    "high_watermark": "replication-offset-checkpoint",
    "log_start": "log-start-offset-checkpoint",
    "cleaner": "cleaner-offset-checkpoint",
}
_COLUMNS: Final = (
    "producer_id", "first_offset", "last_epoch", "marker_type", "marker_offset", "marker_epoch", "marker_timestamp",
)  # fmt: skip
_OPEN_STATES: Final = (int(TransactionState.EMPTY), int(TransactionState.ONGOING))
_PREPARED: Final = (int(TransactionState.PREPARE_COMMIT), int(TransactionState.PREPARE_ABORT))
_COMPLETED: Final = (int(TransactionState.COMPLETE_COMMIT), int(TransactionState.COMPLETE_ABORT))


def may_lack_its_end(scans: Sequence[SegmentScan]) -> bool:
    """Say whether a log ends as one does whose last pages were never written: within a batch, in zeros, at a page."""
    if not scans:
        return False
    last = scans[-1]
    damaged = any(extent.position + extent.length >= last.segment.size for extent in last.damaged)
    return damaged or last.zero_tail is not None or last.segment.size % _PAGE == 0


def _checkpoints(
    node: LogDirectory, directory: PartitionDirectory, scans: Sequence[SegmentScan]
) -> Iterator[Finding]:  # fmt: skip
    ends = [scan.folded.last_offset + 1 for scan in scans if scan.folded.last_offset is not None]
    if not directory.segments:
        return
    end = max(directory.segments[-1].base_offset, *ends[-1:], 0)
    for kind, name in _KINDS.items():
        known = node.all_checkpoints.get(kind, {}).get((directory.topic, directory.partition), -1)
        if known > end and (kind == "recovery_point" or not may_lack_its_end(scans)):
            yield Finding.of(
                "snapshot-contradicted", directory.log,
                f"{name} of {node.path} has offset {known} for {directory.topic}-{directory.partition}, but"
                f" {directory.log} ends at offset {end}",
                offset=end, needed=known, found=end, log=directory.log, topic=directory.topic,
                partition=directory.partition,
            )  # fmt: skip


class Contradictions:
    """What the logs of a cluster contradict; `cut` are the logs of the state topic that may lack their ends.

    `coordinator` has the records that it goes by.
    """

    def __init__(self, around: Surroundings, cut: Collection[str]) -> None:
        self._around = around
        self.coordinator = around.coordinator
        self._clocks_ms = CLOCKS_MS if around.several_nodes else 0
        # A producer that no record names: its id expired, unless all is here that was ever written.
        self._has_all = around.has_all_states and not cut
        self._whole = np.array([log not in cut for log in around.coordinator.logs], bool)
        self._appended = _newest_appended(around.coordinator)

    def by(self, coordinator: Coordinator) -> Contradictions:
        """Return the same by those of the coordinator's records that concern one partition, as a task has them."""
        found = copy(self)
        found._around = replace(self._around, findings=[], coordinator=coordinator)
        found.coordinator = coordinator
        return found

    def of_log(
        self,
        node: LogDirectory,
        directory: PartitionDirectory,
        scans: Sequence[SegmentScan],
        share: Share = Share(),  # noqa: B008  # it is frozen
    ) -> Iterator[Finding]:
        """Yield what a log's scans contradict, or those of a share of its producers."""
        if share.of_log:
            yield from _checkpoints(node, directory, scans)
        if directory.topic == STATE_TOPIC:
            return
        if share.of_log and scans and not may_lack_its_end(scans) and self._has_all_markers(node, directory):
            yield from self._unanswered(directory, scans[-1])
        for scan in scans if share.of_producers else ():
            for rows in scan.folded.finished.blocks(*_COLUMNS):
                yield from self._undecided(directory, rows)

    def _has_all_markers(self, node: LogDirectory, directory: PartitionDirectory) -> bool:
        """Say whether a replica must have the markers of all that is completed: the leader's, of a clean election.

        What a broker that was stopped lacks is missing for certain; a remote store has closed segments alone.
        """
        metadata, topic, partition = self._around.metadata, directory.topic, directory.partition
        if self._around.inputs(node, directory) in (Inputs.STOPPED, Inputs.REMOTE, Inputs.CUT):
            return False
        if metadata is None:
            return not self._around.several_nodes
        unclean = any(span.value.change == "unclean-election" for span in leader_spans(metadata, topic, partition))
        return node.node_id == str(leader_now(metadata, topic, partition)) and not unclean

    def _unanswered(self, directory: PartitionDirectory, active: SegmentScan) -> Iterator[Finding]:
        """Yield the decisions that were completed, and so had their markers written, after all that a log has.

        Neither the cleaner nor retention takes anything from the active segment after one of its markers. What is
        older than the longest copy or the log's last opening, or was decided without a leader, is missing for certain.
        """
        coordinator, around = self.coordinator, self._around
        newest, end = active.folded.newest_broker, (active.folded.last_offset or 0) + 1
        rows = coordinator.listing(directory.topic, directory.partition)
        until = max(newest, opened_at(directory, end, around.metadata)) + self._clocks_ms
        rows = rows[coordinator.states["last_update_timestamp"][rows] > until]
        if newest < 0 or not len(rows):
            return
        copied = around.newest_broker - around.options.copy_ms
        for row, decision in zip(rows.tolist(), coordinator.decisions(rows), strict=True):
            decided, completed = decision["decided"], decision["completed"]
            if completed < max(copied, 0) or (
                around.metadata is not None
                and leaderless(around.metadata, directory.topic, directory.partition, decided, completed)
            ):
                continue
            how = "committed" if decision["committed"] else "aborted"
            yield Finding.of(
                "snapshot-contradicted", directory.log,
                f"{coordinator.logs[coordinator.of_log[row]]} says at offset {decision['offset']} that a transaction of"
                f" {coordinator.states.ids[decision['transactional_id']]} was {how} at {iso(decided)}, and then that"
                f" its markers were written, but {directory.log}, which it lists, ends at offset {end}, and the newest"
                f" time that a broker wrote to it is {iso(newest)}",
                offset=end, producer_id=decision["producer_id"], log=directory.log, topic=directory.topic,
                partition=directory.partition,
            )  # fmt: skip

    def _undecided(self, directory: PartitionDirectory, rows: Columns) -> Iterator[Finding]:
        """Yield the markers that are newer than all that the coordinator wrote about their producers.

        An ABORT in the epoch of its data may be an administrator's.
        """
        is_own = (rows["marker_type"] == fold.COMMIT) | (
            fold.has_data(rows) & (rows["marker_epoch"] > rows["last_epoch"])
        )
        rows = rows.take(np.flatnonzero(is_own & fold.has_marker(rows) & (rows["marker_timestamp"] >= 0)))
        last = self.coordinator.last_of(rows["producer_id"])
        missing = np.zeros(len(rows), bool)
        missing[last >= 0] = self._is_after(rows.take(np.flatnonzero(last >= 0)), last[last >= 0])
        if self._has_all:
            missing[last < 0] = self.coordinator.names_of(rows["producer_id"][last < 0]) < 0
        for row in np.flatnonzero(missing).tolist():
            yield self._finding(directory, rows, row, int(last[row]))

    def _is_after(self, rows: Columns, last: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Say which markers came after the newest record of their producer, and so need another one.

        In one epoch a marker may come long after its decision, but before the record that completes it.
        """
        states = self.coordinator.states
        log = self.coordinator.of_log[last]
        offset, time = self._appended
        state = states["state"][last]
        left_open = np.isin(state, _OPEN_STATES)
        completed = np.isin(state, _COMPLETED) & (states["offset"][last] < offset[log])
        known_at = np.where(left_open, states["last_update_timestamp"][last], time[log])
        later = (left_open | completed) & (rows["marker_timestamp"] > known_at + self._clocks_ms)
        epoch = states["producer_epoch"][last]
        found: NDArray[np.bool_] = self._whole[log] & (
            (rows["marker_epoch"] > epoch) | ((rows["marker_epoch"] == epoch) & later)
        )
        return found

    def _finding(self, directory: PartitionDirectory, rows: Columns, row: int, last: int) -> Finding:
        coordinator, states = self.coordinator, self.coordinator.states
        kind = "COMMIT" if rows["marker_type"][row] == fold.COMMIT else "ABORT"
        producer, marker = int(rows["producer_id"][row]), int(rows["marker_offset"][row])
        newest = f"no record of {STATE_TOPIC} names producer {producer}"
        if last >= 0:
            when = iso(int(states["last_update_timestamp"][last]))
            offset, epoch = int(states["offset"][last]), int(states["producer_epoch"][last])
            newest = (
                f"the newest record of producer {producer} in {coordinator.logs[coordinator.of_log[last]]}, at offset"
                f" {offset}, has epoch {epoch} and time {when}: the decision is in no record"
            )
        return Finding.of(
            "snapshot-contradicted", directory.log,
            f"the {kind} marker at offset {marker} of {directory.log} has epoch {int(rows['marker_epoch'][row])} and"
            f" was written at {iso(int(rows['marker_timestamp'][row]))}, but {newest}",
            offset=marker, producer_id=producer, log=directory.log, topic=directory.topic,
            partition=directory.partition,
        )  # fmt: skip


def _newest_appended(coordinator: Coordinator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the newest record of each state log whose own time is that at which it was written, and that time."""
    states, of_log = coordinator.states, coordinator.of_log
    offset, time = np.full((2, max(1, len(coordinator.logs))), NONE)
    rows = np.flatnonzero(np.isin(states["state"], (*_OPEN_STATES, *_PREPARED)))
    rows = rows[np.argsort(states["offset"][rows], kind="stable")]
    offset[of_log[rows]], time[of_log[rows]] = states["offset"][rows], states["last_update_timestamp"][rows]
    return offset, time
