"""Whole log directories, changed by their structure, and every command on them: the fuzz target ``directories``."""

from __future__ import annotations

import os
import random
import resource
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final

from changed_batches import (
    changed_checkpoint,
    changed_entries,
    changed_properties,
    changed_segment,
    changed_snapshot,
    edge,
)
from commands import commands
from hostile import HOSTILE  # the tests' helpers
from invoke import kafkalog
from official import FIXTURES

__all__ = ["COUNTS", "Counts", "directories", "made"]

CASES: Final = (
    "k4-a-interleaved-tv2", "k4-b-codecs", "k4-c-group-offsets-tv0", "k4-d-fencing-tv2-400", "k4-f-open-at-copy",
    "k4-f-hanging-late-produce-tv0", "k4-j-preallocated", "k4-l-idempotent", "k4-m-metadata-groups-44", "k4-m-expired-ids",
    "made-internal", "v0.9-magic0", "v0.10-magic1", "v0.11-mixed-magic", "v2.8-mixed-magic", "v3.9-compact-txn",
    "v3.9-txn-java-killed",
)  # fmt: skip
STATUSES: Final = frozenset({0, 1, 3})
# What makes a usage error of what a file says: of settings, of an earlier run, of times.
_MAY_REFUSE: Final = frozenset({"--topic-configs", "--server-properties", "--against", "--since", "--at"})
SECONDS: Final = 10.0  # that a command may take on such a directory
# That this process may have taken at most, all runs together; the sanitizers keep what was freed for a while.
MEMORY_MIB: Final = 4096 if "KAFKALOG_LIB" in os.environ else 1024
_LARGEST: Final = 200_000  # bytes of a file that is taken
_NUMBERS: Final = ("0", f"{0:020}", f"{7:020}", f"{2**63 - 1:020}", f"{2**63}", "9" * 20, "9" * 40, "-1", "x", "")
_SUFFIXES: Final = (
    ".log",
    ".index",
    ".timeindex",
    ".txnindex",
    ".snapshot",
    ".checkpoint",
    "-1.checkpoint",
    "-9999999999.checkpoint",
)
_REMOVED: Final = (".deleted", ".cleaned", ".swap", ".tmp")
_FOLDERS: Final = (
    "t-0", "t-99999999999", "t-2147483647", "__transaction_state-7", "__consumer_offsets-99", "__cluster_metadata-0",
    "__cluster_metadata-1", "__share_group_state-3", "t-0.abc-delete", "t-1.abc-future", "t-2.abc-stray", "a\nb-0", "\x1b[2J-3",
    *(f"{text.decode('utf-8', 'surrogateescape')}-0" for text in HOSTILE.values() if b"\0" not in text and b"/" not in text),
)  # fmt: skip


@dataclass
class Counts:
    """How many commands ran, how each ended, the slowest one, and the most memory."""

    runs: int = 0
    statuses: Counter[tuple[str, int]] = field(default_factory=Counter)
    slowest: tuple[float, str] = (0.0, "")

    def lines(self) -> Iterator[str]:
        """Say it."""
        by_status = Counter[int]()
        for (_, status), count in self.statuses.items():
            by_status[status] += count
        ended = ", ".join(f"{count} with {status}" for status, count in sorted(by_status.items()))
        yield f"{self.runs} command runs ended: {ended}"
        yield f"slowest: {self.slowest[0]:.2f} s ({self.slowest[1]}); most memory: {_memory()} MiB"


COUNTS: Final = Counts()


def _memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


@cache
def _seeds() -> dict[str, dict[str, bytes]]:
    """Read the cases: of each directory its files by their paths in it."""
    found: dict[str, dict[str, bytes]] = {}
    for case in CASES:
        for data in sorted((FIXTURES / case).glob("data*")):
            files = [path for path in sorted(data.rglob("*")) if path.is_file() and path.stat().st_size <= _LARGEST]
            found[f"{case}/{data.name}"] = {str(path.relative_to(data)): path.read_bytes() for path in files}
    return found


def made(seed: bytes, root: Path, twin: Path) -> None:
    """Write the directory of a seed: some partitions of a case, several of their files changed, some names odd.

    `twin` gets the same partitions as another broker's, changed otherwise.
    """
    chance = random.Random(seed)
    names = sorted(_seeds())
    files = dict(_seeds()[chance.choice(names)])
    logs = sorted({os.path.dirname(name) for name in files} - {""})
    kept = {"", *chance.sample(logs, min(len(logs), chance.randint(1, 4)))}
    files = {name: data for name, data in files.items() if os.path.dirname(name) in kept}
    segments = [data for name, data in files.items() if name.endswith((".log", ".checkpoint"))]
    segments += [data for name, data in _seeds()[chance.choice(names)].items() if name.endswith(".log")]
    other = {name: data.replace(b"node.id=1", b"node.id=2") for name, data in files.items()}
    for folder, theirs in ((root, files), (twin, other)):
        for name in chance.choices(sorted(theirs), [_weight(name) for name in sorted(theirs)], k=chance.randint(1, 6)):
            theirs[name] = _changed(name, theirs[name], chance, segments or [b""])
        for _ in range(chance.choice((0, 0, 1, 2))):
            _renamed(theirs, chance)
        _write(folder, theirs)


def _weight(name: str) -> int:
    return 6 if name.endswith((".log", ".checkpoint", ".snapshot")) else 1


def _write(root: Path, files: dict[str, bytes]) -> None:
    for name, data in files.items():
        path = root / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        except OSError:  # a name of a file and of a directory, or one too long
            continue


def _changed(name: str, data: bytes, chance: random.Random, segments: list[bytes]) -> bytes:
    suffix = os.path.splitext(name)[1]
    if chance.random() < 0.05:
        return chance.choice((b"", b"\0", bytes(4096), b"\xff" * 100, chance.choice(segments)))
    if suffix in (".log", ".checkpoint"):
        return changed_segment(data, chance, segments)
    if suffix == ".snapshot":
        return changed_snapshot(data, chance)
    if suffix in (".index", ".timeindex", ".txnindex"):
        return changed_entries(data, suffix, chance)
    if name.endswith("-checkpoint"):
        return changed_checkpoint(data, chance)
    return changed_properties(data, chance)


def _renamed(files: dict[str, bytes], chance: random.Random) -> None:
    """Give a file or a partition another name, or make a copy of it under that name."""
    name = chance.choice(sorted(files))
    folder, own = os.path.split(name)
    match chance.randrange(4):
        case 0:
            own = chance.choice(_NUMBERS) + chance.choice(_SUFFIXES)
        case 1:
            own += chance.choice(_REMOVED)
        case 2:
            own = f"{abs(edge(chance, 0, 64)):020}" + os.path.splitext(own)[1]
        case _:
            new = chance.choice(_FOLDERS)
            files |= {f"{new}/{os.path.basename(n)}": d for n, d in list(files.items()) if os.path.dirname(n) == folder}
            return
    files[os.path.join(folder, own)] = files[name] if chance.random() < 0.5 else files.pop(name)


def _state(root: Path) -> list[tuple[str, int, int, int]]:
    """Return what must stay the same of each file and directory: size and times."""
    found = [(str(path), path.lstat()) for path in sorted([root, *root.rglob("*")])]
    return [(path, status.st_size, status.st_mtime_ns, status.st_atime_ns) for path, status in found]


def directories(data: bytes) -> None:
    """Any bytes are the seed of a changed directory: every command ends well on it, soon, and leaves it as it is."""
    chance = random.Random(data + b"commands")
    folder = Path(tempfile.mkdtemp(prefix="kafkalog-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None))
    try:
        root, twin, out = (folder / name for name in ("data", "twin", "out"))
        for path in (root, twin, out):
            path.mkdir()
        made(data, root, twin)
        before, known = _state(root), _memory()
        for arguments in commands(root, twin, out, chance):
            begun = time.process_time()
            ended = kafkalog(*arguments)
            spent = time.process_time() - begun
            COUNTS.runs += 1
            COUNTS.statuses[arguments[0], ended.status] += 1
            COUNTS.slowest = max(COUNTS.slowest, (spent, f"{' '.join(arguments)} of {data[:40].hex()}"))
            assert ended.status in STATUSES or (ended.status == 2 and _MAY_REFUSE & {*arguments}), (
                ended.status,
                arguments,
                data.hex(),
                ended.err[-2000:],
            )
            assert spent < SECONDS, (spent, arguments, data.hex())
        assert _state(root) == before, data.hex()
        assert _memory() < max(MEMORY_MIB, known + 256), data.hex()  # what other work took before does not count
    finally:
        shutil.rmtree(folder, ignore_errors=True)
