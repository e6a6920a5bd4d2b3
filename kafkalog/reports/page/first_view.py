"""The first view of a page: the verdict in a sentence, a strip of facts, what else happened."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from kafkalog.auditing.incidents import blocks, lost_said
from kafkalog.quantities import age, number_of
from kafkalog.reports.first_screen import FirstScreen
from kafkalog.reports.lanes import Axis
from kafkalog.reports.page.elements import Content, Element, command, element, moment, prose
from kafkalog.reports.source import AuditSource, ends_of
from kafkalog.zone import Zone

__all__ = ["Night", "also_list", "first_view", "theme_choice", "tone"]

Row = dict[str, Any]

_CALM: Final = frozenset({"OK", "YES"})

_MILD: Final = frozenset({"SUSPICIOUS", "EMPTY", "YES, BUT", "OK, but ask"})


class Night(NamedTuple):
    """How an earlier audit ended: its day, and the first word of its verdict."""

    day: str
    word: str


def first_view(
    source: AuditSource, screen: FirstScreen, incidents: Sequence[Row], parts: Sequence[str], span: Axis | None,
    zone: Zone, nights: Sequence[Night],
) -> Element:  # fmt: skip
    """Make the head of the page: what a person asks first.

    `parts` are the sections that the page has, `span` is from when to when transactions were under way.
    """
    verdict = screen.verdict
    facts = [
        element("div", element("dt", label), element("dd", value), class_=f"fact {kind}")
        for label, value, kind in _facts(source, incidents, span, zone)
    ]
    first, *others = [f"{part}." for part in (*verdict.parts, *verdict.scope)]
    links = [element("li", element("a", part, href=f"#{part.lower()}")) for part in parts]
    return element(
        "header",
        element("h1", element("span", verdict.words, class_=f"verdict {tone(verdict.words)}"), " ",
                prose(first, zone)),
        element("ul", [element("li", prose(part, zone)) for part in others], class_="parts") if others else None,
        element("dl", facts, class_="facts"),
        element("ul", [element("li", prose(fact, zone)) for fact in screen.facts], class_="about"),
        _strip(nights) if nights else None,
        element("nav", element("ul", links), theme_choice(), aria_label="Contents"),
    )  # fmt: skip


def tone(words: str) -> str:
    """Return the class of a verdict's words, which has a colour."""
    first = words.partition(" and ")[0]
    return "ok" if first in _CALM else "warning" if first in _MILD else "error"


_TORN, _SKIPPED = "transaction-torn", "administrator"


def _facts(
    source: AuditSource, incidents: Sequence[Row], span: Axis | None, zone: Zone
) -> Iterator[tuple[str, Content, str]]:
    severities = Counter(row["severity"] for row in incidents)
    said = [number_of(severities[one], one) for one in ("error", "warning", "note") if severities[one]]
    worst = next((one for one in ("error", "warning") if severities[one]), "")
    yield "Incidents", ", ".join(said) or "none", worst
    if "partitions" not in source.tables:
        return
    ends = ends_of(source.about())
    lost = sum(row["lost_records"] or 0 for row in incidents)
    skipped = sum(row["records"] or 0 for row in incidents if row["kind"] == _TORN and row["cause"] == _SKIPPED)
    besides = f", and {skipped:,} committed ones that consumers skip" if skipped else ""
    yield "Records lost", f"{lost_said(incidents) or 0}{besides}", "error" if lost or skipped else ""
    partitions = list(source.rows("partitions"))
    blocked = {name for row in incidents if blocks(row) for name in row["partitions"] or ()}
    known = [row for row in incidents if blocks(row) and row["since_ms"] is not None]
    first = min(known, key=lambda row: row["since_ms"], default=None)
    oldest, may = (
        (None, "") if first is None else (first["since_ms"], "at most " * (first["since_until_ms"] is not None))
    )
    words: list[Content] = [f"{len(blocked):,} of {len({(row['topic'], row['partition']) for row in partitions}):,}"]
    if blocked and oldest is not None and ends is not None and ends >= oldest:
        words.append(f", for {may}{age(ends - oldest)}")
    yield "Partitions blocked", words, "error" if blocked else ""
    if span is not None:  # what is blocked was blocked in it
        begin = span.first if oldest is None else min(span.first, oldest)
        end = span.last if ends is None else max(span.last, ends)
        yield "Span", [age(end - begin), ", from ", moment(begin, zone)], ""


def _strip(nights: Sequence[Night]) -> Element:
    """Say how earlier audits ended, the oldest first."""
    items = [
        element("li", element("span", night.day), " ", element("b", night.word, class_=f"verdict {tone(night.word)}"))
        for night in nights
    ]
    return element("ol", items, class_="nights", aria_label="Earlier audits")


def also_list(screen: FirstScreen, zone: Zone) -> Element | None:
    """Say what a healthy cluster has, too, and a person asks about; of a comparison what changed."""
    if not screen.also:
        return None
    items: list[Element] = []
    for line in screen.also:
        items += [element("dt", line.label), element("dd", _linked(line.text, zone), map(command, line.commands))]
    return element("dl", items, class_="also")


def _linked(text: str, zone: Zone) -> list[Content]:
    """Write a line whose incident, which a terminal names by an option, is a link."""
    said, option, incident = text.partition(": --incident ")
    link: list[Content] = [": ", element("a", "its incident", href=f"#incident-{incident}")] if option else []
    return [*prose(said, zone), *link]


def theme_choice() -> Element:
    """Let a reader choose dark or light."""
    options = [element("option", name, value=name) for name in ("system", "light", "dark")]
    return element("label", "Colours ", element("select", options, id="theme"), class_="scripted")
