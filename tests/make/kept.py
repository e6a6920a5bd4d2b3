"""A broker's directory that changes from night to night, and audits that go on from each other."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from crc32c import crc32c

import build
from kafkalog.auditing.incidents.runner import rows_of_audit
from kafkalog.auditing.pipeline import Keeping, KeptScans, LocalFolder
from kafkalog.auditing.pipeline.run import audit
from kafkalog.auditing.transactions import Audit, AuditOptions
from kafkalog.kafka.batch import Batch
from kafkalog.segments.readers import batches
from kafkalog.tables.audit_tables import AUDIT_TABLES
from official import FIXTURES

CASE: Final = FIXTURES / "k4-i-retention-delete-records" / "data"
LOG: Final = "coupons-audit.92-1"  # five segments, the last one active
STATES: Final = "__transaction_state-1"
SEGMENTS: Final = 14  # with batches; two more are empty

Row = tuple[Any, ...]


def broker(place: Path) -> Path:
    """Copy the broker's directory, its files' times with it."""
    return Path(shutil.copytree(CASE, place / "broker"))


def segments(root: Path, log: str = LOG) -> list[Path]:
    """The segments of a log that have batches, in order."""
    return sorted(path for path in (root / log).glob("*.log") if path.stat().st_size)


def _batches(path: Path) -> list[Batch]:
    return list(batches(path, on_finding=lambda _: None))


def append(root: Path) -> None:
    """The leader appends to the active segment."""
    last = segments(root)[-1]
    offset = max(batch.last_offset for batch in _batches(last)) + 1
    with last.open("ab") as file:
        file.write(build.batch(build.record(b"a"), base_offset=offset))


def roll(root: Path) -> None:
    """The leader begins another segment."""
    last = segments(root)[-1]
    offset = max(batch.last_offset for batch in _batches(last)) + 1
    (last.parent / f"{offset:020}.log").write_bytes(build.batch(build.record(b"a"), base_offset=offset))


def delete(root: Path) -> None:
    """Retention takes the oldest segment."""
    first = segments(root)[0]
    for path in first.parent.glob(f"{first.stem}.*"):
        path.unlink()


def truncate(root: Path) -> None:
    """A follower gives up its last batch."""
    last = segments(root)[-1]
    os.truncate(last, [batch.position for batch in _batches(last)][-1])


def compact(root: Path) -> None:
    """The cleaner replaces a segment by one of the same base offset and time, without a batch of its middle."""
    path = segments(root)[1]
    found = _batches(path)
    data, middle = path.read_bytes(), found[len(found) // 2]
    _replace(path, data[: middle.position] + data[middle.position + middle.size :])


def compact_alike(root: Path) -> None:
    """A pass of the cleaner changes a batch in the middle, and keeps size, time, and the first and last headers."""
    path = segments(root)[1]
    found = _batches(path)
    middle = next(batch for batch in found[1:-1] if batch.producer_id >= 0 and not batch.is_control)
    data = bytearray(path.read_bytes())
    at = middle.position
    data[at + 43 : at + 51] = (middle.producer_id + 1).to_bytes(8, "big")
    data[at + 17 : at + 21] = crc32c(bytes(data[at + 21 : at + middle.size])).to_bytes(4, "big")
    _replace(path, bytes(data))


def _replace(path: Path, data: bytes) -> None:
    status = path.stat()
    other = path.with_suffix(".swap")
    other.write_bytes(data)
    os.utime(other, ns=(status.st_atime_ns, status.st_mtime_ns))
    other.replace(path)


def recreate(root: Path) -> None:
    """The topic was deleted and made again: another id, and records that look the same."""
    for path in root.glob(f"{LOG.rpartition('-')[0]}-*/partition.metadata"):
        path.write_text("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAdA\n")


def touch(root: Path) -> None:
    """A copy without the files' times."""
    for path in root.rglob("*.log"):
        os.utime(path)


def nightly(root: Path) -> None:
    """Copy all files again: other inodes, the same times."""
    copy = root.with_name("again")
    shutil.copytree(root, copy)
    shutil.rmtree(root)
    copy.rename(root)


def audited(
    paths: Path | Iterable[Path], into: Path | None = None, *earlier: Path, hashed: bool = False,
    options: AuditOptions | None = None,
) -> Audit:  # fmt: skip
    """Audit with scans kept in a folder, and taken from others."""
    if into is not None:
        into.mkdir()
    keeping = Keeping(None if into is None else LocalFolder(str(into)), hashed)
    folders = tuple(map(str, earlier))
    chosen = [paths] if isinstance(paths, Path) else list(paths)
    begun = 2**62  # whatever is taken is of an earlier audit
    return audit(chosen, options, kept=KeptScans(keeping, folders, begun))


def rows(found: Audit) -> dict[str, list[Row]]:
    """All tables of an audit."""
    return {table.name: list(rows_of_audit(found, table.name)) for table in AUDIT_TABLES}
