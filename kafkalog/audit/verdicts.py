"""Verdicts: each transaction in a log against the coordinator's word, with its cause and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from kafkalog.audit.partition import PartitionAudit
from kafkalog.format.records.transaction_state import TransactionState
from kafkalog.txn import extents
from kafkalog.txn.columns import NONE
from kafkalog.txn.coordinator import Coordinator, Decision, Entry

__all__ = ["Context", "Verdict", "judge"]

_PENDING: Final = {
    TransactionState.PREPARE_COMMIT: "commit-pending",
    TransactionState.PREPARE_ABORT: "abort-pending",
}


class Verdict(NamedTuple):
    """What became of a transaction in a log; `entry` is the record of the coordinator that it rests on."""

    state: str
    transactional_id: str | None
    cause: str | None
    certainty: str
    entry: Entry | None
    decision: Decision | None


@dataclass(frozen=True, slots=True)
class Context:
    """What surrounds a log: the coordinator of its cluster, and whether the inputs are of one moment.

    `one_moment` says so for certain (a clean stop, the user's word); else `newest` (ms) of all inputs and `copy_ms`
    decide whether a transaction is older than the copy can have taken. `decisions` are the coordinator's by producer
    id. `state_cleaned` says whether records of the state topic are missing.
    """

    coordinator: Coordinator
    decisions: dict[int, list[Decision]]
    one_moment: bool
    newest: int
    copy_ms: int
    state_cleaned: bool


def judge(audit: PartitionAudit, row: dict[str, int], context: Context) -> Verdict:
    """Judge one final row of a log's extents."""
    names = context.coordinator.names(row["producer_id"])
    if row["marker_type"] != extents.OPEN:
        state = "committed" if row["marker_type"] == extents.COMMIT else "aborted"
        cause = _cause_of_ended(audit, row, context)
        certainty = "damage-between" if _damage_between(audit, row) else "proved"
        return Verdict(state, names[0] if names else None, cause, certainty, None, None)
    state, cause, entry = _open(audit, row, context, names)
    decision = _listing(audit, row, context)
    if state == "hanging" and cause is None:
        cause = _why_hanging(audit, row, decision)
    name = entry.record.transactional_id if entry is not None else names[0] if names else None
    if row["batches"] == 0 and cause is None:
        cause = "begins-before-log"
    return Verdict(state, name, cause, _certainty(audit, row, context, entry, decision), entry, decision)


def _cause_of_ended(audit: PartitionAudit, row: dict[str, int], context: Context) -> str | None:
    if row["first_offset"] == NONE:
        return "marker-without-data"
    if row["adopted"]:
        return "late-data-adopted"
    if row["marker_type"] == extents.ABORT and _nobody_decided(audit, row, context):
        return "administrator-abort"
    return "begins-before-log" if row["batches"] == 0 else None


def _nobody_decided(audit: PartitionAudit, row: dict[str, int], context: Context) -> bool:
    """Say whether the coordinator, all of whose records are at hand, never decided to abort this."""
    names = context.coordinator.names(row["producer_id"])
    if context.state_cleaned or not context.coordinator.complete:
        return False
    if not (
        context.one_moment or context.coordinator.goes_on_past(names[0] if names else None, row["marker_timestamp"])
    ):
        return False
    here = (audit.directory.topic, audit.directory.partition)
    return not any(
        not decision.committed and here in decision.partitions and decision.epoch == row["marker_epoch"]
        and decision.decided <= row["marker_timestamp"]
        and (decision.until is None or row["marker_timestamp"] <= decision.until or decision.epoch != row["last_epoch"])
        for decision in context.decisions.get(row["producer_id"], ())
    )  # fmt: skip


def _open(
    audit: PartitionAudit, row: dict[str, int], context: Context, names: list[str]
) -> tuple[str, str | None, Entry | None]:
    """Apply the table of verdicts to a transaction that no marker ended."""
    coordinator = context.coordinator
    entry = coordinator.last(row["producer_id"])
    if entry is None:
        if not names:
            if coordinator.complete:
                return "hanging", "producer-unknown", None
            return "undecided", "state-partition-missing", None
        last = coordinator.timelines[names[0]][-1]
        return "hanging", "id-expired" if last.record.state is None else "producer-replaced", last
    record = entry.record
    listed = (audit.directory.topic, audit.directory.partition) in (record.partitions or ())
    if record.state is TransactionState.ONGOING:
        if record.producer_epoch > row["last_epoch"]:
            return "hanging", "superseded-epoch", entry
        return ("ongoing", None, entry) if listed else ("hanging", "partition-not-registered", entry)
    if record.state in _PENDING:
        if listed and not _marker_since(audit, row, record.producer_epoch, record.last_update_timestamp):
            return _PENDING[record.state], None, entry
        return "hanging", None if listed else "partition-not-registered", entry
    return "hanging", None, entry


def _listing(audit: PartitionAudit, row: dict[str, int], context: Context) -> Decision | None:
    """Return the producer's newest decision that lists this partition."""
    here = (audit.directory.topic, audit.directory.partition)
    found = [decision for decision in context.decisions.get(row["producer_id"], ()) if here in decision.partitions]
    return max(found, key=lambda decision: decision.decided, default=None)


def _marker_since(audit: PartitionAudit, row: dict[str, int], epoch: int, decided: int) -> bool:
    """Say whether a marker of this decision stands in the log in front of the open data."""
    rows = audit.transactions
    found = (
        (rows["producer_id"] == row["producer_id"])
        & (rows["marker_type"] != extents.OPEN)
        & (rows["marker_epoch"] == epoch)
        & (rows["marker_timestamp"] >= decided)
    )
    return bool(found.any())


def _why_hanging(audit: PartitionAudit, row: dict[str, int], decision: Decision | None) -> str:
    if decision is None:
        return "partition-not-registered"
    if _marker_since(audit, row, decision.epoch, decision.decided):
        return "data-after-marker"
    return "marker-missing"


def _damage_between(audit: PartitionAudit, row: dict[str, int]) -> bool:
    """Say whether bytes can't be read between a transaction's first batch and its marker, or the log's end."""
    if row["first_offset"] == NONE:
        return False
    marker = row["marker_offset"] if row["marker_type"] != extents.OPEN else audit.log_end_offset
    return any(
        (last_before is not None and row["first_offset"] <= last_before < marker) or
        (last_before is None and row["batches"] == 0)
        for _, _, _, last_before in audit.damaged
    )  # fmt: skip


def _certainty(
    audit: PartitionAudit, row: dict[str, int], context: Context, entry: Entry | None, decision: Decision | None
) -> str:
    if _damage_between(audit, row):
        return "damage-between"
    if context.one_moment:
        return "proved"
    said = [entry.record.last_update_timestamp if entry is not None else -1, decision.decided if decision else -1]
    names = context.coordinator.names(row["producer_id"])
    goes_on = context.coordinator.goes_on_past(names[0] if names else None, row["max_timestamp"])
    witnessed = audit.newest > max(said) and goes_on
    old = context.newest - max(row["max_timestamp"], *said) > context.copy_ms
    return "proved" if witnessed and old else "unless-copied-while-running"
