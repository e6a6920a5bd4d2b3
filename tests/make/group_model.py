"""Groups and their commits as a plain reading of one record after the other: the model of the columns."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

from kafkalog.auditing.partition import read_log
from kafkalog.auditing.topics.group_records import GroupState, Newest
from kafkalog.auditing.topics.groups import group_of
from kafkalog.auditing.topics.internal import Written
from kafkalog.files.limits import Limits
from kafkalog.findings import Finding
from kafkalog.folds import fold
from kafkalog.log_dirs.log_directory import open_log_directory
from kafkalog.quantities import by_number
from kafkalog.segments.internal_blocks import internal_row
from kafkalog.segments.moment import Moment
from kafkalog.tables.declared import Table
from kafkalog.tables.internal_tables import COMMITTED, GROUPS, INTERNAL, OFFSETS
from one_by_one import of_directory

__all__ = ["modelled_rows"]

OF_LOGS: Final = (
    "lag", "visible_lag", "stuck_by", "out_of_range", "out_of_range_since_ms", "history_end_offset",
    "log_start_offset", "log_end_offset", "last_stable_offset", "partition_log",
)  # fmt: skip  # what the partitions' logs say, which are not here

Item = tuple[Table, tuple[Any, ...]] | Finding
Fate = tuple[str, int | None, int | None]  # how the transaction ended, the marker's offset and time


@dataclass
class Group:
    """One group: its commits by partition, and its other records."""

    commits: dict[tuple[str, int], list[tuple[Written, str | None]]] = field(default_factory=dict)
    others: list[Written] = field(default_factory=list)
    newest_commit: Written | None = None
    newest_deletion: Written | None = None


def modelled_rows(folder: str, moment: Moment, chosen: str | None) -> Iterator[Item]:
    """Yield what ``group_rows`` yields of a partition's directory, all tables, the scan's findings left out."""
    (directory,) = open_log_directory(folder).partitions
    spans: dict[int, list[tuple[int, int, Fate]]] = {}
    for block in read_log(directory, ()).partition.transactions.blocks():
        for row in block:
            if row["first_offset"] != -(2**63):
                word = {fold.COMMIT: "committed", fold.ABORT: "aborted"}.get(row["marker_type"])
                marker = (row["marker_offset"], row["marker_timestamp"]) if word else (None, None)
                spans.setdefault(row["producer_id"], []).append(
                    (row["first_offset"], row["last_offset"], (word or "pending", *marker))
                )
    groups: dict[str, Group] = {}
    findings = []
    for record in of_directory(directory, Limits()):
        if isinstance(record, Finding):
            findings.append(record)
            continue
        name = group_of(record)
        if not moment.holds(record.offset, record.timestamp) or chosen not in (None, name):
            continue
        yield INTERNAL, internal_row(record, directory.topic, directory.log, directory.partition)
        if name is None:
            continue
        group = groups.setdefault(name, Group())
        assert record.content is not None
        if record.content.type not in (0, 1):
            group.others.append(record)
            continue
        found = fate(spans, record)
        state = state_at(found, moment) if record.transactional else "committed"
        key = record.content.key or {}
        group.commits.setdefault((key["topic"], key["partition"]), []).append((record, state))
        if record.content.value is None:
            group.newest_deletion = record
        else:
            group.newest_commit = record
        yield OFFSETS, offset_row(record, directory.log, state, found if record.transactional else None)
    yield from findings
    for name, group in sorted(groups.items(), key=lambda item: by_number(item[0])):
        yield GROUPS, group_row(name, group, directory.log)
    for name, group in sorted(groups.items(), key=lambda item: by_number(item[0])):
        for (topic, partition), commits in sorted(
            group.commits.items(), key=lambda item: (by_number(item[0][0]), item[0][1])
        ):
            yield COMMITTED, committed_row((name, topic, partition), commits, directory.log)


def fate(spans: dict[int, list[tuple[int, int, Fate]]], record: Written) -> Fate | None:
    """Find the transaction that a record is in."""
    of_producer = sorted(spans.get(record.producer_id, ()), key=lambda span: span[0])
    at = bisect_right(of_producer, record.offset, key=lambda span: span[0]) - 1
    return of_producer[at][2] if at >= 0 and record.offset <= of_producer[at][1] else None


def state_at(found: Fate | None, moment: Moment) -> str | None:
    """Say how a transaction had ended by a moment."""
    if found is None:
        return None
    state, offset, time = found
    if offset is None or time is None or moment.holds(offset, time):
        return state
    return "pending"


def stated(number: int | None) -> int | None:
    """Return a number, None for -1."""
    return None if number == -1 else number


def value_of(record: Written) -> dict[str, Any]:
    """Return the fields of a value; a tombstone has none."""
    return (record.content.value if record.content is not None else None) or {}


def offset_row(record: Written, log: str, state: str | None, found: Fate | None) -> tuple[Any, ...]:
    """Make a row of the table ``offsets``."""
    value, key = value_of(record), (record.content.key if record.content is not None else None) or {}
    return OFFSETS.of(
        log=log, record_offset=record.offset, timestamp_ms=record.timestamp, group=key["group"], topic=key["topic"],
        partition=key["partition"], offset=value.get("offset"), leader_epoch=stated(value.get("leaderEpoch")),
        metadata=value.get("metadata"), commit_timestamp_ms=value.get("commitTimestamp"),
        expire_timestamp_ms=stated(value.get("expireTimestamp")), topic_id=value.get("topicId"),
        transactional=record.transactional, producer_id=record.producer_id if record.transactional else None,
        state=state, marker_offset=found[1] if found and state in ("committed", "aborted") else None,
        tombstone=not value,
    )  # fmt: skip


def committed_row(
    where: tuple[str, str, int], commits: list[tuple[Written, str | None]], log: str
) -> tuple[Any, ...]:  # fmt: skip
    """Make a row of the table ``committed`` of a partition's commits in log order."""
    commit: Written | None = None
    pending: list[Written] = []
    for record, state in commits:
        if state == "pending":
            pending.append(record)
        elif state == "committed":
            commit = record
            if not value_of(record):
                pending.clear()
    value = value_of(commit) if commit is not None else {}
    counting = [record for record, state in commits if state == "committed"]
    steps = [(value_of(a).get("offset", -1), value_of(b).get("offset"), b.timestamp) for a, b in pairwise(counting)]
    back = [(was - now, time) for was, now, time in steps if now is not None and 0 <= now < was]
    gone = [(was, time) for was, now, time in steps if now is None and was >= 0]
    back_by, back_at = back[-1] if back else (None, None)
    gone_from, gone_at = gone[-1] if gone else (None, None)
    waiting = pending[-1] if pending else None
    state = ("committed" if value else "deleted") if commit is not None else "pending" if pending else "aborted"
    return COMMITTED.of(
        group=where[0], topic=where[1], partition=where[2], offset=value.get("offset"),
        leader_epoch=stated(value.get("leaderEpoch")), metadata=value.get("metadata"),
        commit_timestamp_ms=value.get("commitTimestamp"),
        transactional=commit is not None and commit.transactional,
        record_offset=None if commit is None else commit.offset, state=state,
        pending_offset=None if waiting is None else value_of(waiting).get("offset"),
        pending_producer_id=None if waiting is None else waiting.producer_id,
        aborted=sum(state == "aborted" for _, state in commits), log=log,
        went_back_by=back_by, went_back_ms=back_at, deleted_offset=gone_from, deleted_ms=gone_at,
        **dict.fromkeys(OF_LOGS),
    )  # fmt: skip


def group_row(name: str, group: Group, log: str) -> tuple[Any, ...]:
    """Make a row of the table ``groups``: the newest value under each key decides."""
    values: dict[tuple[Any, ...], dict[str, Any]] = {}
    for record in group.others:
        assert record.content is not None
        key = (record.type, *(record.content.key or {}).values())
        values.pop(key, None)
        if record.content.value is not None:
            values[key] = record.content.value
    rows = [committed_row((name, *where), commits, log) for where, commits in group.commits.items()]
    states, waiting = ([row[COMMITTED.names.index(name)] for row in rows] for name in ("state", "pending_producer_id"))
    counts = states.count("committed"), len(waiting) - waiting.count(None)
    state = GroupState(values, newest(group.others[-1] if group.others else None))
    return state.row(name, log, counts, newest(group.newest_commit), newest(group.newest_deletion))


def newest(record: Written | None) -> Newest | None:
    """Return the place of a record."""
    return None if record is None else Newest(record.offset, record.timestamp, record.type)
