"""One cause for each partition's directory: what holds the most bytes that could go."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from kafkalog.auditing.partition import made_of, misread, segments_of
from kafkalog.auditing.space.cleaner_pass import Cleanable, Left, Pass, cleanable, run_pass
from kafkalog.auditing.space.log_space import LogSpace, SpaceCause
from kafkalog.auditing.space.segment_facts import SegmentFacts, future_batches
from kafkalog.certainty import Doubt, certainty_of
from kafkalog.errors import UnreadableError
from kafkalog.files.limits import Limits
from kafkalog.files.names import METADATA_TOPIC
from kafkalog.log_dirs.left_over import FAILED, left_over
from kafkalog.quantities import iso

__all__ = ["Compaction", "judge_broker", "judge_space", "local_due"]


# What holds bytes that a compaction could take.


_FOREVER: Final = 2**62

_SNAPPY: Final = 2  # its library throws an Error at some damage, which ends the cleaner's thread


@dataclass(slots=True)
class Compaction:
    """The passes of the cleaner that a log is judged by. Without `is_keyed` no record is read."""

    log: LogSpace
    now: int
    limits: Limits
    is_keyed: bool

    def left(
        self, dirty_from: int, until: int, *, at_ms: int | None = None, old_below: int = -1, aborts_open: bool = False
    ) -> Left:  # fmt: skip
        """Run a pass without writing anything."""
        log = self.log
        wanted = Pass(
            dirty_from, until, self.now if at_ms is None else at_ms,
            self.now + log.settings.delete_retention_ms, log.broker.map_entries, old_below, aborts_open,
        )  # fmt: skip
        segments = [one.segment for one in log.segments]
        return run_pass(segments, log.facts, wanted, self.limits, self.now - log.broker.producer_expiration_ms)

    def verdict(self) -> SpaceCause | None:
        """Say what holds bytes that a compaction could take; None for nothing."""
        log, found = self.log, cleanable(self.log, self.now)
        if not log.segments:
            return None
        end = found.active_base
        if not self.is_keyed:
            return self._without_keys(found)
        gain = self.left(found.first_dirty, end).gain if found.first_dirty < end else 0
        if gain:
            return self._closed(found, gain)
        if log.closed:
            # Brokers before 3.1 write no horizons: they go by the times of files. They seldom know topic ids either.
            is_dated = log.directory.topic_id is not None or any(one.horizons is not None for one in log.segments)
            old = -1 if is_dated else found.first_dirty
            past = self.left(found.first_dirty, end, at_ms=_FOREVER, old_below=old).gain
            if past:
                return self._horizon(past)
        gain = self.left(found.first_dirty, log.facts.log_end_offset).gain
        if not gain or log.active is None:
            return None
        if not log.broker.cleans:
            return self._disabled(gain)
        text = (
            f"the active segment {_name(log.active.segment.path)} of {log.active.segment.size} bytes is never cleaned"
        )
        step = "Lower segment.ms or segment.bytes, so that it is rolled."
        return SpaceCause("active-segment", gain, text, step, since_offset=log.active.segment.base_offset)

    def _closed(self, found: Cleanable, gain: int) -> SpaceCause:
        """Judge closed segments from which a compaction would take bytes."""
        if not self.log.broker.cleans:
            return self._disabled(gain)
        if found.held_by != "active":
            below = self.left(found.first_dirty, found.limit).gain if found.limit > found.first_dirty else 0
            if gain - below >= below:
                if found.held_by == "transaction":  # how it ends is not known: half of what only an abort would free
                    gain = (gain + self.left(found.first_dirty, found.active_base, aborts_open=True).gain) // 2
                return self._held(found, gain - below)
        damaged = [(one, batch) for one in self.log.closed for batch in one.unreadable]
        if not found.is_due:
            share = f"{found.ratio:.3f}" if found.dirty_bytes else "0"
            text = (
                f"{found.dirty_bytes} of {found.dirty_bytes + found.clean_bytes} bytes are dirty, a share of {share};"
                f" the cleaner waits for more than min.cleanable.dirty.ratio={self.log.settings.min_dirty_ratio:g}"
            )
            step = "Lower min.cleanable.dirty.ratio, or set max.compaction.lag.ms."
            return SpaceCause("dirty-ratio", gain, text, step, since_offset=found.first_dirty)
        verdict = SpaceCause(
            "cleaner-stopped", gain,
            f"{found.dirty_bytes} bytes after its checkpoint {found.first_dirty} are cleanable, a share of"
            f" {found.ratio:.3f}, and were not cleaned",
            "Find out in the broker's log why kafka-log-cleaner-thread stopped, then restart the broker.",
            since_offset=found.first_dirty, is_pending=True, since_cleanable=self._since(),
        )  # fmt: skip
        if damaged:
            one, batch = damaged[0]
            verdict.is_damaged = True
            verdict.could_end_it = any(found.codec == _SNAPPY for _, found in damaged)
            verdict.since_offset = batch.offset
            place = f"{_name(one.segment.path)}@{batch.position}"
            verdict.evidence = f"the cleaner can't read the batch at offset {batch.offset}, {place}"
            verdict.next_step = "Run kafkalog verify on it; delete records up to that offset, or restore the segment."
        return verdict

    def _held(self, found: Cleanable, gain: int) -> SpaceCause:
        """Judge a log whose dirty part ends before the active segment."""
        if found.held_by == "lag":
            lag = self.log.settings.min_compaction_lag_ms
            text = f"segments from offset {found.limit} on have records younger than min.compaction.lag.ms={lag}"
            return SpaceCause(
                "compaction-lag", gain, text, "Lower min.compaction.lag.ms, or wait.", since_offset=found.limit
            )
        row = self.log.facts.holder()
        assert row is not None, "else nothing ends the dirty part before the active segment"
        since = row["min_timestamp"]
        text = (
            f"a transaction of producer {row['producer_id']}, epoch {row['last_epoch']}, has been open since offset"
            f" {row['first_offset']}, {iso(since)}: the cleaner does not pass it"
        )
        return SpaceCause(
            "open-transaction", gain, text, "End the transaction: kafkalog txn-audit names it.",
            since_ms=since if since >= 0 else None, since_offset=row["first_offset"],
        )  # fmt: skip

    def _horizon(self, gain: int) -> SpaceCause:
        """Judge a cleaned log whose tombstones and markers would go later."""
        horizons = [one.horizons for one in self.log.closed if one.horizons is not None]
        last = max((high for _, high in horizons), default=None)
        kept = self.log.settings.delete_retention_ms
        text = f"tombstones and transaction markers stay for delete.retention.ms={kept} after they were cleaned first"
        if last is not None and last <= self.now:
            text += f", these until {iso(last)}; they go with the next pass, and nothing is dirty"
            return SpaceCause("dirty-ratio", gain, text, "Nothing: the next pass takes them.")
        if last is not None:
            text += f", the last ones until {iso(last)}"
        return SpaceCause("delete-horizon", gain, text, "Wait, or lower delete.retention.ms.")

    def _disabled(self, gain: int) -> SpaceCause:
        step = "Set log.cleaner.enable to true and restart the broker."
        return SpaceCause("cleaning-disabled", gain, "log.cleaner.enable=false: the broker compacts nothing", step)

    def _without_keys(self, found: Cleanable) -> SpaceCause | None:
        """Judge by offsets and times alone: what a compaction would take is not known."""
        dirty = sum(one.segment.size for one in self.log.closed if one.segment.base_offset >= found.first_dirty)
        verdict = None
        if dirty:
            verdict = self._closed_unknown(found)
        elif any(one.horizons is not None and one.horizons[1] > self.now for one in self.log.closed):
            verdict = self._horizon(0)
        if verdict is not None:
            verdict.bytes = None
            verdict.evidence += f"; {dirty} bytes are not cleaned yet, --keys says how many can be freed"
        return verdict

    def _closed_unknown(self, found: Cleanable) -> SpaceCause:
        if self.log.broker.cleans and found.held_by != "active":
            return self._held(found, 0)
        return self._closed(found._replace(held_by="active"), 0)

    def _since(self) -> int | None:
        """Return when the last segment was closed: its file's time, else the time of the active one's first batch."""
        if self.log.closed and 0 < self.log.closed[-1].modified <= self.now:
            return self.log.closed[-1].modified
        active = self.log.active
        return None if active is None or active.first_timestamp < 0 else active.first_timestamp


def _name(path: str) -> str:
    return path.rpartition("/")[2]


# What retention takes of a log at a time: UnifiedLog.deleteOldSegments.


class Due(NamedTuple):
    """The bytes of the first segments that go, how many these are, and whether the active one is among them."""

    bytes: int
    segments: int


def due_by_time(segments: Sequence[SegmentFacts], retention_ms: int, now: int, largest: Sequence[int]) -> Due:
    """Say what goes because its largest timestamp is older than a limit; the active segment may go, too.

    `largest` are the segments' largest timestamps. Segments go from the log's start on, up to the first that stays.
    """
    taken = count = 0
    if retention_ms >= 0:
        for one, newest in zip(segments, largest, strict=True):
            known = newest if newest >= 0 else one.modified
            if now - known <= retention_ms or (one is segments[-1] and not one.segment.size):
                break
            taken += one.segment.size
            count += 1
    return Due(taken, count)


def due_by_size(segments: Sequence[SegmentFacts], retention_bytes: int) -> Due:
    """Say what goes because the rest still is at least a limit."""
    taken = count = 0
    if retention_bytes >= 0:
        over = sum(one.segment.size for one in segments) - retention_bytes
        for one in segments:
            if over - one.segment.size < 0 or (one is segments[-1] and not one.segment.size):
                break
            over -= one.segment.size
            taken += one.segment.size
            count += 1
    return Due(taken, count)


# What holds bytes that retention could take.


_LIMITS = ("retention.ms", "retention.bytes")


def due_now(log: LogSpace, now: int) -> Due:
    """Say what the topic's limits would take at a time."""
    times = [one.largest for one in log.segments]
    by_time = due_by_time(log.segments, log.settings.retention_ms, now, times)
    return max(by_time, due_by_size(log.segments, log.settings.retention_bytes))


def by_retention(
    log: LogSpace, now: int, limits: Limits, compacted: int | None, doubt_ms: int
) -> SpaceCause | None:  # fmt: skip
    """Say what holds bytes that retention could take; None for nothing.

    `compacted` is what a compaction would free, None where that is not known. `now` may be too early by `doubt_ms`.
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
    return _misread(log) or _future(log, now, limits, due, doubt_ms) or _active(log, due)


def _of(cause: str, gain: int, evidence: str, step: str | None) -> SpaceCause | None:
    return SpaceCause(cause, gain, evidence, step) if gain > 0 else None


def _closed(log: LogSpace) -> int:
    return sum(one.segment.size for one in log.closed)


def _unlimited(log: LogSpace, compacted: int | None) -> SpaceCause | None:
    closed = _closed(log)
    text = "retention.ms=-1 and retention.bytes=-1: nothing is ever deleted"
    if compacted is not None and 2 * compacted > closed:
        text += "; keys repeat: a compaction would keep the newest record of each"
        return _of("retention-unlimited", compacted, text, "Set retention.ms, or cleanup.policy to compact.")
    return _of("retention-unlimited", closed, text, "Set retention.ms or retention.bytes.")


def _misread(log: LogSpace) -> SpaceCause | None:
    """Say what retention by time makes of segments whose timestamps are no milliseconds; nothing is held or due yet."""
    if log.settings.retention_ms < 0:
        return None
    odd = [one for one in log.segments if misread(one.largest) is not None]
    if not odd or (worst := misread(max(one.largest for one in odd))) is None:
        return None
    closed = sum(one is not log.active for one in odd)
    text = (
        f"the timestamps of {segments_of(closed, len(odd))} {worst.reads}: {made_of(worst)};"
        f" retention.ms={log.settings.retention_ms}"
    )
    cause = "past-timestamp" if worst.is_past else "future-timestamp"
    return SpaceCause(cause, 0, text, _MISREAD[cause], since_offset=odd[0].segment.base_offset)


_MISREAD: Final = {
    "past-timestamp": "Set retention.ms=-1 until the client is corrected, and copy what must be kept.",
    "future-timestamp": "Correct the client; set retention.bytes, or delete records with kafka-delete-records.",
}


def _future(log: LogSpace, now: int, limits: Limits, due: Due, doubt_ms: int) -> SpaceCause | None:
    """Look for a segment whose largest timestamp is in the future: retention by time stops there."""
    if log.settings.retention_ms < 0 or not any(one.largest > now + doubt_ms for one in log.segments):
        return None
    times, found = [], None
    try:
        for one in log.segments:
            largest, offset, time = one.largest, None, -1
            if largest > now + doubt_ms:
                largest, offset, time = future_batches(one.segment, now + doubt_ms, limits)
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
    return SpaceCause("future-timestamp", without.bytes, text, step, since_offset=offset)


def _active(log: LogSpace, due: Due) -> SpaceCause | None:
    """Say whether only the active segment is over retention.bytes."""
    limit = log.settings.retention_bytes
    if limit < 0 or due.bytes or len(log.segments) > 1 or log.log_bytes <= limit:
        return None
    text = f"the active segment has {log.log_bytes} bytes, retention.bytes={limit} never takes it before it is rolled"
    return _of(
        "active-segment", log.log_bytes - limit, text, "Lower segment.ms or segment.bytes, so that it is rolled."
    )


def local_due(log: LogSpace, now: int) -> Due:
    """Say what local retention would take of a log at a time."""
    settings = log.settings
    local_ms, local_bytes = settings.local_limits
    return max(
        due_by_time(log.segments, local_ms, now, [one.largest for one in log.segments]),
        due_by_size(log.segments, local_bytes),
    )


def _tiered(log: LogSpace, now: int) -> SpaceCause | None:
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
    due = local_due(log, now)
    if log.directory.tier is not None:  # what is copied already goes at the next check
        top = log.directory.tier.highest_remote_offset
        copied = sum(after.segment.base_offset - 1 <= top for after in log.segments[1 : due.segments + 1])
        kept = log.segments[copied : due.segments]
        due = Due(sum(one.segment.size for one in kept), len(kept))
    text = f"{due.segments} local segments are over local.retention and are not in the remote store"
    step = "Search the broker's log for errors of RemoteLogManager."
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


_ASIDE: Final = {
    "-delete": ("the topic or the replica was deleted; the broker removes the directory after its next start", None),
    "-stray": (
        "the cluster's metadata does not have this replica: no broker ever removes the directory",
        "Delete the directory once it is sure that nobody needs it.",
    ),
    "-future": ("the replica is being moved to this log directory; the broker goes on copying", None),
}

_NONE: Final = "nothing can be freed"

_LONG_MS: Final = 60_000  # that the cleaner may leave a single partition waiting


def judge_space(log: LogSpace, now: int, limits: Limits, *, is_keyed: bool, doubt_ms: int = 0) -> list[SpaceCause]:
    """Say what holds bytes of a partition's directory; what holds the most is first, there is at least one.

    `doubt_ms` is by how much `now` may be too early: nothing within it is in the future.
    """
    if log.directory.suffix:
        return [_aside(log)]
    if log.directory.topic == METADATA_TOPIC:
        return [SpaceCause("none", 0, "the controllers' own log: snapshots replace its segments, no cleaner")]
    compaction = Compaction(log, now, limits, is_keyed)
    found: list[SpaceCause] = []
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


def _both(log: LogSpace, now: int, kept: SpaceCause, others: Sequence[SpaceCause]) -> SpaceCause:
    """Add what a compaction takes of a compact,delete topic after its retention: of the bytes that are not due."""
    if log.settings.compacts and log.settings.deletes and others and others[0].cause == kept.cause:
        rest = max(0, log.log_bytes - due_now(log, now).bytes)
        share = others[0].weight / max(1, log.log_bytes)
        kept.bytes = (kept.bytes or 0) + int(rest * share) if rest > 4096 else kept.bytes
    return kept


def _nothing(log: LogSpace, now: int) -> SpaceCause:
    due = due_now(log, now) if log.settings.deletes and log.segments and not log.settings.is_tiered else None
    if due is not None and due.bytes:
        text = (
            f"{due.segments} segments of {due.bytes} bytes are over the limits; retention takes them at its next check"
        )
        return SpaceCause("none", 0, text)
    return SpaceCause("none", 0, _NONE)


def _aside(log: LogSpace) -> SpaceCause:
    text, step = _ASIDE[log.directory.suffix]
    gain = log.all_bytes if log.directory.suffix == "-delete" else 0
    return SpaceCause("leftovers", gain, f"{log.directory.suffix}: {text}; it has {log.all_bytes} bytes", step)


def _left_over(log: LogSpace) -> SpaceCause | None:
    names = log.directory.left_over
    sizes = [identity.size for name in names if (identity := log.directory.files.get(name)) is not None]
    if not names:
        return None
    kinds = sorted({os.path.splitext(name)[1] for name in names})
    text = f"{len(names)} files with {', '.join(kinds)}: the broker removes them after a delay, or when it starts"
    step = "Wait for file.delete.delay.ms, or start the broker."
    for finding in left_over(log.directory):
        if FAILED in finding.message:
            mend = f"Mend what it failed at{f' ({finding.remedy})' if finding.remedy else ''}"
            text, step = finding.message, f"{mend}, then start the broker: waiting removes nothing."
    return SpaceCause("leftovers", sum(sizes), text, step)


def _merged(log: LogSpace) -> int:
    """Return the bytes of the files beside closed segments that a pass makes one of: all but the first one's."""
    stems = {os.path.basename(one.segment.path).removesuffix(".log") for one in log.closed[1:]}
    return sum(
        identity.size
        for name, identity in log.directory.files.items()
        if identity is not None and name.rpartition(".")[0] in stems and not name.endswith(".log")
    )


def judge_broker(logs: Sequence[tuple[LogSpace, Sequence[SpaceCause]]], now: int) -> None:
    """Decide what is pending on one broker: no pass came, one partition can't be cleaned, or it is simply next.

    A batch that the cleaner can't read makes its partition uncleanable, whatever else happened; only one that could end
    the thread itself belongs to those that wait.

    LogCleanerManager marks a partition uncleanable; LogCleaner's thread takes the others.
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
        one.cause, one.certainty, one.since_ms = "cleaner-stopped", certainty_of(Doubt.THREAD_NOT_SEEN), since
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
