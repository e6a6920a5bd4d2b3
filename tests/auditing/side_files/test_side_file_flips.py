"""Every single-bit flip of a side file is found, or belongs to a field of which nothing tells.

Files of one log directory that was stopped cleanly. A flip is found where something is said that was not said before.
What may stay silent is listed by kind of file and field, each with the reason.
"""

from __future__ import annotations

import shutil
from functools import cache
from pathlib import Path
from typing import Final

import pytest

import build
from beside import told
from kafkalog.kafka.layout import (
    ABORTED_TXN,
    OFFSET_INDEX_ENTRY,
    PRODUCER_SNAPSHOT,
    PRODUCER_STATE_ENTRY,
    TIME_INDEX_ENTRY,
    Layout,
)
from official import FIXTURES, materialize

# A case and the logs of it that are kept; one that was cleaned for the cleaner's checkpoint.
PLAIN: Final = ("k4-j-non-ascii-digits", "trades-sensors.68-1", "__cluster_metadata-0")
CLEANED: Final = ("k4-i-compacted-markers-gone", "claims-orders.24-0", "claims-orders.24-1")
STEP: Final = 29  # of the bits, for the tests that run always: no divisor of a byte's or an entry's

# Kind of file, field: why nothing can tell that it changed.
SILENT: Final[dict[str, dict[str, str]]] = {
    ".index": {
        "relative_offset": "brokers wrote the first or the last offset of a batch, or the last one of an append",
    },
    ".timeindex": {
        "relative_offset": "brokers wrote the offset of the newest record, or the last one of its batch",
    },
    ".txnindex": {},
    ".snapshot": {},  # its checksum covers all but itself
    "leader-epoch-checkpoint": {
        "white space": "readers take any",
    },
    "partition.metadata": {  # the metadata log knows the id
        "key": "brokers read what follows it only",
        "last character": "four of its bits are no part of the id",
    },
    "meta.properties": {
        "comment": "it says nothing that is compared",
        "key": "brokers ignore keys that they do not know, and directory.id is optional",
        "white space": "readers take any",
        "node.id": "a lone directory has no other witness of its broker",
        "cluster.id": "a lone directory has no other witness of its cluster",
        "directory.id": "nothing else in the directory names it",
    },
    "quorum-state": {
        "clusterId": "it is left empty",
        "appliedOffset": "it is never used",
        "voterId": "the metadata log need not name them",
        "currentVoters": "the metadata log need not name them",
        "leaderId": "who leads a later epoch no batch says",
        "leaderEpoch": "a controller may know a later epoch than its log has batches of",
        "votedId": "a vote leaves nothing else",
        "votedDirectoryId": "a vote leaves nothing else",
    },
    "recovery-point-offset-checkpoint": {
        "white space": "readers take any",
        "absent partition": "its log is not here",
    },
    "replication-offset-checkpoint": {
        "white space": "readers take any",
        "absent partition": "its log is not here",
        "offset": "a high watermark may be behind the log's end",
    },
    "log-start-offset-checkpoint": {
        "white space": "readers take any",
    },
    "cleaner-offset-checkpoint": {
        "white space": "readers take any",
        "offset": "a cleaner may have stopped anywhere below the active segment",
        "absent partition": "its log is not here",
    },
}
LAYOUTS: Final[dict[str, tuple[int, Layout]]] = {
    ".index": (0, OFFSET_INDEX_ENTRY),
    ".timeindex": (0, TIME_INDEX_ENTRY),
    ".txnindex": (0, ABORTED_TXN),
    ".snapshot": (PRODUCER_SNAPSHOT.size, PRODUCER_STATE_ENTRY),
}


def kind_of(path: Path) -> str:
    return path.suffix if path.suffix in LAYOUTS else path.name


def field_of(kind: str, data: bytes, position: int) -> str:
    """The field that a byte belongs to."""
    if kind in LAYOUTS:
        header, layout = LAYOUTS[kind]
        if position < header:
            return "header"
        at = (position - header) % layout.size
        return [name for name in layout.names if layout.position(name) <= at][-1]
    if data[position : position + 1].isspace():
        return "white space"
    line = data[data.rfind(b"\n", 0, position) + 1 :].partition(b"\n")[0].decode()
    within = position - data.rfind(b"\n", 0, position) - 1
    if kind == "quorum-state":
        before = data[:position].decode()
        return before.rpartition('":')[0].rpartition('"')[2]
    if kind == "meta.properties":
        return "comment" if line.startswith("#") else line.partition("=")[0] if "=" in line[:within] else "key"
    if kind == "partition.metadata":
        at_end = position == len(data) - 1
        return "last character" if at_end else "key" if ":" not in line[: within + 1] else line.partition(":")[0]
    if len(line.split()) < 2:
        return line.partition(":")[0]
    columns = line.split()
    if len(columns) == 3 and f"{columns[0]}-{columns[1]}" not in (*PLAIN, *CLEANED):
        return "absent partition"
    return "offset" if within > line.rindex(" ") else "key"


@cache
def prepared(root: Path, kind: str) -> tuple[Path, list[Path]]:
    """A directory with few logs, and its files of one kind."""
    case, *names = CLEANED if kind.startswith("cleaner") else PLAIN
    if not (root / case).exists():
        materialize(FIXTURES / case, root)
        for folder in (root / case / "data").iterdir():
            if folder.is_dir() and folder.name not in names:
                shutil.rmtree(folder)
    data = root / case / "data"
    files = [*data.iterdir(), *(path for name in names for path in (data / name).iterdir())]
    return data, [path for path in sorted(files) if path.is_file() and path.stat().st_size and kind_of(path) == kind]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("flips")


def silent(root: Path, path: Path, step: int) -> set[str]:
    """The fields in which a flip says nothing new, of every `step`-th bit."""
    data = path.read_bytes()
    if kind_of(path) in (*LAYOUTS, "leader-epoch-checkpoint"):  # nothing outside its partition knows of it
        root = path.parent
    before = {str(finding) for finding in told(root)}
    fields = set()
    for bit in range(0, 8 * len(data), step):
        path.write_bytes(build.flipped(data, bit))
        if {str(finding) for finding in told(root)} == before:
            fields.add(field_of(kind_of(path), data, bit >> 3))
    path.write_bytes(data)
    return fields


@pytest.mark.some(every=3)
@pytest.mark.parametrize("kind", SILENT)
def test_a_flip_is_found_or_nothing_can_tell(kind: str, folder: Path) -> None:
    """A fixed sample of the bits of one file of each kind."""
    root, files = prepared(folder, kind)

    assert silent(root, files[-1], STEP) <= set(SILENT[kind])


@pytest.mark.exhaustive
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kind", SILENT)
def test_every_flip_is_found_or_nothing_can_tell(kind: str, folder: Path) -> None:
    """All bits of two files of each kind, the first and the last."""
    root, files = prepared(folder, kind)
    found = set().union(*(silent(root, path, 1) for path in files[:: max(1, len(files) - 1)]))

    assert found <= set(SILENT[kind])
