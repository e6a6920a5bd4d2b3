"""Offset commits: what each group committed, in which transaction, and whether that counts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kafkalog.auditing.topics.fates import ABORTED, COMMITTED, PENDING, Fate, Fates
from kafkalog.auditing.topics.internal import Written
from kafkalog.log.moment import Moment
from kafkalog.tables import internal as tables

__all__ = ["Commit", "Committed", "commit_of", "offset_row"]


class Commit(NamedTuple):
    """An offset commit, or a tombstone, with the fate of its transaction if it has one. See the table ``offsets``."""

    record: Written
    log: str
    group: str
    topic: str
    partition: int
    fate: Fate | None

    @property
    def tombstone(self) -> bool:
        """Say whether it takes back the commit before."""
        return not self.value

    @property
    def value(self) -> dict[str, Any]:
        """Return the value's fields in Kafka's words; a tombstone has none."""
        return (self.record.content.value if self.record.content is not None else None) or {}

    def state_at(self, moment: Moment) -> str | None:
        """Return whether it counted at a moment; None where damage hides its transaction."""
        if not self.record.transactional:
            return COMMITTED
        return None if self.fate is None else self.fate.at(moment)


def commit_of(record: Written, log: str, fates: Fates) -> Commit | None:
    """Return the offset commit of a record; None where it is another record."""
    content = record.content
    if content is None or content.type not in (0, 1) or content.key is None:
        return None
    fate = fates.of(record.producer_id, record.offset) if record.transactional else None
    return Commit(record, log, content.key["group"], content.key["topic"], content.key["partition"], fate)


def offset_row(commit: Commit, moment: Moment) -> tuple[Any, ...]:
    """Make a row of the table ``offsets``."""
    record, value = commit.record, commit.value
    state = commit.state_at(moment)
    decided = commit.fate is not None and state in (COMMITTED, ABORTED)
    return tables.OFFSETS.of(
        log=commit.log,
        record_offset=record.offset,
        timestamp_ms=record.timestamp,
        group=commit.group,
        topic=commit.topic,
        partition=commit.partition,
        offset=value.get("offset"),
        leader_epoch=_told(value.get("leaderEpoch")),
        metadata=value.get("metadata"),
        commit_timestamp_ms=value.get("commitTimestamp"),
        expire_timestamp_ms=_told(value.get("expireTimestamp")),
        topic_id=value.get("topicId"),
        transactional=record.transactional,
        producer_id=record.producer_id if record.transactional else None,
        state=state,
        marker_offset=commit.fate.marker_offset if commit.fate is not None and decided else None,
        tombstone=commit.tombstone,
    )


def _told(number: int | None) -> int | None:
    """Return a number, None for -1."""
    return None if number == -1 else number


@dataclass(slots=True)
class Committed:
    """What a group has for a partition: the record in force, commits that wait, and how many were discarded."""

    commit: Commit | None = None
    pending: list[Commit] = field(default_factory=list)
    aborted: int = 0

    def take(self, commit: Commit, moment: Moment) -> None:
        """Take in the next record of the partition that was there at the moment.

        A commit counts from its marker on, and stays in the order of its own offset: a later one wins, whichever
        transaction ended first.
        """
        state = commit.state_at(moment)
        if state == PENDING:
            self.pending.append(commit)
        elif state == ABORTED:
            self.aborted += 1
        elif state == COMMITTED:
            self.commit = commit
            if commit.tombstone:
                self.pending.clear()

    @property
    def state(self) -> str:
        """Return why there is an offset, or why not."""
        if self.commit is not None:
            return "deleted" if self.commit.tombstone else "committed"
        return "pending" if self.pending else "aborted"

    def row(self, group: str, topic: str, partition: int, log: str) -> tuple[Any, ...]:
        """Make a row of the table ``committed``."""
        commit, waiting = self.commit, self.pending[-1] if self.pending else None
        value = commit.value if commit is not None else {}
        return tables.COMMITTED.of(
            group=group,
            topic=topic,
            partition=partition,
            offset=value.get("offset"),
            leader_epoch=_told(value.get("leaderEpoch")),
            metadata=value.get("metadata"),
            commit_timestamp_ms=value.get("commitTimestamp"),
            transactional=commit is not None and commit.record.transactional,
            record_offset=None if commit is None else commit.record.offset,
            state=self.state,
            pending_offset=None if waiting is None else waiting.value.get("offset"),
            pending_producer_id=None if waiting is None else waiting.record.producer_id,
            aborted=self.aborted,
            log=log,
        )
