"""Where a partition's bytes are in two tiers: remote, local, both; what waits to be copied or deleted, and why."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Final

from kafkalog.auditing.space.causes import local_due
from kafkalog.auditing.space.log_space import LogSpace
from kafkalog.tables.space_tables import SPACE_TIERS

__all__ = ["tier_rows"]

_LEFT: Final = ("unfinished", "orphan", "expired", "deleted")


def tier_rows(log: LogSpace, now: int) -> Iterator[tuple[Any, ...]]:
    """Yield the row of the table ``space_tiers`` of a directory with a remote tier."""
    tier, directory = log.directory.tier, log.directory
    if tier is None or directory.suffix:
        return
    start, stop = directory.log_start_offset, directory.local_start_offset
    size = dict.fromkeys(("remote", "both", "twice", "missing", *_LEFT), 0)
    for one in tier.segments:
        size[tier.holds(one, start, stop)] += one.object_bytes
    top = tier.highest_remote_offset
    closed = [(one, after.segment.base_offset) for one, after in pairwise(log.segments) if one.segment.size]
    to_copy = [one for one, after in closed if after - 1 > top]
    due = local_due(log, now)
    going = [one for one, after in closed[: due.segments] if after - 1 <= top]
    words, why = _waits_for(log, now, [one.segment.base_offset for one in to_copy])
    yield SPACE_TIERS.of(
        log=directory.log,
        topic=directory.topic,
        partition=directory.partition,
        log_start_offset=start,
        local_log_start_offset=min(stop, log.facts.log_end_offset),
        highest_remote_offset=tier.highest_before(log.facts.log_end_offset),
        log_end_offset=log.facts.log_end_offset,
        local_bytes=log.log_bytes,
        remote_bytes=size["remote"],
        both_bytes=size["both"],
        to_copy_segments=len(to_copy),
        to_copy_bytes=sum(one.segment.size for one in to_copy),
        copy_waits_for=words,
        to_delete_segments=len(going),
        to_delete_bytes=sum(one.segment.size for one in going),
        left_bytes=sum(size[name] for name in ("twice", "missing", *_LEFT)),
        lost_offsets=sum(last - first + 1 for first, last in directory.remote_holes),
        evidence=why,
    )


def _waits_for(log: LogSpace, now: int, bases: list[int]) -> tuple[str, str]:
    """Say what the copy of the first of some segments waits for, in a word and in a sentence."""
    tier, settings, stable = log.directory.tier, log.settings, log.facts.last_stable_offset
    assert tier is not None
    if not bases:
        return "nothing", "all closed segments are in the remote store"
    if not settings.is_copied:
        return "copy-disabled", "remote.log.copy.disable=true: nothing is copied"
    following = next((one.segment.base_offset for one in log.segments if one.segment.base_offset > bases[0]), None)
    if following is not None and stable < following:
        return "open-transaction", f"an open transaction holds the copy at offset {stable}: copies end below it"
    failed = [one for one in tier.segments if one.start_offset in bases and not one.was_copied and len(one.states) > 1]
    if failed:
        return "failing", f"{len(failed)} copies of these segments failed: search the broker's log for RLMCopyTask"
    newest = next(one.largest for one in log.segments if one.segment.base_offset == bases[0])
    if settings.copy_lag_ms > 0 and now - newest < settings.copy_lag_ms:
        return "copy-lag", f"remote.copy.lag.ms={settings.copy_lag_ms}: the segment is younger"
    return "copy-task", "the broker's next copy task takes them"
