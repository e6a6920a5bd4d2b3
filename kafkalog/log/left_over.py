"""Files and directories that a broker had put aside, and what its loader would do with each at its next start.

The loader's order (LogLoader): ``.deleted`` files go first; then the ``.cleaned`` ones, with every ``.swap`` at or
above the lowest of them; each ``.log.swap`` that is left replaces all files of the offsets that it holds. Here that is
said, never done.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence

from kafkalog.errors import UnreadableError
from kafkalog.findings import Finding
from kafkalog.format import kernel
from kafkalog.log.logdir import LogDirectory, PartitionDirectory
from kafkalog.log.names import FileKind, FileName, parse_name
from kafkalog.log.segment import segment_chunks
from kafkalog.log.storage import open_tree

__all__ = ["left_over", "put_aside"]

_ASIDE = {
    "-delete": "its topic was deleted: the broker removes it a minute after its next start",
    "-future": "a replica on its way to another log directory: the broker goes on copying, and gives it the plain name"
    " when it has caught up",
    "-stray": "not in the cluster's metadata: the broker leaves it, and never deletes it",
}

Named = list[tuple[str, FileName]]


def left_over(where: LogDirectory | PartitionDirectory) -> Iterator[Finding]:
    """Yield a finding for each kind of file that a broker's loader would treat on its own, and each directory."""
    if isinstance(where, LogDirectory):
        for directory in where.partitions:
            yield from left_over(directory)
        yield from _interrupted(where.home)
        return
    if where.suffix:
        yield put_aside(where)
    names: dict[str, Named] = {}
    for name in where.left_over:
        parsed = parse_name(name)
        names.setdefault(parsed.removed, []).append((name, parsed))
    if deleted := names.get(".deleted"):
        yield _of(where, "files-deleted", deleted, "the loader deletes them first of all")
    lowest = _lowest(names.get(".cleaned", []))
    if cleaned := names.get(".cleaned"):
        yield _of(
            where, "files-cleaned", cleaned, "an interrupted cleaning, no part of the log: the loader deletes them"
        )
    yield from _swaps(where, names.get(".swap", []), lowest)
    if unfinished := names.get(".tmp"):
        yield _of(where, "files-unfinished", unfinished, "interrupted writes of the files without .tmp, which count")


def put_aside(directory: PartitionDirectory) -> Finding:
    """Say of a directory with a suffix what the broker does with it."""
    return Finding.of(
        "directory-put-aside", directory.log, f"{directory.suffix}: {_ASIDE[directory.suffix]}",
        log=directory.log, topic=directory.topic, partition=directory.partition,
    )  # fmt: skip


def _swaps(where: PartitionDirectory, swaps: Named, lowest_cleaned: int | None) -> Iterator[Finding]:
    """Say of ``.swap`` files which are deleted, and which replace what."""
    undone = [pair for pair in swaps if lowest_cleaned is not None and (pair[1].offset or 0) >= lowest_cleaned]
    if undone:
        words = f"from offset {lowest_cleaned} on, where .cleaned files are: the loader deletes them"
        yield _of(where, "files-swap", undone, words)
    kept = [pair for pair in swaps if pair not in undone]
    logs = [pair for pair in kept if pair[1].kind is FileKind.LOG and pair[1].offset is not None]
    if logs:
        low = min(parsed.offset or 0 for _, parsed in logs)
        high = max(_end(os.path.join(where.log, name), parsed.offset or 0) for name, parsed in logs)
        replaced = [segment for segment in where.segments if low <= segment.base_offset < high]
        yield _of(
            where, "files-swap", kept,
            f"the loader puts them in the place of all files of offsets {low} to {high - 1}:"
            f" {len(replaced)} segments here",
        )  # fmt: skip
    elif kept:
        yield _of(where, "files-swap", kept, "their segment is in place already: the loader takes the suffix off")


def _end(path: str, base: int) -> int:
    """Return the offset behind a segment's last batch."""
    end = base
    try:
        for chunk in segment_chunks(path):
            if chunk.heads.count:
                end = max(end, chunk.heads.cell(kernel.LAST_OFFSET, chunk.heads.count - 1) + 1)
    except UnreadableError:
        pass  # it is told when the file itself is read
    return end


def _lowest(named: Named) -> int | None:
    return min((parsed.offset for _, parsed in named if parsed.offset is not None), default=None)


def _of(where: PartitionDirectory, code: str, named: Sequence[tuple[str, FileName]], words: str) -> Finding:
    counts = Counter(parsed.kind.value for _, parsed in named)
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))
    return Finding.of(
        code, where.log, f"{kinds} ({named[0][0]}{', …' if len(named) > 1 else ''}): {words}", found=len(named),
        offset=_lowest(list(named)), log=where.log, topic=where.topic, partition=where.partition,
    )  # fmt: skip


def _interrupted(home: str) -> Iterator[Finding]:
    """Tell of a root's checkpoints whose writing was interrupted."""
    try:
        entries = open_tree(home, deep=False).entries(home)
    except UnreadableError:
        return
    names = sorted(entry.name for entry in entries if entry.name.endswith(".tmp"))
    if names:
        message = f"{', '.join(names[:5])}: interrupted writes of the files without .tmp, which count"
        yield Finding.of("files-unfinished", home, message, found=len(names))
