"""Records as other tools read them again: whole batches as segments, lines for kafka-console-producer."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from kafkalog.columns.sorted_rows import joined_ranges
from kafkalog.escape import CommandLine, command_line
from kafkalog.files.off_limits import mark_copied
from kafkalog.findings import Finding
from kafkalog.kafka.batch import believed_counts
from kafkalog.kernel import buffers
from kafkalog.queries.reading import selected_blocks

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkalog.files.limits import Limits
    from kafkalog.kafka.batch import Record
    from kafkalog.queries.given_file import GivenFile
    from kafkalog.segments.selection import Selection

__all__ = ["NULL", "Unfit", "console_command", "console_line", "copy_batches"]

NULL: Final = "\\N"  # a field of this text would be read as null


@dataclass(frozen=True, slots=True)
class Unfit:
    """Why a line can't hold a record."""

    why: str


def console_line(record: Record) -> str | Unfit:
    """Write a record as kafka-console-producer reads it (LineMessageReader): headers, key, value, with tabs between.

    A line can't hold bytes that are not UTF-8, line ends, a tab or a separator in a key or header, the null marker.
    """
    headers = NULL
    if record.headers:
        parts = []
        for pair in record.headers:
            name, its = _text(pair[0], ":,\t"), _text(pair[1], ",\t")
            if isinstance(name, Unfit) or isinstance(its, Unfit):
                return Unfit("a header that is no such text")
            parts.append(f"{name}:{its}")
        headers = ",".join(parts)
    key, value = _text(record.key, "\t"), _text(record.value, "")
    if isinstance(key, Unfit):
        return key
    if isinstance(value, Unfit):
        return value
    return f"{headers}\t{key}\t{value}\n"


def _text(data: bytes | None, separators: str) -> str | Unfit:
    if data is None:
        return NULL
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return Unfit("bytes that are not UTF-8")
    if text == NULL:
        return Unfit(f"the text {NULL}, which stands for null")
    if any(one in text for one in f"\n\r{separators}"):
        return Unfit("a line end or a separator")
    return text


def console_command(topic: str, file: str) -> CommandLine | None:
    """Return the command that writes such lines to a topic, None where a name in it does not print."""
    properties = ("parse.headers=true", "parse.key=true", f"null.marker={NULL}")
    options = [("--property", one) for one in properties]
    line = command_line("kafka-console-producer.sh --bootstrap-server HOST:PORT", ("--topic", topic), *options)
    source = command_line("<", file)
    return None if line is None or source is None else CommandLine(f"{line} {source}")


def copy_batches(
    files: Iterable[GivenFile], selection: Selection, limits: Limits, folder: Path,
    report: Callable[[Finding], None],
) -> int:  # fmt: skip
    """Copy each batch that has a selected record to a segment of the same name; return how many others they have.

    A log has a directory of its topic and partition in `folder`, the second one of a name in ``2`` in that: nothing of
    an input's path leads out of it. The directories are marked as copies.
    """
    others = 0
    homes: dict[str, Path] = {}
    for file in files:
        log, fates = os.path.dirname(file.path), file.fates
        if log not in homes:
            name = "segments" if fates is None or fates.topic is None else f"{fates.topic}-{fates.partition}"
            number = 1 + sum(home.name == name for home in homes.values())
            home = homes[log] = folder / name if number == 1 else folder / f"{number}" / name
            home.mkdir(parents=True)
            mark_copied(str(home))
        with open(homes[log] / os.path.basename(file.path), "xb") as out:
            end = -1  # of what is written: a batch of many records comes in several blocks
            for item in selected_blocks(file, selection, limits):
                if isinstance(item, Finding):
                    if file.is_told(item.code):
                        report(item)
                    continue
                heads, rows = item.heads.numpy(), item.batches()
                position, size = (heads[column, rows] for column in _OF_BATCH)
                new = position >= end
                others += int(np.maximum(believed_counts(heads[:, rows][:, new]), 1).sum()) - item.picks.count
                start = item.chunk.position
                for first, stop in zip(*joined_ranges(position[new], (position + size)[new]), strict=True):
                    out.write(item.chunk.buf[first - start : stop - start])
                    end = int(stop)
    return others


_OF_BATCH: Final = (buffers.POSITION, buffers.SIZE)
