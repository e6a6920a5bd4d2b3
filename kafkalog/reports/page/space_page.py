"""What holds the bytes of log directories, as a page: the causes, a drawing of all bytes, the tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from kafkalog.quantities import iso, size_text
from kafkalog.reports.page.elements import Element, element, html, opening, rows_table, script, section, table
from kafkalog.reports.page.first_view import theme_choice
from kafkalog.reports.page.incident_view import incident_list
from kafkalog.reports.page.treemap import Tile, bytes_table, cause_legend, treemap
from kafkalog.tables import TABLES
from kafkalog.zone import UTC

__all__ = ["SpaceReport", "space_page"]

_HELD: Final = (
    "folder", "cause", "certainty", "since_ms", "since_offset", "reclaimable_bytes", "all_bytes", "evidence",
    "next_step", "incident", "log",
)  # fmt: skip
_CAPTIONS: Final = {
    "space": "Partitions' directories", "space_segments": "Segments", "blockers": "All that holds bytes",
    "next_start": "What the next start does", "transaction_costs": "What transactions cost",
    "producer_groups": "Who writes", "topic_clocks": "Times of topics", "clocks": "Clocks that differ",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class SpaceReport:
    """What the page shows: rows by table, ``space`` and ``incidents`` always; `moments` are (now, where it is from).

    `homes` has the log directory of each row's log.
    """

    rows: Mapping[str, Sequence[Mapping[str, Any]]]
    homes: Mapping[str, str]
    moments: Sequence[tuple[int, str]]
    provenance: Sequence[tuple[str, str]] = field(default=())


def space_page(report: SpaceReport) -> Iterator[bytes]:
    """Yield the page in pieces, in UTF-8."""
    rows = report.rows["space"]
    title = _title(rows)
    yield opening(f"kafkalog space: {title}")
    yield html(_header(title, report)).encode()
    yield b"\n<main>\n"
    for part in _body(report):
        yield (html(part) + "\n").encode()
    yield f"</main>\n<script>{script()}</script>\n</body>\n</html>\n".encode()


def _title(rows: Iterable[Mapping[str, Any]]) -> str:
    every = list(rows)
    gone = sum(row["reclaimable_bytes"] or 0 for row in every)
    unknown = sum(row["reclaimable_bytes"] is None for row in every)
    text = (
        f"{size_text(sum(row['all_bytes'] for row in every))} in {len(every)} partitions' directories,"
        f" {size_text(gone)} can be freed"
    )
    return text + (f"; of {unknown} directories it is not known (see --keys)" if unknown else "")


def _header(title: str, report: SpaceReport) -> Element:
    parts = ("Causes", "Incidents", "Bytes", "Tables", "Provenance")
    links = [element("li", element("a", part, href=f"#{part.lower()}")) for part in parts]
    said = "; ".join(f"now: {iso(now)} ({source})" for now, source in report.moments)
    return element(
        "header", element("h1", title), element("p", said),
        element("nav", element("ul", links), theme_choice(), aria_label="Contents"),
    )  # fmt: skip


def _body(report: SpaceReport) -> Iterator[Element]:
    rows = report.rows["space"]
    tiles = [
        Tile(report.homes[row["log"]], row["topic"], row["folder"], row["all_bytes"], row["reclaimable_bytes"] or 0,
             row["cause"])
        for row in rows
    ]  # fmt: skip
    held = [row for row in rows if row["cause"] != "none"]
    held.sort(key=lambda row: -(row["reclaimable_bytes"] or 0))
    none = element("p", "None.")
    caption = "What holds bytes that can be freed"
    of_causes = rows_table(caption, _HELD, held, "space", UTC, is_open=True, anchor="causes") if held else none
    yield section("Causes", of_causes)
    yield section("Incidents", list(incident_list(report.rows["incidents"], UTC, {})) or none)
    yield section(
        "Bytes",
        element("p", "An area is a directory's bytes; its coloured part can be freed. The table below says the same."),
        element("figure", treemap(tiles)), cause_legend(row["cause"] for row in held), bytes_table(tiles),
    )  # fmt: skip
    tables = [
        rows_table(_CAPTIONS[name], TABLES[name].names, of_table, name, UTC)
        for name, of_table in report.rows.items()
        if name in _CAPTIONS
    ]
    yield section("Tables", tables)
    facts = [*report.provenance, *(("now", f"{iso(now)}, {source}") for now, source in report.moments)]
    yield section("Provenance", table("How this report was made", ("what", "value"), [list(fact) for fact in facts]))
