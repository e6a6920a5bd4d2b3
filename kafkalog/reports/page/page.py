"""The page of an audit or a verification: its parts in order."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import nlargest, nsmallest
from itertools import count, islice
from operator import itemgetter
from typing import Any, Final, TypeVar

from kafkalog.escape import escape, escape_line
from kafkalog.reports.also import listed
from kafkalog.reports.lanes import Lane, lanes_by_offset
from kafkalog.reports.page.drawing import UNCLEAN, legend, picture
from kafkalog.reports.page.elements import (
    Content,
    Element,
    data,
    element,
    html,
    moment,
    opening,
    resource,
    table,
    text_of,
)
from kafkalog.reports.page.packed import PackedTimeline, pack
from kafkalog.reports.page.treemap import Tile, bytes_table, treemap
from kafkalog.reports.source import AuditSource, leader_changes, transaction_rows
from kafkalog.tables import TABLES
from kafkalog.tables.audit_tables import STATES

__all__ = ["INTERNAL", "incident_sections", "limited_table", "page", "partition_order", "provenance_section"]


# The parts of the page that are text: verdict, incidents, tables, provenance.


SHOWN: Final = 500  # rows of a table

INTERNAL: Final = "__"  # how Kafka's own topics begin

_SEVERITIES: Final = {"error": 0, "warning": 1, "note": 2}

_CONSUMERS: Final = {"read_committed": "With read_committed", "read_uncommitted": "With read_uncommitted"}


def incident_sections(rows: Sequence[Mapping[str, Any]], *, timeline: bool = True) -> Iterator[Element]:
    """Yield a section for each incident, the worst first, each with a link to the `timeline` of a page that has one."""
    for row in sorted(rows, key=lambda row: _SEVERITIES[row["severity"]]):
        yield element(
            "section",
            element("h3", element("span", row["severity"], class_=f"severity {row['severity']}"), " ", row["title"]),
            element("dl", list(_facts(row))),
            _events(row["events"] or ()),
            _consumers(row["consumers"] or {}),
            _steps(row["next_steps"] or ()),
            element("p", element("a", "Show in the timeline", href="#timeline", data_incident=row["id"]))
            if timeline
            else None,
            id=f"incident-{row['id']}", class_="incident",
        )  # fmt: skip


def _facts(row: Mapping[str, Any]) -> Iterator[Element]:
    facts: list[tuple[str, Content]] = [
        ("Kind", row["kind"]),
        ("Certainty", row["certainty"]),
        ("Since", [*_began(row), _clock(row["since_clock"])]),
        ("Until", [moment(row["until_ms"]), _clock(row["until_clock"])] if row["until_ms"] is not None else None),
        ("Partitions", _listed(row["partitions"], row["partitions_total"])),
        ("Transactional ids", _listed(row["transactional_ids"], row["transactional_ids_total"])),
        ("Producer ids", _listed(row["producer_ids"], row["producer_ids_total"])),
        ("Transactions", _number(row["transactions"])),
        ("Offsets", _offsets(row)),
        ("Records", _number(row["records"])),
        ("Lost records", _number(row["lost_records"])),
        ("Kept in", "; ".join(_kept(one) for one in row["kept_in"] or ()) or None),
    ]
    for name, value in facts:
        if value is not None:
            yield element("dt", name)
            yield element("dd", value)


def _began(row: Mapping[str, Any]) -> list[Element | str]:
    since, until = moment(row["since_ms"]), row["since_until_ms"]
    return [since] if until is None else ["between ", since, " and ", moment(until)]


def _clock(clock: str | None) -> str | None:
    return " (the producer's own clock)" if clock == "producer" else None


def _number(value: int | None) -> str | None:
    return None if value is None else str(value)


def _listed(values: Sequence[Any] | None, total: int | None) -> str | None:
    return listed(map(text_of, values), total, most=None) if values else None


def _offsets(row: Mapping[str, Any]) -> str | None:
    if row["first_offset"] is None:
        return None
    return (
        f"{row['first_offset']}-{row['last_offset']}"
        if row["last_offset"] is not None
        else f"from {row['first_offset']}"
    )


def _kept(one: Mapping[str, Any]) -> str:
    return f"{one['log']}: offsets {one['first_offset']}-{one['last_offset']}"


def _events(events: Iterable[Mapping[str, Any]]) -> Element | None:
    items = [
        element("li", moment(one["time_ms"]), " ", one["what"], " ", element("span", _place(one), class_="where"))
        for one in events
    ]
    return element("div", element("h4", "What happened"), element("ol", items)) if items else None


def _place(event: Mapping[str, Any]) -> str | None:
    if event["file"] is None:
        return None
    return event["file"] if event["offset"] is None else f"{event['file']}, offset {event['offset']}"


def _consumers(consumers: Mapping[str, str]) -> Element | None:
    items = [element("li", f"{_CONSUMERS.get(name, name)}: {said}") for name, said in consumers.items()]
    return element("div", element("h4", "What consumers get"), element("ul", items)) if items else None


def _command(line: str) -> Element:
    made = element("code")
    made.text = escape_line(line)  # its backslashes are its own
    return element("pre", made)


def _steps(steps: Iterable[Mapping[str, Any]]) -> Element | None:
    items = [element("li", one["text"], _command(one["command"]) if one["command"] else None) for one in steps]
    return element("div", element("h4", "What to do"), element("ol", items)) if items else None


def limited_table(
    caption: str, columns: Sequence[str], rows: Iterable[Mapping[str, Any]], source: str, **attributes: str
) -> Element:
    """Make a table of the first rows; says how many there are and what prints the others."""
    rest = iter(rows)
    shown = list(islice(rest, SHOWN))
    more = sum(1 for _ in rest)
    said = f"{caption}: {len(shown) + more} row{'s' * (len(shown) + more != 1)}"
    if more:
        said += f", the first {len(shown)} here; all of them: --format ndjson --table {source}"
    heads = [name.removesuffix("_ms").replace("_", " ") for name in columns]
    return table(said, heads, ([_cell(name, row[name]) for name in columns] for row in shown), **attributes)


def _cell(name: str, value: Any) -> Content:
    return moment(value) if name.endswith("_timestamp_ms") or name in ("time_ms", "since_ms") else text_of(value)


def partition_order(rows: Iterable[Mapping[str, Any]], most: int) -> list[Mapping[str, Any]]:
    """Return the `most` rows of ``partitions`` that matter most: what hangs, is open or found; internal topics last."""
    return nsmallest(
        most, rows,
        key=lambda row: (
            -row["hanging"], -row["open"], -row["findings"], -(row["log_end_offset"] - row["last_stable_offset"]),
            row["topic"].startswith(INTERNAL), row["topic"], row["partition"], row["log"],
        ),
    )  # fmt: skip


def provenance_section(source: AuditSource, provenance: Mapping[str, Any]) -> Element:
    """Say what was read, by which version and how."""
    facts = [
        ("kafkalog", provenance.get("kafkalog")),
        ("schema version", provenance.get("schema_version")),
        ("arguments", " ".join(map(str, provenance.get("arguments", ())))),
        ("started", moment(provenance.get("started_ms"))),
        ("ended", moment(provenance.get("ended_ms"))),
        ("everything read", "yes" if source.complete else "no"),
    ]
    listed = [[name, value if isinstance(value, Element) else text_of(value)] for name, value in facts]
    files = provenance.get("files", ())
    rows = ([text_of(file.get("file")), text_of(file.get("size_bytes")), text_of(file.get("sha256"))]
            for file in files[:SHOWN])  # fmt: skip
    more = len(files) - SHOWN
    caption = f"Segments that were read: {len(files)}" + (f", the first {SHOWN} here" if more > 0 else "")
    return element(
        "section", element("h2", "Provenance"), table("How this report was made", ("what", "value"), listed),
        table(caption, ("file", "bytes", "SHA-256"), rows), id="provenance",
    )  # fmt: skip


_Row = TypeVar("_Row")

_DRAWN_LANES: Final = 200  # in the picture without a script

_CELLS: Final = 240

_ONE_BY_ONE: Final = 300  # transactions that are drawn one by one in it

_MOST_DRAWN: Final = 20_000  # gaps, and changes of leaders

_SAFE: Final = 2**53  # of a number in a script

_TRANSACTIONS: Final = (
    "topic", "partition", "producer_id", "transactional_id", "state", "first_offset", "last_offset", "records",
    "first_timestamp_ms", "last_timestamp_ms", "certainty", "cause",
)  # fmt: skip

_PARTITIONS: Final = (
    "topic", "partition", "node_id", "log_start_offset", "last_stable_offset", "log_end_offset", "segments",
    "size_bytes", "records", "committed", "aborted", "open", "hanging", "gaps", "findings", "log",
)  # fmt: skip

_GAPS: Final = ("topic", "partition", "first_offset", "last_offset", "count", "kind", "cause", "file", "position")

_PRODUCERS: Final = (
    "topic", "partition", "producer_id", "transactional_id", "first_epoch", "last_epoch", "transactions", "committed",
    "aborted", "first_offset", "last_offset", "first_timestamp_ms", "last_timestamp_ms",
)  # fmt: skip

_LANES: Final = {"log": "partitions", "topic": "topics", "id": "transactional ids", "producer": "producers"}

_FINDINGS: Final = ("severity", "code", "certainty", "topic", "partition", "file", "position", "offset", "message")

_LEADERS: Final = ("topic", "partition", "leader_epoch", "leader", "since_ms", "change", "first_offset", "log")

_OTHERS: Final[dict[str, tuple[str, ...]]] = {
    "gaps": _GAPS, "producers": _PRODUCERS, "leaders": _LEADERS, "logs": (), "files": (), "replicas": (),
    "findings": _FINDINGS,
}  # fmt: skip


def page(source: AuditSource, provenance: Mapping[str, Any]) -> Iterator[bytes]:
    """Yield the page in pieces, in UTF-8; `provenance` is what ``provenance.json`` has."""
    script = resource("report.js")
    yield opening(f"kafkalog: {source.verdict}", script)
    for number, part in enumerate(_body(source, provenance)):
        if number == 1:
            yield b"<main>\n"
        yield (html(part) + "\n").encode()
    yield f"</main>\n<script>{script}</script>\n</body>\n</html>\n".encode()


def _body(source: AuditSource, provenance: Mapping[str, Any]) -> Iterator[Element]:
    incidents = list(source.rows("incidents"))
    word = source.verdict.partition(":")[0]
    yield element(
        "header", element("h1", element("span", word, class_=f"verdict {word.lower()}"), source.verdict[len(word) :]),
        element("p", source.totals), _contents(),
    )  # fmt: skip
    sections = list(incident_sections(incidents)) or element("p", "None.")
    yield element("section", element("h2", "Incidents"), sections, id="incidents")
    if "transactions" in source.tables:
        yield from _timeline(source, incidents)
    if "partitions" in source.tables:
        yield _bytes(source)
    yield element(
        "section", element("h2", "Tables"),
        element("p", element("label", "Filter rows: ", element("input", type="search", id="rows")), class_="scripted"),
        list(_tables(source)), id="tables",
    )  # fmt: skip
    yield provenance_section(source, provenance)


def _bytes(source: AuditSource) -> Element:
    """Draw the bytes of all logs; ``kafkalog space`` says of the same directories what holds them."""
    tiles = [
        Tile(
            f"node {row['node_id']}" if row["node_id"] is not None else "", row["topic"],
            f"{row['topic']}-{row['partition']}", row["size_bytes"],
        )
        for row in source.rows("partitions")
    ]  # fmt: skip
    return element("section", element("h2", "Bytes"), element("figure", treemap(tiles)), bytes_table(tiles), id="bytes")


def _tables(source: AuditSource) -> Iterator[Element]:
    if "transactions" in source.tables:
        yield limited_table("Transactions that are not decided", _TRANSACTIONS, _undecided(source), "transactions")
    if "partitions" in source.tables:
        rows = partition_order(source.rows("partitions"), 1 << 20)
        yield limited_table("Partitions", _PARTITIONS, rows, "partitions")
    for name, columns in _OTHERS.items():
        if name in source.tables:
            yield limited_table(name.capitalize(), columns or TABLES[name].names, source.rows(name), name)


def _contents() -> Element:
    parts = ("Incidents", "Timeline", "Bytes", "Tables", "Provenance")
    links = [element("li", element("a", part, href=f"#{part.lower()}")) for part in parts]
    return element("nav", element("ul", links), aria_label="Contents")


def _undecided(source: AuditSource) -> Iterator[dict[str, Any]]:
    return (row for row in transaction_rows(source) if row["state"] not in ("committed", "aborted"))


def _timeline(source: AuditSource, incidents: Sequence[Mapping[str, Any]]) -> Iterator[Element]:
    order = partition_order(source.rows("partitions"), 1 << 20)
    numbers = {row["log"]: number for number, row in enumerate(order)}
    shown = {row["log"] for row in order if not row["topic"].startswith(INTERNAL)} or set(numbers)
    few = set(sorted(shown, key=numbers.__getitem__)[:_DRAWN_LANES])
    lanes = sorted(
        lanes_by_offset(source, _CELLS, lambda row: row["log"] in few), key=lambda lane: numbers[lane.row["log"]]
    )
    packed = pack(source, numbers)
    said: list[Content] = []
    if packed.drawn < packed.committed:
        said.append(
            f"{packed.drawn} of {packed.committed} committed transactions are drawn one by one: a sample."
            " All others are drawn."
        )
    gaps, more = _largest_gaps(source)
    if more:
        said.append(f" Of {len(gaps) + more} gaps the {len(gaps)} worst and largest are drawn.")
    changes, more = _worst_changes(source)
    if more:
        all_of_them = len(changes) + more
        said.append(
            f" Of {all_of_them} leader changes {len(changes)} are drawn: unclean elections first, then the newest."
        )
    if len(lanes) < len(order):
        words = f" {len(lanes)} of {len(order)} logs are drawn: all of them where scripts are allowed."
        said.append(element("span", words, class_="unscripted"))
    yield element(
        "section", element("h2", "Timeline"), element("p", said) if said else None, _controls(),
        element("figure", picture(lanes, _one_by_one(source, lanes), _by_log(changes)), id="picture"),
        legend(_ranks(lanes)),
        id="timeline",
    )  # fmt: skip
    about = _about(order, packed, incidents, gaps, changes)
    yield data(json.dumps(about), type="application/json", id="about")
    yield data(packed.data, type="text/plain", id="packed")


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


def _chosen(rows: Iterable[_Row], worst: Callable[[_Row], tuple[Any, ...]]) -> tuple[list[_Row], int]:
    """Return the rows that are drawn, the worst first, and how many there are besides."""
    counts = count()
    chosen = nlargest(_MOST_DRAWN, (row for row, _ in zip(rows, counts, strict=False)), key=worst)
    return chosen, next(counts) - len(chosen)


def _controls() -> Element:
    def choice(label: str, name: str, values: Mapping[str, str]) -> Element:
        options = [element("option", text, value=value) for value, text in values.items()]
        return element("label", f"{label} ", element("select", options, id=name))

    return element(
        "form",
        choice("Lanes", "lanes", _LANES),
        choice("Axis", "axis", {"offset": "offsets", "time": "time"}),
        choice("State", "state", {"": "all", **{state: state for state in STATES}}),
        element("label", "Search ", element("input", type="search", id="search")),
        element("button", "All", type="button", id="whole"),
        element("output", id="status", aria_live="polite"),
        class_="scripted",
    )  # fmt: skip


def _one_by_one(source: AuditSource, lanes: Sequence[Lane]) -> dict[str, list[dict[str, Any]]]:
    if sum(sum(lane.counts.values()) for lane in lanes) > _ONE_BY_ONE:
        return {}
    logs = {lane.row["log"] for lane in lanes}
    drawn: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in transaction_rows(source):
        if row["log"] in logs:
            drawn[row["log"]].append(row)
    return drawn


def _by_log(rows: Iterable[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    by_log: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        by_log[row["log"]].append(row)
    return by_log


def _ranks(lanes: Sequence[Lane]) -> set[int]:
    return {rank for lane in lanes for rank in lane.cells.tolist()}


def _about(
    order: Sequence[Mapping[str, Any]], packed: PackedTimeline, incidents: Sequence[Mapping[str, Any]],
    gaps: Sequence[Mapping[str, Any]], changes: Sequence[Mapping[str, Any]],
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
    return {
        "leaders": leaders,
        "lanes": [[_safe(row[name]) for name in columns] for row in order],
        "ids": [escape(name) for name in packed.ids],
        "rows": packed.rows,
        "decisions": packed.decisions,
        "states": STATES,
        "gaps": by_lane,
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
