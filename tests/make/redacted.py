"""What audits say of log directories and of their redaction, made comparable; which planted bytes are still there."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from kafkalog.auditing.incidents import incidents_of_audit
from kafkalog.auditing.pipeline.run import audit
from kafkalog.auditing.topics import group_rows
from kafkalog.auditing.transactions.table_rows import audit_rows
from kafkalog.auditing.verification.verifying import verify
from kafkalog.bundles.bundle_manifest import is_bundle
from kafkalog.errors import KafkaLogError
from kafkalog.findings import Finding
from kafkalog.redaction import Redaction
from kafkalog.redaction.shifted_times import ShiftedTimes
from kafkalog.segments.blocks import Rows
from kafkalog.tables import TABLES

__all__ = ["differences_of_audits", "said_of"]

_REDACTED: Final = {
    "message",
    "metadata",
    "members",
    "id",
    "key",
    "value",
    "needed",
    "found",
    "sha256",
    "remedy",
    "input",
}
_PLACES: Final = {"position", "size_bytes", "length", "good_bytes"}
_WORDS: Final = {
    "code",
    "kind",
    "state",
    "cause",
    "severity",
    "certainty",
    "protocol_type",
    "protocol",
}  # kafkalog's own
_AUDITED: Final = (
    "transactions", "partitions", "gaps", "leaders", "remote_segments", "findings", "coordinator", "producers", "visible",
)  # fmt: skip
_GROUPS: Final = ("groups", "committed", "offsets", "share_offsets")
_OF_INCIDENT: Final = (
    "kind", "cause", "severity", "certainty", "partitions", "transactional_ids", "first_offset", "last_offset", "records",
    "lost_records", "since_ms",
)  # fmt: skip
_STORE: Final = "/kafka-tiered-storage"  # what LocalTieredStorage makes below its root
_NOTE: Final = "'code': 'bundle-in-part'"  # it says that it is redacted
_SHORT: Final = 4  # letters up to which a name is one only in a column of its kind: it may be a part of any text
_KINDS: Final = {
    "topic": "topic",
    "topics": "topic",
    "group": "group",
    "transactional_id": "transactional-id",
    "transactional_ids": "transactional-id",
}
Rename = Callable[[str, str], str]


def said_of(folder: Path, rename: Rename, *, moved: bool, shift_ms: int = 0) -> Counter[str]:
    """All rows that an audit, a verification and the groups' command have; without places in files where these `moved`.

    Times are as they were before they were moved by `shift_ms`.
    """
    left_out = _REDACTED | (_PLACES if moved else set())
    back = ShiftedTimes(-shift_ms)
    found: Counter[str] = Counter()
    for table, row in _rows(folder):
        cells = {
            column.name: cell if column.name in _WORDS else _renamed(cell, column.name, column.is_time, rename, back)
            for column, cell in zip(TABLES[table].columns, row, strict=True)
            if (column.name in _OF_INCIDENT if table == "incidents" else column.name not in left_out)
        }
        found[f"{table} {cells}"] += 1
    return found


def _rows(folder: Path) -> Iterator[tuple[str, tuple[Any, ...]]]:
    read = audit([folder])
    for table in _AUDITED:
        yield from ((table, row) for row in audit_rows(read, table))
    for incident in incidents_of_audit(read):
        yield "incidents", tuple(incident.row())
    verified = verify([folder])
    for table in ("findings", "files", "logs"):
        yield from ((table, tuple(row)) for row in verified.rows(table))
    try:
        for item in group_rows([folder], tables=_GROUPS):
            if isinstance(item, Rows):
                yield from ((item.block.table.name, row) for row in item.block.rows(item.start, item.stop))
            elif not isinstance(item, Finding):
                yield item[0].name, item[1]
    except KafkaLogError:  # there is no log of groups
        return


def _renamed(cell: Any, column: str, is_time: bool, rename: Rename, back: ShiftedTimes) -> Any:
    if is_time and isinstance(cell, int):
        return back.of(cell)
    if isinstance(cell, str):
        return rename(cell, column)
    if isinstance(cell, dict):
        return {
            rename(key, column): _renamed(value, column, key.endswith("_ms"), rename, back)
            for key, value in cell.items()
        }
    if isinstance(cell, list | tuple):
        return sorted((_renamed(one, column, is_time, rename, back) for one in cell), key=repr)
    return cell


def _renaming(words: Mapping[str, str]) -> Callable[[str], str]:
    """What writes new words for old ones, the longest first, and none within a longer word."""
    if not words:
        return lambda text: text
    every = "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))
    pattern = re.compile(rf"(?<![A-Za-z0-9._])(?:{every})(?![A-Za-z0-9._])")
    return lambda text: pattern.sub(lambda found: words[found[0]], text)


def differences_of_audits(original: Path, redacted: Path, done: Redaction, shift_ms: int = 0) -> list[str]:
    """Each row that only one of the two has, but for the note of a bundle; with the remote objects of one."""
    old = {kind: {new: old for old, new in made.items()} for kind, made in done.new_names.items()}
    long = {new: old for kind, names in old.items() if kind != "header" for new, old in names.items()}
    by_name = _renaming({new: old for new, old in long.items() if len(new) > _SHORT})
    places = {f"{redacted}/{node}": place for place, node in done.nodes.items()} | {f"{redacted}/data": f"{original}"}
    places[f"{redacted}"] = f"{original}"
    by_place, topics = _renaming(places), old.get("topic", {})

    def back(cell: str, column: str) -> str:
        text = by_place(cell)
        known = old.get(_KINDS.get(column, ""), {})
        if text in known:
            return known[text]
        return by_name("/".join(map(of_partition, text.split("/"))))

    def of_partition(part: str) -> str:
        found = re.fullmatch(r"(.+?)(-\d+(?:[.-].+)?)", part)
        return part if found is None else f"{topics.get(found[1], found[1])}{found[2]}"

    moved = done.moved_files > 0
    before = said_of(original, lambda text, _: text.replace(_STORE, ""), moved=moved)
    after = said_of(redacted / ("" if is_bundle(str(original)) else "data"), back, moved=moved, shift_ms=shift_ms)
    told = [f"- {row}" for row in before - after] + [f"+ {row}" for row in after - before if _NOTE not in row]
    return sorted(told, key=lambda line: (line[2:], line[0]))
