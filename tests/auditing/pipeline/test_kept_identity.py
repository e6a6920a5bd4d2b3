"""What says that a segment is another one: the checksums of its first and its last batch's headers count, too."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from crc32c import crc32c

from kafkalog.auditing.partition import KeptAbout, kept_scan
from kafkalog.auditing.pipeline import kept_scans
from kafkalog.auditing.transactions import AuditOptions
from kafkalog.files.limits import Limits
from kafkalog.segments.readers import batches
from kept import SEGMENTS, audited, broker, rows, segments


@pytest.fixture(autouse=True)
def small_segments() -> Iterator[None]:
    """Keep the scans of small segments, too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kept_scans, "LEAST_BYTES", 1)
        yield


def _another(path: Path, number: int) -> None:
    """Give a batch another newest time, and the file the time that it had: other bytes of the same size and name."""
    status, data = path.stat(), bytearray(path.read_bytes())
    batch = list(batches(path, on_finding=lambda _: None))[number]
    at = batch.position
    data[at + 35 : at + 43] = (batch.max_timestamp + 1).to_bytes(8, "big")
    data[at + 17 : at + 21] = crc32c(bytes(data[at + 21 : at + batch.size])).to_bytes(4, "big")
    with path.open("r+b") as file:
        file.write(data)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


@pytest.mark.parametrize("number", [0, -1])
def test_another_batch_at_either_end_is_another_segment(number: int, tmp_path: Path) -> None:
    """Size, time, inode and name are the same: a restore from a backup of another broker's replica may do that."""
    root = broker(tmp_path)
    audited(root, tmp_path / "first")
    _another(segments(root)[1], number)

    found = audited(root, None, tmp_path / "first")
    assert found.reused.taken == SEGMENTS - 1
    assert rows(found) == rows(audited(root))


def test_a_scan_by_other_limits_under_this_name_is_no_scan(tmp_path: Path) -> None:
    """All that the bytes tell is the same: what its file says of the rest counts."""
    root = broker(tmp_path)
    audited(root, tmp_path / "first")
    audited(root, tmp_path / "other", options=AuditOptions(replace(Limits(), max_batch_bytes=1 << 30)))
    others = {kept_scan(path.read_bytes()).segment: path for path in (tmp_path / "other").iterdir()}
    for path in (tmp_path / "first").iterdir():
        other = others[kept_scan(path.read_bytes()).segment].read_bytes()
        path.unlink()
        path.write_bytes(other)
    assert audited(root, None, tmp_path / "first").reused.taken == 0


def test_another_segments_scan_in_this_ones_file_is_no_scan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file whose checksum and key hold, and whose scan is of a segment with another base offset or size."""
    root, real = broker(tmp_path), kept_scans.kept_bytes
    seen: list[list[bytes]] = []

    def of_the_first(about: KeptAbout, messages: Iterable[bytes]) -> bytes:
        seen.append(list(messages))
        return real(about, seen[0])

    monkeypatch.setattr(kept_scans, "kept_bytes", of_the_first)
    audited(root, tmp_path / "first")
    monkeypatch.undo()
    monkeypatch.setattr(kept_scans, "LEAST_BYTES", 1)
    assert audited(root, None, tmp_path / "first").reused.taken == 1
