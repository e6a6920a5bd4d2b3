"""Transactions as lanes: a line for each log, transactional id or producer, cut into cells of offsets or of time.

A cell has the worst state of the transactions that reach into it, so one that is not committed is seen however narrow
the drawing is. Cost: one pass over the transactions, and memory by lanes and cells.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kafkalog.columns.named import NONE
from kafkalog.quantities import by_number
from kafkalog.reports.source import AuditSource

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "EMPTY",
    "FIRST_MS",
    "GAP",
    "LAST_MS",
    "LEGAL_GAP",
    "STATE_RANKS",
    "Axis",
    "Lane",
    "is_time",
    "lanes_by_offset",
    "lanes_by_time",
    "span_of",
]


# When a transaction was under way, from its own times: for drawings, which need a begin and an end.


FIRST_MS: Final = 1_262_304_000_000  # 2010-01-01; Kafka's first release is from 2011

LAST_MS: Final = 2_208_988_800_000  # 2040-01-01


def is_time(timestamp_ms: int | None) -> bool:
    """Say whether a time can be believed: some producers write seconds, microseconds, or nothing."""
    return timestamp_ms is not None and FIRST_MS <= timestamp_ms < LAST_MS


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

_RANKS: Final = 10

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
    """A lane: its name, its axis, what each of its cells shows, and how many transactions each state has.

    `stable` is the cell where the last stable offset is, None where nothing waits or the axis is time.
    """

    name: str
    axis: Axis
    cells: NDArray[np.uint8]
    row: Mapping[str, Any] = field(default_factory=dict)
    stable: int | None = None
    counts: dict[str, int] = field(default_factory=dict)

    def draw(self, rank: int, first: NDArray[np.int64], last: NDArray[np.int64]) -> None:
        """Draw ranges, both ends included, over what is less bad."""
        width = len(self.cells)
        edges = np.zeros(width + 1, np.int64)
        np.add.at(edges, self.axis.cells(first, width), 1)
        np.add.at(edges, self.axis.cells(last, width) + 1, -1)
        covered = np.cumsum(edges[:-1]) > 0
        self.cells[covered & (self.cells < rank)] = rank


def lanes_by_offset(source: AuditSource, width: int, wanted: Test) -> list[Lane]:
    """Return a lane for each log that is `wanted`, in the order of the table ``partitions``."""
    lanes: dict[str, Lane] = {}
    for row in source.rows("partitions"):
        if wanted(row):
            axis = Axis(row["log_start_offset"], row["log_end_offset"])
            lane = lanes[row["log"]] = Lane(f"{row['topic']}-{row['partition']}", axis, _empty(width), row)
            if row["last_stable_offset"] < row["log_end_offset"]:
                lane.stable = int(axis.cells(np.array([row["last_stable_offset"]]), width)[0])
    gaps: dict[tuple[str, int], array[int]] = {}
    for row in source.rows("gaps"):
        if row["log"] in lanes:
            key = row["log"], LEGAL_GAP if row["kind"] == "legal" else GAP
            gaps.setdefault(key, array("q")).extend((row["first_offset"], row["last_offset"]))
    for (log, rank), ends in gaps.items():
        both = np.frombuffer(ends, np.int64).reshape(-1, 2)
        lanes[log].draw(rank, both[:, 0], both[:, 1])
    for columns in source.transactions():
        has_data = columns["first_offset"] != NONE
        for name, rows in _groups(columns["log"], has_data):
            if name in lanes:
                _draw_states(lanes[name], columns["state"][rows], columns["first_offset"][rows],
                             columns["last_offset"][rows])  # fmt: skip
    return list(lanes.values())


def lanes_by_time(source: AuditSource, width: int, wanted: Test, lane_of: str) -> list[Lane]:
    """Return a lane for each value of the column `lane_of` of the logs that are `wanted`, all with the same axis.

    Transactions without a time that can be believed are in no lane. One that is open reaches to the axis' end.
    """
    logs = {row["log"]: row for row in source.rows("partitions") if wanted(row)}
    pieces = [piece for columns in source.transactions() for piece in _timed(columns, logs, lane_of)]
    if not pieces:
        return []
    axis = Axis(
        min(int(piece.first.min()) for piece in pieces),
        max(max(int(piece.first.max()), int(piece.last[piece.last != NONE].max(initial=0))) for piece in pieces) + 1,
    )
    lanes: dict[Any, Lane] = {}
    for piece in pieces:
        lane = lanes.setdefault(piece.name, Lane(str(piece.name), axis, _empty(width)))
        last = np.where(piece.last == NONE, axis.last, piece.last)
        _draw_states(lane, piece.states, piece.first, last)
    return [
        lanes[name]
        for name in sorted(
            lanes, key=lambda name: (str(type(name)), by_number(name) if isinstance(name, str) else name)
        )
    ]


@dataclass(frozen=True, slots=True)
class _Piece:
    name: Any
    states: NDArray[Any]
    first: NDArray[np.int64]
    last: NDArray[np.int64]  # NONE: open


def _timed(columns: Mapping[str, NDArray[Any]], logs: Mapping[str, Any], lane_of: str) -> Iterator[_Piece]:
    first, last, marker = (columns[name] for name in ("first_timestamp_ms", "last_timestamp_ms", "marker_timestamp_ms"))
    known_first, known_marker = _believed(first), _believed(marker)
    begins = np.where(known_first & known_marker, np.minimum(first, marker), np.where(known_first, first, marker))
    ends = np.where(known_marker, marker, np.where(columns["marker_offset"] == NONE, NONE, np.maximum(last, begins)))
    some = (columns["first_offset"] != NONE) & (known_first | known_marker)
    for log, in_log in _groups(columns["log"], some):
        if log not in logs:
            continue
        if lane_of == "log":
            name = f"{logs[log]['topic']}-{logs[log]['partition']}"
            yield _Piece(name, columns["state"][in_log], begins[in_log], ends[in_log])
            continue
        for name, rows in _groups(columns[lane_of], in_log):
            if name is not None and name != NONE:
                yield _Piece(name, columns["state"][rows], begins[rows], ends[rows])


def _believed(times: NDArray[np.int64]) -> NDArray[np.bool_]:
    return (times >= FIRST_MS) & (times < LAST_MS)


def _groups(keys: NDArray[Any], chosen: NDArray[Any]) -> Iterator[tuple[Any, NDArray[np.int64]]]:
    """Yield each key of the `chosen` rows, a mask or numbers, with the numbers of its rows."""
    rows = np.flatnonzero(chosen) if chosen.dtype == bool else chosen
    values = keys[rows].tolist()
    numbers: dict[Any, int] = {}
    codes = np.fromiter((numbers.setdefault(value, len(numbers)) for value in values), np.int64, len(values))
    order = np.argsort(codes, kind="stable")
    bounds = np.searchsorted(codes[order], np.arange(len(numbers) + 1))
    for value, number in numbers.items():
        yield value, rows[order[bounds[number] : bounds[number + 1]]]


def _draw_states(lane: Lane, states: NDArray[Any], first: NDArray[np.int64], last: NDArray[np.int64]) -> None:
    for state, rows in _groups(states, np.ones(len(states), bool)):
        lane.counts[state] = lane.counts.get(state, 0) + len(rows)
        lane.draw(STATE_RANKS[state], first[rows], last[rows])


def _empty(width: int) -> NDArray[np.uint8]:
    return np.zeros(width, np.uint8)
