"""Atomicity: a transaction has one outcome in all of its partitions.

Held against the coordinator's word where a record of it survives, and partition against partition where the marker's
epoch belongs to one transaction alone (transaction.version 2, and aborts by the coordinator). What can't be identified
is counted, never guessed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from kafkalog.audit.findings import file_of, located
from kafkalog.audit.partition import PartitionAudit
from kafkalog.audit.verdicts import Context, Verdicts
from kafkalog.findings import Finding
from kafkalog.txn import extents
from kafkalog.txn.columns import NONE, Columns
from kafkalog.txn.coordinator import Decision

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Judged", "across_partitions", "against_coordinator", "unidentified"]

_NEAR: Final = 64  # transactions of a producer that may follow the last one that the state topic tells of
_CLOCKS_MS: Final = 60_000  # how far the clocks of brokers may be apart


class Judged(NamedTuple):
    """A log, its findings about atomicity, and the markers whose transactions a decision identifies."""

    audit: PartitionAudit
    findings: list[Finding]
    identified: set[int]
    broken: set[int]


def against_coordinator(
    audit: PartitionAudit, verdicts: Verdicts, listing: dict[int, list[Decision]], context: Context
) -> Judged:
    """Hold a log's transactions against what the coordinator decided for the very same ones.

    `listing` are the decisions that list the partition, by producer id.
    """
    judged = Judged(audit, [], set(), set())
    hanging = {row["producer_id"] for row, verdict in verdicts.judged() if verdict.state == "hanging"}
    for producer, listed in listing.items():
        rows = audit.of_producer(producer)
        ended = (rows["marker_type"] != extents.OPEN) & (rows["first_offset"] != NONE) & (rows["epoch_changes"] == 0)
        # In one log a producer's rows stand in the order of their markers, so their times rise with them.
        mine = rows.take(ended)
        times = np.maximum.accumulate(mine["marker_timestamp"])
        for decision in listed:
            low = int(np.searchsorted(times, decision.started, "left"))
            high = len(times) if decision.until is None else int(np.searchsorted(times, decision.until, "right"))
            for row in mine.take(slice(low, high if decision.until is not None else min(high, low + _NEAR))):
                if not _same(row, decision, context):
                    continue
                judged.identified.add(row["marker_offset"])
                if decision.committed != (row["marker_type"] == extents.COMMIT):
                    judged.broken.add(row["marker_offset"])
                    judged.findings.append(_broken(audit, row, decision))
            if producer not in hanging and _lacks_marker(audit, rows, decision, context):  # else told with the data
                judged.findings.append(_missing(audit, decision))
    return judged


def _same(row: dict[str, int], decision: Decision, context: Context) -> bool:
    """Say whether a transaction of a log is the one of a decision, for certain."""
    if decision.data_epoch is None or row["last_epoch"] != decision.data_epoch:
        return False
    if decision.epoch > decision.data_epoch and row["marker_epoch"] == decision.epoch:
        return True  # an epoch of its own: transaction.version 2, or an abort by the coordinator
    if decision.until is None:  # is the marker that of a transaction which this copy of the state topic doesn't know?
        return decision.started <= row["marker_timestamp"] and (
            context.one_moment or row["marker_timestamp"] < decision.known_until
        )
    return decision.started <= row["marker_timestamp"] < decision.until


def _lacks_marker(audit: PartitionAudit, rows: Columns, decision: Decision, context: Context) -> bool:
    """Say whether the marker of a completed decision is certainly not in a log that must have it.

    Nothing is said where it may have been cleaned, trimmed, damaged or not copied yet, nor of a partition that is
    younger than the decision.
    """
    if not decision.complete or audit.log_start_offset or audit.cleaned_to >= 0 or audit.damaged or audit.gaps:
        return False
    if audit.newest <= decision.decided and (context.several_nodes or not context.one_moment):
        return False
    found = (rows["marker_type"] != extents.OPEN) & (rows["marker_epoch"] == decision.epoch)
    if decision.data_epoch is None or decision.epoch == decision.data_epoch:
        found &= rows["marker_timestamp"] >= decision.started - _CLOCKS_MS
        if decision.until is not None:
            found &= rows["marker_timestamp"] <= decision.until + _CLOCKS_MS
    return not found.any() and _was_there(audit, decision.started)


def _was_there(audit: PartitionAudit, timestamp: int) -> bool:
    """Say whether something in a log is older than a time."""
    times = [audit.producers["first_timestamp"], audit.transactions["marker_timestamp"]]
    known = np.concatenate(times)
    return bool(((known >= 0) & (known < timestamp)).any())


def _missing(audit: PartitionAudit, decision: Decision) -> Finding:
    said = "committed" if decision.committed else "aborted"
    finding = Finding.of(
        "atomicity-broken",
        audit.directory.log,
        f"the coordinator {said} a transaction of {decision.transactional_id} and completed it (record at offset"
        f" {decision.offset} of the state topic), which lists this partition: its marker of epoch {decision.epoch} is"
        " not here",
        offset=audit.log_end_offset,
        producer_id=decision.producer_id,
        needed=said,
        found="no marker",
        certainty="proved",
    )
    return located(finding, audit)


def _broken(audit: PartitionAudit, row: dict[str, int], decision: Decision) -> Finding:
    said = "committed" if decision.committed else "aborted"
    return _differs(
        audit,
        row,
        f"of {decision.transactional_id}",
        said,
        f"the coordinator {said} the transaction (record at offset {decision.offset} of the state topic)",
    )


def _differs(audit: PartitionAudit, row: dict[str, int], whose: str, needed: str, proof: str) -> Finding:
    is_now = "committed" if row["marker_type"] == extents.COMMIT else "aborted"
    finding = Finding.of(
        "atomicity-broken",
        file_of(audit, row["first_offset"]),
        f"offsets {row['first_offset']} to {row['last_offset']} {whose} are {is_now} by the marker at"
        f" {row['marker_offset']}; {proof}",
        position=None if row["position"] == NONE else row["position"],
        offset=row["first_offset"],
        last_offset=row["marker_offset"],
        producer_id=row["producer_id"],
        needed=needed,
        found=is_now,
        certainty="proved",
    )
    return located(finding, audit)


_KEYS: Final = (
    "producer_id", "first_offset", "last_epoch", "epoch_changes", "marker_type", "marker_offset", "marker_epoch",
)  # fmt: skip


def _of_own_epoch(rows: Columns) -> NDArray[np.bool_]:
    """Say which transactions were ended by a marker whose epoch no other transaction of the producer has."""
    own: NDArray[np.bool_] = (
        (rows["marker_type"] != extents.OPEN)
        & (rows["first_offset"] != NONE)
        & (rows["epoch_changes"] == 0)
        & (rows["marker_epoch"] > rows["last_epoch"])
    )
    return own


def across_partitions(logs: Sequence[Judged]) -> Iterator[Finding]:
    """Yield transactions that ended in one way here and in another there, by producer id and the marker's epoch."""
    parts: list[NDArray[np.int64]] = []  # log, place in it, producer, epoch, type
    for number, judged in enumerate(logs):
        start = 0
        for rows in judged.audit.transactions.blocks(*_KEYS):
            at = np.flatnonzero(_of_own_epoch(rows))
            own = rows.take(at)
            keys = (own["producer_id"], own["marker_epoch"], own["marker_type"])
            parts.append(np.stack([np.full(len(at), number), start + at, *keys]))
            start += len(rows)
    if len({int(part[0, 0]) for part in parts if part.shape[1]}) < 2:
        return
    found = np.concatenate(parts, axis=1)
    found = found[:, np.lexsort((found[4], found[3], found[2]))]
    same = (found[2:4, 1:] == found[2:4, :-1]).all(axis=0)
    for after in (np.flatnonzero(same & (found[4, 1:] != found[4, :-1])) + 1).tolist():
        (one, row), (other, other_row) = (_row(logs, found[:, at]) for at in (after - 1, after))
        if row["marker_offset"] in one.broken or other_row["marker_offset"] in other.broken:
            continue  # told by the coordinator's word
        how = "committed" if other_row["marker_type"] == extents.COMMIT else "aborted"
        proof = f"{other.audit.directory.log} has it {how} by the marker at {other_row['marker_offset']}"
        whose = f"of producer {row['producer_id']}, marker epoch {row['marker_epoch']},"
        yield _differs(one.audit, row, whose, how, proof)


def _row(logs: Sequence[Judged], found: NDArray[np.int64]) -> tuple[Judged, dict[str, int]]:
    judged = logs[int(found[0])]
    (row,) = judged.audit.transactions.take(np.array([found[1]], np.intp))
    return judged, row


def unidentified(judged: Judged) -> int:
    """Count a log's ended transactions that nothing identifies in other partitions."""
    counts: Counter[str] = Counter()
    for rows in judged.audit.transactions.blocks(*_KEYS):
        own = _of_own_epoch(rows)
        counts["ended"] += int(((rows["marker_type"] != extents.OPEN) & (rows["first_offset"] != NONE)).sum())
        counts["own"] += int(own.sum())
        if judged.identified:
            others = rows["marker_offset"][~own]
            counts["own"] += int(np.isin(others, list(judged.identified)).sum())
    return counts["ended"] - counts["own"]
