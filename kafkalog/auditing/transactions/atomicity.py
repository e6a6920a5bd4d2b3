"""Atomicity: a transaction has one outcome in all of its partitions.

Partition is compared with partition where the marker's epoch belongs to one transaction alone (transaction.version 2,
and aborts by the coordinator). Transactions that can't be identified are counted, never guessed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from kafkalog.auditing.partition import PartitionAudit, file_of, located
from kafkalog.certainty import certainty_of
from kafkalog.columns.sorted_rows import among, group_begins, runs
from kafkalog.columns.table import NONE, Columns
from kafkalog.findings import Finding
from kafkalog.folds import fold
from kafkalog.folds.fold import tally
from kafkalog.log_dirs.log_directory import PartitionDirectory
from kafkalog.quantities import offset_range

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "KEY_COLUMNS",
    "AtomicityCheck",
    "across_partitions",
    "conflict_finding",
    "conflicts",
    "differs",
    "own_epoch_keys",
    "unidentified",
]


class AtomicityCheck(NamedTuple):
    """A log, its findings about atomicity, and the offsets of the markers whose transactions a decision identifies.

    `spoken_for` says that another replica speaks for the partition: only one is compared with other partitions.
    """

    audit: PartitionAudit
    findings: list[Finding]
    identified: NDArray[np.int64]
    broken: NDArray[np.int64]
    spoken_for: bool = False


def differs(directory: PartitionDirectory, row: dict[str, int], whose: str, needed: str, proof: str) -> Finding:
    """Make the finding that data ended in another way than a `proof` says."""
    is_now = "committed" if row["marker_type"] == fold.COMMIT else "aborted"
    offsets = offset_range(row["first_offset"], row["last_offset"])
    verb = "was" if row["first_offset"] == row["last_offset"] else "were"
    finding = Finding.of(
        "atomicity-broken",
        file_of(directory, row["first_offset"]),
        f"{offsets.capitalize()}, written by {whose}, {verb} {is_now} by the marker at offset {row['marker_offset']},"
        f" but {proof}.",
        position=None if row["position"] == NONE else row["position"],
        offset=row["first_offset"],
        last_offset=row["marker_offset"],
        producer_id=row["producer_id"],
        needed=needed,
        found=is_now,
        certainty=certainty_of(),
    )
    return located(finding, directory)


_KEYS: Final = (
    "producer_id", "first_offset", "last_offset", "last_epoch", "older_records", "position", "marker_type",
    "marker_offset", "marker_epoch",
)  # fmt: skip
KEY_COLUMNS: Final = (
    "log", "producer_id", "marker_epoch", "marker_type", "first_offset", "last_offset", "marker_offset", "position",
    "told",
)  # fmt: skip
_AT_ONCE: Final = 1 << 20  # transactions that are compared with one another together


def _of_own_epoch(rows: Columns) -> NDArray[np.bool_]:
    """Say which transactions were ended by a marker whose epoch no other transaction of the producer has."""
    own: NDArray[np.bool_] = (
        (~fold.is_open(rows))
        & fold.has_data(rows)
        & (rows["older_records"] == NONE)
        & (rows["marker_epoch"] > rows["last_epoch"])
    )
    return own


def own_epoch_keys(judged: AtomicityCheck, log: int, share: int = 0, of: int = 1) -> Iterator[Columns]:
    """Yield the columns of a log's transactions for `conflicts`, of every `of`-th producer id. `log` is its number."""
    if judged.spoken_for or not tally(judged.audit.transactions).sole:
        return
    for rows in judged.audit.transactions.blocks(*_KEYS):
        chosen = _of_own_epoch(rows)
        if of > 1:
            chosen &= rows["producer_id"] % of == share
        own = rows.take(chosen)
        if len(own):
            new = {"log": np.full(len(own), log), "told": among(own["marker_offset"], judged.broken).astype(np.int64)}
            yield Columns({name: new[name] if name in new else own[name] for name in KEY_COLUMNS})


def conflicts(keys: Columns) -> Iterator[tuple[dict[str, int], dict[str, int]]]:
    """Yield pairs of rows that are one transaction, committed in one log and aborted in the other.

    `keys` are rows of ``own_epoch_keys`` of all logs of a cluster, whole producers, in the order of the logs.
    """
    if len(keys) < 2:
        return
    found = keys.take(np.lexsort((keys["marker_type"], keys["marker_epoch"], keys["producer_id"])))
    kind = found["marker_type"]
    firsts, stops = runs(group_begins(found["producer_id"], found["marker_epoch"]))  # of one transaction each
    differ = kind[firsts] != kind[stops - 1]
    for first, stop in zip(firsts[differ].tolist(), stops[differ].tolist(), strict=True):
        after = first + int(np.argmax(kind[first:stop] != kind[first]))
        for places in ((after - 1, after), (first, stop - 1)):
            row, other_row = found.take(np.array(places))
            if row["log"] != other_row["log"]:  # in one log these are two transactions
                if not (row["told"] or other_row["told"]):  # else it is reported by the coordinator's decision
                    yield row, other_row
                break


def conflict_finding(row: dict[str, int], other: dict[str, int], logs: Sequence[PartitionDirectory]) -> Finding:
    """Make a finding of a pair of ``conflicts``; `logs` are the cluster's by their numbers."""
    how = "committed" if other["marker_type"] == fold.COMMIT else "aborted"
    proof = f"the marker at offset {other['marker_offset']} of {logs[other['log']].log} {how} the same transaction"
    whose = f"producer {row['producer_id']} (marker epoch {row['marker_epoch']})"
    return differs(logs[row["log"]], row, whose, how, proof)


def across_partitions(logs: Sequence[AtomicityCheck]) -> Iterator[Finding]:
    """Yield a finding for each transaction that is committed in one partition and aborted in another.

    Rows are one transaction if they have one producer id and one marker epoch.
    """
    if sum(tally(one.audit.transactions).sole > 0 for one in logs) < 2:
        return
    directories = [judged.audit.directory for judged in logs]
    of = 1 + sum(len(judged.audit.transactions) for judged in logs) // _AT_ONCE
    for share in range(of):
        keys = [keys for log, judged in enumerate(logs) for keys in own_epoch_keys(judged, log, share, of)]
        for row, other in conflicts(Columns.concat(keys, KEY_COLUMNS)):
            yield conflict_finding(row, other, directories)


def unidentified(judged: AtomicityCheck) -> int:
    """Count a log's ended transactions that nothing identifies in other partitions."""
    rows = judged.audit.transactions
    counts = tally(rows)
    unidentified = counts.committed + counts.aborted - counts.sole
    if unidentified and len(judged.identified):
        for some in rows.blocks(*_KEYS):
            left = some["marker_offset"][~_of_own_epoch(some)]
            unidentified -= int(np.count_nonzero(among(left, judged.identified)))
    return unidentified
