"""Many nights' audits of a cluster: how each ended, and since which night an incident is there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from kafkalog.auditing.incidents import blocks
from kafkalog.errors import UnreadableError
from kafkalog.provenance import SCANS, is_linked
from kafkalog.reports import Night, WrittenAudit, columns_of, first_screen
from kafkalog.tables.change_tables import NIGHTS
from kafkalog.tables.incident_tables import INCIDENTS
from kafkalog.tables.manifest import MANIFEST
from kafkalog.untrusted import is_count
from kafkalog.zone import Zone

__all__ = ["History", "history", "prune"]

Row = dict[str, Any]

_COUNTED: Final = ("log_end_offset", "last_stable_offset", "open", "size_bytes")
_UNREADABLE: Final = "records-unreadable"


@dataclass(frozen=True, slots=True)
class History:
    """The nights of one cluster, the oldest first: rows of ``nights``.

    `standing` are the incidents of the newest, each with the place of the first night since which all have it.
    """

    cluster_id: str | None
    nights: Sequence[Row]
    standing: Sequence[tuple[Row, int]]

    def strip(self, zone: Zone) -> list[Night]:
        """Return what a page says of each night."""
        return [Night(zone.time(row["started_ms"])[:10], row["word"]) for row in self.nights]


def history(folder: Path) -> tuple[list[History], list[str]]:
    """Read all audits in the directories below a folder, one level down; and say what could not be read.

    Raises UnreadableError if there is none.
    """
    found: dict[str | None, list[tuple[Row, dict[str, Row]]]] = {}
    unreadable: list[str] = []
    for place in _audits(folder):
        try:
            row, incidents = _night(place)
        except UnreadableError as error:
            unreadable.append(str(error))
            continue
        found.setdefault(row["cluster_id"], []).append((row, incidents))
    if not found and not unreadable:
        raise UnreadableError(f"{folder}: there is no audit in a directory below it: txn-audit -o {folder}/NAME")
    return [
        _history(cluster, nights) for cluster, nights in sorted(found.items(), key=lambda one: one[0] or "")
    ], unreadable


def _audits(folder: Path) -> Iterable[Path]:
    try:
        places = [path for path in folder.iterdir() if (path / MANIFEST).is_file()]
        return sorted(path for path in places if (path / "partitions").is_dir())
    except OSError as error:
        raise UnreadableError(f"{folder}: {error.strerror}") from error


def _night(place: Path) -> tuple[Row, dict[str, Row]]:
    """Read an audit as a row of ``nights``, and its incidents by their ids. Raises UnreadableError."""
    source = WrittenAudit(place)
    incidents = list(source.rows(INCIDENTS.name))
    counts = columns_of(source, "partitions", _COUNTED)
    run, origin = source.run, source.origin()
    clusters = sorted({one.cluster_id for one in source.about() if one.cluster_id is not None})
    ends = [one.ends_ms for one in source.about() if one.ends_ms is not None]
    verdict = first_screen(source, incidents).verdict
    serious = [row for row in incidents if row["severity"] != "note"]
    stable = counts["last_stable_offset"]
    row = dict.fromkeys(NIGHTS.names) | {
        "audit": str(place),
        "run_id": None if run is None else run.run_id,
        "cluster_id": ",".join(clusters) or None if run is None else run.cluster_id,
        "started_ms": origin.get("started_ms", 0) if run is None else run.started_ms,
        "ends_ms": max(ends, default=None),
        "word": verdict.words,
        "headline": verdict.headline,
        "logs": len(stable),
        "size_bytes": _sum(place, "size_bytes", counts["size_bytes"].tolist()),
        "blocked": len({name for one in incidents if blocks(one) for name in one["partitions"] or ()}),
        "lost": _sum(place, "lost_records", (one["lost_records"] or 0 for one in incidents)),
        "damaged": sum(one["kind"] == _UNREADABLE for one in serious),
        "open": _sum(place, "open", counts["open"].tolist()),
        "lag": _sum(place, "log_end_offset - last_stable_offset", (counts["log_end_offset"] - stable).tolist()),
        "incidents": len(serious),
    }  # fmt: skip
    return row, {one["id"]: one for one in serious}


def _sum(place: Path, of: str, numbers: Iterable[int]) -> int:
    """Add up numbers of an audit. Raises UnreadableError where no cluster can have the sum."""
    found = sum(numbers)
    if not is_count(found):
        raise UnreadableError(f"{place}: the sum of {of} is {found}: needs a number from 0 to {(1 << 63) - 1}")
    return found


def _history(cluster: str | None, nights: list[tuple[Row, dict[str, Row]]]) -> History:
    nights.sort(key=lambda night: (night[0]["started_ms"], night[0]["audit"]))
    for number, (row, incidents) in enumerate(nights):
        row["begun"] = len(incidents.keys() - (nights[number - 1][1].keys() if number else ()))
    last = len(nights) - 1
    standing = []
    for id_, incident in nights[last][1].items():
        first = last
        while first and id_ in nights[first - 1][1]:
            first -= 1
        standing.append((incident, first))
    return History(cluster, [row for row, _ in nights], standing)


def prune(found: Sequence[History]) -> tuple[int, int]:
    """Remove the kept scans of all nights but each cluster's newest; return how many there were, and their bytes.

    ``--since-audit`` takes those of the newest. Links are not followed. Raises OSError.
    """
    count = size = 0
    for one in found:
        for row in one.nights[:-1]:
            place = Path(row["audit"])
            if is_linked(place, f"{SCANS}/x.scan"):
                continue
            for scan in place.joinpath(SCANS).glob("*.scan"):
                if not scan.is_symlink():
                    size += scan.stat().st_size
                    scan.unlink()
                    count += 1
            with suppress(OSError):  # somebody else's files are there, too
                place.joinpath(SCANS).rmdir()
    return count, size
