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
from kafkalog.errors import KafkaLogError
from kafkalog.findings import Finding
from kafkalog.redaction import Redaction
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
    "transactions", "partitions", "gaps", "leaders", "findings", "coordinator", "producers", "visible",
)  # fmt: skip
_GROUPS: Final = ("groups", "committed", "offsets")
Rename = Callable[[str], str]


def said_of(folder: Path, rename: Rename, *, moved: bool) -> Counter[str]:
    """All rows that an audit, a verification and the groups' command have; without places in files where these `moved`."""
    left_out = _REDACTED | (_PLACES if moved else set())
    found: Counter[str] = Counter()
    for table, row in _rows(folder):
        cells = {
            name: cell if name in _WORDS else _renamed(cell, rename)
            for name, cell in zip(TABLES[table].names, row, strict=True)
            if name not in left_out
        }
        found[f"{table} {cells}"] += 1
    for incident in incidents_of_audit(audit([folder])):
        found[f"incident {incident.kind} {incident.severity} {incident.certainty}"] += 1
    return found


def _rows(folder: Path) -> Iterator[tuple[str, tuple[Any, ...]]]:
    read = audit([folder])
    for table in _AUDITED:
        yield from ((table, row) for row in audit_rows(read, table))
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


def _renamed(cell: Any, rename: Rename) -> Any:
    if isinstance(cell, str):
        return rename(cell)
    if isinstance(cell, dict):
        return {_renamed(key, rename): _renamed(value, rename) for key, value in cell.items()}
    if isinstance(cell, list | tuple):
        return sorted((_renamed(one, rename) for one in cell), key=repr)
    return cell


def _renaming(words: Mapping[str, str]) -> Rename:
    """What writes new words for old ones, the longest first, and none within a longer word."""
    if not words:
        return lambda text: text
    every = "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))
    pattern = re.compile(rf"(?<![A-Za-z0-9._])(?:{every})(?![A-Za-z0-9._])")
    return lambda text: pattern.sub(lambda found: words[found[0]], text)


def differences_of_audits(original: Path, redacted: Path, done: Redaction) -> list[str]:
    """Each row that only one of the two has."""
    names = {new: old for kind, made in done.new_names.items() if kind != "header" for old, new in made.items()}
    places = {f"{redacted}/{node}": place for place, node in done.nodes.items()} | {f"{redacted}/data": f"{original}"}
    by_place, by_name = _renaming(places), _renaming(names)
    moved = done.moved_files > 0
    before = said_of(original, lambda text: text, moved=moved)
    after = said_of(redacted / "data", lambda text: by_name(by_place(text)), moved=moved)
    told = [f"- {row}" for row in before - after] + [f"+ {row}" for row in after - before]
    return sorted(told, key=lambda line: (line[2:], line[0]))
