"""How far the cleaner may go in a log, and whether it would: LogCleanerManager's rule, the same since Kafka 2.3."""

from __future__ import annotations

from typing import NamedTuple

from kafkalog.auditing.space.log_space import LogSpace

__all__ = ["Cleanable", "cleanable"]


class Cleanable(NamedTuple):
    """The dirty part [`first_dirty`, `limit`) of a log, what ends it, and whether the cleaner would take it.

    `limit` is the base offset of the first segment that can't be cleaned, of which `held_by` says why: ``active``,
    ``transaction``, ``lag``. `ratio` is the share of the dirty bytes.
    """

    first_dirty: int
    limit: int
    held_by: str
    active_base: int
    clean_bytes: int
    dirty_bytes: int
    ratio: float
    is_due: bool


def cleanable(log: LogSpace, now: int) -> Cleanable:
    """Say what of a log the cleaner may clean at a time."""
    facts, settings = log.facts, log.settings
    start, end = facts.log_start_offset, facts.log_end_offset
    checkpoint = log.directory.checkpoints.get("cleaner", start)
    first_dirty = checkpoint if start <= checkpoint <= end else start
    active_base = log.active.segment.base_offset if log.active is not None else end
    limits = [(active_base, "active"), (facts.last_stable_offset, "transaction")]
    if settings.min_compaction_lag_ms > 0:
        for one, stop in zip(log.closed, _stops(log), strict=True):
            if stop > first_dirty and _newest(one.largest, one.modified) > now - settings.min_compaction_lag_ms:
                limits.append((one.segment.base_offset, "lag"))
                break
    offset, held_by = min(limits, key=lambda limit: limit[0])
    offset = max(first_dirty, offset)
    limit = active_base
    for one, stop in zip(log.closed, _stops(log), strict=True):
        if one.segment.base_offset <= offset < stop:
            limit = one.segment.base_offset
            break
    held_by = "active" if limit == active_base else held_by
    clean = sum(one.segment.size for one in log.closed if one.segment.base_offset < first_dirty)
    dirty = sum(
        one.segment.size
        for one, stop in zip(log.closed, _stops(log), strict=True)
        if stop > first_dirty and one.segment.base_offset < limit
    )
    clean -= sum(  # the segment that the dirty part begins in counts as dirty, too
        one.segment.size
        for one, stop in zip(log.closed, _stops(log), strict=True)
        if one.segment.base_offset < first_dirty < stop
    )
    ratio = dirty / (clean + dirty) if clean + dirty else 0.0
    return Cleanable(
        first_dirty,
        limit,
        held_by,
        active_base,
        clean,
        dirty,
        ratio,
        dirty > 0 and _is_due(log, first_dirty, ratio, now),
    )


def _is_due(log: LogSpace, first_dirty: int, ratio: float, now: int) -> bool:
    """Say whether enough is dirty, or something is dirty for longer than max.compaction.lag.ms."""
    settings = log.settings
    if ratio > settings.min_dirty_ratio:
        return True
    times = [
        one.first_timestamp
        for one, stop in zip(log.closed, _stops(log), strict=True)
        if stop > first_dirty and one.first_timestamp > 0
    ]
    return bool(times) and min(times) < now - max(0, settings.max_compaction_lag_ms)


def _stops(log: LogSpace) -> list[int]:
    """Return where each closed segment ends: the next one's first offset."""
    return [one.segment.base_offset for one in log.segments[1:]]


def _newest(largest: int, modified: int) -> int:
    return largest if largest >= 0 else modified
