"""The page of an audit or a verification: its parts in order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from kafkalog.auditing.incidents import worst_first
from kafkalog.quantities import size_text
from kafkalog.reports.first_screen import first_screen, screen_of
from kafkalog.reports.lanes import partition_order
from kafkalog.reports.page.elements import (
    Element,
    element,
    html,
    moment,
    opening,
    prose,
    rows_table,
    script,
    section,
    table,
    text_of,
)
from kafkalog.reports.page.first_view import Night, also_list, first_view
from kafkalog.reports.page.incident_view import incident_list
from kafkalog.reports.page.timeline_view import TimelineView
from kafkalog.reports.page.treemap import Tile, bytes_table, treemap
from kafkalog.reports.source import AuditSource, transaction_rows
from kafkalog.tables import TABLES
from kafkalog.zone import UTC, Zone

__all__ = ["page"]

_FILES: Final = 500

_TRANSACTIONS: Final = (
    "topic", "partition", "state", "transactional_id", "producer_id", "first_offset", "last_offset", "records",
    "first_timestamp_ms", "last_timestamp_ms", "certainty", "cause",
)  # fmt: skip

_PARTITIONS: Final = (
    "topic", "partition", "node_id", "log_start_offset", "last_stable_offset", "log_end_offset", "segments",
    "size_bytes", "records", "committed", "aborted", "open", "hanging", "gaps", "findings", "log",
)  # fmt: skip

_FINDINGS: Final = ("severity", "code", "certainty", "topic", "partition", "file", "position", "offset", "message")

_CHANGES: Final = (
    "subject", "what", "severity", "topic", "partition", "node_id", "name", "message", "first_offset", "last_offset",
    "count", "old_log_end_offset", "new_log_end_offset", "old_value", "new_value",
)  # fmt: skip

_OTHERS: Final[dict[str, tuple[str, ...]]] = {
    "changes": _CHANGES,
    "findings": _FINDINGS,
    "gaps": ("topic", "partition", "first_offset", "last_offset", "count", "kind", "cause", "file", "position"),
    "producers": (
        "topic", "partition", "producer_id", "transactional_id", "first_epoch", "last_epoch", "transactions",
        "committed", "aborted", "first_offset", "last_offset", "first_timestamp_ms", "last_timestamp_ms",
    ),
    "leaders": ("topic", "partition", "leader_epoch", "leader", "since_ms", "change", "first_offset", "log"),
    "logs": (), "files": (), "replicas": (),
}  # fmt: skip


def page(
    source: AuditSource, provenance: Mapping[str, Any], zone: Zone = UTC, nights: Sequence[Night] = (),
    since: AuditSource | None = None,
) -> Iterator[bytes]:  # fmt: skip
    """Yield the page in pieces, in UTF-8; `provenance` is what ``provenance.json`` has, `nights` are earlier audits.

    `since` is what changed since the last of these.
    """
    incidents = list(source.rows("incidents"))
    screen = first_screen(source, incidents)
    timeline = TimelineView.of(source, worst_first(incidents), zone) if "transactions" in source.tables else None
    also = also_list(screen, zone)
    found: dict[str, Element | None] = {
        "Incidents": section(
            "Incidents",
            list(incident_list(incidents, zone, timeline.pictures if timeline else {})) or element("p", "None."),
        )
    }
    if since is not None:
        found["Changes"] = _changes(since, zone)
    if also is not None:
        found["Also"] = section("Also", also)
    if timeline is not None:
        found["Timeline"] = timeline.section
    found["Tables"] = section("Tables", list(_tables(source, zone)) or element("p", "None."))
    if "partitions" in source.tables:
        found["Bytes"] = _bytes(source)
    found["Provenance"] = _provenance(source, provenance, zone)
    yield opening(f"kafkalog: {zone.prose(screen.verdict.headline)}")
    span = timeline.span if timeline else None
    yield (html(first_view(source, screen, incidents, list(found), span, zone, nights)) + "\n<main>\n").encode()
    for part in found.values():
        if part is not None:
            yield (html(part) + "\n").encode()
    for part in timeline.data if timeline else ():
        yield (html(part) + "\n").encode()
    yield f"</main>\n<script>{script()}</script>\n</body>\n</html>\n".encode()


def _changes(since: AuditSource, zone: Zone) -> Element:
    """Say what changed since the night before, as ``kafkalog diff`` says it."""
    screen = screen_of(since)
    words = f"Since the audit before: {screen.verdict.headline} ({screen.identity})"
    return section(
        "Changes", element("p", prose(words, zone)), also_list(screen, zone),
        rows_table("All changes", _CHANGES, since.rows("changes"), "changes", zone, anchor="since"),
    )  # fmt: skip


def _tables(source: AuditSource, zone: Zone) -> Iterator[Element]:
    if "transactions" in source.tables:
        rows = transaction_rows(source, lambda columns: ~columns.texts("state").among(("committed", "aborted")))
        yield rows_table("Transactions that are not decided", _TRANSACTIONS, rows, "transactions", zone, is_open=True)
    if "partitions" in source.tables:
        order = partition_order(source.rows("partitions"))
        yield rows_table("Partitions", _PARTITIONS, order, "partitions", zone)
    for name, columns in _OTHERS.items():
        if name in source.tables:
            of_table = source.rows(name)
            yield rows_table(name.capitalize(), columns or TABLES[name].names, of_table, name, zone)


def _bytes(source: AuditSource) -> Element:
    """Draw the bytes of all logs, folded; ``kafkalog space`` says of the same directories what holds them."""
    tiles = [
        Tile(
            f"node {row['node_id']}" if row["node_id"] is not None else "", row["topic"],
            f"{row['topic']}-{row['partition']}", row["size_bytes"],
        )
        for row in source.rows("partitions")
    ]  # fmt: skip
    said = f"{size_text(sum(tile.bytes for tile in tiles))} in {len(tiles):,} logs; kafkalog space says what holds them"
    folded = element("details", element("summary", said), element("figure", treemap(tiles)), bytes_table(tiles))
    return section("Bytes", folded)


def _provenance(source: AuditSource, provenance: Mapping[str, Any], zone: Zone) -> Element:
    """Say what was read, by which version and how."""
    facts = [
        ("kafkalog", provenance.get("kafkalog")),
        ("schema version", provenance.get("schema_version")),
        ("arguments", " ".join(map(str, provenance.get("arguments", ())))),
        ("started", moment(provenance.get("started_ms"), zone)),
        ("ended", moment(provenance.get("ended_ms"), zone)),
        ("everything read", "no" if source.unread else "yes"),
    ]
    listed = [[name, value if isinstance(value, Element) else text_of(value)] for name, value in facts]
    files = provenance.get("files", ())
    rows = ([text_of(file.get(name)) for name in ("file", "size_bytes", "sha256")] for file in files[:_FILES])
    more = len(files) - _FILES
    caption = f"Segments that were read: {len(files)}" + (f", the first {_FILES} here" if more > 0 else "")
    return section(
        "Provenance", table("How this report was made", ("what", "value"), listed),
        element("details", element("summary", caption),
                table(caption, ("file", "bytes", "SHA-256"), rows, frozenset({1}))),
    )  # fmt: skip
