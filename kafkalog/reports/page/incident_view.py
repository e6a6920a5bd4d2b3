"""Incidents in the page: a line for each, the worst first, that unfolds to what happened and what to do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from kafkalog.auditing.incidents import groups_said, lost_said, worst_first
from kafkalog.catalogue.incident_kinds import INFORMATIVE
from kafkalog.quantities import many
from kafkalog.reports.also import listed
from kafkalog.reports.incident_line import IncidentLine, parts_said, records_line
from kafkalog.reports.joint_plan import plan_of
from kafkalog.reports.page.elements import HOST, Content, Element, command, element, moment, prose
from kafkalog.zone import Zone

__all__ = ["incident_list"]

Row = Mapping[str, Any]

_SHAPES: Final = {"error": "M6 0L12 12H0Z", "warning": "M6 0L12 6L6 12L0 6Z", "note": "M6 1a5 5 0 1 0 .1 0Z"}

_CONSUMERS: Final = {"read_committed": "With read_committed", "read_uncommitted": "With read_uncommitted"}


def severity_mark(severity: str) -> Element:
    """Say how bad something is: by a shape, a colour and the word."""
    shape = element("svg", element("path", d=_SHAPES[severity]), viewBox="0 0 12 12", width=12, height=12,
                    aria_hidden="true")  # fmt: skip
    return element("span", shape, " ", severity, class_=f"severity {severity}")


def incident_list(rows: Sequence[Row], zone: Zone, pictures: Mapping[str, Element | None]) -> Iterator[Element]:
    """Yield the incidents, the first one unfolded, the notes folded together.

    `pictures` has the ids of those that are in the page's timeline, with their own part of it where that is drawn.
    """
    ordered = worst_first(rows)
    numbers = {row["id"]: number for number, row in enumerate(
        (row for row in ordered if row["kind"] not in INFORMATIVE), 1)}  # those of the screen  # fmt: skip
    above = [row for row in ordered if row["severity"] != "note"]
    notes = ordered[len(above) :]
    if any(HOST in line for row in ordered for step in plan_of([row]) for line in step.commands):
        yield _host()
    if ordered:
        yield element("div", [element("span", head) for head in _HEADS], class_="heads", aria_hidden="true")
    yield from (_incident(row, numbers.get(row["id"]), zone, pictures, is_open=row is ordered[0]) for row in above)
    if notes:
        folded = [_incident(row, numbers.get(row["id"]), zone, pictures, is_open=False) for row in notes]
        said = f"{many(len(notes), 'note')}"
        yield element("details", element("summary", severity_mark("note"), element("b", said)), folded, class_="notes")


def _host() -> Element:
    field = element("input", id="host", placeholder=HOST, autocomplete="off", spellcheck="false", size=28)
    words = "A broker, for the commands below "
    return element("p", element("label", words, field), element("output", id="host-said"), class_="scripted")


def _incident(
    row: Row, number: int | None, zone: Zone, pictures: Mapping[str, Element | None], *, is_open: bool
) -> Element:
    return element(
        "details", _line(row, number, zone), _whole(row, zone, pictures),
        class_=f"incident {row['severity']}", **({"open": ""} if is_open else {}),
    )  # fmt: skip


_HEADS: Final = ("", "what", "where", "since", "who", "behind it", "next")


def _line(row: Row, number: int | None, zone: Zone) -> Element:
    """Write the incident's line in the words of the screen, with its number there."""
    line = IncidentLine.of([row])
    at_least = " at the earliest" * (line.until_ms is not None)
    since = None if line.since_ms is None else [moment(line.since_ms, zone), at_least]
    return element(
        "summary",
        element("span", f"{number} " if number else "", severity_mark(row["severity"])),
        element("b", line.what),
        element("span", line.where, class_="place"),
        element("span", since, class_="since"),
        element("span", line.who, class_="place"),
        element("span", line.behind, class_="behind"),
        element("span", line.next or "nothing to do", class_="first-step"),
    )


def _whole(row: Row, zone: Zone, pictures: Mapping[str, Element | None]) -> Element:
    links = [element("a", "Link to this incident", href=f"#incident-{row['id']}")]
    if row["id"] in pictures:
        links.append(element("a", "Its transactions in the timeline", href="#timeline", data_incident=row["id"]))
    records = records_line(row)
    return element(
        "article",
        element("h3", prose(row["title"], zone)),
        element(
            "div",
            element("div", element("dl", list(_facts(row, zone))), _events(row["events"] or (), zone), class_="story"),
            element("div", _consumers(row["consumers"] or {}, zone), _steps(row, zone),
                    class_="remedy"),
            class_="two",
        ),
        element("figure", drawn) if (drawn := pictures.get(row["id"])) is not None else None,
        element("div", element("h4", "Its records"), command(records)) if records is not None else None,
        element("p", [[link, " "] for link in links], class_="quiet"),
        id=f"incident-{row['id']}", data_partitions=" ".join(map(str, row["partitions"] or ())),
    )  # fmt: skip


def _facts(row: Row, zone: Zone) -> Iterator[Element]:
    facts: list[tuple[str, Content]] = [
        ("since", [*_began(row, zone), _clock(row["since_clock"])] if row["since_ms"] is not None else None),
        ("until", [moment(row["until_ms"], zone), _clock(row["until_clock"])] if row["until_ms"] is not None else None),
        ("where", _listed(row["partitions"], row["partitions_total"])),
        ("offsets", _offsets(row)),
        ("records", _number(row["records"])),
        ("who", _who(row)),
        ("transactions", _number(row["transactions"])),
        ("lost", _lost(row)),
        ("groups", groups_said(row.get("groups") or (), is_one=False) or None),
        ("kept in", "; ".join(_kept(one) for one in row["kept_in"] or ()) or None),
        ("incident", f"{row['id']}  {row['kind']}, {row['cause']}"),
    ]
    for name, value in facts:
        if value is not None:
            yield element("dt", name)
            yield element("dd", value)


def _lost(row: Row) -> str | None:
    """Say how many records are lost, and how their transactions had ended."""
    if row["lost_records"] is None:
        return None
    apart = ", ".join(f"{count:,} {word}" for word, count in (row.get("lost_by_outcome") or {}).items())
    return f"{lost_said([row]) or 'no records'}{f' ({apart})' if apart else ''}"


def _began(row: Row, zone: Zone) -> list[Element | str]:
    since, until = moment(row["since_ms"], zone), row["since_until_ms"]
    return [since] if until is None else ["between ", since, " and ", moment(until, zone)]


def _clock(clock: str | None) -> str | None:
    return " (the producer's own clock)" if clock == "producer" else None


def _number(value: int | None) -> str | None:
    return None if value is None else f"{value:,}"


def _listed(values: Sequence[Any] | None, total: int | None) -> str | None:
    return listed(map(str, values), total, most=None) if values else None


def _who(row: Row) -> str | None:
    if parts := parts_said(row):
        return "; ".join(parts)
    ids = _listed(row["transactional_ids"], row["transactional_ids_total"])
    producers = _listed(row["producer_ids"], row["producer_ids_total"])
    many = "s" * (len(row["producer_ids"] or ()) > 1)
    return "; ".join(filter(None, (ids, f"producer{many} {producers}" if producers else None))) or None


def _offsets(row: Row) -> str | None:
    if row["first_offset"] is None:
        return None
    if row["last_offset"] is None:
        return f"from {row['first_offset']} on"
    return _span(row)


def _span(row: Row) -> str:
    first, last = row["first_offset"], row["last_offset"]
    return f"{first}-{last}" if first != last else f"{first}"


def _kept(one: Row) -> str:
    return f"{one['log']}: {'offset' if one['first_offset'] == one['last_offset'] else 'offsets'} {_span(one)}"


def _events(events: Iterable[Row], zone: Zone) -> Element | None:
    items = [
        element(
            "li",
            [moment(one["time_ms"], zone), _clock(one["time_source"]), " "] if one["time_ms"] is not None else None,
            prose(one["what"], zone),
            " ",
            element("span", _place(one), class_="where"),
        )
        for one in events
    ]
    return element("div", element("h4", "What happened"), element("ol", items)) if items else None


def _place(event: Row) -> str | None:
    if event["file"] is None:
        return None
    return event["file"] if event["offset"] is None else f"{event['file']}, offset {event['offset']}"


def _consumers(consumers: Mapping[str, str], zone: Zone) -> Element | None:
    """Say what consumers get, once where the isolation level makes no difference."""
    if len(consumers) > 1 and len(set(consumers.values())) == 1:
        consumers = {"consumers": next(iter(consumers.values()))}
    items = [
        element("li", element("b", _CONSUMERS.get(name, "All consumers")), ": ", prose(said, zone))
        for name, said in consumers.items()
    ]
    return element("div", element("h4", "What consumers get"), element("ul", items)) if items else None


def _steps(row: Row, zone: Zone) -> Element | None:
    items = [element("li", prose(step.text, zone), list(map(command, step.commands))) for step in plan_of([row])]
    return element("div", element("h4", "What to do"), element("ol", items)) if items else None
