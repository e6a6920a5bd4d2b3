"""Transactions as lanes: a line for each log, transactional id or producer, cut into cells of offsets or of time.

A cell has the worst state of the transactions that reach into it, so one that is not committed is seen however narrow
the drawing is. Cost: one pass over the transactions, and memory by lanes and cells.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from kafkalog.columns.sorted_rows import distinct, groups
from kafkalog.columns.table import NONE, Columns
from kafkalog.columns.texts import TextColumn
from kafkalog.folds import fold
from kafkalog.quantities import all_plausible, by_number, plausible
from kafkalog.reports.source import AuditSource

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "EMPTY",
    "GAP",
    "LEGAL_GAP",
    "STATE_RANKS",
    "Axis",
    "Folded",
    "Lane",
    "cut_lanes",
    "fold_quiet",
    "is_time",
    "lanes_by_offset",
    "lanes_by_time",
    "on_brokers_clock",
    "partition_order",
    "shortened",
    "span_of",
    "time_axis",
]


# When a transaction was under way, from its own times: for drawings, which need a begin and an end.


def is_time(timestamp_ms: int | None) -> bool:
    """Say whether a time can be believed: some producers write seconds, microseconds, or nothing."""
    return timestamp_ms is not None and plausible(timestamp_ms)


def span_of(row: Mapping[str, Any]) -> tuple[int, int] | None:
    """Return when a row of ``transactions`` began and ended, in ms, or None where no time of it can be believed.

    The marker's time is a broker's, the data's is the producer's own: a begin after the marker is a producer's clock
    that is ahead, and becomes the marker's time.
    """
    times = [row[name] for name in ("first_timestamp_ms", "last_timestamp_ms") if is_time(row[name])]
    marker = row["marker_timestamp_ms"]
    if is_time(marker):
        return min([*times, marker]), marker
    return (times[0], times[-1]) if times else None


# What a cell shows, the worst last: it is drawn over the others.
EMPTY: Final = 0

LEGAL_GAP: Final = 1

STATE_RANKS: Final = {
    "committed": 2, "aborted": 3, "ongoing": 4, "commit-pending": 5, "abort-pending": 6, "undecided": 8, "hanging": 9,
}  # fmt: skip

GAP: Final = 7

Test = Callable[[Mapping[str, Any]], bool]


@dataclass(frozen=True, slots=True)
class Axis:
    """From where to where a lane goes, in offsets or in ms; `last` is the first that is not in it."""

    first: int
    last: int

    def cells(self, values: NDArray[np.int64], width: int) -> NDArray[np.int64]:
        """Return the cell of each value; what is outside is in the first or last one."""
        span = max(self.last - self.first, 1)
        inside = np.clip(values, self.first, max(self.last - 1, self.first))
        # Offsets of damaged batches may be anywhere: floats don't overflow, and a cell is coarse.
        return np.minimum(((inside - self.first).astype(np.float64) * width / span).astype(np.int64), width - 1)


@dataclass(slots=True)
class Lane:
    """A lane: its name, its axis, the worst that each of its cells shows, and how many transactions are in it.

    `counts` are those that reach into each cell, by the ranks of their states. `stable` is the cell where the last
    stable offset is, None where nothing waits or the axis is time. Of a `cut` log only a part is drawn.
    """

    name: str
    axis: Axis
    cells: NDArray[np.uint8]
    row: Mapping[str, Any] = field(default_factory=dict)
    stable: int | None = None
    transactions: int = 0
    cut: bool = False
    counts: dict[int, NDArray[np.int64]] = field(default_factory=dict)

    @property
    def worst(self) -> int:
        """Return the worst that it shows, that of a healthy lane at most what is aborted."""
        return int(self.cells.max(initial=EMPTY))

    @property
    def is_quiet(self) -> bool:
        """Say whether nothing is open, missing or waiting in it."""
        return self.worst <= STATE_RANKS["aborted"] and self.stable is None

    def add(self, ranks: NDArray[np.int64], first: NDArray[np.int64], last: NDArray[np.int64]) -> None:
        """Take in transactions, by the ranks of their states."""
        self.transactions += len(ranks)
        for rank in distinct(ranks).tolist():
            reach = self.draw(rank, first[ranks == rank], last[ranks == rank])
            self.counts[rank] = self.counts.get(rank, 0) + reach

    def draw(self, rank: int, first: NDArray[np.int64], last: NDArray[np.int64]) -> NDArray[np.int64]:
        """Draw ranges, both ends included, over what is less bad; of a cut log nothing that is outside.

        Return how many reach into each cell.
        """
        width = len(self.cells)
        if self.cut:
            inside = (last >= self.axis.first) & (first < self.axis.last)
            first, last = first[inside], last[inside]
        edges = np.zeros(width + 1, np.int64)
        np.add.at(edges, self.axis.cells(first, width), 1)
        np.add.at(edges, self.axis.cells(last, width) + 1, -1)
        reach = np.cumsum(edges[:-1])
        self.cells[(reach > 0) & (self.cells < rank)] = rank
        return reach


def lanes_by_offset(source: AuditSource, width: int, wanted: Test) -> list[Lane]:
    """Return a lane for each log that is `wanted`, those with something wrong first."""
    rows = partition_order(row for row in source.rows("partitions") if wanted(row))
    cuts = [(row, Axis(row["log_start_offset"], row["log_end_offset"])) for row in rows]
    lanes = cut_lanes(source, width, cuts)
    replicas = Counter(lane.name for lane in lanes)
    for lane in lanes:
        if replicas[lane.name] > 1 and lane.row["node_id"] is not None:
            lane.name = f"{lane.name} (broker {lane.row['node_id']})"
    return sorted(lanes, key=lambda lane: lane.is_quiet)


class Folded(NamedTuple):
    """Healthy lanes as one: how many they are, and in which part of them each cell has a transaction, from 0 to 1."""

    lanes: int
    density: NDArray[np.float64]


def fold_quiet(lanes: Sequence[Lane], most: int) -> tuple[list[Lane], Folded | None]:
    """Return the lanes that are drawn one by one, and the healthy ones as one lane where they are more than `most`."""
    quiet = [lane for lane in lanes if lane.is_quiet]
    if len(quiet) <= most:
        return list(lanes), None
    density = np.zeros(len(quiet[0].cells))
    for lane in quiet:
        density += lane.cells > LEGAL_GAP
    return [lane for lane in lanes if not lane.is_quiet], Folded(len(quiet), density / len(quiet))


def cut_lanes(source: AuditSource, width: int, cuts: Sequence[tuple[Mapping[str, Any], Axis]]) -> list[Lane]:
    """Return a lane of offsets for each cut: a row of ``partitions``, and from where to where its log is drawn."""
    lanes: list[Lane] = []
    of_log: dict[str, list[Lane]] = {}
    for row, axis in cuts:
        whole = axis.first <= row["log_start_offset"] and axis.last >= row["log_end_offset"]
        lane = Lane(f"{row['topic']}-{row['partition']}", axis, _empty(width), row, cut=not whole)
        stable = row["last_stable_offset"]
        if stable < row["log_end_offset"] and axis.first <= stable < axis.last:
            lane.stable = int(axis.cells(np.array([stable]), width)[0])
        lanes.append(lane)
        of_log.setdefault(row["log"], []).append(lane)
    gaps: dict[tuple[str, int], array[int]] = {}
    for row in source.rows("gaps"):
        if row["log"] in of_log:
            key = row["log"], LEGAL_GAP if row["kind"] == "legal" else GAP
            gaps.setdefault(key, array("q")).extend((row["first_offset"], row["last_offset"]))
    for (log, rank), ends in gaps.items():
        both = np.frombuffer(ends, np.int64).reshape(-1, 2)
        for lane in of_log[log]:
            lane.draw(rank, both[:, 0], both[:, 1])
    for columns in source.transactions():
        numbers, names = columns.texts("log").numbered()
        spans = [_ranks(columns), columns["first_offset"], columns["last_offset"]]
        has_data = np.flatnonzero(columns["first_offset"] != NONE)
        for some in groups(numbers[has_data]):
            rows = has_data[some]
            for lane in of_log.get(names[numbers[rows[0]]], ()):
                lane.add(*(column[rows] for column in spans))
    return lanes


def _ranks(columns: Columns) -> NDArray[np.int64]:
    """Return the rank of each transaction's state."""
    numbers, words = columns.texts("state").numbered()
    return np.array([*map(STATE_RANKS.__getitem__, words.tolist()), EMPTY])[numbers]


def shortened(text: str, most: int) -> str:
    """Shorten a name in its middle: names of a topic's partitions differ at their end."""
    if len(text) <= most:
        return text
    tail = most * 2 // 3
    return f"{text[: most - tail - 1]}…{text[-tail:]}"


def partition_order(rows: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return rows of ``partitions``, the worst first: what hangs, is open or found; Kafka's own topics last."""
    return sorted(
        rows,
        key=lambda row: (
            -row["hanging"], -row["open"], -row["findings"], -(row["log_end_offset"] - row["last_stable_offset"]),
            row["topic"].startswith("__"), by_number(row["topic"]), row["partition"], row["log"],
        ),
    )  # fmt: skip


# Times of the brokers: a producer's own clock may be wrong by any amount, a marker's time is a broker's. Between two
# markers of a log a record was written between their times.


def on_brokers_clock(logs: NDArray[np.int64], columns: Columns) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return when rows of ``transactions`` began and ended, in ms; `logs` numbers the log of each.

    An end is NONE while open; both are of a row without any time. A producer's time is taken where it lies between the
    markers around its record, else the nearer of their times.
    """
    first, last, marker = (columns[name] for name in ("first_timestamp_ms", "last_timestamp_ms", "marker_timestamp_ms"))
    first = np.where(all_plausible(first), first, NONE)
    last = np.where(all_plausible(last), last, first)
    has_marker = fold.has_marker(columns)
    at = fold.begins(columns)
    ended = np.where(has_marker & all_plausible(marker), marker, NONE)
    earliest, latest = _bounds(logs, at, columns["marker_offset"], ended)
    begins = np.where(first == NONE, latest, first)
    begins = np.where((latest != NONE) & (begins > latest), latest, begins)
    begins = np.where((begins != NONE) & (begins < earliest), earliest, begins)
    begins = np.where((begins == NONE) & (earliest != NONE), earliest, begins)
    ends = np.where(ended != NONE, ended, np.where(has_marker, np.maximum(last, begins), NONE))
    return begins, ends


def _bounds(
    logs: NDArray[np.int64], at: NDArray[np.int64], markers: NDArray[np.int64], ended: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the latest marker's time before an offset of each row and the earliest one after it, NONE for none."""
    some = np.flatnonzero(ended != NONE)
    count = len(at)
    offsets = np.concatenate([at, markers[some]])
    of_log = np.concatenate([logs, logs[some]])
    times = np.concatenate([np.full(count, NONE), ended[some]])
    order = np.lexsort((offsets, of_log))
    found = []
    for step, worst, forwards in ((np.maximum, 0, True), (np.minimum, _TIMES - 1, False)):
        rows = order if forwards else order[::-1]
        numbers = of_log[rows]  # each log has times of its own
        steps = numbers * _TIMES + np.where(times[rows] == NONE, worst, times[rows])
        seen = step.accumulate(steps) - numbers * _TIMES
        bound = np.empty(len(rows), np.int64)
        bound[rows] = np.where(seen == worst, NONE, seen)
        found.append(bound[:count])
    return found[0], found[1]


_TIMES: Final = 1 << 42  # more than any time in ms that is believed


def time_axis(begins: NDArray[np.int64], ends: NDArray[np.int64], brokers: NDArray[np.int64]) -> Axis:
    """Return the axis of what was under way: the times of `brokers`, and what begins not far from them.

    What a wrong clock puts elsewhere is drawn at the edge. Without a broker's time it is what most begins are near to.
    """
    if not len(begins):
        return Axis(0, 1)
    if len(brokers):
        low, high = int(brokers.min()), int(brokers.max())
    else:
        low, high = (int(value) for value in np.quantile(begins, (0.05, 0.95)))
    room = max(high - low, _ROOM_MS)
    every = np.concatenate([begins, ends[ends != NONE]])
    near = every[(every >= low - room) & (every <= high + room)]
    return Axis(min(low, int(near.min(initial=low))), max(high, int(near.max(initial=high))) + 1)


_ROOM_MS: Final = 60_000


def lanes_by_time(source: AuditSource, width: int, wanted: Test, lane_of: str) -> list[Lane]:
    """Return a lane for each value of the column `lane_of` of the logs that are `wanted`, all with the same axis.

    Those with something wrong come first. The times are the brokers'; a transaction without any is in no lane. One that
    is open reaches to the axis' end. What is outside of the axis, by a wrong clock, is in the first or last cell.
    """
    logs = {row["log"]: row for row in source.rows("partitions") if wanted(row)}
    pieces = [piece for columns in source.transactions() for piece in _timed(columns, logs, lane_of)]
    if not pieces:
        return []
    every = Columns.concat([piece.transactions for piece in pieces], ("first", "last", "marker"))
    markers = every["marker"]
    axis = time_axis(every["first"], every["last"], markers[all_plausible(markers)])
    lanes: dict[Any, Lane] = {}
    for piece in pieces:
        lane = lanes.setdefault(piece.name, Lane(str(piece.name), axis, _empty(width), piece.row))
        some = piece.transactions
        lane.add(some["rank"], some["first"], np.where(some["last"] == NONE, axis.last, some["last"]))
    return sorted(
        lanes.values(),
        key=lambda lane: (-lane.worst, lane.name.startswith("__"), by_number(lane.name)),
    )


@dataclass(frozen=True, slots=True)
class _Piece:
    """Transactions of one lane: `rank` of the state, `first` and `last` time, NONE while open, time of the `marker`."""

    name: Any
    row: Mapping[str, Any]
    transactions: Columns


def _timed(columns: Columns, logs: Mapping[str, Any], lane_of: str) -> Iterator[_Piece]:
    of_log, names = columns.texts("log").numbered()
    begins, ends = on_brokers_clock(of_log, columns)
    spans = Columns({"rank": _ranks(columns), "first": begins, "last": ends, "marker": columns["marker_timestamp_ms"]})
    kind = columns.column(lane_of)
    of_lane, values = kind.numbered() if isinstance(kind, TextColumn) else (columns[lane_of], None)
    has_lane = of_lane != (NONE if values is None else -1)
    drawn = np.flatnonzero((columns["first_offset"] != NONE) & (begins != NONE) & has_lane)
    for some in groups(of_log[drawn], of_lane[drawn]):
        rows = drawn[some]
        row, value = logs.get(names[of_log[rows[0]]]), of_lane[rows[0]]
        if row is not None and lane_of == "log":
            yield _Piece(f"{row['topic']}-{row['partition']}", row, spans.take(rows))
        elif row is not None:
            yield _Piece(int(value) if values is None else values[value], {}, spans.take(rows))


def _empty(width: int) -> NDArray[np.uint8]:
    return np.zeros(width, np.uint8)
