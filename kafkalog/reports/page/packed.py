"""Transactions as the page's script reads them: columns of varints, deflated.

Every transaction that is not committed is there. Of the committed ones, a sample where they are many: which part is
said in the page. Cost: some bytes a transaction, no Python object for any.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kafkalog.columns.named import NONE
from kafkalog.reports.lanes import FIRST_MS, LAST_MS, Axis, TimeSpans, on_brokers_clock, time_axis
from kafkalog.reports.source import AuditSource
from kafkalog.tables.audit_tables import STATES

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MOST_COMMITTED", "PackedTimeline", "pack", "varints"]

MOST_COMMITTED: Final = 250_000
_NUMBERS: Final = (
    "first_offset", "last_offset", "marker_offset", "producer_id", "first_timestamp_ms", "last_timestamp_ms",
    "marker_timestamp_ms", "records",
)  # fmt: skip
_COMMITTED: Final = STATES.index("committed")


@dataclass(frozen=True, slots=True)
class PackedTimeline:
    """What the script gets: `data` is base64 of deflated columns, one after the other.

    First come those of the transactions, `rows` each: `drawn` of `committed` committed ones are in them. Then those of
    the coordinator's decisions, `decisions` each. `ids` are the transactional ids that columns number, from 1 on.
    `axis` is from when to when they were under way, on the brokers' clock.
    """

    data: str
    rows: int
    ids: list[str]
    committed: int
    drawn: int
    decisions: int
    axis: Axis


def pack(source: AuditSource, lanes: Mapping[str, int], most: int = MOST_COMMITTED) -> PackedTimeline:
    """Pack the transactions of the logs in `lanes`, which numbers them."""
    every = _every(source, most)
    pieces: list[dict[str, NDArray[np.int64]]] = []
    ids: dict[str, int] = {}
    committed = drawn = 0
    for columns in source.transactions():
        piece = _piece(columns, lanes, ids)
        its = piece["state"] == _COMMITTED
        number = committed + np.cumsum(its)
        chosen = (piece["lane"] >= 0) & (~its | (number % every == 0))
        committed += int(its.sum())
        drawn += int((its & chosen).sum())
        pieces.append({name: values[chosen] for name, values in piece.items()})
    names = ("lane", "state", "id", *_NUMBERS)
    joined = {name: np.concatenate([piece[name] for piece in pieces] or [np.zeros(0, np.int64)]) for name in names}
    order = np.lexsort((joined["first_offset"], joined["lane"]))
    decisions = _decisions(source, ids, most)
    joined = {name: joined[name][order] for name in names}
    spans = on_brokers_clock(joined["lane"], joined)
    marked = joined["marker_timestamp_ms"]
    brokers = marked[(marked >= FIRST_MS) & (marked < LAST_MS)]
    some = spans.known & (joined["first_offset"] != NONE)
    axis = time_axis(spans.begins[some], spans.ends[some], brokers)
    columns_of_both = [*_differences(joined, spans), *decisions]
    data = zlib.compress(b"".join(map(varints, columns_of_both)), 9)
    return PackedTimeline(
        base64.b64encode(data).decode(), len(order), list(ids), committed, drawn, len(decisions[0]),
        axis,
    )  # fmt: skip


def _decisions(source: AuditSource, ids: dict[str, int], most: int) -> list[NDArray[np.int64]]:
    """Return the coordinator's decisions as columns: times, transactional ids, 1 for an abort. At most `most`."""
    found = list(source.decisions())
    if not found:
        return [np.zeros(0, np.int64)] * 3
    times, names, aborts = (np.concatenate(parts) for parts in zip(*found, strict=True))
    rows = np.flatnonzero((times >= FIRST_MS) & (times < LAST_MS))
    rows = rows[np.argsort(times[rows], kind="stable")][:: max(1, -(-len(rows) // most))]
    numbers = [ids.setdefault(name, len(ids) + 1) for name in names[rows].tolist()]
    return [np.diff(times[rows], prepend=0), np.array(numbers, np.int64), aborts[rows].astype(np.int64)]


def _every(source: AuditSource, most: int) -> int:
    """Return 1 where all committed transactions are packed, n where each nth is."""
    committed: int = sum(row["committed"] for row in source.rows("partitions"))
    return max(1, -(-committed // most))


def _piece(
    columns: Mapping[str, NDArray[Any]], lanes: Mapping[str, int], ids: dict[str, int]
) -> dict[str, NDArray[np.int64]]:
    piece = {name: columns[name] for name in _NUMBERS}
    states = {state: number for number, state in enumerate(STATES)}
    count = len(columns["state"])
    piece["state"] = np.fromiter(map(states.__getitem__, columns["state"].tolist()), np.int64, count)
    piece["lane"] = np.fromiter((lanes.get(log, -1) for log in columns["log"].tolist()), np.int64, count)
    named = columns["transactional_id"].tolist()
    piece["id"] = np.fromiter(
        (0 if name is None else ids.setdefault(name, len(ids) + 1) for name in named), np.int64, count
    )
    return piece


def _differences(columns: dict[str, NDArray[np.int64]], spans: TimeSpans) -> list[NDArray[np.int64]]:
    """Return the columns in the order in which the script reads them, small where neighbours are alike.

    0 stands for no value where one may be missing, so what is there is one more.
    """
    first = _filled(columns["first_offset"], columns["marker_offset"])
    last = _filled(columns["last_offset"], first)
    begin = np.where(spans.known, spans.begins, FIRST_MS)
    return [
        np.diff(columns["lane"], prepend=0),
        columns["state"],
        columns["id"],
        np.diff(columns["producer_id"], prepend=0),
        np.diff(first, prepend=0),
        last - first,
        np.where(columns["marker_offset"] == NONE, 0, columns["marker_offset"] - last + 1),
        np.where(columns["first_offset"] == NONE, 0, columns["records"]),
        np.diff(begin, prepend=0),
        np.where(spans.ends == NONE, 0, spans.ends - begin + 1),
        *(_own(columns[name], begin) for name in ("first_timestamp_ms", "last_timestamp_ms")),
    ]


def _own(times: NDArray[np.int64], begin: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how far a producer's own times are from the brokers', twice that and one more; 0 for none."""
    known = (times >= FIRST_MS) & (times < LAST_MS)
    return np.where(known, (times - begin) * 2 + 1, 0)


def _filled(values: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.where(values == NONE, others, values)


def varints(values: NDArray[np.int64]) -> bytes:
    """Write int64 as zigzag varints: seven bits a byte, the lowest first, small numbers of either sign short."""
    left = ((values << 1) ^ (values >> 63)).astype(np.uint64)
    sizes = np.ones(len(left), np.int64)
    for more in range(1, 10):
        sizes += left >= np.uint64(1 << 7 * more)
    at = np.cumsum(sizes) - sizes
    out = np.zeros(int(sizes.sum()), np.uint8)
    for number in range(10):
        rows = np.flatnonzero(sizes > number)
        if not len(rows):
            break
        last = sizes[rows] == number + 1
        out[at[rows] + number] = (left[rows] & np.uint64(0x7F)).astype(np.uint8) | np.where(last, 0, 0x80).astype(
            np.uint8
        )
        left[rows] >>= np.uint64(7)
    return out.tobytes()
