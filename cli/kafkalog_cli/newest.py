"""The newest time in the files of a dump, by which relative times are meant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import click

import kafkalog
from kafkalog import Limits, UnreadableError
from kafkalog.kernel import buffers
from kafkalog.quantities import When, at_newest, iso
from kafkalog_cli.inputs import STDIN, name_of
from kafkalog_cli.output import say

__all__ = ["absolute", "newest_time"]

_BY_BROKER: Final = 0x28  # attributes of a control batch, and of one whose time is that of its append


def newest_time(files: Sequence[str], limits: Limits) -> int:
    """Return the newest time (ms) that a broker wrote into segments, or without one the newest of all batches.

    Raises UsageError for standard input, which can be read only once, and if no batch has a time.
    """
    if STDIN in files:
        raise click.UsageError("A relative time needs files: standard input is read only once.")
    newest = by_broker = -1
    for file in files:
        if name_of(file).kind not in (kafkalog.FileKind.LOG, kafkalog.FileKind.KRAFT_SNAPSHOT):
            continue
        try:
            for chunk in kafkalog.segment_chunks(file, limits=limits):
                heads = chunk.heads
                for row in range(heads.count):
                    if not heads.cell(buffers.VALID, row):
                        continue
                    time = heads.cell(buffers.MAX_TIMESTAMP, row)
                    newest = max(newest, time)
                    if heads.cell(buffers.ATTRIBUTES, row) & _BY_BROKER:
                        by_broker = max(by_broker, time)
        except UnreadableError:  # the dump reports it
            continue
    if newest < 0:
        raise click.UsageError("A relative time needs the time of a batch: the files have none.")
    return by_broker if by_broker >= 0 else newest


def absolute(option: str, when: When | None, newest: int) -> int | None:
    """Return a time in ms; what a relative one has become is said."""
    if when is None or isinstance(when, int):
        return when
    found = at_newest(when, newest)
    say(f"{option} is {iso(found)}")
    return found
