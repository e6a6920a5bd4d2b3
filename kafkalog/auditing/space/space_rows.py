"""Partitions' directories as rows of the tables about space.

Of a log in two tiers: what is remote, local or both, what waits to be copied or deleted, and why.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Final

from kafkalog.auditing.space.causes import local_due
from kafkalog.auditing.space.cleaner_pass import cleanable
from kafkalog.auditing.space.log_space import LogSpace, SpaceCause
from kafkalog.auditing.space.segment_facts import SegmentFacts
from kafkalog.tables.space_tables import BLOCKERS, SPACE, SPACE_SEGMENTS, SPACE_TIERS

__all__ = ["blocker_rows", "folder_of", "segment_rows", "space_rows", "tier_rows"]

Row = tuple[Any, ...]


def folder_of(log: LogSpace) -> str:
    """Return the name of a partition's directory."""
    return os.path.basename(log.directory.log.rstrip("/"))


def _where(log: LogSpace) -> dict[str, Any]:
    directory = log.directory
    return {"log": directory.log, "topic": directory.topic, "partition": directory.partition}


def space_rows(log: LogSpace, verdicts: Sequence[SpaceCause], now: int) -> Iterator[Row]:
    """Yield the row of a directory: what holds the most bytes of it."""
    found = verdicts[0]
    yield SPACE.of(
        **_where(log),
        folder=folder_of(log),
        node_id=log.node.node_id,
        cause=found.cause,
        certainty=found.certainty,
        since_ms=found.since_ms,
        since_offset=found.since_offset,
        log_bytes=log.log_bytes,
        all_bytes=log.all_bytes,
        reclaimable_bytes=found.bytes,
        evidence=found.evidence,
        next_step=found.next_step,
        incident=found.incident,
        settings_from=", ".join(log.settings.sources),
        now_ms=now,
    )


def blocker_rows(log: LogSpace, verdicts: Sequence[SpaceCause], _now: int) -> Iterator[Row]:
    """Yield all that holds bytes of a directory, the most first."""
    held = [found for found in verdicts if found.cause != "none"]
    for rank, found in enumerate(held, 1):
        yield BLOCKERS.of(
            **_where(log),
            rank=rank,
            cause=found.cause,
            certainty=found.certainty,
            held_bytes=found.bytes,
            since_ms=found.since_ms,
            since_offset=found.since_offset,
            evidence=found.evidence,
            next_step=found.next_step,
        )


def segment_rows(log: LogSpace, _verdicts: Sequence[SpaceCause], now: int) -> Iterator[Row]:
    """Yield the segments of a directory in the order of their offsets."""
    beside = _beside(log)
    first_dirty = cleanable(log, now).first_dirty
    for one in log.segments:
        low, high = one.horizons or (None, None)
        yield SPACE_SEGMENTS.of(
            **_where(log),
            file=one.segment.path,
            base_offset=one.segment.base_offset,
            state=_state(log, one, first_dirty),
            log_bytes=one.segment.size,
            side_bytes=beside.get(one.segment.base_offset, 0),
            batches=one.batches,
            control_batches=one.control_batches,
            control_bytes=one.control_bytes,
            first_timestamp_ms=_known(one.first_timestamp),
            largest_timestamp_ms=_known(one.largest),
            modified_ms=_known(one.modified),
            first_horizon_ms=low,
            last_horizon_ms=high,
            unreadable_batches=len(one.unreadable),
        )


def _state(log: LogSpace, one: SegmentFacts, first_dirty: int) -> str:
    if one is log.active:
        return "active"
    if not log.settings.compacts:
        return "not-compacted"
    return "clean" if one.segment.base_offset < first_dirty else "dirty"


def _beside(log: LogSpace) -> dict[int, int]:
    """Return the bytes beside each segment, by its base offset."""
    bases = {os.path.basename(one.segment.path).removesuffix(".log"): one.segment.base_offset for one in log.segments}
    sizes: dict[int, int] = {}
    for name, identity in log.directory.files.items():
        stem, _, suffix = name.partition(".")
        if identity is not None and stem in bases and suffix in ("index", "timeindex", "txnindex", "snapshot"):
            sizes[bases[stem]] = sizes.get(bases[stem], 0) + identity.size
    return sizes


def _known(number: int) -> int | None:
    return None if number < 0 else number


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
    if (lag := _lag(log, now, bases[0])) is not None:
        return "copy-lag", lag
    return "copy-task", "the broker's next copy task takes them"


def _lag(log: LogSpace, now: int, base: int) -> str | None:
    """Say for which lag the copy of a segment waits; None where one of the two is over (KIP-1241)."""
    of_ms, of_bytes = log.settings.copy_lags
    at = next(number for number, one in enumerate(log.segments) if one.segment.base_offset == base)
    age, after = now - log.segments[at].largest, sum(one.segment.size for one in log.segments[at + 1 :])
    if 0 <= of_ms <= age or 0 <= of_bytes <= after or max(of_ms, of_bytes) < 0:
        return None
    by_time = f"remote.copy.lag.ms={log.settings.copy_lag_ms}" + (f", which is {of_ms}" if of_ms >= 0 else "")
    by_size = f"remote.copy.lag.bytes={log.settings.copy_lag_bytes}" + (
        f", which is {of_bytes}" if of_bytes >= 0 else ""
    )
    return f"{by_time}: the segment is {age} ms old; {by_size}: {after} bytes are after it"
