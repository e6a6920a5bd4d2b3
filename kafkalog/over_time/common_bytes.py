"""The bytes of logs that two copies have in common, batch by batch: what nobody but the cleaner may change."""

from __future__ import annotations

import numpy as np

from kafkalog.auditing.transactions import LogAudit
from kafkalog.auditing.verification import Pair, Replica, compare_two
from kafkalog.columns.named import NONE
from kafkalog.over_time.changes import Changes, CommonBytes, Joined
from kafkalog.segments.chunk import Limits

__all__ = ["compare_bytes"]


def compare_bytes(changes: Changes, both: Joined, limits: Limits) -> CommonBytes:
    """Read the batches of each log in both copies, and take what differs that no broker does."""
    sides = (changes.old.audits(), changes.new.audits())
    forked, cleaned = (np.full(len(both.new), NONE) for _ in range(2))
    for at, (old, new) in enumerate(zip(both.old.tolist(), both.new.tolist(), strict=True)):
        one, other = sides[0][old], sides[1][new]
        ids = one.partition.directory.topic_id, other.partition.directory.topic_id
        if None not in ids and ids[0] != ids[1]:
            continue
        compacted = bool(changes.new.logs["compacted"][new])
        pair = compare_two(_replica(one, compacted=compacted), _replica(other, compacted=compacted), limits)
        cleaned[at] = pair.cleaned_batches
        forked[at] = _judge(changes, pair, old, new)
    return CommonBytes(forked, cleaned)


def _replica(log: LogAudit, *, compacted: bool) -> Replica:
    """Return a copy; where a cleaner may work, it may have been up to the active segment, whatever its checkpoint."""
    partition = log.partition
    if compacted and partition.directory.segments:
        active = partition.directory.segments[-1].base_offset
        partition = partition._replace(cleaned_to=max(partition.cleaned_to, active))
    return Replica(log.node.node_id, partition)


def _judge(changes: Changes, pair: Pair, old: int, new: int) -> int:
    """Take what a pair shows, and return where a newer leader's history begins in the newer copy, NONE for nowhere."""
    rows = np.array([old]), np.array([new])

    def one(number: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        return np.array([number])

    forked = NONE
    if pair.diverged is not None:
        before, after = pair.epochs
        if before is not None and after is not None and after > before:
            forked = pair.diverged
        elif None not in pair.crcs:
            message = (
                f"the batch at offset {pair.diverged} of leader epoch {after} has CRC {pair.crcs[1]}; the older copy"
                f" has one of epoch {before} with CRC {pair.crcs[0]} there"
            )
            number = changes.tell("log-rewritten", new, message, offset=pair.diverged)
            changes.of_logs("rewritten", rows, lambda said: f"The bytes from offset {said.first} on are others.",
                            first=one(pair.diverged), told=[number])  # fmt: skip
    for first, last in pair.holes[0]:
        message = f"offsets {first}-{last} are missing between others; the older copy has them"
        number = changes.tell("log-lacks-offsets", new, message, offset=first, last_offset=last)
        changes.of_logs("lacking", rows, lambda said: f"Offsets {said.first}-{said.last} are missing.",
                        first=one(first), last=one(last), count=one(last - first + 1), told=[number])  # fmt: skip
    hurt = sorted({offset for which, offset in pair.damaged if which == 1})
    if hurt:
        changes.of_logs(
            "damaged", rows,
            lambda said: f"{said.count} of the batches that were whole are damaged now; the first was at offset"
            f" {said.first}.",
            first=one(hurt[0]), count=one(len(hurt)), severity="error",
        )  # fmt: skip
    return forked
