"""The parts of the page that are text: verdict, incidents, tables, provenance."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import nsmallest
from itertools import islice
from typing import Any, Final

from kafkalog.escape import escape_line
from kafkalog.reports.page.elements import Content, Element, element, moment, table, text_of
from kafkalog.reports.source import AuditSource

__all__ = ["INTERNAL", "incident_sections", "limited_table", "partition_order", "provenance_section"]

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
    if not values:
        return None
    more = (total or len(values)) - len(values)
    return text_of(values) + (f" and {more} more" if more > 0 else "")


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
