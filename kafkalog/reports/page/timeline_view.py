"""The timeline of a page: a picture of the worst lanes, a part of it for each incident, and all for the script."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest
from itertools import count
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from kafkalog.columns.named import NONE
from kafkalog.escape import escape
from kafkalog.quantities import plausible
from kafkalog.reports.lanes import Axis, Lane, cut_lanes, lanes_by_offset, partition_order
from kafkalog.reports.page.drawing import UNCLEAN, Drawn, by_log, cut_picture, hatches, legend, picture
from kafkalog.reports.page.elements import Content, Element, data, element
from kafkalog.reports.page.packed import PackedTimeline, pack
from kafkalog.reports.source import AuditSource, leader_changes, transaction_rows
from kafkalog.tables.audit_tables import STATES
from kafkalog.zone import Zone

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["TimelineView"]

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
        one_by_one = sum(sum(lane.counts.values()) for lane in lanes) <= _ONE_BY_ONE
        transactions = transaction_rows(source, lambda columns: _among(columns, few)) if one_by_one else ()
        drawn = Drawn(by_log(transactions), by_log(gaps), by_log(changes), zone)
        words = list(_words(packed, (len(gaps), more_gaps), (len(changes), more_changes), (len(lanes), len(order))))
        section = element(
            "section", hatches(), element("h2", "Timeline"), element("p", words, class_="quiet") if words else None,
            _controls(), element("figure", picture(lanes, drawn), id="picture"), legend(lanes, drawn), id="timeline",
        )  # fmt: skip
        about = _about(order, packed, incidents, gaps, changes, zone)
        return TimelineView(
            section, packed.axis if packed.axis.last > 1 else None, dict(_pictures(source, incidents, order, drawn)),
            [
                data(json.dumps(about), type="application/json", id="about"),
                data(packed.data, type="text/plain", id="packed"),
            ],
        )  # fmt: skip


def _among(columns: Mapping[str, NDArray[Any]], logs: set[str]) -> NDArray[np.bool_]:
    return np.fromiter((log in logs for log in columns["log"].tolist()), bool, len(columns["log"]))


def _words(
    packed: PackedTimeline, gaps: tuple[int, int], changes: tuple[int, int], lanes: tuple[int, int]
) -> Iterator[Content]:
    """Say what is not drawn, and how many of how many are."""
    if packed.drawn < packed.committed:
        yield (
            f"{packed.drawn} of {packed.committed} committed transactions are drawn one by one: a sample."
            " All others are drawn."
        )
    if gaps[1]:
        yield f" Of {sum(gaps)} gaps the {gaps[0]} worst and largest are drawn."
    if changes[1]:
        yield (f" Of {sum(changes)} leader changes {changes[0]} are drawn: unclean elections first, then the newest.")
    if lanes[0] < lanes[1]:
        said = f" {lanes[0]} of {lanes[1]} logs are drawn: all of them where scripts are allowed."
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
        one_by_one = all(sum(lane.counts.values()) <= _ONE_BY_ONE for lane in some)
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
        if sum(lane.counts.values()) <= _ONE_BY_ONE:
            axes[lane.row["log"]].append(lane.axis)

    def inside(columns: Mapping[str, NDArray[Any]]) -> NDArray[np.bool_]:
        found = np.zeros(len(columns["state"]), bool)
        begins = np.where(columns["first_offset"] == NONE, columns["marker_offset"], columns["first_offset"])
        ends = np.maximum(columns["last_offset"], columns["marker_offset"])
        logs = columns["log"]
        for log in axes.keys() & set(logs.tolist()):
            of_log = logs == log
            for axis in axes[log]:
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
    order: Sequence[Row], packed: PackedTimeline, incidents: Sequence[Row], gaps: Sequence[Row],
    changes: Sequence[Row], zone: Zone,
) -> dict[str, Any]:  # fmt: skip
    """Return what the script needs besides the transactions."""
    numbers = {row["log"]: number for number, row in enumerate(order)}
    columns = ("topic", "partition", "node_id", "log_start_offset", "log_end_offset", "last_stable_offset")
    by_lane: dict[int, list[list[Any]]] = defaultdict(list)
    for row in gaps:
        by_lane[numbers[row["log"]]].append(
            [_safe(row["first_offset"]), _safe(row["last_offset"]), row["kind"] == "legal"]
        )
    leaders: dict[int, list[list[Any]]] = defaultdict(list)
    for row in changes:
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
