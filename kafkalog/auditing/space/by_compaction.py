"""What holds bytes that a compaction could take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kafkalog.auditing.space.cleanable import Cleanable, cleanable
from kafkalog.auditing.space.compaction import Left, Pass, run_pass
from kafkalog.auditing.space.log_space import LogSpace
from kafkalog.auditing.space.verdict import Verdict
from kafkalog.format.times import iso
from kafkalog.log.chunk import Limits
from kafkalog.txn.columns import NONE

__all__ = ["Compaction"]

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

    def verdict(self) -> Verdict | None:
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
        return Verdict("active-segment", gain, text, step, since_offset=log.active.segment.base_offset)

    def _closed(self, found: Cleanable, gain: int) -> Verdict:
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
            return Verdict("dirty-ratio", gain, text, step, since_offset=found.first_dirty)
        verdict = Verdict(
            "cleaner-stopped", gain,
            f"{found.dirty_bytes} bytes after its checkpoint {found.first_dirty} are cleanable, a share of"
            f" {found.ratio:.3f}, and were not cleaned",
            "Look in the broker's log for the end of kafka-log-cleaner-thread, and restart the broker.",
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

    def _held(self, found: Cleanable, gain: int) -> Verdict:
        """Judge a log whose dirty part ends before the active segment."""
        if found.held_by == "lag":
            lag = self.log.settings.min_compaction_lag_ms
            text = f"segments from offset {found.limit} on have records younger than min.compaction.lag.ms={lag}"
            return Verdict(
                "compaction-lag", gain, text, "Lower min.compaction.lag.ms, or wait.", since_offset=found.limit
            )
        for rows in self.log.facts.transactions.blocks():
            held = (rows["marker_offset"] == NONE) & (rows["first_offset"] == self.log.facts.last_stable_offset)
            if held.any():
                row = next(iter(rows.take(held)))
                since = row["min_timestamp"]
                text = (
                    f"a transaction of producer {row['producer_id']}, epoch {row['last_epoch']}, is open since offset"
                    f" {row['first_offset']}, {iso(since)}: the cleaner does not pass it"
                )
                return Verdict(
                    "open-transaction", gain, text, "End the transaction: kafkalog txn-audit names it.",
                    since_ms=since if since >= 0 else None, since_offset=row["first_offset"],
                )  # fmt: skip
        offset = self.log.facts.last_stable_offset
        text = f"a transaction that began before this log is open: the last stable offset is {offset}"
        step = "End the transaction: kafkalog txn-audit names it."
        return Verdict("open-transaction", gain, text, step, since_offset=offset)

    def _horizon(self, gain: int) -> Verdict:
        """Judge a cleaned log whose tombstones and markers would go later."""
        horizons = [one.horizons for one in self.log.closed if one.horizons is not None]
        last = max((high for _, high in horizons), default=None)
        kept = self.log.settings.delete_retention_ms
        text = f"tombstones and transaction markers stay for delete.retention.ms={kept} after they were cleaned first"
        if last is not None and last <= self.now:
            text += f", these until {iso(last)}; they go with the next pass, and nothing is dirty"
            return Verdict("dirty-ratio", gain, text, "Nothing: the next pass takes them.")
        if last is not None:
            text += f", the last ones until {iso(last)}"
        return Verdict("delete-horizon", gain, text, "Wait, or lower delete.retention.ms.")

    def _disabled(self, gain: int) -> Verdict:
        step = "Set log.cleaner.enable to true and restart the broker."
        return Verdict("cleaning-disabled", gain, "log.cleaner.enable=false: the broker compacts nothing", step)

    def _without_keys(self, found: Cleanable) -> Verdict | None:
        """Judge by offsets and times alone: what a compaction would take is not known."""
        dirty = sum(one.segment.size for one in self.log.closed if one.segment.base_offset >= found.first_dirty)
        verdict = None
        if dirty:
            verdict = self._closed_unknown(found)
        elif any(one.horizons is not None and one.horizons[1] > self.now for one in self.log.closed):
            verdict = self._horizon(0)
        if verdict is not None:
            verdict.bytes = None
            verdict.evidence += f"; {dirty} bytes are not cleaned yet, --keys says how many would go"
        return verdict

    def _closed_unknown(self, found: Cleanable) -> Verdict:
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
