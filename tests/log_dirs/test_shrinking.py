"""A file that shrinks, vanishes or is emptied at one of its reads: every command ends, and says so where it can."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

import build
from invoke import kafkalog

MIB: Final = 1 << 20


def _cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2 + 5)


CHANGES: Final[dict[str, Callable[[Path], None]]] = {
    "shrinks": _cut,
    "is emptied": lambda path: os.truncate(path, 0),
    "vanishes": lambda path: path.unlink(missing_ok=True),
}
COMMANDS: Final[dict[str, tuple[str, ...]]] = {
    "dump": ("dump", "--print-data-log", "{segment}"),
    "dump, rows": ("dump", "--format", "ndjson", "--print-data-log", "{segment}"),
    "dump of an index": ("dump", "--format", "ndjson", "{index}"),
    "txn-audit": ("txn-audit", "--format", "ndjson", "{root}"),
    "verify": ("verify", "--format", "ndjson", "{root}"),
    "verify of replicas": ("verify", "--replicas", "--format", "ndjson", "{root}", "{twin}"),
    "verify of a file": ("verify", "--format", "ndjson", "{segment}"),
    "transactions": ("transactions", "--format", "ndjson", "{root}"),
    "groups": ("groups", "--format", "ndjson", "{root}"),
    "metadata": ("metadata", "--format", "ndjson", "{root}"),
    "space": ("space", "--keys", "--format", "ndjson", "{root}"),
    "timeline": ("timeline", "{root}"),
    "salvage": ("salvage", "--format", "ndjson", "{segment}", "-o", "{out}/copy.log"),
    "show": ("show", "--format", "ndjson", "{segment}@offset:7"),
}
TOPICS: Final = ("t", "__transaction_state", "__consumer_offsets", "__cluster_metadata")


def _directory(root: Path, topic: str) -> Path:
    """Write a log directory with one partition of several windows, damage in it, an index and a snapshot."""
    folder = root / f"{topic}-0"
    folder.mkdir(parents=True)
    (root / "meta.properties").write_text("version=1\ncluster.id=c\nnode.id=1\n")
    batches = build.log(9, 9, *[MIB] * 4, 9, 9, producer_id=4, producer_epoch=0, attributes=build.TRANSACTIONAL)
    batches[3] = build.flipped(batches[3], 8 * 5000)
    segment = folder / f"{0:020}.log"
    segment.write_bytes(b"".join(batches))
    segment.with_suffix(".index").write_bytes(b"\0\0\0\1" + len(batches[0]).to_bytes(4, "big"))
    segment.with_suffix(".snapshot").write_bytes(build.snapshot((4, 0, -1, 9, 0, build.TIME, 0, 0)))
    (root / "recovery-point-offset-checkpoint").write_text(f"0\n1\n{topic} 0 3\n")
    return segment


@pytest.mark.some(every=7)
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", COMMANDS)
def test_a_file_that_changes_at_any_read_ends_no_command(
    name: str, change: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the first, the second, … read of the segment: exit 0, 1 or 3, nothing written beside it."""
    topic = {"transactions": TOPICS[1], "groups": TOPICS[2], "metadata": TOPICS[3]}.get(name, TOPICS[0])
    segment = _directory(tmp_path / "in" / "data", topic)
    shutil.copytree(tmp_path / "in" / "data", tmp_path / "in" / "twin")
    (tmp_path / "in" / "twin" / "meta.properties").write_text("version=1\ncluster.id=c\nnode.id=2\n")
    whole, out = segment.read_bytes(), tmp_path / "out"
    places = {
        "root": segment.parent.parent, "twin": tmp_path / "in" / "twin", "segment": segment,
        "index": segment.with_suffix(".index"), "out": out,
    }  # fmt: skip
    arguments = [argument.format(**places) for argument in COMMANDS[name]]
    really, count, at = os.preadv, 0, 0

    def preadv(descriptor: int, *more: Any) -> int:
        nonlocal count
        status = os.fstat(descriptor)
        if status.st_ino == inode:
            count += 1
            if count == at:
                CHANGES[change](segment)
        return really(descriptor, *more)

    monkeypatch.setattr(os, "preadv", preadv)
    at, inode = 0, segment.stat().st_ino
    out.mkdir()
    kafkalog(*arguments)
    total = count
    assert total >= 1
    for at in sorted({1, 2, 3, total // 2, total}):
        count = 0
        segment.write_bytes(whole)
        inode = segment.stat().st_ino
        (out / "copy.log").unlink(missing_ok=True)
        ended = kafkalog(*arguments)
        assert ended.status in (0, 1, 3), (at, total, ended.err)
        names = {path.name for path in segment.parent.iterdir()}
        assert names <= {f"{0:020}{suffix}" for suffix in (".log", ".index", ".snapshot")}
        if at > 2 and change != "vanishes" and name in ("dump, rows", "verify of a file"):
            assert {"file-changed", "batch-truncated", "file-unreadable"} & {
                r["code"] for r in ended.table("findings")
            }, (at, total, ended.table("findings"))
