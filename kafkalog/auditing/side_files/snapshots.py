"""A partition's snapshots in order: each is rebuilt from the one before it and the log between them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from kafkalog.auditing.partition import LostOffsets, PartitionAudit
from kafkalog.auditing.side_files.rebuilt import ForeignSegments, RebuiltSegment
from kafkalog.columns.sorted_rows import group_begins, place_of
from kafkalog.columns.table import NONE, Columns
from kafkalog.errors import UnreadableError
from kafkalog.files.opening import read_small
from kafkalog.findings import Finding
from kafkalog.folds import producer_states
from kafkalog.kafka.layout import PRODUCER_SNAPSHOT, PRODUCER_STATE_ENTRY
from kafkalog.kafka.snapshot import ProducerSnapshot, ProducerState, producer_snapshot
from kafkalog.kernel.buffers import STATE_COLUMNS
from kafkalog.log_dirs.log_directory import Segment
from kafkalog.unread import NOT_READ

if TYPE_CHECKING:
    from numpy.typing import NDArray

    _Column = NDArray[np.int64]
    _Mask = NDArray[np.bool_]

__all__ = ["Difference", "SnapshotChain", "differences", "states_of"]


# A ``.snapshot`` compared with producers' states rebuilt from the log up to its offset.
#
# A snapshot may know what the log no longer shows: what is below the log's first batch, was cleaned away or is
# damaged. Brokers write the same state in three ways: 0.11 remembers a marker as if it were a batch, up to 2.3 a
# marker's time does not count. A snapshot must match one of them.


_FIELDS: Final = (
    "producer_epoch", "last_sequence", "last_offset", "offset_delta", "timestamp", "coordinator_epoch",
    "current_txn_first_offset",
)  # fmt: skip


class Difference(NamedTuple):
    """A producer whose state differs between a snapshot and the log.

    `entry` is the number of the snapshot's entry, None where it has none; `field` is empty where an entry is missing or
    one too many.
    """

    entry: int | None
    producer_id: int
    field: str
    stored: int | None
    rebuilt: int | None


def states_of(entries: Sequence[ProducerState]) -> Columns:
    """Make rows of a snapshot's entries, to continue from."""
    stored = _table(entries)

    def known(values: _Column) -> _Column:
        return np.where(values < 0, NONE, values)

    has_data = stored["last_offset"] >= 0
    columns = {
        "producer_id": stored["producer_id"],
        "first_epoch": stored["producer_epoch"],
        "producer_epoch": stored["producer_epoch"],
        "epoch_changes": np.zeros(len(entries), np.int64),
        "last_sequence": np.where(has_data, stored["last_sequence"], NONE),
        "last_offset": known(stored["last_offset"]),
        "offset_delta": np.where(has_data, stored["offset_delta"], NONE),
        "data_timestamp": np.where(has_data, stored["timestamp"], NONE),
        "coordinator_epoch": known(stored["coordinator_epoch"]),
        "marker_offset": np.where(stored["coordinator_epoch"] < 0, NONE, -1),  # somewhere before
        "first_offset": stored["last_offset"],
        "newest_offset": stored["last_offset"],
        "timestamp": stored["timestamp"],
        "current_txn_first_offset": known(stored["current_txn_first_offset"]),
    }
    return Columns({name: columns[name] for name in STATE_COLUMNS})


def differences(entries: Sequence[ProducerState], rebuilt: Columns, unknown_below: int | None) -> list[Difference]:
    """Say where a snapshot's entries contradict the `rebuilt` states, one row a producer.

    What happened below the offset `unknown_below` is not known for certain, None: all is known.
    """
    stored = _table(entries)
    order = np.argsort(stored["producer_id"], kind="stable")
    stored = stored.take(order)
    best: list[Difference] | None = None
    for line in _LINES:
        found = _compare(stored, order, _as_stored(rebuilt, line), NONE if unknown_below is None else unknown_below)
        if best is None or len(found) < len(best):
            best = found
        if not best:
            break
    return best or []


def _table(entries: Sequence[ProducerState]) -> Columns:
    rows = np.array(entries, np.int64).reshape(-1, len(ProducerState._fields))
    return Columns({name: rows[:, number] for number, name in enumerate(ProducerState._fields)})


_MODERN, _MARKERS_UNTIMED, _MARKERS_AS_DATA = range(3)

_LINES: Final = (_MODERN, _MARKERS_UNTIMED, _MARKERS_AS_DATA)


def _as_stored(rebuilt: Columns, line: int) -> Columns:
    """Return rebuilt states as brokers of a line would store them: -1 for absent values."""
    table = {name: np.where(rebuilt[name] == NONE, -1, rebuilt[name]) for name in rebuilt.names}
    no_data = rebuilt["last_offset"] == NONE
    table["offset_delta"] = np.where(no_data, 0, table["offset_delta"])
    if line == _MARKERS_UNTIMED:
        table["timestamp"] = table["data_timestamp"]
    if line == _MARKERS_AS_DATA:
        ends_with_marker = rebuilt["marker_offset"] == rebuilt["newest_offset"]
        table["last_offset"] = np.where(ends_with_marker, table["marker_offset"], table["last_offset"])
        table["offset_delta"] = np.where(ends_with_marker, 0, table["offset_delta"])
    return Columns(table)


def _compare(stored: Columns, order: NDArray[np.intp], rebuilt: Columns, low: int) -> list[Difference]:
    producers, others = stored["producer_id"], rebuilt["producer_id"]
    twice = ~group_begins(producers)
    at = place_of(others, producers)
    there = at >= 0
    found = [
        Difference(int(order[row]), int(producers[row]), "", int(producers[row]), None)
        for row in np.flatnonzero(twice | (~there & _witnessed(stored, low)))
    ]
    both = np.flatnonzero(there)
    mine, theirs = stored.take(both), rebuilt.take(at[both])
    for field, wrong in _contradictions(mine, theirs, low).items():
        found += [
            Difference(int(order[both[row]]), int(mine["producer_id"][row]), field, int(mine[field][row]),
                       int(theirs[field][row]))
            for row in np.flatnonzero(wrong)
        ]  # fmt: skip
    gone = rebuilt.take(~np.isin(others, producers))
    found += [
        Difference(None, int(gone["producer_id"][row]), "", None, int(gone["producer_id"][row]))
        for row in np.flatnonzero(_not_expired(gone, mine, theirs, low))
    ]
    return found


def _witnessed(stored: Columns, low: int) -> _Mask:
    """Say which entries must also be in the log."""
    return (stored["last_offset"] >= low) | (stored["current_txn_first_offset"] >= low)


def _contradictions(stored: Columns, rebuilt: Columns, low: int) -> dict[str, _Mask]:
    """Say by field which rows, a producer each, contradict one another."""
    all_known = low == NONE
    differ = {name: stored[name] != rebuilt[name] for name in _FIELDS}
    newest_known = rebuilt["newest_offset"] >= low
    # What is stored may be newer than what is left of the log below `low`, never older.
    wrong = {
        "producer_epoch": np.where(newest_known, differ["producer_epoch"],
                                   stored["producer_epoch"] < rebuilt["producer_epoch"])
    }  # fmt: skip
    data_known = (rebuilt["last_offset"] >= low) | (stored["last_offset"] >= low) | all_known
    older = (stored["producer_epoch"] == rebuilt["producer_epoch"]) & (stored["last_offset"] < rebuilt["last_offset"])
    wrong["last_offset"] = np.where(data_known, differ["last_offset"], older)
    same_batch = data_known | ((stored["last_offset"] == rebuilt["last_offset"]) & (stored["last_offset"] >= 0))
    wrong["last_sequence"] = same_batch & differ["last_sequence"]
    wrong["offset_delta"] = same_batch & differ["offset_delta"]
    wrong["timestamp"] = newest_known & differ["timestamp"]
    marker_known = (rebuilt["marker_offset"] >= low) | all_known
    # A producer that expired and came back has no coordinator epoch.
    came_back = (stored["coordinator_epoch"] == -1) & (rebuilt["newest_offset"] > rebuilt["marker_offset"])
    wrong["coordinator_epoch"] = marker_known & differ["coordinator_epoch"] & ~came_back
    first, other = stored["current_txn_first_offset"], rebuilt["current_txn_first_offset"]
    wrong["current_txn_first_offset"] = np.where(
        marker_known,
        first != other,
        np.where(other < 0, first >= low, (other >= low) & ((first < 0) | (first > other))),
    )
    return wrong


def _not_expired(gone: Columns, stored: Columns, rebuilt: Columns, low: int) -> _Mask:
    """Say which producers a snapshot had to keep: one with an open transaction, or younger than one that it kept."""
    opened = gone["current_txn_first_offset"] >= max(low, 0)
    kept = np.flatnonzero((stored["current_txn_first_offset"] < 0) & (stored["timestamp"] >= 0))
    if low != NONE or not len(kept):
        return opened
    oldest = kept[np.argmin(stored["timestamp"][kept])]
    younger: _Mask = (gone["timestamp"] > stored["timestamp"][oldest]) & (
        gone["newest_offset"] > rebuilt["newest_offset"][oldest]
    )
    either: _Mask = opened | younger
    return either


class _Known:
    """Producers' states, and the offset of the snapshot from which they were continued, None: the log's begin."""

    def __init__(self, states: Columns, since: int | None) -> None:
        self._parts = [states]
        self._is_joined = False  # a snapshot's entries are in no order
        self.since = since

    def go_on(self, changes: Columns) -> None:
        """Take in what the next piece of the log changed; it is joined when a snapshot asks for the states."""
        if len(changes):
            self._parts.append(changes)
            self._is_joined = False

    @property
    def states(self) -> Columns:
        """One row a producer, sorted by producer."""
        if not self._is_joined:
            rows = Columns.concat(self._parts, STATE_COLUMNS)
            self._parts, self._is_joined = [producer_states.collapse(rows)], True
        return self._parts[0]


class _Suspect(NamedTuple):
    """A snapshot that contradicts the log, until the next ones show which of the two is wrong."""

    finding: Finding
    states: _Known


class SnapshotChain:
    """The snapshots of one partition, and how its segments change producers' states."""

    def __init__(self, audit: PartitionAudit, segments: Sequence[RebuiltSegment], foreign: ForeignSegments) -> None:
        self.audit = audit
        self.segments = segments
        self.foreign = foreign
        self.begin = segments[0].segment.base_offset if segments else 0
        self.lost = LostOffsets(audit.gaps)
        self.reported = {(finding.code, finding.file) for finding in audit.findings}
        self.known = _Known(Columns.empty(STATE_COLUMNS), None)
        self.suspect: _Suspect | None = None

    def compare(self) -> Iterator[Finding]:
        """Yield what is wrong with each snapshot."""
        if self.segments:
            yield from self._at(self.begin, None)
        bases = sorted({rebuilt.segment.base_offset for rebuilt in self.segments})
        for rebuilt in self.segments:
            for piece in rebuilt.states:
                self.known.go_on(piece.changes)
                if self.suspect is not None:
                    self.suspect.states.go_on(piece.changes)
                if piece.stop is not None:
                    yield from self._at(piece.stop, rebuilt.segment)
            following = bisect_right(bases, rebuilt.segment.base_offset)
            if following < len(bases):
                yield from self._at(bases[following], rebuilt.segment)
        if self.suspect is not None:
            yield self.suspect.finding

    def _at(self, offset: int, segment: Segment | None) -> Iterator[Finding]:
        """Compare the snapshot at an offset, if there is one, with what is known there."""
        path = self.audit.directory.snapshots.get(offset)
        if path is None or offset > self.audit.log_end_offset:
            return
        snapshot = self._read(path)
        if isinstance(snapshot, Finding):
            if (snapshot.code, path) not in self.reported:
                yield snapshot
            return
        stored = _Known(states_of(snapshot.entries), offset)
        if segment is None or self.foreign.is_foreign(segment):  # it is the first evidence
            self.known = stored
            return
        found = differences(snapshot.entries, self.known.states, self._unknown_below(offset, self.known))
        if self.suspect is not None:
            by_stored = differences(
                snapshot.entries, self.suspect.states.states, self._unknown_below(offset, self.suspect.states)
            )
            if found and not by_stored:  # the snapshots agree with one another, and the log does not
                yield self._foreign(
                    self.suspect.finding.file,
                    "the snapshots agree with one another, but the log before this one does not",
                    self.suspect.finding,
                )
                found = []
            elif not found:
                yield self.suspect.finding
            if not found:
                self.suspect = None
        if not found:
            self.known = stored
        elif self.suspect is None:
            mismatch = self._mismatch(path, offset, found)
            if self.foreign.votes_against(segment):
                of = "one of its indexes and the snapshot at its end are of other batches"
                yield self._foreign(segment.path, of, mismatch)._replace(
                    position=None, offset=segment.base_offset, last_offset=offset - 1
                )
                self.known = stored
            else:
                self.suspect = _Suspect(mismatch, stored)

    def _unknown_below(self, offset: int, known: _Known) -> int | None:
        """Return the offset below which the log does not show everything about producers, None where it does."""
        since = known.since
        # Up to 2.3 brokers forgot producers whose last batch fell below the log's start.
        begin = max(self.begin if since is None else 0, min(self.audit.log_start_offset, offset))
        lost = max(begin, self.audit.cleaned_to, self.lost.end_before(offset))
        return lost if lost > (since or 0) else None

    def _read(self, path: str) -> ProducerSnapshot | Finding:
        try:
            snapshot = producer_snapshot(read_small(path))
        except UnreadableError as error:
            return self.audit.directory.finding(NOT_READ, path, str(error))
        return self.audit.directory.finding("snapshot-corrupt", path, snapshot.wrong) if snapshot.wrong else snapshot

    def _mismatch(self, path: str, offset: int, found: list[Difference]) -> Finding:
        first = found[0]
        producers = len({difference.producer_id for difference in found})
        if first.field:
            message = (
                f"producer {first.producer_id} has {first.field} {first.stored} in the snapshot, but"
                f" {first.rebuilt} in the log"
            )
        elif first.entry is None:
            message = f"producer {first.producer_id} is in the log, but has no entry in the snapshot"
        else:
            message = f"producer {first.producer_id} has two entries in the snapshot, or is not in the log"
        more = f"; {producers} producers differ in all" if producers > 1 else ""
        position = None
        if first.entry is not None:
            position = PRODUCER_SNAPSHOT.size + first.entry * PRODUCER_STATE_ENTRY.size
            position += PRODUCER_STATE_ENTRY.position(first.field) if first.field else 0
        return self.audit.directory.finding("snapshot-mismatch", path, message + more)._replace(
            position=position,
            offset=offset,
            needed=first.rebuilt,
            found=first.stored,
            producer_id=first.producer_id,
        )

    def _foreign(self, file: str, what: str, mismatch: Finding) -> Finding:
        return self.audit.directory.finding(
            "segment-foreign", file, f"{what}: {mismatch.message}",
            position=mismatch.position, offset=mismatch.offset,
            needed=mismatch.needed, found=mismatch.found, producer_id=mismatch.producer_id,
        )  # fmt: skip
