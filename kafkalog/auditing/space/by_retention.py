"""What holds bytes that retention could take."""

from __future__ import annotations

from kafkalog.auditing.space.log_space import LogSpace
from kafkalog.auditing.space.retention import Due, due_by_size, due_by_time
from kafkalog.auditing.space.segment_facts import future_batches
from kafkalog.auditing.space.verdict import Verdict
from kafkalog.errors import UnreadableError
from kafkalog.format.times import iso
from kafkalog.log.chunk import Limits

__all__ = ["by_retention", "due_now"]

_LIMITS = ("retention.ms", "retention.bytes")


def due_now(log: LogSpace, now: int) -> Due:
    """Say what the topic's limits would take at a time."""
    times = [one.largest for one in log.segments]
    by_time = due_by_time(log.segments, log.settings.retention_ms, now, times)
    return max(by_time, due_by_size(log.segments, log.settings.retention_bytes))


def by_retention(log: LogSpace, now: int, limits: Limits, compacted: int | None) -> Verdict | None:
    """Say what holds bytes that retention could take; None for nothing.

    `compacted` is what a compaction would free, None where that is not known.
    """
    settings = log.settings
    if not log.segments:
        return None
    if settings.is_tiered and not settings.compacts:
        return _tiered(log, now)
    due = due_now(log, now)
    if not settings.policies:
        gain = due.bytes if settings.retention_ms >= 0 or settings.retention_bytes >= 0 else _closed(log)
        text = "cleanup.policy is empty: the broker neither compacts nor deletes"
        return _of("cleaning-disabled", gain, text, "Set cleanup.policy to delete or compact.")
    if not settings.deletes:
        if not settings.own.intersection(_LIMITS):
            return None
        named = ", ".join(sorted(settings.own.intersection(_LIMITS)))
        text = (
            f"the topic sets {named}, but cleanup.policy=compact does not apply it: {due.segments} segments are over it"
        )
        return _of("cleaning-disabled", due.bytes, text, "Set cleanup.policy to compact,delete.")
    if settings.compacts and due.bytes:
        if not log.broker.cleans:
            text = (
                f"log.cleaner.enable=false: the cleaner also does the retention of compact,delete topics;"
                f" {due.segments} segments are over the limits"
            )
            return _of("cleaning-disabled", due.bytes, text, "Set log.cleaner.enable to true and restart the broker.")
        text = f"{due.segments} segments of {due.bytes} bytes are over the limits"
        found = _of("cleaner-stopped", due.bytes, text, None)
        if found is not None:
            found.is_pending = True
        return found
    if settings.retention_ms < 0 and settings.retention_bytes < 0:
        return _unlimited(log, compacted)
    return _future(log, now, limits, due) or _active(log, due)


def _of(cause: str, gain: int, evidence: str, step: str | None) -> Verdict | None:
    return Verdict(cause, gain, evidence, step) if gain > 0 else None


def _closed(log: LogSpace) -> int:
    return sum(one.segment.size for one in log.closed)


def _unlimited(log: LogSpace, compacted: int | None) -> Verdict | None:
    closed = _closed(log)
    text = "retention.ms=-1 and retention.bytes=-1: nothing is ever deleted"
    if compacted is not None and 2 * compacted > closed:
        text += "; keys repeat: a compaction would keep the newest record of each"
        return _of("retention-unlimited", compacted, text, "Set retention.ms, or cleanup.policy to compact.")
    return _of("retention-unlimited", closed, text, "Set retention.ms or retention.bytes.")


def _future(log: LogSpace, now: int, limits: Limits, due: Due) -> Verdict | None:
    """Look for a segment whose largest timestamp is in the future: retention by time stops there."""
    if log.settings.retention_ms < 0 or not any(one.largest > now for one in log.segments):
        return None
    times, found = [], None
    try:
        for one in log.segments:
            largest, offset, time = one.largest, None, -1
            if largest > now:
                largest, offset, time = future_batches(one.segment, now, limits)
                found = found or (None if offset is None else (offset, time, one))
            times.append(largest)
    except UnreadableError:
        return None
    without = due_by_time(log.segments, log.settings.retention_ms, now, times)
    if found is None or without.bytes <= due.bytes:
        return None
    offset, time, where = found
    text = (
        f"the record at offset {offset} has timestamp {iso(time)}, after now: its segment"
        f" {where.segment.path.rpartition('/')[2]} and all after it stay until retention.ms has passed since then"
    )
    step = "Wait, or set retention.bytes, or delete records up to that offset with kafka-delete-records."
    return Verdict("future-timestamp", without.bytes, text, step, since_offset=offset)


def _active(log: LogSpace, due: Due) -> Verdict | None:
    """Say whether only the active segment is over retention.bytes."""
    limit = log.settings.retention_bytes
    if limit < 0 or due.bytes or len(log.segments) > 1 or log.log_bytes <= limit:
        return None
    text = f"the active segment has {log.log_bytes} bytes, retention.bytes={limit} never takes it before it is rolled"
    return _of(
        "active-segment", log.log_bytes - limit, text, "Lower segment.ms or segment.bytes, so that it is rolled."
    )


def _tiered(log: LogSpace, now: int) -> Verdict | None:
    """Say what local retention would take if its copy were in the remote store."""
    settings, facts = log.settings, log.facts
    if not settings.is_copied:
        text = (
            "remote.log.copy.disable=true: local segments are not copied, and stay for retention.ms and retention.bytes"
        )
        found = _of("tiered-copy-pending", log.log_bytes, text, "Set remote.log.copy.disable to false.")
        if found is not None:
            found.since_offset = log.segments[0].segment.base_offset
        return found
    local_ms = settings.retention_ms if settings.local_retention_ms == -2 else settings.local_retention_ms
    local_bytes = settings.retention_bytes if settings.local_retention_bytes == -2 else settings.local_retention_bytes
    due = max(
        due_by_time(log.segments, local_ms, now, [one.largest for one in log.segments]),
        due_by_size(log.segments, local_bytes),
    )
    text = f"{due.segments} local segments are over local.retention and are not in the remote store"
    step = "Look at the broker's log for RemoteLogManager errors."
    if facts.last_stable_offset < facts.log_end_offset:
        text += f"; an open transaction holds the copy at offset {facts.last_stable_offset}"
        step = "End the transaction: kafkalog txn-audit names it."
    found = _of("tiered-copy-pending", due.bytes, text, step)
    if found is not None:
        found.since_offset = max(
            log.segments[0].segment.base_offset, min(facts.last_stable_offset, facts.log_end_offset)
        )
        if facts.last_stable_offset == facts.log_end_offset:
            found.since_offset = log.segments[0].segment.base_offset
    return found
