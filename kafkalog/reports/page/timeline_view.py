"""The timeline of a page: a picture of the worst lanes, a part of it for each incident, and all for the script.

The script reads transactions as columns of varints, deflated: every one that is not committed, of the committed ones a
sample where they are many, which part is said in the page. Cost: some bytes a transaction, no Python object for any.
"""

from __future__ import annotations

import base64
import json
import math
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest
from itertools import count
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from kafkalog.columns.table import NONE, Columns
from kafkalog.escape import escape
from kafkalog.kafka.transaction_state import TransactionState
from kafkalog.quantities import FIRST_MS, all_plausible, plausible
from kafkalog.reports.lanes import (
    Axis,
    Lane,
    cut_lanes,
    lanes_by_offset,
    on_brokers_clock,
    partition_order,
    time_axis,
)
from kafkalog.reports.page.drawing import UNCLEAN, Drawn, by_log, cut_picture, hatches, legend, picture
from kafkalog.reports.page.elements import Content, Element, data, element
from kafkalog.reports.source import AuditSource, leader_changes, transaction_rows
from kafkalog.tables.audit_tables import STATES
from kafkalog.zone import Zone

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["TimelineView", "pack", "varints"]

MOST_COMMITTED: Final = 250_000
_NUMBERS: Final = (
    "first_offset", "last_offset", "marker_offset", "producer_id", "first_timestamp_ms", "last_timestamp_ms",
    "marker_timestamp_ms", "records",
)  # fmt: skip
_PIECE: Final = ("lane", "state", "id", *_NUMBERS)
_COMMITTED: Final = STATES.index("committed")
_DECIDES: Final = (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)


@dataclass(frozen=True, slots=True)
class PackedTimeline:
    """What the script gets: `data` is base64 of deflated columns, one after the other.

    First come those of the transactions, `rows` each: `drawn` of `committed` committed ones are in them. Then those of
    the coordinator's decisions, `decisions` each. A committed one stands for `every` of them. `ids` are the
    transactional ids that columns number, from 1 on. `axis` is from when to when they were under way, by the brokers.
    """

    data: str
    rows: int
    ids: list[str]
    committed: int
    drawn: int
    decisions: int
    axis: Axis
    every: int


def pack(source: AuditSource, lanes: Mapping[str, int], most: int = MOST_COMMITTED) -> PackedTimeline:
    """Pack the transactions of the logs in `lanes`, which numbers them."""
    every = _every(source, most)
    pieces: list[Columns] = []
    ids: dict[str, int] = {}
    committed = drawn = 0
    for columns in source.transactions():
        piece = _piece(columns, lanes, ids)
        its = piece["state"] == _COMMITTED
        number = committed + np.cumsum(its)
        chosen = (piece["lane"] >= 0) & (~its | (number % every == 0))
        committed += int(its.sum())
        drawn += int((its & chosen).sum())
        pieces.append(piece.take(chosen))
    joined = Columns.concat(pieces, _PIECE)
    order = np.lexsort((joined["first_offset"], joined["lane"]))
    decisions = _decisions(source, ids, most)
    joined = joined.take(order)
    begins, ends = on_brokers_clock(joined["lane"], joined)
    marked = joined["marker_timestamp_ms"]
    brokers = marked[all_plausible(marked)]
    some = (begins != NONE) & (joined["first_offset"] != NONE)
    axis = time_axis(begins[some], ends[some], brokers)
    columns_of_both = [*_differences(joined, begins, ends), *decisions]
    data = zlib.compress(b"".join(map(varints, columns_of_both)), 9)
    return PackedTimeline(
        base64.b64encode(data).decode(), len(order), list(ids), committed, drawn, len(decisions[0]), axis, every,
    )  # fmt: skip


def _decisions(source: AuditSource, ids: dict[str, int], most: int) -> list[NDArray[np.int64]]:
    """Return the coordinator's decisions as columns: times, transactional ids, 1 for an abort. At most `most`."""
    wanted = ("last_update_timestamp_ms", "transactional_id", "state")
    found = Columns.concat([steps.take(np.isin(steps["state"], _DECIDES), *wanted) for steps in source.steps()], wanted)
    found = found.take(all_plausible(found["last_update_timestamp_ms"]))
    order = np.argsort(found["last_update_timestamp_ms"], kind="stable")[:: max(1, -(-len(found) // most))]
    found = found.take(order)
    numbers = [ids.setdefault(name, len(ids) + 1) for name in found.texts("transactional_id").tolist()]
    aborts = found["state"] == TransactionState.PREPARE_ABORT
    return [
        np.diff(found["last_update_timestamp_ms"], prepend=0), np.array(numbers, np.int64), aborts.astype(np.int64),
    ]  # fmt: skip


def _every(source: AuditSource, most: int) -> int:
    """Return 1 where all committed transactions are packed, n where each nth is."""
    committed: int = sum(row["committed"] for row in source.rows("partitions"))
    return max(1, -(-committed // most))


def _piece(columns: Columns, lanes: Mapping[str, int], ids: dict[str, int]) -> Columns:
    """Return columns of transactions with the numbers of their lanes, -1 for none, states and ids, 0 for none."""
    numbers = {
        "lane": _numbers(columns, "log", lambda log: lanes.get(log, -1), -1),
        "state": _numbers(columns, "state", STATES.index, -1),
        "id": _numbers(columns, "transactional_id", lambda name: ids.setdefault(name, len(ids) + 1), 0),
    }
    return columns.columns(*_NUMBERS).with_columns(numbers).columns(*_PIECE)


def _numbers(columns: Columns, name: str, number_of: Callable[[str], int], missing: int) -> NDArray[np.int64]:
    """Return a number for each text of a column."""
    numbers, texts = columns.texts(name).numbered()
    return np.array([*map(number_of, texts.tolist()), missing], np.int64)[numbers]


def _differences(columns: Columns, begins: NDArray[np.int64], ends: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return the columns in the order in which the script reads them, small where neighbours are alike.

    0 stands for no value where one may be missing, so what is there is one more.
    """
    first = _filled(columns["first_offset"], columns["marker_offset"])
    last = _filled(columns["last_offset"], first)
    begin = np.where(begins == NONE, FIRST_MS, begins)
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
        np.where(ends == NONE, 0, ends - begin + 1),
        *(_own(columns[name], begin) for name in ("first_timestamp_ms", "last_timestamp_ms")),
    ]


def _own(times: NDArray[np.int64], begin: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how far a producer's own times are from the brokers', twice that and one more; 0 for none."""
    return np.where(all_plausible(times), (times - begin) * 2 + 1, 0)


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


Row = Mapping[str, Any]

_Chosen = TypeVar("_Chosen")

_DRAWN_LANES: Final = 200  # in the picture without a script

_CELLS: Final = 240

_ONE_BY_ONE: Final = 300  # transactions that are drawn one by one

_MOST_DRAWN: Final = 20_000  # gaps, and changes of leaders

_PICTURES: Final = 40  # incidents with a picture of their own

_CUTS: Final = 4  # lanes in it

_SAFE: Final = 2**53  # of a number in a script

_LANES: Final = {
    "log": "partitions", "topic": "topics", "id": "transactional ids", "producer": "producers", "broker": "brokers",
}  # fmt: skip

_AXES: Final = {"offset": "offsets, each log its own", "common": "offsets, one scale", "time": "time"}


@dataclass(frozen=True, slots=True)
class TimelineView:
    """The timeline's section, the pictures of incidents by id, and the data that the script draws.

    `span` is from when to when transactions were under way, None where no time of theirs is known.
    """

    section: Element
    span: Axis | None
    pictures: Mapping[str, Element | None]
    data: Sequence[Element]

    @staticmethod
    def of(source: AuditSource, incidents: Sequence[Row], zone: Zone) -> TimelineView:
        """Draw an audit's timeline; of the `incidents` the first ones get a picture."""
        order = partition_order(source.rows("partitions"))
        numbers = {row["log"]: number for number, row in enumerate(order)}
        packed = pack(source, numbers)
        gaps, more_gaps = _largest_gaps(source)
        changes, more_changes = _worst_changes(source)
        shown = [row for row in order if not row["topic"].startswith("__")] or order
        few = {row["log"] for row in shown[:_DRAWN_LANES]}
        lanes = lanes_by_offset(source, _CELLS, lambda row: row["log"] in few)
        one_by_one = sum(lane.transactions for lane in lanes) <= _ONE_BY_ONE
        transactions = transaction_rows(source, lambda columns: columns.texts("log").among(few)) if one_by_one else ()
        drawn = Drawn(by_log(transactions), by_log(gaps), by_log(changes), zone)
        words = list(_words(packed, (len(gaps), more_gaps), (len(changes), more_changes), (len(lanes), len(order))))
        section = element(
            "section", hatches(), element("h2", "Timeline"), element("p", words, class_="quiet") if words else None,
            _controls(), element("figure", picture(lanes, drawn), id="picture"), legend(lanes, drawn), id="timeline",
        )  # fmt: skip
        about = _about(order, numbers, packed, incidents, gaps, changes, zone)
        return TimelineView(
            section, packed.axis if packed.axis.last > 1 else None, dict(_pictures(source, incidents, order, drawn)),
            [
                data(json.dumps(about), type="application/json", id="about"),
                data(packed.data, type="text/plain", id="packed"),
            ],
        )  # fmt: skip


def _words(
    packed: PackedTimeline, gaps: tuple[int, int], changes: tuple[int, int], lanes: tuple[int, int]
) -> Iterator[Content]:
    """Say what is not drawn, and how many of how many are."""
    if packed.drawn < packed.committed:
        yield (
            f"{packed.drawn:,} of {packed.committed:,} committed transactions are drawn one by one: a sample."
            " All others are drawn."
        )
    if gaps[1]:
        yield f" Of {sum(gaps):,} gaps the {gaps[0]:,} worst and largest are drawn."
    if changes[1]:
        yield (
            f" Of {sum(changes):,} leader changes {changes[0]:,} are drawn: unclean elections first, then the newest."
        )
    if lanes[0] < lanes[1]:
        said = f" {lanes[0]:,} of {lanes[1]:,} logs are drawn: all of them where scripts are allowed."
        yield element("span", said, class_="unscripted")


def _pictures(
    source: AuditSource, incidents: Sequence[Row], order: Sequence[Row], drawn: Drawn
) -> Iterator[tuple[str, Element | None]]:
    """Yield each incident that is about partitions, the first ones with the part of their lanes that they are about."""
    of_partition: dict[str, Row] = {}
    for row in order:
        of_partition.setdefault(f"{row['topic']}-{row['partition']}", row)
    about = [row for row in incidents if any(name in of_partition for name in row["partitions"] or ())]
    cuts = [[_cut(row, of_partition[name]) for name in row["partitions"] if name in of_partition][:_CUTS]
            for row in about[:_PICTURES]]  # fmt: skip
    lanes = iter(cut_lanes(source, _CELLS, [cut for some in cuts for cut in some]))
    of_incident = [[next(lanes) for _ in some] for some in cuts]
    shown = [lane for some in of_incident for lane in some]
    transactions = by_log(_transactions_of(source, shown))
    for row, some in zip(about, of_incident, strict=False):
        one_by_one = all(lane.transactions <= _ONE_BY_ONE for lane in some)
        of_lanes = Drawn(transactions if one_by_one else {}, drawn.gaps, drawn.changes, drawn.zone)
        yield row["id"], cut_picture(some, of_lanes, _framed(row)) if some else None
    yield from ((row["id"], None) for row in about[_PICTURES:])


def _cut(incident: Row, log: Row) -> tuple[Row, Axis]:
    """Return the offsets around an incident, all of its log where it is about several partitions."""
    first, last = log["log_start_offset"], log["log_end_offset"]
    framed = _framed(incident)
    if framed is None:
        return log, Axis(first, last)
    end = min(framed[1] + 1, last)
    room = max((end - framed[0]) // 2, 5)
    begin = max(framed[0] - room, first)
    return log, Axis(begin, max(min(end + room, last), begin + 1))


def _framed(incident: Row) -> tuple[int, int] | None:
    first, last = incident["first_offset"], incident["last_offset"]
    if first is None or len(incident["partitions"] or ()) != 1:
        return None
    return first, _SAFE if last is None else last


def _transactions_of(source: AuditSource, lanes: Sequence[Lane]) -> Iterator[dict[str, Any]]:
    """Yield the transactions of lanes that have few enough for each to be drawn."""
    axes: dict[str, list[Axis]] = defaultdict(list)
    for lane in lanes:
        if lane.transactions <= _ONE_BY_ONE:
            axes[lane.row["log"]].append(lane.axis)

    def inside(columns: Columns) -> NDArray[np.bool_]:
        found = np.zeros(len(columns), bool)
        begins = np.where(columns["first_offset"] == NONE, columns["marker_offset"], columns["first_offset"])
        ends = np.maximum(columns["last_offset"], columns["marker_offset"])
        numbers, logs = columns.texts("log").numbered()
        for number, log in enumerate(logs.tolist()):
            of_log = numbers == number
            for axis in axes.get(log, ()):
                found |= of_log & (ends >= axis.first) & (begins < axis.last)
        return found

    return transaction_rows(source, inside) if axes else iter(())


def _largest_gaps(source: AuditSource) -> tuple[list[dict[str, Any]], int]:
    """Return the gaps that the script draws, those that are not legal first, and how many there are besides.

    A compacted log has one for every few records: most of them are narrower than a pixel at any zoom.
    """
    return _chosen(source.rows("gaps"), lambda row: (row["kind"] != "legal", row["count"]))


def _worst_changes(source: AuditSource) -> tuple[list[dict[str, Any]], int]:
    """Return the changes of leaders that are drawn, in the order of their table, and how many there are besides.

    Of those whose time nothing shows, the first of each log: a log with a million of them hides no other log's.
    """
    places, of_log = count(), defaultdict[str, int](int)

    def numbered() -> Iterator[tuple[int, int, dict[str, Any]]]:
        for row in leader_changes(source):
            of_log[row["log"]] += 1
            yield next(places), of_log[row["log"]], row

    def worst(change: tuple[int, int, dict[str, Any]]) -> tuple[bool, float, int]:
        _, number, row = change
        since = -math.inf if row["since_ms"] is None else row["since_ms"]
        return row["change"] == UNCLEAN, since, -number

    chosen, more = _chosen(numbered(), worst)
    return [row for _, _, row in sorted(chosen, key=itemgetter(0))], more


def _chosen(rows: Iterable[_Chosen], worst: Callable[[_Chosen], tuple[Any, ...]]) -> tuple[list[_Chosen], int]:
    """Return the rows that are drawn, the worst first, and how many there are besides."""
    counts = count()
    chosen = nlargest(_MOST_DRAWN, (row for row, _ in zip(rows, counts, strict=False)), key=worst)
    return chosen, next(counts) - len(chosen)


def _controls() -> Element:
    def choice(label: str, name: str, values: Mapping[str, str]) -> Element:
        options = [element("option", text, value=value) for value, text in values.items()]
        return element("label", f"{label} ", element("select", options, id=name))

    def check(label: str, name: str, **attributes: str) -> Element:
        return element("label", element("input", type="checkbox", id=name, **attributes), f" {label}")

    return element(
        "form",
        choice("Lanes", "lanes", _LANES),
        choice("Axis", "axis", _AXES),
        choice("State", "state", {"": "all", **{state: state for state in STATES}}),
        element("label", "Search ", element("input", type="search", id="search")),
        check("Only problems", "problems"),
        check("Fold healthy lanes", "fold", checked=""),
        element("output", id="status", aria_live="polite"),
        class_="scripted",
    )  # fmt: skip


def _about(
    order: Sequence[Row], numbers: Mapping[str, int], packed: PackedTimeline, incidents: Sequence[Row],
    gaps: Sequence[Row], changes: Sequence[Row], zone: Zone,
) -> dict[str, Any]:  # fmt: skip
    """Return what the script needs besides the transactions."""
    columns = ("topic", "partition", "node_id", "log_start_offset", "log_end_offset", "last_stable_offset")
    by_lane: dict[int, list[list[Any]]] = defaultdict(list)
    for row in (row for row in gaps if row["log"] in numbers):  # somebody else may have written this audit
        by_lane[numbers[row["log"]]].append(
            [_safe(row["first_offset"]), _safe(row["last_offset"]), row["kind"] == "legal"]
        )
    leaders: dict[int, list[list[Any]]] = defaultdict(list)
    for row in (row for row in changes if row["log"] in numbers):
        cells = [_safe(row[name]) for name in ("since_ms", "first_offset", "leader_epoch", "leader")]
        leaders[numbers[row["log"]]].append([*cells, row["change"]])
    times = [row["since_ms"] for row in changes if row["since_ms"] is not None and plausible(row["since_ms"])]
    axis = [packed.axis.first, packed.axis.last]
    if axis[1] <= 1:  # no transaction has a time
        axis = [min(times, default=0), max(times, default=0) + 1]
    return {
        "leaders": leaders,
        "lanes": [[_safe(row[name]) for name in columns] for row in order],
        "ids": [escape(name) for name in packed.ids],
        "rows": packed.rows,
        "every": packed.every,
        "decisions": packed.decisions,
        "states": STATES,
        "gaps": by_lane,
        "axis": axis,
        "zone": zone.offsets(*axis),
        "incidents": {
            row["id"]: {
                "partitions": [escape(name) for name in row["partitions"] or ()],
                "first": _safe(row["first_offset"]),
                "last": _safe(row["last_offset"]),
                "framed": row["severity"] != "note",
            }
            for row in incidents
        },
    }


def _safe(value: Any) -> Any:
    """Return a cell as a script can hold it: a number that a double has, text that is printable."""
    if isinstance(value, str):
        return escape(value)
    return min(max(value, -_SAFE), _SAFE) if isinstance(value, int) else value
