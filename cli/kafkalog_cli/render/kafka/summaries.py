"""What the tool writes to standard error after all files: where indexes and offsets do not agree."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import Final

import kafkalog
from kafkalog import RecordBlock
from kafkalog.files.names import is_remote
from kafkalog.kernel import buffers
from kafkalog.kernel import text as kernel_text
from kafkalog_cli.render.kafka.writer import java_path

__all__ = ["PAIRS", "Summaries"]

_FEW: Final = 1 << 12  # numbers that are put in order without numpy
PAIRS: Final = 1 << 22  # numbers of a file that are kept before equal offsets are put together


class Summaries:
    """Collects what does not agree, file by file, for the end."""

    def __init__(self, dialect: str) -> None:
        self._is_scala = dialect == "4.2"
        self._index_mismatches: dict[str, list[tuple[int, int]]] = {}
        self._time_errors: list[tuple[str, kafkalog.TimeIndexErrors]] = []
        self._breaks: dict[str, array[int]] = {}
        self._room: dict[str, int] = {}  # how many numbers of a file are kept until then
        self._last_file = ""
        self._last_offset = 0

    def offset_index(self, path: str, mismatches: list[tuple[int, int]]) -> None:
        """Keep pairs of an index's offset and that of the log."""
        self._index_mismatches[path] = mismatches

    def time_index(self, path: str, errors: kafkalog.TimeIndexErrors) -> None:
        """Keep what of a time index does not agree."""
        self._time_errors.append((path, errors))

    def records(self, path: str, block: RecordBlock) -> None:
        """Keep the pairs of offsets that do not follow each other."""
        recs = block.recs
        if not recs.count:
            return
        kept = self._breaks.setdefault(path, array("q"))
        previous = self._last_offset if self._last_file == path else None
        found = array("q", bytes(8 * recs.count))
        offsets = recs.column(buffers.OFFSET)
        start = offsets[0] - 1 if previous is None else previous
        for i in found[: kernel_text.breaks(recs.cells, recs.count, start, found)]:
            kept.extend((offsets[i - 1] if i else start, offsets[i]))
        if not self._is_scala and len(kept) > self._room.setdefault(path, PAIRS):
            kept = self._breaks[path] = _by_offset(kept)
            self._room[path] = max(PAIRS, 2 * len(kept))
        self._last_file, self._last_offset = path, offsets[recs.count - 1]

    def lines(self) -> Iterator[str]:
        """Yield the summaries' lines."""
        yield from self._of_indexes()
        for path, kept in self._breaks.items():
            if not kept:
                continue
            cells = kept if self._is_scala else _by_offset(kept)
            yield f"Non-consecutive offsets in {_absolute(path)}"
            order = range(0, len(cells), 2)
            for at in reversed(order) if self._is_scala else order:
                yield f"  {cells[at]} is followed by {cells[at + 1]}"

    def _of_indexes(self) -> list[str]:
        text: list[str] = []
        for path, mismatches in self._index_mismatches.items():
            text.append(f"Mismatches in :{_absolute(path)}")
            pairs = list(reversed(mismatches)) if self._is_scala else sorted(dict(mismatches).items(), reverse=True)
            text += [f"  Index offset: {index}, log offset: {log}" for index, log in pairs]
        for path, errors in self._time_errors:
            if errors.mismatches:
                text.append(f"Found timestamp mismatch in :{_absolute(path)}")
                text += [f"  Index timestamp: {index}, log timestamp: {log}" for index, log in errors.mismatches]
        for path, errors in self._time_errors:
            if errors.out_of_order:
                text.append(f"Found out of order timestamp in :{_absolute(path)}")
                text += [
                    f"  Index timestamp: {index}, Previously indexed timestamp: {before}"
                    for index, before in errors.out_of_order
                ]
        for path, errors in self._time_errors:
            if errors.not_found:
                where = "the log." if self._is_scala else f":{_absolute(path)}"
                text.append(f"The following indexed offsets are not found in {where}")
                text += [f"Indexed offset: {index}, found log offset: {log}" for index, log in errors.not_found]
        return text


def _by_offset(pairs: array[int]) -> array[int]:
    """Order pairs by their first offset, and keep the last one of each, as the tool's map does."""
    if len(pairs) <= _FEW:
        return array(
            "q", (number for pair in sorted(dict(zip(pairs[::2], pairs[1::2], strict=True)).items()) for number in pair)
        )
    import numpy as np

    table = np.frombuffer(pairs, np.int64).reshape(-1, 2)
    order = np.argsort(table[:, 0], kind="stable")
    first = table[order, 0]
    last = np.append(first[1:] != first[:-1], True)
    return array("q", table[order[last]].tobytes())


def _absolute(path: str) -> str:
    if is_remote(path):
        return path
    from pathlib import Path  # only what is wrong with offsets and indexes is shown so

    return str(Path(java_path(path)).absolute())
