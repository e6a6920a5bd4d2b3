"""One cause for each partition's directory: what holds the most bytes that could go."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final

from kafkalog.auditing.space.by_compaction import Compaction
from kafkalog.auditing.space.by_retention import by_retention, due_now
from kafkalog.auditing.space.log_space import LogSpace
from kafkalog.auditing.space.verdict import Verdict
from kafkalog.log.chunk import Limits
from kafkalog.log.names import METADATA_TOPIC

__all__ = ["judge", "settle_broker"]

_ASIDE: Final = {
    "-delete": ("the topic or the replica was deleted; the broker removes the directory after its next start", None),
    "-stray": (
        "the cluster's metadata does not have this replica: no broker ever removes the directory",
        "Delete the directory once it is sure that nobody needs it.",
    ),
    "-future": ("the replica is being moved to this log directory; the broker goes on copying", None),
}
_NONE: Final = "nothing would go"
_LONG_MS: Final = 60_000  # that the cleaner may leave a single partition waiting


def judge(log: LogSpace, now: int, limits: Limits, *, is_keyed: bool, doubt_ms: int = 0) -> list[Verdict]:
    """Say what holds bytes of a partition's directory; what holds the most is first, there is at least one.

    `doubt_ms` is by how much `now` may be too early: nothing within it is in the future.
    """
    if log.directory.suffix:
        return [_aside(log)]
    if log.directory.topic == METADATA_TOPIC:
        return [Verdict("none", 0, "the controllers' own log: snapshots replace its segments, no cleaner")]
    compaction = Compaction(log, now, limits, is_keyed)
    found: list[Verdict] = []
    compacted = None
    if log.settings.compacts:
        one = compaction.verdict()
        if one is not None:
            found.append(one)
    elif (
        is_keyed
        and log.closed
        and log.settings.deletes
        and max(log.settings.retention_ms, log.settings.retention_bytes) < 0
    ):
        start, base = log.facts.log_start_offset, log.segments[-1].segment.base_offset
        compacted = compaction.left(start, base).gain
    kept = by_retention(log, now, limits, compacted, doubt_ms)
    if kept is not None:
        found.append(_both(log, now, kept, found))
    leftovers = _left_over(log)
    pending = [one for one in found if one.is_pending]
    if leftovers is not None and pending and pending[0].is_damaged:
        pending[0].evidence += f"; {leftovers.evidence}"
    elif leftovers is not None:
        if pending:
            leftovers.bytes = (leftovers.bytes or 0) + pending[0].weight + _merged(log)
            found = [one for one in found if not one.is_pending]
        found.append(leftovers)
    return sorted(found, key=lambda one: -one.weight) or [_nothing(log, now)]


def _both(log: LogSpace, now: int, kept: Verdict, others: Sequence[Verdict]) -> Verdict:
    """Add what a compaction takes of a compact,delete topic after its retention: of the bytes that are not due."""
    if log.settings.compacts and log.settings.deletes and others and others[0].cause == kept.cause:
        rest = max(0, log.log_bytes - due_now(log, now).bytes)
        share = others[0].weight / max(1, log.log_bytes)
        kept.bytes = (kept.bytes or 0) + int(rest * share) if rest > 4096 else kept.bytes
    return kept


def _nothing(log: LogSpace, now: int) -> Verdict:
    due = due_now(log, now) if log.settings.deletes and log.segments and not log.settings.is_tiered else None
    if due is not None and due.bytes:
        text = (
            f"{due.segments} segments of {due.bytes} bytes are over the limits; retention takes them at its next check"
        )
        return Verdict("none", 0, text)
    return Verdict("none", 0, _NONE)


def _aside(log: LogSpace) -> Verdict:
    text, step = _ASIDE[log.directory.suffix]
    gain = log.all_bytes if log.directory.suffix == "-delete" else 0
    return Verdict("leftovers", gain, f"{log.directory.suffix}: {text}; it has {log.all_bytes} bytes", step)


def _left_over(log: LogSpace) -> Verdict | None:
    names = log.directory.left_over
    sizes = [identity.size for name in names if (identity := log.directory.files.get(name)) is not None]
    if not names:
        return None
    kinds = sorted({os.path.splitext(name)[1] for name in names})
    text = f"{len(names)} files with {', '.join(kinds)}: the broker removes them after a delay, or when it starts"
    return Verdict("leftovers", sum(sizes), text, "Wait for file.delete.delay.ms, or start the broker.")


def _merged(log: LogSpace) -> int:
    """Return the bytes of the files beside closed segments that a pass makes one of: all but the first one's."""
    stems = {os.path.basename(one.segment.path).removesuffix(".log") for one in log.closed[1:]}
    return sum(
        identity.size
        for name, identity in log.directory.files.items()
        if identity is not None and name.rpartition(".")[0] in stems and not name.endswith(".log")
    )


def settle_broker(logs: Sequence[tuple[LogSpace, Sequence[Verdict]]], now: int) -> None:
    """Decide what is pending on one broker: no pass came, one partition can't be cleaned, or it is simply next.

    A batch that the cleaner can't read makes its partition uncleanable, whatever else happened; only one that could end
    the thread itself belongs to those that wait.
    """
    pending = [(log, one) for log, found in logs for one in found[:1] if one.is_pending]
    sound = [one for _, one in pending if not one.is_damaged]
    ending = [one for _, one in pending if one.is_damaged and one.could_end_it]
    waits = max((log.broker.backoff_ms for log, _ in pending), default=0)
    is_old = any(
        one.since_cleanable is not None and now - one.since_cleanable > max(_LONG_MS, 10 * waits) for one in sound
    )
    stopped = [*sound, *ending] if len(sound) > 1 or (sound and (is_old or ending)) else []
    since = min((one.since_cleanable for one in sound if one.since_cleanable is not None), default=None)
    for one in stopped:
        one.cause, one.certainty, one.since_ms = "cleaner-stopped", "likely", since
        one.evidence += f"; {len(sound)} partitions of this broker wait in the same way"
    waiting = {id(one) for one in stopped}
    for _, one in pending:
        if id(one) in waiting:
            continue
        if one.is_damaged:
            one.cause = "partition-uncleanable"
        else:
            one.cause, one.bytes, one.next_step = "none", 0, None
            one.evidence = f"the cleaner takes it next: {one.evidence}"
