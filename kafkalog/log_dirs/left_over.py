"""Files and directories that a broker put aside, and what it would do with each at its next start.

The order (LogLoader): first it deletes ``.deleted`` files; then ``.cleaned`` files, and every ``.swap`` file at or
above the lowest of them; each remaining ``.log.swap`` replaces all files with the same offsets. This is reported, never
done.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Final

from kafkalog.errors import UnreadableError
from kafkalog.escape import command_line
from kafkalog.files.directories import open_tree
from kafkalog.files.names import FileKind, FileName, parse_name
from kafkalog.files.opening import open_source
from kafkalog.findings import Finding
from kafkalog.kafka.layout import OFFSET_INDEX_ENTRY, TIME_INDEX_ENTRY
from kafkalog.kernel import buffers
from kafkalog.log_dirs.log_directory import LogDirectory, PartitionDirectory
from kafkalog.quantities import many
from kafkalog.segments.segment import possible_chunks

__all__ = ["FAILED", "deleted_at_start", "end_of_segment", "left_over", "put_aside", "put_in_place"]

_ASIDE = {
    "-delete": "the topic was deleted; the broker deletes this directory one minute after its next start",
    "-future": "the replica is being moved to this log directory; the broker continues to copy it, and renames it when"
    " the copy is complete",
    "-stray": "the cluster's metadata does not have this replica; the broker never deletes the directory",
}
_UNFINISHED = "left by an interrupted write; the broker reads the files without .tmp"

Named = list[tuple[str, FileName]]


def left_over(where: LogDirectory | PartitionDirectory) -> Iterator[Finding]:
    """Yield a finding for each kind of file that a broker treats specially when it loads a log, and each directory."""
    if isinstance(where, LogDirectory):
        for directory in where.partitions:
            yield from left_over(directory)
        yield from _interrupted(where.home)
        return
    if where.suffix:
        yield put_aside(where)
    if not where.left_over:
        return
    names: dict[str, Named] = {}
    for name in where.left_over:
        parsed = parse_name(name)
        names.setdefault(parsed.removed, []).append((name, parsed))
    if deleted := names.get(".deleted"):
        yield _of(where, "files-deleted", deleted, "the broker deletes them first at its next start")
    lowest = _lowest(names.get(".cleaned", []))
    if cleaned := names.get(".cleaned"):
        why, remedy = _why_cleaned(where, cleaned)
        yield _of(where, "files-cleaned", cleaned, why)._replace(remedy=remedy)
    yield from _swaps(where, names.get(".swap", []), lowest)
    if unfinished := names.get(".tmp"):
        yield _of(where, "files-unfinished", unfinished, _UNFINISHED)


def put_aside(directory: PartitionDirectory) -> Finding:
    """Report a directory with a suffix, and what the broker does with it."""
    return directory.finding("directory-put-aside", directory.log, f"{directory.suffix}: {_ASIDE[directory.suffix]}")


def _swaps(where: PartitionDirectory, swaps: Named, lowest_cleaned: int | None) -> Iterator[Finding]:
    """Report which ``.swap`` files are deleted, and which replace other files."""
    undone = [pair for pair in swaps if _is_undone(pair[1], lowest_cleaned)]
    if undone:
        words = f"at or above offset {lowest_cleaned}, the lowest .cleaned file"
        yield _of(where, "files-swap", undone, f"{words}; the broker deletes them at its next start")
    kept = [pair for pair in swaps if pair not in undone]
    if (offsets := put_in_place(where)) is not None:
        low, high = offsets
        replaced = [segment for segment in where.segments if low <= segment.base_offset < high]
        yield _of(
            where, "files-swap", kept,
            f"at its next start the broker replaces all files of offsets {low}-{high - 1} with them:"
            f" {many(len(replaced), 'segment')} here",
        )  # fmt: skip
    elif kept:
        words = "their segment is already in place; the broker removes the suffix at its next start"
        yield _of(where, "files-swap", kept, words)


def put_in_place(where: PartitionDirectory) -> tuple[int, int] | None:
    """Return from which offset up to which one ``.log.swap`` files replace all others at the next start, if any do.

    Follows LogLoader.removeTempFilesAndCollectSwapFiles.
    """
    named = [(name, parse_name(name)) for name in where.left_over]
    lowest = _lowest([pair for pair in named if pair[1].removed == ".cleaned"])
    ends = [
        (parsed.offset, end_of_segment(os.path.join(where.log, name), parsed.offset))
        for name, parsed in named
        if parsed.removed == ".swap" and parsed.kind is FileKind.LOG and parsed.offset is not None
        and not _is_undone(parsed, lowest)
    ]  # fmt: skip
    return (min(ends)[0], max(end for _, end in ends)) if ends else None


def deleted_at_start(where: PartitionDirectory) -> list[str]:
    """Return the files that a broker deletes when it loads a log: not the .swap files that it puts in place."""
    named = [(name, parse_name(name)) for name in where.left_over]
    lowest = _lowest([pair for pair in named if pair[1].removed == ".cleaned"])
    return [name for name, one in named if one.removed in (".deleted", ".cleaned") or _is_undone(one, lowest)]


def _is_undone(name: FileName, lowest_cleaned: int | None) -> bool:
    """Say whether a file is a .swap file that is deleted, as the cleaning that made it did not come to its end."""
    return name.removed == ".swap" and lowest_cleaned is not None and (name.offset or 0) >= lowest_cleaned


def end_of_segment(path: str, base: int) -> int:
    """Return the offset after a segment's last batch."""
    end = base
    try:
        for chunk in possible_chunks(path):
            valid, lasts = chunk.heads.column(buffers.VALID), chunk.heads.column(buffers.LAST_OFFSET)
            end = max(end, 1 + max((last for last, whole in zip(lasts, valid, strict=True) if whole), default=-1))
    except UnreadableError:
        pass  # reported when the file itself is read
    return end


def _lowest(named: Named) -> int | None:
    return min((parsed.offset for _, parsed in named if parsed.offset is not None), default=None)


_RAISE: Final = "kafka-configs.sh --bootstrap-server HOST:PORT --alter --entity-type topics"
FAILED: Final = "left by a cleaning that failed"


def _why_cleaned(where: PartitionDirectory, cleaned: Named) -> tuple[str, str | None]:
    """Say why there are ``.cleaned`` files, and return what gives a cleaning room where it had none.

    Whoever interrupts a cleaning in order deletes them, a failure does not: LogCleaner deletes what a
    LogCleaningAbortedException leaves, as a stop throws it, and nothing after any other.
    """
    if not where.clean_shutdown:
        return "left by an interrupted cleaning, not part of the log; the broker deletes them at its next start", None
    sizes = ((name, _full_size(os.path.join(where.log, name), parsed.kind)) for name, parsed in cleaned)
    full = [(name, size) for name, size in sizes if size]
    why, mend, line = "; the broker's log says why", "Mend that", None
    for name, size in full[:1]:
        line = command_line(_RAISE, ("--entity-name", where.topic), ("--add-config", "segment.index.bytes=10485760"))
        why = f", as {name} is full with {size} bytes"
        mend = "Raise segment.index.bytes of the topic to its default, 10485760"
    then = (
        f"{mend}; then restart the broker, an outage of what has no other replica: its start deletes the .cleaned"
        " files, no records, and it cleans again"
    )
    return f"{FAILED}{why}. The broker has not cleaned there since. {then}", line


# The size of an index's entry, and how many at its end it keeps free: TimeIndex.isFull.
_ENTRIES: Final = {FileKind.OFFSET_INDEX: (OFFSET_INDEX_ENTRY.size, 0), FileKind.TIME_INDEX: (TIME_INDEX_ENTRY.size, 1)}


def _full_size(path: str, kind: FileKind) -> int:
    """Return the size of an index that has no room for another entry, 0 for one that has, and for other files.

    An index is made as large as it may get, of zeros, and cut when its segment is closed.
    """
    if kind not in _ENTRIES:
        return 0
    entry, free = _ENTRIES[kind]
    try:
        with closing(open_source(path)) as source:
            last = source.size - entry * (1 + free)
            return source.size if last >= 0 and any(source.read_bytes(last, entry)) else 0
    except UnreadableError:
        return 0


def _of(where: PartitionDirectory, code: str, named: Sequence[tuple[str, FileName]], words: str) -> Finding:
    counts = Counter(parsed.kind.value for _, parsed in named)
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))
    return where.finding(
        code, where.log, f"{kinds} ({named[0][0]}{', …' if len(named) > 1 else ''}): {words}", found=len(named),
        offset=_lowest(list(named)),
    )  # fmt: skip


def _interrupted(home: str) -> Iterator[Finding]:
    """Report checkpoints of a log directory whose writing was interrupted."""
    try:
        entries = open_tree(home, deep=False).entries(home)
    except UnreadableError:
        return
    names = sorted(entry.name for entry in entries if entry.name.endswith(".tmp"))
    if names:
        message = f"{', '.join(names[:5])}: {_UNFINISHED}"
        yield Finding.of("files-unfinished", home, message, found=len(names))
