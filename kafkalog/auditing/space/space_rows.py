"""Partitions' directories as rows of the tables about space."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

from kafkalog.auditing.space.cleanable import cleanable
from kafkalog.auditing.space.log_space import LogSpace, SpaceCause
from kafkalog.auditing.space.segment_facts import SegmentFacts
from kafkalog.tables.space_tables import BLOCKERS, SPACE, SPACE_SEGMENTS

__all__ = ["blocker_rows", "folder_of", "segment_rows", "space_rows"]

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
